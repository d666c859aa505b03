"""What a landmark model misses at some of its training rows when they are left out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dgemm

from mercer.gram import LandmarkGram
from mercer.native.lapack import eigh, one_blas_thread
from mercer.solvers.ridge.bordered import RidgeProblem
from mercer.solvers.rounding import EPS

Array = NDArray[np.float64]


def sampled_residuals(gram: LandmarkGram, problem: RidgeProblem, theta: Array, b: Array) -> Array:
    """Return y_i - f_-i(x_i) at the rows of ``gram.sample``, of shape (rows, targets).

    A row left out misses e_i = (y_i - f(x_i)) / (1 - h_i) with the leverage
    h_i = w_i z_i'(F'WF + alpha I)^-1 z_i + w_i / sum w of its centred features z_i. The sample
    stands for all rows in F'WF, so that the leverages are exact where it has all of them.

    Parameters
    ----------
    gram : LandmarkGram
        F F'.
    problem : RidgeProblem
        Targets, ridges and weights.
    theta, b : arrays of shape (m, targets) and (targets,)
        The fit.
    """
    index, F = gram.sample
    w, whole = problem.weights[index], float(problem.weights.sum())
    h = np.zeros((len(index), len(problem.alpha)))
    if problem.fit_intercept:
        h += w[:, None] / whole
        Z = F - w @ F / w.sum()
    else:
        Z = F
    R = np.sqrt(w)[:, None] * Z
    # With Q s Q' = R R' of the sample, the leverages are the diagonal of Q s / (c s + alpha) Q'.
    # The products of SciPy: the threads of two libraries hinder each other. One thread of them, as
    # of so few rows several wait for each other, on a busy machine for a third of a fit.
    with one_blas_thread():
        s, Q = eigh(dgemm(1.0, R, R, trans_b=True), lower=False)
    s = np.where(s > len(s) * EPS * s[-1], s, 0.0)
    for t, alpha in enumerate(problem.alpha):
        share = np.divide(s, whole / w.sum() * s + alpha, out=np.zeros_like(s), where=s > 0.0)
        h[:, t] += Q**2 @ share
    missed = problem.y[index] - F @ theta - b
    return np.asarray(missed / np.maximum(1.0 - h, EPS))
