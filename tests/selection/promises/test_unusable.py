"""Candidates that cannot be fitted are left out of the choice, and named."""

import warnings

import numpy as np
import pytest

from mercer import KernelRidgeClassifierCV, KernelRidgeCV
from mercer.errors import ConvergenceWarning, IndefiniteKernelError
from mercer.kernels import Exponential, Gaussian, Linear, Polynomial, Sigmoid


@pytest.fixture
def twice(rng):
    """Rows that come twice in every column and every row, on which nothing is invertible."""
    X = rng.normal(size=(20, 2))
    X = np.column_stack([X, X])
    return np.vstack([X, X]), np.tile(np.sin(X[:, 0]), 2)


@pytest.mark.parametrize("cv", ["loo", "gcv", 4])
@pytest.mark.parametrize("kernel", [Gaussian(1.0), Linear(), Polynomial(2), Exponential(1.0).on(0)])
def test_a_ridge_of_zero_on_singular_rows_is_left_out(kernel, cv, twice):
    model = KernelRidgeCV(kernel, [0.0, 0.1, 10.0], cv=cv)
    with pytest.warns(ConvergenceWarning, match="with alpha = 0 cannot be fitted, and the choice"):
        model.fit(*twice)
    scores = model.cv_results_["mean_test_score"]
    assert np.isnan(scores[0])
    assert np.isfinite(scores[1:]).all()
    assert model.cv_results_["rank_test_score"][0] == 3
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        alone = KernelRidgeCV(kernel, [0.1, 10.0], cv=cv).fit(*twice)
    assert model.alpha_ == alone.alpha_
    assert model.best_score_ == alone.best_score_


def test_several_are_told_in_one_warning(twice):
    model = KernelRidgeClassifierCV([Gaussian(1.0), Gaussian(2.0)], [0.0, 1e-30, 1.0])
    with pytest.warns(ConvergenceWarning) as caught:
        model.fit(twice[0], twice[1] > 0.0)
    assert len(caught) == 1
    assert "and 3 more candidates cannot be fitted" in str(caught[0].message)
    assert caught[0].filename == __file__


def test_where_none_can_be_fitted_the_search_is_refused(twice):
    with pytest.raises(ValueError, match=r"no candidate can be fitted.*singular"):
        KernelRidgeCV(Gaussian(1.0), [0.0, 1e-30]).fit(*twice)


def test_an_indefinite_kernel_is_still_refused(twice):
    with pytest.raises(IndefiniteKernelError):
        KernelRidgeCV([Sigmoid(1.0, -5.0)], [0.0, 1.0]).fit(*twice)
