"""Contracts as tests: for kernels and Gram matrices, ours and those that users write."""

from mercer.testing.grams import check_gram
from mercer.testing.kernels import check_kernel

__all__ = ["check_gram", "check_kernel"]
