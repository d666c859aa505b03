// The perceptron's walk along the rows of a Gram matrix, which no two threads can share.

#include <cstdint>

#include "arrays.hpp"
#include "module.hpp"
#include "require.hpp"

namespace nb = nanobind;

namespace {

using namespace mercer;
template <class T> using Gram = nb::ndarray<const T, nb::ndim<2>, nb::device::cpu>;

// One problem: what its rows are and what has been learned about them.
struct Walk {
    const double* signs;  // y_i times the size of a step
    double* f;
    std::int64_t* counts;  // mistakes at every row
    std::int64_t* late;    // and the sum of the steps at which they were made
    Index n;

    bool is_wrong(Index i) const { return signs[i] > 0.0 ? f[i] <= 0.0 : f[i] >= 0.0; }

    template <class T> void learn(Index i, const T* row, std::int64_t step) {
        counts[i] += 1;
        late[i] += step;
        const double s = signs[i];
        for (Index j = 0; j < n; ++j) f[j] += s * static_cast<double>(row[j]);
    }
};

template <class T>
void sweep(const Gram<T>& K, const Vector<const std::int64_t>& order,
           const Vector<const double>& signs, const Vector<double>& f,
           const Vector<std::int64_t>& counts, const Vector<std::int64_t>& late,
           const Vector<std::int64_t>& steps) {
    const auto n = static_cast<Index>(f.size());
    require(has_shape(K, n, n) && (n < 2 || K.stride(1) == 1) && have_size(1, steps) &&
                have_size(n, signs, counts, late),
            "K must have a contiguous row, and each vector a number, for every row");
    require(are_within(order.data(), static_cast<Index>(order.size()), 0, n),
            "the order names a row that there is not");
    Walk walk{signs.data(), f.data(), counts.data(), late.data(), static_cast<Index>(f.size())};
    std::int64_t& step = *steps.data();
    for (std::size_t k = 0; k < order.size(); ++k, ++step) {
        const Index i = order.data()[k];
        if (walk.is_wrong(i)) walk.learn(i, K.data() + i * K.stride(0), step);
    }
}

template <class T>
void bind_sweep(nb::module_& m) {
    // A converted array would be a copy, and what is written to it lost.
    m.def("perceptron_sweep", &sweep<T>, nb::arg().noconvert(), nb::arg().noconvert(),
          nb::arg().noconvert(), nb::arg().noconvert(), nb::arg().noconvert(),
          nb::arg().noconvert(), nb::arg().noconvert(),
          nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace

void bind_perceptron(nb::module_& m) {
    bind_sweep<double>(m);
    bind_sweep<float>(m);
}
