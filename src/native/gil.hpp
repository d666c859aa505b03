// Long runs without the GIL, and the signals to Python that end them.
#pragma once

#include <nanobind/nanobind.h>

#include "threads.hpp"

namespace mercer {

// Whether a signal has an exception waiting in Python, which it is left to whoever asked to raise.
inline bool signal_arrived(void* = nullptr) {
    nanobind::gil_scoped_acquire gil;
    return PyErr_CheckSignals() != 0;
}

inline Interrupt signals() { return {signal_arrived, nullptr}; }

// Whether Ctrl-C was pressed; what else a signal raises is passed on.
inline bool ctrl_c() {
    nanobind::gil_scoped_acquire gil;
    if (PyErr_CheckSignals() == 0) return false;
    if (!PyErr_ExceptionMatches(PyExc_KeyboardInterrupt)) throw nanobind::python_error();
    PyErr_Clear();
    return true;
}

// `run` returns false when it was interrupted, which Python has an exception for.
template <class Run> void without_gil(const Run& run) {
    bool finished;
    {
        nanobind::gil_scoped_release release;
        finished = run();
    }
    if (!finished) throw nanobind::python_error();
}

}  // namespace mercer
