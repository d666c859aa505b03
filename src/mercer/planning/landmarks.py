"""The plan of a model by landmarks: how many, and how they are chosen."""

from __future__ import annotations

from typing import Any

from mercer.data.blocks import LARGE
from mercer.data.columns import n_rows
from mercer.gram import LandmarkGram, landmark_gram
from mercer.kernels import Kernel
from mercer.planning.plan import Settings

# Landmarks for the root of the number of rows: with so many the error of a landmark model is about
# that of the exact one, up to logarithms (A. Rudi, R. Camoriano and L. Rosasco (2015), Less is
# more: Nystrom computational regularization).
FOR_ROOT_OF_ROWS = 10
# Arrays of m x m numbers that are there at the same time: the factor of the landmarks, the sums of
# all rows, those of a block, and a factor of them.
SQUARES = 4
# Blocks of rows that are there at the same time.
BLOCKS = 2


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
    if kernel.is_precomputed:
        raise ValueError(
            "landmarks are chosen among rows, and a precomputed Gram matrix has none; give rows "
            "and a kernel, or use another solver"
        )
    if kernel.is_conditional:
        raise ValueError(
            f"landmarks need a positive semi-definite kernel, and {kernel!r} is so on coefficients "
            "of sum zero only; use fit_intercept=True"
        )
    if settings.repair is not None:
        raise ValueError(
            f"repair={settings.repair!r} works on the eigenvalues of the whole Gram matrix, which "
            "landmarks spare; use solver='cholesky', or a positive semi-definite kernel"
        )
    m = settings.n_landmarks
    if m is None and isinstance(settings.landmarks, str):
        m = landmark_count(settings, n_rows(rows))
    return landmark_gram(kernel, rows, m, settings.landmarks, settings.seed or 0, settings.memory)


def landmark_count(settings: Settings, n: int) -> int:
    """Return how many landmarks there will be for n rows, at most."""
    if not isinstance(settings.landmarks, str):
        return n_rows(settings.landmarks)
    if settings.n_landmarks is not None:
        return settings.n_landmarks
    return min(n, int(FOR_ROOT_OF_ROWS * n**0.5))


def landmark_bytes(n: int, m: int, targets: int) -> int:
    """Return the memory that m landmarks take beside n rows: m x m arrays, blocks, columns."""
    return 8 * (SQUARES * m**2 + BLOCKS * min(LARGE, n * m) + 4 * n * targets)


def landmark_feature_bytes(n: int, m: int) -> int:
    """Return the memory of stored features in float32, the factor of landmarks, and a block."""
    return 4 * n * m + 8 * (SQUARES * m**2 + BLOCKS * min(n * m, LARGE))
