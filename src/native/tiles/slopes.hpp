// The derivative of a comparison by the entries of its left rows, column by column. Internal
// linkage: each processor level gets its own copy.
#pragma once

#include "tiles/job.hpp"
#include "tiles/panels.hpp"

namespace {

// 1, 0 or -1.
template <class V, class T> inline V sign(V t, T one) {
    const V ones = one - V{};
    return (t > V{} ? ones : V{}) - (t < V{} ? ones : V{});
}

// The derivative of one column's share by x, for x against a vector of z. Where |x - z| and
// min(x, z) have none, at x = z, it is the mean of those on both sides.
struct ManhattanSlope {
    template <class V, class T> static V at(T x, V z, T w) { return w * sign(x - z, T(1)); }
};
struct MinimumSlope {
    template <class V, class T> static V at(T x, V z, T) {
        return T(0.5) - T(0.5) * sign(x - z, T(1));
    }
};
// (x - z)^2 / (x + z) = x + z - 4 x z / (x + z).
struct Chi2Slope {
    template <class V, class T> static V at(T x, V z, T) {
        const V total = x + z, one = T(1) - V{};
        const V t = (x - z) / (total > T(0) ? total : one);
        return t * (T(2) - t);
    }
};
// The derivative of sin^2(pi t / p) is (pi / p) sin(2 pi t / p).
struct SineSlope {
    template <class V, class T> static V at(T x, V z, T period) {
        const V t = x - z, back = t - x, half = T(0.5) - V{};
        const V lost = (x - (t - back)) - (z + back);
        V u = T(2) * (Sine::rest(Sine::rest(t, period), period) + lost) / period;
        // sin(pi u) is symmetric about u = 1/2 and -1/2, up to which its series serves.
        u = u > half ? T(2) * half - u : u;
        u = u < -half ? -T(2) * half - u : u;
        const V q = u * u;
        V p = V{};
        for (int k = Sine::series - 1; k >= 0; --k)
            p = p * q + static_cast<T>(Sine::coefficients[k]);
        return T(3.14159265358979323846) / period * (u * p);
    }
};

// A few rows at a time, which share what is read of the right side. In a fixed order, whatever the
// threads do: lanes side by side, then the rest.
template <class Slope, int count> void sum_slopes(const SlopeJob& job, Index i) {
    typedef Simd<double>::vector V;
    typedef V unaligned __attribute__((aligned(sizeof(double))));
    constexpr Index lanes = Simd<double>::lanes;
    const Index m = job.columns;
    const double* values = job.values + i * m;
    for (Index k = 0; k < job.width; ++k) {
        const double* x = job.left + i * job.width + k;
        const double* z = job.right + k * m;
        const double w = job.weights[k];
        V sum[count] = {};
        Index j = 0;
        for (; j + lanes <= m; j += lanes) {
            const V column = *reinterpret_cast<const unaligned*>(z + j);
            for (int r = 0; r < count; ++r)
                sum[r] += *reinterpret_cast<const unaligned*>(values + r * m + j) *
                          Slope::at(x[r * job.width], column, w);
        }
        V last = V{};
        for (Index c = 0; j + c < m; ++c) last[c] = z[j + c];
        for (int r = 0; r < count; ++r) {
            V factor = V{};
            for (Index c = 0; j + c < m; ++c) factor[c] = values[r * m + j + c];
            sum[r] += factor * Slope::at(x[r * job.width], last, w);
            double total = 0.0;
            for (Index c = 0; c < lanes; ++c) total += sum[r][c];
            job.out[(i + r) * job.width + k] += total;
        }
    }
}

template <class Slope> void sum_slopes(const SlopeJob& job, Index begin, Index end) {
    constexpr int together = 4;
    Index i = begin;
    for (; i + together <= end; i += together) sum_slopes<Slope, together>(job, i);
    for (; i < end; ++i) sum_slopes<Slope, 1>(job, i);
}

void slopes(const SlopeJob& job, Index begin, Index end) {
    switch (job.kind) {
        case Kind::manhattan:
            return sum_slopes<ManhattanSlope>(job, begin, end);
        case Kind::minimum:
            return sum_slopes<MinimumSlope>(job, begin, end);
        case Kind::chi2:
            return sum_slopes<Chi2Slope>(job, begin, end);
        case Kind::sine:
            return sum_slopes<SineSlope>(job, begin, end);
        default:
            return;
    }
}

}  // namespace
