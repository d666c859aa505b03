// What Python asks of sequential minimal optimisation.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>

#include "memory.hpp"

namespace mercer {

namespace nb = nanobind;
template <class T> using Flat = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Column = Flat<const double>;

template <class T> T field(nb::handle object, const char* name) {
    return nb::cast<T>(object.attr(name));
}

// The fields of `mercer.native.smo.Request`, which say what each of them means.
struct Request {
    Column z, lower, upper;
    double epsilon;
    bool offset;
    double tolerance, floor, largest, seconds;
    Index allowed, steps;
    bool asks_signals;
    Flat<const std::uint8_t> stop;
    nb::object K, source, index, store, progress, newton_step;
    bool single;
    Index capacity, together;
    int threads;
    Flat<double> state;
    Flat<Index> last;

    explicit Request(nb::handle r) {
        const nb::object box = r.attr("box"), effort = r.attr("effort");
        z = field<Column>(box, "z");
        lower = field<Column>(box, "lower");
        upper = field<Column>(box, "upper");
        epsilon = field<double>(box, "epsilon");
        offset = field<bool>(box, "has_offset");
        tolerance = field<double>(effort, "tolerance");
        floor = field<double>(effort, "floor");
        seconds = field<double>(effort, "seconds");
        largest = field<double>(effort, "largest");
        allowed = field<Index>(effort, "rounds");
        steps = field<Index>(effort, "steps");
        asks_signals = field<bool>(effort, "is_main");
        stop = nb::cast<Flat<const std::uint8_t>>(r.attr("stop"), false);
        K = r.attr("K");
        source = r.attr("source");
        index = r.attr("index");
        store = r.attr("store");
        progress = r.attr("progress");
        newton_step = r.attr("newton_step");
        single = field<bool>(r, "is_single");
        capacity = field<Index>(r, "capacity");
        together = field<Index>(r, "working_set");
        threads = field<int>(r, "threads");
        state = nb::cast<Flat<double>>(r.attr("state").attr("numbers"), false);
        last = nb::cast<Flat<Index>>(r.attr("state").attr("last"), false);
    }
};

}  // namespace mercer
