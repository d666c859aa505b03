"""Solvers of ours and of users keep the contract, and a breach is told."""

from dataclasses import dataclass, replace
from time import sleep
from typing import ClassVar

import numpy as np
import pytest

from mercer.gram import LowRankGram, chain_of, gram_of, landmark_gram
from mercer.kernels import Exponential, Gaussian
from mercer.solvers import (
    SMO,
    Banded,
    BlockAscent,
    Cholesky,
    ConjugateGradient,
    CoordinateDescent,
    Eigen,
    LogisticProblem,
    MarginProblem,
    NewtonCG,
    NewtonCholesky,
    NystromRidge,
    Primal,
    RidgeProblem,
    RidgeSolver,
    Solution,
    StochasticLogistic,
    StochasticRidge,
)
from mercer.solvers.logistic.solver import Newton, NewtonOnRows
from mercer.testing import check_solver
from mercer.testing.solvers import SlowGram, exact_ridge

N = 24
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 2))
GRAM = gram_of(Gaussian(1.0), X)
FEATURES = LowRankGram(np.column_stack([X, X**2, np.ones(N)]))
LINE = chain_of(Exponential(), X[:, :1])
LANDMARKS = landmark_gram(Gaussian(1.0), X, 8)
WEIGHTS = RNG.uniform(0.5, 2.0, N)
SIGNS = np.where(X[:, 0] > 0.3 * X[:, 1], 1.0, -1.0)

RIDGE = RidgeProblem(
    np.column_stack([np.sin(X[:, 0]), X[:, 1] + 3.0]), np.array([0.3, 1.0]), WEIGHTS, True
)
MARGIN = MarginProblem.classification(SIGNS, 2.0 * WEIGHTS, True)
TUBE = MarginProblem.regression(np.sin(X[:, 0]), WEIGHTS, 0.05, True)
TWO = LogisticProblem((SIGNS > 0).astype(np.intp), 2, 3.0, WEIGHTS, True)
THREE = LogisticProblem(np.digitize(X[:, 0], [-0.5, 0.5]), 3, 2.0, WEIGHTS, True)

CASES = [
    (Cholesky(), GRAM, RIDGE),
    (Cholesky(precision="single"), GRAM, RIDGE),
    (ConjugateGradient(random_state=0), GRAM, RIDGE),
    (ConjugateGradient(tol=1e-2, random_state=0), GRAM, replace(RIDGE, fit_intercept=False)),
    (Eigen(), GRAM, RIDGE),
    (StochasticRidge(), GRAM, RIDGE),
    (StochasticRidge(batch=7), GRAM, RIDGE),
    (StochasticRidge(tol=1e-2, batch=7), GRAM, replace(RIDGE, fit_intercept=False)),
    (StochasticLogistic(), GRAM, TWO),
    (StochasticLogistic(batch=7), GRAM, TWO),
    (StochasticLogistic(batch=7), GRAM, THREE),
    (StochasticLogistic(tol=1e-2, batch=7), GRAM, replace(THREE, fit_intercept=False)),
    (Primal(), FEATURES, RIDGE),
    (Banded(), LINE, RIDGE),
    (NystromRidge(), LANDMARKS, RIDGE),
    (NystromRidge(), LANDMARKS, replace(RIDGE, fit_intercept=False)),
    (SMO(), GRAM, MARGIN),
    (SMO(), GRAM, TUBE),
    (SMO(), GRAM, replace(MARGIN, fit_intercept=False)),
    (CoordinateDescent(), FEATURES, MARGIN),
    (BlockAscent(random_state=0), GRAM, MARGIN),
    (NewtonCholesky(), GRAM, TWO),
    (NewtonCG(random_state=0), GRAM, TWO),
    (NewtonCholesky(), GRAM, THREE),
    (NewtonCG(random_state=0), GRAM, replace(THREE, fit_intercept=False)),
]


@pytest.mark.parametrize(("solver", "gram", "problem"), CASES, ids=lambda c: type(c).__name__)
def test_ours_keep_it(solver, gram, problem):
    check_solver(solver, gram, problem)


@dataclass(frozen=True)
class Plain(RidgeSolver):
    """What a user may write: the dense system and nothing else."""

    iterates: ClassVar[bool] = False
    tol: float = 1e-6

    def _solved(self, gram, problem, run):
        found = exact_ridge(problem, gram.dense())
        return replace(
            found,
            tolerance=self.tol,
            radius=np.full(len(found.radius), 1e-9),
            residual=found.residual + 1e-12,
        )


def test_that_of_a_user_keeps_it_and_fits():
    from mercer import KernelRidge

    check_solver(Plain(), GRAM, RIDGE)
    model = KernelRidge(Gaussian(1.0), 0.3, solver=Plain()).fit(X, np.sin(X[:, 0]))
    plain = KernelRidge(Gaussian(1.0), 0.3).fit(X, np.sin(X[:, 0]))
    np.testing.assert_allclose(model.predict(X), plain.predict(X), atol=1e-9)


@dataclass(frozen=True)
class Boasting(Plain):
    def _solved(self, gram, problem, run):
        found = super()._solved(gram, problem, run)
        return replace(found, coefficients=0.9 * found.coefficients)


@dataclass(frozen=True)
class Greedy(Plain):
    def _solved(self, gram, problem, run):
        found = super()._solved(gram, problem, run)
        problem.y[0] += 1.0
        return found


class Fickle(Plain):
    count: ClassVar[list[int]] = [0]

    def _solved(self, gram, problem, run):
        self.count[0] += 1
        found = super()._solved(gram, problem, run)
        return replace(found, coefficients=found.coefficients * (1.0 + 1e-15 * self.count[0]))


@dataclass(frozen=True)
class Deaf(Plain):
    """It hears no clock."""

    def _solved(self, gram, problem, run):
        if isinstance(gram, SlowGram):
            sleep(1.3)
        return super()._solved(gram, problem, run)


@pytest.mark.parametrize(
    ("solver", "claim"),
    [
        (Boasting(), "from the optimum, and its certificate says|within the radius"),
        (Greedy(), "stays as it is|same bits"),
        (Fickle(), "the same bits twice"),
        (Deaf(), "is kept to a tenth and a second"),
    ],
    ids=lambda c: type(c).__name__,
)
def test_a_breach_is_told(solver, claim):
    with pytest.raises(AssertionError, match=claim):
        check_solver(solver, GRAM, replace(RIDGE, y=RIDGE.y.copy()))


def test_a_solution_of_the_wrong_shape_is_told():
    class Flat(Plain):
        def _solved(self, gram, problem, run):
            n = len(gram)
            return Solution(np.zeros((n, 1)), np.zeros(2), np.ones(2), np.ones(2), self.tol, "flat")

    with pytest.raises(AssertionError, match="coefficients have the shape"):
        check_solver(Flat(), GRAM, RIDGE)


@pytest.mark.parametrize("kind", [RidgeSolver, Newton, NewtonOnRows])
def test_a_solver_without_what_it_solves_by_cannot_be_made(kind):
    with pytest.raises(TypeError, match="abstract"):
        type("Unfinished", (kind,), {})()
