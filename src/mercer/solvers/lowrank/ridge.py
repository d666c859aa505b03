"""Ridge regression by landmarks: as many unknowns as there are landmarks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mercer.errors import SingularSystemError
from mercer.gram import Gram
from mercer.native.lapack import one_blas_thread, threads_for
from mercer.solvers.contract import ILL_CONDITIONED, Solution
from mercer.solvers.lowrank.equations import PIVOT, LandmarkEquations, Point
from mercer.solvers.lowrank.normal import Inverse
from mercer.solvers.lowrank.sketched import SketchedInverse
from mercer.solvers.refusals import known_by_landmarks, overflow
from mercer.solvers.ridge.bordered import RidgeProblem, RidgeSolver, relative
from mercer.solvers.rounding import EPS
from mercer.solvers.run import Run

Array = NDArray[np.float64]

MEASURE = "relative residual in the landmark model"


@dataclass(frozen=True)
class NystromRidge(RidgeSolver):
    """Minimise sum_i w_i (y_i - theta'phi_i - b)^2 + alpha ||theta||^2 in features of landmarks.

    With an offset b the features and targets are counted from their weighted means, and then
    (F'WF + alpha I) theta = F'Wy. One pass over the rows gives the m x m system: the features of a
    block in float32 where that leaves enough digits, their products summed in float64, of which
    the symmetric half is computed. Further passes measure the residual in float64 and refine.

    The residual is sqrt((J(theta, b) - min J) / sum_i w_i (y_i - mean)^2) for the objective J of
    the landmark model, as J - min J = g'N^-1 g for the residual g of the normal equations and their
    matrix N; what rounding may hide of F theta is added to it. It says nothing about what the
    landmarks leave of the kernel. The coefficients are those of the kernel of the landmarks,
    a = W (y - F theta - b) / alpha, and with alpha = 0 those of smallest a'W^-1 a with F'a = theta.

    Parameters
    ----------
    tol : float
        Relative residual that is asked for: by default a thousandth of the spread of the targets,
        which adds a millionth of it to the squared error of predictions. Equations that are solved
        directly have far less.
    max_iter : int
        Steps of refinement, or of conjugate gradients.
    is_sketched : bool
        Whether conjugate gradients spare the m x m system of all rows, see `SketchedInverse`: it
        takes passes over the rows in its place, which many landmarks make the cheaper way.

    References
    ----------
    C. Williams and M. Seeger (2001), Using the Nystrom method to speed up kernel machines;
    A. Rudi, R. Camoriano and L. Rosasco (2015), Less is more: Nystrom computational
    regularization.
    """

    iterates: ClassVar[bool] = True
    name: ClassVar[str] = "nystrom"
    # The tolerance from which on sums of entries in float64 are right enough for smaller pivots of
    # the landmarks, whose roots they are divided by, and how small these may be.
    coarse: ClassVar[float] = 1e-4
    coarse_pivot: ClassVar[float] = 1e-10
    # Multiplications from which on features in float32 save a tenth of a second.
    worth: ClassVar[float] = 1e10
    # Rounds of conjugate gradients, of which each gains what entries in float32 allow.
    most_rounds: ClassVar[int] = 4

    tol: float = 1e-3
    max_iter: int = 100
    is_sketched: bool = False

    def _solved(self, gram: Gram, problem: RidgeProblem, run: Run) -> Solution:
        """Return the solution for every target; all weights must be positive."""
        known = known_by_landmarks(gram)
        least = self.coarse_pivot if self.tol >= self.coarse else PIVOT
        with threads_for(known.landmarks.factor):
            equations = LandmarkEquations.of(known, problem, least)
        if self.is_sketched and equations.is_even and problem.alpha.min() > 0.0:
            return self._solution(equations, self._iterated(equations, run), run)
        is_worth = len(problem.y) * known.landmarks.n_features**2 > self.worth
        if is_worth and equations.allow_single():
            found = self._refined(equations, np.float32, run)
            if run.ended_by or (found.residual <= self.tol).all():
                return self._solution(equations, found, run)
        fine = LandmarkEquations.of(known, problem)
        return self._solution(fine, self._refined(fine, np.float64, run), run)

    def _refined(self, equations: LandmarkEquations, dtype: Any, run: Run) -> _Refined:
        """Return the solution of the m x m system, refined by passes in float64."""
        problem = equations.problem
        run.enter(f"pass over {len(problem.y)} rows: equations in {np.dtype(dtype).name}")
        sums = equations.sums(dtype, run)
        inverse = Inverse(sums.G, problem.alpha)
        if not inverse.is_regular:
            raise SingularSystemError(
                f"alpha = {problem.alpha.min():g} leaves the equations of {len(sums.G)} landmarks "
                f"on {len(problem.y)} rows singular to working precision; raise alpha, or take "
                "fewer landmarks"
            )
        # Where the equations are right to rounding so is the answer, for a pass more or two.
        enough = self.tol if dtype == np.float32 else 16 * EPS
        theta = inverse(sums.Fy)
        run.enter(f"pass over {len(problem.y)} rows: certificate")
        first = run.measured(partial(equations.at, theta))
        if first is None:
            mean = sums.mean if equations.centre is None else equations.centre + sums.mean
            return _Refined.unmeasured(equations.unmeasured(theta, mean), inverse, 0)
        best = _Refined.of(first, inverse, problem, 0)
        while best.steps < self.max_iter and not (best.residual <= enough).all():
            if run.report(best.steps + 1, float(best.residual.max())):
                break
            theta = best.point.theta + best.step
            point = run.measured(partial(equations.at, theta))
            if point is None:
                break
            found, last = _Refined.of(point, inverse, problem, best.steps + 1), best.gap
            best = best if (found.gap >= last).all() else found
            if (found.gap > 0.5 * last).all():
                break
        return best

    def _iterated(self, equations: LandmarkEquations, run: Run) -> _Refined:
        """Return the solution by conjugate gradients, measured by passes in float64."""
        problem = equations.problem
        run.enter(f"pass over {len(problem.y)} rows: sketch")
        inverse = SketchedInverse(equations, self.tol * problem.sizes, self.max_iter, run)
        # Threads of the BLAS spin for a while after every call, on cores that the passes want.
        with one_blas_thread():
            best = _Refined.of(equations.start(), inverse, problem, 0)
            for _ in range(self.most_rounds):
                theta = best.point.theta + best.step
                point = run.measured(partial(equations.at, theta))
                if point is None:
                    point = equations.unmeasured(theta, inverse.mean)
                    return _Refined.unmeasured(point, inverse, inverse.steps)
                found, last = _Refined.of(point, inverse, problem, inverse.steps), best.gap
                best = best if (found.gap >= last).all() else found
                is_done = run.ended_by or (best.residual <= self.tol).all()
                if is_done or (best.gap > 0.5 * last).all():
                    break
        return best

    def _solution(self, equations: LandmarkEquations, found: _Refined, run: Run) -> Solution:
        problem, point, alpha = equations.problem, found.point, equations.problem.alpha
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            radius = np.where(alpha > 0.0, found.gap / np.sqrt(alpha), np.inf)
            a = problem.weights[:, None] * point.r / alpha
        if not np.isfinite(a[:, alpha > 0.0]).all():
            raise overflow(float(alpha[alpha > 0.0].min()))
        is_free = np.flatnonzero(alpha == 0.0)
        if len(is_free):
            a[:, is_free] = equations.least_dual(found.inverse(point.theta)[:, is_free])
        return Solution(
            a,
            point.b,
            found.residual,
            radius,
            self.tol,
            "nystrom",
            point.theta,
            MEASURE,
            iterations=found.steps,
            advice=run.advice(f"{found.steps} steps of refinement", ILL_CONDITIONED),
        )


class _Refined(NamedTuple):
    """A point and the inverse by which it is refined.

    Beside them the step from it to the minimum, sqrt(J - min J), the same relative to the targets,
    and how many steps led to it.
    """

    point: Point
    inverse: Inverse | SketchedInverse
    step: Array
    gap: Array
    residual: Array
    steps: int

    @classmethod
    def unmeasured(cls, point: Point, inverse: Inverse | SketchedInverse, steps: int) -> _Refined:
        return cls(point, inverse, point.g, point.hidden, point.hidden, steps)

    @classmethod
    def of(
        cls,
        point: Point,
        inverse: Inverse | SketchedInverse,
        problem: RidgeProblem,
        steps: int,
    ) -> _Refined:
        with np.errstate(over="ignore", invalid="ignore"):
            step = inverse(point.g)
            gap = np.sqrt(np.maximum((point.g * step).sum(axis=0), 0.0)) + point.hidden
        if not np.isfinite(gap).all():
            raise overflow(float(problem.alpha.min()))
        return cls(point, inverse, step, gap, relative(gap, problem.sizes), steps)
