"""Kernels learned from data: the parameters at which the targets are most likely."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from itertools import islice
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.data.limits.deadline import TimeIsUpError
from mercer.estimators import KernelRidge
from mercer.estimators.classes import checked_classification, one_against_rest
from mercer.estimators.estimator import kernel_for
from mercer.estimators.streams import opened_for
from mercer.estimators.validation import (
    checked_seed,
    checked_training,
    checked_weights,
    training_subset,
)
from mercer.kernels import Kernel
from mercer.kernels.tangents import parameter_gradient
from mercer.learning.learned import Learned, Step
from mercer.learning.metric import GradientMetric
from mercer.learning.stopping import best_step, rows_held_out, rows_to_learn_from
from mercer.learning.variables import Variables, opened
from mercer.native.lapack import one_blas_thread
from mercer.solvers import Run
from mercer.solvers.ridge.bordered import RidgeProblem
from mercer.solvers.ridge.evidence import Evidence, left_out_error, restricted_likelihood
from mercer.solvers.rounding import usual_unit, usual_units
from mercer.tiles import Rows, compile_expression, evaluate
from mercer.tiles.derivative import Contraction
from mercer.tiles.derivative.views import is_discrete
from mercer.tiles.program import Input
from mercer.tiles.tile import Opaque

Array = NDArray[np.float64]

METHODS = ("gradient", "agop", "agop-full")

CRITERIA: dict[str, Callable[[Array, RidgeProblem], Evidence | None]] = {
    "likelihood": restricted_likelihood,
    "loo": left_out_error,
}


def learn(
    kernel: Any,
    X: Any,
    y: Any,
    *,
    method: str = "gradient",
    criterion: str = "likelihood",
    alpha: float | None = None,
    rows: int = 1500,
    max_iter: int = 60,
    time_limit: float | None = None,
    sample_weight: Any = None,
    memory: Any = None,
    random_state: Any = None,
) -> Learned:
    """Return a kernel with the parameters that explain the targets best, and the ridge with it.

    Every term of a sum has a weight, every number its scale: a length scale for all columns becomes
    one for each (automatic relevance determination), so that columns that say nothing about the
    targets end with a long one. It is at least half the median gap between neighbouring values of
    the column, between which nothing is known. All are learned together with the ridge by the
    gradient of the criterion, in logarithms, by the method L-BFGS-B, from where the kernel starts.
    The offset is free, as in `KernelRidge`.

    Parameters
    ----------
    kernel : Kernel, str or callable
        The kernel to start from; ``"median"`` for a length scale is a good beginning.
    X : rows
        An array, CSR matrix or table, a list of texts or other sequences.
    y : array of shape (n,) or (n, targets), or str
        The targets, or the name of their column; texts and truth values are classes, each of which
        is 1 against -1 for the rest.
    method : {"gradient", "agop", "agop-full"}
        How: by the gradient of the criterion; or by the average outer product of the gradients of
        the fit, from which the metric of one kernel of distances is learned in a few rounds
        (recursive feature machine), by column or, as a map `Project` of the rows, in full. Its
        criterion is ``"loo"``.
    criterion : {"likelihood", "loo"}
        The restricted likelihood of a Gaussian process with noise, whose variance is the most
        likely one, or the squared error on every row by the fit without it. The first is the safer
        guide where there are many parameters.
    alpha : float, optional
        The ridge to start from; a tenth of the mean of k(x, x) by default.
    rows : int
        How many rows to learn from at most; of more a random sample is taken. Where there
        are more parameters than a quarter of them, other rows say which iteration is returned, or
        a third of these.
    max_iter : int
        How many iterations at most; of ``"agop"`` no more than 5.
    time_limit : float, optional
        Seconds after which the best kernel so far is returned. A quarter of them is for what rows
        held out say, where there are any.
    sample_weight : float, array of shape (n,) or str, optional
        w: the noise at a row has the variance alpha / w. Text names a column.
    memory : int or str, optional
        The limit of the fits by which rows held out are predicted, in bytes or as ``"4GB"``; a
        share of the free memory by default.
    random_state : int, RandomState or None
        Seed of the sample; None is always the same one.

    References
    ----------
    C. E. Rasmussen, C. K. I. Williams (2006), Gaussian processes for machine learning, chapter 5;
    R. H. Byrd, P. Lu, J. Nocedal, C. Zhu (1995), A limited memory algorithm for bound constrained
    optimization.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import learn
    >>> X = np.random.default_rng(0).normal(size=(60, 3))
    >>> learned = learn("gaussian", X, np.sin(X[:, 1]))
    >>> print(np.argmin(learned.kernel.length_scale))
    1
    """
    run = Run(time_limit)
    if criterion not in CRITERIA:
        raise ValueError(f"criterion must be one of {', '.join(CRITERIA)}, got {criterion!r}")
    for name, number in (("rows", rows), ("max_iter", max_iter)):
        if not isinstance(number, int | np.integer) or isinstance(number, bool) or number < 1:
            raise ValueError(f"{name} must be a whole number of at least 1, got {number!r}")
    if alpha is not None and not 0.0 < alpha < math.inf:
        raise ValueError(f"alpha must be a positive finite number, got {alpha!r}")
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}, got {method!r}")
    X, y, sample_weight = opened_for("cholesky", memory, X, y, sample_weight)
    start = kernel_for(kernel, X)
    checked, targets = _checked(start, X, y)
    X, is_likelihood = checked.X, method == "gradient" and criterion == "likelihood"
    targets = _in_units(targets, is_likelihood)
    weights = checked_weights(sample_weight, len(targets))
    seed = checked_seed(random_state) or 0
    sample, held_out = rows_to_learn_from(weights, rows, seed), np.empty(0, np.intp)
    if method == "gradient":
        wide = opened(start, X, weights)
        count = len(Variables.of(wide, training_subset(start, X, sample)).start)
        held_out = rows_held_out(weights, sample, count, seed)
        sample = np.setdiff1d(sample, held_out)
    seen = training_subset(start, X, sample)
    problem = RidgeProblem(targets[sample], np.ones(1), weights[sample], True)
    is_flat = not (np.ptp(problem.y, axis=0) > 0.0).any()
    # After so many rounds the metric has settled, or follows noise.
    most_rounds = 5
    if method != "gradient":
        most = 0 if is_flat else min(max_iter, most_rounds) + 1
        return _by_gradients(start.resolved(checked, weights), seen, problem, method, most, run)
    search = _Search(CRITERIA[criterion], Variables.of(wide, seen), seen, problem, alpha)
    # A step takes about as long as one of the fits that rows held out are predicted by.
    share_of_steps = 0.75
    ahead = run.share(share_of_steps) if len(held_out) else run
    found = search.learned(criterion, "targets" if is_flat else search.run(max_iter, ahead))
    if not len(held_out) or len(found.history) < 2:
        return found
    others = (training_subset(start, X, held_out), targets[held_out], weights[held_out])
    models = [(step.kernel, step.alpha) for step in found.history]
    place = best_step(models, (seen, problem.y, problem.weights), others, memory, run)
    if place == len(models) - 1:
        return found
    best = found.history[place]
    ended_by = ahead.ended_by or "rows held out"
    return replace(found, kernel=best.kernel, alpha=best.alpha, value=best.value, ended_by=ended_by)


def _by_gradients(
    kernel: Kernel, X: Any, problem: RidgeProblem, method: str, most: int, run: Run
) -> Learned:
    """Return the best of some rounds of `GradientMetric`, by the error on rows left out."""
    began, steps = perf_counter(), list[Step]()
    metric = GradientMetric(kernel, X, problem, method == "agop-full")
    with run.guarded(), run.limited():
        for found in islice(metric.rounds(), most):
            seconds = perf_counter() - began
            steps.append(Step(found.value, found.alpha, found.kernel, seconds))
            if run.is_over():
                break
    ended_by, n = run.ended_by or ("iterations" if most else "targets"), len(problem.y)
    if not steps:
        return Learned(kernel, 1.0, math.nan, "loo", (), n, ended_by)
    best = min(steps, key=lambda step: step.value)
    return Learned(best.kernel, best.alpha, best.value, "loo", tuple(steps), n, ended_by)


def _checked(kernel: Kernel, X: Any, y: Any) -> tuple[Rows, Array]:
    """Return checked rows, and targets of shape (n, targets); classes as 1 and -1."""
    model = KernelRidge(kernel)
    labels = np.asarray(y)
    if labels.ndim == 1 and (labels.dtype.kind in "bUS" or _are_texts(labels)):
        rows, codes, classes = checked_classification(model, kernel, X, labels)
        return rows, one_against_rest(codes, len(classes))
    rows, targets = checked_training(model, kernel, X, y)
    return rows, targets.reshape(len(targets), -1)


def _in_units(targets: Array, is_likelihood: bool) -> Array:
    """Return targets in units in which squares are numbers, and the best parameters the same.

    Each has its own variance in a likelihood, and may have its own unit. Squared errors are summed
    over all targets, which have one unit: those that are as nothing beside the largest stay so.
    """
    if is_likelihood:
        return targets / usual_units(targets)
    return targets / usual_unit(float(np.abs(targets).max()))


def _are_texts(labels: NDArray[Any]) -> bool:
    return labels.dtype == object and all(isinstance(label, str) for label in labels)


class _Search:
    """The criterion as a function of the logarithms of alpha and of the variables of a kernel.

    Parameters
    ----------
    criterion : callable
        The criterion of K and a problem.
    variables : Variables
        Those of the kernel.
    X : rows
        The rows to learn from.
    problem : RidgeProblem
        Their targets and weights.
    alpha : float, optional
        Where the ridge starts.
    """

    # Where alpha starts and how far it may go, in units of the mean of k(x, x).
    first_alpha, least_alpha, largest_alpha = 0.1, 1e-8, 1e3
    # The relative change of the criterion that ends the search: a few thousandths in the log
    # likelihood of a thousand rows, less than any choice depends on.
    tolerance = 2e-6
    # Rows below which the threads of the BLAS are not worth it.
    rows_for_threads = 1000

    def __init__(
        self,
        criterion: Callable[[Array, RidgeProblem], Evidence | None],
        variables: Variables,
        X: Any,
        problem: RidgeProblem,
        alpha: float | None,
    ) -> None:
        self.criterion = criterion
        self.variables = variables
        self.problem = problem
        self.rows = Rows(X, "X")
        self.known = _known(variables.kernel, self.rows)
        # Without the offset, which is free: what is left of a constant kernel is nothing.
        unit = float(np.abs(self.rows.diagonal(variables.kernel.program)).mean())
        self.unit = unit if 0.0 < unit < math.inf else 1.0
        least, most = self.least_alpha * self.unit, self.largest_alpha * self.unit
        self.alpha = self.first_alpha * self.unit if alpha is None else min(max(alpha, least), most)
        self.history: list[Step] = []
        self.began = perf_counter()
        self.worst = 0.0
        self.values: dict[bytes, float] = {}

    def run(self, max_iter: int, run: Run) -> str:
        """Look for the least value, and return what ended it."""
        from scipy.optimize import minimize

        start = np.append(self.variables.start, math.log(self.alpha))
        ends = [math.log(end * self.unit) for end in (self.least_alpha, self.largest_alpha)]
        bounds = [*self.variables.bounds, (ends[0], ends[1])]

        # Per number to be explained: the first step of the method is as long as the gradient.
        share = 1.0 / self.problem.y.size

        def value(point: Array) -> tuple[float, Array]:
            if run.is_over():
                raise TimeIsUpError
            found, slopes = self.at(point)
            if not self.history:
                self._note(point)
            # From the first one on: the unit of the targets, which adds a constant, is not to say
            # which change is small.
            first = self.history[0].value if self.history else found
            return share * (found - first), share * slopes

        # Threads of the BLAS wait for each other longer than small inverses take.
        is_small = self.rows.n < self.rows_for_threads
        with run.guarded(), run.limited(), one_blas_thread() if is_small else nullcontext():
            found = minimize(
                value,
                start,
                jac=True,
                method="L-BFGS-B",
                bounds=bounds,
                callback=self._note,
                options={"maxiter": max_iter, "ftol": self.tolerance},
            )
            return "convergence" if found.nit < max_iter else "iterations"
        return run.ended_by or "time"

    def at(self, point: Array) -> tuple[float, Array]:
        """Return the value and the gradient at a point."""
        kernel, alpha = self._meant(point)
        K = evaluate(kernel.program, self.rows, known=self.known)
        problem = RidgeProblem(
            self.problem.y, np.array([alpha]), self.problem.weights, self.problem.fit_intercept
        )
        found = self.criterion(np.asarray(K, np.float64), problem)
        if found is None or not math.isfinite(found.value):
            return self._turned_back(point)
        # The exponential of a kernel may overflow.
        with np.errstate(over="ignore", invalid="ignore"):
            slopes = parameter_gradient(kernel, Contraction(self.rows, found.G, self.known))
        gradient = self.variables.gradient(point[:-1], slopes)
        if not np.isfinite(gradient).all():
            return self._turned_back(point)
        self.worst = max(self.worst, found.value)
        self.values[point.tobytes()] = found.value
        return found.value, np.append(gradient, found.by_alpha * alpha)

    def _turned_back(self, point: Array) -> tuple[float, Array]:
        """Return a value so much worse than all that was seen that the line search turns back."""
        return self.worst + 1e3, np.zeros_like(point)

    def _note(self, point: Array) -> None:
        kernel, alpha = self._meant(point)
        value = self.values.get(point.tobytes())
        if value is not None:
            self.history.append(Step(value, alpha, kernel, perf_counter() - self.began))

    def _meant(self, point: Array) -> tuple[Kernel, float]:
        return self.variables.kernel_at(point[:-1]), float(math.exp(point[-1]))

    def learned(self, criterion: str, ended_by: str) -> Learned:
        """Return the best that was found, or the beginning."""
        n = self.rows.n
        if not self.history:
            return Learned(self.variables.kernel, self.alpha, math.nan, criterion, (), n, ended_by)
        best = min(self.history, key=lambda step: step.value)
        steps = tuple(self.history)
        return Learned(best.kernel, best.alpha, best.value, criterion, steps, n, ended_by)


def _known(kernel: Kernel, rows: Rows) -> dict[Input, Array]:
    """Return the values of functions and of comparisons of symbols, which take long.

    Where a parameter changes one of them it is another input, and computed again.
    """
    return {
        source: evaluate(compile_expression(source), rows).astype(np.float64)
        for source in kernel.program.inputs
        if isinstance(source, Opaque) or is_discrete(source.left)
    }
