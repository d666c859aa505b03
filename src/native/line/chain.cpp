// Ridge regression on a line by its tridiagonal precision matrix T, given as links -T_i,i+1 and row
// sums, with w / alpha on the diagonal for the targets. Elimination from both ends adds, multiplies
// and divides positive numbers only, but for the targets, so that no ridge, gap or weight costs digits.
// The form is that of Gaussian elimination for diagonally dominant M-matrices: A. S. Alfa, J. Xue and
// Q. Ye (2002), Accurate computation of the smallest eigenvalue of a diagonally dominant M-matrix.
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "arrays.hpp"
#include "module.hpp"
#include "require.hpp"

namespace nb = nanobind;

namespace {

// Precisions are kept below this, so that ratios of them never meet infinity over infinity.
constexpr double largest = 1e200;

// Several ridges at a time, in registers that every processor of 64 bits has.
typedef double Pair __attribute__((vector_size(16)));
constexpr int n_pairs = 4, n_lanes = 2 * n_pairs;

struct Lanes {
    Pair pairs[n_pairs];

    Lanes(double x = 0.0) {
        for (Pair& p : pairs) p = Pair{x, x};
    }
    double get(int k) const { return pairs[k / 2][k % 2]; }
    void set(int k, double x) { pairs[k / 2][k % 2] = x; }
};

template <class Operation>
inline Lanes each(const Lanes& x, const Lanes& y, const Operation& operation) {
    Lanes z;
    for (int k = 0; k < n_pairs; ++k) z.pairs[k] = operation(x.pairs[k], y.pairs[k]);
    return z;
}

inline Lanes operator+(const Lanes& x, const Lanes& y) {
    return each(x, y, [](Pair p, Pair q) { return p + q; });
}
inline Lanes operator-(const Lanes& x, const Lanes& y) {
    return each(x, y, [](Pair p, Pair q) { return p - q; });
}
inline Lanes operator*(const Lanes& x, const Lanes& y) {
    return each(x, y, [](Pair p, Pair q) { return p * q; });
}
inline Lanes operator/(const Lanes& x, const Lanes& y) {
    return each(x, y, [](Pair p, Pair q) { return p / q; });
}

inline double capped(double w) { return w < largest ? w : largest; }
inline Lanes capped(const Lanes& w) {
    return each(w, largest, [](Pair p, Pair q) { return p < q ? p : q; });
}

struct Network {
    const double* links;    // n - 1 entries -T_i,i+1 of neighbours
    const double* row_sums;   // n
    const double* weights;  // n
    const double* y;        // n targets
    Index n;
    double b_penalty;  // penalty of b; infinite without an offset

    bool has_offset() const { return b_penalty < std::numeric_limits<double>::infinity(); }

    template <class T> T data(Index i, const T& per_alpha) const {
        return capped(weights[i] * per_alpha);
    }
};

// What eliminating all knots on one side adds to the equation of a knot: precision, the part of it
// that is of the prior, the right-hand side if the knot takes the value of its own target, and the
// right-hand side if the knot is held at zero.
template <class T> struct Side {
    T link{}, row_sums{}, drop{}, source{};
};

// The side of the next knot, beyond a link g, that knot i belongs to. `step` is the difference of
// the targets; b is the offset. Bordered: the part of the prior is asked for.
template <bool bordered, class T>
inline Side<T> passed(const Network& c, Index i, double g, double step, const T& per_alpha,
                      const T& b, const Side<T>& s) {
    const T w = c.data(i, per_alpha), y = c.y[i] - b;
    const double h = c.row_sums[i];
    const T t = g / ((w + h + g) + s.link);
    const T link = t * ((w + h) + s.link);
    // It would fade into numbers below the normal range, which are slow, where nobody needs it.
    const T row_sums = bordered ? t * (h + s.row_sums) : T{};
    return {link, row_sums, link * step + t * (h * y + s.drop), t * (w * y + s.source)};
}

// The same before the offset is known, with the precision cut into its parts of the targets
// and of the prior. On the way it adds up the precision S of the offset given the data, and its
// right-hand side N: the offset is b = N / (S + b_penalty).
template <class T> struct Elimination {
    T data{}, row_sums{}, drop{}, source{}, S{}, N{};

    void pass(const Network& c, Index i, double g, double step, const T& per_alpha) {
        const T w = c.data(i, per_alpha);
        const double h = c.row_sums[i], y = c.y[i];
        const T up = w + data, down = h + row_sums, in = w * y + source;
        const T share = 1.0 / (up + (g + down)), t = g * share, out = down * share;
        S = S + up * out;
        N = N + in * out;
        data = t * up;
        row_sums = t * down;
        drop = t * ((up + down) * step + (h * y + drop));
        source = t * in;
    }
};

double offset(const Network& c, double per_alpha) {
    const Index middle = c.n / 2;
    Elimination<double> left, right;
    // Both halves in one loop: each is a chain of divisions that waits for itself.
    for (Index i = 0, j = c.n - 1; i < middle; ++i, --j) {
        left.pass(c, i, c.links[i], 0.0, per_alpha);
        if (j > middle) right.pass(c, j, c.links[j - 1], 0.0, per_alpha);
    }
    left.data += right.data;
    left.row_sums += right.row_sums;
    left.source += right.source;
    left.pass(c, middle, 0.0, 0.0, per_alpha);
    return (left.N + right.N) / (left.S + right.S + c.b_penalty);
}

double solve(const Network& c, double per_alpha, double* f, double* a) {
    const double b = c.has_offset() ? offset(c, per_alpha) : 0.0;
    const auto links = std::make_unique_for_overwrite<double[]>(static_cast<std::size_t>(c.n));
    // The first side to arrive at a knot leaves its numbers there, the second one finishes it.
    const auto leave = [&](Index i, const Side<double>& s) {
        links[static_cast<std::size_t>(i)] = s.link;
        a[i] = s.drop;
        f[i] = s.source;
    };
    const auto finish = [&](Index i, const Side<double>& s) {
        const double w = c.data(i, per_alpha), h = c.row_sums[i], y = c.y[i] - b;
        const double share = 1.0 / (w + h + (links[static_cast<std::size_t>(i)] + s.link));
        a[i] = w * share * (h * y + (a[i] + s.drop));
        f[i] = share * (w * y + (f[i] + s.source));
    };
    Side<double> left, right;
    for (Index i = 0, j = c.n - 1; i < c.n; ++i, --j) {
        if (i < j) {
            leave(i, left);
            leave(j, right);
        } else {
            if (i == j) leave(i, left);
            if (i > j) finish(i, left);
            finish(j, right);
        }
        if (j == 0) break;
        left = passed<false>(c, i, c.links[i], c.y[i + 1] - c.y[i], per_alpha, b, left);
        right = passed<false>(c, j, c.links[j - 1], c.y[j - 1] - c.y[j], per_alpha, b, right);
    }
    return b;
}

// The rows behind the knots: one each, or those from starts[i] to starts[i + 1].
struct Rows {
    const std::int64_t* starts;  // null if every knot is one row
    const double* weights;
    const double* steps;  // target of the row minus target of its knot
};

// What becomes of leave-one-out residuals: weighted sums of squares, and each by itself if wanted.
struct Sink {
    double* residuals;  // of the first ridge, or null
    Index stride;
    int used;
    Lanes sum{};

    void take(Index row, double weight, const Lanes&, const Lanes& missed, const Lanes& free,
              const Lanes&) {
        const Lanes e = missed / free;
        sum = sum + weight * e * e;
        if (residuals)
            for (int k = 0; k < used; ++k) residuals[k * stride + row] = e.get(k);
    }

    Sink empty() const { return {residuals, stride, used}; }
    void add(const Sink& part) { sum = sum + part.sum; }
};

// The sums of a^2 / w and of B_ii / w, times the square of a unit and the unit.
struct Criterion {
    Lanes unit;  // 1, or alpha where that is larger, so that no square underflows
    Lanes squares{}, trace{};

    void take(Index, double weight, const Lanes& own, const Lanes& missed, const Lanes& free,
              const Lanes& total) {
        const Lanes share = own * unit / total;
        const Lanes a = share * missed;
        squares = squares + a * a / weight;
        trace = trace + share * free / weight;
    }

    Criterion empty() const { return {unit}; }
    void add(const Criterion& part) {
        squares = squares + part.squares;
        trace = trace + part.trace;
    }
};

// Knots between two of which the pass from the left keeps its state. The pass from the right
// restores it block by block, so that nothing of the size of knots x ridges is stored.
constexpr Index block = 128;

// Row i misses its target by missed / free when it is left out, and own / total of the first and of
// the second are a_i and B_ii.
template <bool bordered, typename Sink>
void held_out(const Network& c, const Lanes& per_alpha, const Rows& rows, Sink& sink) {
    std::vector<Side<Lanes>> starts;
    starts.reserve(static_cast<std::size_t>(c.n / block + 1));
    Lanes S{}, b{};
    const auto pass = [&](Index i, Index next, const Side<Lanes>& s) {
        const double g = c.links[std::min(i, next)];
        return passed<bordered>(c, i, g, c.y[next] - c.y[i], per_alpha, b, s);
    };
    if constexpr (bordered) {
        Elimination<Lanes> all;
        for (Index i = 0; i < c.n; ++i) {
            if (i % block == 0)
                starts.push_back(Side<Lanes>{all.data + all.row_sums, all.row_sums, all.drop, {}});
            const bool last = i + 1 == c.n;
            all.pass(c, i, last ? 0.0 : c.links[i], last ? 0.0 : c.y[i + 1] - c.y[i], per_alpha);
        }
        S = all.S + c.b_penalty;
        b = all.N / S;
        for (Side<Lanes>& s : starts) s.drop = s.drop - b * s.row_sums;
    } else {
        Side<Lanes> left;
        for (Index i = 0; i < c.n; ++i) {
            if (i % block == 0) starts.push_back(Side<Lanes>{left.link, {}, left.drop, {}});
            if (i + 1 < c.n) left = pass(i, i + 1, left);
        }
    }
    struct {
        Lanes link, row_sums, drop;
    } lefts[block];
    Side<Lanes> right;
    for (Index start = (c.n - 1) / block * block; start >= 0; start -= block) {
        const Index end = std::min(start + block, c.n);
        Side<Lanes> left = starts[static_cast<std::size_t>(start / block)];
        for (Index i = start; i < end; ++i) {
            lefts[i - start] = {left.link, left.row_sums, left.drop};
            if (i + 1 < end) left = pass(i, i + 1, left);
        }
        Sink part = sink.empty();
        for (Index i = end - 1; i >= start; --i) {
            const auto& l = lefts[i - start];
            const double h = c.row_sums[i];
            const Lanes w = c.data(i, per_alpha);
            const Lanes beside = h + (l.link + right.link), total = w + beside;
            const Lanes drop = h * (c.y[i] - b) + (l.drop + right.drop);
            Lanes leaving{};
            if constexpr (bordered) {
                const Lanes row_sums = h + (l.row_sums + right.row_sums);
                leaving = row_sums * row_sums / (total * S);
            }
            if (!rows.starts) {
                part.take(i, c.weights[i], w, drop, beside - w * leaving, total);
            } else {
                for (Index j = rows.starts[i]; j < rows.starts[i + 1]; ++j) {
                    const Lanes own = capped(rows.weights[j] * per_alpha);
                    const Lanes others = capped((c.weights[i] - rows.weights[j]) * per_alpha);
                    part.take(j, rows.weights[j], own, rows.steps[j] * total + drop,
                              (others + beside) - own * leaving, total);
                }
            }
            if (i > 0) right = pass(i, i - 1, right);
        }
        sink.add(part);
    }
}

template <typename Sink>
void held_out(const Network& c, const Lanes& per_alpha, const Rows& rows, Sink& sink) {
    if (c.has_offset()) held_out<true>(c, per_alpha, rows, sink);
    else held_out<false>(c, per_alpha, rows, sink);
}

// Calls run(first, used, ridges) for as many ridges at a time as there are lanes.
template <typename Run>
void in_lanes(const Numbers& per_alpha, const Run& run) {
    const Index count = static_cast<Index>(per_alpha.size());
    for (Index k = 0; k < count; k += n_lanes) {
        const int used = static_cast<int>(std::min<Index>(n_lanes, count - k));
        Lanes ridges;
        for (int j = 0; j < n_lanes; ++j) ridges.set(j, per_alpha(k + std::min(j, used - 1)));
        run(k, used, ridges);
    }
}

Network network(const Numbers& links, const Numbers& row_sums, const Numbers& weights,
                const Numbers& y, double b_penalty) {
    const auto n = static_cast<Index>(y.size());
    mercer::require(n > 0 && mercer::have_size(n - 1, links) &&
                        mercer::have_size(n, row_sums, weights),
                    "there must be a number for every knot, and one less for the links");
    return {links.data(), row_sums.data(), weights.data(), y.data(), static_cast<Index>(y.size()),
            b_penalty};
}

Rows rows_of(const Network& c, const std::optional<Vector<const std::int64_t>>& starts,
             const Numbers& weights, const Numbers& steps) {
    const auto n = static_cast<Index>(weights.size());
    mercer::require(starts ? mercer::have_size(c.n + 1, *starts) && mercer::are_runs(*starts, n) &&
                                 mercer::have_size(n, steps)
                           : n == c.n,
                    "there must be rows for every knot, and a step for every row");
    return {starts ? starts->data() : nullptr, weights.data(), steps.data()};
}

}  // namespace

void bind_chain(nb::module_& m) {
    using Release = nb::call_guard<nb::gil_scoped_release>;
    m.def(
        "chain_solve",
        [](const Numbers& links, const Numbers& row_sums, const Numbers& weights, const Numbers& y,
           double per_alpha, double b_penalty, const Vector<double>& f, const Vector<double>& a) {
            mercer::require(mercer::have_size(static_cast<Index>(y.size()), f, a),
                            "there must be a result for every knot");
            return solve(network(links, row_sums, weights, y, b_penalty), per_alpha, f.data(), a.data());
        },
        Release());
    m.def(
        "chain_held_out",
        [](const Numbers& links, const Numbers& row_sums, const Numbers& weights, const Numbers& y,
           const Numbers& per_alpha, double b_penalty,
           const std::optional<Vector<const std::int64_t>>& starts, const Numbers& row_weights,
           const Numbers& row_steps, const Vector<double>& sums,
           const std::optional<Matrix<double>>& residuals) {
            const Network c = network(links, row_sums, weights, y, b_penalty);
            const Rows rows = rows_of(c, starts, row_weights, row_steps);
            const Index stride = residuals ? static_cast<Index>(residuals->shape(1)) : 0;
            const auto count = static_cast<Index>(per_alpha.size());
            const auto n = static_cast<Index>(row_weights.size());
            mercer::require(mercer::have_size(count, sums) &&
                                (!residuals || mercer::has_shape(*residuals, count, n)),
                            "there must be a result for every ridge and row");
            in_lanes(per_alpha, [&](Index k, int used, const Lanes& ridges) {
                Sink sink{residuals ? residuals->data() + k * stride : nullptr, stride, used};
                held_out(c, ridges, rows, sink);
                for (int j = 0; j < used; ++j) sums(k + j) = sink.sum.get(j);
            });
        },
        nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none(),
        nb::arg(), nb::arg(), nb::arg(), nb::arg().none(), Release());
    m.def(
        "chain_generalised",
        [](const Numbers& links, const Numbers& row_sums, const Numbers& weights, const Numbers& y,
           const Numbers& per_alpha, double b_penalty,
           const std::optional<Vector<const std::int64_t>>& starts, const Numbers& row_weights,
           const Numbers& row_steps, const Vector<double>& squares, const Vector<double>& traces) {
            const Network c = network(links, row_sums, weights, y, b_penalty);
            const Rows rows = rows_of(c, starts, row_weights, row_steps);
            mercer::require(
                mercer::have_size(static_cast<Index>(per_alpha.size()), squares, traces),
                "there must be a result for every ridge");
            in_lanes(per_alpha, [&](Index k, int used, const Lanes& ridges) {
                Criterion sink;
                for (int j = 0; j < n_lanes; ++j)
                    sink.unit.set(j, 1.0 / std::min(ridges.get(j), 1.0));
                held_out(c, ridges, rows, sink);
                for (int j = 0; j < used; ++j) {
                    squares(k + j) = sink.squares.get(j);
                    traces(k + j) = sink.trace.get(j);
                }
            });
        },
        nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none(),
        nb::arg(), nb::arg(), nb::arg(), nb::arg(), Release());
}
