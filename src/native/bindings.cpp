// The door between Python and the tiles: arrays in, a job out.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <string>
#include <utility>
#include <vector>

#include "levels.hpp"
#include "module.hpp"
#include "gil.hpp"
#include "require.hpp"

namespace nb = nanobind;
using mercer::Index;
using mercer::require;

namespace {

// Results larger than this would only drive other data out of the caches.
constexpr std::size_t streaming_bytes = std::size_t{1} << 25;

using Array = nb::ndarray<nb::ro, nb::device::cpu>;
using Writable = nb::ndarray<nb::ndim<2>, nb::device::cpu>;
using Vector = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Starts = nb::ndarray<const Index, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Columns = nb::ndarray<const int, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Code = nb::ndarray<const int, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Constants = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// A part of the block that a job computes: so many rows by columns, in single precision or double.
struct Block {
    Index rows, columns;
    bool single;

    bool has_precision(const Array& a) const {
        return a.dtype() == (single ? nb::dtype<float>() : nb::dtype<double>());
    }
};

// A job together with the memory its pointers look into.
struct Request {
    std::vector<mercer::Leaf> leaves;
    std::vector<mercer::Step> steps;
    std::vector<mercer::Factor> factors;
    mercer::Job job{};
};

mercer::Matrix matrix_of(const Array& a) {
    return {a.data(), static_cast<Index>(a.stride(0)), static_cast<Index>(a.stride(1)), nullptr,
            nullptr};
}

// Arrays are not converted: nobody would hold the copy while the job runs.
template <class T> T held(nb::handle h) { return nb::cast<T>(h, false); }

// A matrix given by an array, or by the values, columns and starts of its entries.
mercer::Matrix side_of(nb::handle h, const Block& block) {
    const Index rows = block.rows, width = block.columns;
    if (!nb::isinstance<nb::tuple>(h)) {
        const auto a = held<Array>(h);
        require(mercer::has_shape(a, rows, width) && block.has_precision(a),
                "an array of rows must have the shape and the precision of its job");
        return matrix_of(a);
    }
    const auto t = nb::cast<nb::tuple>(h);
    const auto values = held<Array>(t[0]);
    const auto columns = held<Columns>(t[1]);
    const auto starts = held<Starts>(t[2]);
    const auto count = static_cast<Index>(columns.size());
    const bool is_vector = values.ndim() == 1 && (values.size() < 2 || values.stride(0) == 1);
    require(is_vector && mercer::have_size(count, values) && block.has_precision(values),
            "entries must be a contiguous vector with a column each, in the precision of the job");
    require(mercer::have_size(rows + 1, starts) && mercer::are_runs(starts, count) &&
                mercer::are_within(columns.data(), count, 0, width),
            "the starts or the columns of entries lead out of their matrix");
    return {values.data(), 0, 0, starts.data(), columns.data()};
}

bool same(const mercer::Matrix& a, const mercer::Matrix& b) {
    return a.data == b.data && a.row == b.row && a.column == b.column && a.starts == b.starts;
}

const double* pointer_or_null(nb::handle h, Index count) {
    if (h.is_none()) return nullptr;
    const auto vector = held<Vector>(h);
    require(mercer::have_size(count, vector), "a vector must have one number per row or column");
    return vector.data();
}

mercer::Leaf leaf_of(nb::tuple t, const Block& block) {
    mercer::Leaf leaf{};
    leaf.kind = static_cast<mercer::Kind>(nb::cast<int>(t[0]));
    if (leaf.kind == mercer::Kind::given) {
        leaf.left = side_of(t[1], block);
        return leaf;
    }
    leaf.width = nb::cast<Index>(t[4]);
    const Block left{block.rows, leaf.width, block.single};
    leaf.left = side_of(t[1], left);
    leaf.right = side_of(t[2], {block.columns, leaf.width, block.single});
    if (!t[3].is_none()) leaf.walked = side_of(t[3], left);
    leaf.weights = pointer_or_null(t[5], leaf.width);
    leaf.sensitivity = nb::cast<double>(t[6]);
    return leaf;
}

// Leaves over the same matrices share one packed panel.
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
                   int n_slots, const Block& block, bool symmetric) {
    Request r;
    const auto steps = static_cast<Index>(code.shape(0));
    require(code.shape(1) == 5 && mercer::has_shape(constants, steps, 4),
            "a program must have four constants for every step");
    require(!symmetric || block.rows == block.columns, "a symmetric block must be square");
    for (nb::handle t : leaves) r.leaves.push_back(leaf_of(nb::cast<nb::tuple>(t), block));
    for (std::size_t i = 0; i < code.shape(0); ++i) {
        const int* c = code.data() + 5 * i;
        const double* v = constants.data() + 4 * i;
        r.steps.push_back({static_cast<mercer::Operation>(c[0]), c[1], c[2], c[3],
                           static_cast<mercer::Function>(c[4]), v[0], v[1], v[2], v[3]});
    }
    for (nb::handle f : factors) {
        const auto pair = nb::cast<nb::tuple>(f);
        r.factors.push_back(
            {pointer_or_null(pair[0], block.rows), pointer_or_null(pair[1], block.columns)});
    }
    r.job.n_panels = number_panels(r.leaves);
    r.job.leaves = r.leaves.data();
    r.job.n_leaves = static_cast<int>(r.leaves.size());
    r.job.steps = r.steps.data();
    r.job.n_steps = static_cast<int>(r.steps.size());
    r.job.n_slots = n_slots;
    r.job.factors = r.factors.data();
    r.job.rows = block.rows;
    r.job.columns = block.columns;
    r.job.symmetric = symmetric;
    return r;
}

void fill(nb::list leaves, Code code, Constants constants, nb::list factors, int n_slots,
          Writable out, bool symmetric, int threads, const std::string& cpu) {
    const mercer::Level& level = mercer::level_named(cpu);
    const bool single = out.dtype() == nb::dtype<float>();
    require(single || out.dtype() == nb::dtype<double>(), "a block must be of float32 or float64");
    const Block block{static_cast<Index>(out.shape(0)), static_cast<Index>(out.shape(1)), single};
    Request r = request_of(leaves, code, constants, factors, n_slots, block, symmetric);
    r.job.out = out.data();
    r.job.out_row = static_cast<Index>(out.stride(0));
    r.job.out_column = static_cast<Index>(out.stride(1));
    r.job.streamed = out.nbytes() > streaming_bytes;
    mercer::without_gil([&] {
        return mercer::fill(level, r.job, single, threads, mercer::signals());
    });
}

using Rows = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Sums = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// Add to the products those with the vectors, of which `mirrored` are by all of K, see `Job`.
void add_products(Request& r, const Rows& vectors, const Sums& products, Index mirrored, bool single,
                  int threads, const std::string& cpu) {
    const mercer::Level& level = mercer::level_named(cpu);
    r.job.vectors = vectors.data();
    r.job.products = products.data();
    r.job.width = static_cast<Index>(vectors.shape(1));
    r.job.mirrored = mirrored;
    mercer::without_gil([&] {
        return mercer::multiply(level, r.job, single, threads, mercer::signals());
    });
}

void multiply(nb::list leaves, Code code, Constants constants, nb::list factors, int n_slots,
              Rows vectors, Sums products, bool symmetric, bool single, int threads,
              const std::string& cpu) {
    require(products.shape(1) == vectors.shape(1), "there must be a product for every vector");
    const Block block{static_cast<Index>(products.shape(0)), static_cast<Index>(vectors.shape(0)),
                      single};
    Request r = request_of(leaves, code, constants, factors, n_slots, block, symmetric);
    add_products(r, vectors, products, static_cast<Index>(vectors.shape(1)), single, threads, cpu);
}

// Add to the first product K v, to the others H v with v'Hv = v'Kv, see `Job`.
void multiply_half(nb::list leaves, Code code, Constants constants, nb::list factors, int n_slots,
                   Rows vectors, Sums products, bool single, int threads, const std::string& cpu) {
    const auto rows = static_cast<Index>(vectors.shape(0));
    const auto width = static_cast<Index>(vectors.shape(1));
    require(width > 0 && mercer::has_shape(products, rows, width),
            "there must be a vector, and a product for every one");
    const Block block{rows, rows, single};
    Request r = request_of(leaves, code, constants, factors, n_slots, block, true);
    add_products(r, vectors, products, 1, single, threads, cpu);
}

// Write targets - K vectors, and add K' of these by the weights of the rows to `back`.
void residuals(nb::list leaves, Code code, Constants constants, nb::list factors, int n_slots,
               Rows vectors, Rows targets, Vector weights, Sums found, Sums back, bool single,
               int threads, const std::string& cpu) {
    const mercer::Level& level = mercer::level_named(cpu);
    const auto rows = static_cast<Index>(targets.shape(0));
    const auto columns = static_cast<Index>(vectors.shape(0));
    const auto width = static_cast<Index>(vectors.shape(1));
    require(mercer::has_shape(targets, rows, width) && mercer::has_shape(found, rows, width) &&
                mercer::has_shape(back, columns, width) && mercer::have_size(rows, weights),
            "targets, weights and results must be of agreeing shapes");
    Request r = request_of(leaves, code, constants, factors, n_slots, {rows, columns, single}, false);
    r.job.vectors = vectors.data();
    r.job.products = found.data();
    r.job.width = width;
    r.job.targets = targets.data();
    r.job.row_weights = weights.data();
    mercer::without_gil([&] {
        return mercer::residuals(level, r.job, back.data(), single, threads, mercer::signals());
    });
}

// Add to `out` the derivatives of comparisons by the entries of the left rows, see `SlopeJob`.
void slopes(int kind, Rows left, Rows right, Rows values, Vector weights,
            nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu> out, int threads,
            const std::string& cpu) {
    const mercer::Level& level = mercer::level_named(cpu);
    const auto rows = static_cast<Index>(left.shape(0)), width = static_cast<Index>(left.shape(1));
    const auto columns = static_cast<Index>(values.shape(1));
    require(mercer::has_shape(right, width, columns) && mercer::has_shape(values, rows, columns) &&
                mercer::has_shape(out, rows, width) && mercer::have_size(width, weights),
            "the sides, the values and the result must be of agreeing shapes");
    const mercer::SlopeJob job{static_cast<mercer::Kind>(kind), left.data(), right.data(),
                               values.data(), weights.data(), out.data(), rows, columns, width};
    mercer::without_gil([&] { return mercer::slopes(level, job, threads, mercer::signals()); });
}

// Write the entries of rows that are not zero, by their values, columns and starts. Returns how many
// they are, or -1 if there are more than the room that was given, less a row for the last of them.
template <class T>
Index gather(const mercer::Matrix& m, Index rows, Index width, Index room, T* values, int* columns,
             Index* starts) {
    const T* row = static_cast<const T*>(m.data);
    Index count = starts[0] = 0;
    for (Index i = 0; i < rows; ++i, row += m.row) {
        if (count + width > room) return -1;
        for (Index k = 0; k < width; ++k) {
            const T x = row[k * m.column];
            values[count] = x;
            columns[count] = static_cast<int>(k);
            count += x != T(0);
        }
        starts[i + 1] = count;
    }
    return count;
}

Index gather_entries(Array A, nb::ndarray<nb::ndim<1>, nb::c_contig, nb::device::cpu> values,
                     nb::ndarray<int, nb::ndim<1>, nb::c_contig, nb::device::cpu> columns,
                     nb::ndarray<Index, nb::ndim<1>, nb::c_contig, nb::device::cpu> starts) {
    require(A.ndim() == 2 && A.dtype() == values.dtype(), "entries must be of the dtype of rows");
    const mercer::Matrix m = matrix_of(A);
    const auto rows = static_cast<Index>(A.shape(0)), width = static_cast<Index>(A.shape(1));
    const auto room = static_cast<Index>(values.size());
    const bool single = A.dtype() == nb::dtype<float>();
    require(single || A.dtype() == nb::dtype<double>(), "rows must be of float32 or float64");
    require(mercer::have_size(room, columns) && mercer::have_size(rows + 1, starts),
            "there must be a column for every entry, and a start for every row");
    const nb::gil_scoped_release release;
    return single ? gather(m, rows, width, room, static_cast<float*>(values.data()),
                           columns.data(), starts.data())
                  : gather(m, rows, width, room, static_cast<double*>(values.data()),
                           columns.data(), starts.data());
}

}  // namespace

NB_MODULE(_native, m) {
    m.def("fill", &fill);
    m.def("multiply", &multiply);
    m.def("multiply_half", &multiply_half);
    m.def("residuals", &residuals);
    m.def("slopes", &slopes);
    m.def("gather_entries", &gather_entries);
    bind_chain(m);
    bind_line(m);
    bind_spread(m);
    bind_windows(m);
    bind_band(m);
    bind_coordinates(m);
    bind_perceptron(m);
    bind_reserve(m);
    bind_sequences(m);
    bind_smo(m);
    m.def("level", [](const std::string& name) { return std::string(mercer::level_named(name).name); });
}
