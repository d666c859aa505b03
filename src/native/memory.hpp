// The memory of native code: aligned for vectors, freed by its owner.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace mercer {

using Index = std::ptrdiff_t;

struct Free {
    void operator()(void* p) const { std::free(p); }
};
template <class T> using Memory = std::unique_ptr<T[], Free>;

template <class T> Index size(const std::vector<T>& v) { return static_cast<Index>(v.size()); }

// Room for so many entries, of any content, that begins with a line of the caches.
template <class T> Memory<T> aligned(Index count, std::size_t line = 64) {
    const auto bytes = static_cast<std::size_t>(count) * sizeof(T);
    void* p = std::aligned_alloc(line, std::max(line, (bytes + line - 1) / line * line));
    if (!p) throw std::bad_alloc();
    return Memory<T>(static_cast<T*>(p));
}

// Room that is filled as it is needed, in large pages where the system has them.
inline Memory<char> pages(Index bytes) {
    constexpr std::size_t page = std::size_t{1} << 21;
    auto memory = aligned<char>(bytes, page);
#if defined(MADV_HUGEPAGE)
    madvise(memory.get(), (static_cast<std::size_t>(bytes) + page - 1) / page * page, MADV_HUGEPAGE);
#endif
    return memory;
}

}  // namespace mercer
