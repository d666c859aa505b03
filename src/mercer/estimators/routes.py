"""From a problem to what solves it: the solver, the Gram matrix in its form, the way back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from mercer.data.columns import n_rows
from mercer.data.memory import memory_limit
from mercer.errors import IndefiniteKernelError
from mercer.estimators.plan import chosen, few_features, needs_factor
from mercer.estimators.refusals import refuse_indefinite_kernel, with_points
from mercer.estimators.validation import checked_seed
from mercer.gram import (
    CentredGram,
    FeatureGram,
    Gram,
    Interpolant,
    Repair,
    centred,
    features_of,
    gram_of,
    kept_gram_of,
    open_features_of,
    sparse_entries,
    unheld_gram_of,
)
from mercer.gram.features import ENTRY_BYTES
from mercer.kernels import Kernel
from mercer.solvers import (
    ChainSolution,
    Cholesky,
    CoordinateDescent,
    LogisticProblem,
    Newton,
    NewtonCG,
    Primal,
    RidgeProblem,
    Solution,
    as_logistic_solver,
    as_margin_solver,
    as_solver,
)
from mercer.solvers.choose import MarginSolver, Solver
from mercer.solvers.refusals import indefinite_along, singular

# Rows times columns of scores up to which factors take no longer than to set up an iteration, and
# up to which they are taken for several classes where C w k(x, x) is so large that the
# preconditioner, which treats classes one by one, is poor.
FEW_SCORES, MANY_SCORES = 500, 10_000
STIFF = 1e4
# Entries of sparse features for every entry of K beyond which these are sooner had.
MOST_READ = 0.25
# Rows up to which pairs of coefficients are solved for as soon as features are had.
FEW = 1024
# Squares of features for every row up to which margin problems are sooner solved in these.
NARROW = 2


def route(estimator: Any, kernel: Kernel, rows: Any, problem: RidgeProblem) -> tuple[Solver, Gram]:
    """Return the solver that an estimator names or the planner takes, and its Gram matrix."""
    gram = unheld_gram_of(kernel, rows, estimator.memory)
    solver = as_solver(
        named(estimator, kernel, rows, gram, problem),
        estimator.tol,
        estimator.max_iter,
        estimator.time_limit,
        checked_seed(estimator.random_state),
    )
    if gram.is_conditional and isinstance(solver, Cholesky) and solver.precision == "auto":
        # The diagonal, which tells whether float32 is faster, takes all entries to be centred.
        solver = replace(solver, precision="double")
    if solver.iterates and needs_factor(gram, problem, estimator.repair):
        raise ValueError(
            f"solver={estimator.solver!r} needs a positive semi-definite kernel, and {kernel!r} is "
            "so on coefficients of sum zero only; use fit_intercept=True, or solver='cholesky'"
        )
    gram = gram_for(solver, kernel, rows, gram)
    # Without an offset, too, a conditional kernel is solved with, and there is a warning.
    if estimator.repair is None and not gram.is_conditional:
        refuse_indefinite_kernel(kernel, rows, gram)
    return solver, gram


def named(estimator: Any, kernel: Kernel, rows: Any, gram: Gram, problem: RidgeProblem) -> Any:
    """Return the solver of an estimator by name or object, ``"auto"`` replaced by a choice."""
    if not (isinstance(estimator.solver, str) and estimator.solver == "auto"):
        return estimator.solver
    # A repair works on the eigenvalues of the whole matrix.
    if estimator.repair is not None:
        return "cholesky"
    return chosen(kernel, rows, gram, problem)


def gram_for(solver: Solver, kernel: Kernel, rows: Any, gram: Gram) -> Gram:
    """Return the Gram matrix in the form that a solver takes."""
    sparse = open_features_of(kernel, rows, gram.memory) if solver.iterates else None
    if sparse is not None:
        return sparse
    if isinstance(solver, Primal):
        return _features(kernel, rows, gram.memory, "solver='cholesky' or solver='eigen'")
    return _read_again(kernel, rows, gram) if solver.iterates else _looked_at(kernel, rows, gram)


def _features(kernel: Kernel, rows: Any, memory: Any, others: str) -> FeatureGram:
    """Return the Gram matrix by features, or name the solvers that need none."""
    features = features_of(kernel, rows, memory)
    if features is None:
        raise ValueError(
            f"solver='primal' needs a kernel with finitely many features, and {kernel!r} is not "
            f"known to have them; use {others}"
        )
    return features


def logistic_route(
    estimator: Any, kernel: Kernel, rows: Any, problem: LogisticProblem
) -> tuple[Newton, Gram]:
    """Return the solver of a logistic problem that an estimator names, and its Gram matrix."""
    gram = unheld_gram_of(kernel, rows, estimator.memory)
    solver = logistic_solver(estimator, gram, problem)
    if not isinstance(solver, NewtonCG):
        gram = _looked_at(kernel, rows, gram)
    elif few_features(kernel, rows, len(gram), gram.memory) is not None:
        gram = FeatureGram(kernel, rows, gram.memory)
    else:
        gram = _read_again(kernel, rows, gram)
    return solver, definite(estimator, kernel, rows, gram)


def logistic_solver(estimator: Any, gram: Gram, problem: LogisticProblem) -> Newton:
    """Return the solver of a logistic problem that an estimator names, or the one to take."""
    name: Any = estimator.solver
    if isinstance(name, str) and name == "auto":
        # A repair works on the eigenvalues of the whole matrix.
        is_factor = wants_factor(gram, problem) or estimator.repair is not None
        # The same pivots every time, as a factor gives the same answer every time.
        name = "newton" if is_factor else NewtonCG(random_state=0)
    return as_logistic_solver(
        name,
        estimator.tol,
        estimator.max_iter,
        estimator.time_limit,
        checked_seed(estimator.random_state),
    )


def wants_factor(gram: Gram, problem: LogisticProblem) -> bool:
    """Whether Cholesky factors serve a logistic problem better than conjugate gradients."""
    scores = len(gram) * problem.columns
    if scores <= FEW_SCORES:
        return True
    stiffness = problem.C * float((problem.weights * np.abs(gram.diagonal())).max())
    fits = 8 * (problem.columns + 2) * len(gram) ** 2 <= gram.memory
    return problem.columns > 1 and stiffness > STIFF and scores <= MANY_SCORES and fits


def margin_route(estimator: Any, kernel: Kernel, rows: Any) -> tuple[MarginSolver, Gram]:
    """Return the solver of a margin problem that an estimator names, and its Gram matrix."""
    solver = margin_solver(estimator, kernel, rows)
    if isinstance(solver, CoordinateDescent):
        return solver, _features(kernel, rows, estimator.memory, "solver='smo'").in_use()
    return solver, _margin_gram(estimator, kernel, rows)


def margin_solver(estimator: Any, kernel: Kernel, rows: Any) -> MarginSolver:
    """Return the solver of a margin problem that an estimator names, or the one to take."""
    name: Any = estimator.solver
    if isinstance(name, str) and name == "auto":
        name = "primal" if wants_features(estimator, kernel, rows) else "smo"
    return as_margin_solver(
        name,
        estimator.tol,
        estimator.max_iter,
        estimator.time_limit,
        checked_seed(estimator.random_state),
    )


def wants_features(estimator: Any, kernel: Kernel, rows: Any) -> bool:
    """Whether there are many rows of sparse features or of few, sooner read than compared."""
    n = n_rows(rows)
    # A limit counts working sets.
    if n <= FEW or estimator.max_iter is not None:
        return False
    limit = memory_limit(estimator.memory)
    entries = sparse_entries(kernel, rows, limit)
    if entries is not None:
        return entries <= min(MOST_READ * n**2, limit / ENTRY_BYTES)
    return kernel.n_features(rows, int(min((NARROW * n) ** 0.5, limit / (16 * n)))) is not None


def _margin_gram(estimator: Any, kernel: Kernel, rows: Any) -> Gram:
    """Return the Gram matrix of the training rows; entries that take long are held."""
    return definite(estimator, kernel, rows, kept_gram_of(kernel, rows, estimator.memory))


def definite(estimator: Any, kernel: Kernel, rows: Any, gram: Gram) -> Gram:
    """Return a positive semi-definite Gram matrix to solve with, or refuse an indefinite one.

    One that is known to be so on coefficients of sum zero is centred where there is an offset. A
    repair is still to come.
    """
    if estimator.repair is not None:
        return gram
    if estimator.fit_intercept and gram.is_conditional:
        return centred(gram)
    refuse_indefinite_kernel(kernel, rows, gram)
    return gram


def _looked_at(kernel: Kernel, rows: Any, gram: Gram) -> Gram:
    """Return the Gram matrix for a solver that reads it once, after the look for a witness."""
    return gram if gram.is_proved else _read_again(kernel, rows, gram)


def _read_again(kernel: Kernel, rows: Any, gram: Gram) -> Gram:
    """Return the Gram matrix with entries that take long held, in half of the memory."""
    # The other half is for the preconditioner, or the factor.
    return gram if kernel.is_quick else gram_of(kernel, rows, gram.memory, share=0.5)


def interpolant_of(gram: Gram, solution: Solution) -> Interpolant | None:
    """Return f by its values at the knots of a line, which is quicker than the sum over rows."""
    chain = gram.chain()
    if chain is None or not isinstance(solution, ChainSolution):
        return None
    return chain.interpolant(solution.values, solution.level)


def refusal_of(
    error: IndefiniteKernelError, kernel: Kernel, rows: Any, gram: Gram, problem: RidgeProblem
) -> ValueError:
    """Return a solver's refusal of a Gram matrix, centred or not, in terms of the kernel."""
    if not isinstance(gram, CentredGram):
        return with_points(error, kernel, rows)
    c = error.witness.coefficients
    found = indefinite_along(gram.gram, c - c.mean())
    if found is not None:
        return with_points(found, kernel, rows)
    return singular(float(problem.alpha.min()), len(gram), float(gram.diagonal().max()))


def uncentred(solution: Solution, gram: Gram, index: Any = slice(None)) -> Solution:
    """Return a solution with a Gram matrix, centred or not, in terms of the kernel as it is.

    `index` says which of its rows the solution is for.
    """
    if not isinstance(gram, CentredGram):
        return solution
    return replace(solution, intercept=solution.intercept - gram.m[index] @ solution.coefficients)


def carried(solution: Solution, repair: Repair) -> Solution:
    """Return a solution with the repaired Gram matrix in terms of the kernel as it is."""
    if not repair.is_changed:
        return solution
    # The norm that f is bounded in belongs to the repaired kernel, unknown at new rows.
    radius = np.full_like(solution.radius, np.inf)
    return replace(solution, coefficients=repair.coefficients(solution.coefficients), radius=radius)
