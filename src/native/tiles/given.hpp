// Values of an input that are given, read into a strip. Internal linkage: each processor level gets
// its own copy.
#pragma once

#include "tiles/job.hpp"
#include "tiles/panels.hpp"

namespace {

// Replace the values of a strip by their means with those of the transposed one.
template <class T>
void add_mirror(const T* mirror, Index row, Index column, Index count, Index n, T* target,
                Index stride) {
    Index j = 0;
    if (count == strip_rows && column == 1)
        for (; j + strip_rows <= n; j += strip_rows) {
            T turned[strip_rows * strip_rows];
            turn<strip_rows>(mirror + j * row, row, turned, strip_rows);
            for (Index r = 0; r < strip_rows; ++r) {
                // For the next strip but one, into the second cache: no two of its lines are side
                // by side in memory, and the first cache cannot hold as many.
                __builtin_prefetch(mirror + (j + r) * row + 2 * strip_rows, 0, 2);
                T* values = target + r * stride + j;
                for (Index k = 0; k < strip_rows; ++k)
                    values[k] = T(0.5) * (values[k] + turned[r * strip_rows + k]);
            }
        }
    for (; j < n; ++j)
        for (Index r = 0; r < count; ++r) {
            T& value = target[r * stride + j];
            value = T(0.5) * (value + mirror[j * row + r * column]);
        }
}

// The rows [begin, begin + count) of given values in the columns of a tile, padded by zeros. Of a
// symmetric job their symmetric part counts: the transposed tile is read beside the tile, so that no
// matrix is made of it.
template <class T>
void copy_given(const mercer::Matrix& given, bool symmetric, const mercer::Tile& tile,
                Index begin, Index count, T* target, Index stride) {
    const Index n = tile.column_end - tile.column_begin, row = given.row, column = given.column;
    const T* values = static_cast<const T*>(given.data);
    const T* mirror = values + tile.column_begin * row + begin * column;
    values += begin * row + tile.column_begin * column;
    for (Index r = 0; r < strip_rows; ++r) {
        const Index read = r < count ? n : 0;
        for (Index j = 0; j < read; ++j) target[r * stride + j] = values[r * row + j * column];
        for (Index j = read; j < stride; ++j) target[r * stride + j] = T(0);
    }
    if (symmetric) add_mirror(mirror, row, column, count, n, target, stride);
}

}  // namespace
