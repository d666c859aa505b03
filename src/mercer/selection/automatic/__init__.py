"""The automatic machine: columns, kernel, scales and ridge chosen from the data."""

from mercer.selection.automatic.classifier import KernelClassifier
from mercer.selection.automatic.regressor import KernelRegressor

__all__ = ["KernelClassifier", "KernelRegressor"]
