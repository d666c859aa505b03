// Support vector machines by working sets: the worst violators of either side and the free ones of
// the last set are solved for in cache, then the gradient of all rows is brought up to date once.
#include "margin/smo.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "margin/solver_state.hpp"
#include "margin/working_set_keys.hpp"
#include "margin/newton_policy.hpp"
#include "gil.hpp"
#include "levels.hpp"
#include "margin/request.hpp"
#include "module.hpp"
#include "require.hpp"
#include "margin/row_cache.hpp"

namespace nb = nanobind;
using namespace nb::literals;

MERCER_LEVELS(SmoLevel, smo)

namespace {

using namespace mercer;
using Clock = std::chrono::steady_clock;

// A working set is solved until its violation is this share of that of all rows.
constexpr double share = 0.1;
// Rows of the largest working set.
constexpr Index largest_set = 2048;
// Steps in a working set for each of its coefficients.
constexpr Index steps_each = 40;
// Units of rounding of k |a| that K a may hide: two for every term, of a sum that goes up to four
// times beyond the root of its squares.
constexpr double units_hidden = 8.0;
// Multiplications that are worth a thread.
constexpr Index thread_work = 1 << 20;

struct Limits {
    double tolerance;
    Index rounds, steps;
    Clock::time_point deadline;
    const volatile std::uint8_t* stop;
    nb::handle progress;
    bool asks_signals;
};

enum class End : int { converged, rounds, time, interrupt, progress, stalled, steps };

struct Outcome {
    Index steps = 0, rounds = 0;
    double gap = 0.0;
    End end = End::converged;
};

template <class T> class Solver {
  public:
    Solver(const SmoLevel& level, const Problem& p, Rows& rows, Index q, double floor,
           double largest, NewtonPolicy newton, int threads)
        : level(level), p(p), rows(rows), floor(floor), largest(largest), threads(threads), newton(newton),
          up(aligned<double>(p.n)), down(aligned<double>(p.n)),
          member(static_cast<std::size_t>(p.n), 0) {
        resize(std::min(q, p.n));
    }

    Outcome run(const Limits& limits, const SolverState& state) {
        Outcome out = restored(state);
        auto asked = Clock::now();
        for (;; ++out.rounds) {
            sides = level.measure(p, up.get(), down.get());
            out.gap = relative_gap();
            if (out.gap <= limits.tolerance) return out;
            if (violation() <= rounding()) return ended(out, End::stalled);
            if (out.rounds >= limits.rounds) return ended(out, End::rounds);
            if (out.steps >= limits.steps) return ended(out, End::steps);
            const auto now = Clock::now();
            if (now > limits.deadline) return ended(out, End::time);
            if (*limits.stop) return ended(out, End::interrupt);
            if (limits.asks_signals && now - asked > std::chrono::milliseconds(20)) {
                if (ctrl_c()) return ended(out, End::interrupt);
                asked = now;
            }
            if (!limits.progress.is_none() && out.rounds > 0) {
                state.leave(out.rounds, out.steps, q, set);
                newton.leave(state.of_newton());
                nb::gil_scoped_acquire gil;
                if (nb::cast<bool>(nb::bool_(limits.progress(out.rounds, out.gap))))
                    return ended(out, End::progress);
            }
            if (newton.is_wanted() && newton.is_due(moving(), p.n, out.gap)) {
                if (!newton.step(out.gap)) return ended(out, End::interrupt);
                continue;
            }
            grow();
            choose();
            rows.want(set);
            const Index made = solve(steps_each * q);
            out.steps += made;
            if (made == 0) return ended(out, End::stalled);
            update();
            newton.spend(made * stride + size(moved) * p.n);
        }
    }

  private:
    Outcome restored(const SolverState& state) {
        Outcome out;
        if (!state.has_begun()) return out;
        out.rounds = state.rounds(), out.steps = state.steps();
        // There may be less room than there was.
        resize(std::min(state.together(), rows.room()));
        set = state.last_set();
        newton.restore(state.of_newton());
        return out;
    }

    void resize(Index rows_together) {
        q = rows_together;
        stride = (q + working_lanes - 1) / working_lanes * working_lanes;
        K = aligned<T>(q * stride);
        gains = aligned<T>(p.offset ? q * stride : 0);
        numbers = aligned<double>(7 * stride);
    }

    // Coefficients between their bounds depend on each other: a set that holds too few of them
    // is solved in vain.
    void grow() {
        Index free = 0;
        for (Index i = 0; i < p.n; ++i)
            free += is_free(i);
        const Index most = std::min({p.n, largest_set, rows.room()});
        if (2 * free > q && q < most) resize(std::min(2 * q, most));
    }

    bool is_free(Index i) const {
        return p.a[i] > p.lower[i] && p.a[i] < p.upper[i] && p.a[i] != 0.0;
    }

    // Coefficients that are free or should leave their bound.
    Index moving() const {
        const double b = p.offset ? 0.5 * (sides.up - sides.down) : 0.0;
        Index count = 0;
        for (Index i = 0; i < p.n; ++i)
            count += is_free(i) || up[static_cast<std::size_t>(i)] > b ||
                     down[static_cast<std::size_t>(i)] > -b;
        return count;
    }

    static Outcome ended(Outcome out, End end) {
        out.end = end;
        return out;
    }

    double violation() const { return p.offset ? sides.up + sides.down : std::max(sides.up, sides.down); }

    // A violation that may be rounding alone: that of K a, by the largest entry of the diagonal.
    double rounding() const {
        double squares = 0.0;
        for (Index i = 0; i < p.n; ++i) squares += p.a[i] * p.a[i];
        return units_hidden * std::numeric_limits<double>::epsilon() * largest * std::sqrt(squares);
    }

    // The offset at which the loss of all rows is least: where its slope changes sign.
    double best_offset() {
        double low = std::min(-sides.down, sides.up), high = std::max(-sides.down, sides.up);
        double slope = 0.0;
        kinks.clear();
        for (Index i = 0; i < p.n; ++i) {
            // Below the first kink the slope is -upper, beyond the second it is -lower.
            const double first = -p.g[i] - p.epsilon, second = -p.g[i] + p.epsilon;
            if (first > low) {
                slope -= p.upper[i];
                if (first < high) kinks.push_back({first, p.upper[i]});
            }
            if (second <= low)
                slope -= p.lower[i];
            else if (second < high)
                kinks.push_back({second, -p.lower[i]});
        }
        std::sort(kinks.begin(), kinks.end());
        for (const auto& [at, change] : kinks) {
            if (slope + change >= 0.0) return at;
            slope += change;
        }
        return slope < 0.0 ? high : low;
    }

    double gap_at(double b) const {
        const Gap at = level.gap(p, b);
        const double most = std::max({std::abs(at.primal), std::abs(at.primal - at.gap), floor});
        return most > 0.0 ? at.gap / most : 0.0;
    }

    double relative_gap() {
        if (!p.offset) return gap_at(0.0);
        // Near the end the middle of the two sides is about the best offset; before it is not, and
        // then the gap is far from its goal either way.
        const double rough = gap_at(0.5 * (sides.up - sides.down));
        return rough < 0.1 ? std::min(rough, gap_at(best_offset())) : rough;
    }

    void take(Index i) {
        if (member[static_cast<std::size_t>(i)]) return;
        member[static_cast<std::size_t>(i)] = 1;
        set.push_back(i);
    }

    // Rows whose value is above the floor, of which `top` is the largest.
    void gather(double floor, double top, const double* value, Index count) {
        candidates.clear();
        // As floats they are told apart in any unit of the targets: in powers of two of their size.
        const double worst = std::max(std::abs(floor), std::abs(top));
        const double unit = std::ldexp(1.0, worst > 0.0 ? std::clamp(-std::ilogb(worst), -1000, 1000) : 0);
        for (Index i = 0; i < p.n; ++i)
            if (value[i] > floor && !member[static_cast<std::size_t>(i)])
                candidates.push_back(candidate(unit * value[i], i));
        const Index most = std::min(count, size(candidates));
        if (most < size(candidates))
            std::nth_element(candidates.begin(), candidates.begin() + most, candidates.end(),
                             std::greater<>());
        for (Index k = 0; k < most; ++k) take(row_of(candidates[static_cast<std::size_t>(k)]));
    }

    // The worst violators of either side, then the free ones of the last set, then more violators.
    void choose() {
        std::vector<Index> last;
        last.swap(set);
        std::fill(member.begin(), member.end(), 0);
        // Only rows on the wrong side of the other side's worst can take part in a step.
        const double floor_up = p.offset ? -sides.down : 0.0;
        const double floor_down = p.offset ? -sides.up : 0.0;
        const auto fill_up = [&](Index count) {
            gather(floor_up, sides.up, up.get(), (count + 1) / 2);
            gather(floor_down, sides.down, down.get(), count / 2);
        };
        fill_up(last.empty() ? q : q / 2);
        for (Index i : last) {
            if (size(set) >= q) break;
            if (is_free(i)) take(i);
        }
        if (size(set) < q) fill_up(q - size(set));
        std::sort(set.begin(), set.end());
    }

    Index solve(Index allowed) {
        const auto m = size(set);
        double* part[7];
        for (int k = 0; k < 7; ++k) part[k] = numbers.get() + k * stride;
        double *a = part[0], *g = part[1], *rise = part[2], *fall = part[3], *lower = part[4],
               *upper = part[5], *scale = part[6];
        double largest = 0.0;
        for (Index s = 0; s < m; ++s) {
            const Index i = set[static_cast<std::size_t>(s)];
            a[s] = p.a[i], g[s] = p.g[i], lower[s] = p.lower[i], upper[s] = p.upper[i];
            rise[s] = slope_up(a[s], upper[s], p.epsilon);
            fall[s] = slope_down(a[s], lower[s], p.epsilon);
            const T* row = static_cast<const T*>(rows.row(i));
            T* to = K.get() + s * stride;
            for (Index k = 0; k < m; ++k) to[k] = row[set[static_cast<std::size_t>(k)]];
            std::fill(to + m, to + stride, T(0));
            largest = std::max(largest, std::abs(static_cast<double>(to[s])));
        }
        for (Index s = m; s < stride; ++s) {
            a[s] = g[s] = lower[s] = upper[s] = scale[s] = 0.0;
            rise[s] = barred, fall[s] = -barred;
        }
        // Curvature below the rounding of K counts as this much.
        const double least = std::numeric_limits<T>::epsilon() * largest + 1e-300;
        for (Index s = 0; s < m; ++s)
            scale[s] = 1.0 / std::max(static_cast<double>(K[static_cast<std::size_t>(s * stride + s)]), least);
        if (p.offset) fill_gains(m, static_cast<T>(least));
        old.assign(a, a + m);
        const double goal = share * violation();
        const Working w{m, stride, K.get(), gains.get(), scale, a, g, rise, fall, lower, upper,
                        p.epsilon, goal, allowed};
        const bool single = sizeof(T) == sizeof(float);
        const Index made = p.offset ? level.pairs(w, single) : level.singles(w, single);
        for (Index s = 0; s < m; ++s) p.a[set[static_cast<std::size_t>(s)]] = a[s];
        return made;
    }

    void fill_gains(Index m, T least) {
        std::vector<T> diagonal(static_cast<std::size_t>(stride));
        for (Index s = 0; s < m; ++s)
            diagonal[static_cast<std::size_t>(s)] = K[static_cast<std::size_t>(s * stride + s)];
        for (Index s = 0; s < m; ++s) {
            const T* k = K.get() + s * stride;
            T* to = gains.get() + s * stride;
            const T own = diagonal[static_cast<std::size_t>(s)];
            for (Index j = 0; j < stride; ++j) {
                const T curvature = own + diagonal[static_cast<std::size_t>(j)] - 2 * k[j];
                to[j] = 1 / (curvature > least ? curvature : least);
            }
            // No step leads from a row to itself, whatever rounding leaves of its two slopes.
            to[s] = 0;
        }
    }

    // g += K delta, the rows in a fixed order and the entries divided among the threads.
    void update() {
        moved.clear();
        delta.clear();
        for (std::size_t s = 0; s < set.size(); ++s) {
            const double d = numbers[s] - old[s];
            if (d == 0.0) continue;
            moved.push_back(rows.row(set[s]));
            delta.push_back(d);
        }
        const auto count = size(moved);
        const bool single = sizeof(T) == sizeof(float);
        const Index parts = std::clamp<Index>(count * p.n / thread_work, 1, threads);
        const auto run = [&](Index k, int) {
            level.add(p.g, moved.data(), delta.data(), count, p.n * k / parts,
                      p.n * (k + 1) / parts, single);
        };
        on_threads(parts, static_cast<int>(parts), run);
    }

    const SmoLevel& level;
    const Problem p;
    Rows& rows;
    const double floor, largest;
    const int threads;
    NewtonPolicy newton;
    Index q = 0, stride = 0;
    Memory<T> K, gains;
    Memory<double> numbers, up, down;
    std::vector<char> member;
    std::vector<Index> set;
    std::vector<std::uint64_t> candidates;
    std::vector<double> old, delta;
    std::vector<const void*> moved;
    std::vector<std::pair<double, double>> kinks;
    Sides sides{};
};

nb::tuple smo_solve(nb::handle request, Flat<double> a, Flat<double> g, const std::string& cpu) {
    const SmoLevel& level = smo_level(cpu);
    const Request r(request);
    const auto n = static_cast<Index>(r.z.shape(0));
    require(n > 0 && r.together > 0 && have_size(n, r.lower, r.upper, a, g) && r.stop.size() > 0,
            "there must be bounds, a coefficient and a gradient for every row");
    const Problem problem{r.z.data(), r.lower.data(), r.upper.data(), a.data(), g.data(), n,
                          r.epsilon, r.offset};
    const auto wait = std::chrono::duration<double>(std::min(r.seconds, 1e9));
    const Limits limits{r.tolerance, r.allowed, r.steps,
                        Clock::now() + std::chrono::duration_cast<Clock::duration>(wait),
                        r.stop.data(), r.progress, r.asks_signals};
    const SolverState state(r.state, r.last, n, std::min(n, std::max(largest_set, r.together)));
    const Index itemsize = r.single ? sizeof(float) : sizeof(double);
    Rows rows = rows_of(r.K, r.source, r.index, r.store, std::min(r.together, n), r.capacity, n,
                        itemsize);
    const auto run = [&]<class T>(T) {
        const NewtonPolicy newton(r.newton_step);
        return Solver<T>(level, problem, rows, r.together, r.floor, r.largest, newton,
                         r.threads)
            .run(limits, state);
    };
    Outcome out;
    {
        nb::gil_scoped_release release;
        out = r.single ? run(float{}) : run(double{});
    }
    return nb::make_tuple(out.steps, out.rounds, out.gap, static_cast<int>(out.end));
}

}  // namespace

void bind_smo(nb::module_& m) {
    m.def("smo_solve", &smo_solve, "request"_a, nb::arg("a").noconvert(), nb::arg("g").noconvert(),
          "cpu"_a);
}
