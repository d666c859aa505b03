// Windows of sequences compared in vector registers. Plain data only, as in job.hpp.
#pragma once

#include "tiles/job.hpp"

namespace mercer {

// Diagonals of the table of pairs of positions that are walked along at a time: one byte each, so
// that a number of 32 bits belongs to one pair of sequences.
constexpr Index diagonals = 4;
// Entries of a table of values: a window has fewer positions.
constexpr Index table_entries = 64;

// A sequence s and several sequences t, side by side in lanes. A symbol is a number of some bytes,
// and each byte has a plane of its own.
struct Windows {
    const int* s;  // four times the symbol s_i in s[i], or in s[i * lanes + r] if every t has its own
    Index s_length, s_plane;
    bool own;      // t and s are the same sequence; pairs of places i < j are compared
    const int* t;  // t_j, t_(j+1), t_(j+2), t_(j+3) in t[j * lanes + r]
    Index t_shortest, t_longest, t_plane;
    const int* ends;  // all bits for each of t_j, ..., t_(j+3) at which a window of t ends
    int symbol_bytes;
    int width;                   // g
    const unsigned char* table;  // byte p of the value for e equal symbols in p * table_entries + e
    int value_bytes;
    Index first, last;  // diagonals j - i to walk along
};

// The routines of one processor level.
struct WindowLevel {
    Index lanes;

    // totals[p * lanes + r] += sum over all pairs of windows, on some diagonals, of byte p of the
    // value for the number of positions at which they are equal. Three symbols before t match
    // nothing, and neither do those behind it.
    void (*compare)(const Windows& job, long long* totals);
};

}  // namespace mercer
