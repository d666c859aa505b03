"""The bordered system against least squares written out in full."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.solvers import Bordered, RidgeProblem

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


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_radius_bounds_the_distance_from_the_exact_function(K, rng, fit_intercept):
    y = rng.normal(size=(N, 1))
    weights = rng.uniform(0.1, 3.0, size=N)
    N1 = np.ones((N, int(fit_intercept)))
    for alpha in (1e-3, 1.0, 100.0):
        A = Plain(K + np.diag(alpha / weights))
        exact = Bordered.solve(A, N1, y)
        for size in (1e-6, 1e-2, 1.0):
            a = exact.a + size * rng.normal(size=(N, 1))
            b = exact.b + size * rng.normal(size=exact.b.shape)
            moved = Bordered(A, N1, y, exact.U, a, b)
            distance = np.sqrt(((a - exact.a) * (K @ (a - exact.a))).sum())
            radius = moved.radius(alpha, weights, moved.residual())
            assert distance <= radius[0] * (1.0 + 1e-9)


def test_the_radius_is_attained():
    # One row: f - f* has the norm sqrt(k) r / (k + alpha), the bound at k = alpha.
    system = Bordered(Plain(np.array([[2.0]])), np.ones((1, 0)), np.ones((1, 1)), *[None] * 3)
    moved = Bordered(system.A, system.N, system.y, np.ones((1, 0)), np.zeros((1, 1)), None)
    radius = moved.radius(1.0, np.ones(1), np.ones((1, 1)))
    assert_allclose(radius, np.sqrt(1.0) * 1.0 / 2.0)


def test_without_a_ridge_nothing_is_bounded(K, rng):
    y = rng.normal(size=(N, 2))
    system = Bordered.solve(Plain(K), np.ones((N, 1)), y)
    assert system.radius(0.0, np.ones(N), system.residual()).tolist() == [np.inf, np.inf]


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
