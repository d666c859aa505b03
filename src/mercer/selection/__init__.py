"""Choosing among models, in closed form where there is one, and pictures of what they do."""

from mercer.selection.decision import DecisionDisplay
from mercer.selection.displays import SelectionDisplay
from mercer.selection.logistic import KernelLogisticRegressionCV
from mercer.selection.ridge import KernelRidgeCV
from mercer.selection.ridge_classifier import KernelRidgeClassifier
from mercer.selection.sweep import GammaSweepDisplay

__all__ = [
    "DecisionDisplay",
    "GammaSweepDisplay",
    "KernelLogisticRegressionCV",
    "KernelRidgeCV",
    "KernelRidgeClassifier",
    "SelectionDisplay",
]
