// Coordinate descent on a margin problem over rows of features, which no two threads can share.

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "arrays.hpp"
#include "module.hpp"
#include "require.hpp"

namespace nb = nanobind;

namespace {

using namespace mercer;
using Whole = Vector<const std::int64_t>;

// Sums that run side by side, so that none waits for the last.
constexpr Index chains = 4;
// Bytes of the next row that are asked for while a row is read.
constexpr Index line = 64, ahead = 8 * line;

template <class T> void fetch(const T* from, Index count) {
    const auto* start = reinterpret_cast<const char*>(from);
    const Index bytes = std::min(ahead, count * static_cast<Index>(sizeof(T)));
    for (Index k = 0; k < bytes; k += line) __builtin_prefetch(start + k);
}

// The rows of a CSR matrix.
struct Sparse {
    const double* values;
    const std::int32_t* columns;
    const std::int64_t* starts;

    void fetch_row(Index i) const {
        const Index start = starts[i], count = starts[i + 1] - start;
        fetch(values + start, count);
        fetch(columns + start, count);
    }

    double dot(Index i, const double* w) const {
        double sum[chains] = {};
        Index k = starts[i];
        const Index end = starts[i + 1];
        for (; k + chains <= end; k += chains)
            for (Index c = 0; c < chains; ++c)
                sum[c] += values[k + c] * w[columns[k + c]];
        for (; k < end; ++k) sum[0] += values[k] * w[columns[k]];
        return (sum[0] + sum[1]) + (sum[2] + sum[3]);
    }

    void add(Index i, double t, double* w) const {
        for (Index k = starts[i]; k < starts[i + 1]; ++k)
            w[columns[k]] += t * values[k];
    }
};

// The rows of an array.
struct Dense {
    const double* values;
    Index width;

    void fetch_row(Index i) const { fetch(values + i * width, width); }

    double dot(Index i, const double* w) const {
        const double* x = values + i * width;
        double sum[chains] = {};
        Index k = 0;
        for (; k + chains <= width; k += chains)
            for (Index c = 0; c < chains; ++c) sum[c] += x[k + c] * w[k + c];
        for (; k < width; ++k) sum[0] += x[k] * w[k];
        return (sum[0] + sum[1]) + (sum[2] + sum[3]);
    }

    void add(Index i, double t, double* w) const {
        const double* x = values + i * width;
        for (Index k = 0; k < width; ++k) w[k] += t * x[k];
    }
};

// The least of 1/2 h (u - a)^2 + g (u - a) + epsilon |u| within the bounds.
double least(double a, double g, double h, double epsilon, double lower, double upper) {
    const double free = a - g / h, shrink = epsilon / h;
    const double u = std::copysign(std::max(std::fabs(free) - shrink, 0.0), free);
    return std::min(std::max(u, lower), upper);
}

template <class Rows>
void sweep(const Rows& rows, const Whole& order, const Numbers& z, const Numbers& lower,
           const Numbers& upper, double epsilon, const Numbers& curvature, double rho,
           const Vector<double>& a, const Vector<double>& w, const Vector<double>& offset) {
    const auto count = static_cast<Index>(order.size()), n = static_cast<Index>(a.size());
    require(have_size(n, z, lower, upper, curvature) && have_size(1, offset) &&
                are_within(order.data(), count, 0, n),
            "there must be a number for every row, and a row for every one of the order");
    double* const weights = w.data();
    double& b = *offset.data();
    for (Index k = 0; k < count; ++k) {
        const Index i = order.data()[k];
        if (k + 1 < count) rows.fetch_row(order.data()[k + 1]);
        const double g = rows.dot(i, weights) + b - z.data()[i];
        const double u = least(a.data()[i], g, curvature.data()[i], epsilon, lower.data()[i],
                               upper.data()[i]);
        const double change = u - a.data()[i];
        if (change == 0.0) continue;
        a.data()[i] = u;
        b += rho * change;
        rows.add(i, change, weights);
    }
}

void sweep_sparse(const Numbers& values, const Vector<const std::int32_t>& columns,
                  const Whole& starts, const Whole& order, const Numbers& z, const Numbers& lower,
                  const Numbers& upper, double epsilon, const Numbers& curvature, double rho,
                  const Vector<double>& a, const Vector<double>& w, const Vector<double>& offset) {
    const auto n = static_cast<Index>(a.size()), entries = static_cast<Index>(values.size());
    require(have_size(entries, columns) && have_size(n + 1, starts) && are_runs(starts, entries) &&
                are_within(columns.data(), entries, 0, static_cast<Index>(w.size())),
            "the starts or the columns of features lead out of their matrix");
    sweep(Sparse{values.data(), columns.data(), starts.data()}, order, z, lower, upper, epsilon,
          curvature, rho, a, w, offset);
}

void sweep_dense(const Matrix<const double>& values, const Whole& order, const Numbers& z,
                 const Numbers& lower, const Numbers& upper, double epsilon,
                 const Numbers& curvature, double rho, const Vector<double>& a,
                 const Vector<double>& w, const Vector<double>& offset) {
    require(has_shape(values, static_cast<Index>(a.size()), static_cast<Index>(w.size())),
            "there must be a feature for every row and weight");
    sweep(Dense{values.data(), static_cast<Index>(values.shape(1))}, order, z, lower, upper,
          epsilon, curvature, rho, a, w, offset);
}

}  // namespace

void bind_coordinates(nb::module_& m) {
    // A converted array would be a copy, and what is written to it lost.
    const auto kept = nb::arg().noconvert();
    m.def("descend_sparse", &sweep_sparse, kept, kept, kept, kept, kept, kept, kept, nb::arg(),
          kept, nb::arg(), kept, kept, kept, nb::call_guard<nb::gil_scoped_release>());
    m.def("descend_dense", &sweep_dense, kept, kept, kept, kept, kept, nb::arg(), kept, nb::arg(),
          kept, kept, kept, nb::call_guard<nb::gil_scoped_release>());
}
