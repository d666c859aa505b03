// A symmetric matrix as Q T Q', T of half-bandwidth `band_width`, and what is done with T.
#pragma once

#include "tiles/job.hpp"

namespace mercer {

// Diagonals of T below the main one: wide enough for matrix products to carry the reduction, and
// narrow enough for the sweeps, whose cost grows with it.
constexpr Index band_width = 32;

// The factor L D L' of T + shift, packed for a sweep over groups of equations: the coefficients of
// the `band_width` unknowns before the group, those inside it, and 1 / d.
constexpr Index sweep_group = 4;
constexpr Index triangle_entries = sweep_group * (sweep_group - 1) / 2;
constexpr Index packed_group = sweep_group * band_width + triangle_entries + sweep_group;
// Groups of one call, and the doubles of its window for each right-hand side.
constexpr Index sweep_groups = 64;
constexpr Index sweep_window = sweep_groups * sweep_group + band_width;

// The routines of one processor level.
struct BandLevel {
    Index lanes;  // right-hand sides that a sweep takes side by side: q[k * lanes + r]

    // Solve the next `groups` groups of L z = q. The first `band_width` entries of the window are
    // the last ones solved, before and after. Adds z_k^2 / d_k to `sums`, and stores z / sqrt(d)
    // if `z` is not null; it may be q.
    void (*sweep)(const double* packed, Index groups, const double* q, double* window, double* sums,
                  double* z);

    // Householder QR in place of a panel by columns: R on top, the reflectors below.
    void (*panel_qr)(double* a, Index stride, Index rows, Index columns, double* tau);
};

}  // namespace mercer
