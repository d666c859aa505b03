"""Kernels whose parameters are learned from data, by the gradient of a criterion."""

from mercer.learning.learn import learn
from mercer.learning.learned import Learned, Step
from mercer.learning.stopping import rows_to_give

__all__ = ["Learned", "Step", "learn", "rows_to_give"]
