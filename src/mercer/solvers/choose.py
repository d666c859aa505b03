"""The chooser: from what a user wrote to a solver."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from mercer.gram import ChainGram, Gram
from mercer.solvers.banded import Banded
from mercer.solvers.cholesky import Cholesky

Solver = Banded | Cholesky

SOLVERS: dict[str, type[Solver]] = {"auto": Cholesky, "cholesky": Cholesky, "banded": Banded}


def as_solver(solver: Any, tol: Any = None, gram: Gram | None = None) -> Solver:
    """Return a solver given by name or as an object, with the tolerance if one was given.

    ``"auto"`` is the banded solver where the Gram matrix is a chain.
    """
    chosen: Solver
    if isinstance(solver, Solver):
        chosen = solver
    elif isinstance(solver, str) and solver in SOLVERS:
        is_line = solver == "auto" and isinstance(gram, ChainGram)
        chosen = Banded() if is_line else SOLVERS[solver]()
    else:
        names = ", ".join(repr(name) for name in SOLVERS)
        raise ValueError(f"solver must be one of {names} or a solver object, got {solver!r}")
    if tol is None:
        return chosen
    is_number = isinstance(tol, int | float | np.number) and not isinstance(tol, bool)
    if not is_number or not 0.0 < tol < np.inf:
        raise ValueError(f"tol must be a positive number or None, got {tol!r}")
    return replace(chosen, tol=float(tol))
