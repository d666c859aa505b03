"""The chooser: from what a user wrote to a solver."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from mercer.solvers.line.banded import Banded
from mercer.solvers.logistic.solver import LogisticSolver, NewtonCG, NewtonCholesky
from mercer.solvers.lowrank.logistic import NystromNewton
from mercer.solvers.lowrank.margin import NystromDescent
from mercer.solvers.lowrank.ridge import NystromRidge
from mercer.solvers.margin.block_ascent import BlockAscent
from mercer.solvers.margin.coordinates import CoordinateDescent
from mercer.solvers.margin.problem import MarginSolver
from mercer.solvers.margin.smo import SMO
from mercer.solvers.online.logistic import StochasticLogistic
from mercer.solvers.online.ridge import StochasticRidge
from mercer.solvers.ridge.bordered import RidgeSolver
from mercer.solvers.ridge.cholesky import Cholesky
from mercer.solvers.ridge.conjugate import ConjugateGradient
from mercer.solvers.ridge.eigen import Eigen
from mercer.solvers.ridge.primal import Primal

SOLVERS: dict[str, type[RidgeSolver]] = {
    kind.name: kind
    for kind in (
        Banded,
        ConjugateGradient,
        Cholesky,
        Eigen,
        NystromRidge,
        Primal,
        StochasticRidge,
    )
}

LOGISTIC_SOLVERS: dict[str, type[LogisticSolver]] = {
    kind.name: kind for kind in (NewtonCG, NewtonCholesky, NystromNewton, StochasticLogistic)
}

MARGIN_SOLVERS: dict[str, type[MarginSolver]] = {
    kind.name: kind for kind in (SMO, CoordinateDescent, BlockAscent, NystromDescent)
}

Known = TypeVar("Known", bound=RidgeSolver | LogisticSolver | MarginSolver)


def as_solver(
    solver: Any,
    tol: Any = None,
    max_iter: Any = None,
    random_state: Any = None,
) -> RidgeSolver:
    """Return a solver given by name or as an object, with those settings given that it has."""
    return _configured(solver, RidgeSolver, SOLVERS, tol, max_iter, random_state)


def as_margin_solver(
    solver: Any,
    tol: Any = None,
    max_iter: Any = None,
    random_state: Any = None,
) -> MarginSolver:
    """Return a solver of margin problems, as `as_solver` returns one of ridge problems.

    Of the tolerance that is given and that of a solver object the tighter holds: estimators of
    margin problems have one by default, which nobody may have chosen.
    """
    chosen = _configured(solver, MarginSolver, MARGIN_SOLVERS, tol, max_iter, random_state)
    own, taken = getattr(solver, "tol", None), getattr(chosen, "tol", None)
    is_tighter = own is not None and taken is not None and own < taken
    return chosen.configured(own, None, None) if is_tighter else chosen


def as_logistic_solver(
    solver: Any,
    tol: Any = None,
    max_iter: Any = None,
    random_state: Any = None,
) -> LogisticSolver:
    """Return a solver of logistic problems, as `as_solver` returns one of ridge problems."""
    return _configured(solver, LogisticSolver, LOGISTIC_SOLVERS, tol, max_iter, random_state)


def _configured(
    solver: Any,
    kind: type[Any],
    known: Mapping[str, type[Known]],
    tol: Any,
    max_iter: Any,
    random_state: Any,
) -> Known:
    chosen: Known = known[solver]() if isinstance(solver, str) and solver in known else solver
    if not isinstance(chosen, kind):
        names = ", ".join(repr(name) for name in ("auto", *known))
        raise ValueError(f"solver must be one of {names} or a solver object, got {solver!r}")
    return chosen.configured(tol, max_iter, random_state)
