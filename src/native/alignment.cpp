// Sequences compared in vector registers, compiled once for each processor level.
#include "panels.hpp"
#include "sequences.hpp"

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
    for (Index x = 0; x < k * abreast; ++x) total[x] = zero;
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
constexpr Index counts = vector_bytes / 2;

// acc += the products of neighbours, added in pairs.
inline void add_products(Sums& acc, const short* a, const short* b) {
    const Counts x = *reinterpret_cast<const Counts*>(a), y = *reinterpret_cast<const Counts*>(b);
#if defined(__AVX512BW__)
    acc += (Sums)_mm512_madd_epi16((__m512i)x, (__m512i)y);
#elif defined(__AVX2__)
    acc += (Sums)_mm256_madd_epi16((__m256i)x, (__m256i)y);
#elif defined(__SSE2__)
    acc += (Sums)_mm_madd_epi16((__m128i)x, (__m128i)y);
#else
    for (int l = 0; l < counts / 2; ++l)
        acc[l] += int(x[2 * l]) * y[2 * l] + int(x[2 * l + 1]) * y[2 * l + 1];
#endif
}

template <int rows, int columns>
void products_block(const short* a, const short* b, Index width, Index begin, Index end, int* sums) {
    Sums acc[rows][columns] = {};
    for (Index q = begin; q < end; q += counts)
        for (int r = 0; r < rows; ++r)
            for (int c = 0; c < columns; ++c)
                add_products(acc[r][c], a + r * width + q, b + c * width + q);
    for (int r = 0; r < rows; ++r)
        for (int c = 0; c < columns; ++c)
            for (int l = 0; l < counts / 2; ++l) sums[r * count_tile + c] += acc[r][c][l];
}

constexpr int block_rows = 4, block_columns = vector_bytes == 64 ? 4 : 2;

void products(const short* a, Index rows, const short* b, Index columns, Index width, int* sums) {
    for (Index x = 0; x < count_tile * count_tile; ++x) sums[x] = 0;
    for (Index begin = 0; begin < width; begin += count_chunk) {
        const Index end = begin + count_chunk < width ? begin + count_chunk : width;
        Index i = 0;
        for (; i + block_rows <= rows; i += block_rows) {
            Index j = 0;
            for (; j + block_columns <= columns; j += block_columns)
                products_block<block_rows, block_columns>(
                    a + i * width, b + j * width, width, begin, end, sums + i * count_tile + j);
            for (; j < columns; ++j)
                products_block<block_rows, 1>(a + i * width, b + j * width, width, begin, end,
                                              sums + i * count_tile + j);
        }
        for (; i < rows; ++i)
            for (Index j = 0; j < columns; ++j)
                products_block<1, 1>(a + i * width, b + j * width, width, begin, end,
                                     sums + i * count_tile + j);
    }
}

}  // namespace

#define MERCER_JOIN_OF(a, b) a##b
#define MERCER_JOIN(a, b) MERCER_JOIN_OF(a, b)

namespace mercer {
extern const SequenceLevel MERCER_JOIN(sequences_, MERCER_LEVEL);
const SequenceLevel MERCER_JOIN(sequences_, MERCER_LEVEL) = {lanes, align_scratch, align_any,
                                                             products};
}  // namespace mercer
