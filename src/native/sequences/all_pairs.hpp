// What sequences of two sides have in common, pair by pair, on all threads.
#pragma once

#include <nanobind/ndarray.h>

#include <algorithm>

#include "gil.hpp"
#include "require.hpp"
#include "sequences/ordered.hpp"

namespace mercer {

using Writable = nanobind::ndarray<double, nanobind::ndim<2>, nanobind::device::cpu>;

// Rows of one task, or fewer if they are long.
inline constexpr Index rows_per_task = 64;

// The sides, where the results go, and what a task takes. Half of the pairs suffice where S and T
// are the same.
struct Pairs {
    const Sequences &S, &T;
    Index lanes, cells_per_task, scratch_bytes;
    const Writable& out;
    bool symmetric;
    int threads;
};

// Fill `out` by groups of rows of T that stand side by side, one to a lane. `group(first, memory,
// go_on)` returns what compares the group with a row of S: it returns sums for `values.value`, or
// null where there is nothing in common.
template <class Group, class Values>
void all_pairs(const Pairs& p, const Group& group, const Values& values) {
    const Sequences &S = p.S, &T = p.T;
    require(has_shape(p.out, S.size(), T.size()) && (!p.symmetric || S.size() == T.size()),
            "there must be a result for every pair of sequences");
    const Index lanes = p.lanes, groups = (T.size() + lanes - 1) / lanes;
    const Index cells = std::max<Index>(1, S.longest() * T.longest());
    const Index rows = std::clamp<Index>(p.cells_per_task / cells, 1, rows_per_task);
    const Index parts = (S.size() + rows - 1) / rows;
    double* const entries = p.out.data();
    const auto down = static_cast<Index>(p.out.stride(0));
    const auto across = static_cast<Index>(p.out.stride(1));

    const auto task = [&](Index i, void* memory, const GoOn& go_on) {
        const Index first = i / parts * lanes, begin = i % parts * rows;
        Index end = std::min(S.size(), begin + rows);
        // Half of a symmetric matrix: what stands before the group, and the group itself.
        if (p.symmetric) end = std::min(end, first + lanes);
        if (begin >= end) return;
        auto compared_with = group(first, memory, go_on);
        for (Index a = begin; a < end; ++a) {
            const Index row = S.order[a];
            const auto* sums = compared_with(row);
            // Within the group every pair belongs to the task of its first row.
            const Index start = p.symmetric ? std::max<Index>(0, a - first) : 0;
            for (Index r = start; r < std::min(lanes, T.size() - first); ++r) {
                const Index column = T.order[first + r];
                const double value = sums ? values.value(sums, lanes, r) : 0.0;
                entries[row * down + column * across] = value;
                if (p.symmetric) entries[column * down + row * across] = value;
            }
        }
    };
    without_gil([&] {
        return run_tasks(groups * parts, p.threads, p.scratch_bytes, signals(), task);
    });
}

}  // namespace mercer
