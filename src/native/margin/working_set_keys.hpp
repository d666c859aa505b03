// Rows that may enter a working set, in bits that compare as their violations do.
#pragma once

#include <bit>
#include <cstdint>

#include "tiles/job.hpp"

namespace mercer {

// Equal violations are taken in a scattered order, so that sorted rows do no harm.
inline constexpr std::uint32_t scatter = 2654435761u, gather_back = 244002641u;
static_assert(scatter * gather_back == 1u);

// A violation, rounded to float, above the scattered number of its row.
inline std::uint64_t candidate(double violation, Index row) {
    const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(violation));
    // Negative floats count downwards, and below the others.
    const std::uint32_t ordered = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
    return std::uint64_t{ordered} << 32 | static_cast<std::uint32_t>(row) * scatter;
}

inline Index row_of(std::uint64_t candidate) {
    return static_cast<Index>(static_cast<std::uint32_t>(candidate) * gather_back);
}

}  // namespace mercer
