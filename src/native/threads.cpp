#include "threads.hpp"

#include <chrono>

namespace mercer {

bool run_tasks(Index tasks, int threads, Index scratch_bytes, Interrupt interrupt,
               const std::function<void(Index, void*, const GoOn&)>& task) {
    using Clock = std::chrono::steady_clock;
    threads = static_cast<int>(std::clamp<Index>(threads, 1, std::max<Index>(tasks, 1)));
    std::vector<Memory<char>> scratch;
    for (int t = 0; t < threads; ++t) scratch.push_back(aligned<char>(scratch_bytes));
    std::atomic<bool> stopped{false};
    std::atomic<Index> next{0};
    launch(threads, [&](int id) {
        auto asked = Clock::now();
        const GoOn go_on = [&, id] {
            if (id == 0 && Clock::now() - asked > std::chrono::milliseconds(50)) {
                if (interrupt.wanted(interrupt.context)) stopped = true;
                asked = Clock::now();
            }
            return !stopped.load(std::memory_order_relaxed);
        };
        for (Index i; (i = next.fetch_add(1, std::memory_order_relaxed)) < tasks;) {
            task(i, scratch[static_cast<std::size_t>(id)].get(), go_on);
            if (!go_on()) break;
        }
    });
    return !stopped;
}

}  // namespace mercer
