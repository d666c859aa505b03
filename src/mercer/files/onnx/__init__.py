"""Models as graphs of primitives in double precision, in the format ONNX."""

from mercer.files.onnx.export import export_onnx

__all__ = ["export_onnx"]
