"""What follows from a solved system in closed form, against fits that are written out."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.gram import (
    FeatureGram,
    LowRankGram,
    PrecomputedGram,
    chain_of,
    gram_of,
    landmark_gram,
)
from mercer.kernels import Exponential, Gaussian, Linear
from mercer.solvers import RidgeProblem
from mercer.solvers.ridge.held_out import (
    copies_of,
    few_features,
    held_out,
    leave_one_out,
    less_one,
    smoothers,
)


def ridge(K, y, weights, alpha=0.3):
    """The fitted values of ridge regression with a free offset, by the whole system."""
    n = len(K)
    matrix = np.block([[K + np.diag(alpha / weights), np.ones((n, 1))], [np.ones(n), 0.0]])
    a, b = np.split(np.linalg.solve(matrix, np.append(y, 0.0)), [n])
    return lambda k: k @ a + b[0]


@pytest.fixture
def rows(rng):
    X = rng.normal(size=(12, 2))
    K = np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    return K, np.sin(X[:, 0]) + 0.3 * rng.normal(size=12)


def test_one_copy_less_is_the_fit_with_a_weight_less_by_one(rows):
    K, y = rows
    copies = np.array([1.0, 2.0, 3.0, 5.0] * 3)
    fitted = y - ridge(K, y, copies)(K)
    left_out, expected = np.empty(12), np.empty(12)
    for i in range(12):
        rest = np.arange(12) != i
        left_out[i] = y[i] - ridge(K[np.ix_(rest, rest)], y[rest], copies[rest])(K[i, rest])
        less = copies - (np.arange(12) == i)
        used = less > 0.0
        expected[i] = y[i] - ridge(K[np.ix_(used, used)], y[used], less[used])(K[i, used])
    assert_allclose(less_one(left_out, fitted, copies), expected, rtol=1e-9)


def test_less_than_one_copy_is_left_out_as_a_whole():
    left_out, fitted = np.array([2.0, -3.0]), np.array([1.0, -1.0])
    assert less_one(left_out, fitted, np.array([0.5, 1.0])).tolist() == [2.0, -3.0]


def test_a_row_that_its_own_absence_does_not_move_keeps_its_residual():
    # Both residuals vanish: the row lies on the function with it and without it.
    assert less_one(np.zeros(1), np.zeros(1), np.array([4.0])).tolist() == [0.0]


def test_a_row_without_which_nothing_is_determined_is_predicted_by_nothing():
    a, diagonal = np.array([[2.0], [-2.0], [0.5]]), np.array([0.0, 0.0, 0.25])
    assert held_out(a, diagonal)[:, 0].tolist() == [np.inf, -np.inf, 2.0]


# Entries, features that are few, points on a line, and as many landmarks as rows.
@pytest.mark.parametrize(
    ("make", "kernel", "columns"),
    [
        (gram_of, Gaussian(1.0), 3),
        (FeatureGram, Linear(), 3),
        (chain_of, Exponential(), 1),
        (lambda kernel, X: landmark_gram(kernel, X, len(X)), Gaussian(1.0), 3),
    ],
)
def test_what_is_known_without_a_row_and_the_smoother_are_those_of_the_whole_system(
    rng, make, kernel, columns
):
    X = rng.normal(size=(12, columns))
    gram, K, w = make(kernel, X), kernel(X), rng.uniform(0.5, 2.0, size=12)
    Y, alphas = rng.normal(size=(12, 3)), np.array([0.3, 2.0, 0.3])
    problem = RidgeProblem(Y, alphas, w, True)
    expected, fitted, variances = (np.empty((12, 3)) for _ in range(3))
    for t in range(3):
        fitted[:, t] = ridge(K, Y[:, t], w, alphas[t])(K)
        for i in range(12):
            rest = np.arange(12) != i
            without = ridge(K[np.ix_(rest, rest)], Y[rest, t], w[rest], alphas[t])
            expected[i, t] = Y[i, t] - without(K[i, rest])
            part = RidgeProblem(Y[rest, t : t + 1], alphas[t : t + 1], w[rest], True)
            (left,) = smoothers(make(kernel, X[rest]), part)
            v = left.variance(X[i : i + 1], kernel.diagonal(X[i : i + 1]))
            variances[i, t] = v[0] + alphas[t] / w[i]
    found = leave_one_out(gram, problem)
    assert_allclose(found.residuals, expected, rtol=1e-8)
    assert_allclose(found.variances, variances, rtol=1e-8)
    seen = []
    for smoother in smoothers(gram, problem):
        seen.append(smoother.targets.tolist())
        H = smoother.weights(X)
        assert_allclose(H.T @ Y[:, smoother.targets], fitted[:, smoother.targets], rtol=1e-8)
    assert sorted(seen) == [[0, 2], [1]]


def test_features_are_few_where_they_are_fewer_than_rows(rng):
    F = rng.normal(size=(5, 5))
    assert few_features(LowRankGram(F)) is None
    assert few_features(LowRankGram(np.hstack([F, F]))) is None
    assert_allclose(few_features(LowRankGram(F[:, :4])), F[:, :4])
    assert few_features(PrecomputedGram(np.eye(5))) is None


@pytest.mark.parametrize("part", [1.25, 1.75])
def test_weights_of_which_one_is_no_whole_number_count_no_copies(part):
    assert copies_of(np.array([3.0, 2.0])).tolist() == [3.0, 2.0]
    assert copies_of(np.array([3.0, part])).tolist() == [1.0, 1.0]


def test_a_variance_that_rounding_makes_negative_is_zero(rng):
    X, problem = (
        rng.normal(size=(8, 1)),
        RidgeProblem(np.ones((8, 1)), np.ones(1), np.ones(8), True),
    )
    (smoother,) = smoothers(PrecomputedGram(Gaussian(1.0)(X)), problem)
    X = np.arange(8)[:, None]
    assert smoother.variance(Gaussian(1.0)(X), np.zeros(8)).tolist() == [0.0] * 8
