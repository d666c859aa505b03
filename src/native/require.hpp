// What native code takes for granted about arrays from Python, checked before it follows a pointer.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>

namespace mercer {

inline void require(bool holds, const char* what) {
    if (!holds) throw nanobind::value_error(what);
}

// Whether each of these arrays has so many entries.
template <class... Arrays> bool have_size(std::ptrdiff_t n, const Arrays&... arrays) {
    return n >= 0 && ((arrays.size() == static_cast<std::size_t>(n)) && ...);
}

// Whether a matrix has this shape.
template <class Matrix>
bool has_shape(const Matrix& m, std::ptrdiff_t rows, std::ptrdiff_t columns) {
    return m.ndim() == 2 && static_cast<std::ptrdiff_t>(m.shape(0)) == rows &&
           static_cast<std::ptrdiff_t>(m.shape(1)) == columns;
}

// Whether all numbers are at least `least` and below `end`.
template <class T>
bool are_within(const T* numbers, std::ptrdiff_t count, std::ptrdiff_t least, std::ptrdiff_t end) {
    bool all = true;
    for (std::ptrdiff_t i = 0; i < count; ++i) all &= numbers[i] >= least && numbers[i] < end;
    return all;
}

// Whether runs of entries follow each other: run i from starts[i] to starts[i + 1], of so many.
template <class T> bool are_runs(const T* starts, std::ptrdiff_t runs, std::ptrdiff_t entries) {
    if (runs < 0 || starts[0] < 0 || starts[runs] > entries) return false;
    bool all = true;
    for (std::ptrdiff_t i = 0; i < runs; ++i) all &= starts[i] <= starts[i + 1];
    return all;
}

// The same for an array of starts, of which there is one more than there are runs.
template <class Starts> bool are_runs(const Starts& starts, std::ptrdiff_t entries) {
    return are_runs(starts.data(), static_cast<std::ptrdiff_t>(starts.size()) - 1, entries);
}

}  // namespace mercer
