// Tiles on threads: which tiles there are, and in which order.
#pragma once

#include "threads.hpp"
#include "tiles/job.hpp"

namespace mercer {

// The level to run: by name, or the best this processor has when the name is empty.
// Null if there is no such level here.
const Level* choose_level(const char* name);

// All return false when interrupted. Results are the same bits for any number of threads.
bool fill(const Level& level, const Job& job, bool single, int threads, Interrupt interrupt);
bool multiply(const Level& level, const Job& job, bool single, int threads, Interrupt interrupt);
// `back` (columns, width) holds zeros.
bool residuals(const Level& level, const Job& job, double* back, bool single, int threads,
               Interrupt interrupt);
bool slopes(const Level& level, const SlopeJob& job, int threads, Interrupt interrupt);

}  // namespace mercer
