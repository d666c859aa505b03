// Diagonals of Q (T + alpha)^-1 Q' for tridiagonal T and many alphas.
#include "module.hpp"

void bind_tridiagonal(nanobind::module_&) {}
