"""partial_fit of kernel ridge and logistic regression: a landmark model of bounded size."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from dataclasses import replace
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if

from mercer.data.checks import checked_positive
from mercer.data.columns import take_rows
from mercer.data.stream import Stream
from mercer.data.stream.stream import MOST
from mercer.errors import ApproximationWarning, ConvergenceWarning, warn_caller
from mercer.estimators.classes import Labelled
from mercer.estimators.online.landmark_stream import After, Block, LandmarkStream
from mercer.estimators.refusals import refuse_by_landmarks
from mercer.estimators.validation import (
    checked_block,
    checked_targets,
    checked_training,
    checked_weights,
    is_first_call,
    used_rows,
)
from mercer.gram.pivots import checked_landmark_count, chosen_landmarks
from mercer.kernels import Kernel
from mercer.planning.landmarks import LEARNT, check_landmarks
from mercer.solvers import LogisticProblem, LogisticStream, RidgeStream, Run
from mercer.tiles import Rows

Array = NDArray[np.float64]

# What is known of a fit to all rows at once, and not of a stream.
OF_A_FIT = (
    "certificate_",
    "solution_",
    "solver_",
    "_problem_",
    "_used_",
    "_landmark_cache",
    "_sampled_residuals_",
    "_left_out_cache",
    "_variance_cache",
    "_smoother_cache",
)


def _needs_no_repair(estimator: Any) -> bool:
    """Whether an estimator can learn block by block, else say why it cannot."""
    if estimator.repair is None:
        return True
    raise AttributeError(
        f"partial_fit has no whole Gram matrix to repair, got repair={estimator.repair!r}; use "
        "fit, or a positive semi-definite kernel"
    )


class TargetStream:
    """A regression by least squares that can learn block by block."""

    learns_from_blocks: ClassVar[bool] = True

    @abstractmethod
    def _alphas(self, targets: int) -> Array:
        """Return the ridge of every target."""

    def _fit_blocks(self, run: Run, X: Stream, y: Any, sample_weight: Any) -> Self:
        """Fit to rows on a disk by one pass over them, as `partial_fit` does block by block."""
        estimator: Any = self
        kernel = estimator._kernel_for(X)
        rows, y = checked_training(estimator, kernel, X, y)
        targets, weights = y.reshape(len(y), -1), checked_weights(sample_weight, len(y))
        whole, columns = Block(rows.X, targets, weights), targets.shape[1]
        learnt = _learnt(estimator, run, kernel, whole, columns, _after_targets(estimator))
        estimator._target_shape_ = y.shape[1:]
        _keep(estimator, *learnt.solved(self._alphas(columns)))
        return self

    @available_if(_needs_no_repair)
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from more rows: the landmark model of all blocks seen so far, exactly.

        It minimises sum_i w_i (y_i - f(x_i) - b)^2 + alpha ||f||^2 over all rows of all calls, with
        f a sum over `n_landmarks` landmarks, 1000 by default. A row that comes again counts again.
        Unless they are given, landmarks are chosen among the first rows, ten for each, and stay:
        what is kept is m x m sums, however long the stream is, and there is no step size. A rule
        such as ``"median"`` is resolved on the rows of the first call. A model that was fitted
        begins with its training rows.

        Parameters
        ----------
        X : rows
            More rows.
        y : array of shape (n,) or (n, targets)
            Their targets.
        sample_weight : float or array of shape (n,), optional
            w.
        """
        learnt = learn_targets(self, X, y, sample_weight)
        _keep(self, *learnt.solved(self._alphas(len(learnt.level))))
        return self


class ClassStream:
    """A classifier by likelihoods that can learn block by block."""

    learns_from_blocks: ClassVar[bool] = True

    C: Any

    def _fit_blocks(self, run: Run, X: Stream, y: Any, sample_weight: Any) -> Self:
        """Fit to rows on a disk by one pass over them, as `partial_fit` does block by block."""
        estimator: Any = self
        kernel = estimator._kernel_for(X)
        data = Labelled.of(estimator, kernel, X, y, sample_weight, estimator.class_weight)
        used, classes = data.used, data.classes
        columns = 1 if len(classes) == 2 else len(classes)
        after = _after_classes(estimator, checked_positive("C", self.C), len(classes))
        # Rows that do not count are left out block by block.
        whole = Block(data.rows.X, data.codes, data.weights)
        learnt = _learnt(estimator, run, kernel, whole, columns, after)
        estimator._stream_.totals = np.bincount(data.codes[used], data.copies[used], len(classes))
        estimator.classes_ = classes
        _keep(estimator, learnt.theta, learnt.b)
        return self

    @available_if(_needs_no_repair)
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from more rows, in a landmark model of bounded size.

        A block minimises C sum_i w_i loss_i over its rows together with the penalty and with what
        is known of all rows before it, a parabola above their losses. There is no step size. f is a
        sum over `n_landmarks` landmarks, 1000 by default, chosen among the first rows, ten for
        each, unless they are given. A row that comes again counts again. A rule such as
        ``"median"`` is resolved on the rows of the first call. A model that was fitted begins with
        its training rows. ``class_weight="balanced"`` balances all rows seen so far. A first block
        of all rows gives the model of ``solver="nystrom"``; many small ones come close to it.

        Parameters
        ----------
        X, y : rows, array of shape (n,)
            More rows and their classes.
        classes : array, optional
            All classes there will be; needed at the first call.
        sample_weight : float or array of shape (n,), optional
            w.
        """
        learnt = learn_classes(self, checked_positive("C", self.C), X, y, classes, sample_weight)
        _keep(self, learnt.theta, learnt.b)
        return self


def learn_targets(estimator: Any, X: Any, y: Any, sample_weight: Any) -> RidgeStream:
    """Return the sums of all rows that a regression has seen, with those of one more block."""
    rows, kernel = _checked(estimator, X)
    y = checked_targets(estimator, rows, y)
    if not hasattr(estimator, "function_"):
        estimator._target_shape_ = y.shape[1:]
    targets = y.reshape(len(y), -1)
    block = _of_weight(rows.X, targets, checked_weights(sample_weight, len(y)))
    stream = _stream_of(estimator, kernel, block, targets.shape[1], _after_targets(estimator))
    if targets.shape[1] != stream.columns or y.shape[1:] != estimator._target_shape_:
        raise ValueError(
            f"y must have the targets of the first call, {stream.columns}, got shape {y.shape}"
        )
    stream.learn(block, _after_targets(estimator))
    return cast(RidgeStream, stream.learnt)


def learn_classes(
    estimator: Any, C: float, X: Any, y: Any, classes: Any, sample_weight: Any
) -> LogisticStream:
    """Return the weights of a classifier after one more block."""
    rows, kernel = _checked(estimator, X)
    before = 0.0 if getattr(estimator, "_stream_", None) is None else estimator._stream_.totals
    data = Labelled.more(estimator, rows, y, classes, sample_weight, before)
    block, count = _of_weight(rows.X, data.codes, data.weights), len(data.classes)
    after = _after_classes(estimator, C, count)
    stream = _stream_of(estimator, kernel, block, 1 if count == 2 else count, after)
    stream.learn(block, after)
    stream.totals = stream.totals + np.bincount(data.codes, data.copies, count)
    estimator.classes_ = data.classes
    return cast(LogisticStream, stream.learnt)


def _learnt(
    estimator: Any, run: Run, kernel: Kernel, whole: Block, columns: int, after: After
) -> Any:
    """Return what is learnt of a stream in one pass, by landmarks chosen among all of its rows.

    Parameters
    ----------
    estimator : estimator
        Who learns, from nothing.
    run : Run
        The time that there is; what is learnt when it is up is returned, with a warning.
    kernel : Kernel
        k, on the columns of the rows.
    whole : Block
        The rows in blocks, with targets and weights of all.
    columns : int
        Targets, or columns of scores.
    after : callable
        See `LandmarkStream.learn`.
    """
    if estimator.checkpoint is not None:
        raise ValueError(
            f"checkpoint={str(estimator.checkpoint)!r} keeps no state of solver='sgd' on rows that "
            "are read block by block, which are learnt in one pass; leave it out, or use "
            "solver='nystrom'"
        )
    X, n = whole.rows, len(whole.rows)
    kernel = estimator._resolved(kernel, X, whole.weights)
    settings = estimator._fit_settings(kernel, estimator._settings())
    check_landmarks(settings, kernel)
    refuse_by_landmarks(kernel, X.sample, estimator._room)
    if isinstance(settings.landmarks, str):
        m = checked_landmark_count(settings.n_landmarks or min(LEARNT, n), n)
        run.enter(f"{type(estimator).__name__}: choosing {m} landmarks among {n} rows")
        chosen = (settings.landmarks, settings.seed or 0, settings.memory)
        settings = replace(settings, landmarks=chosen_landmarks(kernel, X, m, *chosen))
    stream = LandmarkStream.begun(kernel, settings, columns)
    run.enter(f"learning from {n} rows, block by block")
    for rows, block in X.blocks(MOST):
        stream.learn(_of_weight(block, whole.targets[rows], whole.weights[rows]), after)
        if rows.stop < n and run.is_over():
            text = f"the model has learnt from {rows.stop} of {n} rows: {run.reason}"
            warn_caller(text, ConvergenceWarning)
            break
    estimator._stream_ = stream
    return stream.learnt


def _keep(estimator: Any, theta: Array, b: Array) -> None:
    """Store the function of a stream, and forget what was known of a fit to all rows at once."""
    stream = estimator._stream_
    for name in OF_A_FIT:
        vars(estimator).pop(name, None)
    estimator.function_ = stream.function(theta, b)
    estimator.approximation_ = stream.approximation
    estimator.kernel_, estimator.n_iter_ = stream.kernel, 1
    estimator._is_repaired_ = False


def _after_targets(estimator: Any) -> After:
    def after(before: Any, F: Any, y: NDArray[Any], weights: Array) -> RidgeStream:
        if before is None:
            return RidgeStream.begun(F, y, weights, bool(estimator.fit_intercept))
        return cast(RidgeStream, before.after(F, y, weights))

    return after


def _after_classes(estimator: Any, C: float, classes: int) -> After:
    fit_intercept = bool(estimator.fit_intercept)

    def after(before: Any, F: Any, codes: NDArray[Any], weights: Array) -> LogisticStream:
        problem = LogisticProblem(codes, classes, C, weights, fit_intercept)
        known = before or LogisticStream.empty(F.shape[1], problem.columns, fit_intercept)
        return cast(LogisticStream, known.after(F, problem))

    return after


def _checked(estimator: Any, X: Any) -> tuple[Rows, Kernel]:
    """Return the rows of a block as they are kept, and the kernel, as given or as resolved."""
    is_first = is_first_call(estimator)
    if is_first:
        estimator._tell_of_memory()
    kernel = estimator._kernel_for(X) if is_first else estimator.kernel_
    return checked_block(estimator, kernel, X), kernel


def _of_weight(X: Any, targets: NDArray[Any], weights: Array) -> Block:
    """Return the rows that count."""
    used = np.flatnonzero(weights)
    if len(used) == len(weights):
        return Block(X, targets, weights)
    return Block(take_rows(X, used), targets[used], weights[used])


def _stream_of(
    estimator: Any, kernel: Kernel, block: Block, columns: int, after: After
) -> LandmarkStream:
    """Return the stream of an estimator; one that was fitted begins with its training rows."""
    stream: LandmarkStream | None = getattr(estimator, "_stream_", None)
    is_fitted = hasattr(estimator, "function_")
    if not is_fitted:
        kernel = estimator._resolved(kernel, Rows.checked(block.rows), block.weights)
    settings = estimator._settings()
    check_landmarks(settings, kernel)
    refuse_by_landmarks(kernel, block.rows, estimator._room)
    if stream is None:
        earlier = _trained(estimator) if is_fitted else None
        stream = LandmarkStream.begun(kernel, estimator._fit_settings(kernel, settings), columns)
        if earlier is not None:
            stream.learn(earlier, after)
        estimator._stream_ = stream
    return stream


def _trained(estimator: Any) -> Block | None:
    """Return the rows of an earlier fit, the first block, or warn that none are kept."""
    problem = getattr(estimator, "_problem_", None)
    if problem is None or estimator.approximation_ is not None:
        warnings.warn(
            "partial_fit goes on from the training rows, and a model by landmarks, or one read "
            "from a file, has kept none of them: it begins anew with this block; call partial_fit "
            "for all blocks of a stream",
            ApproximationWarning,
            stacklevel=5,
        )
        return None
    rows = used_rows(estimator.kernel_, estimator.X_fit_, estimator._used_)
    targets = problem.y if hasattr(problem, "y") else problem.codes
    return Block(rows, targets, problem.weights)
