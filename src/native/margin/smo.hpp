// The dual of a support vector machine: min 1/2 a'Ka - z'a + epsilon |a|_1 over lower <= a <= upper,
// with sum(a) = 0 if there is an offset. The gradient of the smooth part is g = K a - z.
#pragma once

#include "tiles/job.hpp"

namespace mercer {

// What a coefficient at its bound adds to g, so that it is never the one to be moved.
constexpr double barred = 1e300;

// Some coefficients with all else held fixed, copied to where the caches are near. Arrays have
// `stride` entries, a multiple of `working_lanes`, of which the last are barred on both sides.
constexpr Index working_lanes = 16;
struct Working {
    Index count, stride;
    const void* K;          // (count, stride)
    const void* gains;      // (count, stride): 1 / (K_ii + K_jj - 2 K_ij), for pairs
    const double* scale;    // 1 / K_ii, for singles
    double *a, *g;
    double *up, *down;      // g + up is the slope of the way up, g + down that of the way down
    const double *lower, *upper;
    double epsilon;
    double goal;            // the violation to get below
    Index steps;            // how many are allowed
};

struct Problem {
    const double *z, *lower, *upper;
    double *a, *g;
    Index n;
    double epsilon;
    bool offset;
};

// How far the rows are from where they should be, and the duality gap at some offset.
struct Sides {
    double up, down;  // the largest of -(g + up) and of g + down
};
struct Gap {
    double gap, primal;
};

// The slopes of |a| on the two ways from a, barred where a bound is in the way.
inline double slope_up(double a, double upper, double epsilon) {
    return a >= upper ? barred : a >= 0.0 ? epsilon : -epsilon;
}
inline double slope_down(double a, double lower, double epsilon) {
    return a <= lower ? -barred : a > 0.0 ? epsilon : -epsilon;
}

// The routines of one processor level; `single` tells whether K is float or double. They return
// the steps made. `pairs` keeps sum(a), `singles` moves one coefficient at a time.
struct SmoLevel {
    Index (*pairs)(const Working&, bool single);
    Index (*singles)(const Working&, bool single);
    // up[i] = -(g + up) and down[i] = g + down for every row, and the largest of each.
    Sides (*measure)(const Problem&, double* up, double* down);
    Gap (*gap)(const Problem&, double offset);
    // g[k] += sum_t delta[t] rows[t][k] for begin <= k < end.
    void (*add)(double* g, const void* const* rows, const double* delta, Index count, Index begin,
                Index end, bool single);
};

}  // namespace mercer
