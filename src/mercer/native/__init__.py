"""The bridge to the C++ core: every routine compiled, or by its NumPy twin."""

from mercer.native.core import describe
from mercer.native.reduced import NotPositiveError, Reduced, Shifted, reduce

__all__ = ["NotPositiveError", "Reduced", "Shifted", "describe", "reduce"]
