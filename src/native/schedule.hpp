// Tiles on threads: which tiles there are, in which order, and how a run is interrupted.
#pragma once

#include <functional>

#include "job.hpp"

namespace mercer {

// The level to run: by name, or the best this processor has when the name is empty.
// Null if there is no such level here.
const Level* choose_level(const char* name);

// Asked now and then by the calling thread; true stops the run.
struct Interrupt {
    bool (*wanted)(void* context);
    void* context;
};

// Asked by a long task between its parts: false if the run is to stop, and the rest of no use.
using GoOn = std::function<bool()>;

// Run tasks on all threads in any order, each with the scratch memory of its thread. Returns false
// when interrupted.
bool run_tasks(Index tasks, int threads, Index scratch_bytes, Interrupt interrupt,
               const std::function<void(Index task, void* scratch, const GoOn& go_on)>& task);

// Both return false when interrupted. Results are the same bits for any number of threads.
bool fill(const Level& level, const Job& job, bool single, int threads, Interrupt interrupt);
bool multiply(const Level& level, const Job& job, bool single, int threads, Interrupt interrupt);

}  // namespace mercer
