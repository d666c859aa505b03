"""What follows from the bordered system in closed form: held-out residuals, smoother, variance."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mercer.data.checks import Matrix
from mercer.gram import Gram
from mercer.solvers.line.banded import ChainSystem
from mercer.solvers.line.path import ChainPath, ChainSmoother
from mercer.solvers.lowrank.path import LandmarkPath, LandmarkSmoother
from mercer.solvers.ridge.bordered import Bordered, RidgeProblem
from mercer.solvers.ridge.cholesky import TwoTriangles, factored
from mercer.solvers.ridge.feature_path import FeaturePath, FeatureSmoother
from mercer.solvers.rounding import EPS
from mercer.solvers.smoother import LinearSmoother

Array = NDArray[np.float64]
Targets = NDArray[np.intp]


class LeftOut(NamedTuple):
    """What is known of every target by the fit without its row, each of shape (n, targets).

    Parameters
    ----------
    residuals : array of shape (n, targets)
        e_i, y_i minus the prediction.
    variances : array of shape (n, targets)
        Of y_i, given the others: alpha / w_i and the posterior variance of f(x_i) + b.
    """

    residuals: Array
    variances: Array


def leave_one_out(gram: Gram, problem: RidgeProblem) -> LeftOut:
    """Return what the fit without row i misses at x_i, and the variance of y_i given the others.

    They are a_i / B_ii and 1 / B_ii, with the diagonal of B = A^-1 - U S^-1 U' from one inverse for
    every distinct alpha, from the recurrences of a chain, or from the singular values of features
    that are fewer than the rows; no fit is repeated.

    References
    ----------
    G. Cawley, N. Talbot (2003), Efficient leave-one-out cross-validation of kernel Fisher
    discriminant classifiers.
    """
    known = gram.by_landmarks()
    if known is not None:
        return _on_path(LandmarkPath(known, problem.weights, problem.fit_intercept), problem)
    chain, F = gram.chain(), few_features(gram)
    if chain is not None:
        return _on_path(ChainPath(chain, problem.weights, problem.fit_intercept), problem)
    if F is not None:
        return _on_path(_feature_path(F, gram.memory, problem), problem)
    matrix = TwoTriangles(gram.fresh())
    found = LeftOut(np.empty_like(problem.y), np.empty_like(problem.y))
    for alpha, targets in problem.by_alpha():
        factored(gram, matrix, alpha, problem.weights)
        system = Bordered.solve(matrix, problem.unpenalised, problem.y[:, targets])
        diagonal = matrix.inverse_diagonal() - system.offset_diagonal()
        found.residuals[:, targets] = held_out(system.a, diagonal)
        found.variances[:, targets] = held_out(np.ones((len(diagonal), 1)), diagonal)
    return found


def smoothers(gram: Gram, problem: RidgeProblem) -> Iterator[LinearSmoother]:
    """Yield the fit as a linear map of the targets, for every distinct alpha."""
    known = gram.by_landmarks()
    if known is not None:
        by_landmarks = LandmarkPath(known, problem.weights, problem.fit_intercept)
        for alpha, targets in problem.by_alpha():
            yield LandmarkSmoother(by_landmarks, alpha, targets)
        return
    chain, F = gram.chain(), few_features(gram)
    if chain is not None:
        system = ChainSystem(chain, problem)
        for alpha, targets in problem.by_alpha():
            yield ChainSmoother(system, alpha, targets)
        return
    if F is None:
        yield from Smoother.of(gram, problem)
        return
    path = _feature_path(F, gram.memory, problem)
    for alpha, targets in problem.by_alpha():
        yield FeatureSmoother(gram, path, alpha, targets)


def few_features(gram: Gram) -> Matrix | None:
    """Return the features if they are fewer than rows: else the entries take no more room."""
    F = gram.features()
    return F if F is not None and F.shape[1] < len(gram) else None


def _feature_path(F: Matrix, memory: int, problem: RidgeProblem) -> FeaturePath:
    return FeaturePath(F, problem.weights, problem.fit_intercept, memory)


def _on_path(path: ChainPath | FeaturePath | LandmarkPath, problem: RidgeProblem) -> LeftOut:
    found = LeftOut(np.empty_like(problem.y), np.empty_like(problem.y))
    for alpha, targets in problem.by_alpha():
        fits = path.at(problem.y[:, targets], np.array([alpha]))
        (found.residuals[:, targets],), (free,) = fits.left_out()
        # It is alpha B_ii / w_i, of which rounding may leave nothing.
        known = alpha / problem.weights / np.maximum(free, EPS)
        found.variances[:, targets] = known[:, None]
    return found


def held_out(a: Array, diagonal: Array) -> Array:
    """Return a_i / B_ii; where B_ii vanishes nothing is left to predict row i from."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(diagonal[:, None] > 0.0, a / diagonal[:, None], np.inf * np.sign(a))


def copies_of(weights: Array) -> Array:
    """Return how many equal rows every row stands for when one of them is left out.

    Whole weights count equal rows, of which leaving one out leaves the others: a row of weight 3
    is three rows. Weights that are not all whole numbers are no counts, such as inverse variances,
    and a row is left out with all its weight, whatever unit the weights are in.
    """
    is_count = bool((weights == np.round(weights)).all())
    return np.maximum(weights, 1.0) if is_count else np.ones(len(weights))


def less_one(left_out: Array, fitted: Array, copies: Array) -> Array:
    """Return y_i minus the prediction of the fit without one of the equal rows behind row i.

    Leaving out the share s of the weight of a row turns the residual r_i of the fit into
    r_i / (1 - s h_i), where r_i / e_i = 1 - h_i if e_i is the residual without the whole row. Here
    s = 1 / m_i for m_i copies; less than one of them is left out as a whole.

    Parameters
    ----------
    left_out : array of shape (n, ...)
        e.
    fitted : array of shape (n, ...)
        r.
    copies : array that fits the others
        m.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        leverage = 1.0 - np.where(left_out != 0.0, fitted / left_out, 1.0)
        some = fitted / (1.0 - leverage / np.maximum(copies, 1.0))
    return np.where(copies > 1.0, some, left_out)


@dataclass(frozen=True, eq=False)
class Smoother(LinearSmoother):
    """The fit as a linear map of the targets: f(x) + b = h(x)'y, h(x) = B k_x + U S^-1.

    Parameters
    ----------
    gram : Gram
        K, which knows k_x of a new row.
    system : Bordered
        The solved system of the targets that share one alpha.
    targets : array of int
        Which targets these are.
    """

    gram: Gram
    system: Bordered
    targets: Targets

    @classmethod
    def of(cls, gram: Gram, problem: RidgeProblem) -> Iterator[Smoother]:
        """Yield the smoother of every distinct alpha."""
        matrix = TwoTriangles(gram.fresh())
        for alpha, targets in problem.by_alpha():
            factored(gram, matrix, alpha, problem.weights)
            system = Bordered.solve(matrix, problem.unpenalised, problem.y[:, targets])
            yield cls(gram, system, targets)

    def weights(self, X: Any) -> Array:
        return self.at(X, np.zeros(1))[0]

    def variance(self, X: Any, prior: Array) -> Array:
        return self.at(X, prior)[1]

    def at(self, X: Any, prior: Array) -> tuple[Array, Array]:
        """Return h(x), and k(x, x) - k_x'A^-1 k_x + (1 - U'k_x)'S^-1 (1 - U'k_x), in one solve."""
        s, K = self.system, np.asarray(self.gram.entries_at(X), np.float64)
        solved, missed = s.A.solve(K), 1.0 - s.U.T @ K
        offset = np.linalg.solve(s.S, missed)
        left = prior - np.einsum("ij,ij->j", K, solved) + (missed * offset).sum(axis=0)
        return solved + s.U @ offset, np.maximum(left, 0.0)
