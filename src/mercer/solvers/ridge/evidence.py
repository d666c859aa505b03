"""How well a kernel explains the targets, and the derivative of that by every entry of K.

With A = K + alpha W^-1, the matrix B of `Bordered`, a = B y and e_i = a_i / B_ii, which the fit
without row i misses there, both criteria cost one inverse and at most one product of matrices.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dsymm

from mercer.data.limits.deadline import check
from mercer.native.lapack import cholesky, inverse_of_factor
from mercer.native.threads import left_behind
from mercer.solvers.ridge.bordered import RidgeProblem

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Evidence:
    """The value of a criterion, the less the better, and its derivatives.

    Parameters
    ----------
    value : float
        The criterion.
    G : array of shape (n, n)
        The symmetric matrix with d value = sum_ij G_ij dK_ij.
    by_alpha : float
        The derivative by alpha, sum_i G_ii / w_i.
    """

    value: float
    G: Array
    by_alpha: float


def restricted_likelihood(K: Array, problem: RidgeProblem) -> Evidence | None:
    """Return minus the log likelihood of contrasts of y, which no offset changes, of all targets.

    Every target has the variance s = y'By / (n - p) that makes it most likely; with p = 1 for an
    offset, else 0, the value is the sum over the targets of
    ((n - p) log s + log det A + log det(N'A^-1 N)) / 2, and G = (B - a a' / s) / 2 of each. Codes
    of classes, 1 for that of a row and -1 for the others, are in one unit and have one s, the mean
    of theirs: a class of a few rows that a kernel tells from all others would have the variance
    zero, and a likelihood without bound whatever becomes of the other classes. The value is None
    where A is not positive definite, or targets are explained without rest.

    Parameters
    ----------
    K : array of shape (n, n)
        The Gram matrix. It is overwritten.
    problem : RidgeProblem
        The targets, one alpha for all of them, positive weights and whether there is an offset.

    References
    ----------
    H. D. Patterson, R. Thompson (1971), Recovery of inter-block information when block sizes are
    unequal; C. E. Rasmussen, C. K. I. Williams (2006), Gaussian processes for machine learning,
    section 5.4.
    """
    system = _System.of(K, problem)
    if system is None:
        return None
    n, targets = problem.y.shape
    free = n - problem.unpenalised.shape[1]
    a = system.solved(problem.y)
    variances = np.einsum("ij,ij->j", problem.y, a) / free
    if _are_codes(problem.y):
        variances = np.full_like(variances, variances.mean())
    if not (variances > 0.0).all():
        return None
    value = 0.5 * (free * float(np.log(variances).sum()) + targets * system.log_determinant)
    scaled = a / np.sqrt(variances)
    return system.evidence(value, system.less_products(0.5 * targets, np.sqrt(0.5) * scaled))


def left_out_error(K: Array, problem: RidgeProblem) -> Evidence | None:
    """Return N/2 times the log of the weighted mean of e_i^2, over all N numbers in the targets.

    It is minus the log likelihood of independent errors of one variance. With L = sum_i w_i e_i^2
    and u_i = 2 w_i e_i / B_ii it is dL = <B diag(u e) B - (B u a' + a u'B) / 2, dK>. The
    parameters, and None, are those of `restricted_likelihood`.
    """
    system = _System.of(K, problem)
    if system is None:
        return None
    B, w = system.less_products(1.0), problem.weights[:, None]
    diagonal = np.diagonal(B)[:, None]
    if not (diagonal > 0.0).all():
        return None
    a = B @ problem.y
    e = a / diagonal
    loss = float((w * e**2).sum())
    if not 0.0 < loss < np.inf:
        return None
    u = 2.0 * w * e / diagonal
    mixed = (B @ u) @ a.T
    weighted = (u * e).sum(axis=1)[:, None] * B
    G = left_behind(lambda: B @ weighted) - 0.5 * (mixed + mixed.T)
    half = 0.5 * e.size
    value = half * np.log(loss / (problem.weights.sum() * e.shape[1]))
    return system.evidence(float(value), half / loss * G)


def _are_codes(y: Array) -> bool:
    """Whether targets are codes of classes, 1 for the one of a row and -1 for all others."""
    is_own = y == 1.0
    return bool((is_own | (y == -1.0)).all() and (is_own.sum(axis=1) == 1).all())


@dataclass(frozen=True, eq=False)
class _System:
    """B = A^-1 - u u', and log det A + log det(N'A^-1 N).

    Parameters
    ----------
    problem : RidgeProblem
        The targets and weights.
    inverse : array of shape (n, n)
        A^-1 on and above the diagonal.
    u : array of shape (n, p)
        A^-1 N / sqrt(N'A^-1 N), p = 1 for an offset, else 0.
    log_determinant : float
        The sum of the logarithms.
    """

    problem: RidgeProblem
    inverse: Array
    u: Array
    log_determinant: float

    @classmethod
    def of(cls, K: Array, problem: RidgeProblem) -> _System | None:
        """Return the system, or None where A is not positive definite."""
        check()
        A = np.ascontiguousarray(K, np.float64)
        A[np.diag_indices_from(A)] += float(problem.alpha[0]) / problem.weights
        # LAPACK counts along columns, which of a symmetric matrix are its rows.
        if cholesky(A.T, lower=True) != 0:
            return None
        log_determinant = 2.0 * float(np.log(np.diagonal(A)).sum())
        # Of an entry that is no finite number the factor has none on its diagonal.
        if not np.isfinite(log_determinant) or inverse_of_factor(A.T) != 0:
            return None
        N = problem.unpenalised
        if not N.shape[1]:
            return cls(problem, A, np.empty((len(A), 0)), log_determinant)
        U = _product(A, N)
        S = float((N.T @ U)[0, 0])
        if not S > 0.0:
            return None
        return cls(problem, A, U / np.sqrt(S), log_determinant + float(np.log(S)))

    def solved(self, Y: Array) -> Array:
        """Return B Y."""
        return _product(self.inverse, Y) - self.u @ (self.u.T @ Y)

    def less_products(self, factor: float, V: Array | None = None) -> Array:
        """Return factor B - V V' in place of the inverse, which is gone then.

        A strip of rows is finished while it is in the cache, and mirrored below the diagonal.
        """
        G, strip = self.inverse, 64
        below = np.tri(strip, k=-1, dtype=bool)
        parts = [np.sqrt(factor) * self.u, *([] if V is None else [V])]
        V = np.hstack(parts)
        for start in range(0, len(G), strip):
            end = min(start + strip, len(G))
            rows = G[start:end, start:]
            rows *= factor
            rows -= V[start:end] @ V[start:].T
            square = rows[:, : end - start]
            np.copyto(square, square.T, where=below[: end - start, : end - start])
            G[end:, start:end] = rows[:, end - start :].T
        return G

    def evidence(self, value: float, G: Array) -> Evidence:
        """Return the evidence with a symmetric G."""
        return Evidence(value, G, float((np.diagonal(G) / self.problem.weights).sum()))


def _product(A: Array, V: Array) -> Array:
    """Return A V of a symmetric matrix, of which the triangle above the diagonal is read."""
    return np.asarray(dsymm(1.0, A.T, V, lower=1))
