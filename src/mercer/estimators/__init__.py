"""Estimators with the contract of scikit-learn, thin: check, gram, solve, keep."""

from mercer.estimators.estimator import KernelEstimator
from mercer.estimators.explain import GramWeights, explain
from mercer.estimators.ridge import KernelRidge

__all__ = ["GramWeights", "KernelEstimator", "KernelRidge", "explain"]
