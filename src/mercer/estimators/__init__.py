"""Estimators with the contract of scikit-learn, thin: check, gram, solve, keep."""

from mercer.estimators.estimator import KernelEstimator
from mercer.estimators.ridge import KernelRidge
from mercer.estimators.svc import KernelSVC
from mercer.estimators.svr import KernelSVR

__all__ = ["KernelEstimator", "KernelRidge", "KernelSVC", "KernelSVR"]
