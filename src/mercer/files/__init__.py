"""Model files: a fitted estimator as arrays and plain values, safe to open."""

from mercer.files.models import load, save

__all__ = ["load", "save"]
