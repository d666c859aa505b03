"""Columns by their ranks."""

import numpy as np
import pytest
from scipy.stats import norm

import mercer
from mercer import Gaussian, Linear, NormalScores
from mercer.kernels.scores import weighted_quantiles

X = np.random.default_rng(0).normal(size=(200, 2))


def test_scores_of_skewed_columns_are_normal():
    scores = NormalScores().resolved(np.exp(3.0 * X))(np.exp(3.0 * X))
    assert np.abs(np.sort(scores[:, 0]) - norm.ppf((np.arange(200) + 0.5) / 200)).max() < 0.5
    assert abs(scores.mean()) < 0.01
    assert abs(scores.std() - 1.0) < 0.05


def test_scores_do_not_depend_on_the_unit_nor_much_on_a_monotone_function():
    plain = NormalScores().resolved(X)(X)
    assert np.allclose(NormalScores().resolved(1e6 * X + 3.0)(1e6 * X + 3.0), plain, atol=1e-8)
    bent = NormalScores().resolved(np.exp(X))(np.exp(X))
    assert np.abs(bent - plain).max() < 0.1


def test_equal_values_have_one_score_and_a_constant_column_zero():
    values = np.array([[0.0, 7.0]] * 3 + [[1.0, 7.0]])
    scores = NormalScores().resolved(values)(values)
    assert len(np.unique(scores[:, 0])) == 2
    assert scores[0, 0] < scores[3, 0]
    assert np.array_equal(scores[:, 1], np.zeros(4))


def test_beyond_the_training_rows_the_score_stays():
    g = NormalScores().resolved(X)
    far, end = g(np.array([[1e9, -1e9]])), g(np.array([[X.max(), X.min()]]))
    assert np.array_equal(far, end)


def test_whole_weights_count_equal_rows():
    values, weights = X[:20, 0], np.arange(1.0, 21.0)
    levels = np.array([0.1, 0.5, 0.9])
    repeated = np.repeat(values, weights.astype(int))
    found = weighted_quantiles(values, weights, levels)
    assert np.abs(found - np.quantile(repeated, levels)).max() < 0.3
    constant = weighted_quantiles(values, np.ones(20), np.array([0.5]))
    assert constant == pytest.approx(np.median(values))


def test_the_language_reads_what_is_printed():
    k = Gaussian(1.0).after(NormalScores().resolved(X[:5])).on(0, 1)
    assert mercer.kernel(str(k)) == k
    assert str(NormalScores()) == "normal_scores()"
    assert k.check().status == "PROVED"


def test_the_derivative_is_that_of_differences():
    k = (Gaussian(1.0) + Linear()).after(NormalScores()).resolved(X)
    model = mercer.KernelRidge(k, 0.1).fit(X, X[:, 0] ** 2)
    at, step = X[:5] + 1e-4, 1e-7
    found = model.gradient(at)
    for j in range(2):
        moved = np.zeros(2)
        moved[j] = step
        slope = (model.predict(at + moved) - model.predict(at - moved)) / (2.0 * step)
        assert np.allclose(found[:, j], slope, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("knots", "said"),
    [(((1.0, 0.0),), "ascending"), (((1.0,), (1.0, 2.0)), "rows of one length"), (3, "matrix")],
)
def test_knots_that_are_none_are_refused(knots, said):
    with pytest.raises(ValueError, match=said):
        NormalScores(knots)


def test_other_columns_are_refused():
    with pytest.raises(ValueError, match="fitted to 2 columns, got 3"):
        NormalScores().resolved(X)(np.ones((2, 3)))
