"""Saving a model and opening it again."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from mercer import __version__
from mercer.data.columns import n_rows
from mercer.errors import ModelFileError
from mercer.files.container import read, write
from mercer.files.decoder import Decoder
from mercer.files.encoder import Encoder
from mercer.files.registry import ESTIMATORS
from mercer.functions import DualFunction, Function, LineFunction, PrimalFunction
from mercer.kernels import Kernel


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator or a kernel to a file that is safe to open.

    The file holds numbers, texts and the names of classes of mercer, no code. Most kernel machines
    predict by comparing rows with training rows, so that **the file holds training rows**. It is
    written beside `path` first: whatever happens, that is the old or the new file, whole.

    Parameters
    ----------
    model : estimator or Kernel
        What to save. A kernel with a Python function in it is refused.
    path : str or path
        The file, by custom with the ending ``.mercer``.
    """
    is_model = isinstance(model, BaseEstimator)
    if is_model and type(model).__name__ not in ESTIMATORS:
        raise ValueError(
            f"a model file holds estimators of mercer, and {type(model).__name__} is none; save "
            "the estimator in it, and scale columns by kernel.after(Standardize())"
        )
    if is_model and not any(k.endswith("_") and not k.startswith("__") for k in vars(model)):
        raise NotFittedError(f"{type(model).__name__} is not fitted yet; call fit before save")
    if not is_model and not isinstance(model, Kernel):
        raise ValueError(
            f"save takes a fitted estimator of mercer or a kernel, got {type(model).__name__}"
        )
    encoder = Encoder()
    node = encoder.node(model, type(model).__name__)
    write(path, {"mercer": __version__, "model": node}, encoder.arrays)


def load(path: str | os.PathLike[str]) -> Any:
    """Return the estimator or kernel that a file holds; nothing that the file names is run.

    The file is untrusted: its hash is verified first, every class that it names is one of a closed
    list, and every number is checked before it is used. What is wrong with it is said by
    `mercer.errors.ModelFileError`.

    Parameters
    ----------
    path : str or path
        A file that `save` wrote.
    """
    spec, arrays = read(path)
    try:
        return restored(spec, arrays)
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)}: {error}") from None


def restored(spec: Any, arrays: dict[str, Any]) -> Any:
    """Return the model of a specification and its arrays, checked."""
    if not isinstance(spec, dict) or "model" not in spec:
        raise ModelFileError("the file holds no model")
    try:
        model = Decoder(arrays).value(spec["model"])
        if not isinstance(model, BaseEstimator | Kernel):
            raise ModelFileError(f"the file holds a {type(model).__name__}, which is no model")
        for function in _functions(model):
            check_function(function)
    except ModelFileError:
        raise
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError) as error:
        raise ModelFileError(f"a part of the model is not as it should be: {_line(error)}") from None
    except (RecursionError, MemoryError):
        raise ModelFileError("objects nest too deep, or ask for too much memory") from None
    except Exception as error:
        # Tables are made by other libraries, which have errors of their own.
        raise ModelFileError(f"a part of the model cannot be made: {_line(error)}") from None
    return model


def _line(error: Exception) -> str:
    """Return what an error says in one line."""
    return " ".join(str(error).split())[:300]


def _functions(value: Any) -> Iterator[Function]:
    """Yield the fitted functions within a model."""
    if isinstance(value, Function):
        yield value
    parts: list[Any] = []
    if isinstance(value, BaseEstimator):
        parts = list(vars(value).values())
    elif is_dataclass(value) and not isinstance(value, Kernel):
        parts = [getattr(value, f.name) for f in fields(value)]
    elif isinstance(value, list | tuple):
        parts = list(value)
    for part in parts:
        yield from _functions(part)


def check_function(f: Function) -> None:
    """Refuse a function whose parts do not fit together, before anything is computed with it."""
    for name in ("coefficients", "intercept"):
        numbers = getattr(f, name)
        if numbers.dtype != np.float64 or not np.isfinite(numbers).all():
            raise ModelFileError(f"{name} of a function must be finite numbers of float64")
    if f.coefficients.ndim != 2 or f.intercept.ndim != 1:
        raise ModelFileError("a function has coefficients of a matrix and a vector of offsets")
    if isinstance(f, DualFunction):
        if n_rows(f.rows) != len(f.coefficients):
            raise ModelFileError(
                f"a function has {len(f.coefficients)} coefficients for {n_rows(f.rows)} rows"
            )
        counts = getattr(f, "counts", None)
        if counts is not None and (np.any(counts < 0) or counts.sum() != len(f.coefficients)):
            raise ModelFileError("the rows of all classes are not as many as the coefficients")
        _check_ascending(f.columns, "columns", strict=False)
    if isinstance(f, PrimalFunction):
        _check_ascending(f.columns, "columns")
        if f.columns is not None and len(f.columns) != len(f.coefficients):
            raise ModelFileError("a function has other features than weights of features")
    if isinstance(f, LineFunction):
        _check_ascending(f.knots, "knots")
        if f.knots.dtype != np.float64 or len(f.knots) != len(f.coefficients):
            raise ModelFileError("a function on a line has other knots than values at them")
        if f.level.shape != f.intercept.shape:
            raise ModelFileError("a function on a line has other levels than offsets")


def _check_ascending(values: Any, name: str, strict: bool = True) -> None:
    """Refuse positions that are no vector of ascending numbers, or negative."""
    if values is None:
        return
    is_sorted = bool(np.all(np.diff(values) > 0)) if strict else True
    is_index = values.dtype.kind == "f" or bool(np.all(values >= 0))
    if values.ndim != 1 or not np.isfinite(values).all() or not is_sorted or not is_index:
        raise ModelFileError(f"{name} of a function must be a vector in ascending order")
