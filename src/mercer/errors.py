"""Errors and warnings: each message says what was wrong, the value received and what to do."""

from typing import Any

__all__ = [
    "ConditionalKernelWarning",
    "ConvergenceWarning",
    "EngineWarning",
    "IgnoredColumnsWarning",
    "IndefiniteKernelError",
    "KernelSyntaxError",
    "MemoryLimitError",
    "ModelFileError",
]


class MemoryLimitError(ValueError):
    """A computation would need more memory than the limit allows.

    It is raised before anything is allocated, with the gigabytes asked for and the alternatives.
    """


class KernelSyntaxError(ValueError):
    """A kernel expression could not be read; the message points at the character."""


class IndefiniteKernelError(ValueError):
    """A kernel or Gram matrix that had to be positive semi-definite is not.

    Parameters
    ----------
    message : str
        What was wrong and what to do.
    witness : object, optional
        Points and coefficients c with c'Kc < 0 beyond rounding, which anyone can check again.

    Attributes
    ----------
    witness : object or None
        The witness, as given.
    """

    def __init__(self, message: str, witness: Any = None) -> None:
        super().__init__(message, witness)
        self.witness = witness

    def __str__(self) -> str:
        return str(self.args[0])


class ModelFileError(ValueError):
    """A model file is damaged, too new, or was not written by mercer."""


class ConvergenceWarning(UserWarning):
    """A solver stopped before its certificate reached the tolerance."""


class ConditionalKernelWarning(UserWarning):
    """A kernel that is valid on coefficients of sum zero only is used without an offset."""


class EngineWarning(UserWarning):
    """The native engine is not at hand, and the NumPy engine runs instead."""


class IgnoredColumnsWarning(UserWarning):
    """A kernel that names no columns does not read all columns of a table."""
