"""Saving a model and opening it again."""

from __future__ import annotations

import os
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from mercer import __version__
from mercer.errors import ModelFileError
from mercer.files.container import read, write
from mercer.files.decoder import Decoder
from mercer.files.encoder import Encoder
from mercer.files.registry import ESTIMATORS
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
            f"{_inside(model)}"
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


def _inside(model: BaseEstimator) -> str:
    """Return what of an estimator of scikit-learn is to be saved instead."""
    if hasattr(model, "best_estimator_"):
        return "its best_estimator_"
    if hasattr(model, "named_steps"):
        name = list(model.named_steps)[-1]
        return f"its named_steps[{name!r}], fitted to rows that kernel.after(Standardize()) scales"
    return "the estimator in it, and scale columns by kernel.after(Standardize())"


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
    except ModelFileError:
        raise
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError) as error:
        raise ModelFileError(
            f"a part of the model is not as it should be: {_line(error)}"
        ) from None
    except (RecursionError, MemoryError):
        raise ModelFileError("objects nest too deep, or ask for too much memory") from None
    except Exception as error:
        # Tables are made by other libraries, which have errors of their own.
        raise ModelFileError(f"a part of the model cannot be made: {_line(error)}") from None
    return model


def _line(error: Exception) -> str:
    """Return what an error says in one line."""
    return " ".join(str(error).split())[:300]
