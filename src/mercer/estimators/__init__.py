"""Estimators with the contract of scikit-learn, thin: check, gram, solve, keep."""

from mercer.estimators.estimator import KernelEstimator
from mercer.estimators.logistic import KernelLogisticRegression
from mercer.estimators.ridge import KernelRidge

__all__ = ["KernelEstimator", "KernelLogisticRegression", "KernelRidge"]
