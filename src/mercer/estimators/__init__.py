"""Estimators with the contract of scikit-learn, thin: check, gram, solve, keep."""

from mercer.estimators.estimator import KernelEstimator
from mercer.estimators.logistic import KernelLogisticRegression
from mercer.estimators.mean import KernelRidgeMean
from mercer.estimators.perceptron import KernelPerceptron
from mercer.estimators.ridge import KernelRidge
from mercer.estimators.svm.svc import KernelSVC
from mercer.estimators.svm.svr import KernelSVR
from mercer.estimators.transformers.features import Nystroem, RandomFourier
from mercer.estimators.transformers.maps import MercerMap, Monomials
from mercer.estimators.transformers.pca import KernelPCA

__all__ = [
    "KernelEstimator",
    "KernelLogisticRegression",
    "KernelPCA",
    "KernelPerceptron",
    "KernelRidge",
    "KernelRidgeMean",
    "KernelSVC",
    "KernelSVR",
    "MercerMap",
    "Monomials",
    "Nystroem",
    "RandomFourier",
]
