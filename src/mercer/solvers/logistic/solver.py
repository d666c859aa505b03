"""Newton's method for kernel logistic regression, by factors or by conjugate gradients."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

from mercer.gram import DenseGram, Gram
from mercer.solvers.contract import Solution, Solver
from mercer.solvers.logistic.curvature import (
    Curvature,
    FactoredCurvature,
    LowRankCurvature,
    SingleCopy,
    single_serves,
)
from mercer.solvers.logistic.descent import NewtonRun
from mercer.solvers.logistic.likelihood import LogisticProblem
from mercer.solvers.logistic.newton import Descent
from mercer.solvers.refusals import check_scores
from mercer.solvers.run import Run


class LogisticSolver(Solver[LogisticProblem]):
    """What solves logistic problems; all weights must be positive."""

    name: ClassVar[str]

    def path(
        self,
        gram: Gram,
        problem: LogisticProblem,
        Cs: Sequence[float],
        run: Run | None = None,
    ) -> Iterator[Solution]:
        """Yield the solution for every C in turn, each started from the one before.

        Each has an equal share of the time that is left when its turn comes.
        """
        run = Run() if run is None else run
        for i, C in enumerate(Cs):
            part = run.share(1.0 / (len(Cs) - i))
            found = self.solve(gram, problem.at(C), part)
            run.ended_by = part.ended_by
            problem = replace(problem, start=(found.coefficients, found.intercept))
            yield found


@dataclass(frozen=True)
class Newton(LogisticSolver):
    """Minimise C sum_i w_i loss_i + 1/2 ||f||^2 by damped Newton steps.

    A C that is large beside 1 / k(x, x) is approached from smaller ones.

    Parameters
    ----------
    tol : float
        Relative duality gap to reach.
    max_iter : int, optional
        Newton steps allowed, 100 by default.
    """

    iterates: ClassVar[bool] = True
    steps_allowed: ClassVar[int] = 100
    # Rows up to which K is held in float64 beside its copy in float32, and so computed once.
    few_rows: ClassVar[int] = 2000

    tol: float = 1e-5
    max_iter: int | None = None

    def _solved(self, gram: Gram, problem: LogisticProblem, run: Run) -> Solution:
        """Return the solution, whose residual is the relative duality gap measured in float64."""
        return self._descent(gram, problem).to(problem.C, run)

    def path(
        self,
        gram: Gram,
        problem: LogisticProblem,
        Cs: Sequence[float],
        run: Run | None = None,
    ) -> Iterator[Solution]:
        run, descent = Run() if run is None else run, None
        counted, _ = problem.in_units()
        unit = counted.C / problem.C

        def solved(C: float, part: Run) -> Solution:
            nonlocal descent
            descent = descent or self._descent(gram, counted.at(unit * max(Cs)))
            return descent.to(unit * C, part)

        for i, C in enumerate(Cs):
            part = run.share(1.0 / (len(Cs) - i))
            with run.limited():
                found = self._within(part, problem.at(C), partial(solved, C, part))
            run.ended_by = part.ended_by
            yield found

    @property
    def _steps(self) -> int:
        """Newton steps allowed."""
        return self.steps_allowed if self.max_iter is None else self.max_iter

    @abstractmethod
    def _descent(self, gram: Gram, problem: LogisticProblem) -> NewtonRun:
        """Return the run through problems that differ in C, which starts from nothing."""


@dataclass(frozen=True)
class NewtonOnRows(Newton):
    """Newton's method on the coefficients of the rows, one for every row and column of scores.

    With R R' the curvature of the losses and lam = 1 / C a step solves
    (R'K R + lam I) U + R'1 c = R'K D, 1'R U = 0 and moves to A' + R U (see `Point`), or as far
    towards it as lowers the objective enough. Nothing is divided by a curvature, so that rows
    whose probability is zero or one to working precision do no harm.

    References
    ----------
    J. Zhu and T. Hastie (2005), Kernel logistic regression and the import vector machine;
    S. Keerthi, K. Duan, S. Shevade and A. Poo (2005), A fast dual algorithm for kernel logistic
    regression.
    """

    def _descent(self, gram: Gram, problem: LogisticProblem) -> Descent:
        check_scores(gram.diagonal(), problem.largest)
        curvature = self._curvature(gram, problem)
        return Descent(self.tol, self._steps, self.name, gram, problem, curvature)

    @abstractmethod
    def _curvature(self, gram: Gram, problem: LogisticProblem) -> Curvature:
        """Return what the Newton systems are solved by."""


@dataclass(frozen=True)
class NewtonCholesky(NewtonOnRows):
    """Newton's method with a Cholesky factor of K + lam W^-1 in every step.

    It takes n^3 / 3 multiplications and an n x n array for every column of scores.
    """

    name: ClassVar[str] = "newton"

    def _curvature(self, gram: Gram, problem: LogisticProblem) -> Curvature:
        return FactoredCurvature(gram, problem.columns)


@dataclass(frozen=True)
class NewtonCG(NewtonOnRows):
    """Newton's method with conjugate gradients in every step, by products with K alone.

    The preconditioner is randomly pivoted Cholesky, one copy of K for all steps. Where it fits
    into the memory, and where rounding lets it, steps read K in float32; the gap that ends the
    iteration is measured in float64, for which K is held as well if the rows are few.

    Parameters
    ----------
    rank : int, optional
        Rank of the preconditioner; by default it grows where steps are many and classes two.
    random_state : None, int or numpy.random.Generator
        Where the random pivots come from.
    """

    name: ClassVar[str] = "cg"

    rank: int | None = None
    random_state: Any = 0

    def _curvature(self, gram: Gram, problem: LogisticProblem) -> Curvature:
        copy = None
        n = len(gram)
        # Products with explicit features or along a chain are cheaper than reading a matrix.
        if not gram.is_structured:
            room = gram.memory - gram.held_bytes
            stiffest = 0.25 * problem.C * float(problem.weights.max())
            serves = single_serves(gram, stiffest)
            is_wanted = gram.held_bytes == 0 and (n <= Newton.few_rows or not serves)
            if is_wanted and (14 if serves else 10) * n**2 <= room:
                gram = DenseGram.of(gram)
            if serves and 6 * n**2 <= gram.memory - gram.held_bytes:
                copy = SingleCopy(gram)
        return LowRankCurvature(gram, copy, self.rank, self.random_state)
