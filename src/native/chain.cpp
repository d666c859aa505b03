// Ridge problems on a chain: one-dimensional kernels whose inverse Gram matrix is tridiagonal.
#include "module.hpp"

void bind_chain(nanobind::module_&) {}
