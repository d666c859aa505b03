"""What a fitted kernel ridge knows beyond its predictions, worked out when it is asked for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from mercer.data.blocks import blocks_of, narrow_blocks
from mercer.data.categories import is_missing
from mercer.data.columns import column_values, is_table, n_rows, take_rows
from mercer.data.stream import Stream
from mercer.estimators.estimator import KernelMachine
from mercer.estimators.refusals import OF_FEW_ROWS, STREAMED
from mercer.estimators.training import Training
from mercer.estimators.validation import checked_rows, used_rows
from mercer.features import LandmarkMap
from mercer.functions import PrimalFunction
from mercer.gram import (
    FeatureGram,
    Gram,
    LandmarkGram,
    unheld_gram_of,
)
from mercer.native.lapack import one_blas_thread
from mercer.solvers import Approximation, Certificate, RidgeProblem, Run, Solution
from mercer.solvers.contract import FEW_ROWS
from mercer.solvers.lowrank.sampled import sampled_residuals
from mercer.solvers.ridge.growth import growth
from mercer.solvers.ridge.held_out import LeftOut, leave_one_out, less_one, smoothers
from mercer.solvers.ridge.jackknife import (
    TargetVariance,
    jackknife_plus,
    prediction_changes,
    spread,
)
from mercer.solvers.smoother import LinearSmoother

Array = NDArray[np.float64]
Index = NDArray[np.intp]


# What is worked out when it is asked for, and what it is worked out from in a landmark model.
CACHES = ("_left_out_cache", "_variance_cache", "_smoother_cache")
UNSAVED = (*CACHES, "_landmark_cache")


class RidgePosterior(KernelMachine):
    """Held-out predictions, intervals and standard deviations of a fitted kernel ridge.

    They come in closed form from one more factorisation of the training Gram matrix, of the
    explicit features if there the fit was found, or along the chain of points on a line, which is
    not repeated for further calls and not part of a saved model. Of a landmark model they are those
    of its approximate kernel, but for the prior variance k(x, x), and need the training rows, which
    are not part of a saved model either; such a model keeps what it missed at some rows left out.
    """

    memory: Any
    repair: Any
    kernel_: Any
    _target_shape_: tuple[int, ...]
    _problem_: RidgeProblem
    _used_: NDArray[np.bool_]
    _is_repaired_: bool
    solution_: Solution
    certificate_: Certificate
    approximation_: Approximation | None
    _landmark_cache: LandmarkGram | None
    _sampled_residuals_: Array | None
    _left_out_cache: tuple[LeftOut, Array | None]
    _variance_cache: TargetVariance
    _smoother_cache: list[LinearSmoother]

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name not in UNSAVED}

    def _keep_sampled(
        self, run: Run, training: Training[RidgeProblem], landmarks: LandmarkMap
    ) -> None:
        """Store of a landmark model all its training rows, and what it misses at some left out."""
        self._landmark_cache = LandmarkGram(landmarks, training.X, self._room)
        known, found = training.repair.gram.by_landmarks(), self.solution_
        if known is not None and found.theta is not None and found.solver != FEW_ROWS:
            given = (known, training.problem, found.theta, found.intercept)
            self._sampled_residuals_ = run.attempt(partial(sampled_residuals, *given), lambda: None)

    @property
    def leave_one_out_predictions_(self) -> Array:
        """The prediction at every training row by the fit without it; shape of `y`.

        A row of zero weight was not used, so its prediction is the plain one. It is infinite where
        the other rows determine none, as with alpha = 0 at the one row that has some feature.
        """
        check_is_fitted(self)
        problem = self._whole_problem()
        held_out = np.empty((len(self._used_), problem.y.shape[1]))
        held_out[self._used_] = problem.y - self._loo_residuals()
        if not self._used_.all():
            unused = np.flatnonzero(~self._used_)
            is_exact = self.approximation_ is None
            rows = self.X_fit_ if is_exact else self._gram_by_landmarks().X
            held_out[unused] = self.function_(take_rows(rows, unused))
        return self._shaped(held_out)

    def residuals_less_one(self, copies: Array) -> Array:
        """Return y minus the prediction of the fit without one of the equal rows behind a row.

        Parameters
        ----------
        copies : array of shape (n,)
            How many equal rows every training row in use stands for.
        """
        problem = self._whole_problem()
        fitted = problem.alpha * self.solution_.coefficients / problem.weights[:, None]
        return less_one(self._loo_residuals(), fitted, copies[:, None])

    def predict_interval(self, X: Any, coverage: float = 0.9) -> tuple[Array, Array]:
        """Return the lower and upper ends of jackknife+ prediction intervals at the rows `X`.

        They hold new targets with a probability of at least 2 coverage - 1 for any distribution
        of exchangeable rows of equal weight, with one kernel that the targets did not choose, and
        of about `coverage` in practice. No fit is repeated. Errors count in units of the standard
        deviation of a target by the fit without its row, so that intervals are wider where training
        rows tell little: between and beyond their numbers, and at categories that none has; how
        much wider is told by errors where slices of the columns of training rows are left out. Rows
        that miss the same cells as 30 training rows or more, or as many as the coverage needs, have
        the intervals that these tell: what is promised of all rows holds for each such group. Rows
        of a rarer pattern have the widest of those that training rows tell which miss one cell of
        it. A landmark model that was saved has the jackknife intervals of some of its training
        rows, as wide at every row of `X`.

        Parameters
        ----------
        X : rows
            Where to predict.
        coverage : float
            The share of new targets to cover, between 0 and 1.

        References
        ----------
        R. Barber, E. Candes, A. Ramdas and R. Tibshirani (2021), Predictive inference with the
        jackknife+; V. Vovk, A. Gammerman and G. Shafer (2005), Algorithmic learning in a random
        world, of groups with intervals of their own (Mondrian).
        """
        X = checked_rows(self, X)
        if not 0.0 < coverage < 1.0:
            raise ValueError(f"coverage must lie between 0 and 1, got {coverage!r}")
        predicted = self.function_(X)
        lower, upper = np.empty_like(predicted), np.empty_like(predicted)
        self._whole_problem()
        kept = getattr(self, "_sampled_residuals_", None)
        if kept is not None and getattr(self, "_landmark_cache", None) is None:
            # No row moves f here, so that the ends lie as far from it everywhere as from zero.
            for t, missed in enumerate(kept.T):
                still, missed = np.zeros((len(missed), 1)), np.abs(missed)[:, None]
                ends = jackknife_plus(np.zeros(1), still, missed, coverage)
                lower[:, t], upper[:, t] = (predicted[:, t] + end for end in ends)
            return self._shaped(lower), self._shaped(upper)
        # Few rows gain little by threads of the BLAS, and lose much where others want the cores.
        few_rows = 4000
        with one_blas_thread() if len(self._problem_.y) <= few_rows else nullcontext():
            residuals, known = self._loo_residuals(), self._row_variances()
            groups = self._groups(X, coverage)
            lower[:], upper[:] = np.inf, -np.inf
            for rows, t, changes, variances in self._without(X):
                every = np.arange(len(predicted))[rows]
                distances = spread(residuals[:, t], known[:, t], variances)
                for place, told in ((p, s) for p, sets in groups for s in sets):
                    own = np.isin(every, place)
                    at, is_all = every[own], len(told) == len(changes) and own.all()
                    moved_some, far = (
                        m if is_all else m[np.ix_(told, own)] for m in (changes, distances)
                    )
                    low, high = jackknife_plus(predicted[at, t], moved_some, far, coverage)
                    lower[at, t] = np.minimum(lower[at, t], low)
                    upper[at, t] = np.maximum(upper[at, t], high)
        return self._shaped(lower), self._shaped(upper)

    def _without(self, X: Any) -> Iterator[tuple[slice, int, Array, Array]]:
        """Yield what the fits without each training row say of some checked rows and one target.

        That is how far they are from f, and the variance of the target by them.
        """
        target, residuals = self._target_variance(), self._loo_residuals()
        prior = np.zeros(n_rows(X)) if self.kernel_.is_precomputed else self.kernel_.diagonal(X)
        for smoother in self._smoothers():
            for rows, some in self._blocks(X):
                h, variance = smoother.at(some, prior[rows])
                for t in smoother.targets.tolist():
                    yield rows, t, prediction_changes(h, residuals[:, t]), target.at(t, h, variance)

    def _groups(self, X: Any, coverage: float) -> list[tuple[Index, list[Index]]]:
        """Return groups of new rows, each with sets of training rows that tell its intervals."""
        if self.kernel_.is_precomputed:
            return [(np.arange(n_rows(X)), [np.arange(len(self._problem_.y))])]
        # Rows of which ranks mean something, and twice as many as make both ends finite.
        least = max(30, int(np.ceil(2.0 / (1.0 - coverage))))
        return alike_in_gaps(self._training_rows(), X, least)

    def _deviation(self, X: Any) -> Array:
        """Return the posterior standard deviation of f(x) + b at checked rows, (n, targets)."""
        deviation = np.empty((n_rows(X), self._whole_problem().y.shape[1]))
        prior = self.kernel_.diagonal(X)
        for smoother in self._smoothers():
            for rows, some in self._blocks(X):
                variance = smoother.variance(some, prior[rows])
                deviation[rows, smoother.targets] = np.sqrt(variance)[:, None]
        return deviation

    def _whole_problem(self) -> RidgeProblem:
        """Return the problem of all rows, which a model of a stream or a few rows did not solve."""
        if not hasattr(self, "_problem_"):
            raise ValueError(STREAMED)
        if self.certificate_.method == FEW_ROWS:
            raise ValueError(OF_FEW_ROWS)
        return self._problem_

    def _shaped(self, values: Array) -> Array:
        """Return a column for every target in the shape of the targets, (n,) or (n, targets)."""
        return values.reshape(len(values), *self._target_shape_)

    def _gram(self) -> Gram:
        if self.approximation_ is not None:
            gram = self._gram_by_landmarks()
            return LandmarkGram(
                gram.landmarks, used_rows(self.kernel_, gram.X, self._used_), self._room
            )
        if self._is_repaired_:
            raise ValueError(
                f"{self.kernel_!r} was repaired with repair={self.repair!r}, and only a positive "
                "semi-definite kernel has held-out predictions, intervals and deviations in "
                "closed form; use cross-validation"
            )
        if self.kernel_.is_conditional and not self._problem_.fit_intercept:
            raise ValueError(
                f"{self.kernel_!r} is positive semi-definite on coefficients of sum zero only, and "
                "without an offset it has no held-out predictions, intervals and deviations in "
                "closed form; use fit_intercept=True"
            )
        rows = used_rows(self.kernel_, self.X_fit_, self._used_)
        if isinstance(self.function_, PrimalFunction):
            return FeatureGram(self.kernel_, rows, self._room)
        return unheld_gram_of(self.kernel_, rows, self._room)

    def _gram_by_landmarks(self) -> LandmarkGram:
        """Return the matrix of all training rows, which a landmark model has in memory alone."""
        gram = getattr(self, "_landmark_cache", None)
        if gram is None:
            raise ValueError(
                "the training rows are no part of a landmark model that was saved or copied, and "
                "held-out predictions, intervals and deviations, and the temperature of "
                "probabilities, are worked out from them; fit it again, and ask before it is saved"
            )
        return gram

    def _loo_residuals(self) -> Array:
        return self._left_out()[0].residuals

    def _row_variances(self) -> Array:
        """Return the variance of every target by the fit without its row, (n, targets)."""
        return self._target_variance().rows

    def _left_out(self) -> tuple[LeftOut, Array | None]:
        """Return what is known of rows left out, and the prior variance that the matrix leaves."""
        if not hasattr(self, "_left_out_cache"):
            gram = self._gram()
            self._left_out_cache = leave_one_out(gram, self._problem_), gram.residual_diagonal()
        return self._left_out_cache

    def _target_variance(self) -> TargetVariance:
        if not hasattr(self, "_variance_cache"):
            left_out, prior = self._left_out()
            found = TargetVariance.of(left_out, self._problem_, prior, self._growth())
            self._variance_cache = found
        return self._variance_cache

    def _growth(self) -> Array:
        """Return the factor of posterior variances far from training rows, (targets,)."""
        if self.kernel_.is_precomputed:
            return np.ones(self._problem_.y.shape[1])
        return growth(self.kernel_, self._training_rows(), self._problem_, self._room)

    def _training_rows(self) -> Any:
        """Return the training rows in use, of landmark models too."""
        is_exact = self.approximation_ is None
        rows = self.X_fit_ if is_exact else self._gram_by_landmarks().X
        return used_rows(self.kernel_, rows, self._used_)

    def _smoothers(self) -> Any:
        """Return the smoothers; kept where there is one only, since each needs its own factor."""
        if hasattr(self, "_smoother_cache"):
            return self._smoother_cache
        found = smoothers(self._gram(), self._problem_)
        if len(np.unique(self._problem_.alpha)) == 1:
            self._smoother_cache = list(found)
            return self._smoother_cache
        return found

    def _blocks(self, X: Any) -> Any:
        """Return blocks of new rows, of a finished matrix with the columns of rows in use."""
        compared = X[:, self._used_] if self.kernel_.is_precomputed else X
        return blocks_of(compared, len(self._problem_.y))


def missing_cells(X: Any) -> NDArray[np.bool_] | None:
    """Return which cells of a table or an array are missing, (n, columns); None of other rows."""
    if isinstance(X, Stream):
        blocks = (missing_cells(some) for _, some in narrow_blocks(X))
        found = [cells for cells in blocks if cells is not None]
        return np.concatenate(found) if found else None
    if is_table(X):
        return np.column_stack([_missing(np.asarray(values)) for _, values in column_values(X)])
    if isinstance(X, np.ndarray) and X.ndim == 2:
        return np.column_stack([_missing(values) for values in X.T])
    return None


def _missing(values: NDArray[Any]) -> NDArray[np.bool_]:
    if values.dtype.kind == "f":
        return np.isnan(values)
    if values.dtype.kind in "mM":
        return np.isnat(values)
    if values.dtype.kind == "O":
        return np.array([is_missing(value) for value in values], bool)
    return np.zeros(len(values), bool)


def alike_in_gaps(train: Any, new: Any, least: int) -> list[tuple[Index, list[Index]]]:
    """Return groups of new rows by which cells are missing, with the training rows alike in that.

    These are the training rows that miss the same cells, if there are so many. Of a rarer pattern
    they are several sets, one for each of its cells, of all that miss that one; and all training
    rows where none is large enough, or where rows have no cells.

    Parameters
    ----------
    train, new : rows
        Of the same columns.
    least : int
        The training rows that a set has at least.
    """
    before, after = missing_cells(train), missing_cells(new)
    every = [np.arange(n_rows(train))]
    if before is None or after is None or not before.any():
        return [(np.arange(n_rows(new)), every)]
    patterns, places = np.unique(after, axis=0, return_inverse=True)
    groups = []
    for i, pattern in enumerate(patterns):
        same = np.flatnonzero((before == pattern).all(axis=1))
        sets = [same] if len(same) >= least else [np.flatnonzero(g) for g in before.T[pattern]]
        told = [found for found in sets if len(found) >= least]
        groups.append((np.flatnonzero(places.reshape(-1) == i), told or every))
    return groups
