// Distinct values and their numbers, for counting.
#pragma once

#include <algorithm>
#include <vector>

#include "tiles/job.hpp"

namespace mercer {

// Distinct values, numbered from zero in the order in which they first occur.
class Numbering {
  public:
    // The number of a value, which it gets if it has none yet.
    Index operator()(long long value) {
        const std::size_t slot = slot_of(value);
        if (table[slot] != 0) return table[slot] - 1;
        known.push_back(value);
        const Index number = table[slot] = size();
        if (static_cast<std::size_t>(2 * number) >= table.size()) {
            table.assign(2 * table.size(), 0);
            for (Index q = 0; q < number; ++q) table[slot_of(known[q])] = q + 1;
        }
        return number - 1;
    }
    Index size() const { return static_cast<Index>(known.size()); }
    const std::vector<long long>& values() const { return known; }

  private:
    std::size_t slot_of(long long value) const {
        std::size_t slot = static_cast<std::size_t>(value) * 0x9E3779B97F4A7C15ULL;
        slot ^= slot >> 32;
        for (slot &= table.size() - 1; table[slot] != 0; slot = (slot + 1) & (table.size() - 1))
            if (known[table[slot] - 1] == value) break;
        return slot;
    }
    std::vector<long long> known;
    // Open addressing in a table that is never more than half full; it holds numbers, from one on.
    std::vector<Index> table = std::vector<Index>(1 << 12, 0);
};

// All codes by their rank among the distinct ones, if these are so few that to count them all for
// every row is quicker than to sort the row.
struct Ranks {
    static constexpr Index most = 1 << 14, per_code = 32;
    std::vector<long long> codes;  // the distinct ones in ascending order
    std::vector<int> places;       // of every code; empty if there are too many

    Ranks(const long long* all, Index count, Index rows) : places(count) {
        const Index limit = std::min(most, per_code * count / std::max<Index>(rows, 1));
        Numbering number;
        for (Index i = 0; i < count; ++i) {
            places[i] = static_cast<int>(number(all[i]));
            if (number.size() <= limit) continue;
            places.clear();
            return;
        }
        std::vector<int> order(number.size()), rank(number.size());
        for (Index q = 0; q < number.size(); ++q) order[q] = static_cast<int>(q);
        std::sort(order.begin(), order.end(),
                  [&](int a, int b) { return number.values()[a] < number.values()[b]; });
        for (Index r = 0; r < number.size(); ++r) {
            rank[order[r]] = static_cast<int>(r);
            codes.push_back(number.values()[order[r]]);
        }
        for (int& place : places) place = rank[place];
    }
};

}  // namespace mercer
