// Panels: rows packed column by column, and the register-blocked loops that compare two of them.
// Internal linkage: each processor level gets its own copy.
#pragma once

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "tiles/job.hpp"

namespace {

using mercer::Index;

#if defined(__AVX512F__)
constexpr int vector_bytes = 64, strip_rows = 8;
#elif defined(__AVX2__)
constexpr int vector_bytes = 32, strip_rows = 4;
#else
constexpr int vector_bytes = 16, strip_rows = 4;
#endif

// A strip compares `strip_rows` rows with two vectors of columns at a time: that many sums live in
// registers.
constexpr int vectors_per_block = 2;
// Sums restart after this many columns, so that rounding errors do not pile up along a row.
constexpr Index columns_per_sum = 32;

template <class T> struct Simd {
    typedef T vector __attribute__((vector_size(vector_bytes)));
    static constexpr int lanes = vector_bytes / static_cast<int>(sizeof(T));
    static constexpr int block = vectors_per_block * lanes;
};

template <class T> inline typename Simd<T>::vector& at(T* p) {
    return *reinterpret_cast<typename Simd<T>::vector*>(p);
}
template <class T> inline const typename Simd<T>::vector& at(const T* p) {
    return *reinterpret_cast<const typename Simd<T>::vector*>(p);
}

// Store past the caches: what is written once and is larger than they are.
template <class T> inline void stream(T* p, typename Simd<T>::vector v) {
#if defined(__AVX512F__)
    _mm512_stream_si512(reinterpret_cast<__m512i*>(p), reinterpret_cast<__m512i>(v));
#elif defined(__AVX2__)
    _mm256_stream_si256(reinterpret_cast<__m256i*>(p), reinterpret_cast<__m256i>(v));
#elif defined(__x86_64__)
    _mm_stream_si128(reinterpret_cast<__m128i*>(p), reinterpret_cast<__m128i>(v));
#else
    at(p) = v;
#endif
}

inline void finish_streams() {
#if defined(__x86_64__)
    _mm_sfence();
#endif
}

// Whether the processor multiplies small whole numbers and adds the products to sums in one
// instruction, which its level does not promise.
inline bool fuses_products() {
#if defined(__AVX512BW__)
    static const bool yes = __builtin_cpu_supports("avx512vnni");
    return yes;
#else
    return false;
#endif
}

// The entries of two rows in turn, first those of their first halves.
template <int columns, class V> inline void interleave(const V& a, const V& b, V& first, V& last) {
    if constexpr (columns == 16) {
        first = __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7,
                                        23);
        last = __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30,
                                       15, 31);
    } else if constexpr (columns == 8) {
        first = __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
        last = __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
    } else {
        first = __builtin_shufflevector(a, b, 0, 4, 1, 5);
        last = __builtin_shufflevector(a, b, 2, 6, 3, 7);
    }
}

// The halves of a vector.
template <class V, class Half> inline void split(const V& v, Half& first, Half& last) {
    if constexpr (strip_rows == 8) {
        first = __builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7);
        last = __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15);
    } else {
        first = __builtin_shufflevector(v, v, 0, 1, 2, 3);
        last = __builtin_shufflevector(v, v, 4, 5, 6, 7);
    }
}

// Transpose some columns of a strip. Of its entries, one row after the other, a perfect shuffle of
// the first half with the last for every halving of the number of rows makes one column after the
// other.
template <int columns, class T>
inline void turn(const T* from, Index stride, T* to, Index to_stride) {
    constexpr int half = strip_rows / 2;
    typedef T V __attribute__((vector_size(columns * sizeof(T))));
    typedef T Column __attribute__((vector_size(strip_rows * sizeof(T))));
    V rows[strip_rows], dealt[strip_rows];
    for (int r = 0; r < strip_rows; ++r) __builtin_memcpy(&rows[r], from + r * stride, sizeof(V));
    for (int length = strip_rows; length > 1; length /= 2) {
        for (int r = 0; r < half; ++r)
            interleave<columns>(rows[r], rows[r + half], dealt[2 * r], dealt[2 * r + 1]);
        for (int r = 0; r < strip_rows; ++r) rows[r] = dealt[r];
    }
    constexpr int held = columns / strip_rows;
    static_assert(held == 1 || held == 2);
    for (int r = 0; r < strip_rows; ++r) {
        T* column = to + held * r * to_stride;
        if constexpr (held == 1) {
            __builtin_memcpy(column, &rows[r], sizeof(V));
        } else {
            // By the halves of a register: through memory it would be written and read once more.
            Column first, last;
            split(rows[r], first, last);
            __builtin_memcpy(column, &first, sizeof(Column));
            __builtin_memcpy(column + to_stride, &last, sizeof(Column));
        }
    }
}

// Write `count` rows, given by their entries, as panel[column][row] with the others zero.
template <class T>
void scatter(const mercer::Matrix& m, Index begin, Index count, Index width, T* panel,
             Index stride) {
    const T* values = static_cast<const T*>(m.data);
    for (Index k = 0; k < width * stride; ++k) panel[k] = T(0);
    for (Index i = 0; i < count; ++i)
        for (Index e = m.starts[begin + i]; e < m.starts[begin + i + 1]; ++e)
            panel[m.columns[e] * stride + i] = values[e];
}

// Write `count` rows, given by strides, as panel[column][row].
template <class T>
void turn_rows(const mercer::Matrix& m, Index begin, Index count, Index width, T* panel,
               Index stride) {
    const T* rows = static_cast<const T*>(m.data) + begin * m.row;
    // Whole squares where a row lies in one piece, the rest entry by entry.
    const Index squares = m.column == 1 ? count / strip_rows * strip_rows : 0;
    const Index across = width / strip_rows * strip_rows;
    for (Index i = 0; i < squares; i += strip_rows)
        for (Index k = 0; k < across; k += strip_rows)
            turn<strip_rows>(rows + i * m.row + k, m.row, panel + k * stride + i, stride);
    for (Index i = 0; i < count; ++i)
        for (Index k = i < squares ? across : 0; k < width; ++k)
            panel[k * stride + i] = rows[i * m.row + k * m.column];
}

// Pack `count` rows from `begin` as panel[column][row], the row index padded to `stride` by zeros.
template <class T>
void pack(const mercer::Matrix& m, Index begin, Index count, Index width, T* panel, Index stride) {
    if (m.starts)
        scatter(m, begin, count, width, panel, stride);
    else
        turn_rows(m, begin, count, width, panel, stride);
    for (Index k = 0; k < width; ++k)
        for (Index i = count; i < stride; ++i) panel[k * stride + i] = T(0);
}

// The sum of squares of every packed row.
template <class T> void norms(const T* panel, Index width, Index stride, T* result) {
    for (Index i = 0; i < stride; ++i) result[i] = T(0);
    for (Index k = 0; k < width; ++k)
        for (Index i = 0; i < stride; ++i)
            result[i] += panel[k * stride + i] * panel[k * stride + i];
}

// The sum of squares of rows given by their entries, padded to `stride` by zeros.
template <class T>
void entry_norms(const mercer::Matrix& m, Index begin, Index count, T* result, Index stride) {
    const T* values = static_cast<const T*>(m.data);
    for (Index i = 0; i < stride; ++i) {
        T sum = T(0);
        if (i < count)
            for (Index e = m.starts[begin + i]; e < m.starts[begin + i + 1]; ++e)
                sum += values[e] * values[e];
        result[i] = sum;
    }
}

// Pack the columns of a tile in blocks, panel[block][k][column], so that comparing those of a few
// blocks reads memory in a row.
template <class T>
void pack_blocks(const mercer::Matrix& m, Index begin, Index count, Index width, T* panel) {
    constexpr Index block = Simd<T>::block;
    for (Index j = 0; j < count; j += block)
        pack(m, begin + j, count - j < block ? count - j : block, width, panel + j * width, block);
}

// The sum of squares of every column of a tile.
template <class T> void block_norms(const T* panel, Index width, Index stride, T* result) {
    constexpr Index block = Simd<T>::block;
    for (Index j = 0; j < stride; j += block)
        norms(panel + j * width, width, block, result + j);
}

// How one column adds to the comparison of x and z. `start` is the value over no columns.
struct Dot {
    static constexpr bool multiplies = false;
    template <class V, class T> static V add(V sum, T x, V z, T) { return sum + x * z; }
};
struct SquaredDistance {
    static constexpr bool multiplies = false;
    template <class V, class T> static V add(V sum, T x, V z, T) {
        const V t = x - z;
        return sum + t * t;
    }
};
struct WeightedSquaredDistance {
    static constexpr bool multiplies = false;
    template <class V, class T> static V add(V sum, T x, V z, T w) {
        const V t = x - z;
        return sum + (w * t) * t;
    }
};
struct Manhattan {
    static constexpr bool multiplies = false;
    template <class V, class T> static V add(V sum, T x, V z, T w) {
        const V t = x - z;
        return sum + w * (t < T(0) ? -t : t);
    }
};
struct Minimum {
    static constexpr bool multiplies = true;
    template <class V, class T> static V add(V product, T x, V z, T) {
        const V all = x - V{};
        return product * (z < all ? z : all);
    }
};
struct Chi2 {
    static constexpr bool multiplies = false;
    template <class V, class T> static V add(V sum, T x, V z, T) {
        const V t = x - z, total = x + z;
        const V one = T(1) - V{};
        return sum + t * t / (total > T(0) ? total : one);
    }
};
// Entries are numbers of categories; they are equal or not.
struct Match {
    static constexpr bool multiplies = false;
    template <class V, class T> static V add(V sum, T x, V z, T) {
        const V all = x - V{}, one = T(1) - V{};
        return sum + (z == all ? one : V{});
    }
};

struct Sine {
    static constexpr bool multiplies = false;
    // What is left of t after whole periods. Once more, since the count is rounded if it is huge.
    template <class V, class T> static V rest(V t, T period) {
        constexpr T rounder = sizeof(T) == 8 ? T(0x1.8p52) : T(0x1.8p23);
        const V periods = (t / period + rounder) - rounder;
        // In two parts, of which the first has no rounding even without a fused multiply-add.
        constexpr T split = sizeof(T) == 8 ? T(0x1p27 + 1) : T(0x1p12 + 1);
        const T large = split * period, high = large - (large - period);
        return (t - periods * high) - periods * (period - high);
    }
    template <class V, class T> static V add(V sum, T x, V z, T period) {
        // The difference and what rounding took from it: a phase cannot be told from t alone.
        const V t = x - z, back = t - x;
        const V lost = (x - (t - back)) - (z + back);
        const V u = (rest(rest(t, period), period) + lost) / period;
        // sin(pi u) / u by its series, which for |u| <= 1/2 ends below rounding.
        const V q = u * u;
        V p = V{};
        for (int k = series - 1; k >= 0; --k) p = p * q + static_cast<T>(coefficients[k]);
        const V s = u * p;
        return sum + s * s;
    }
    static constexpr int series = 12;
    static constexpr double coefficients[series] = {
        0x1.921fb54442d18p+1, -0x1.4abbce625be53p+2, 0x1.466bc6775aae2p+1,
        -0x1.32d2cce62bd86p-1, 0x1.50783487ee782p-4, -0x1.e3074fde8871fp-8,
        0x1.e8f434d018d63p-12, -0x1.6fadb9f155744p-16, 0x1.aaec32af93359p-21,
        -0x1.8a404211f9547p-26, 0x1.2877020d52cf0p-31, -0x1.7215f879e1ac9p-37};
};

// out[row][column] for a strip of rows x[k][row] against a panel z of blocks of columns.
template <class Op, class T>
void compare(const T* x, const T* z, Index width, T* out, Index stride,
             const T* weights = nullptr) {
    using V = typename Simd<T>::vector;
    constexpr int lanes = Simd<T>::lanes;
    constexpr Index block = Simd<T>::block;
    const T start = Op::multiplies ? T(1) : T(0);
    for (Index j = 0; j < stride; j += block)
        for (Index k0 = 0; k0 < width || k0 == 0; k0 += columns_per_sum) {
            const Index k1 = k0 + columns_per_sum < width ? k0 + columns_per_sum : width;
            V sum[strip_rows][vectors_per_block];
            for (int r = 0; r < strip_rows; ++r)
                for (int v = 0; v < vectors_per_block; ++v) sum[r][v] = start - V{};
            for (Index k = k0; k < k1; ++k) {
                V column[vectors_per_block];
                for (int v = 0; v < vectors_per_block; ++v)
                    column[v] = at(z + j * width + k * block + v * lanes);
                const T weight = weights ? weights[k] : T(1);
                for (int r = 0; r < strip_rows; ++r)
                    for (int v = 0; v < vectors_per_block; ++v)
                        sum[r][v] = Op::add(sum[r][v], x[k * strip_rows + r], column[v], weight);
            }
            for (int r = 0; r < strip_rows; ++r)
                for (int v = 0; v < vectors_per_block; ++v) {
                    V& target = at(out + r * stride + j + v * lanes);
                    if (k0 == 0)
                        target = sum[r][v];
                    else if (Op::multiplies)
                        target *= sum[r][v];
                    else
                        target += sum[r][v];
                }
        }
}

// out[row][column] of the inner products of rows, given by their entries, with some blocks.
template <int blocks, class T>
inline void walk_blocks(const mercer::Matrix& rows, Index begin, Index count, const T* z,
                        Index width, T* out, Index stride) {
    using V = typename Simd<T>::vector;
    constexpr int lanes = Simd<T>::lanes;
    constexpr Index block = Simd<T>::block;
    const T* values = static_cast<const T*>(rows.data);
    for (Index i = 0; i < count; ++i) {
        const Index last = rows.starts[begin + i + 1];
        V total[blocks][vectors_per_block] = {};
        for (Index e = rows.starts[begin + i]; e < last;) {
            const Index pause = e + columns_per_sum < last ? e + columns_per_sum : last;
            V sum[blocks][vectors_per_block] = {};
            for (; e < pause; ++e) {
                const T x = values[e];
                const T* column = z + rows.columns[e] * block;
                for (int b = 0; b < blocks; ++b)
                    for (int v = 0; v < vectors_per_block; ++v)
                        sum[b][v] += x * at(column + b * block * width + v * lanes);
            }
            for (int b = 0; b < blocks; ++b)
                for (int v = 0; v < vectors_per_block; ++v) total[b][v] += sum[b][v];
        }
        for (int b = 0; b < blocks; ++b)
            for (int v = 0; v < vectors_per_block; ++v)
                at(out + i * stride + b * block + v * lanes) = total[b][v];
    }
}

// The same with all blocks, some at a time for all rows: these then stay in the first cache.
template <class T>
void walk(const mercer::Matrix& rows, Index begin, Index count, const T* z, Index width, T* out,
          Index stride) {
    constexpr int together = 2;
    constexpr Index block = Simd<T>::block;
    Index j = 0;
    for (; j + together * block <= stride; j += together * block)
        walk_blocks<together>(rows, begin, count, z + j * width, width, out + j, stride);
    for (; j < stride; j += block)
        walk_blocks<1>(rows, begin, count, z + j * width, width, out + j, stride);
}

}  // namespace
