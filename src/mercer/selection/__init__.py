"""Choosing among models, in closed form where there is one."""

from mercer.selection.automatic import KernelClassifier, KernelRegressor
from mercer.selection.classifiers.logistic import KernelLogisticRegressionCV
from mercer.selection.classifiers.mean import KernelRidgeMeanClassifier
from mercer.selection.classifiers.ridge import KernelRidgeClassifier, KernelRidgeClassifierCV
from mercer.selection.ridge import KernelRidgeCV

__all__ = [
    "KernelClassifier",
    "KernelLogisticRegressionCV",
    "KernelRegressor",
    "KernelRidgeCV",
    "KernelRidgeClassifier",
    "KernelRidgeClassifierCV",
    "KernelRidgeMeanClassifier",
]
