// Rows of a Gram matrix for a solver that reads some of them again and again.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "memory.hpp"
#include "require.hpp"

namespace mercer {

namespace nb = nanobind;

// Memory that a thread keeps for the next of many small problems, as new pages have to be cleared.
class Kept {
  public:
    // At least so many bytes, and how many there are.
    static Memory<char> take(Index& bytes) {
        Kept& kept = own();
        if (kept.bytes < bytes) return pages(bytes);
        bytes = std::exchange(kept.bytes, 0);
        return std::move(kept.data);
    }
    static void give(Memory<char> data, Index bytes) {
        Kept& kept = own();
        if (bytes > largest || bytes <= kept.bytes) return;
        kept.data = std::move(data);
        kept.bytes = bytes;
    }

  private:
    static Kept& own() {
        thread_local Kept kept;
        return kept;
    }
    static constexpr Index largest = Index{64} << 20;
    Memory<char> data;
    Index bytes = 0;
};

// Rows of K: all of them at hand, or copied from a larger matrix, or asked for in groups and kept as
// long as there is room. A store has at least as many slots as a working set has rows.
class Rows {
  public:
    Rows(const void* K, Index stride, Index n, Index itemsize)
        : n(n), itemsize(itemsize), whole(static_cast<const char*>(K)), stride(stride) {}

    // Rows that are asked for, into a store of the caller.
    Rows(nb::handle source, void* store, Index slots, Index n, Index itemsize)
        : n(n), itemsize(itemsize), source(source), slots(slots), store(static_cast<char*>(store)),
          slot_of(static_cast<std::size_t>(n), -1) {}

    // Rows and columns `index` of a larger matrix, copied as they are needed.
    Rows(const void* K, Index stride, const Index* index, Index capacity, Index n, Index itemsize)
        : n(n), itemsize(itemsize), larger(static_cast<const char*>(K)), stride(stride),
          index(index), slots(std::min(capacity, n)), slot_of(static_cast<std::size_t>(n), -1) {
        for (Index i = 0; i < n; ++i)
            if (i == 0 || index[i] != index[i - 1] + 1)
                runs.push_back({i, index[i], 1});
            else
                ++runs.back().length;
        kept_bytes = slots * n * itemsize;
        data = Kept::take(kept_bytes);
        store = data.get();
    }

    Rows(const Rows&) = delete;
    ~Rows() {
        if (kept_bytes) Kept::give(std::move(data), kept_bytes);
    }

    const void* row(Index i) const {
        return whole ? whole + i * stride * itemsize : slot(slot_of[static_cast<std::size_t>(i)]);
    }

    // How many rows can be read at a time.
    Index room() const { return whole ? n : slots; }

    // Make sure that these rows can be read.
    void want(const std::vector<Index>& set) {
        if (whole) return;
        ++now;
        std::vector<Index> missing;
        for (Index i : set) {
            const Index s = slot_of[static_cast<std::size_t>(i)];
            if (s < 0)
                missing.push_back(i);
            else
                used[static_cast<std::size_t>(s)] = now;
        }
        const Index fresh = std::min(size(missing), slots - filled);
        if (fresh > 0) {
            load(missing.data(), fresh, slot(filled));
            for (Index k = 0; k < fresh; ++k) put(missing[static_cast<std::size_t>(k)], filled++);
        }
        const Index rest = size(missing) - fresh;
        if (rest > 0) replace(missing.data() + fresh, rest);
    }

  private:
    char* slot(Index s) const { return store + s * n * itemsize; }

    void put(Index i, Index s) {
        if (s == static_cast<Index>(owner.size())) {
            owner.push_back(i);
            used.push_back(now);
        } else {
            slot_of[static_cast<std::size_t>(owner[static_cast<std::size_t>(s)])] = -1;
            owner[static_cast<std::size_t>(s)] = i;
            used[static_cast<std::size_t>(s)] = now;
        }
        slot_of[static_cast<std::size_t>(i)] = s;
    }

    // Give the slots that were not used for longest to these rows.
    void replace(const Index* missing, Index count) {
        std::vector<Index> old(static_cast<std::size_t>(slots));
        for (Index s = 0; s < slots; ++s) old[static_cast<std::size_t>(s)] = s;
        const auto staler = [this](Index a, Index b) {
            const auto ua = used[static_cast<std::size_t>(a)], ub = used[static_cast<std::size_t>(b)];
            return ua != ub ? ua < ub : a < b;
        };
        std::nth_element(old.begin(), old.begin() + (count - 1), old.end(), staler);
        std::sort(old.begin(), old.begin() + count);
        if (static_cast<Index>(staging_rows) < count) {
            staging = pages(count * n * itemsize);
            staging_rows = count;
        }
        load(missing, count, staging.get());
        for (Index k = 0; k < count; ++k) {
            const Index s = old[static_cast<std::size_t>(k)];
            std::memcpy(slot(s), staging.get() + k * n * itemsize,
                        static_cast<std::size_t>(n * itemsize));
            put(missing[k], s);
        }
    }

    void load(const Index* rows, Index count, char* to) {
        if (larger)
            copy(rows, count, to);
        else
            ask(rows, count, to);
    }

    void copy(const Index* rows, Index count, char* to) {
        for (Index k = 0; k < count; ++k, to += n * itemsize) {
            const char* from = larger + index[rows[k]] * stride * itemsize;
            for (const Run& run : runs)
                std::memcpy(to + run.to * itemsize, from + run.from * itemsize,
                            static_cast<std::size_t>(run.length * itemsize));
        }
    }

    void ask(const Index* rows, Index count, char* to) {
        nb::gil_scoped_acquire gil;
        const auto m = static_cast<std::size_t>(count), width = static_cast<std::size_t>(n);
        const nb::capsule nobody(to, [](void*) noexcept {});
        nb::ndarray<nb::numpy, const std::int64_t> index(rows, {m}, nobody);
        if (itemsize == sizeof(float))
            source(index, nb::ndarray<nb::numpy, float>(to, {m, width}, nobody));
        else
            source(index, nb::ndarray<nb::numpy, double>(to, {m, width}, nobody));
    }

    // Columns that are neighbours in the larger matrix as well.
    struct Run {
        Index to, from, length;
    };

    Index n, itemsize;
    const char *whole = nullptr, *larger = nullptr;
    Index stride = 0;
    const Index* index = nullptr;
    std::vector<Run> runs;
    nb::handle source;
    Index slots = 0, filled = 0, kept_bytes = 0;
    char* store = nullptr;
    std::int64_t now = 0;
    Memory<char> data, staging;
    Index staging_rows = 0;
    std::vector<Index> slot_of, owner;
    std::vector<std::int64_t> used;
};

// The rows of all of K, of those of it at `index`, or, if it is None, of what a source writes into
// a store. `together` of them are read at a time.
inline Rows rows_of(nb::object K, nb::object source, nb::object index, nb::object store,
                    Index together, Index capacity, Index n, Index itemsize) {
    using Room = nb::ndarray<nb::ndim<2>, nb::c_contig, nb::device::cpu>;
    using Whole = nb::ndarray<nb::ro, nb::ndim<2>, nb::device::cpu>;
    using Chosen = nb::ndarray<const Index, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
    const auto is_precise = [itemsize](const auto& a) {
        return a.itemsize() == static_cast<std::size_t>(itemsize);
    };
    if (K.is_none()) {
        const auto room = nb::cast<Room>(store, false);
        const auto slots = static_cast<Index>(room.shape(0));
        require(is_precise(room) && has_shape(room, slots, n) && slots >= together,
                "the store must have room for the rows of a working set");
        return Rows(source, room.data(), slots, n, itemsize);
    }
    const auto whole = nb::cast<Whole>(K, false);
    const auto size = static_cast<Index>(whole.shape(0));
    const auto stride = static_cast<Index>(whole.stride(0));
    require(is_precise(whole) && has_shape(whole, size, size) && size >= n &&
                (size < 2 || whole.stride(1) == 1),
            "K must be square with contiguous rows, in the precision of the problem");
    if (index.is_none()) return Rows(whole.data(), stride, n, itemsize);
    const auto chosen = nb::cast<Chosen>(index, false);
    require(have_size(n, chosen) && are_within(chosen.data(), n, 0, size),
            "the index names a row that K does not have");
    return Rows(whole.data(), stride, chosen.data(), std::max(capacity, together), n, itemsize);
}

}  // namespace mercer
