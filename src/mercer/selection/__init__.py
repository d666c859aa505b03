"""Choosing among models, in closed form where there is one."""

from mercer.selection.displays import SelectionDisplay
from mercer.selection.logistic import KernelLogisticRegressionCV
from mercer.selection.ridge import KernelRidgeCV

__all__ = ["KernelLogisticRegressionCV", "KernelRidgeCV", "SelectionDisplay"]
