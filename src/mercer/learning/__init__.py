"""Kernels whose parameters are learned from data, by the gradient of a criterion."""

from mercer.learning.learn import Learned, Step, learn

__all__ = ["Learned", "Step", "learn"]
