// The reduction of a symmetric matrix to a band: K = Q T Q'.
#pragma once

#include "reduction/band.hpp"
#include "tiles/schedule.hpp"

namespace mercer {

// The matrix products of a BLAS, by the names and with the arguments of Fortran.
struct Blas {
    using Gemm = void (*)(const char*, const char*, const int*, const int*, const int*,
                          const double*, const double*, const int*, const double*, const int*,
                          const double*, double*, const int*);
    using Symm = void (*)(const char*, const char*, const int*, const int*, const double*,
                          const double*, const int*, const double*, const int*, const double*,
                          double*, const int*);
    Gemm dgemm;
    Symm dsymm;
    Symm dsyr2k;
};

// A matrix by columns.
struct View {
    double* data;
    int stride;

    double* column(Index j) const { return data + j * stride; }
    View at(Index i, Index j) const { return {data + j * stride + i, stride}; }
};

// Reduce the lower triangle of A to the band T; the reflectors that make up Q take the place of what
// lies below it, with one factor `tau` each. False when interrupted, as below.
bool reduce(const Blas& blas, const BandLevel& level, View A, int n, double* tau,
            Interrupt interrupt);

// Apply Q, or Q' if `forward`, to the columns of C from the left. Where `growing`, C is the unit
// matrix as yet, and becomes Q.
bool apply(const Blas& blas, View A, int n, const double* tau, View C, int columns, bool forward,
           bool growing, Interrupt interrupt);

}  // namespace mercer
