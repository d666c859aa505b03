"""Contracts: tests that any kernel must pass, ours and those that users write."""

from mercer.testing.kernels import check_kernel

__all__ = ["check_kernel"]
