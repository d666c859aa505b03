// The tile loop, compiled once for each processor level: a strip of rows at a time, every
// intermediate result in the first cache, nothing of the matrix stored unless it is asked for.
#include <new>

#include "tiles/job.hpp"
#include "tiles/panels.hpp"
#include "tiles/runner.hpp"
#include "tiles/slopes.hpp"

namespace {

// A packed panel of columns should fit in the second cache, and the slots of a strip in the first.
constexpr Index panel_bytes = 1 << 20, strip_bytes = 1 << 15;

template <class T> Index panel_columns(const Job& job) {
    constexpr Index block = Simd<T>::block, size = sizeof(T);
    const Index in_panel = panel_bytes / (widest<T>(job) * size);
    const Index in_strip = strip_bytes / ((job.n_slots + 1) * strip_rows * size);
    Index columns = in_panel < in_strip ? in_panel : in_strip;
    // As many bytes of a row for floats as for doubles: longer runs are written faster.
    constexpr Index most = tile_columns * static_cast<Index>(sizeof(double)) / size;
    columns = (columns < most ? columns : most) / block * block;
    return columns < block ? block : columns;
}

template <class T> Index padded_columns(const Tile& tile) {
    constexpr Index block = Simd<T>::block;
    return (tile.column_end - tile.column_begin + block - 1) / block * block;
}

// While it lives, floats below the smallest normal one are zero: entries of decaying kernels between
// 1e-45 and 1e-38 would make many processors a hundred times slower, and change no digit of a sum.
class Flushed {
public:
#if defined(__x86_64__)
    explicit Flushed(bool single) : saved_(_mm_getcsr()) {
        constexpr unsigned results_and_operands = 0x8040;
        if (single) _mm_setcsr(saved_ | results_and_operands);
    }
    ~Flushed() { _mm_setcsr(saved_); }
    Flushed(const Flushed&) = delete;
    Flushed& operator=(const Flushed&) = delete;

private:
    unsigned saved_;
#else
    explicit Flushed(bool) {}
#endif
};

// Write a run of entries to a row of the result, past the caches if the result is large.
template <class T> void put(const T* values, Index count, T* out, const Job& job) {
    if (job.out_column != 1) {
        for (Index j = 0; j < count; ++j) out[j * job.out_column] = values[j];
        return;
    }
    Index j = 0;
    if (job.streamed) {
        typedef typename Simd<T>::vector unaligned __attribute__((aligned(sizeof(T))));
        while (j < count && reinterpret_cast<unsigned long long>(out + j) % vector_bytes != 0) {
            out[j] = values[j];
            ++j;
        }
        for (; j + Simd<T>::lanes <= count; j += Simd<T>::lanes)
            stream(out + j, *reinterpret_cast<const unaligned*>(values + j));
    }
    for (; j < count; ++j) out[j] = values[j];
}

// mirror[column][row] from strip[row][column].
template <class T> void transpose(const T* strip, Index stride, T* mirror, Index mirror_stride) {
    constexpr int lanes = Simd<T>::lanes, columns = lanes > strip_rows ? lanes : strip_rows;
    for (Index j = 0; j < stride; j += columns)
        turn<columns>(strip + j, stride, mirror + j * mirror_stride, mirror_stride);
}

// Blocks on the diagonal are halved down to this many rows, so that little is computed twice.
constexpr Index diagonal_rows = 64;
// A gathered tile has rows of some lines more than it needs: at a power of two apart they would all
// fall into the same few places of the cache.
template <class T> constexpr Index gap = 64 / static_cast<Index>(sizeof(T));

// A tile, and if asked for its mirror image, gathered in cache and then written in whole runs.
template <class T> void fill_plain(const Job& job, const Tile& tile, void* memory) {
    Scratch<T> scratch{static_cast<char*>(memory)};
    Runner<T> run(job, tile, padded_columns<T>(tile), scratch);
    const Index n = tile.column_end - tile.column_begin, m = tile.row_end - tile.row_begin;
    const Index height = (m + strip_rows - 1) / strip_rows * strip_rows + gap<T>;
    T* mirror = tile.mirror ? scratch.template cut<T>(height * run.stride) : nullptr;
    T* out = static_cast<T*>(job.out);
    for (Index i = tile.row_begin; i < tile.row_end; i += strip_rows) {
        const Index count = tile.row_end - i < strip_rows ? tile.row_end - i : strip_rows;
        const T* strip = run.strip(i, count);
        for (Index r = 0; r < count; ++r)
            put(strip + r * run.stride, n,
                out + (i + r) * job.out_row + tile.column_begin * job.out_column, job);
        if (mirror) transpose(strip, run.stride, mirror + (i - tile.row_begin), height);
    }
    if (mirror)
        for (Index j = 0; j < n; ++j)
            put(mirror + j * height, m,
                out + (tile.column_begin + j) * job.out_row + tile.row_begin * job.out_column, job);
}

// A tile on the diagonal. Of a small one both halves are computed, some strips by products and some
// by differences; the upper half counts, so that the matrix is symmetric to the last bit.
template <class T> void fill_diagonal(const Job& job, Index begin, Index end, void* memory) {
    const Index n = end - begin;
    if (n > diagonal_rows) {
        const Index blocks = (n + diagonal_rows - 1) / diagonal_rows;
        const Index middle = begin + blocks / 2 * diagonal_rows;
        fill_diagonal<T>(job, begin, middle, memory);
        fill_diagonal<T>(job, middle, end, memory);
        fill_plain<T>(job, {begin, middle, middle, end, true}, memory);
        return;
    }
    const Tile tile{begin, end, begin, end, false};
    Scratch<T> scratch{static_cast<char*>(memory)};
    Runner<T> run(job, tile, padded_columns<T>(tile), scratch);
    T block[diagonal_rows * diagonal_rows];
    for (Index i = 0; i < n; i += strip_rows) {
        const Index count = n - i < strip_rows ? n - i : strip_rows;
        const T* strip = run.strip(begin + i, count);
        for (Index r = 0; r < count; ++r)
            __builtin_memcpy(block + (i + r) * diagonal_rows, strip + r * run.stride,
                             static_cast<std::size_t>(n) * sizeof(T));
    }
    for (Index i = 0; i < n; ++i) {
        T* row = block + i * diagonal_rows;
        for (Index j = 0; j < i; ++j) row[j] = block[j * diagonal_rows + i];
        put(row, n,
            static_cast<T*>(job.out) + (begin + i) * job.out_row + begin * job.out_column, job);
    }
}

template <class T> void fill_tile(const Job& job, const Tile& tile, void* memory) {
    if (job.symmetric && !tile.mirror)
        fill_diagonal<T>(job, tile.row_begin, tile.row_end, memory);
    else
        fill_plain<T>(job, tile, memory);
    finish_streams();
}

// Sum of the lanes, in a fixed order.
template <class T> inline T lanes_sum(typename Simd<T>::vector v) {
    T sum = 0;
    for (int k = 0; k < Simd<T>::lanes; ++k) sum += v[k];
    return sum;
}

// Add the transposed strip times some vectors, of which `left` has the numbers of its rows.
template <int vectors, class T>
inline void add_turned(const T* strip, Index stride, const T (*left)[strip_rows], T* below) {
    using V = typename Simd<T>::vector;
    for (Index j = 0; j < stride; j += Simd<T>::lanes) {
        V sum[vectors];
        for (int c = 0; c < vectors; ++c) sum[c] = at(below + c * stride + j);
        for (int r = 0; r < strip_rows; ++r) {
            const V row = at(strip + r * stride + j);
            for (int c = 0; c < vectors; ++c) sum[c] += row * left[c][r];
        }
        for (int c = 0; c < vectors; ++c) at(below + c * stride + j) = sum[c];
    }
}

template <class T> void multiply_tile(const Job& job, const Tile& tile, void* memory) {
    using V = typename Simd<T>::vector;
    constexpr int lanes = Simd<T>::lanes, together = 4;
    Scratch<T> scratch{static_cast<char*>(memory)};
    Runner<T> run(job, tile, padded_columns<T>(tile), scratch);
    const Index n = tile.column_end - tile.column_begin, stride = run.stride, width = job.width;
    const Index both = job.symmetric ? job.mirrored : width, turned = tile.mirror ? 0 : both;
    T* right = scratch.template cut<T>(both * stride);   // the vectors, by columns
    T* below = scratch.template cut<T>(width * stride);  // what the transposed tile adds
    for (Index c = 0; c < both; ++c)
        for (Index j = 0; j < stride; ++j)
            right[c * stride + j] =
                j < n ? static_cast<T>(job.vectors[(tile.column_begin + j) * width + c]) : T(0);
    for (Index k = turned * stride; k < width * stride; ++k) below[k] = T(0);
    for (Index i = tile.row_begin; i < tile.row_end; i += strip_rows) {
        const Index count = tile.row_end - i < strip_rows ? tile.row_end - i : strip_rows;
        T* strip = const_cast<T*>(run.strip(i, count));
        // Padding may hold anything, also NaN: make it harmless.
        for (Index r = 0; r < strip_rows; ++r)
            for (Index j = r < count ? n : 0; j < stride; ++j) strip[r * stride + j] = T(0);
        for (Index c = 0; c < both; ++c) {
            V sum[strip_rows];
            for (int r = 0; r < strip_rows; ++r) sum[r] = V{};
            for (Index j = 0; j < stride; j += lanes) {
                const V v = at(right + c * stride + j);
                for (int r = 0; r < strip_rows; ++r) sum[r] += at(strip + r * stride + j) * v;
            }
            for (Index r = 0; r < count; ++r)
                job.products[(i + r) * width + c] += lanes_sum<T>(sum[r]);
        }
        for (Index c = turned; c < width; c += together) {
            const Index some = width - c < together ? width - c : together;
            T left[together][strip_rows];
            for (Index k = 0; k < some; ++k) {
                const T times = tile.mirror && c + k >= both ? T(2) : T(1);
                for (Index r = 0; r < strip_rows; ++r) {
                    const double* row = job.vectors + (i + r) * width;
                    left[k][r] = r < count ? times * static_cast<T>(row[c + k]) : T(0);
                }
            }
            T* sums = below + c * stride;
            if (some == together)
                add_turned<together>(strip, stride, left, sums);
            else
                for (Index k = 0; k < some; ++k)
                    add_turned<1>(strip, stride, left + k, sums + k * stride);
        }
    }
    for (Index j = 0; j < n; ++j)
        for (Index c = turned; c < width; ++c)
            job.products[(tile.column_begin + j) * width + c] += below[c * stride + j];
}

template <class T> Index bytes(const Job& job) {
    const Index stride = panel_columns<T>(job), width = widest<T>(job);
    Index entries = (job.n_slots + 2) * strip_rows * stride + width * strip_rows;
    entries += job.n_panels * (width + 1) * stride + job.n_leaves * width + 4 * stride;
    entries += 2 * job.width * stride + (job.symmetric ? stride * (stride + gap<T>) : 0);
    for (int i = 0; i < job.n_leaves; ++i)
        if (job.leaves[i].walked.data) entries += group_rows * stride;
    const Index pieces = 20 + 4 * (job.n_panels + job.n_leaves);
    return entries * static_cast<Index>(sizeof(T)) + pieces * 64 +
           (job.n_panels * 5 + job.n_leaves * 2) * 64;
}

// Rows of all columns that are held between the two products, in the second cache.
constexpr Index held_rows = 32;

// Every entry is computed once: a few rows of K at a time are held, multiplied by the vectors, and
// then turned, by what is left of the targets. The packed columns serve all rows.
template <class T>
void residual_rows(const Job& job, Index begin, Index end, double* back, void* memory) {
    using V = typename Simd<T>::vector;
    constexpr int lanes = Simd<T>::lanes;
    Scratch<T> scratch{static_cast<char*>(memory)};
    const Index step = panel_columns<T>(job), across = (job.columns + step - 1) / step;
    const Index width = job.width;
    Tile* tiles = scratch.template cut<Tile>(across);
    Runner<T>* runs = scratch.template cut<Runner<T>>(across);
    T** right = scratch.template cut<T*>(across);  // the vectors, by columns
    T** held = scratch.template cut<T*>(across);   // [row * stride + column]
    T* left = scratch.template cut<T>(held_rows * width);
    for (Index j = 0; j < across; ++j) {
        const Index last = (j + 1) * step;
        tiles[j] = {begin, end, j * step, last < job.columns ? last : job.columns, false};
        const Index stride = padded_columns<T>(tiles[j]);
        new (runs + j) Runner<T>(job, tiles[j], stride, scratch);
        held[j] = scratch.template cut<T>(held_rows * stride);
        right[j] = scratch.template cut<T>(width * stride);
        const Index n = tiles[j].column_end - tiles[j].column_begin;
        for (Index c = 0; c < width; ++c)
            for (Index k = 0; k < stride; ++k)
                right[j][c * stride + k] =
                    k < n ? static_cast<T>(job.vectors[(j * step + k) * width + c]) : T(0);
    }
    for (Index first = begin; first < end; first += held_rows) {
        const Index rows = end - first < held_rows ? end - first : held_rows;
        double* r = job.products + first * width;
        for (Index k = 0; k < rows * width; ++k) r[k] = job.targets[first * width + k];
        for (Index j = 0; j < across; ++j) {
            const Index stride = runs[j].stride, n = tiles[j].column_end - tiles[j].column_begin;
            for (Index i = 0; i < rows; i += strip_rows) {
                const Index count = rows - i < strip_rows ? rows - i : strip_rows;
                const T* found = runs[j].strip(first + i, count);
                T* strip = held[j] + i * stride;
                __builtin_memcpy(strip, found,
                                 static_cast<std::size_t>(strip_rows * stride) * sizeof(T));
                // Padding may hold anything, also NaN: make it harmless.
                for (Index k = 0; k < strip_rows; ++k)
                    for (Index l = k < count ? n : 0; l < stride; ++l) strip[k * stride + l] = T(0);
                for (Index c = 0; c < width; ++c) {
                    V sum[strip_rows];
                    for (int k = 0; k < strip_rows; ++k) sum[k] = V{};
                    for (Index l = 0; l < stride; l += lanes) {
                        const V v = at(right[j] + c * stride + l);
                        for (int k = 0; k < strip_rows; ++k)
                            sum[k] += at(strip + k * stride + l) * v;
                    }
                    for (Index k = 0; k < count; ++k)
                        r[(i + k) * width + c] -= lanes_sum<T>(sum[k]);
                }
            }
        }
        for (Index c = 0; c < width; ++c)
            for (Index k = 0; k < rows; ++k)
                left[c * held_rows + k] =
                    static_cast<T>(job.row_weights[first + k] * r[k * width + c]);
        for (Index j = 0; j < across; ++j) {
            const Index stride = runs[j].stride, n = tiles[j].column_end - tiles[j].column_begin;
            for (Index c = 0; c < width; ++c) {
                double* sums = back + j * step * width + c;
                for (Index l = 0; l < n; l += lanes) {
                    V sum{};
                    for (Index k = 0; k < rows; ++k)
                        sum += at(held[j] + k * stride + l) * left[c * held_rows + k];
                    const Index most = n - l < lanes ? n - l : lanes;
                    for (Index k = 0; k < most; ++k)
                        sums[(l + k) * width] += static_cast<double>(sum[static_cast<int>(k)]);
                }
            }
        }
    }
}

template <class T> Index bytes_of_rows(const Job& job) {
    constexpr auto size = static_cast<Index>(sizeof(T));
    const Index step = panel_columns<T>(job), across = (job.columns + step - 1) / step;
    const Index each = bytes<T>(job) + (held_rows + job.width) * step * size + 4 * 64;
    const Index lists = static_cast<Index>(sizeof(Tile) + sizeof(Runner<T>) + 2 * sizeof(T*));
    return across * (each + lists) + held_rows * job.width * size + 8 * 64;
}

Index scratch_bytes(const Job& job, bool single) {
    return single ? bytes<float>(job) : bytes<double>(job);
}
Index columns_per_tile(const Job& job, bool single) {
    return single ? panel_columns<float>(job) : panel_columns<double>(job);
}
void fill(const Job& job, const Tile& tile, void* scratch, bool single) {
    const Flushed flushed(single);
    single ? fill_tile<float>(job, tile, scratch) : fill_tile<double>(job, tile, scratch);
}
void multiply(const Job& job, const Tile& tile, void* scratch, bool single) {
    const Flushed flushed(single);
    single ? multiply_tile<float>(job, tile, scratch) : multiply_tile<double>(job, tile, scratch);
}
Index residual_bytes(const Job& job, bool single) {
    return single ? bytes_of_rows<float>(job) : bytes_of_rows<double>(job);
}
void residuals(const Job& job, Index begin, Index end, double* back, void* scratch, bool single) {
    const Flushed flushed(single);
    single ? residual_rows<float>(job, begin, end, back, scratch)
           : residual_rows<double>(job, begin, end, back, scratch);
}

}  // namespace

// MERCER_LEVEL is the name of the level this file is compiled for.
#define MERCER_TEXT_OF(x) #x
#define MERCER_TEXT(x) MERCER_TEXT_OF(x)

namespace mercer {
extern const Level MERCER_AT_LEVEL(level);
const Level MERCER_AT_LEVEL(level) = {MERCER_TEXT(MERCER_LEVEL), scratch_bytes, columns_per_tile,
                                      fill, multiply, slopes, residual_bytes, residuals};
}  // namespace mercer
