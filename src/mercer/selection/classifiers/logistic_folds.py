"""The fits of logistic regression to some rows, and what they say of others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.gram import DenseGram, Gram
from mercer.planning import wants_factor
from mercer.solvers import (
    LogisticProblem,
    LogisticSolver,
    NewtonCG,
    NewtonCholesky,
    NystromNewton,
    Run,
    Solution,
)

Array = NDArray[np.float64]
Rows = NDArray[np.intp]


def fold_of(
    K: Gram, train: Rows, test: Rows
) -> tuple[Gram, Callable[[LogisticProblem, Solution], Array]]:
    """Return the matrix of some rows, and what scores others by a solution on these."""
    if K.landmarks is not None:
        others: Any = K.part(test)
        return K.part(train), lambda _, s: others.features() @ s.theta + s.intercept
    whole = K.dense()
    across = whole[np.ix_(test, train)]
    part = DenseGram(whole[np.ix_(train, train)], K.memory)
    return part, lambda _, s: across @ s.coefficients + s.intercept


def fits(
    gram: Gram, problem: LogisticProblem, Cs: Array, gap: float, seed: int, run: Run
) -> Iterator[tuple[LogisticProblem, Solution]]:
    """Yield the problem of every C and its solution to a gap, started from the one before."""
    solver = solver_of(gram, problem.at(float(Cs.min())), gap, seed)
    for C, solution in zip(Cs, solver.path(gram, problem, Cs.tolist(), run), strict=True):
        if solution.is_interrupted:
            # A model is there once all have been compared.
            raise KeyboardInterrupt
        yield problem.at(float(C)), solution


def solver_of(gram: Gram, problem: LogisticProblem, gap: float, seed: int) -> LogisticSolver:
    """Return what solves the problem of the least C, and of those after it, to a gap."""
    if gram.landmarks is not None:
        return NystromNewton(gap, random_state=seed)
    # Early stopping ends before Cs for which a factor would pay.
    is_exact = wants_factor(gram, problem)
    return NewtonCholesky(gap) if is_exact else NewtonCG(gap, random_state=seed)


def is_unfinished(solution: Solution) -> bool:
    """Whether a solver ended above its tolerance."""
    return bool((solution.residual > solution.tolerance).any())


def trained_on(problem: LogisticProblem, rows: Rows) -> LogisticProblem:
    """Return the problem of some rows, which must have all classes."""
    some = replace(problem, codes=problem.codes[rows], weights=problem.weights[rows])
    if len(np.unique(some.codes)) < problem.classes:
        raise ValueError(
            f"cv has a fold whose training rows lack one of the {problem.classes} classes; use "
            "stratified folds or fewer of them"
        )
    return some
