"""The weights of a mean of fits, from what they miss at rows left out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr, solve_triangular
from scipy.optimize import nnls

from mercer.solvers.rounding import usual_unit

Array = NDArray[np.float64]


def mean_weights(errors: Array) -> Array:
    """Return v >= 0 of sum one with the least sum of squares of errors v, of shape (fits,).

    With G = errors'errors, the minimum of u'G u / 2 - 1'u over u >= 0 is s v for the s > 0 that
    makes the sum of v one, since both have the same conditions: G v is the same where v is
    positive, and no less elsewhere. With G = R'R that is |R u - R^-T 1|, for which there is an
    active set method.

    Parameters
    ----------
    errors : array of shape (rows, fits)
        What the fit without a row misses there, times the root of its weight; rows of several
        targets below each other.

    References
    ----------
    L. Breiman (1996), Stacked regressions. Machine Learning 24.
    C. Lawson and R. Hanson (1974), Solving least squares problems (chapter 23).
    """
    fits = errors.shape[1]
    errors = errors / usual_unit(float(np.abs(errors).max(initial=0.0)))
    size = float(np.sqrt(np.square(errors).sum() / fits))
    if fits == 1 or not size > 0.0 or not np.isfinite(size):
        return np.full(fits, 1.0 / fits)
    # Fits that are the same to these digits share their weight.
    ridge = 1e-6
    R = qr(np.vstack([errors / size, ridge * np.eye(fits)]), mode="r")[0][:fits]
    u = nnls(R, solve_triangular(R, np.ones(fits), trans="T"))[0]
    return np.asarray(u / u.sum())
