"""Contracts as tests: for kernels, Gram matrices and solvers, ours and those that users write."""

from mercer.testing.grams import check_gram
from mercer.testing.kernels import check_kernel
from mercer.testing.solvers import check_solver

__all__ = ["check_gram", "check_kernel", "check_solver"]
