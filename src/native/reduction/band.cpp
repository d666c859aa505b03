// The ridge path over K = Q T Q': (T + shift)^-1 for many shifts, and by sweeps along the rows of Q
// the diagonal and the diagonal blocks of Q (T + shift)^-1 Q'.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "gil.hpp"
#include "levels.hpp"
#include "module.hpp"
#include "reduction/reduction.hpp"
#include "require.hpp"

namespace nb = nanobind;
using namespace nb::literals;

MERCER_LEVELS(BandLevel, band)

namespace {

using namespace mercer;

using Square = nb::ndarray<double, nb::ndim<2>, nb::device::cpu>;
using Flat = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Rows = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Cube = nb::ndarray<double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

// Factors of T + shift by columns, [d, l below it] for each: L D L' = T + shift. Returns 0, or the
// number of the first pivot that is not above `least`.
Index factor(const double* band, Index n, double shift, double least, double* L) {
    constexpr Index step = band_width + 1;
    std::copy(band, band + n * step, L);
    for (Index k = 0; k < n; ++k) L[k * step] += shift;
    for (Index k = 0; k < n; ++k) {
        double* column = L + k * step;
        const double d = column[0];
        if (!(d > least)) return k + 1;
        const Index below = std::min<Index>(band_width, n - 1 - k);
        for (Index j = 1; j <= below; ++j) {
            const double l = column[j] / d;
            double* later = column + j * step;
            for (Index i = j; i <= below; ++i) later[i - j] -= l * column[i];
        }
        for (Index j = 1; j <= below; ++j) column[j] /= d;
    }
    return 0;
}

void solve(const double* L, Index n, double* x) {
    constexpr Index step = band_width + 1;
    for (Index k = 0; k < n; ++k)
        for (Index j = 1; j <= std::min<Index>(band_width, n - 1 - k); ++j)
            x[k + j] -= L[k * step + j] * x[k];
    for (Index k = n - 1; k >= 0; --k) {
        x[k] /= L[k * step];
        for (Index j = 1; j <= std::min<Index>(band_width, n - 1 - k); ++j)
            x[k] -= L[k * step + j] * x[k + j];
    }
}

// The trace of (L D L')^-1, whose entries inside the band follow from the last column backwards
// (Takahashi): Z_kj = -sum_m l_mk Z_mj, Z_kk = 1 / d_k - sum_m l_mk Z_mk.
double trace(const double* L, Index n) {
    constexpr Index step = band_width + 1;
    // Z of the last `band_width` columns, whole, in a ring.
    std::vector<double> Z(band_width * band_width, 0.0), next(band_width);
    const auto ring = [](Index k) { return k % band_width; };
    double total = 0.0;
    for (Index k = n - 1; k >= 0; --k) {
        const Index below = std::min<Index>(band_width, n - 1 - k);
        const double* l = L + k * step;
        std::fill(next.begin(), next.end(), 0.0);
        for (Index m = 1; m <= below; ++m) {
            const double* row = Z.data() + ring(k + m) * band_width;
            for (Index j = 0; j < band_width; ++j) next[j] -= l[m] * row[j];
        }
        double corner = 1.0 / l[0];
        for (Index m = 1; m <= below; ++m) corner -= l[m] * next[ring(k + m)];
        total += corner;
        // Row k takes the place of row k + band_width, which no earlier column meets.
        next[ring(k)] = corner;
        double* row = Z.data() + ring(k) * band_width;
        std::copy(next.begin(), next.end(), row);
        for (Index m = 1; m < band_width; ++m)
            if (k + m < n) Z[ring(k + m) * band_width + ring(k)] = next[ring(k + m)];
    }
    return total;
}

Index groups_of(Index n) { return (n + sweep_group - 1) / sweep_group; }

// Rearrange a factor for sweeps; equations beyond the last have a zero for 1 / d.
void pack(const double* L, Index n, double* packed) {
    constexpr Index step = band_width + 1;
    const auto l = [&](Index row, Index column) {
        const bool inside = column >= 0 && row < n && row - column <= band_width;
        return inside ? L[column * step + (row - column)] : 0.0;
    };
    for (Index k = 0; k < n; k += sweep_group) {
        for (Index t = k - band_width; t < k; ++t)
            for (Index i = 0; i < sweep_group; ++i) *packed++ = l(k + i, t);
        for (Index i = 1; i < sweep_group; ++i)
            for (Index j = 0; j < i; ++j) *packed++ = l(k + i, k + j);
        for (Index i = 0; i < sweep_group; ++i) *packed++ = k + i < n ? 1.0 / L[(k + i) * step] : 0.0;
    }
}

// Strips of right-hand sides that share a piece of the factor while it is in cache.
constexpr Index strips = 4;

// Sweep all factors over some rows of Q, the columns `begin` ... `end` of Q' of shape (n, m).
// sums[factor * m + row]; with `keep` the solutions take the place of the columns.
void sweep_rows(const BandLevel& level, const double* packed, Index factors, Index n, double* Q,
                Index m, Index begin, Index end, double* scratch, double* sums, bool keep) {
    const Index lanes = level.lanes, groups = groups_of(n), count = end - begin;
    const Index strip = groups * sweep_group * lanes, window = sweep_window * lanes;
    double* windows = scratch + strips * strip;
    double* totals = windows + strips * window;
    std::fill(scratch, scratch + strips * strip, 0.0);
    for (Index k = 0; k < n; ++k)
        for (Index r = 0; r < count; ++r)
            scratch[r / lanes * strip + k * lanes + r % lanes] = Q[k * m + begin + r];
    for (Index f = 0; f < factors; ++f) {
        std::fill(windows, totals + strips * lanes, 0.0);
        for (Index g = 0; g < groups; g += sweep_groups)
            for (Index s = 0; s * lanes < count; ++s) {
                double* q = scratch + s * strip + g * sweep_group * lanes;
                level.sweep(packed + (f * groups + g) * packed_group,
                            std::min(sweep_groups, groups - g), q, windows + s * window,
                            totals + s * lanes, keep ? q : nullptr);
            }
        if (sums) std::copy(totals, totals + count, sums + f * m + begin);
    }
    if (!keep) return;
    for (Index k = 0; k < n; ++k)
        for (Index r = 0; r < count; ++r)
            Q[k * m + begin + r] = scratch[r / lanes * strip + k * lanes + r % lanes];
}

// Sweep all factors over all columns of Q', in tiles on threads.
void sweep_all(const BandLevel& level, const double* factors, Index count, Index n, double* Q,
               Index m, double* sums, bool keep, int threads) {
    constexpr Index step = band_width + 1;
    const Index groups = groups_of(n), tile = strips * level.lanes, tiles = (m + tile - 1) / tile;
    const auto packed = aligned<double>(count * groups * packed_group);
    on_threads(count, threads, [&](Index f, int) {
        pack(factors + f * n * step, n, packed.get() + f * groups * packed_group);
    });
    const Index entries = tile * (groups * sweep_group + sweep_window + 1);
    threads = static_cast<int>(std::clamp<Index>(threads, 1, tiles));
    const auto scratch = aligned<double>(threads * entries);
    on_threads(tiles, threads, [&](Index t, int id) {
        sweep_rows(level, packed.get(), count, n, Q, m, t * tile, std::min(m, (t + 1) * tile),
                   scratch.get() + id * entries, sums, keep);
    });
}

// Symmetric matrices are the same by rows and by columns; of others Python holds the transpose.
View by_columns(const Square& a) { return {a.data(), static_cast<int>(a.stride(0))}; }

template <class T> T pointer_in(nb::handle capsule) {
    void* p = PyCapsule_GetPointer(capsule.ptr(), PyCapsule_GetName(capsule.ptr()));
    if (!p) throw nb::python_error();
    return reinterpret_cast<T>(p);
}

// SciPy publishes the routines of its BLAS as capsules.
Blas blas_of(nb::tuple capsules) {
    return {pointer_in<Blas::Gemm>(capsules[0]), pointer_in<Blas::Symm>(capsules[1]),
            pointer_in<Blas::Symm>(capsules[2])};
}

// The reflectors of a reduction: those of column k in column k, and their factors.
void check_reflectors(const Square& A, const Flat& tau) {
    const auto n = static_cast<Index>(A.shape(0));
    require(has_shape(A, n, n) && have_size(n, tau) && (n < 2 || A.stride(1) == 1),
            "the matrix must be square with contiguous rows, and have a factor for each");
}

// Factors by columns, of shape (shifts, n, band_width + 1).
void check_factors(const Cube& factors) {
    require(factors.shape(2) == band_width + 1, "factors must have the columns of a band");
}

void band_reduce(Square A, Flat tau, nb::tuple capsules, const std::string& cpu) {
    check_reflectors(A, tau);
    const Blas blas = blas_of(capsules);
    const BandLevel& level = band_level(cpu);
    without_gil([&] {
        return reduce(blas, level, by_columns(A), static_cast<int>(A.shape(0)), tau.data(),
                      signals());
    });
}

void band_apply(Square A, Flat tau, nb::tuple capsules, Square C, bool forward, bool growing) {
    check_reflectors(A, tau);
    require(C.shape(1) == A.shape(0) && (C.shape(1) < 2 || C.stride(1) == 1),
            "vectors must be contiguous, with a number for every row of the matrix");
    const Blas blas = blas_of(capsules);
    without_gil([&] {
        return apply(blas, by_columns(A), static_cast<int>(A.shape(0)), tau.data(),
                     by_columns(C), static_cast<int>(C.shape(0)), forward, growing,
                     signals());
    });
}

void band_factor(Rows band, Flat shifts, Flat least, Cube factors,
                 nb::ndarray<std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu> failed,
                 int threads) {
    const auto n = static_cast<Index>(band.shape(0));
    const auto count = static_cast<Index>(shifts.size());
    check_factors(factors);
    require(has_shape(band, n, band_width + 1) && have_size(count, least, failed) &&
                have_size(count * n * (band_width + 1), factors),
            "there must be factors of the size of the band for every shift");
    nb::gil_scoped_release release;
    on_threads(static_cast<Index>(shifts.shape(0)), threads, [&](Index f, int) {
        failed.data()[f] = factor(band.data(), n, shifts.data()[f], least.data()[f],
                                  factors.data() + f * n * (band_width + 1));
    });
}

void band_solve(Cube factors, Cube x, int threads) {
    const auto n = static_cast<Index>(factors.shape(1)), vectors = static_cast<Index>(x.shape(1));
    check_factors(factors);
    require(x.shape(0) == factors.shape(0) && x.shape(2) == factors.shape(1),
            "right-hand sides must have the size of their factors");
    nb::gil_scoped_release release;
    on_threads(static_cast<Index>(x.shape(0)) * vectors, threads, [&](Index i, int) {
        solve(factors.data() + i / vectors * n * (band_width + 1), n, x.data() + i * n);
    });
}

void band_traces(Cube factors, Flat traces, int threads) {
    const auto n = static_cast<Index>(factors.shape(1));
    check_factors(factors);
    require(have_size(static_cast<Index>(factors.shape(0)), traces),
            "there must be a trace for every factor");
    nb::gil_scoped_release release;
    on_threads(static_cast<Index>(factors.shape(0)), threads, [&](Index f, int) {
        traces.data()[f] = trace(factors.data() + f * n * (band_width + 1), n);
    });
}

void band_diagonals(Cube factors, Rows Q, Rows diagonals, int threads, const std::string& cpu) {
    const BandLevel& level = band_level(cpu);
    check_factors(factors);
    require(Q.shape(0) == factors.shape(1) && diagonals.shape(0) == factors.shape(0) &&
                diagonals.shape(1) == Q.shape(1),
            "Q must have the rows of the factors, and every diagonal its columns");
    nb::gil_scoped_release release;
    sweep_all(level, factors.data(), static_cast<Index>(factors.shape(0)),
              static_cast<Index>(factors.shape(1)), Q.data(), static_cast<Index>(Q.shape(1)),
              diagonals.data(), false, threads);
}

void band_halves(Rows factor, Rows Q, int threads, const std::string& cpu) {
    const BandLevel& level = band_level(cpu);
    require(factor.shape(1) == band_width + 1 && Q.shape(0) == factor.shape(0),
            "Q must have the rows of the factor");
    nb::gil_scoped_release release;
    sweep_all(level, factor.data(), 1, static_cast<Index>(factor.shape(0)), Q.data(),
              static_cast<Index>(Q.shape(1)), nullptr, true, threads);
}

}  // namespace

void bind_band(nb::module_& m) {
    // Arrays are written to, so that none may be converted, and thereby copied, on the way in.
    const auto whole = [](const char* name) { return nb::arg(name).noconvert(); };
    m.attr("band_width") = static_cast<int>(band_width);
    m.def("band_reduce", &band_reduce, whole("A"), whole("tau"), "blas"_a, "cpu"_a);
    m.def("band_apply", &band_apply, whole("A"), whole("tau"), "blas"_a, whole("C"), "forward"_a,
          "growing"_a);
    m.def("band_factor", &band_factor, whole("band"), whole("shifts"), whole("least"),
          whole("factors"), whole("failed"), "threads"_a);
    m.def("band_solve", &band_solve, whole("factors"), whole("x"), "threads"_a);
    m.def("band_traces", &band_traces, whole("factors"), whole("traces"), "threads"_a);
    m.def("band_diagonals", &band_diagonals, whole("factors"), whole("Q"), whole("diagonals"),
          "threads"_a, "cpu"_a);
    m.def("band_halves", &band_halves, whole("factor"), whole("Q"), "threads"_a, "cpu"_a);
}
