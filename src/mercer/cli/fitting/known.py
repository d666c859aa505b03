"""What is known of rows that test a model, before their file is read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.files.form import Form, form_of


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


def known_of(model: Any) -> Known:
    """Return what a fitted model knows of rows that are to test it."""
    classes = getattr(model, "classes_", None)
    labels = None if classes is None else np.asarray(classes)
    return Known(labels is not None, labels, form_of(model))
