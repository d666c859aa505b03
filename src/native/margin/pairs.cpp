// Sequential minimal optimisation within a working set, and the gradient of all rows after it,
// compiled once for each processor level.
#include "tiles/panels.hpp"
#include "margin/smo.hpp"

namespace {

using namespace mercer;
using Vector = Simd<double>::vector;
typedef long long Numbers __attribute__((vector_size(vector_bytes)));

constexpr Index lanes = Simd<double>::lanes;
// Two chains of comparisons side by side hide the latency of one.
constexpr int chains = 2;
static_assert(working_lanes % (chains * lanes) == 0);

// Entries of K as doubles, from any address.
template <class T> inline Vector wide(const T* p) {
    typedef T Part __attribute__((vector_size(lanes * sizeof(T)), aligned(sizeof(T))));
    return __builtin_convertvector(*reinterpret_cast<const Part*>(p), Vector);
}

inline Numbers counted() {
    Numbers n;
    for (Index l = 0; l < lanes; ++l) n[l] = l;
    return n;
}

// The largest value and where it stands; of equal ones the first.
struct Best {
    Vector value[chains];
    Numbers at[chains];

    explicit Best(double floor) {
        for (int c = 0; c < chains; ++c) {
            value[c] = floor - Vector{};
            at[c] = -1 - Numbers{};
        }
    }
    void take(int chain, Vector v, Numbers k) {
        const Numbers better = v > value[chain];
        value[chain] = better ? v : value[chain];
        at[chain] = better ? k : at[chain];
    }
    Index winner(double& top) const {
        Index place = -1;
        for (int c = 0; c < chains; ++c)
            for (Index l = 0; l < lanes; ++l) {
                const bool first = value[c][l] == top && at[c][l] >= 0 && at[c][l] < place;
                if (value[c][l] > top || first) {
                    top = value[c][l];
                    place = at[c][l];
                }
            }
        return place;
    }
};

double largest(const Vector (&v)[chains]) {
    double top = v[0][0];
    for (int c = 0; c < chains; ++c)
        for (Index l = 0; l < lanes; ++l) top = v[c][l] > top ? v[c][l] : top;
    return top;
}

// The step to the bound or to the kink at zero that is next on the way, and where it ends.
struct Room {
    double length, end;
};
Room room_up(const Working& w, Index i) {
    const double end = w.a[i] < 0.0 ? 0.0 : w.upper[i];
    return {end - w.a[i], end};
}
Room room_down(const Working& w, Index i) {
    const double end = w.a[i] > 0.0 ? 0.0 : w.lower[i];
    return {w.a[i] - end, end};
}

void settle(const Working& w, Index i) {
    w.up[i] = slope_up(w.a[i], w.upper[i], w.epsilon);
    w.down[i] = slope_down(w.a[i], w.lower[i], w.epsilon);
}

template <class T> Index pairs(const Working& w) {
    const T* K = static_cast<const T*>(w.K);
    const T* gains = static_cast<const T*>(w.gains);
    const Numbers first = counted();
    Index steps = 0;
    const T *Ki = K, *Kj = K;
    double t = 0.0;
    for (;;) {
        Best up(-barred);
        Vector low[chains];
        for (int c = 0; c < chains; ++c) low[c] = -barred - Vector{};
        for (Index k = 0; k < w.stride; k += chains * lanes)
            for (int c = 0; c < chains; ++c) {
                const Index p = k + c * lanes;
                const Vector g = at(w.g + p) + t * (wide(Ki + p) - wide(Kj + p));
                at(w.g + p) = g;
                up.take(c, -(g + at(w.up + p)), first + p);
                const Vector d = g + at(w.down + p);
                low[c] = d > low[c] ? d : low[c];
            }
        double top = -barred;
        const Index i = up.winner(top);
        if (i < 0 || top + largest(low) <= w.goal || steps >= w.steps) return steps;

        Best gain(0.0);
        const T* r = gains + i * w.stride;
        for (Index k = 0; k < w.stride; k += chains * lanes)
            for (int c = 0; c < chains; ++c) {
                const Index p = k + c * lanes;
                Vector d = top + at(w.g + p) + at(w.down + p);
                d = d > 0.0 ? d : Vector{};
                gain.take(c, d * d * wide(r + p), first + p);
            }
        double score = 0.0;
        const Index j = gain.winner(score);
        if (j < 0) return steps;
        Ki = K + i * w.stride;
        Kj = K + j * w.stride;
        const double fall = top + w.g[j] + w.down[j];
        const Room above = room_up(w, i), below = room_down(w, j);
        t = fall * static_cast<double>(r[j]);
        if (t > above.length) t = above.length;
        if (t > below.length) t = below.length;
        w.a[i] = t < above.length ? w.a[i] + t : above.end;
        w.a[j] = t < below.length ? w.a[j] - t : below.end;
        settle(w, i);
        settle(w, j);
        ++steps;
    }
}

template <class T> Index singles(const Working& w) {
    const T* K = static_cast<const T*>(w.K);
    const Numbers first = counted();
    Index steps = 0;
    const T* Ki = K;
    double t = 0.0;
    for (;;) {
        Best gain(0.0);
        Vector worst[chains];
        for (int c = 0; c < chains; ++c) worst[c] = Vector{};
        for (Index k = 0; k < w.stride; k += chains * lanes)
            for (int c = 0; c < chains; ++c) {
                const Index p = k + c * lanes;
                const Vector g = at(w.g + p) + t * wide(Ki + p);
                at(w.g + p) = g;
                const Vector u = -(g + at(w.up + p)), d = g + at(w.down + p);
                Vector v = u > d ? u : d;
                v = v > 0.0 ? v : Vector{};
                worst[c] = v > worst[c] ? v : worst[c];
                gain.take(c, v * v * at(w.scale + p), first + p);
            }
        double score = 0.0;
        const Index i = gain.winner(score);
        if (i < 0 || largest(worst) <= w.goal || steps >= w.steps) return steps;
        Ki = K + i * w.stride;
        const double u = -(w.g[i] + w.up[i]), d = w.g[i] + w.down[i];
        const Room room = u > d ? room_up(w, i) : room_down(w, i);
        double length = (u > d ? u : d) * w.scale[i];
        if (length > room.length) length = room.length;
        t = u > d ? length : -length;
        w.a[i] = length < room.length ? w.a[i] + t : room.end;
        settle(w, i);
        ++steps;
    }
}

typedef double Loose __attribute__((vector_size(vector_bytes), aligned(8)));
inline Vector load(const double* p) { return *reinterpret_cast<const Loose*>(p); }
inline void store(double* p, Vector v) { *reinterpret_cast<Loose*>(p) = v; }
inline Vector all(double x) { return x - Vector{}; }

// The same in lanes as `slope_up` and `slope_down` for one row.
inline Vector slopes_up(Vector a, Vector upper, Vector epsilon) {
    const Vector inside = a >= 0.0 ? epsilon : -epsilon;
    return a >= upper ? all(barred) : inside;
}
inline Vector slopes_down(Vector a, Vector lower, Vector epsilon) {
    const Vector inside = a > 0.0 ? epsilon : -epsilon;
    return a <= lower ? all(-barred) : inside;
}

Sides measure(const Problem& p, double* up, double* down) {
    Vector top[2] = {all(-barred), all(-barred)};
    const Vector epsilon = all(p.epsilon);
    Index i = 0;
    for (; i + lanes <= p.n; i += lanes) {
        const Vector a = load(p.a + i), g = load(p.g + i);
        const Vector u = -(g + slopes_up(a, load(p.upper + i), epsilon));
        const Vector d = g + slopes_down(a, load(p.lower + i), epsilon);
        store(up + i, u);
        store(down + i, d);
        top[0] = u > top[0] ? u : top[0];
        top[1] = d > top[1] ? d : top[1];
    }
    double best[2] = {-barred, -barred};
    for (int side = 0; side < 2; ++side)
        for (Index l = 0; l < lanes; ++l)
            best[side] = top[side][l] > best[side] ? top[side][l] : best[side];
    for (; i < p.n; ++i) {
        up[i] = -(p.g[i] + slope_up(p.a[i], p.upper[i], p.epsilon));
        down[i] = p.g[i] + slope_down(p.a[i], p.lower[i], p.epsilon);
        best[0] = up[i] > best[0] ? up[i] : best[0];
        best[1] = down[i] > best[1] ? down[i] : best[1];
    }
    return {best[0], best[1]};
}

// Of row i: a r + epsilon |a| + loss(r), at least zero, and 1/2 a (g + z) + loss(r).
template <class V> inline void part(const V& a, const V& g, const V& z, const V& lower, const V& upper,
                                    double epsilon, double b, V& gap, V& primal) {
    const V r = g + b, zero = a - a;
    const V under = -r - epsilon, over = r - epsilon, size = a < 0.0 ? -a : a;
    const V loss = upper * (under > 0.0 ? under : zero) - lower * (over > 0.0 ? over : zero);
    gap += a * r + epsilon * size + loss;
    primal += 0.5 * a * (g + z) + loss;
}

Gap gap_at(const Problem& p, double b) {
    Vector gap{}, primal{};
    Index i = 0;
    for (; i + lanes <= p.n; i += lanes)
        part<Vector>(load(p.a + i), load(p.g + i), load(p.z + i), load(p.lower + i),
                     load(p.upper + i), p.epsilon, b, gap, primal);
    Gap sum{0.0, 0.0};
    for (Index l = 0; l < lanes; ++l) sum.gap += gap[l], sum.primal += primal[l];
    for (; i < p.n; ++i)
        part<double>(p.a[i], p.g[i], p.z[i], p.lower[i], p.upper[i], p.epsilon, b, sum.gap,
                     sum.primal);
    return sum;
}

// Rows met in one pass over the gradient, and entries of it that stay in the first cache.
constexpr Index rows_at_once = 8, entries_at_once = 2048;

template <class T, Index rows>
void add_rows(double* g, const void* const* from, const double* delta, Index begin, Index end) {
    const T* row[rows];
    for (Index t = 0; t < rows; ++t) row[t] = static_cast<const T*>(from[t]);
    Index k = begin;
    for (; k + lanes <= end; k += lanes) {
        Vector sum = load(g + k);
        for (Index t = 0; t < rows; ++t) sum += delta[t] * wide(row[t] + k);
        store(g + k, sum);
    }
    for (; k < end; ++k) {
        double sum = g[k];
        for (Index t = 0; t < rows; ++t) sum += delta[t] * static_cast<double>(row[t][k]);
        g[k] = sum;
    }
}

template <class T>
void add(double* g, const void* const* rows, const double* delta, Index count, Index begin,
         Index end) {
    for (Index b = begin; b < end; b += entries_at_once) {
        const Index e = b + entries_at_once < end ? b + entries_at_once : end;
        Index t = 0;
        for (; t + rows_at_once <= count; t += rows_at_once)
            add_rows<T, rows_at_once>(g, rows + t, delta + t, b, e);
        for (; t < count; ++t) add_rows<T, 1>(g, rows + t, delta + t, b, e);
    }
}

Index run_pairs(const Working& w, bool single) { return single ? pairs<float>(w) : pairs<double>(w); }
Index run_singles(const Working& w, bool single) {
    return single ? singles<float>(w) : singles<double>(w);
}
void run_add(double* g, const void* const* rows, const double* delta, Index count, Index begin,
             Index end, bool single) {
    single ? add<float>(g, rows, delta, count, begin, end)
           : add<double>(g, rows, delta, count, begin, end);
}

}  // namespace

namespace mercer {
extern const SmoLevel MERCER_AT_LEVEL(smo);
const SmoLevel MERCER_AT_LEVEL(smo) = {run_pairs, run_singles, measure, gap_at, run_add};
}  // namespace mercer
