// What the data leave open on a line: the inverse of a chain's matrix, by passes along its knots and
// with positive terms only, and how much every target counts at a position between two of them.

#include <cstdint>

#include "arrays.hpp"
#include "module.hpp"
#include "require.hpp"

namespace nb = nanobind;

namespace {

// Below this a product fades into numbers that are slow, and that nobody needs.
constexpr double least = 1e-290;

// A pass along the line: the precision behind a knot, and the part of it that is of the prior.
struct Pass {
    double link = 0.0, row_sums = 0.0;

    // Go beyond the link g, and return how much of the next knot's value this one takes.
    double over(double g, double w, double h) {
        const double own = w + h + link, t = g / (g + own);
        row_sums = t * (h + row_sums);
        link = t * own;
        return t;
    }
};

void spread(const Numbers& links, const Numbers& row_sums, const Numbers& w,
            const Vector<double>& total, const Vector<double>& left, const Vector<double>& right,
            const Vector<double>& rise) {
    const Index n = static_cast<Index>(w.size());
    mercer::require(mercer::have_size(n - 1, links, left, right) &&
                mercer::have_size(n, row_sums, total, rise),
            "there must be a number for every knot, and one less for the links between them");
    Pass before, behind;
    for (Index i = 0; i < n; ++i) {
        total(i) = w(i) + row_sums(i) + before.link;
        rise(i) = row_sums(i) + before.row_sums;
        if (i + 1 < n) left(i) = before.over(links(i), w(i), row_sums(i));
    }
    for (Index i = n - 1; i >= 0; --i) {
        total(i) += behind.link;
        rise(i) = (rise(i) + behind.row_sums) / total(i);
        if (i > 0) right(i - 1) = behind.over(links(i - 1), w(i), row_sums(i));
    }
}

// One row of the result for every position: what its two neighbours say, carried outwards.
void influence(const Numbers& w, const Numbers& left, const Numbers& right, const Numbers& level,
               const Vector<const std::int64_t>& knots, const Numbers& here, const Numbers& there,
               const Numbers& share, const Matrix<double>& out) {
    const Index n = static_cast<Index>(w.size()), rows = static_cast<Index>(knots.size());
    mercer::require(mercer::have_size(n - 1, left, right) && mercer::have_size(n, level) &&
                mercer::have_size(rows, here, there, share) && mercer::has_shape(out, rows, n) &&
                mercer::are_within(knots.data(), rows, 0, n),
            "there must be a number for every knot, and a knot for every position");
    for (Index r = 0; r < rows; ++r) {
        double* h = out.data() + r * n;
        const double m = share(r);
        const Index i = static_cast<Index>(knots(r));
        double c = here(r);
        for (Index j = i; j >= 0; --j) {
            h[j] = w(j) * (c + m * level(j));
            if (j > 0) c *= left(j - 1);
            if (c < least) c = 0.0;
        }
        c = there(r);
        for (Index j = i + 1; j < n; ++j) {
            h[j] = w(j) * (c + m * level(j));
            if (j + 1 < n) c *= right(j);
            if (c < least) c = 0.0;
        }
    }
}

}  // namespace

void bind_spread(nb::module_& m) {
    using Release = nb::call_guard<nb::gil_scoped_release>;
    m.def("chain_spread", &spread, Release());
    m.def("chain_influence", &influence, Release());
}
