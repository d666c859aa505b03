"""The chooser: from what a user wrote to a solver."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from mercer.solvers.cholesky import Cholesky
from mercer.solvers.eigen import Eigen
from mercer.solvers.primal import Primal

Solver = Cholesky | Eigen | Primal

SOLVERS: dict[str, type[Solver]] = {
    "auto": Cholesky,
    "cholesky": Cholesky,
    "eigen": Eigen,
    "primal": Primal,
}


def as_solver(solver: Any, tol: Any = None) -> Solver:
    """Return a solver given by name or as an object, with the tolerance if one was given."""
    if isinstance(solver, Solver):
        chosen = solver
    elif isinstance(solver, str) and solver in SOLVERS:
        chosen = SOLVERS[solver]()
    else:
        names = ", ".join(repr(name) for name in SOLVERS)
        raise ValueError(f"solver must be one of {names} or a solver object, got {solver!r}")
    if tol is None:
        return chosen
    is_number = isinstance(tol, int | float | np.number) and not isinstance(tol, bool)
    if not is_number or not 0.0 < tol < np.inf:
        raise ValueError(f"tol must be a positive number or None, got {tol!r}")
    return replace(chosen, tol=float(tol))
