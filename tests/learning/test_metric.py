"""Metrics learned from the gradients of the fit."""

import numpy as np
import pytest

import mercer
from mercer import learn
from mercer.kernels import After, Gaussian, Laplacian, Linear, Project, Standardize


@pytest.fixture
def table(rng):
    """Rows of which the sum of the first two columns matters."""
    X = rng.normal(size=(150, 6))
    return X, np.sin(X[:, 0] + X[:, 1]) + 0.05 * rng.normal(size=150)


def test_by_columns_those_that_matter_have_the_shortest_scales(table):
    learned = learn("gaussian", *table, method="agop")
    assert set(np.argsort(learned.kernel.length_scale)[:2]) == {0, 1}
    assert learned.criterion == "loo"


def test_in_full_the_direction_that_matters_is_the_longest(table):
    kernel = learn("gaussian", *table, method="agop-full").kernel
    assert isinstance(kernel, After)
    assert isinstance(kernel.g, Project)
    R = np.array(kernel.g.R)
    first = np.linalg.svd(R)[2][0]
    assert abs(first[:2].sum()) / np.sqrt(2.0) > 0.99


def test_the_best_round_by_rows_left_out_is_kept(table):
    learned = learn("gaussian", *table, method="agop")
    assert learned.value == min(step.value for step in learned.history)
    assert len(learned.history) == 6


def test_the_value_is_the_error_on_rows_left_out(table):
    X, y = table
    learned = learn("gaussian", X, y, method="agop", max_iter=1)
    model = mercer.KernelRidge(learned.kernel, alpha=learned.alpha).fit(X, y)
    error = np.mean((y - model.leave_one_out_predictions_) ** 2)
    assert learned.value == pytest.approx(0.5 * len(y) * np.log(error), rel=1e-6)


def test_maps_columns_and_weights_stay_around_the_metric(table):
    X, y = table
    kernel = (2.0 * Gaussian("median").after(Standardize())).on(0, 1, 3)
    learned = learn(kernel, X, y, method="agop").kernel
    assert learned.columns == (0, 1, 3)
    assert learned.kernel.factor == 2.0
    assert np.argmax(learned.kernel.kernel.kernel.length_scale) == 2


@pytest.mark.parametrize("method", ["agop", "agop-full"])
def test_sums_are_refused_whichever_metric_is_wanted(method, table):
    with pytest.raises(ValueError, match=r"^the metric of one kernel with a length scale"):
        learn(Gaussian() + Linear(), *table, method=method)


def test_another_method_is_refused(table):
    with pytest.raises(ValueError, match="method must be one of gradient, agop, agop-full"):
        learn("gaussian", *table, method="newton")


def test_constant_targets_need_no_metric(points):
    assert learn(Laplacian(), points(5), np.ones(5), method="agop").ended_by == "targets"
