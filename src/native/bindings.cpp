// The door between Python and the tiles: arrays in, a job out.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <string>
#include <utility>
#include <vector>

#include "module.hpp"
#include "release.hpp"

namespace nb = nanobind;
using mercer::Index;

namespace {

// Results larger than this would only drive other data out of the caches.
constexpr std::size_t streaming_bytes = std::size_t{1} << 25;

using Array = nb::ndarray<nb::ro, nb::device::cpu>;
using Writable = nb::ndarray<nb::ndim<2>, nb::device::cpu>;
using Vector = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Code = nb::ndarray<const int, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Constants = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// A job together with the memory its pointers look into.
struct Request {
    std::vector<mercer::Leaf> leaves;
    std::vector<mercer::Step> steps;
    std::vector<mercer::Factor> factors;
    mercer::Job job{};
};

mercer::Matrix matrix_of(const Array& a) {
    return {a.data(), static_cast<Index>(a.stride(0)), static_cast<Index>(a.stride(1))};
}

bool same(const mercer::Matrix& a, const mercer::Matrix& b) {
    return a.data == b.data && a.row == b.row && a.column == b.column;
}

const double* pointer_or_null(nb::handle h) {
    return h.is_none() ? nullptr : nb::cast<Vector>(h).data();
}

mercer::Leaf leaf_of(nb::tuple t) {
    mercer::Leaf leaf{};
    leaf.kind = static_cast<mercer::Kind>(nb::cast<int>(t[0]));
    const auto left = nb::cast<Array>(t[1]);
    leaf.left = matrix_of(left);
    if (leaf.kind == mercer::Kind::given) return leaf;
    leaf.right = matrix_of(nb::cast<Array>(t[2]));
    leaf.width = static_cast<Index>(left.shape(1));
    leaf.weights = pointer_or_null(t[3]);
    leaf.centre = pointer_or_null(t[4]);
    leaf.sensitivity = nb::cast<double>(t[5]);
    return leaf;
}

// Leaves over the same matrices share one packed panel; at most one of them, the squared distance
// without weights, has a centre.
int number_panels(std::vector<mercer::Leaf>& leaves) {
    int panels = 0;
    for (std::size_t i = 0; i < leaves.size(); ++i) {
        leaves[i].panel = -1;
        for (std::size_t k = 0; k < i; ++k)
            if (leaves[k].kind != mercer::Kind::given && same(leaves[k].left, leaves[i].left) &&
                same(leaves[k].right, leaves[i].right) && leaves[k].width == leaves[i].width)
                leaves[i].panel = leaves[k].panel;
        if (leaves[i].panel < 0) leaves[i].panel = panels++;
    }
    return panels;
}

Request request_of(nb::list leaves, const Code& code, const Constants& constants, nb::list factors,
                   int n_slots, Index rows, Index columns, bool symmetric) {
    Request r;
    for (nb::handle t : leaves) r.leaves.push_back(leaf_of(nb::cast<nb::tuple>(t)));
    for (std::size_t i = 0; i < code.shape(0); ++i) {
        const int* c = code.data() + 5 * i;
        const double* v = constants.data() + 4 * i;
        r.steps.push_back({static_cast<mercer::Operation>(c[0]), c[1], c[2], c[3],
                           static_cast<mercer::Function>(c[4]), v[0], v[1], v[2], v[3]});
    }
    for (nb::handle f : factors) {
        const auto pair = nb::cast<nb::tuple>(f);
        r.factors.push_back({pointer_or_null(pair[0]), pointer_or_null(pair[1])});
    }
    r.job.n_panels = number_panels(r.leaves);
    r.job.leaves = r.leaves.data();
    r.job.n_leaves = static_cast<int>(r.leaves.size());
    r.job.steps = r.steps.data();
    r.job.n_steps = static_cast<int>(r.steps.size());
    r.job.n_slots = n_slots;
    r.job.factors = r.factors.data();
    r.job.rows = rows;
    r.job.columns = columns;
    r.job.symmetric = symmetric;
    return r;
}

const mercer::Level& level_named(const std::string& name) {
    const mercer::Level* level = mercer::choose_level(name.c_str());
    if (!level)
        throw nb::value_error(("this processor or build has no level '" + name + "'").c_str());
    return *level;
}

void fill(nb::list leaves, Code code, Constants constants, nb::list factors, int n_slots,
          Writable out, bool symmetric, int threads, const std::string& cpu) {
    const mercer::Level& level = level_named(cpu);
    Request r = request_of(leaves, code, constants, factors, n_slots,
                           static_cast<Index>(out.shape(0)), static_cast<Index>(out.shape(1)),
                           symmetric);
    r.job.out = out.data();
    r.job.out_row = static_cast<Index>(out.stride(0));
    r.job.out_column = static_cast<Index>(out.stride(1));
    r.job.streamed = out.nbytes() > streaming_bytes;
    const bool single = out.dtype() == nb::dtype<float>();
    mercer::without_gil([&] {
        return mercer::fill(level, r.job, single, threads, mercer::signals());
    });
}

void multiply(nb::list leaves, Code code, Constants constants, nb::list factors, int n_slots,
              nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu> vectors,
              nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu> products,
              bool symmetric, bool single, int threads, const std::string& cpu) {
    const mercer::Level& level = level_named(cpu);
    Request r = request_of(leaves, code, constants, factors, n_slots,
                           static_cast<Index>(products.shape(0)),
                           static_cast<Index>(vectors.shape(0)), symmetric);
    r.job.vectors = vectors.data();
    r.job.products = products.data();
    r.job.width = static_cast<Index>(vectors.shape(1));
    mercer::without_gil([&] {
        return mercer::multiply(level, r.job, single, threads, mercer::signals());
    });
}

}  // namespace

NB_MODULE(_native, m) {
    m.def("fill", &fill);
    m.def("multiply", &multiply);
    bind_chain(m);
    bind_line(m);
    bind_spread(m);
    bind_windows(m);
    bind_band(m);
    bind_perceptron(m);
    bind_sequences(m);
    bind_smo(m);
    m.def("level", [](const std::string& name) { return std::string(level_named(name).name); });
}
