"""What every estimator says of settings, rows and targets that it cannot take."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from sklearn.exceptions import NotFittedError

import mercer
from mercer.errors import IndefiniteKernelError
from mercer.kernels import Gaussian, Laplacian, Linear, Sigmoid, Standardize
from refusals import refuses

REGRESSORS = (mercer.KernelRidge, mercer.KernelSVR, mercer.KernelRidgeCV)
CLASSIFIERS = (
    mercer.KernelSVC,
    mercer.KernelLogisticRegression,
    mercer.KernelRidgeClassifier,
    mercer.KernelLogisticRegressionCV,
)
ESTIMATORS = REGRESSORS + CLASSIFIERS
HAVE_REPAIR = (
    mercer.KernelRidge,
    mercer.KernelSVR,
    mercer.KernelSVC,
    mercer.KernelLogisticRegression,
    mercer.KernelRidgeClassifier,
)


@pytest.fixture
def X(rng):
    return rng.normal(size=(20, 3))


@pytest.fixture
def y(X):
    return (X[:, 0] > 0.0).astype(float)


@pytest.mark.parametrize("kind", ESTIMATORS)
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_target_that_is_no_number_is_named_by_its_row(X, y, kind, bad):
    y[7] = bad
    what = "NaN" if np.isnan(bad) else "infinity or a value too large for float64"
    refuses(f"Input y contains {what} at row 7", kind().fit, X, y)


@pytest.mark.parametrize("kind", REGRESSORS)
def test_a_missing_target_among_objects_is_named_by_its_row(X, y, kind):
    targets = [*y[:7], None, *y[8:]]
    refuses("Input y contains NaN at row 7", kind().fit, X, targets)


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_rows_and_targets_of_unequal_number_are_refused_in_one_text(X, y, kind):
    refuses("X has 20 rows but y has 19; they must agree", kind().fit, X, y[:-1])


@pytest.mark.parametrize("kind", ESTIMATORS)
@pytest.mark.parametrize("flag", ["no", 1, None])
def test_a_flag_that_is_neither_true_nor_false_is_refused(X, y, kind, flag):
    model = kind(fit_intercept=flag)
    refuses(f"fit_intercept must be True or False, got {flag!r}", model.fit, X, y)


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_a_whole_number_beyond_floats_is_named_by_its_cell(X, y, kind):
    cells = X.astype(object)
    cells[3, 1] = 10**400
    told = "X holds a whole number at row 3, column 1 beyond 1.8e308"
    refuses(told, kind().fit, cells, y)
    refuses(told, kind().fit, cells.tolist(), y)
    refuses(told, kind().fit(X, y).predict, cells)


@pytest.mark.parametrize("kind", ESTIMATORS)
@pytest.mark.parametrize(("cell", "error"), [([1.0, 2.0], ValueError), ({}, TypeError)])
def test_a_cell_that_is_no_number_is_named(X, y, kind, cell, error):
    cells = X.astype(object)
    cells[3, 1] = cell
    told = f"X holds a {type(cell).__name__} at row 3, column 1, which is no number"
    refuses(told, kind().fit, cells, y, error=error)


@pytest.mark.parametrize("kind", [mercer.KernelRidge, mercer.KernelSVC, mercer.KernelRidgeCV])
def test_a_gap_in_a_finished_matrix_is_not_to_be_standardized(X, y, kind):
    K = X @ X.T
    K[3, 4] = np.nan
    with pytest.raises(ValueError, match="X contains NaN at row 3, column 4 of a prec") as caught:
        kind("precomputed").fit(K, y)
    assert "Standardize" not in str(caught.value)


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_array])
def test_room_behind_the_entries_of_a_sparse_matrix_is_not_read(X, y, kind):
    roomy = kind(X)
    roomy.data = np.append(roomy.data, np.nan)
    roomy.indices = np.append(roomy.indices, 0)
    plain = mercer.KernelRidge(Linear()).fit(kind(X), y)
    assert_array_equal(mercer.KernelRidge(Linear()).fit(roomy, y).predict(X), plain.predict(X))
    assert_array_equal(Linear()(roomy), Linear()(kind(X)))


@pytest.mark.parametrize("kind", HAVE_REPAIR)
def test_an_estimator_that_can_repair_an_indefinite_kernel_says_how(X, y, kind):
    told = "use another kernel, or repair='clip', 'flip' or 'shift' (the rows"
    refuses(told, kind(Sigmoid(1.0, -1.0)).fit, X, y, error=IndefiniteKernelError)


@pytest.mark.parametrize("kind", [mercer.KernelRidgeCV, mercer.KernelPCA])
def test_an_estimator_that_cannot_repair_names_one_that_can(X, y, kind):
    told = "use another kernel, or repair= of an estimator that has it, such as KernelRidge"
    refuses(told, kind(Sigmoid(1.0, -1.0)).fit, X, y, error=IndefiniteKernelError)


@pytest.mark.parametrize(
    "kind", [mercer.KernelSVC, mercer.KernelSVR, mercer.KernelLogisticRegression]
)
def test_a_price_whose_squares_overflow_is_refused_in_one_text(X, y, kind):
    refuses("C times the largest weight is 1e+300, whose squares", kind(C=1e300).fit, X, y)
    refuses("C times the largest weight is 1e+150", kind(C=1e100).fit, X, y, 1e50 * np.ones(20))


@pytest.mark.parametrize("kernel", ["gaussian", "rbf"])
@pytest.mark.parametrize("size", [1e-160, 1e-300])
def test_rows_too_close_for_squares_are_refused_and_not_taken_for_one(X, y, kernel, size):
    model = mercer.KernelSVR(kernel)
    refuses("the squares of distances between rows are too small", model.fit, size * X, y)


def test_columns_too_small_to_be_standardized_are_refused_and_others_are_not(X, y):
    kernel = Gaussian(2.0).after(Standardize())
    plain = mercer.KernelRidge(kernel).fit(X, y).predict(X)
    small = mercer.KernelRidge(kernel).fit(1e-300 * X, y).predict(1e-300 * X)
    np.testing.assert_allclose(small, plain, rtol=1e-9)
    refuses("column 0 has the standard deviation", mercer.KernelRidge(kernel).fit, 1e-310 * X, y)


def test_a_large_gamma_is_a_kernel_and_a_small_one_is_refused_by_its_name():
    assert Gaussian.from_gamma(1e308).length_scale == pytest.approx(
        2.0**-0.5 * 1e-154, rel=1e-12, abs=0.0
    )
    refuses("1 / gamma is no number, got gamma=1e-310", Laplacian.from_gamma, 1e-310)


@pytest.mark.parametrize("kind", [Gaussian, Laplacian])
def test_a_kernel_given_by_gamma_says_what_constructs_it(kind):
    name = kind.__name__
    with pytest.raises(TypeError, match=rf"{name} has no argument 'gamma'; use {name}.from_gamma"):
        kind(gamma=1.0)


def test_components_in_the_place_of_the_kernel_are_to_be_named():
    with pytest.raises(TypeError, match="number of components by its name, n_components=3"):
        mercer.KernelPCA(3, kernel="rbf")
    with pytest.raises(TypeError, match="give every argument once, by its name"):
        mercer.KernelRidge("rbf", kernel="linear")


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_a_model_that_is_not_fitted_is_named_as_what_it_is(X, kind):
    methods = [m for m in ("predict", "decision_function", "predict_proba") if hasattr(kind, m)]
    for method in methods:
        told = f"This {kind.__name__} instance is not fitted yet"
        refuses(told, getattr(kind(), method), X, error=NotFittedError)


@pytest.mark.parametrize("count", ["ten", 0, 1.5, True, [3]])
@pytest.mark.parametrize("kind", ESTIMATORS)
def test_landmarks_that_are_no_count_are_refused(X, y, kind, count):
    machine = kind(solver="nystrom", n_landmarks=count)
    refuses("n_landmarks must be a whole number", machine.fit, X, y)


@pytest.mark.parametrize("count", ["ten", -2, True])
def test_so_are_they_by_a_fit_to_one_batch_after_the_other(X, y, count):
    machine = mercer.KernelRidge(solver="sgd", n_landmarks=count)
    said = f"n_landmarks must be a whole number of at least 1, got {count!r}"
    refuses(said, machine.partial_fit, X, y)


@pytest.mark.parametrize(
    "kind",
    [mercer.KernelRidge, mercer.KernelSVR, mercer.KernelSVC, mercer.KernelLogisticRegression],
)
def test_blocks_without_targets_are_refused_as_rows_without_them_are(X, kind):
    said = "requires y to be passed, but the target y is None"
    refuses(said, kind(solver="nystrom").fit, lambda: iter([X]))


def test_an_iterator_is_refused_with_what_to_give_in_its_place(X, y):
    refuses("give a function that returns it anew", mercer.KernelRidge().fit, iter([X]), y)
