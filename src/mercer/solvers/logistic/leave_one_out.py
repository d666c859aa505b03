"""Scores of rows left out, approximately and in closed form, for a fitted likelihood."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, solve_triangular

from mercer.gram import Gram
from mercer.gram.gram import check_fits
from mercer.solvers.logistic.likelihood import LogisticProblem, Root
from mercer.solvers.ridge.bordered import Bordered
from mercer.solvers.ridge.cholesky import TwoTriangles
from mercer.solvers.rounding import EPS

Array = NDArray[np.float64]


def leave_one_out_scores(
    gram: Gram, problem: LogisticProblem, A: Array, b: Array, copies: Array | None = None
) -> Array:
    """Return about the scores at every row of the fit without it, of shape (n, columns).

    One Newton step away from the optimum without row i: with H_i the curvature of its loss, V_i
    the covariance of its scores, the block i of (K^-1 / C + H)^-1 with a free offset, and
    g_i = w_i (T_i - P_i), the scores are F_i - (I - V_i H_i)^-1 V_i g_i. For two classes they
    are z_i - a_i / B_ii with B of the bordered system of K + W^-1 / C, as in least squares. Of a
    row that stands for m_i equal ones a single one is left out, with H_i / m_i and g_i / m_i.

    Parameters
    ----------
    gram : Gram
        K.
    problem : LogisticProblem
        The problem.
    A, b : arrays of shape (n, columns) and (columns,)
        Its solution.
    copies : array of shape (n,), optional
        m, by default one for every row.

    References
    ----------
    M. Opper and O. Winther (2000), Gaussian processes for classification: mean-field algorithms;
    K. Rad and A. Maleki (2020), A scalable estimate of the out-of-sample prediction error via
    approximate leave-one-out cross-validation.
    """
    copies = np.ones(len(A)) if copies is None else copies
    if problem.columns == 1:
        return _of_two_classes(gram, problem, A, b, copies)
    return _of_many_classes(gram, problem, A, b, copies)


def without(problem: LogisticProblem, scores: Array, H: Array, V: Array, copies: Array) -> Array:
    """Return the scores of every row without one of its copies, of shape (n, columns).

    Parameters
    ----------
    problem : LogisticProblem
        The problem.
    scores : array of shape (n, columns)
        F.
    H, V : arrays of shape (n, columns, columns)
        Curvature of the loss of every row, and covariance of its scores.
    copies : array of shape (n,)
        m.
    """
    share = 1.0 / copies[:, None, None]
    change = share * (V @ problem.residual(scores)[:, :, None])
    kept = np.eye(problem.columns) - share * (V @ H)
    return np.asarray(scores - np.linalg.solve(kept, change)[:, :, 0])


def _of_two_classes(
    gram: Gram, problem: LogisticProblem, A: Array, b: Array, copies: Array, floor: float = 1e-14
) -> Array:
    """Return the scores, with curvatures beneath this share of the largest raised to it.

    What a row of less curvature would change is less than rounding.
    """
    K = gram.fresh()
    F = K @ A + b
    root = problem.curvature(F).scale[:, 0]
    root = np.maximum(root, np.sqrt(floor) * root.max())
    K *= root
    K *= root[:, None]
    ridge = 1.0 / problem.C
    matrix = TwoTriangles(K)
    matrix.factor_near(np.full(len(K), ridge))
    ones = root[:, None][:, : int(problem.fit_intercept)]
    # diag(B) = W q, and the diagonal of the covariance is (1 - lam q) / W.
    offset = Bordered.solve(matrix, ones, F).offset_diagonal()
    alone = matrix.inverse_diagonal()
    # Rounding may leave nothing of a row that alone decides the offset.
    q = np.maximum(alone - offset, EPS * alone)
    # Copies that stay keep m - 1 of m parts of the curvature.
    kept = (copies - 1.0) + ridge * q
    missed = np.maximum(1.0 - ridge * q, 0.0) / (root**2 * kept)
    return np.asarray(F - problem.residual(F) * missed[:, None])


def _of_many_classes(
    gram: Gram, problem: LogisticProblem, A: Array, b: Array, copies: Array
) -> Array:
    n, m = A.shape
    check_fits((n, (2 * m + 3) * n), np.float64, gram.memory)
    K = gram.fresh()
    F = K @ A + b
    root = problem.curvature(F)
    H = root.blocks()
    covariance = Covariance(K, root, 1.0 / problem.C)
    V = covariance.blocks()
    if problem.fit_intercept:
        # Free offsets add X T^+ X' with X = (I - V H) 1 and T = 1'H X.
        X = np.eye(m) - covariance.product(H)
        T = np.einsum("icb,icd->bd", H, X)
        V += X @ np.linalg.pinv((T + T.T) / 2.0, rcond=Covariance.dependent, hermitian=True) @ X.mT
    return without(problem, F, H, V, copies)


class Covariance:
    """V = (K^-1 / C + H)^-1 for the scores of several classes.

    H is diag(s^2) - Q Q' with Q made of one diagonal matrix for each class. The first part gives
    each class a covariance V_c = (K^-1 / C + S_c^2)^-1 of its own, the second adds
    V Q (I - Q'V Q)^-1 Q'V to them.

    Parameters
    ----------
    K : array of shape (n, n)
        The Gram matrix.
    root : Root
        The root of H.
    ridge : float
        1 / C.
    """

    # What of a direction that depends on others is rounding.
    dependent: ClassVar[float] = 1e-12

    def __init__(self, K: Array, root: Root, ridge: float) -> None:
        crossed = root.scale * root.unit
        self._own = [_covariance(K, scale, ridge) for scale in root.scale.T]
        inner = np.eye(len(K)) * (1.0 + self.dependent)
        for V, q in zip(self._own, crossed.T, strict=True):
            inner -= q[:, None] * V * q
        L = cho_factor(inner, lower=True, overwrite_a=True)[0]
        self._shared = [
            solve_triangular(L, q[:, None] * V, lower=True, overwrite_b=True)
            for V, q in zip(self._own, crossed.T, strict=True)
        ]

    def blocks(self) -> Array:
        """Return the block of every row, of shape (n, m, m)."""
        m = len(self._own)
        V = np.empty((len(self._own[0]), m, m))
        for c, d in np.ndindex(m, m):
            V[:, c, d] = np.einsum("ij,ij->j", self._shared[c], self._shared[d])
        for c, own in enumerate(self._own):
            V[:, c, c] += own.diagonal()
        return V

    def product(self, X: Array) -> Array:
        """Return V X for X of shape (n, m, p)."""
        shared = sum(half @ X[:, c] for c, half in enumerate(self._shared))
        pairs = zip(self._own, self._shared, strict=True)
        return np.stack([V @ X[:, c] + half.T @ shared for c, (V, half) in enumerate(pairs)], 1)


def _covariance(K: Array, scale: Array, ridge: float) -> Array:
    """Return (K^-1 / C + S^2)^-1 = (K - K S (S K S + lam)^-1 S K) / lam, of shape (n, n)."""
    matrix = TwoTriangles(scale[:, None] * K * scale)
    matrix.factor_near(np.full(len(K), ridge))
    right = scale[:, None] * K
    return np.asarray((K - right.T @ matrix.solve(right)) / ridge)
