"""The choice of landmarks, and the Gram matrix by them."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.data.columns import n_rows, take_rows
from mercer.features import LandmarkMap, factored_landmark_map, landmark_map
from mercer.features.landmarks import PIVOT, factor_without, held_by_single
from mercer.gram.landmarks import LandmarkGram
from mercer.gram.pivots import checked_landmark_count, chosen_rows
from mercer.kernels import Kernel


def landmark_gram(
    kernel: Kernel,
    X: Any,
    m: int | None,
    landmarks: Any = "rpcholesky",
    seed: int = 0,
    memory: Any = None,
) -> LandmarkGram:
    """Return the Gram matrix by landmarks that are given, or chosen among the rows.

    Parameters
    ----------
    kernel : Kernel
        k, with numbers for parameters.
    X : rows
        The rows.
    m : int, optional
        How many landmarks; needed where they are chosen.
    landmarks : {"rpcholesky", "uniform", "kmeans"} or rows
        How they are chosen, or themselves.
    seed : int
        Where the random numbers come from.
    memory : int or str, optional
        As for `LandmarkGram`.
    """
    rows, index = landmarks, None
    if isinstance(landmarks, str):
        rows, index = chosen_rows(
            kernel, X, checked_landmark_count(m, n_rows(X)), landmarks, seed, memory
        )
    elif m is not None and m != n_rows(landmarks):
        raise ValueError(
            f"n_landmarks={m} but {n_rows(landmarks)} landmarks are given; leave n_landmarks out"
        )
    if index is None or len(index) == n_rows(X):
        phi, taken = landmark_map(kernel, rows)
        return LandmarkGram(phi, X, memory, None if index is None else index[taken])
    rows = held_by_single(kernel, rows)
    phi, taken = factored_landmark_map(kernel, rows) or landmark_map(kernel, rows)
    return _without_superfluous(LandmarkGram(phi, X, memory, index[taken]))


def _without_superfluous(gram: LandmarkGram) -> LandmarkGram:
    """Return the matrix without landmarks that add little to what others leave anyway.

    The one given is used no more: the memory of its factor may be taken for the new one.
    """
    phi, diagonal = gram.landmarks, gram.landmarks.kernel.diagonal(gram.landmarks.rows)
    # The share of what landmarks leave of k(x, x) up to which a landmark adds nothing to the
    # others but small pivots, rows that tell what they leave, and pivots beside the largest up to
    # which errors of float32 grow too much by them.
    superfluous, told, small = 1e-3, 100, 1e-5
    some = gram.part(np.linspace(0, len(gram) - 1, min(len(gram), told)).astype(np.intp))
    least = superfluous * some.trace_residual() * float(np.mean(diagonal, dtype=np.float64))
    # What a landmark adds to those before it.
    adds = phi.factor.diagonal() ** 2
    least = min(least, small * float(adds.max()))
    left_out, kept = np.flatnonzero(adds <= least), np.flatnonzero(adds > least)
    if len(left_out) == 0 or len(kept) == 0:
        return gram
    assert gram.index is not None
    # Many take as long to leave out as the others do to begin with.
    if len(left_out) <= len(kept) / 16 and adds[kept].min() > PIVOT * adds.max():
        rows = take_rows(phi.rows, kept)
        fewer = LandmarkMap(phi.kernel, rows, factor_without(phi.factor, left_out))
        return LandmarkGram(fewer, gram.X, gram.asked, gram.index[kept])
    fewer, taken = landmark_map(phi.kernel, take_rows(phi.rows, kept))
    return LandmarkGram(fewer, gram.X, gram.asked, gram.index[kept[taken]])
