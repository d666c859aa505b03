"""Choosing among models, in closed form where there is one."""

from mercer.selection.automatic import KernelClassifier, KernelRegressor
from mercer.selection.logistic import KernelLogisticRegressionCV
from mercer.selection.ridge import KernelRidgeCV
from mercer.selection.ridge_classifier import KernelRidgeClassifier, KernelRidgeClassifierCV

__all__ = [
    "KernelClassifier",
    "KernelLogisticRegressionCV",
    "KernelRegressor",
    "KernelRidgeCV",
    "KernelRidgeClassifier",
    "KernelRidgeClassifierCV",
]
