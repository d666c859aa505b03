"""The path in explicit features against the path of all entries, and against repeated fits."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from mercer.errors import MemoryLimitError
from mercer.estimators import KernelRidge
from mercer.kernels import Linear
from mercer.native import NotPositiveError
from mercer.solvers import FeaturePath, RidgePath
from mercer.solvers.ridge.feature_path import FeatureFits

N, P = 45, 6
ALPHAS = np.array([1e-3, 0.1, 20.0])
PLENTY = 10**8


@pytest.fixture
def F(rng):
    return rng.normal(size=(N, P)) + 1.5


@pytest.fixture
def Y(F, rng):
    return np.column_stack([np.sin(2.0 * F[:, 0]) + 5.0, F[:, 1] ** 2 + rng.normal(size=N)])


@pytest.fixture(params=[False, True], ids=["unweighted", "weighted"])
def weights(request, rng):
    return rng.uniform(0.2, 3.0, size=N) if request.param else np.ones(N)


@pytest.fixture(params=[True, False], ids=["offset", "no offset"])
def fit_intercept(request):
    return request.param


def missed(F, y, weights, alpha, fit_intercept, test):
    """What the fit without some rows misses there, by fitting."""
    train = np.setdiff1d(np.arange(len(F)), test)
    model = KernelRidge(Linear(), alpha, fit_intercept=fit_intercept, solver="primal")
    return y[test] - model.fit(F[train], y[train], weights[train]).predict(F[test])


def one_by_one(F, y, weights, alpha, fit_intercept=True):
    return np.array([missed(F, y, weights, alpha, fit_intercept, [j])[0] for j in range(len(F))])


def test_everything_is_as_on_the_path_of_all_entries(F, Y, weights, fit_intercept, rng):
    mine = FeaturePath(F, weights, fit_intercept, PLENTY).at(Y, ALPHAS)
    other = RidgePath(F @ F.T, weights, fit_intercept).at(Y, ALPHAS)
    G, block = rng.normal(size=(7, P)), np.arange(3, 20)
    assert_allclose(mine.leave_one_out(), other.leave_one_out(), rtol=1e-8, atol=1e-9)
    assert_allclose(mine.losses(), other.losses(), rtol=1e-9)
    assert_allclose(mine.leave_out(block), other.leave_out(block), rtol=1e-8, atol=1e-9)
    assert_allclose(mine.generalised(), other.generalised(), rtol=1e-9)
    assert_allclose(mine.predicted(G), other.predicted(G @ F.T), rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("alpha", [0.0, 1e-12, 0.3, 1e6])
def test_leave_one_out_errors_are_those_of_repeated_fits(F, Y, weights, fit_intercept, alpha):
    fits = FeaturePath(F, weights, fit_intercept, PLENTY).at(Y, np.array([alpha]))
    refits = one_by_one(F, Y, weights, alpha, fit_intercept)
    assert_allclose(fits.leave_one_out()[0], refits, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("size", [1, 2, 15, 30])
def test_leave_block_out_errors_are_those_of_repeated_fits(F, Y, weights, fit_intercept, size):
    test = np.random.default_rng(size).choice(N, size, replace=False)
    errors = FeaturePath(F, weights, fit_intercept, PLENTY).at(Y, ALPHAS).leave_out(test)
    for i, alpha in enumerate(ALPHAS):
        refits = missed(F, Y, weights, alpha, fit_intercept, test)
        assert_allclose(errors[i], refits, rtol=1e-8, atol=1e-10)


def test_a_row_far_from_all_others_is_held_out_like_any(F, Y, weights):
    F[4, 2] = 1e7
    alphas = np.array([1e-6, 0.1])
    fits = FeaturePath(F, weights, True, PLENTY).at(Y, alphas)
    for i, alpha in enumerate(alphas):
        refits = one_by_one(F, Y, weights, alpha)
        assert_allclose(fits.leave_one_out()[i], refits, rtol=1e-8)
        block = fits.leave_out(np.array([4, 9]))[i]
        assert_allclose(block, missed(F, Y, weights, alpha, True, [4, 9]), rtol=1e-8)


def test_a_row_that_outweighs_all_others_is_held_out_like_any(F, Y):
    weights = np.ones(N)
    weights[7] = 1e18
    fits = FeaturePath(F, weights, True, PLENTY).at(Y, np.array([0.1]))
    assert_allclose(fits.leave_one_out()[0, 7], one_by_one(F, Y, weights, 0.1)[7], rtol=1e-8)


def test_least_squares_cannot_predict_a_row_that_alone_has_a_feature(F, Y):
    F[:, 2] = 0.0
    F[4, 2] = 1.0
    errors = FeaturePath(F, np.ones(N), True, PLENTY).at(Y, np.array([0.0, 0.1])).leave_one_out()
    assert (errors[0, 4] == np.inf).all()
    assert np.isfinite(np.delete(errors[0], 4, axis=0)).all()
    assert_allclose(errors[1], one_by_one(F, Y, np.ones(N), 0.1), rtol=1e-8)


def test_generalised_cross_validation_of_least_squares_is_its_formula(F, Y):
    X = np.column_stack([np.ones(N), F])
    r = Y - X @ np.linalg.lstsq(X, Y, rcond=None)[0]
    criterion = FeaturePath(F, np.ones(N), True, PLENTY).at(Y, np.array([0.0])).generalised()
    assert_allclose(criterion[0], N * (r**2).sum(axis=0) / (N - P - 1) ** 2, rtol=1e-10)


def test_features_of_low_rank_have_their_path_and_no_least_squares(F, Y, fit_intercept):
    F = np.column_stack([F, F[:, 0], np.full(N, 2.0)])
    path = FeaturePath(F, np.ones(N), fit_intercept, PLENTY)
    refits = one_by_one(F, Y, np.ones(N), 0.1, fit_intercept)
    assert_allclose(path.at(Y, np.array([0.1])).leave_one_out()[0], refits, rtol=1e-8)
    with pytest.raises(NotPositiveError) as failure:
        path.at(Y, np.array([0.1, 0.0]))
    assert failure.value.position == 1


def test_sparse_features_have_the_path_of_dense_ones(F, Y, weights, fit_intercept):
    F = np.where(F > 2.0, F, 0.0)
    dense, sparse = (
        FeaturePath(features, weights, fit_intercept, PLENTY).at(Y, ALPHAS)
        for features in (F, sp.csr_array(F))
    )
    assert_allclose(sparse.leave_one_out(), dense.leave_one_out(), rtol=1e-9, atol=1e-11)
    assert_allclose(sparse.predicted(sp.csr_array(F[:4])), dense.predicted(F[:4]), rtol=1e-9)


def test_more_memory_than_allowed_is_refused(F):
    with pytest.raises(MemoryLimitError):
        FeaturePath(F, np.ones(N), True, 1000)


def test_errors_and_leverages_come_from_one_pass_by_blocks(
    F, Y, weights, fit_intercept, monkeypatch
):
    fits = FeaturePath(F, weights, fit_intercept, PLENTY).at(Y, ALPHAS)
    blocks, held_out = [], FeatureFits._held_out

    def counted(fits):
        for rows, errors, free in held_out(fits):
            blocks.append(rows)
            yield rows, errors, free

    monkeypatch.setattr(FeatureFits, "_held_out", counted)
    monkeypatch.setattr("mercer.data.blocks.MEMORY", 16)
    errors, free = fits.left_out()
    assert len(blocks) > 1
    assert [i for rows in blocks for i in range(N)[rows]] == list(range(N))
    assert_allclose(errors * free[:, :, None], fits.residuals(), rtol=1e-9, atol=1e-11)


def test_only_rows_that_the_others_do_not_determine_are_left_out_by_fits(F, Y, monkeypatch):
    seen = []
    refitted = FeatureFits._refitted

    def counted(fits, rows):
        seen.append(rows.tolist())
        return refitted(fits, rows)

    monkeypatch.setattr(FeatureFits, "_refitted", counted)
    F[7] = 1e9
    fits = FeaturePath(F, np.ones(N), True, PLENTY).at(Y, ALPHAS)
    fits.leave_one_out()
    fits.leave_out(np.arange(10, 14))
    fits.leave_out(np.arange(6, 9))
    assert seen == [[7], [6, 7, 8]]
