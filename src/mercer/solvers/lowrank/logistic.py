"""Logistic regression by landmarks: Newton's method on the weights of their features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mercer.data.limits.deadline import TimeIsUpError, shielded
from mercer.gram import Gram, HeldLandmarkGram, LandmarkGram, fits_features
from mercer.solvers.checkpoint import State
from mercer.solvers.contract import Solution
from mercer.solvers.logistic.descent import Measurable, NewtonRun, relative
from mercer.solvers.logistic.likelihood import LogisticProblem
from mercer.solvers.logistic.solver import Newton
from mercer.solvers.lowrank.hessian import Hessian, Preconditioner
from mercer.solvers.lowrank.products import FeatureProducts
from mercer.solvers.refusals import check_scores, known_by_landmarks, not_finite
from mercer.solvers.rounding import EPS, UNITS
from mercer.solvers.run import Run

Array = NDArray[np.float64]

MEASURE = "relative duality gap in the landmark model"


@dataclass(frozen=True)
class NystromNewton(Newton):
    """Minimise C sum_i w_i loss_i(theta'phi_i + b) + 1/2 ||theta||^2 in features of landmarks.

    Newton steps on theta, with the offset b at its best, are solved by conjugate gradients. The
    preconditioner is the second derivative of a sample of the rows, an m x m matrix. A product
    with the second derivative reads features, or the entries that they follow from, once: they
    are stored in float32 where that fits. The
    gradient g gives the duality gap as well: the residuals of the classes are a feasible point of
    the dual, and the gap of the two is 1/2 ||g||^2. At the end it is measured in float64.

    Parameters
    ----------
    tol : float
        Relative duality gap to reach in the landmark model.
    max_iter : int, optional
        Newton steps allowed, 100 by default.
    random_state : int
        Where the sample of the preconditioner comes from.

    References
    ----------
    U. Marteau-Ferey, F. Bach and A. Rudi (2019), Globally convergent Newton methods for
    ill-conditioned generalized self-concordant losses; R. Byrd, G. Chin, W. Neveitt and J. Nocedal
    (2011), On the use of stochastic Hessian information in optimization methods for machine
    learning.
    """

    name: ClassVar[str] = "nystrom"

    random_state: Any = 0

    def _descent(self, gram: Gram, problem: LogisticProblem) -> LandmarkDescent:
        known = known_by_landmarks(gram)
        check_scores(known.landmarks.diagonal, problem.largest)
        return LandmarkDescent(self.tol, self._steps, known, problem, self.random_state)


@dataclass(frozen=True, eq=False)
class Point(Measurable):
    """Weights theta, their scores S = F theta, the best offset, gradient and objective there."""

    theta: Array
    S: Array
    b: Array
    g: Array
    primal: float

    @property
    def gap(self) -> float:
        return 0.5 * float((self.g**2).sum())


class LandmarkDescent(NewtonRun):
    """One run of Newton's method in features of landmarks.

    Parameters
    ----------
    tol, most, gram, problem
        As of `NewtonRun`, with F F' for K.
    seed : int
        Where the sample of the preconditioner comes from.
    """

    # A gap of g leaves f off by up to sqrt(2 g). Whoever asks for as little as this wants the
    # digits of f, and steps go on until rounding allows no further one, which takes a few.
    tight: ClassVar[float] = 1e-10

    def __init__(
        self, tol: float, most: int, gram: LandmarkGram, problem: LogisticProblem, seed: Any
    ) -> None:
        super().__init__(tol, most, gram, problem)
        self._products = FeatureProducts(gram)
        self._preconditioner = Preconditioner(gram, problem.fit_intercept, seed)
        shape = (gram.landmarks.n_features, problem.columns)
        self._theta, self._b = np.zeros(shape), np.zeros(problem.columns)
        self._S = np.zeros((len(gram), problem.columns))
        if problem.start is not None:
            A, self._b = problem.start
            self._theta = self._products.back(A)
            self._S = self._products.forward(self._theta)

    def to(self, C: float, run: Run) -> Solution:
        self._run, self._steps = run, 0
        problem = self._problem.at(C)
        stages = [*self._on_the_way(C), problem]
        kept = run.restored()
        self._stage = 0 if kept is None else int(kept["counts"][0])
        with run.guarded(lambda: bool(self._theta.any())):
            begun = None if kept is None else self._restored(kept, stages[self._stage])
            for stage in range(self._stage, len(stages)):
                self._stage, is_last = stage, stage == len(stages) - 1
                tol = self._goal if is_last else max(self.on_the_way, self._tol)
                self._descend(stages[stage], tol, begun)
                begun = None
            self._C = C
        run.enter(f"pass over {len(self._gram)} rows: certificate")
        measured = run.measured(lambda: self._measured(problem))
        if measured is not None and self._is_rounded(measured):
            # The rounding of float32 is all that is left over.
            with run.guarded():
                self._products = self._exact_products()
                self._S = self._products.forward(self._theta)
                self._descend(problem, self._goal)
            measured = run.measured(lambda: self._measured(problem))
        if measured is None and not self._theta.any():
            raise TimeIsUpError
        return self._solution(problem, measured)

    @property
    def _goal(self) -> float:
        """The relative gap that steps go on to."""
        return self._tol if self._tol > self.tight else 0.0

    def _is_rounded(self, measured: Measured) -> bool:
        is_held = self._gram.stored_dtype is not None and not self._products.is_exact
        is_open = measured.relative > self._goal and self._steps < self._most
        return is_held and is_open and not self._run.ended_by

    def _exact_products(self) -> FeatureProducts:
        """Return products in float64, of features that are computed once where they fit."""
        gram = self._gram
        if fits_features(gram, np.float64):
            gram = HeldLandmarkGram.of(gram, np.float64)
        return FeatureProducts(gram, is_exact=True)

    def _size(self) -> float:
        index, F = self._gram.sample
        squares = np.einsum("ij,ij->i", F, F)
        return float(np.average(squares, weights=self._problem.weights[index]))

    def _restored(self, kept: State, problem: LogisticProblem) -> Point:
        """Return the point that an earlier run has left, with all that a step begins from."""
        _, self._steps, is_exact = kept["counts"].tolist()
        if is_exact:
            self._products = self._exact_products()
        self._preconditioner.restore(kept, problem.C)
        self._theta, self._S, self._b = kept["theta"], kept["S"], kept["b"]
        return Point(self._theta, self._S, self._b, kept["g"], float(kept["primal"]))

    def _leave(self, point: Point) -> None:
        """Leave what the next step begins from."""
        if self._run.checkpoint is None:
            # The sums of all classes would be copied for nobody.
            return
        counts = np.array([self._stage, self._steps, self._products.is_exact])
        here = {name: np.asarray(part) for name, part in vars(point).items()}
        self._run.keep({"counts": counts, **here, **self._preconditioner.state()})

    def _descend(self, problem: LogisticProblem, tol: float, begun: Point | None = None) -> None:
        """Go on to a tolerance, or as far as the limits allow."""
        run = self._run
        point = begun or self._at(problem, self._theta, self._S, self._b)
        while point.relative_gap > tol and not self._is_over():
            stepped = self._stepped(problem, point, tol)
            if stepped is None:
                return
            self._steps += 1
            point = stepped
            self._theta, self._S, self._b = point.theta, point.S, point.b
            if not run.report(self._steps, point.relative_gap):
                self._leave(point)

    def _at(self, problem: LogisticProblem, theta: Array, S: Array, b: Array) -> Point:
        """Return the point of some weights with the best offset."""
        b = problem.best_offset(S, b)
        primal = problem.loss(S + b) + 0.5 * float((theta**2).sum())
        if not np.isfinite(primal):
            raise not_finite()
        g = theta - problem.C * self._products.back(problem.residual(S + b))
        return Point(theta, S, b, g, primal)

    def _stepped(self, problem: LogisticProblem, point: Point, tol: float) -> Point | None:
        """Return the point after a Newton step, or None if no step is downhill."""
        root = problem.curvature(point.S + point.b)
        self._preconditioner.prepare(root, problem.C)
        hessian = Hessian(self._products, root, problem.C, problem.fit_intercept)
        # What a residual r of the step leaves is a gap of 1/2 ||r||^2.
        goal = max(self.share * point.gap, self.margin * tol * abs(point.primal))
        step, F_step, steps = hessian.solved(-point.g, self._preconditioner, goal, self._run)
        self._preconditioner.improve(steps)
        return self._shortened(problem, point, step, F_step)

    def _shortened(
        self, problem: LogisticProblem, point: Point, step: Array, F_step: Array
    ) -> Point | None:
        """Return the point as far along a step as lowers the objective enough."""
        slope = float((step * point.g).sum())
        norm, cross = float((point.theta**2).sum()), float((point.theta * step).sum())
        square, length = float((step**2).sum()), 1.0
        for _ in range(self.halvings):
            S = point.S + length * F_step
            b = problem.best_offset(S, point.b)
            value = problem.loss(S + b) + 0.5 * (norm + length * (2.0 * cross + length * square))
            if length == 1.0 and abs(value - point.primal) <= UNITS * EPS * abs(point.primal):
                # Rounding hides the objective, and the gradient tells.
                stepped = self._at(problem, point.theta + step, S, b)
                return stepped if stepped.gap < 0.5 * point.gap else None
            if self._lowers(value, point.primal, length, slope):
                return self._at(problem, point.theta + length * step, S, b)
            length *= 0.5
        return None

    def _measured(self, problem: LogisticProblem) -> Measured:
        """Return the gap in float64 with all that rounding may hide, and the dual point."""
        exact = FeatureProducts(self._gram, is_exact=True)
        S = exact.forward(self._theta)
        with shielded():
            b = problem.best_offset(S, self._b)
            # The offset may not be quite the best one, which the dual loses something by.
            correction, entropy = problem.restored(S + b)
            A = problem.C * (problem.residual(S + b) + correction)
        back = exact.back(A)
        primal = problem.loss(S + b) + 0.5 * float((self._theta**2).sum())
        hidden = UNITS * EPS * (np.linalg.norm(self._theta) + np.linalg.norm(back))
        norm = float(np.linalg.norm(self._theta - back) + hidden)
        gap = 0.5 * norm**2 + problem.C * entropy
        return Measured(A, b, gap, relative(gap, primal))

    def _solution(self, problem: LogisticProblem, measured: Measured | None) -> Solution:
        if measured is None:
            # There was no time to measure the weights.
            A = problem.C * problem.residual(self._S + self._b)
            measured = Measured(A, self._b, np.inf, np.inf)
        unit = np.ones(problem.columns)
        return Solution(
            measured.A,
            measured.b,
            measured.relative * unit,
            np.sqrt(2.0 * measured.gap) * unit,
            self._tol,
            NystromNewton.name,
            self._theta,
            MEASURE,
            iterations=self._steps,
            advice=self._advice(measured.relative),
        )


class Measured(NamedTuple):
    """A feasible point A of the dual, the offset, and the gap of the weights to it."""

    A: Array
    b: Array
    gap: float
    relative: float
