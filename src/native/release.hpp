// Long runs without the GIL, which a signal to Python stops.
#pragma once

#include <nanobind/nanobind.h>

#include "schedule.hpp"

namespace mercer {

inline bool signal_arrived(void*) {
    nanobind::gil_scoped_acquire gil;
    return PyErr_CheckSignals() != 0;
}

inline Interrupt signals() { return {signal_arrived, nullptr}; }

// `run` returns false when it was interrupted, which Python has an exception for.
template <class Run>
void without_gil(const Run& run) {
    bool finished;
    {
        nanobind::gil_scoped_release release;
        finished = run();
    }
    if (!finished) throw nanobind::python_error();
}

}  // namespace mercer
