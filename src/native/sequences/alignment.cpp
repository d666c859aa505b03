// Sequences compared in vector registers, compiled once for each processor level.
#include "tiles/panels.hpp"
#include "sequences/sequences.hpp"

namespace {

using namespace mercer;
using Vector = Simd<double>::vector;
typedef long long Symbols __attribute__((vector_size(vector_bytes)));

// Vectors side by side, as many as hide the latency of a chain and leave registers for its states.
constexpr Index abreast = vector_bytes == 64 ? 2 : 1;
constexpr Index width = Simd<double>::lanes;
constexpr Index lanes = abreast * width;

inline const Symbols& symbols(const long long* p) { return *reinterpret_cast<const Symbols*>(p); }

Index align_scratch(Index t_length, int longest) {
    return ((t_length + 2) * (longest - 1) + longest) * lanes;
}

// For every length p < k, D_p(i, j) = 1 where p symbols in a row match, ending in s_i = t_j, and
//   R_p(j) = decay R_p(j - 1) + D_p(i, j),   S_p(i, j) = decay S_p(i - 1, j) + R_p(j),
//   D_{p+1}(i, j) = [s_i = t_j] S_p(i - 1, j - 1).
// The factor decay^2 of every step is left to the caller. `fixed` is k if it is known beforehand.
template <int fixed, bool shorter, bool own>
void align(const Alignment& job, double* scratch, double* sums) {
    const int k = fixed ? fixed : job.longest;
    const int levels = k - 1;
    const Vector zero = {}, one = zero + 1.0, decay = zero + job.decay;
    Vector near[fixed ? 2 * fixed * abreast : 1];
    Vector* R = fixed ? near : reinterpret_cast<Vector*>(scratch);
    Vector* before = R + levels * abreast;
    double* S = fixed ? scratch : scratch + 2 * levels * lanes;
    Vector near_totals[fixed ? fixed * abreast : 1];
    Vector* total = fixed ? near_totals : reinterpret_cast<Vector*>(S + job.t_length * levels * lanes);
    for (Index x = 0; x < k * abreast; ++x) total[x] = job.resumed ? at(sums + x * width) : zero;
    if (!job.resumed)
        for (Index x = 0; x < job.t_length * levels * abreast; ++x) at(S + x * width) = zero;

    for (Index i = 0; i < job.s_length; ++i) {
        for (Index x = 0; x < 2 * levels * abreast; ++x) R[x] = zero;
        double* row = S;
        for (Index j = 0; j < job.t_length; ++j, row += levels * lanes)
            for (Index v = 0; v < abreast; ++v) {
                const Symbols t = symbols(job.t + j * lanes + v * width);
                const Symbols match =
                    own ? t == symbols(job.s + i * lanes + v * width) : t == job.s[i];
                Vector D = match ? one : zero;
                for (Index p = 0; p < levels; ++p) {
                    if (shorter) total[p * abreast + v] += D;
                    Vector& here = at(row + (p * abreast + v) * width);
                    Vector& r = R[p * abreast + v];
                    const Vector above = here;
                    r = decay * r + D;
                    here = decay * above + r;
                    D = match ? before[p * abreast + v] : zero;
                    before[p * abreast + v] = above;
                }
                total[levels * abreast + v] += D;
            }
    }
    for (Index x = 0; x < k * abreast; ++x) at(sums + x * width) = total[x];
}

template <int fixed>
void align_length(const Alignment& job, double* scratch, double* sums) {
    if (job.own)
        job.shorter ? align<fixed, true, true>(job, scratch, sums)
                    : align<fixed, false, true>(job, scratch, sums);
    else
        job.shorter ? align<fixed, true, false>(job, scratch, sums)
                    : align<fixed, false, false>(job, scratch, sums);
}

void align_any(const Alignment& job, double* scratch, double* sums) {
    switch (job.longest) {
        case 1: return align_length<1>(job, scratch, sums);
        case 2: return align_length<2>(job, scratch, sums);
        case 3: return align_length<3>(job, scratch, sums);
        case 4: return align_length<4>(job, scratch, sums);
        case 5: return align_length<5>(job, scratch, sums);
        case 6: return align_length<6>(job, scratch, sums);
        default: return align_length<0>(job, scratch, sums);
    }
}

typedef short Counts __attribute__((vector_size(vector_bytes), aligned(2)));
typedef int Sums __attribute__((vector_size(vector_bytes)));
typedef int LooseSums __attribute__((vector_size(vector_bytes), aligned(4), may_alias));
constexpr Index columns_per_vector = vector_bytes / 4;

// The sums with the products of neighbours added, in pairs.
template <bool fused> inline Sums add_pairs(Sums sum, Counts x, Counts y) {
#if defined(__AVX512BW__)
    if constexpr (fused)
        asm("vpdpwssd %2, %1, %0" : "+v"(sum) : "v"(x), "v"(y));
    else
        sum += (Sums)_mm512_madd_epi16((__m512i)x, (__m512i)y);
#elif defined(__AVX2__)
    sum += (Sums)_mm256_madd_epi16((__m256i)x, (__m256i)y);
#elif defined(__SSE2__)
    sum += (Sums)_mm_madd_epi16((__m128i)x, (__m128i)y);
#else
    for (Index l = 0; l < columns_per_vector; ++l)
        sum[l] += int(x[2 * l]) * y[2 * l] + int(x[2 * l + 1]) * y[2 * l + 1];
#endif
    return sum;
}

// Sums of some rows with two vectors of columns, for some pairs of counts.
template <int rows, bool fused>
void add_products(const short* a, Index width, const short* packed, Index pairs, int* sums) {
    Sums acc[rows][2];
    for (int r = 0; r < rows; ++r)
        for (int v = 0; v < 2; ++v)
            acc[r][v] =
                *reinterpret_cast<LooseSums*>(sums + r * count_columns + v * columns_per_vector);
    for (Index q = 0; q < pairs; ++q, packed += 2 * count_columns) {
        const Counts first = *reinterpret_cast<const Counts*>(packed);
        const Counts second = *reinterpret_cast<const Counts*>(packed + 2 * columns_per_vector);
        for (int r = 0; r < rows; ++r) {
            int pair;
            __builtin_memcpy(&pair, a + r * width + 2 * q, sizeof pair);
            const Counts both = (Counts)(Sums{} + pair);
            acc[r][0] = add_pairs<fused>(acc[r][0], both, first);
            acc[r][1] = add_pairs<fused>(acc[r][1], both, second);
        }
    }
    for (int r = 0; r < rows; ++r)
        for (int v = 0; v < 2; ++v)
            *reinterpret_cast<LooseSums*>(sums + r * count_columns + v * columns_per_vector) =
                acc[r][v];
}

// Rows taken together, as many as their sums leave registers for.
constexpr int rows_at_once = vector_bytes == 64 ? 8 : 4;

template <bool fused>
void products_of(const short* a, Index rows, Index width, const short* packed, int* sums) {
    for (Index x = 0; x < rows * count_columns; ++x) sums[x] = 0;
    for (Index begin = 0; begin < width; begin += count_chunk) {
        const Index pairs = (begin + count_chunk < width ? count_chunk : width - begin) / 2;
        for (Index c = 0; c < count_columns; c += 2 * columns_per_vector) {
            const short* b = packed + begin * count_columns + 2 * c;
            Index i = 0;
            for (; i + rows_at_once <= rows; i += rows_at_once)
                add_products<rows_at_once, fused>(a + i * width + begin, width, b, pairs,
                                                  sums + i * count_columns + c);
            for (; i < rows; ++i)
                add_products<1, fused>(a + i * width + begin, width, b, pairs,
                                       sums + i * count_columns + c);
        }
    }
}

void products(const short* a, Index rows, Index width, const short* packed, int* sums) {
    fuses_products() ? products_of<true>(a, rows, width, packed, sums)
                     : products_of<false>(a, rows, width, packed, sums);
}

typedef int HalfSums __attribute__((vector_size(vector_bytes / 2), aligned(4), may_alias));

// Past the caches where whole vectors lie in line, since a tile is a small part of a large matrix.
void store(const int* sums, Index rows, Index columns, double* out, Index down) {
    for (Index i = 0; i < rows; ++i, sums += count_columns, out += down) {
        Index j = 0;
        const Index apart = reinterpret_cast<__UINTPTR_TYPE__>(out) % vector_bytes / 8;
        const Index first = (width - apart) % width;
        for (; j < first && j < columns; ++j) out[j] = sums[j];
        for (; j + width <= columns; j += width)
            stream(out + j, __builtin_convertvector(
                                *reinterpret_cast<const HalfSums*>(sums + j), Vector));
        for (; j < columns; ++j) out[j] = sums[j];
    }
    finish_streams();
}

}  // namespace

namespace mercer {
extern const SequenceLevel MERCER_AT_LEVEL(sequences);
const SequenceLevel MERCER_AT_LEVEL(sequences) = {lanes, align_scratch, align_any, products, store};
}  // namespace mercer
