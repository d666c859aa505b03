"""Errors and warnings: each message says what was wrong, the value received and what to do."""

import inspect
import warnings
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sklearn.exceptions import ConvergenceWarning as _PeerWarning

    class ConvergenceWarning(_PeerWarning):  # noqa: D101
        pass


__all__ = [
    "ApproximationWarning",
    "CheckpointError",
    "CheckpointWarning",
    "ConditionalKernelWarning",
    "ConvergenceWarning",
    "EngineWarning",
    "IgnoredColumnsWarning",
    "IndefiniteKernelError",
    "KernelOverflowError",
    "KernelSyntaxError",
    "MemoryLimitError",
    "MemoryLimitWarning",
    "ModelFileError",
    "OutsideRangeWarning",
    "SingularSystemError",
    "TextColumnsWarning",
    "TwoValuesWarning",
    "UnknownTextsWarning",
    "UnseenCategoriesWarning",
    "warn_caller",
]


class MemoryLimitError(ValueError):
    """A computation would need more memory than the limit allows.

    It is raised before anything is allocated, with the gigabytes asked for and the alternatives.
    """


class MemoryLimitWarning(UserWarning):
    """A limit of memory is too little for the process and its work, and is one of the work."""


class KernelOverflowError(ValueError):
    """Values of a kernel on these rows, or what follows from them, are too large for float64."""


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


class SingularSystemError(ValueError):
    """A system of equations is singular to working precision: the ridge is lost beside K."""


class DataFileError(ValueError):
    """A file of data is missing, damaged or not of the form that was expected."""


class ModelFileError(ValueError):
    """A model file is damaged, too new, or was not written by mercer."""


class CheckpointError(ValueError):
    """A checkpoint is damaged, too new, or belongs to another fit."""


class CheckpointWarning(UserWarning):
    """A checkpoint could not be written; the fit goes on without it."""


class ApproximationWarning(UserWarning):
    """A model of landmarks stands in for the exact one, which would take too long or too much."""


class ConditionalKernelWarning(UserWarning):
    """A kernel that is valid on coefficients of sum zero only is used without an offset."""


class EngineWarning(UserWarning):
    """The native engine is not at hand, and the NumPy engine runs instead."""


class IgnoredColumnsWarning(UserWarning):
    """A kernel that names no columns does not read all columns of a table."""


class OutsideRangeWarning(UserWarning):
    """A row to predict has a number far outside of the range of the training rows."""


class UnknownTextsWarning(UserWarning):
    """Texts to predict of which the training rows have no word and no k-gram."""


class UnseenCategoriesWarning(UserWarning):
    """A row to predict has a category that no training row has."""


class TextColumnsWarning(UserWarning):
    """Columns of text spell numbers or dates, and the default kernel compares them as text."""


class TwoValuesWarning(UserWarning):
    """A regression has a target of two values, of which a classifier gives the probabilities."""


def warn_caller(message: str, category: type[Warning]) -> None:
    """Warn at the first line outside of mercer, however many calls lie between."""
    package = __name__.partition(".")[0]
    # Level 1 is this function, the innermost frame.
    level, frame = 1, inspect.currentframe()
    while frame and str(frame.f_globals.get("__name__")).partition(".")[0] == package:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def __getattr__(name: str) -> Any:
    """Make the warning that is one of scikit-learn's too, once; kernels do without scikit-learn."""
    if name != "ConvergenceWarning":
        raise AttributeError(f"module 'mercer.errors' has no attribute {name!r}")
    from sklearn.exceptions import ConvergenceWarning as PeerWarning

    meaning = "A solver stopped before its certificate reached the tolerance."
    made = type(name, (PeerWarning,), {"__doc__": meaning, "__module__": __name__})
    return globals().setdefault(name, made)
