"""The plan of a model by landmarks: how many, and how they are chosen."""

from __future__ import annotations

from typing import Any

from mercer.data.columns import n_rows
from mercer.gram import LandmarkGram, landmark_gram
from mercer.kernels import Kernel
from mercer.planning.plan import Settings

# Landmarks for the root of the number of rows: with so many the error of a landmark model is about
# that of the exact one, up to logarithms (A. Rudi, R. Camoriano and L. Rosasco (2015), Less is
# more: Nystrom computational regularization).
FOR_ROOT_OF_ROWS = 10


def planned_landmarks(settings: Settings, kernel: Kernel, rows: Any) -> LandmarkGram:
    """Return the Gram matrix by the landmarks that were asked for, or by as many as are due.

    Parameters
    ----------
    settings : Settings
        What the estimator was told.
    kernel : Kernel
        k, with numbers for parameters.
    rows : rows
        The training rows.
    """
    m = settings.n_landmarks
    if m is None and isinstance(settings.landmarks, str):
        n = n_rows(rows)
        m = min(n, int(FOR_ROOT_OF_ROWS * n**0.5))
    return landmark_gram(kernel, rows, m, settings.landmarks, settings.seed or 0, settings.memory)
