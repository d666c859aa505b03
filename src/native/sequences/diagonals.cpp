// Windows of sequences compared along diagonals, compiled once for each processor level.
//
// Along a diagonal of the table of pairs (s_i, t_j) the number of equal symbols in a window of g is
// the number up to its end, less the number up to g steps before, whatever the width.
#include "tiles/panels.hpp"
#include "sequences/windows.hpp"

namespace {

using namespace mercer;
typedef unsigned char Bytes __attribute__((vector_size(vector_bytes), may_alias));
typedef int Sums __attribute__((vector_size(vector_bytes), may_alias));

constexpr Index lanes = vector_bytes / static_cast<Index>(sizeof(int));
// Steps after which sums of four bytes each still fit into 32 bits.
constexpr Index most_steps = Index{1} << 20;
constexpr int most_bytes = 8;

#if defined(__AVX512BW__)
using Equal = __mmask64;
inline Equal equal(Bytes x, Bytes y) { return _mm512_cmpeq_epi8_mask((__m512i)x, (__m512i)y); }
inline Bytes plus(Bytes count, Equal match) {
    return (Bytes)_mm512_mask_sub_epi8((__m512i)count, match, (__m512i)count, _mm512_set1_epi8(-1));
}
#else
using Equal = Bytes;
inline Equal equal(Bytes x, Bytes y) { return (Bytes)(x == y); }
inline Bytes plus(Bytes count, Equal match) { return count - match; }
#endif

// Entries of a table of 16 bytes, repeated in every 16 bytes of a vector, by the lowest four bits
// of an index; zero where its highest bit is set.
inline Bytes looked_up(Bytes table, Bytes index) {
#if defined(__AVX512BW__)
    return (Bytes)_mm512_shuffle_epi8((__m512i)table, (__m512i)index);
#elif defined(__AVX2__)
    return (Bytes)_mm256_shuffle_epi8((__m256i)table, (__m256i)index);
#elif defined(__SSSE3__)
    return (Bytes)_mm_shuffle_epi8((__m128i)table, (__m128i)index);
#else
    Bytes found;
    for (int b = 0; b < vector_bytes; ++b)
        found[b] = index[b] & 0x80 ? 0 : table[b / 16 * 16 + index[b] % 16];
    return found;
#endif
}

// The sums with four bytes added to each.
template <bool fused> inline Sums add_bytes(Sums sum, Bytes x) {
    const Bytes ones = Bytes{} + 1;
#if defined(__AVX512BW__)
    if constexpr (fused)
        asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(x), "v"(ones));
    else
        sum += (Sums)_mm512_madd_epi16(_mm512_maddubs_epi16((__m512i)x, (__m512i)ones),
                                       _mm512_set1_epi16(1));
#elif defined(__AVX2__)
    sum += (Sums)_mm256_madd_epi16(_mm256_maddubs_epi16((__m256i)x, (__m256i)ones),
                                   _mm256_set1_epi16(1));
#elif defined(__SSSE3__)
    sum += (Sums)_mm_madd_epi16(_mm_maddubs_epi16((__m128i)x, (__m128i)ones), _mm_set1_epi16(1));
#else
    for (int b = 0; b < vector_bytes; ++b) sum[b / 4] += x[b] * ones[b];
#endif
    return sum;
}

// The walk along four diagonals of every lane. `fixed` is the number of bytes of a value if it is
// known beforehand; then symbols have one byte, and a window has less than 16 positions.
template <int fixed, bool own, bool fused> class Walk {
  public:
    Walk(const Windows& job, long long* totals) : job(job), totals(totals) {
        for (int p = 0; p < values(); ++p)
            for (int part = 0; part < parts(); ++part)
                for (int b = 0; b < vector_bytes; ++b)
                    tables[p][part][b] = job.table[p * table_entries + part * 16 + b % 16];
    }

    // All pairs of windows on the diagonals j - i = d, ..., d + 3.
    void along(Index d) {
        const Index g = job.width;
        const Index start = d + diagonals > 0 ? 0 : 1 - d - diagonals;
        const Index end = least(job.s_length, job.t_longest - d);
        // Windows end in some t from the first of these on, in all of them between the others.
        const Index first = least(start + g - 1, end);
        const Index all = least(first < g - 1 - d ? g - 1 - d : first, end);
        const Index shortest = job.t_shortest - d - diagonals + 1;
        const Index last = shortest < all ? all : least(shortest, end);
        for (Index i = start - g; i < start; ++i) before[i & newest] = Bytes{};
        Bytes total = {};
        for (Index i = start; i < first; ++i) moved(total, i, d);
        steps<true>(total, first, all, d);
        steps<false>(total, all, last, d);
        steps<true>(total, last, end, d);
    }

    // Add the sums to the totals, and begin anew.
    void flush() {
        for (int p = 0; p < values(); ++p) {
            for (Index r = 0; r < lanes; ++r)
                totals[p * lanes + r] += static_cast<long long>(sums[p][r]) + other_sums[p][r];
            sums[p] = other_sums[p] = Sums{};
        }
        room = most_steps;
    }

  private:
    static Index least(Index a, Index b) { return a < b ? a : b; }
    int values() const { return fixed ? fixed : job.value_bytes; }
    int parts() const { return fixed ? 1 : job.width / 16 + 1; }
    Bytes s_at(Index i, int plane) const {
        const int* p = job.s + plane * job.s_plane;
        return own ? (Bytes)at(p + i * lanes) : (Bytes)(Sums{} + p[i]);
    }
    Bytes t_at(Index j, int plane) const { return (Bytes)at(job.t + plane * job.t_plane + j * lanes); }
    Equal match(Index i, Index d) const {
        Equal all = equal(s_at(i, 0), t_at(i + d, 0));
        if (!fixed)
            for (int p = 1; p < job.symbol_bytes; ++p) all &= equal(s_at(i, p), t_at(i + d, p));
        return all;
    }
    // Go on to s_i, and return the number of equal symbols in the window that ends there.
    Bytes moved(Bytes& total, Index i, Index d) {
        total = plus(total, match(i, d));
        const Bytes count = total - before[(i - job.width) & newest];
        before[i & newest] = total;
        return count;
    }
    Bytes value(Bytes count, int p) const {
        if (fixed) return looked_up(tables[p][0], count);
        Bytes found = {};
        for (int part = 0; part < parts(); ++part) {
            // An index outside of this part of the table gets its highest bit.
            const Bytes index = count - static_cast<unsigned char>(16 * part);
            const Bytes inside = (Bytes)(index < 16);
            found |= looked_up(tables[p][part], index | (Bytes)(~inside & 0x80));
        }
        return found;
    }
    template <bool masked> void step(Bytes& total, Index i, Index d, Sums* sums) {
        const Bytes count = moved(total, i, d);
        for (int p = 0; p < values(); ++p) {
            Bytes x = value(count, p);
            if (masked) x &= (Bytes)at(job.ends + (i + d) * lanes);
            sums[p] = add_bytes<fused>(sums[p], x);
        }
    }
    // Two sums in turn, since the next addition to one has to wait for the last.
    template <bool masked> void steps(Bytes& total, Index i, Index end, Index d) {
        while (i < end) {
            if (room == 0) flush();
            const Index stop = least(end, i + room);
            room -= stop - i;
            Sums even[bytes], odd[bytes];
            for (int p = 0; p < values(); ++p) even[p] = sums[p], odd[p] = other_sums[p];
            for (; i + 1 < stop; i += 2) {
                step<masked>(total, i, d, even);
                step<masked>(total, i + 1, d, odd);
            }
            for (; i < stop; ++i) step<masked>(total, i, d, even);
            for (int p = 0; p < values(); ++p) sums[p] = even[p], other_sums[p] = odd[p];
        }
    }

    static constexpr int bytes = fixed ? fixed : most_bytes;
    const Windows& job;
    long long* totals;
    // The numbers of equal symbols up to the last places, modulo 256, in turn.
    static constexpr Index newest = table_entries - 1;
    Bytes before[table_entries];
    Index room = most_steps;
    Sums sums[bytes] = {}, other_sums[bytes] = {};
    Bytes tables[bytes][fixed ? 1 : table_entries / 16];
};

template <int fixed, bool own, bool fused> void walk(const Windows& job, long long* totals) {
    Walk<fixed, own, fused> walk(job, totals);
    for (Index d = job.first; d <= job.last; d += diagonals) walk.along(d);
    walk.flush();
}

template <bool own, bool fused> void walk_any(const Windows& job, long long* totals) {
    const bool simple = job.symbol_bytes == 1 && job.width < 16;
    switch (simple ? job.value_bytes : 0) {
        case 1: return walk<1, own, fused>(job, totals);
        case 2: return walk<2, own, fused>(job, totals);
        case 3: return walk<3, own, fused>(job, totals);
        default: return walk<0, own, fused>(job, totals);
    }
}

template <bool own> void walk_either(const Windows& job, long long* totals) {
    fuses_products() ? walk_any<own, true>(job, totals) : walk_any<own, false>(job, totals);
}

void compare(const Windows& job, long long* totals) {
    job.own ? walk_either<true>(job, totals) : walk_either<false>(job, totals);
}

}  // namespace

namespace mercer {
extern const WindowLevel MERCER_AT_LEVEL(windows);
const WindowLevel MERCER_AT_LEVEL(windows) = {lanes, compare};
}  // namespace mercer
