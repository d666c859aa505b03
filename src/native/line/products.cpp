// Functions and Gram matrices on a line, by passes along its knots: products and interpolation.

#include <algorithm>
#include <cmath>

#include "arrays.hpp"
#include "module.hpp"
#include "require.hpp"

namespace nb = nanobind;

namespace {

// Below this a denominator has lost digits to underflow.
constexpr double least = 1e-290;

// How much the values at two neighbouring knots count between or beyond them.
struct Share {
    double first, second;
};

// (f sinh(v / l) + g sinh(u / l)) / sinh((u + v) / l) at the distances u and v from the knots.
inline Share bent(double u, double v, double length_scale) {
    const double p = std::expm1(-u / length_scale), q = std::expm1(-v / length_scale);
    const double a = -p * (2.0 + p), b = -q * (2.0 + q);
    const double sum = a + b * (1.0 + p) * (1.0 + p);
    if (sum > least) return {(1.0 + p) * b / sum, (1.0 + q) * a / sum};
    return {v / (u + v), u / (u + v)};
}

struct Curve {
    const double* knots;
    Index n;
    double length_scale;  // infinite: straight lines
    double root;          // distance from the first knot to the left end of a straight line, where
                          // it is zero

    Share share(double x, Index i) const {
        const double* t = knots;
        const bool straight = std::isinf(length_scale);
        if (i < 0 && straight) return {1.0 - (t[0] - x) / root, 0.0};
        if (i < 0) return {std::exp((x - t[0]) / length_scale), 0.0};
        if (i + 1 == n) return {std::exp((t[i] - x) / length_scale), 0.0};
        const double u = x - t[i], v = t[i + 1] - x;
        return straight ? Share{v / (u + v), u / (u + v)} : bent(u, v, length_scale);
    }

    // The last knot not beyond x, or -1, looked for near knot i first.
    Index find(double x, Index i) const {
        if (x < knots[i]) return std::upper_bound(knots, knots + i, x) - knots - 1;
        for (int tries = 0; tries < 8; ++tries, ++i)
            if (i + 1 == n || x < knots[i + 1]) return i;
        return std::upper_bound(knots + i, knots + n, x) - knots - 1;
    }
};

void interpolate(const Curve& curve, const double* values, Index width, const double* x,
                 Index rows, double* out) {
    Index i = 0;
    for (Index r = 0; r < rows; ++r) {
        i = curve.find(x[r], i);
        const Share s = curve.share(x[r], i);
        i = std::max<Index>(i, 0);
        const double* one = values + i * width;
        const double* two = i + 1 < curve.n ? one + width : one;
        for (Index k = 0; k < width; ++k)
            out[r * width + k] = s.first * one[k] + s.second * two[k];
    }
}

// Several columns of a product at a time: the chains of additions wait less for each other.
constexpr int n_columns = 4;

// K v for K_ij = the product of the decays between i and j: what comes from the left with the knot
// itself, plus what comes from the right.
struct Decays {
    static constexpr int per_knot = 0;  // between two of them
    const double* decays;
    Index n, width;

    template <int columns> void multiply(const double* v, double* out) const {
        double left[columns]{}, right[columns]{};
        for (Index i = 0, j = n - 1; i < n; ++i, --j) {
            const double before = i ? decays[i - 1] : 0.0, behind = i ? decays[j] : 0.0;
            const double* next = v + (i ? j + 1 : j) * width;
            for (int k = 0; k < columns; ++k) {
                left[k] = v[i * width + k] + before * left[k];
                right[k] = behind * (next[k] + right[k]);
                // The first to arrive at a knot writes, the second adds.
                double &here = out[i * width + k], &there = out[j * width + k];
                here = i <= j ? left[k] : here + left[k];
                there = i < j ? right[k] : there + right[k];
            }
        }
    }
};

// K v for K_ij = the sum of the lengths up to the lesser of i and j.
struct Lengths {
    static constexpr int per_knot = 1;
    const double* lengths;
    Index n, width;

    template <int columns> void multiply(const double* v, double* out) const {
        double sum[columns]{};
        for (Index i = n - 1; i >= 0; --i)
            for (int k = 0; k < columns; ++k) {
                sum[k] += v[i * width + k];
                out[i * width + k] = lengths[i] * sum[k];
            }
        for (Index i = 1; i < n; ++i)
            for (int k = 0; k < columns; ++k) out[i * width + k] += out[(i - 1) * width + k];
    }
};

template <class Gram>
void multiply(const Numbers& between, const Matrix<const double>& V, const Matrix<double>& out) {
    const auto n = static_cast<Index>(V.shape(0));
    mercer::require(mercer::has_shape(out, n, static_cast<Index>(V.shape(1))) &&
                between.size() + 1 >= V.shape(0) + Gram::per_knot,
            "there must be a number for every knot, or for every pair of neighbours");
    const Gram gram{between.data(), static_cast<Index>(V.shape(0)),
                    static_cast<Index>(V.shape(1))};
    Index k = 0;
    for (; k + n_columns <= gram.width; k += n_columns)
        gram.template multiply<n_columns>(V.data() + k, out.data() + k);
    for (; k < gram.width; ++k) gram.template multiply<1>(V.data() + k, out.data() + k);
}

}  // namespace

void bind_line(nb::module_& m) {
    using Release = nb::call_guard<nb::gil_scoped_release>;
    m.def("chain_multiply_decays", &multiply<Decays>, Release());
    m.def("chain_multiply_lengths", &multiply<Lengths>, Release());
    m.def(
        "chain_interpolate",
        [](const Numbers& knots, const Matrix<const double>& values, double length_scale,
           double root, const Numbers& x, const Matrix<double>& out) {
            const auto rows = static_cast<Index>(x.size());
            mercer::require(knots.size() > 0 && values.shape(0) >= knots.size() &&
                        mercer::has_shape(out, rows, static_cast<Index>(values.shape(1))),
                    "there must be values at every knot, and a result for every position");
            const Curve curve{knots.data(), static_cast<Index>(knots.size()), length_scale, root};
            interpolate(curve, values.data(), static_cast<Index>(values.shape(1)), x.data(),
                        rows, out.data());
        },
        Release());
}
