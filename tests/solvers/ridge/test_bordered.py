"""The bordered system against least squares written out in full."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer.solvers import Bordered, RidgeProblem
from mercer.solvers.ridge.bordered import (
    Measured,
    measured,
    relative,
    relative_norm,
    restored,
    with_best_offset,
)
from mercer.solvers.rounding import EPS, UNITS
from ridges import problem_of

N = 30


class Plain:
    """The slow obvious factor."""

    def __init__(self, A):
        self.A = A

    def solve(self, V):
        return np.linalg.solve(self.A, V)

    def product(self, V):
        return self.A @ V


def least_squares(K, y, alpha, weights, fit_intercept):
    """Minimise sum w (y - K a - b)^2 + alpha a'Ka over features F with F F' = K."""
    values, vectors = np.linalg.eigh(K)
    F = vectors * np.sqrt(np.maximum(values, 0.0))
    ones = np.ones((len(K), int(fit_intercept)))
    roots = np.sqrt(weights)[:, None]
    design = np.block(
        [
            [roots * F, roots * ones],
            [np.sqrt(alpha) * np.eye(len(K)), np.zeros((len(K), ones.shape[1]))],
        ]
    )
    target = np.concatenate([roots[:, 0] * y, np.zeros(len(K))])
    theta = np.linalg.lstsq(design, target)[0]
    return F @ theta[: len(K)], theta[len(K) :].sum()


@pytest.fixture
def K(rng):
    F = rng.normal(size=(N, N))
    return F @ F.T


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("alpha", [1e-3, 1.0, 1e3])
def test_it_solves_the_weighted_least_squares_problem(K, rng, alpha, fit_intercept):
    y = rng.normal(size=(N, 2)) + 5.0
    weights = rng.uniform(0.1, 3.0, size=N)
    problem = RidgeProblem(y, np.array([alpha, alpha]), weights, fit_intercept)
    system = Bordered.solve(Plain(K + np.diag(alpha / weights)), problem.unpenalised, y)
    for target in range(2):
        f, b = least_squares(K, y[:, target], alpha, weights, fit_intercept)
        assert_allclose(K @ system.a[:, target], f, rtol=1e-9, atol=1e-9)
        assert_allclose(system.b[:, target].sum(), b, rtol=1e-9)


def test_it_solves_the_bordered_matrix(K, rng):
    y = rng.normal(size=(N, 1))
    M = np.block([[K, np.ones((N, 1))], [np.ones((1, N)), np.zeros((1, 1))]])
    expected = np.linalg.solve(M, np.append(y, 0.0))
    system = Bordered.solve(Plain(K), np.ones((N, 1)), y)
    assert_allclose(system.a[:, 0], expected[:N], rtol=1e-8)
    assert_allclose(system.b[0], expected[N], rtol=1e-8)
    assert_allclose(system.a.sum(), 0.0, atol=1e-12)
    assert_allclose(system.residual(), 0.0, atol=1e-11)


def test_it_takes_any_unpenalised_functions(K, rng):
    y = rng.normal(size=(N, 1))
    line = np.column_stack([np.ones(N), np.arange(N)])
    M = np.block([[K, line], [line.T, np.zeros((2, 2))]])
    expected = np.linalg.solve(M, np.append(y, [0.0, 0.0]))
    system = Bordered.solve(Plain(K), line, y)
    assert_allclose(system.a[:, 0], expected[:N], rtol=1e-8)
    assert_allclose(system.b[:, 0], expected[N:], rtol=1e-8)


def test_a_step_of_refinement_repairs_a_poor_factor(K, rng):
    class Rough(Plain):
        def solve(self, V):
            return np.linalg.solve(1.001 * self.A, V)

    y = rng.normal(size=(N, 1))
    system = Bordered.solve(Rough(K), np.ones((N, 1)), y)
    before = np.linalg.norm(system.residual())
    after = system.refined()
    assert np.linalg.norm(after.residual()) < 0.01 * before
    assert abs(after.a.sum()) < 1e-10


def measure(K, y, alpha, weights, fit_intercept, a, b):
    """The relative residual and the radius of coefficients and an offset."""
    problem = problem_of(y, alpha, weights, fit_intercept)
    r = problem.y - K @ a - alpha * a / weights[:, None] - b
    return measured(problem, a, np.sqrt(weights)[:, None] * r, K.diagonal())


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_radius_bounds_the_distance_from_the_exact_function(K, rng, fit_intercept):
    y = rng.normal(size=(N, 1))
    weights = rng.uniform(0.1, 3.0, size=N)
    N1 = np.ones((N, int(fit_intercept)))
    for alpha in (1e-3, 1.0, 100.0):
        exact = Bordered.solve(Plain(K + np.diag(alpha / weights)), N1, y)
        for size in (1e-6, 1e-2, 1.0):
            a = exact.a + size * rng.normal(size=(N, 1))
            b = exact.b.sum() + size * rng.normal()
            distance = np.sqrt(((a - exact.a) * (K @ (a - exact.a))).sum())
            _, radius = measure(K, y, alpha, weights, fit_intercept, a, b)
            assert distance <= radius[0] * (1.0 + 1e-9)


def test_the_radius_is_attained():
    # One row: f - f* has the norm sqrt(k) r / (k + alpha), the bound at k = alpha.
    _, radius = measure(np.eye(1), np.ones((1, 1)), 1.0, np.ones(1), False, np.zeros((1, 1)), 0.0)
    assert_allclose(radius, np.sqrt(1.0) * 1.0 / 2.0)


def test_a_sum_that_is_not_zero_moves_the_function_by_as_much_as_the_radius_says():
    # One row and an offset that makes up for it: f* = 0, and f has the norm sqrt(k) |a|.
    a, tiny = np.array([[0.5]]), 1e-12
    residual, radius = measure(4.0 * np.eye(1), 3.0 * np.ones((1, 1)), tiny, np.ones(1), True, a, 1)
    assert_allclose(radius, 2.0 * 0.5, rtol=1e-6)
    # The offset leaves nothing of the target but its rounding.
    assert_allclose(residual, 4.0 * 0.5 / (3.0 * np.sqrt(np.finfo(np.float64).eps)))


@pytest.mark.parametrize("alpha", [1e-12, 1.0, 1e6])
def test_a_sum_that_is_not_zero_counts_in_the_residual_whatever_the_ridge(K, rng, alpha):
    y, weights = rng.normal(size=(N, 1)), rng.uniform(0.1, 3.0, size=N)
    system = Bordered.solve(Plain(K + np.diag(alpha / weights)), np.ones((N, 1)), y)
    moved = system.a + 1e-3 * np.abs(system.a).max() * system.U / system.U.max()
    # The offset cannot tell: along A^-1 1 the equations stay as they are.
    b = system.b.sum() - 1e-3 * np.abs(system.a).max() / system.U.max()
    before = measure(K, y, alpha, weights, True, system.a, system.b.sum())[0][0]
    after = measure(K, y, alpha, weights, True, moved, b)[0][0]
    assert before < 1e-11
    assert after > 1e-6
    assert_allclose(measure(K, y, alpha, weights, False, moved, b)[0], 0.0, atol=1e-11)


@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_the_measure_has_no_scale_of_its_own(K, rng, scale):
    y, weights = rng.normal(size=(N, 1)), rng.uniform(0.1, 3.0, size=N)
    a, b = rng.normal(size=(N, 1)), 0.3
    residual, radius = measure(K, y, 0.5, weights, True, a, b)
    far = measure(K, scale * y, 0.5, weights, True, scale * a, scale * b)
    assert_allclose(far, (residual, scale * radius), rtol=1e-12)
    # So it is for the unit of the weights, in which the ridge is counted as well.
    far = measure(K, y, 0.5 * scale, scale * weights, True, a, b)
    assert_allclose(far, (residual, radius), rtol=1e-12)


def test_what_rounding_hides_of_a_large_product_counts(rng):
    # Coefficients of 1e15 have no digits left for targets of one, however they are added up.
    a = 1e15 * rng.normal(size=(6, 1))
    residual, _ = measure(
        np.ones((6, 6)), rng.normal(size=(6, 1)), 1e-15, np.ones(6), False, a, 0.0
    )
    assert residual[0] > 1.0
    zeros = measure(np.ones((6, 6)), np.zeros((6, 1)), 1.0, np.ones(6), True, np.zeros((6, 1)), 0.0)
    assert [value.tolist() for value in zeros] == [[0.0], [0.0]]


def test_without_a_ridge_nothing_is_bounded(K, rng):
    y = rng.normal(size=(N, 2))
    system = Bordered.solve(Plain(K), np.ones((N, 1)), y)
    _, radius = measure(K, y, 0.0, np.ones(N), True, system.a, system.b.sum(axis=0))
    assert radius.tolist() == [np.inf, np.inf]


@pytest.mark.parametrize("n", [1, 3, 40])
def test_sums_are_restored_to_the_last_digit(rng, n):
    a, weights = 1e15 * rng.normal(size=(n, 3)), rng.uniform(0.1, 3.0, size=n)
    a -= weights[:, None] * a.sum(axis=0) / weights.sum()
    whole = restored(a, weights)
    assert [math.fsum(column) for column in whole.T] == [0.0, 0.0, 0.0]
    assert_allclose(whole, a, atol=10.0 * n)


def test_rows_of_no_weight_are_not_used():
    weights = np.array([1.0, 0.0, 2.0, 1e-310])
    problem = RidgeProblem(np.ones((4, 1)), np.array([10.0]), weights, True)
    assert problem.used.tolist() == [True, False, True, False]
    some = problem.on(np.flatnonzero(problem.used))
    assert some.weights.tolist() == [1.0, 2.0]
    assert some.y.shape == (2, 1)


def test_targets_are_grouped_by_their_ridge():
    problem = RidgeProblem(np.ones((2, 3)), np.array([2.0, 1.0, 2.0]), np.ones(2), True)
    groups = [(alpha, targets.tolist()) for alpha, targets in problem.by_alpha()]
    assert groups == [(1.0, [1]), (2.0, [0, 2])]


def test_rounding_may_hide_a_sum_of_large_coefficients_that_looks_like_zero():
    a = np.array([[3e8], [-3e8]])
    with_offset, without = (
        measured(
            RidgeProblem(np.ones((2, 1)), np.ones(1), np.ones(2), fit_intercept),
            a,
            np.zeros((2, 1)),
            np.ones(2),
        )
        for fit_intercept in (True, False)
    )
    # Half an ulp of the larger number at least, which costs sqrt(A_ii) and A_ii = 2.
    hidden = 3e8 * np.finfo(float).eps / 2.0
    assert with_offset[1] - without[1] >= hidden * np.sqrt(2.0)
    assert with_offset[0] - without[0] >= hidden * 2.0 / np.sqrt(2.0)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("is_absolute", [True, False])
def test_the_measure_is_its_formula_term_by_term(rng, fit_intercept, is_absolute):
    # Large enough beside the residual for every unit of rounding to count.
    alpha, weights = np.array([0.5, 3.0]), rng.uniform(0.1, 3.0, size=N)
    y, a, weighted = (rng.normal(size=(N, 2)) for _ in range(3))
    a *= 1e13
    weighted *= 1e-2
    diagonal = rng.uniform(0.5, 4.0, size=N) * np.where(np.arange(N) % 5, 1.0, -1.0)
    k = np.abs(diagonal)
    absolute = np.array([1.0, 1e-3]) * 1e13 * np.ones((N, 2)) if is_absolute else None
    problem = RidgeProblem(y, alpha, weights, fit_intercept)
    residual, radius = measured(problem, a, weighted, diagonal, absolute)
    for t in range(2):
        norm = np.linalg.norm
        rounded = norm(np.sqrt(weights * k)) * norm(np.sqrt(k) * a[:, t])
        if is_absolute:
            rounded = min(rounded, norm(np.sqrt(weights) * absolute[:, t]))
        ridge = norm(alpha[t] * a[:, t] / np.sqrt(weights))
        missed = norm(weighted[:, t]) + UNITS * EPS * (rounded + ridge)
        bound = missed / (2.0 * np.sqrt(alpha[t]))
        if fit_intercept:
            q = abs(a[:, t].sum()) + UNITS * EPS * norm(a[:, t])
            A = k + alpha[t] / weights
            missed += q * (np.sqrt(weights) * A).min()
            bound += q * np.sqrt(A.min())
        mean = np.average(y[:, t], weights=weights) if fit_intercept else 0.0
        size = norm(np.sqrt(weights) * (y[:, t] - mean))
        assert_allclose(residual[t], missed / size, rtol=1e-10)
        assert_allclose(radius[t], bound, rtol=1e-10)


def test_what_is_no_number_is_not_zero_beside_any_size():
    assert not (relative(np.array([np.nan, np.nan]), np.array([1.0, 0.0])) <= 1e300).any()


def test_relative_sizes_are_zero_where_nothing_is_missed():
    assert relative(np.array([2.0, 0.0, 1.0, 0.0]), np.array([4.0, 0.0, 0.0, 3.0])).tolist() == [
        0.5,
        0.0,
        np.inf,
        0.0,
    ]
    r, y = np.array([[3.0, 0.0], [4.0, 0.0]]), np.array([[0.0, 0.0], [10.0, 0.0]])
    assert_allclose(relative_norm(r, y, np.empty((2, 0))), [0.5, 0.0])


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_best_offset_is_the_weighted_mean_of_what_is_left(K, rng, fit_intercept):
    weights, alpha = rng.uniform(0.1, 3.0, size=N), np.array([0.5, 3.0])
    y, a = rng.normal(size=(2, N, 2))
    problem = RidgeProblem(y, alpha, weights, fit_intercept)
    b, r = with_best_offset(problem, a, K @ a)
    rest = y - K @ a - alpha * a / weights[:, None]
    expected = np.average(rest, axis=0, weights=weights) if fit_intercept else np.zeros(2)
    assert_allclose(b, expected)
    assert_allclose(r, rest - expected)


def test_what_is_missing_of_a_sum_is_shared_as_the_weights_are():
    a = restored(np.array([[4.0], [1.0], [1.0]]), np.array([1.0, 1.0, 2.0]))
    assert_allclose(a[:, 0], [2.5, -0.5, -2.0])


class Watched:
    """A product with K that counts how often it is asked for."""

    def __init__(self, K):
        self.K, self.count = K, 0

    def __call__(self, V):
        self.count += 1
        return self.K @ V


@pytest.mark.parametrize(
    ("tol", "fit_intercept", "is_restored"),
    [(1e-3, True, True), (1e9, True, False), (1e-3, False, False)],
)
def test_a_sum_is_restored_where_that_is_needed_and_helps(K, rng, tol, fit_intercept, is_restored):
    weights, alpha = rng.uniform(0.1, 3.0, size=N), np.array([0.5, 3.0])
    y = rng.normal(size=(N, 2))
    problem = RidgeProblem(y, alpha, weights, fit_intercept)
    a = np.column_stack(
        [
            Bordered.solve(Plain(K + np.diag(v / weights)), problem.unpenalised, y[:, [t]]).a[:, 0]
            for t, v in enumerate(alpha)
        ]
    )
    # Of the first target the sum is off; the second is as good as it gets.
    a[0, 0] += 1e-3
    b, r = with_best_offset(problem, a, K @ a)
    solution = (a, b, np.sqrt(weights)[:, None] * r)
    product = Watched(K)
    found = Measured.of(problem, solution, K.diagonal(), product, tol)
    assert product.count == is_restored
    plain = measured(problem, a, solution[2], K.diagonal())
    if is_restored:
        assert abs(found.a[:, 0].sum()) < 1e-12
        assert found.residual[0] < plain[0][0]
        moved = restored(a, weights)[:, 0]
        assert_allclose(found.a[:, 0], moved)
        offset, rest = with_best_offset(problem, found.a, K @ found.a)
        assert_allclose(found.b[0], offset[0])
        assert_allclose(found.weighted[:, 0], (np.sqrt(weights)[:, None] * rest)[:, 0], atol=1e-12)
        again = measured(problem, found.a, found.weighted, K.diagonal())
        assert_allclose(found.residual, again[0], rtol=1e-9)
        assert_allclose(found.radius, again[1], rtol=1e-9)
    else:
        assert found.a is a
        assert_allclose(found.residual, plain[0])


def test_the_offset_diagonal_is_what_the_inverse_falls_short_by(K, rng):
    A, ones = K + np.eye(N), np.ones((N, 1))
    system = Bordered.solve(Plain(A), ones, rng.normal(size=(N, 1)))
    inverse = np.linalg.inv(A)
    whole = np.linalg.inv(np.block([[A, ones], [ones.T, np.zeros((1, 1))]]))[:N, :N]
    assert_allclose(system.offset_diagonal(), (inverse - whole).diagonal(), atol=1e-12)


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_the_answer_without_a_kernel_proves_what_is_measured_of_no_coefficients(rng, fit_intercept):
    y, weights = rng.normal(size=(40, 2)) + 3.0, rng.uniform(0.5, 2.0, 40)
    problem = RidgeProblem(y, np.array([0.1, 0.0]), weights, fit_intercept)
    found, none = problem.zero_solution(1e-3), np.zeros((40, 2))
    b, r = with_best_offset(problem, none, none)
    residual, radius = measured(problem, none, np.sqrt(weights)[:, None] * r, np.zeros(40))
    assert_array_equal(found.coefficients, none)
    assert_allclose(found.intercept, b)
    assert_allclose(found.residual, residual, rtol=1e-14)
    assert_allclose(found.radius, radius, rtol=1e-14)
