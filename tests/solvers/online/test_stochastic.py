"""Ridge and logistic problems by small random batches, against the exact solvers."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.errors import IndefiniteKernelError
from mercer.gram import DenseGram, gram_of, unheld_gram_of
from mercer.kernels import Gaussian
from mercer.solvers import (
    Cholesky,
    LogisticProblem,
    NewtonCholesky,
    RidgeProblem,
    Run,
    StochasticLogistic,
    StochasticRidge,
)

N = 150


@pytest.fixture
def gram(points):
    return gram_of(Gaussian(1.0), points(N))


def ridge_problem(rng, fit_intercept=True, alpha=(0.3, 1.0)):
    y = rng.normal(size=(N, len(alpha))) + 5.0
    return RidgeProblem(y, np.array(alpha), rng.uniform(0.2, 2.0, N), fit_intercept)


def logistic_problem(rng, classes, fit_intercept=True, C=2.0):
    codes = rng.integers(classes, size=N)
    return LogisticProblem(codes, classes, C, rng.uniform(0.2, 2.0, N), fit_intercept)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("batch", [None, 20])
def test_ridge_is_that_of_the_exact_factor(gram, rng, fit_intercept, batch):
    problem = ridge_problem(rng, fit_intercept)
    found = StochasticRidge(1e-9, 300, batch).solve(gram, problem)
    exact = Cholesky().solve(gram, problem)
    assert (found.residual <= 1e-9).all()
    assert_allclose(found.coefficients, exact.coefficients, atol=1e-6)
    assert_allclose(found.intercept, exact.intercept, atol=1e-6)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("batch", [None, 20])
def test_likelihoods_are_those_of_newton_s_method(gram, rng, classes, fit_intercept, batch):
    problem = logistic_problem(rng, classes, fit_intercept)
    found = StochasticLogistic(1e-10, 300, batch).solve(gram, problem)
    exact = NewtonCholesky(1e-12).solve(gram, problem)
    assert found.residual.max() <= 1e-10
    assert_allclose(found.coefficients, exact.coefficients, atol=1e-4)
    assert_allclose(found.intercept, exact.intercept, atol=1e-4)


def test_one_batch_of_all_rows_needs_one_epoch(gram, rng):
    assert StochasticRidge().solve(gram, ridge_problem(rng)).iterations == 1
    assert StochasticLogistic().solve(gram, logistic_problem(rng, 2)).iterations == 1


def test_a_larger_penalty_takes_fewer_epochs(gram, rng):
    epochs = [
        StochasticRidge(batch=20, max_iter=500).solve(gram, ridge_problem(rng, alpha=(a,)))
        for a in (0.03, 0.3, 3.0)
    ]
    assert sorted(e.iterations for e in epochs) == [e.iterations for e in epochs][::-1]


def test_rounding_of_rows_in_float32_does_not_limit_the_answer(points, rng):
    # Entries in float32 are right to 1e-7; the residual falls beneath that.
    gram = unheld_gram_of(Gaussian(1.0), points(N))
    assert gram.single().dtype == np.float32
    found = StochasticRidge(1e-10, 300, 40).solve(gram, ridge_problem(rng))
    assert (found.residual <= 1e-10).all()


@pytest.mark.parametrize(
    ("solver", "make"),
    [
        (StochasticRidge(1e-9, 2, 20), ridge_problem),
        (StochasticLogistic(1e-12, 2, 20), lambda rng: logistic_problem(rng, 2)),
    ],
    ids=["ridge", "logistic"],
)
def test_too_few_epochs_are_told_with_what_to_do(gram, rng, solver, make):
    found = solver.solve(gram, make(rng))
    assert found.iterations == 2
    assert solver.tol < found.residual.max() < 1.0
    for word in ("2 epochs", "solver='cg'", "raise max_iter (now 2)"):
        assert word in found.advice


def test_the_seed_decides_the_bits(gram, rng):
    problem = ridge_problem(rng)
    first, second = (StochasticRidge(batch=20, random_state=s).solve(gram, problem) for s in (0, 1))
    assert not np.array_equal(first.coefficients, second.coefficients)
    assert_allclose(first.coefficients, second.coefficients, atol=1e-3)


def test_progress_is_told_after_every_epoch(gram, rng):
    told = []
    run = Run(progress=lambda epoch, value: told.append((epoch, value)) and None)
    found = StochasticRidge(batch=20).solve(gram, ridge_problem(rng), run)
    assert [epoch for epoch, _ in told] == list(range(1, found.iterations + 1))
    assert told[-1][1] < told[0][1]


def test_a_solution_to_start_from_saves_epochs(gram, rng):
    problem = logistic_problem(rng, 3)
    solver = StochasticLogistic(batch=20)
    cold = solver.solve(gram, problem)
    warm = solver.solve(gram, replace(problem, start=(cold.coefficients, cold.intercept)))
    assert warm.iterations < cold.iterations
    assert warm.residual.max() <= solver.tol


def test_a_path_over_C_is_that_of_newton_s_method(gram, rng):
    problem, Cs = logistic_problem(rng, 2), [0.1, 1.0, 10.0]
    path = StochasticLogistic(1e-9, batch=40, max_iter=300).path(gram, problem, Cs)
    exact = NewtonCholesky(1e-12).path(gram, problem, Cs)
    for ours, theirs in zip(path, exact, strict=True):
        assert_allclose(ours.coefficients, theirs.coefficients, atol=1e-3)


@pytest.mark.parametrize("solver", [StochasticRidge(batch=20), StochasticLogistic(batch=20)])
def test_an_indefinite_matrix_is_refused_with_a_witness_of_all_rows(rng, solver):
    K = rng.normal(size=(N, N))
    gram = DenseGram(K + K.T, 1 << 30)
    is_ridge = isinstance(solver, StochasticRidge)
    problem = ridge_problem(rng, False) if is_ridge else logistic_problem(rng, 2, False)
    with pytest.raises(IndefiniteKernelError) as refusal:
        solver.solve(gram, problem)
    c = refusal.value.witness.coefficients
    assert c @ (gram @ c) < 0.0


def test_no_ridge_is_solved_where_the_matrix_is_invertible(rng):
    gram = DenseGram(np.diag(rng.uniform(1.0, 2.0, N)), 1 << 30)
    problem = ridge_problem(rng, True, (0.0,))
    found = StochasticRidge(batch=20).solve(gram, problem)
    assert_allclose(found.coefficients, Cholesky().solve(gram, problem).coefficients, atol=1e-4)


@pytest.mark.parametrize("solver", [StochasticRidge(), StochasticLogistic()])
def test_entries_that_are_not_finite_are_refused(rng, solver):
    gram = DenseGram(np.full((N, N), np.inf), 1 << 30)
    is_ridge = isinstance(solver, StochasticRidge)
    problem = ridge_problem(rng) if is_ridge else logistic_problem(rng, 2)
    with pytest.raises(ValueError, match="entries that are not finite"):
        solver.solve(gram, problem)
