// Arrays that come from Python: contiguous, in the memory of the processor.
#pragma once

#include <nanobind/ndarray.h>

#include "memory.hpp"

using mercer::Index;
template <class T>
using Vector = nanobind::ndarray<T, nanobind::ndim<1>, nanobind::c_contig, nanobind::device::cpu>;
template <class T>
using Matrix = nanobind::ndarray<T, nanobind::ndim<2>, nanobind::c_contig, nanobind::device::cpu>;
using Numbers = Vector<const double>;
