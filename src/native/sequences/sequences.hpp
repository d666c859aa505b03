// Sequences compared in vector registers. Plain data only, as in job.hpp.
#pragma once

#include "tiles/job.hpp"

namespace mercer {

// Symbols that stand behind the ends of sequences and match nothing, not even each other.
constexpr long long left_end = 1LL << 62, right_end = left_end + 1;

// Rows and columns of a tile of products of counts, and the counts of a row taken at a time.
constexpr Index count_rows = 64, count_columns = 64;
constexpr Index count_chunk = 512;
// Rows of counts are padded with zeros to a multiple of this.
constexpr Index count_padding = 32;

// Common subsequences of a sequence s and several sequences t, side by side in lanes.
struct Alignment {
    const long long* s;  // s[i], or s[i * lanes + r] if every t has its own s
    Index s_length;
    bool own;
    const long long* t;  // t[j * lanes + r]
    Index t_length;
    int longest;   // k
    bool shorter;  // whether the sums of lengths below k are wanted, too
    double decay;
    bool resumed;  // s goes on from where the last call ended, with its scratch memory and sums
};

// The routines of one processor level.
struct SequenceLevel {
    Index lanes;

    // Doubles of scratch memory that `align` needs.
    Index (*align_scratch)(Index t_length, int longest);

    // sums[(p - 1) * lanes + r] = sum over common subsequences of length p of
    // decay^(i_p - i_1 - p + 1 + j_p - j_1 - p + 1).
    void (*align)(const Alignment& job, double* scratch, double* sums);

    // sums[i * count_columns + j] = a_i'b_j over rows of counts that are not negative, where the
    // counts of `count_columns` rows b stand side by side in pairs:
    // packed[(q / 2 * count_columns + j) * 2 + q % 2] = b_j[q].
    void (*products)(const short* a, Index rows, Index width, const short* packed, int* sums);

    // out[i * down + j] = sums[i * count_columns + j].
    void (*store)(const int* sums, Index rows, Index columns, double* out, Index down);
};

}  // namespace mercer
