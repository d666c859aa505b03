// Memory of large results, used again once nobody holds it.
//
// The system clears every page before it hands it out, which for a Gram matrix takes as long as to
// compute it. A block that a result no longer needs is kept and given to the next one. Meanwhile it
// is marked as free, so that the system may take it back whenever it is short of memory. Blocks come
// back by a destructor, not by code of Python, in which Ctrl-C would be lost.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#if __has_include(<sys/mman.h>)
#include <sys/mman.h>
#endif

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

#include "module.hpp"

namespace nb = nanobind;

#if defined(MADV_FREE)

namespace {

// Blocks are whole huge pages, which are cleared faster than small ones.
constexpr std::size_t page = std::size_t{1} << 21;
// A block is not given to a result that uses less than one part in so many of it.
constexpr std::size_t slack = 10;
constexpr std::size_t most_blocks = 2;

struct Block {
    void* data;
    std::size_t bytes;
};

Block mapped(std::size_t bytes) {
    const std::size_t whole = (bytes + page - 1) / page * page;
    void* data = mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED) throw std::bad_alloc();
#if defined(MADV_HUGEPAGE)
    madvise(data, whole, MADV_HUGEPAGE);
#endif
    return {data, whole};
}

// The blocks that wait for the next large result, in the order in which they came back.
class Reserve {
  public:
    Reserve() { idle.reserve(most_blocks + 1); }

    Block take(std::size_t bytes) {
        {
            const std::lock_guard hold(lock);
            auto best = idle.end();
            for (auto b = idle.begin(); b != idle.end(); ++b)
                if (bytes <= b->bytes && b->bytes <= slack * bytes + page &&
                    (best == idle.end() || b->bytes < best->bytes))
                    best = b;
            if (best != idle.end()) {
                const Block block = *best;
                idle.erase(best);
                return block;
            }
        }
        return mapped(bytes);
    }

    void give(Block block) noexcept {
        madvise(block.data, block.bytes, MADV_FREE);
        Block oldest{};
        {
            const std::lock_guard hold(lock);
            idle.push_back(block);
            if (idle.size() > most_blocks) {
                oldest = idle.front();
                idle.erase(idle.begin());
            }
        }
        if (oldest.data) munmap(oldest.data, oldest.bytes);
    }

    // Never destroyed, as some results live until the very end of the process.
    static Reserve& shared() {
        static Reserve& reserve = *new Reserve;
        return reserve;
    }

  private:
    std::mutex lock;
    std::vector<Block> idle;
};

nb::object reserved(std::size_t bytes) {
    auto block = std::make_unique<Block>(Reserve::shared().take(bytes));
    const nb::capsule owner(block.get(), [](void* p) noexcept {
        const std::unique_ptr<Block> held(static_cast<Block*>(p));
        Reserve::shared().give(*held);
    });
    void* data = block.release()->data;
    return nb::cast(nb::ndarray<nb::numpy, std::uint8_t>(data, {bytes}, owner));
}

}  // namespace

#else

namespace {

// Where memory cannot be marked as free none is kept.
nb::object reserved(std::size_t) { return nb::none(); }

}  // namespace

#endif

void bind_reserve(nb::module_& m) { m.def("reserved", &reserved); }
