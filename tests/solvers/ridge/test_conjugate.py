"""The iterative solver: against the exact one, and where it stops."""

import time

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer.errors import IndefiniteKernelError
from mercer.gram import LowRankGram, PrecomputedGram, StreamedGram, gram_of
from mercer.kernels import Exponential, Gaussian, Laplacian, Linear, Polynomial, Sigmoid
from mercer.solvers import Cholesky, ConjugateGradient, RidgeProblem, Run
from mercer.solvers.ridge.cg_factor import IteratedFactor

CG = ConjugateGradient(random_state=0)


def problem_of(y, alpha=1.0, weights=None, fit_intercept=True):
    y = y.reshape(len(y), -1)
    alpha = np.broadcast_to(np.asarray(alpha, float), y.shape[1:])
    return RidgeProblem(y, alpha, np.ones(len(y)) if weights is None else weights, fit_intercept)


def true_residual(K, problem, solution):
    """Return ||W^(1/2) ((K + alpha W^-1) a + b 1 - y)|| / ||W^(1/2) y|| for every target."""
    values = []
    for j, alpha in enumerate(problem.alpha):
        a, y = solution.coefficients[:, j], problem.y[:, j]
        r = K @ a + alpha * a / problem.weights + solution.intercept[j] - y
        roots = np.sqrt(problem.weights)
        mean = np.average(y, weights=problem.weights) if problem.fit_intercept else 0.0
        values.append(np.linalg.norm(roots * r) / np.linalg.norm(roots * (y - mean)))
    return np.array(values)


def distance(K, one, other):
    """Return ||f - g|| for every target."""
    d = one.coefficients - other.coefficients
    return np.sqrt(np.maximum((d * (K @ d)).sum(axis=0), 0.0))


class Wrapped(StreamedGram):
    """A Gram matrix that does something of its own before every product."""

    def __init__(self, kernel, X, before):
        super().__init__(kernel, X)
        self.before = before
        self.products = 0

    def product(self, V):
        self.products += 1
        self.before(self.products)
        return super().product(V)


@pytest.fixture
def X(points):
    return points(400)


@pytest.fixture
def y(X, rng):
    return np.column_stack([np.sin(2.0 * X[:, 0]) + 3.0, X[:, 1] ** 2 + 0.1 * rng.normal(size=400)])


KERNELS = [Gaussian(1.0), Gaussian(0.3), Exponential(1.0), Linear(1.0), Gaussian(1.0) + Linear()]


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("alpha", [1e-3, 0.1, 10.0])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_it_is_the_exact_solution_within_its_bound(
    X, y, rng, kernel, alpha, fit_intercept, weighted
):
    weights = rng.uniform(0.05, 4.0, size=400) if weighted else None
    problem = problem_of(y, alpha, weights, fit_intercept)
    gram = gram_of(kernel, X)
    exact, solution = Cholesky().solve(gram, problem), CG.solve(gram, problem)
    K = gram.dense()
    assert solution.residual.max() <= solution.tolerance == 1e-6
    assert_allclose(solution.residual, true_residual(K, problem, solution), rtol=1e-3, atol=1e-9)
    assert (distance(K, solution, exact) <= 1.01 * solution.radius + exact.radius + 1e-12).all()
    size = np.abs(solution.coefficients).sum(axis=0)
    assert not fit_intercept or (np.abs(solution.coefficients.sum(axis=0)) <= 1e-12 * size).all()


@pytest.mark.parametrize("range_of_weights", [(1.0, 4.0), (0.1, 1.0)])
def test_weights_that_are_all_at_least_or_at_most_one_count(X, y, rng, range_of_weights):
    weights = rng.uniform(*range_of_weights, size=400)
    weights[:40] = 1.0
    problem, gram = problem_of(y, 0.1, weights), gram_of(Gaussian(1.0), X)
    expected = gram @ Cholesky().solve(gram, problem).coefficients
    assert_allclose(gram @ CG.solve(gram, problem).coefficients, expected, atol=1e-4)


def test_every_kind_of_gram_gives_the_same_solution(points, rng):
    X = points(200)
    K = Linear()(X)
    problem = problem_of(rng.normal(size=200), 0.1)
    solver = ConjugateGradient(tol=1e-11, random_state=0)
    grams = [gram_of(Linear(), X), StreamedGram(Linear(), X), LowRankGram(X), PrecomputedGram(K)]
    solutions = [solver.solve(gram, problem) for gram in grams]
    for other in solutions[1:]:
        assert_allclose(other.coefficients, solutions[0].coefficients, atol=1e-8)
        assert_allclose(other.intercept, solutions[0].intercept, atol=1e-8)


@pytest.mark.parametrize("kind", [StreamedGram, gram_of])
def test_a_gram_in_single_precision_is_solved_in_double(X, y, kind):
    gram = kind(Gaussian(1.0), X.astype(np.float32))
    problem = problem_of(y, 0.1)
    solution = CG.solve(gram, problem)
    K = gram.dense().astype(float)
    assert solution.residual.max() <= 1e-6
    # The tiles of a streamed product are single as well.
    assert_allclose(true_residual(K, problem, solution), solution.residual, atol=5e-7)


def test_every_target_has_the_ridge_given_for_it(X, y):
    gram = gram_of(Gaussian(1.0), X)
    Y = np.column_stack([y, y[:, 0], np.zeros(400)])
    alphas = np.array([1.0, 0.01, 1e-3, 1.0])
    problem = problem_of(Y, alphas)
    solution, exact = CG.solve(gram, problem), Cholesky().solve(gram, problem)
    assert solution.residual.max() <= 1e-6
    assert (distance(gram.dense(), solution, exact) <= 1.01 * solution.radius + 1e-9).all()


def test_earlier_ridges_are_where_later_ones_start(X, y):
    gram = gram_of(Exponential(1.0), X)
    alphas = np.geomspace(1.0, 0.05, 8)
    path = problem_of(np.repeat(y[:, :1], 8, axis=1), alphas)
    together = CG.solve(gram, path)
    alone = [CG.solve(gram, problem_of(y[:, 0], alpha)) for alpha in alphas]
    assert together.residual.max() <= 1e-6
    assert together.iterations < 0.75 * sum(solution.iterations for solution in alone)


def test_a_solution_does_not_move_with_the_targets(X, y):
    gram = gram_of(Gaussian(1.0), X)
    here, far = (CG.solve(gram, problem_of(y[:, 0] + shift, 0.1)) for shift in (0.0, 1e8))
    assert_allclose(far.coefficients, here.coefficients, atol=1e-3)
    assert_allclose(far.intercept, here.intercept + 1e8, rtol=1e-12)


def test_equal_columns_are_no_obstacle(X, y):
    gram = gram_of(Gaussian(1.0), X)
    Y = np.column_stack([y[:, 0], 2.0 * y[:, 0], np.ones(400), np.zeros(400), -y[:, 0]])
    solution = CG.solve(gram, problem_of(Y, 0.1))
    assert solution.residual.max() <= 1e-6
    a = solution.coefficients
    assert_allclose(a[:, 1], 2.0 * a[:, 0], atol=1e-10)
    assert_allclose(a[:, 2:4], 0.0, atol=1e-12)


def test_weights_of_very_different_size_are_solved(X, y, rng):
    weights = 10.0 ** rng.uniform(-8, 2, size=400)
    gram = gram_of(Gaussian(1.0), X)
    problem = problem_of(y, 0.1, weights)
    solution, exact = CG.solve(gram, problem), Cholesky().solve(gram, problem)
    assert solution.residual.max() <= 1e-6
    assert (distance(gram.dense(), solution, exact) <= 1.01 * solution.radius + 1e-9).all()


def test_equal_seeds_give_equal_bits(X, y):
    gram = StreamedGram(Exponential(1.0), X)
    problem = problem_of(y, 0.01)
    first, second = (CG.solve(gram, problem) for _ in range(2))
    assert_array_equal(first.coefficients, second.coefficients)
    other = ConjugateGradient(random_state=1).solve(gram, problem)
    assert (other.coefficients != first.coefficients).any()


def test_a_preconditioner_saves_steps(X, y):
    gram = gram_of(Gaussian(1.0), X)
    problem = problem_of(y, 0.01)
    steps = [
        ConjugateGradient(rank=rank, random_state=0).solve(gram, problem).iterations
        for rank in (0, 20, 100)
    ]
    assert steps[0] > steps[1] > 2 * steps[2]


def test_the_rank_grows_where_that_saves_steps(rng, monkeypatch):
    monkeypatch.setattr(IteratedFactor, "first_rank_each", 1.0)
    X = rng.normal(size=(600, 3))
    gram = gram_of(Gaussian(1.0), X)
    problem = problem_of(np.sin(X[:, 0]), 1e-3)
    fixed = ConjugateGradient(rank=25, random_state=0).solve(gram, problem)
    grown = CG.solve(gram, problem)
    assert grown.residual.max() <= 1e-6
    assert grown.iterations < 0.5 * fixed.iterations


def test_nothing_square_is_stored(rng, monkeypatch):
    X = rng.normal(size=(500, 2))
    gram = StreamedGram(Gaussian(1.0), X, memory="1MB")
    monkeypatch.setattr(StreamedGram, "dense", None)
    solution = CG.solve(gram, problem_of(np.sin(X[:, 0]), 0.1))
    assert solution.residual.max() <= 1e-6


def test_without_memory_it_goes_without_preconditioner(X, y):
    gram = PrecomputedGram(Gaussian(1.0)(X), memory="1KB")
    assert CG.solve(gram, problem_of(y, 1.0)).residual.max() <= 1e-6


def test_a_target_of_zero_has_no_residual(X):
    solution = CG.solve(StreamedGram(Gaussian(1.0), X), problem_of(np.zeros(400)))
    assert solution.residual.tolist() == [0.0]
    assert not solution.coefficients.any()


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_one_row_is_enough(fit_intercept):
    gram = StreamedGram(Gaussian(1.0), np.ones((1, 2)))
    solution = CG.solve(gram, problem_of(np.array([3.0]), 1.0, None, fit_intercept))
    assert_allclose(
        solution.coefficients[0, 0] + solution.intercept[0], 3.0 - 1.5 * (not fit_intercept)
    )


def test_without_a_ridge_it_interpolates(points):
    X = points(100)
    gram = gram_of(Laplacian(0.5), X)
    solution = CG.solve(gram, problem_of(np.sin(X[:, 0]), 0.0))
    assert solution.residual.max() <= 1e-6
    assert np.isinf(solution.radius).all()


def test_the_solution_tells_what_it_cost_and_how_good_it_is(X, y):
    solution = ConjugateGradient(tol=1e-9, random_state=0).solve(
        StreamedGram(Gaussian(1.0), X), problem_of(y, 0.1)
    )
    assert solution.solver == "cg"
    assert solution.tolerance == 1e-9
    assert solution.seconds > 0.0
    assert 0 < solution.iterations < 30
    assert solution.residual.shape == solution.radius.shape == (2,)


def test_it_says_when_cholesky_would_be_cheaper(X, y):
    hard = CG.solve(gram_of(Exponential(0.5), X), problem_of(y, 1e-4))
    assert "solver='cholesky' takes about" in hard.advice
    no_room = StreamedGram(Exponential(0.5), X, memory="1MB")
    assert "cholesky" not in CG.solve(no_room, problem_of(y, 1e-4)).advice
    easy = CG.solve(
        LowRankGram(np.random.default_rng(0).normal(size=(4000, 2))), problem_of(np.arange(4000.0))
    )
    assert easy.advice == ""


@pytest.mark.parametrize("alpha", [1e-3, 1e-2])
def test_an_indefinite_gram_is_refused_with_a_true_witness(rng, alpha):
    X = rng.normal(size=(60, 2))
    K = Sigmoid(1.0, 0.5)(X)
    weights = rng.uniform(0.5, 2.0, size=60)
    problem = problem_of(rng.normal(size=60), alpha, weights)
    with pytest.raises(IndefiniteKernelError, match=r"c'Kc = -.* beyond rounding") as refusal:
        CG.solve(PrecomputedGram(K), problem)
    form = refusal.value.witness
    c = form.coefficients
    assert_allclose(np.linalg.norm(c), 1.0)
    assert_allclose(c @ K @ c, form.value, rtol=1e-10)
    assert form.value < -form.rounding_bound < 0.0


@pytest.mark.parametrize("alpha", [0.0, 1e-18])
def test_a_semidefinite_gram_is_singular_not_indefinite(rng, alpha):
    X = np.repeat(rng.normal(size=(30, 2)), 2, axis=0)
    problem = problem_of(rng.normal(size=60), alpha)
    with pytest.raises(ValueError, match="singular to working precision") as refusal:
        CG.solve(StreamedGram(Linear(), X), problem)
    assert not isinstance(refusal.value, IndefiniteKernelError)


def test_a_kernel_that_overflows_is_refused():
    gram = StreamedGram(Polynomial(degree=3), np.array([[1e80], [2e80], [3e80]]))
    with pytest.raises(ValueError, match="entries that are not finite; scale the columns"):
        CG.solve(gram, problem_of(np.ones(3)))


def test_coefficients_that_overflow_are_refused():
    gram = StreamedGram(Linear(), np.zeros((3, 1)))
    with pytest.raises(ValueError, match="coefficients overflow at alpha = 1e-310; raise alpha"):
        CG.solve(gram, problem_of(np.arange(3.0), 1e-310))


def test_a_tolerance_out_of_reach_ends_at_rounding(X, y):
    solution = ConjugateGradient(tol=1e-30, random_state=0).solve(
        gram_of(Gaussian(1.0), X), problem_of(y, 0.1)
    )
    assert solution.residual.max() < 1e-12
    assert solution.iterations < 100
    assert "too ill-conditioned for float64" in solution.advice


def test_steps_are_limited(X, y):
    gram = gram_of(Exponential(0.5), X)
    problem = problem_of(y, 1e-3)
    solution = ConjugateGradient(max_iter=4, random_state=0).solve(gram, problem)
    assert solution.iterations == 4
    assert solution.residual.max() > 1e-6
    assert "after 4 steps" in solution.advice
    assert "raise max_iter (now 4) or alpha" in solution.advice
    assert_allclose(true_residual(gram.dense(), problem, solution), solution.residual, rtol=1e-8)


def test_a_ridge_that_runs_out_of_steps_does_not_end_the_others(X, y):
    gram = gram_of(Exponential(1.0), X)
    problem = problem_of(y, [10.0, 1e-3])
    solution = ConjugateGradient(max_iter=12, random_state=0).solve(gram, problem)
    assert solution.residual[0] <= 1e-6 < solution.residual[1]
    assert 12 < solution.iterations <= 24
    assert "raise max_iter (now 12)" in solution.advice


def test_the_time_limit_is_kept(X, y):
    gram = Wrapped(Exponential(0.5), X, lambda count: time.sleep(0.05))
    solution = ConjugateGradient(random_state=0).solve(gram, problem_of(y, 1e-4), Run(0.5))
    assert solution.iterations >= 3
    assert solution.seconds < 1.0
    assert solution.residual.max() > 1e-6
    assert "the time limit of 0.5 s was up" in solution.advice


def test_a_time_limit_that_is_over_at_once_still_gives_an_iterate(X, y):
    problem = problem_of(y, [1.0, 0.1])
    solution = ConjugateGradient().solve(StreamedGram(Exponential(0.5), X), problem, Run(1e-9))
    assert solution.iterations == 1
    assert_allclose(true_residual(Exponential(0.5)(X), problem, solution), solution.residual)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_steps_that_are_worse_than_none_are_not_taken(rng, fit_intercept):
    X = rng.normal(size=(400, 8))
    problem = problem_of(X[:, :2] ** 2 + 5.0, 1e-3, fit_intercept=fit_intercept)
    gram = StreamedGram(Gaussian(4.0), X)
    solution = ConjugateGradient(rank=8).solve(gram, problem, Run(progress=lambda *_: True))
    assert solution.iterations == 1
    assert (solution.residual <= 1.0 + 1e-12).all()
    assert_allclose(true_residual(Gaussian(4.0)(X), problem, solution), solution.residual)


def test_ctrl_c_returns_the_iterate_with_its_residual(X, y):
    def interrupt(count):
        if count == 5:
            raise KeyboardInterrupt

    gram = Wrapped(Exponential(0.5), X, interrupt)
    problem = problem_of(y, 1e-3)
    solution = CG.solve(gram, problem)
    assert solution.iterations == 4
    assert "Ctrl-C ended the iteration" in solution.advice
    residual = true_residual(Exponential(0.5)(X), problem, solution)
    assert_allclose(residual, solution.residual, rtol=1e-8)
    assert residual.max() > 1e-6


def test_ctrl_c_while_the_residual_is_measured_returns_as_well(X, y):
    quiet = Wrapped(Gaussian(1.0), X, lambda count: None)
    CG.solve(quiet, problem_of(y, 1.0))
    last = quiet.products

    def interrupt(count):
        if count == last:
            raise KeyboardInterrupt

    solution = CG.solve(Wrapped(Gaussian(1.0), X, interrupt), problem_of(y, 1.0))
    assert solution.residual.max() <= 1e-6


@pytest.mark.parametrize("when", [{1}, {5, 6}])
def test_ctrl_c_before_there_is_an_iterate_or_twice_raises(X, y, when):
    def interrupt(count):
        if count in when:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        CG.solve(Wrapped(Exponential(0.5), X, interrupt), problem_of(y, 1e-3))


def test_progress_is_told_every_step_and_may_stop(X, y):
    told = []

    def progress(iteration, residual):
        told.append((iteration, residual))
        return iteration == 6

    gram, run = StreamedGram(Exponential(0.5), X), Run(progress=progress)
    solution = CG.solve(gram, problem_of(y, 1e-3), run)
    assert [iteration for iteration, _ in told] == [1, 2, 3, 4, 5, 6]
    assert all(residual > 0.0 for _, residual in told)
    assert solution.iterations == 6
    assert "a callback ended the iteration" in solution.advice
