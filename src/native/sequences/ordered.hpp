// Sequences in the order of their lengths.
#pragma once

#include <nanobind/ndarray.h>

#include <algorithm>
#include <vector>

#include "tiles/job.hpp"
#include "require.hpp"

namespace mercer {

template <class T>
using List = nanobind::ndarray<T, nanobind::ndim<1>, nanobind::c_contig, nanobind::device::cpu>;

// Sequences in one vector, and the order in which they stand side by side: by length.
struct Sequences {
    const long long* symbols;
    const long long* starts;
    std::vector<Index> order;

    Sequences(const List<const long long>& all, const List<const long long>& bounds)
        : symbols(all.data()), starts(bounds.data()) {
        require(are_runs(bounds, static_cast<Index>(all.size())),
                "the starts of sequences lead out of their symbols");
        order.resize(bounds.size() - 1);
        for (Index i = 0; i < size(); ++i) order[i] = i;
        std::stable_sort(order.begin(), order.end(),
                         [this](Index a, Index b) { return length(a) > length(b); });
    }
    Index size() const { return static_cast<Index>(order.size()); }
    Index length(Index row) const { return starts[row + 1] - starts[row]; }
    const long long* begin(Index row) const { return symbols + starts[row]; }
    Index longest() const { return size() ? length(order[0]) : 0; }

    // The rows order[first], order[first + 1], ... one to a lane, with `end` behind their ends.
    Index pack(Index first, Index lanes, long long end, long long* out) const {
        const Index long_enough = length(order[first]);
        std::fill(out, out + long_enough * lanes, end);
        for (Index r = 0; r < std::min(lanes, size() - first); ++r) {
            const Index row = order[first + r];
            for (Index j = 0; j < length(row); ++j) out[j * lanes + r] = begin(row)[j];
        }
        return long_enough;
    }
};

}  // namespace mercer
