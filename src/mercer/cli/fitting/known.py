"""What is known of rows that test a model, before their file is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.data.columns import check_named
from mercer.errors import DataFileError
from mercer.files.form import Form, form_of
from mercer.kernels.columns import named_columns
from mercer.reports.held_out import inside


@dataclass(frozen=True, eq=False)
class Known:
    """What rows have in common with those that a model was fitted to.

    Parameters
    ----------
    is_classes : bool
        Whether the target is a class.
    labels : array, optional
        Labels of classes, of the type that others are to have.
    form : Form
        How the columns are read.
    """

    is_classes: bool
    labels: NDArray[Any] | None
    form: Form


def check_columns(model: Any, names: Sequence[str], path: str) -> None:
    """Refuse a table that lacks columns that a model reads, all of them in one line.

    Parameters
    ----------
    model : estimator
        A fitted model.
    names : sequence of str
        The columns of the table.
    path : str
        What the user calls it.
    """
    inner = inside(model)
    named = named_columns(inner.kernel_) if hasattr(inner, "kernel_") else ()
    seen = map(str, getattr(inner, "feature_names_in_", named))
    try:
        check_named([n for n in seen if n not in names and (not named or n in named)], names)
    except ValueError as error:
        raise DataFileError(f"{path}: {error}") from None


def known_of(model: Any) -> Known:
    """Return what a fitted model knows of rows that are to test it."""
    classes = getattr(model, "classes_", None)
    labels = None if classes is None else np.asarray(classes)
    return Known(labels is not None, labels, form_of(model))
