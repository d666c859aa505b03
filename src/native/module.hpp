// The parts of the Python module, each bound in the file of its routines.
#pragma once

#include <nanobind/nanobind.h>

void bind_chain(nanobind::module_& m);
void bind_line(nanobind::module_& m);
void bind_band(nanobind::module_& m);
void bind_coordinates(nanobind::module_& m);
void bind_perceptron(nanobind::module_& m);
void bind_reserve(nanobind::module_& m);
void bind_sequences(nanobind::module_& m);
void bind_smo(nanobind::module_& m);
void bind_spread(nanobind::module_& m);
void bind_windows(nanobind::module_& m);
