// Long runs without the GIL, and what ends them: signals to Python, and its clock.
#pragma once

#include <nanobind/nanobind.h>

#include "threads.hpp"

namespace mercer {

// Whether a signal, or a deadline that has passed, has an exception waiting in Python, which it is
// left to whoever asked to raise.
inline bool signal_arrived(void* = nullptr) {
    nanobind::gil_scoped_acquire gil;
    if (PyErr_CheckSignals() != 0) return true;
    try {
        nanobind::module_::import_("mercer.data.limits.deadline").attr("check")();
    } catch (nanobind::python_error& error) {
        error.restore();
        return true;
    }
    return false;
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
