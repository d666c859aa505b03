"""Damped Newton steps on a logistic problem, down to a duality gap."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from time import perf_counter
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from mercer.data.limits.deadline import TimeIsUpError, shielded
from mercer.gram import Gram
from mercer.native.lapack import one_blas_thread
from mercer.solvers.checkpoint import State
from mercer.solvers.contract import Solution
from mercer.solvers.logistic.curvature import Curvature
from mercer.solvers.logistic.descent import Measurable, NewtonRun
from mercer.solvers.logistic.likelihood import LogisticProblem, Offset
from mercer.solvers.logistic.newton_cg import NegativeCurvatureError, ProjectedCG
from mercer.solvers.refusals import indefinite_along, not_finite
from mercer.solvers.rounding import EPS, UNITS, column_norms, product_rounding
from mercer.solvers.run import Run

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Point(Measurable):
    """Coefficients with the best offset, and how far they are from the optimum.

    With A the coefficients, the residual w (T - P) of their scores gives the feasible dual point
    A' = C w (T - P), and the duality gap of the two is 1/2 ||f_A - f_A'||^2 = 1/2 sum D'K D with
    D = A - A': what vanishes at the optimum, squared, so that nothing cancels.

    Parameters
    ----------
    A, b : arrays of shape (n, columns) and (columns,)
        Coefficients and offsets.
    G : array of shape (n, columns)
        K A.
    D, KD : arrays of shape (n, columns)
        A - A' and its product with K.
    primal : float
        C sum_i w_i loss_i + 1/2 ||f||^2.
    """

    A: Array
    b: Array
    G: Array
    D: Array
    KD: Array
    primal: float

    @classmethod
    def of(
        cls,
        problem: LogisticProblem,
        A: Array,
        G: Array,
        b: Array,
        product: Callable[[Array], Array],
    ) -> Point:
        """Return the point of some coefficients with the best offset, searched for from b."""
        return cls.at(problem, A, G, problem.balanced(G, b), product)

    @classmethod
    def at(
        cls,
        problem: LogisticProblem,
        A: Array,
        G: Array,
        offset: Offset,
        product: Callable[[Array], Array],
    ) -> Point:
        """Return the point of some coefficients and their best offset, by one product with K."""
        D = A - problem.C * offset.residual
        primal = offset.loss + 0.5 * float((A * G).sum())
        return cls(A, offset.b, G, D, product(D), primal)

    def checked(self, gram: Gram) -> Point:
        """Return the point; one by which K is not finite, or not positive, is refused."""
        if not np.isfinite(self.primal):
            raise not_finite()
        forms = (self.D * self.KD).sum(axis=0)
        worst = int(forms.argmin())
        if forms[worst] < 0.0:
            refusal = indefinite_along(gram, self.D[:, worst])
            if refusal is not None:
                raise refusal
        return self

    @property
    def gap(self) -> float:
        return 0.5 * max(float((self.D * self.KD).sum()), 0.0)

    def proved(self, problem: LogisticProblem, diagonal: Array) -> float:
        """Return the largest gap that the point may have, for all that rounding hides.

        The dual point A' is feasible if the offset is the best one. If it is not quite, the one
        that `LogisticProblem.restored` makes of it is taken, and what the dual loses by that.
        Rounding moves the scores K A, in which the loss is curved by C w / 2 at most and sloped by
        C w, and D and its product with K.

        Parameters
        ----------
        problem : LogisticProblem
            The problem.
        diagonal : array of shape (n,)
            That of K.
        """
        roots, costs = np.sqrt(np.abs(diagonal))[:, None], problem.C * problem.weights[:, None]
        correction, entropy = problem.restored(self.G + self.b)
        rounded = UNITS * EPS * column_norms(roots * self.A)
        product = column_norms(self.D * product_rounding(diagonal, self.D))
        squares = np.maximum((self.D * self.KD).sum(axis=0), 0.0) + product
        norms = np.sqrt(squares) + rounded + problem.C * (roots * np.abs(correction)).sum(axis=0)
        hidden = product_rounding(diagonal, self.A)
        scores = costs * np.minimum(0.5 * hidden**2, 2.0 * hidden)
        return float(0.5 * (norms**2).sum() + problem.C * entropy + scores.sum())


class Descent(NewtonRun):
    """One run of Newton's method on the coefficients of the rows.

    Parameters
    ----------
    tol, most, gram, problem
        As of `NewtonRun`.
    name : str
        What it goes by.
    curvature : Curvature
        What Newton systems are solved by.

    References
    ----------
    J. Zhu, T. Hastie (2005), Kernel logistic regression and the import vector machine.
    """

    # Rows below which the threads of the BLAS are not worth it.
    rows_for_threads: ClassVar[int] = 2000

    def __init__(
        self,
        tol: float,
        most: int,
        name: str,
        gram: Gram,
        problem: LogisticProblem,
        curvature: Curvature,
    ) -> None:
        super().__init__(tol, most, gram, problem)
        self._name = name
        self._curvature = curvature
        shape = (len(gram), problem.columns)
        self._A, self._G, self._b = np.zeros(shape), np.zeros(shape), np.zeros(problem.columns)
        # How long a product with K takes, of which the gap takes two.
        self._product_seconds = 0.0
        if problem.start is not None:
            self._A, self._b = problem.start
            self._G = self._exact_product(self._A)

    def _exact_product(self, V: Array) -> Array:
        began = perf_counter()
        product = self._curvature.exact_product(V)
        self._product_seconds = perf_counter() - began
        return product

    def to(self, C: float, run: Run) -> Solution:
        self._run = run
        # Threads of the BLAS wait for each other longer than small products take.
        is_small = len(self._gram) < self.rows_for_threads
        with one_blas_thread() if is_small else nullcontext():
            return self._solved(C)

    def _solved(self, C: float) -> Solution:
        self._steps = self._stage = 0
        stages = [*self._on_the_way(C)]
        kept, begun = self._run.restored(), None
        with self._run.guarded(lambda: bool(self._A.any())):
            if kept is not None:
                begun = self._restored(kept)
            for stage in range(self._stage, len(stages)):
                self._stage = stage
                self._descend(stages[stage], max(self.on_the_way, self._tol), False, begun)
                begun = None
        problem, point = self._problem.at(C), None
        with self._run.guarded(lambda: bool(self._A.any())):
            self._stage = len(stages)
            point = self._descend(problem, self._tol, True, begun)
        if point is not None:
            self._C = C
            with shielded():
                gap = point.proved(problem, self._gram.diagonal())
            relative = point.relative(gap)
        elif self._A.any():
            # There was no time to measure them.
            gap = relative = np.inf
        else:
            raise TimeIsUpError
        F = self._gram.features()
        return Solution(
            self._A,
            self._b,
            np.full(problem.columns, relative),
            np.full(problem.columns, np.sqrt(2.0 * gap)),
            self._tol,
            self._name,
            None if F is None else F.T @ self._A,
            "relative duality gap",
            iterations=self._steps,
            advice=self._advice(relative),
        )

    def _size(self) -> float:
        # The mean over equal rows is that over weights: both take the same steps.
        return float(np.average(np.abs(self._gram.diagonal()), weights=self._problem.weights))

    def _leave(self, point: Point) -> None:
        """Leave what the next step begins from."""
        counts = {"counts": np.array([self._stage, self._steps])}
        here = {name: np.asarray(part) for name, part in vars(point).items()}
        self._run.keep(counts | here | self._curvature.state())

    def _restored(self, kept: State) -> Point:
        """Return the point that an earlier run has left, with all that a step begins from."""
        self._stage, self._steps = kept["counts"].tolist()
        # Before the curvature: where the time is up in there, this is the model.
        self._A, self._G, self._b = kept["A"], kept["G"], kept["b"]
        self._curvature.restore(kept)
        return Point(self._A, self._b, self._G, kept["D"], kept["KD"], float(kept["primal"]))

    def _descend(
        self, problem: LogisticProblem, tol: float, is_last: bool, begun: Point | None = None
    ) -> Point:
        """Return the point after as many steps as the tolerance and the limits ask for."""
        run = self._run
        point = begun or Point.of(problem, self._A, self._G, self._b, self._curvature.product)
        is_measured = False
        while True:
            if point.relative_gap <= tol and not is_measured and is_last:
                point, is_measured = self._measured(problem, point), True
            if point.relative_gap <= tol or self._is_over():
                break
            stepped = None
            with run.guarded(lambda: self._steps > 0):
                stepped = self._stepped(problem, point, tol)
            if run.ended_by and stepped is None:
                break
            if stepped is None:
                # Where float32 is not enough to go on, float64 may be.
                if not self._curvature.sharpen():
                    break
                point, is_measured = self._measured(problem, point), True
                continue
            self._steps += 1
            point, is_measured = stepped, False
            self._A, self._G, self._b = point.A, point.G, point.b
            if not run.report(self._steps, point.relative_gap):
                self._leave(point)
        if is_last and not is_measured:
            point = self._measured(problem, point)
        self._A, self._G, self._b = point.A, point.G, point.b
        return point

    def _measured(self, problem: LogisticProblem, point: Point) -> Point:
        """Return the point with its scores and its gap computed anew, in float64."""
        found = self._run.measured(lambda: self._measured_once(problem, point))
        if found is None:
            raise TimeIsUpError
        return found

    def _measured_once(self, problem: LogisticProblem, point: Point) -> Point:
        G = self._exact_product(point.A)
        return Point.of(problem, point.A, G, point.b, self._exact_product).checked(self._gram)

    def _stepped(self, problem: LogisticProblem, point: Point, tol: float) -> Point | None:
        """Return the point after a Newton step, or None if no step is downhill."""
        root = problem.curvature(point.G + point.b)
        ridge = 1.0 / problem.C
        self._curvature.prepare(root, ridge)
        inner = ProjectedCG(self._curvature, root, ridge, point.KD, problem.fit_intercept)
        # What a residual r of the step leaves is a gap of C^2 / 2 r'R'K R r.
        goal = max(self.share * point.gap, self.margin * tol * abs(point.primal))
        try:
            inner.run(2.0 * ridge**2 * goal, self._time_is_up)
        except NegativeCurvatureError as error:
            self._refuse(error.direction)
        except FloatingPointError:
            if not np.isfinite(point.KD).all():
                raise not_finite() from None
            # K is so large beside the ridge that rounding leaves no step.
            return None
        self._curvature.improve(inner.steps)
        step = root.forward(inner.U) - point.D
        return self._shortened(problem, point, step, inner.KRU - point.KD)

    def _shortened(
        self, problem: LogisticProblem, point: Point, step: Array, K_step: Array
    ) -> Point | None:
        """Return the point as far along a step as lowers the objective enough."""
        slope = float((step * point.KD).sum())
        cross, square = float((step * point.G).sum()), float((step * K_step).sum())
        norm = float((point.A * point.G).sum())
        length = 1.0
        for _ in range(self.halvings):
            G = point.G + length * K_step
            # From where the step began: the best offset of too long a step may be out of reach.
            offset = problem.balanced(G, point.b)
            value = offset.loss + 0.5 * (norm + length * (2.0 * cross + length * square))
            if self._lowers(value, point.primal, length, slope):
                A = point.A + length * step
                return Point.at(problem, A, G, offset, self._curvature.product)
            length *= 0.5
        return None

    def _refuse(self, direction: Array) -> None:
        for c in direction.T:
            if c.any() and (refusal := indefinite_along(self._gram, c)) is not None:
                raise refusal

    def _time_is_up(self) -> bool:
        return super()._time_is_up() or not self._run.has(2.0 * self._product_seconds)
