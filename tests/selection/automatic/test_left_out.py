"""What fits miss at rows left out, against fits without them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer import Gaussian, KernelRidge
from mercer.gram import gram_of
from mercer.native import NotPositiveError
from mercer.selection.automatic import left_out as module
from mercer.selection.automatic.left_out import left_out, wrong_share

ALPHAS = np.array([0.1, 2.0, 7.0])


@pytest.fixture
def rows(rng):
    return rng.normal(size=(12, 2)), rng.normal(size=(12, 2)), rng.uniform(0.5, 2.0, size=12)


def refitted(rows, groups):
    X, y, w = rows
    missed = np.empty((12, 3, 2))
    for group in np.unique(groups):
        out = groups == group
        for j, alpha in enumerate(ALPHAS):
            model = KernelRidge(Gaussian(1.0), alpha).fit(X[~out], y[~out], w[~out])
            missed[out, j] = y[out] - model.predict(X[out])
    return missed


def test_rows_left_out_one_by_one_have_the_errors_of_fits_without_them(rows):
    X, y, w = rows
    found = left_out(gram_of(Gaussian(1.0), X), y, ALPHAS, w, None)
    assert_allclose(found, refitted(rows, np.arange(12)), atol=1e-9)


def test_groups_left_out_have_the_errors_of_fits_without_them(rows):
    X, y, w = rows
    groups = np.arange(12) % 4
    found = left_out(gram_of(Gaussian(1.0), X), y, ALPHAS, w, groups)
    assert_allclose(found, refitted(rows, groups), atol=1e-9)


def test_a_ridge_with_which_a_system_is_singular_is_named(rows, monkeypatch):
    class Path:
        def __init__(self, K, w, fit_intercept):
            assert fit_intercept

        def at(self, y, alphas):
            return self

        def leave_out(self, rows):
            raise NotPositiveError(1)

    monkeypatch.setattr(module, "RidgePath", Path)
    X, y, w = rows
    with pytest.raises(ValueError, match=r"the system of alpha=2 is not positive definite"):
        left_out(gram_of(Gaussian(1.0), X), y, ALPHAS, w, np.arange(12) % 4)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_score_of_zero_is_of_the_first_class(sign):
    codes, scores = np.array([[sign], [sign]]), np.array([[0.0], [sign]])
    assert wrong_share(codes, scores, np.array([3.0, 1.0])) == (0.75 if sign > 0.0 else 0.0)
