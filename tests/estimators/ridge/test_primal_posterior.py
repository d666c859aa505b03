"""Held-out predictions, intervals and deviations after a fit in explicit features."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.linear_model import LinearRegression

from mercer import KernelRidge, Linear, Polynomial
from mercer.errors import MemoryLimitError

KERNELS = [Linear(), Polynomial(2), 2.0 * Linear(1.0)]


def rows(rng, n=40):
    X = rng.normal(size=(n, 3)) + 1.0
    return X, X @ [1.0, -2.0, 0.5] + 0.3 * rng.normal(size=n) + 4.0


def without(model, X, y, weights, i):
    rest = np.arange(len(X)) != i
    return model.fit(X[rest], y[rest], None if weights is None else weights[rest])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_all_of_it_is_as_after_the_exact_factor(rng, kernel, fit_intercept, weighted):
    X, y = rows(rng)
    weights = rng.uniform(0.2, 3.0, len(X)) if weighted else None
    new = rng.normal(size=(9, 3))
    primal, dual = (
        KernelRidge(kernel, 0.3, fit_intercept=fit_intercept, solver=solver).fit(X, y, weights)
        for solver in ("primal", "cholesky")
    )
    assert_allclose(
        primal.leave_one_out_predictions_, dual.leave_one_out_predictions_, rtol=1e-8, atol=1e-9
    )
    assert_allclose(
        primal.predict(new, return_std=True), dual.predict(new, return_std=True), rtol=1e-8
    )
    assert_allclose(primal.predict_interval(new), dual.predict_interval(new), rtol=1e-8, atol=1e-8)


def test_memory_for_a_gram_matrix_is_not_needed(rng):
    X, y = rows(rng, 2000)
    model = KernelRidge(Linear(), 0.3, memory="1MB").fit(X, y)
    slow = without(KernelRidge(Linear(), 0.3), X, y, None, 7).predict(X[7:8])
    assert_allclose(model.leave_one_out_predictions_[7], slow[0], rtol=1e-10)
    deviation = model.predict(X[:5], return_std=True)[1]
    Z = X - X.mean(axis=0)
    N = np.linalg.inv(Z.T @ Z + 0.3 * np.eye(3))
    expected = 0.3 * (np.einsum("ij,jk,ik->i", Z, N, Z) + 1 / len(X))[:5]
    assert_allclose(deviation**2, expected, rtol=1e-9)
    low, high = model.predict_interval(X[:5])
    assert (low < high).all()
    with pytest.raises(MemoryLimitError):
        KernelRidge(Linear(), 0.3, memory="1MB", solver="cholesky").fit(X, y)


def test_least_squares_has_its_leave_one_out_predictions(rng):
    X, y = rows(rng)
    model = KernelRidge(Linear(), 0.0).fit(X, y)
    slow = [without(LinearRegression(), X, y, None, i).predict(X[i : i + 1])[0] for i in range(40)]
    assert_allclose(model.leave_one_out_predictions_, slow, rtol=1e-9)
    assert_allclose(model.predict(X, return_std=True)[1], 0.0, atol=1e-7)


def test_least_squares_says_infinite_where_the_other_rows_determine_nothing(rng):
    X, y = rows(rng)
    X[:, 2] = 0.0
    X[4, 2] = 1.0
    model = KernelRidge(Linear(), 0.0).fit(X, y)
    held_out = model.leave_one_out_predictions_
    assert np.isinf(held_out[4])
    assert np.isfinite(np.delete(held_out, 4)).all()
    low, high = model.predict_interval(X, coverage=0.9)
    assert not np.isnan(low).any()
    assert not np.isnan(high).any()
    assert (low <= high).all()


def test_every_target_may_have_a_ridge_of_its_own(rng):
    X, y = rows(rng)
    Y = np.column_stack([y, y**2, X[:, 0]])
    model = KernelRidge(Polynomial(2), [0.1, 5.0, 0.1], solver="primal").fit(X, Y)
    for t, alpha in enumerate([0.1, 5.0, 0.1]):
        alone = KernelRidge(Polynomial(2), alpha, solver="cholesky").fit(X, Y[:, t])
        mine, others = model.leave_one_out_predictions_[:, t], alone.leave_one_out_predictions_
        assert_allclose(mine, others, rtol=1e-7)
        deviations = (m.predict(X, return_std=True)[1] for m in (model, alone))
        assert_allclose(next(deviations)[:, t], next(deviations), rtol=1e-7)


def test_rows_of_no_weight_and_sparse_rows_are_known_as_well(rng):
    X, y = rows(rng)
    X = np.where(X > 0.5, X, 0.0)
    weights = rng.uniform(0.5, 2.0, len(X)) * (np.arange(len(X)) % 4 > 0)
    sparse = KernelRidge(Linear(), 0.3, solver="primal").fit(sp.csr_array(X), y, weights)
    dense = KernelRidge(Linear(), 0.3, solver="cholesky").fit(X, y, weights)
    assert_allclose(sparse.leave_one_out_predictions_, dense.leave_one_out_predictions_, rtol=1e-8)
    deviations = sparse.predict(sp.csr_array(X), return_std=True)[1]
    assert_allclose(deviations, dense.predict(X, return_std=True)[1], rtol=1e-8)


def test_more_features_than_rows_go_through_the_gram_matrix(rng):
    X = rng.normal(size=(12, 30))
    model = KernelRidge(Linear(), 0.3, solver="primal").fit(X, X[:, 0])
    other = KernelRidge(Linear(), 0.3, solver="cholesky").fit(X, X[:, 0])
    assert_allclose(model.leave_one_out_predictions_, other.leave_one_out_predictions_, rtol=1e-8)
    deviations = (m.predict(X[:3], return_std=True)[1] for m in (model, other))
    assert_allclose(next(deviations), next(deviations), rtol=1e-8)
