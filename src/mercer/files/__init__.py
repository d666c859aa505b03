"""Files: a fitted estimator as arrays and plain values, safe to open, or as a graph; and tables."""

from mercer.files.lines import read_table
from mercer.files.models import load, save
from mercer.files.onnx import export_onnx

__all__ = ["export_onnx", "load", "read_table", "save"]
