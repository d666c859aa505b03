"""The contract of a solver, as a test that users can run on their own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from time import perf_counter, sleep
from typing import Any

import numpy as np
import scipy.optimize
from numpy.typing import NDArray

from mercer.data.limits.deadline import check
from mercer.gram import Gram
from mercer.solvers import LogisticProblem, MarginProblem, RidgeProblem, Run, Solution
from mercer.solvers.contract import Solver

Array = NDArray[np.float64]

# Rounding allowed in a certificate beside what is measured here.
ROUNDING = 1e-9


def check_solver(solver: Solver[Any], gram: Gram, problem: Any) -> None:
    """Check that a solver keeps its contract on a problem of few rows.

    The claims: shapes, an answer as near to the optimum as its certificate says (by a dense
    formula that knows nothing of the solver), a bound on ||f - f*|| that holds, the same bits
    twice, inputs that stay as they are, an end in time, on Ctrl-C and when a callback asks for it,
    and answers that follow the unit of the targets.

    Parameters
    ----------
    solver : Solver
        The solver to check.
    gram : Gram
        K, of at most some hundred rows.
    problem : RidgeProblem, MarginProblem or LogisticProblem
        What it solves.

    Raises
    ------
    AssertionError
        If a claim is violated; the message names the claim.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Gaussian
    >>> from mercer.gram import gram_of
    >>> from mercer.solvers import Cholesky, RidgeProblem
    >>> from mercer.testing import check_solver
    >>> X = np.random.default_rng(0).normal(size=(20, 2))
    >>> problem = RidgeProblem(X[:, :1] ** 2, np.ones(1), np.ones(20), True)
    >>> check_solver(Cholesky(), gram_of(Gaussian(), X), problem)
    """
    case = Case(solver, gram, problem, np.asarray(gram.dense(), np.float64).copy())
    for claim in CLAIMS:
        claim(case)


@dataclass(frozen=True, eq=False)
class Case:
    """A solver, and what it is to solve."""

    solver: Solver[Any]
    gram: Gram
    problem: Any
    K: Array

    @cached_property
    def least(self) -> Array:
        """The optimum."""
        return optimum(self)

    def claim(self, text: str, holds: Any) -> None:
        """Raise an AssertionError that names the claim unless it holds."""
        if not holds:
            raise AssertionError(f"{self.solver!r}: {text}")

    def solved(self, run: Run | None = None, gram: Gram | None = None) -> Solution:
        """Return what the solver makes of the problem."""
        return self.solver.solve(self.gram if gram is None else gram, self.problem, run)

    def objective(self, found: Solution) -> Array:
        """Return what is minimised, of every target."""
        A, b, p = found.coefficients, found.intercept, self.problem
        features = None if self.gram.landmarks is None else self.gram.features()
        if features is not None and found.theta is not None:
            # The weights of landmarks are the answer, and the coefficients a point of the dual.
            F, norms = features @ found.theta + b, (found.theta**2).sum(axis=0)
        else:
            F, norms = self.K @ A + b, (A * (self.K @ A)).sum(axis=0)
        if isinstance(p, RidgeProblem):
            return np.asarray((p.weights[:, None] * (p.y - F) ** 2).sum(axis=0) + p.alpha * norms)
        if isinstance(p, LogisticProblem):
            return np.array([p.loss(F) + 0.5 * norms.sum()])
        r = F[:, 0] - p.z
        below, above = np.maximum(-r - p.epsilon, 0.0), np.maximum(r - p.epsilon, 0.0)
        return np.array([p.upper @ below - p.lower @ above + 0.5 * norms[0]])

    def check_certificate(self, found: Solution, when: str) -> None:
        """Check that the answer is as near to the optimum as it says."""
        least, J = self.least, self.objective(found)
        # A relative residual r leaves (r / 2)^2 times the targets, or less, of the objective to
        # gain by the part of r that alpha does not see; a relative gap g leaves g of it.
        value = found.residual.max()
        if np.isinf(value):
            self.claim(
                f"an unknown residual proves no bound ({when})", np.isinf(found.radius).all()
            )
            return
        share = value if not isinstance(self.problem, RidgeProblem) else (value + value**2) / 4.0
        size = np.abs(J) if not isinstance(self.problem, RidgeProblem) else self.scale()
        missed = (J - least).max() / max(float(np.max(size)), np.finfo(float).tiny)
        self.claim(
            f"the answer is {missed:.2g} from the optimum, and its certificate says {value:.2g} "
            f"({when})",
            missed <= share + ROUNDING or self.is_far(found),
        )

    def is_far(self, found: Solution) -> bool:
        """Whether a ridge's residual says more than its objective: by the norm of f - f*."""
        if not isinstance(self.problem, RidgeProblem):
            return False
        return bool((distance(self, found) <= found.radius * (1.0 + 1e-6) + ROUNDING).all())

    def scale(self) -> Array:
        """Return the sum of the weighted squares of the targets."""
        p = self.problem
        return np.asarray((p.weights[:, None] * p.y**2).sum(axis=0))


def optimum(case: Case) -> Array:
    """Return the least objective: of squares by one linear system, else by many small steps."""
    p, K, n = case.problem, case.K, len(case.K)
    if isinstance(p, RidgeProblem):
        return case.objective(exact_ridge(p, K))
    if isinstance(p, MarginProblem):
        return np.array([dual_of_margin(p, K)])
    columns = p.columns

    def value(v: Array) -> tuple[float, Array]:
        A, b = v[: n * columns].reshape(n, columns), v[n * columns :] * p.fit_intercept
        F = K @ A + b
        slope = -p.C * p.residual(F)
        slopes = (K @ (slope + A), slope.sum(axis=0) * p.fit_intercept)
        J = p.loss(F) + 0.5 * float((A * (K @ A)).sum())
        return J, np.concatenate([s.ravel() for s in slopes])

    start = np.zeros((n + 1) * columns)
    options = {"maxiter": 2000, "maxfun": 4000, "ftol": 1e-15, "gtol": 1e-10}
    found = scipy.optimize.minimize(value, start, jac=True, method="L-BFGS-B", options=options)
    return np.array([found.fun])


def exact_ridge(p: RidgeProblem, K: Array) -> Solution:
    """Return the solution of the bordered system, all of it dense."""
    n, targets = p.y.shape
    A, b = np.empty_like(p.y), np.zeros(targets)
    for j in range(targets):
        system = np.zeros((n + 1, n + 1))
        system[:n, :n] = K + p.alpha[j] * np.diag(1.0 / p.weights)
        system[n, n] = 0.0 if p.fit_intercept else 1.0
        if p.fit_intercept:
            system[:n, n] = system[n, :n] = 1.0
        *a, b[j] = np.linalg.solve(system, np.append(p.y[:, j], 0.0))
        A[:, j] = a
    return Solution(A, b, np.zeros(targets), np.zeros(targets), 0.0, "dense")


def dual_of_margin(p: MarginProblem, K: Array) -> float:
    """Return the optimum of the dual, a lower bound of the primal, by SciPy's programming."""
    n = len(K)
    # a = u - v with u, v >= 0, so that |a| is linear.
    H = np.block([[K, -K], [-K, K]])
    linear = np.concatenate([p.epsilon - p.z, p.epsilon + p.z])
    bounds = [(0.0, float(u)) for u in np.concatenate([p.upper, -p.lower])]
    signs = np.repeat([1.0, -1.0], n)
    constraints = {"type": "eq", "fun": lambda x: signs @ x, "jac": lambda x: signs}
    found = scipy.optimize.minimize(
        lambda x: (0.5 * x @ H @ x + linear @ x, H @ x + linear),
        np.zeros(2 * n),
        jac=True,
        bounds=bounds,
        constraints=constraints if p.fit_intercept else (),
        method="SLSQP",
        options={"maxiter": 1000, "ftol": 1e-12},
    )
    return -float(found.fun)


def distance(case: Case, found: Solution) -> Array:
    """Return ||f - f*|| of every target of a ridge problem."""
    d = found.coefficients - exact_ridge(case.problem, case.K).coefficients
    return np.asarray(np.sqrt(np.maximum((d * (case.K @ d)).sum(axis=0), 0.0)))


def check_answer(case: Case) -> None:
    """Check shapes, the optimum and the bound."""
    found, n = case.solved(), len(case.K)
    targets = found.intercept.shape[0]
    case.claim(
        f"coefficients have the shape ({n}, {targets})", found.coefficients.shape == (n, targets)
    )
    case.claim(
        "there is a residual and a radius for every target",
        found.residual.shape == (targets,) == found.radius.shape,
    )
    case.claim("the time is that of the solve", 0.0 <= found.seconds < 3600.0)
    case.claim("the tolerance is that of the solver", found.tolerance == case.solver.tol)
    case.check_certificate(found, "at the end")
    if isinstance(case.problem, RidgeProblem):
        off = distance(case, found)
        case.claim(
            "||f - f*|| is within the radius", (off <= found.radius * (1 + 1e-6) + ROUNDING).all()
        )


def check_repeats(case: Case) -> None:
    """Check that a second solve gives the same bits and that neither changes what it is given."""
    before = {k: v.copy() for k, v in vars(case.problem).items() if isinstance(v, np.ndarray)}
    first, second = case.solved(), case.solved()
    same = np.array_equal(first.coefficients, second.coefficients)
    case.claim(
        "the same problem has the same bits twice",
        same and np.array_equal(first.intercept, second.intercept),
    )
    kept = all(np.array_equal(vars(case.problem)[k], v, equal_nan=True) for k, v in before.items())
    case.claim("the problem stays as it is", kept)
    case.claim("the Gram matrix stays as it is", np.array_equal(case.gram.dense(), case.K))


def check_time(case: Case) -> None:
    """Check that a solve ends in time, whatever the products take."""
    limit, began = 0.1, perf_counter()
    is_plain = case.gram.features() is None and case.gram.chain() is None
    found = case.solved(Run(limit), SlowGram(case.K) if is_plain else case.gram)
    taken = perf_counter() - began
    case.claim(
        f"a limit of {limit} s is kept to a tenth and a second, not {taken:.2f} s",
        taken <= 1.1 * limit + 1.0,
    )
    case.claim("what there is when time is up is finite", np.isfinite(found.coefficients).all())
    case.check_certificate(found, "when time is up")
    over = case.solved(Run(1.0, began=perf_counter() - 100.0))
    case.check_certificate(over, "without any time")


def check_stops(case: Case) -> None:
    """Check that Ctrl-C in another problem ends an iteration, and so does a callback."""
    if not case.solver.iterates:
        return
    run = Run(stop=np.ones(1, np.uint8))
    try:
        found = case.solved(run)
    except KeyboardInterrupt:
        # There was no model yet.
        found = None
    if found is not None and run.ended_by:
        case.claim("whoever pressed Ctrl-C is told so", found.is_interrupted)
        case.check_certificate(found, "after Ctrl-C")
    told: list[tuple[int, float]] = []

    def ends(iteration: int, value: float) -> bool:
        told.append((iteration, value))
        return True

    run = Run(progress=ends)
    found = case.solved(run)
    if told:
        case.claim("a callback that asks for it ends the iteration", len(told) == 1)
        case.claim("the advice says what ended it", run.reason in found.advice)
        case.check_certificate(found, "after a callback")


def check_units(case: Case) -> None:
    """Check that targets in another unit have the same answer in that unit."""
    p = case.problem
    # A power of two, beyond which squares overflow.
    unit = 2.0**600
    if isinstance(p, RidgeProblem):
        other: Any = replace(p, y=p.y * unit)
    elif isinstance(p, MarginProblem):
        # The bounds are what limits the unit.
        unit = 2.0**100
        other = replace(
            p, z=p.z * unit, lower=p.lower * unit, upper=p.upper * unit, epsilon=p.epsilon * unit
        )
    else:
        return
    first, second = case.solved(), case.solver.solve(case.gram, other)
    size = np.abs(first.coefficients).max()
    off = np.abs(second.coefficients / unit - first.coefficients).max()
    case.claim("targets in another unit have the same answer in it", off <= 1e-3 * size)
    case.claim(
        "the residual has no unit",
        (second.residual <= np.maximum(first.residual, case.solver.tol) * 2.0).all(),
    )


class SlowGram(Gram):
    """A matrix whose rows and products take a while, as those of strings do."""

    def __init__(self, K: Array) -> None:
        self.K = K
        self.memory = 1 << 30

    @property
    def shape(self) -> tuple[int, int]:
        n, m = self.K.shape
        return n, m

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.K.dtype

    def _wait(self) -> None:
        check()
        sleep(0.02)
        check()

    def product(self, V: Array) -> Array:
        self._wait()
        return self.K @ V

    def diagonal(self) -> Array:
        return self.K.diagonal()

    def rows(self, index: Any) -> Array:
        self._wait()
        return np.atleast_2d(self.K[index])


CLAIMS = (check_repeats, check_answer, check_time, check_stops, check_units)
