// Work on threads, and how a long run is interrupted.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <system_error>
#include <thread>
#include <vector>

#include "memory.hpp"

namespace mercer {

// Asked now and then by the calling thread; true stops the run.
struct Interrupt {
    bool (*wanted)(void* context);
    void* context;
};

// Asked by a long task between its parts: false if the run is to stop, and the rest of no use.
using GoOn = std::function<bool()>;

// work(0) on this thread, and work(1), ... on others at the same time. Where no more threads are to
// be had there are fewer, so that work has to be handed out as it is done.
template <class Work> void launch(int threads, const Work& work) {
    std::vector<std::thread> others;
    try {
        for (int id = 1; id < threads; ++id) others.emplace_back(work, id);
    } catch (const std::system_error&) {
        // Those that there are do all the work.
    }
    work(0);
    for (auto& other : others) other.join();
}

// task(i, id) for every i below `count`, in any order, `id` telling which thread it is on. A task
// must not throw.
template <class Task> void on_threads(Index count, int threads, const Task& task) {
    std::atomic<Index> next{0};
    launch(static_cast<int>(std::clamp<Index>(threads, 1, std::max<Index>(count, 1))), [&](int id) {
        for (Index i; (i = next.fetch_add(1, std::memory_order_relaxed)) < count;) task(i, id);
    });
}

// Run tasks on all threads, begun in their order, each with the scratch memory of its thread. The
// calling thread is one of them and asks for interrupts. Returns false when interrupted.
bool run_tasks(Index tasks, int threads, Index scratch_bytes, Interrupt interrupt,
               const std::function<void(Index task, void* scratch, const GoOn& go_on)>& task);

}  // namespace mercer
