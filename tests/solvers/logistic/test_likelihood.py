"""The likelihood of classes: loss, residual, curvature and offset, each against its definition."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.special import rel_entr

from mercer.solvers.logistic.likelihood import (
    EPS,
    LogisticProblem,
    Offset,
    log_probabilities,
    probabilities,
)


def problem_of(rng, classes, n=30, C=3.0, fit_intercept=True):
    codes = rng.integers(0, classes, size=n)
    return LogisticProblem(codes, classes, C, rng.uniform(0.2, 3.0, size=n), fit_intercept)


def spelt_out(problem, F):
    """The probabilities of all classes as quotients of exponentials."""
    E = np.exp(np.hstack([np.zeros_like(F), F]) if problem.classes == 2 else F)
    return E / E.sum(axis=1, keepdims=True)


@pytest.fixture(params=[2, 3, 5])
def problem(request, rng):
    return problem_of(rng, request.param)


@pytest.fixture
def F(problem, rng):
    return 2.0 * rng.normal(size=(30, problem.columns))


def test_two_classes_have_one_score_and_more_have_one_each(rng):
    assert [problem_of(rng, m).columns for m in (2, 3, 7)] == [1, 3, 7]


@pytest.mark.parametrize("size", [2.0**-900, 2.0**900])
def test_weights_whose_squares_are_no_numbers_are_counted_in_another_unit(problem, size):
    large = replace(problem, C=problem.C / size, weights=size * problem.weights)
    counted, unit = large.in_units()
    assert_array_equal(counted.C * counted.weights, problem.C * problem.weights)
    assert 0.5 <= counted.weights.max() <= 2.0
    assert (unit == 1.0).all()
    assert problem.in_units()[0] is problem


def test_probabilities_are_quotients_of_exponentials(problem, F):
    P = spelt_out(problem, F)
    assert_allclose(probabilities(F), P, rtol=1e-12)
    assert_allclose(log_probabilities(F), np.log(P), rtol=1e-10, atol=1e-14)


def test_logarithms_of_probabilities_are_numbers_however_small_those_are():
    assert_allclose(log_probabilities(np.array([[800.0], [-900.0]])), [[-800, 0], [0, -900]])
    assert_allclose(log_probabilities(np.array([[5e3, 0.0, 4e3]])), [[0.0, -5e3, -1e3]])


def test_the_loss_is_minus_the_weighted_log_chance_of_the_own_class(problem, F):
    own = spelt_out(problem, F)[np.arange(30), problem.codes]
    assert_allclose(problem.loss(F), -3.0 * problem.weights @ np.log(own), rtol=1e-12)


def test_the_residual_is_the_weighted_target_less_the_probability(problem, F):
    T = np.eye(problem.classes)[problem.codes]
    expected = problem.weights[:, None] * (T - spelt_out(problem, F))
    assert_allclose(problem.residual(F), expected[:, -problem.columns :], rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("own", [40.0, 700.0, -40.0])
def test_the_residual_keeps_what_rounding_takes_from_one(own):
    # exp(-40) is lost beside 1, but not as the sum of the probabilities of the others.
    problem = LogisticProblem(np.array([1]), 3, 1.0, np.array([2.0]), True)
    E = np.exp(np.array([0.0, own, 0.0]) - max(own, 0.0))
    P = E / E.sum()
    expected = 2.0 * np.array([-P[0], P[0] + P[2], -P[2]])
    assert_allclose(problem.residual(np.array([[0.0, own, 0.0]]))[0], expected, rtol=1e-12)


@pytest.mark.parametrize("score", [0.0, 1.5, -700.0, 700.0])
def test_the_curvature_of_two_classes_is_a_number_however_certain_they_are(score):
    problem = LogisticProblem(np.array([1]), 2, 1.0, np.array([4.0]), True)
    root = problem.curvature(np.array([[score]]))
    exact = 2.0 * np.exp(-abs(score) / 2.0) / (1.0 + np.exp(-abs(score)))
    assert_allclose(root.scale, exact, rtol=1e-12)
    assert root.unit.tolist() == [[0.0]]


def test_another_C_changes_nothing_else(problem, F):
    other = problem.at(0.5)
    assert_allclose(other.loss(F), problem.loss(F) / 6.0)
    assert other.weights is problem.weights
    assert problem.C == 3.0


@pytest.mark.parametrize("move", [0.01, 0.3, -0.4])
def test_the_restored_residual_sums_to_zero_and_costs_its_relative_entropy(problem, F, move):
    w, T = problem.weights, np.eye(problem.classes)[problem.codes]
    F = F + problem.best_offset(F, np.zeros(problem.columns))
    F[:, 0] += move
    moved, entropy = problem.restored(F)
    residual = problem.residual(F) + moved
    assert_allclose(residual.sum(axis=0), 0.0, atol=1e-12)
    P = spelt_out(problem, F)
    change = moved / w[:, None]
    change = np.hstack([-change, change]) if problem.columns == 1 else change
    restored = P - change
    assert_allclose(restored.sum(axis=1), 1.0)
    assert (restored >= 0.0).all()
    # Between P and T: nothing is taken from the own class, nothing is given to another one.
    assert ((restored - P) * (T - P) >= -1e-15).all()
    assert_allclose(entropy, w @ rel_entr(restored, P).sum(axis=1), rtol=1e-8)
    assert entropy > 0.0


@pytest.mark.parametrize("classes", [3, 5])
def test_where_moving_is_not_enough_every_row_is_certain_of_its_class(rng, classes):
    # The others give the last class next to nothing, which cannot balance what it gives them.
    problem = problem_of(rng, classes)
    F = rng.normal(size=(30, classes))
    F[:, -1] = -12.0
    w, T = problem.weights, np.eye(problem.classes)[problem.codes]
    moved, entropy = problem.restored(F)
    assert_allclose(problem.residual(F) + moved, 0.0, atol=1e-12)
    P = spelt_out(problem, F)
    assert_allclose(entropy, w @ rel_entr(T, P).sum(axis=1), rtol=1e-9)


def test_nothing_is_restored_without_an_offset_or_where_sums_have_one_sign(rng):
    problem = problem_of(rng, 3, fit_intercept=False)
    F = rng.normal(size=(30, 3))
    moved, entropy = problem.restored(F)
    assert not moved.any()
    assert entropy == 0.0
    balanced = LogisticProblem(np.array([0, 1]), 2, 1.0, np.ones(2), True)
    moved, entropy = balanced.restored(np.zeros((2, 1)))
    assert moved.tolist() == [[0.0], [0.0]]
    assert entropy == 0.0


@pytest.mark.parametrize("start", [0.0, 3.0])
def test_the_best_offset_has_the_least_loss(problem, F, start):
    G = F + np.linspace(-3.0, 3.0, problem.columns)
    b = problem.best_offset(G, np.full(problem.columns, start))
    best = minimize(lambda b: problem.loss(G + b), np.zeros(problem.columns), tol=1e-10)
    assert_allclose(problem.loss(G + b), best.fun, rtol=1e-12)
    if problem.columns > 1:
        assert_allclose(b.sum(), 0.0, atol=1e-12)
        assert_allclose(b, best.x - best.x.mean(), atol=1e-4)
    else:
        assert_allclose(b, best.x, atol=1e-4)


def test_the_sum_of_residuals_at_the_best_offset_is_lost_in_rounding(problem, F):
    residual = problem.residual(F + problem.best_offset(F, np.zeros(problem.columns)))
    assert np.abs(residual.sum(axis=0)).max() <= 16.0 * EPS * np.abs(residual).sum()


def test_without_an_offset_the_best_one_is_zero(rng):
    problem = problem_of(rng, 3, fit_intercept=False)
    assert problem.best_offset(rng.normal(size=(30, 3)), np.ones(3)).tolist() == [0.0, 0.0, 0.0]


def test_the_best_offset_is_found_where_the_curvature_has_underflown():
    problem = LogisticProblem(np.array([0, 1, 1]), 2, 1.0, np.ones(3), True)
    for start in (-900.0, 900.0):
        assert_allclose(problem.best_offset(np.zeros((3, 1)), np.array([start])), np.log(2.0))


def test_a_newton_step_solves_with_the_curvature(problem, F):
    H, g = problem.curvature(F).total(), problem.residual(F).sum(axis=0)
    step = problem._newton_step(H, g)
    assert_allclose(H @ step, g, atol=1e-12)
    if problem.columns > 1:
        assert_allclose(step.sum(), 0.0, atol=1e-12)


def test_no_step_of_the_offset_is_longer_than_eight():
    problem = LogisticProblem(np.array([0, 1]), 2, 1.0, np.array([1.0, 1e-3]), True)
    G, b = np.zeros((2, 1)), np.array([10.0])
    at = problem._at(G, b)
    full = problem._newton_step(problem.curvature(G + b).total(), at.gradient)
    assert abs(full[0]) > 8.0
    assert_allclose(problem._stepped(G, at).b, b + 8.0 * np.sign(full))


def test_a_step_that_is_no_better_is_halved():
    problem = LogisticProblem(np.array([0, 1]), 2, 1.0, np.ones(2), True)
    # The best offset is 0; Newton's step from 3 goes as far as sinh(3) = 10, cut to 8, beyond it.
    moved = problem._stepped(np.zeros((2, 1)), problem._at(np.zeros((2, 1)), np.array([3.0])))
    assert_allclose(moved.b, -1.0)


def offset(loss, gradient):
    losses = SimpleNamespace(total=lambda: loss, residual=lambda: np.array([gradient]))
    return Offset(np.zeros(2), losses)


@pytest.mark.parametrize(
    ("one", "other", "is_better"),
    [
        (offset(1.0, [9.0, 0.0]), offset(2.0, [1.0, 0.0]), True),
        (offset(2.0, [1.0, 0.0]), offset(1.0, [9.0, 0.0]), False),
        # Losses within eight units of rounding: the gradient decides, and equals do not.
        (offset(2.0 + 14 * EPS, [0.0, -1.0]), offset(2.0, [0.0, 2.0]), True),
        (offset(2.0 - 14 * EPS, [0.0, -2.0]), offset(2.0, [0.0, 1.0]), False),
        (offset(2.0, [1.0, 1.0]), offset(2.0, [1.0, 0.0]), False),
        (offset(-2.0 - 14 * EPS, [0.0, -2.0]), offset(-2.0, [0.0, 1.0]), False),
        (offset(2.0 + 20 * EPS, [0.0, 1.0]), offset(2.0, [0.0, 2.0]), False),
        (offset(2.0 - 20 * EPS, [0.0, 2.0]), offset(2.0, [0.0, 1.0]), True),
        (offset(0.0, [0.0, 1.0]), offset(0.0, [0.0, 2.0]), True),
    ],
)
def test_an_offset_is_better_by_its_loss_or_where_rounding_hides_that_by_its_gradient(
    one, other, is_better
):
    assert one.is_better_than(other) is is_better


def test_the_mass_is_the_sum_of_the_sizes_of_the_residuals(problem, F):
    b = np.arange(problem.columns, dtype=float)
    at = problem._at(F, b)
    assert_allclose(at.mass, np.abs(problem.residual(F + b)).sum())
    assert_allclose(at.gradient, problem.residual(F + b).sum(axis=0))
    assert at.size == np.abs(at.gradient).max()
    assert at.loss == problem.loss(F + b)


def test_at_zero_the_best_offsets_are_known_and_the_loss_bounds_what_is_missed(problem):
    zero = problem.zero_solution(1e-3)
    assert not zero.coefficients.any()
    F = np.broadcast_to(zero.intercept, (30, problem.columns))
    assert_allclose(problem.residual(F).sum(axis=0), 0.0, atol=1e-9)
    assert np.abs(zero.intercept).max() > 0.01
    assert_array_equal(zero.residual, np.ones(problem.columns))
    # The gap is at most the loss, and half the square of the distance at most the gap.
    assert_allclose(zero.radius**2 / 2.0, np.full(problem.columns, problem.loss(F)))


def test_the_best_offset_of_many_rows_takes_few_steps(monkeypatch):
    counts = np.array([30435, 40853, 5147, 399, 1351, 2513, 2968])
    codes = np.repeat(np.arange(7), counts)
    problem = LogisticProblem(codes, 7, 1.0, np.ones(len(codes)), True)
    tried, at = [], LogisticProblem._at
    monkeypatch.setattr(
        LogisticProblem, "_at", lambda self, G, b: tried.append(b) or at(self, G, b)
    )
    b = problem.best_offset(np.zeros((len(codes), 7)), np.zeros(7))
    assert np.allclose(np.exp(b) / np.exp(b).sum(), counts / counts.sum(), rtol=0, atol=1e-12)
    # The sum of so many losses is not known well enough to compare the last steps by it.
    assert len(tried) < 20


def test_the_loss_of_nearly_certain_rows_keeps_its_digits():
    problem = LogisticProblem(np.array([0, 1]), 3, 1.0, np.array([1e3, 1e-4]), True)
    F = np.array([[20.0, 0.0, -1.0], [20.0, 0.0, -1.0]])
    others = np.log1p(np.exp(-20.0) + np.exp(-21.0))
    expected = 1e3 * others + 1e-4 * (20.0 + others)
    assert problem.loss(F) == pytest.approx(expected, rel=1e-14, abs=0.0)


def test_the_curvature_of_nearly_certain_rows_keeps_its_digits():
    problem = LogisticProblem(np.array([0, 1]), 3, 1.0, np.array([1e3, 1e3]), True)
    F = np.array([[30.0, 0.0, -1.0], [31.0, 0.5, -1.0]])
    P = probabilities(F)
    H = problem.curvature(F).total()
    others = P[:, 1] + P[:, 2]
    assert H[0, 0] == pytest.approx(1e3 * float(P[:, 0] @ others), rel=1e-13, abs=0.0)
    assert_allclose(H.sum(axis=1), 0.0, atol=1e-15 * H[0, 0])


@pytest.mark.parametrize("classes", [2, 3])
def test_the_best_offset_of_weights_of_all_sizes_takes_few_steps(classes, monkeypatch):
    codes = np.arange(50) % classes
    weights = np.where(codes == 0, 1e3, 1e-4)
    problem = LogisticProblem(codes, classes, 0.01, weights, True)
    looks, at = [], LogisticProblem._at
    monkeypatch.setattr(
        LogisticProblem, "_at", lambda self, G, b: looks.append(0) or at(self, G, b)
    )
    b = problem.best_offset(np.zeros((50, problem.columns)), np.zeros(problem.columns))
    shares = np.bincount(codes, weights) / weights.sum()
    assert_allclose(probabilities(b[None])[0], shares, rtol=1e-12)
    assert len(looks) < 60
