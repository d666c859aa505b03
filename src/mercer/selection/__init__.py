"""Choosing among models, in closed form where there is one."""

from mercer.selection.displays import SelectionDisplay
from mercer.selection.ridge import KernelRidgeCV
from mercer.selection.ridge_classifier import KernelRidgeClassifier

__all__ = ["KernelRidgeCV", "KernelRidgeClassifier", "SelectionDisplay"]
