"""Gradients of fitted functions in every form, and of the estimators that hold them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import mercer
from mercer.functions import DualFunction, LineFunction, PairFunction, PrimalFunction


def differences(f, X, step=1e-5):
    """Central differences of f by every column, of shape (n, columns, ...)."""
    moves = step * np.eye(X.shape[1])
    return np.stack([(f(X + move) - f(X - move)) / (2.0 * step) for move in moves], axis=1)


@pytest.fixture
def table(rng):
    X = rng.normal(size=(60, 3))
    return X, np.sin(X[:, 0]) + 0.1 * X[:, 1] ** 2


def test_of_a_ridge_it_is_the_slope_of_its_predictions(table):
    X, y = table
    model = mercer.KernelRidge(mercer.Gaussian((1.0, 2.0, 3.0)), alpha=0.1).fit(X, y)
    assert model.gradient(X[:7]).shape == (7, 3)
    assert_allclose(model.gradient(X[:7]), differences(model.predict, X[:7]), atol=1e-6)


@pytest.mark.parametrize("targets", [1, 2])
def test_of_several_targets_there_is_one_each(table, targets):
    X, y = table
    Y = np.column_stack([y, y**2])[:, :targets]
    model = mercer.KernelRidge("matern32", alpha=0.1).fit(X, Y)
    assert model.gradient(X[:4]).shape == (4, 3, targets)
    assert_allclose(model.gradient(X[:4]), differences(model.predict, X[:4]), atol=1e-6)


def test_by_explicit_features_it_is_the_same(table):
    X, y = table
    model = mercer.KernelRidge(mercer.Polynomial(2), alpha=0.1, solver="primal").fit(X, y)
    assert isinstance(model.function_, PrimalFunction)
    assert_allclose(model.gradient(X[:4]), differences(model.predict, X[:4]), atol=1e-6)


def test_on_a_line_it_is_the_same(table):
    X, y = table
    model = mercer.KernelRidge(mercer.Exponential(1.0), alpha=0.1, solver="banded")
    model.fit(X[:, :1], y)
    assert isinstance(model.function_, LineFunction)
    between = X[:5, :1] + 1e-3
    assert_allclose(model.gradient(between), differences(model.predict, between, 1e-7), atol=1e-5)


@pytest.mark.parametrize("machine", [mercer.KernelRegressor, mercer.KernelClassifier])
def test_of_an_automatic_machine_it_is_that_of_its_model(machine, rng):
    X = rng.normal(size=(25, 3))
    y = X[:, 0] + X[:, 1] ** 2
    model = machine().fit(X, y if machine is mercer.KernelRegressor else y > 1.0)
    f = model.predict if machine is mercer.KernelRegressor else model.decision_function
    between = X[:5] + 1e-2
    assert model.gradient(between).shape == (5, 3)
    slopes = differences(f, between)
    assert_allclose(model.gradient(between), slopes, atol=1e-5 * np.abs(slopes).max())


@pytest.mark.parametrize("classes", [2, 3])
def test_of_classifiers_it_is_the_slope_of_the_decision_function(table, classes):
    X, y = table
    labels = np.digitize(y, np.quantile(y, np.linspace(0.0, 1.0, classes + 1)[1:-1]))
    for model in (
        mercer.KernelLogisticRegression(mercer.Gaussian(2.0)),
        mercer.KernelSVC(mercer.Gaussian(2.0), decision_function_shape="ovo"),
    ):
        model.fit(X, labels)
        found = model.gradient(X[:5])
        assert_allclose(found, differences(model.decision_function, X[:5]), atol=1e-5)


def test_a_pair_function_has_a_gradient_for_every_pair(table):
    X, y = table
    labels = np.digitize(y, np.quantile(y, [0.33, 0.66]))
    model = mercer.KernelSVC(mercer.Gaussian(2.0)).fit(X, labels)
    assert isinstance(model.function_, PairFunction)
    assert model.function_.gradient(X[:4]).shape == (4, 3, 3)


def test_the_estimator_that_chooses_has_that_of_its_choice(table):
    X, y = table
    model = mercer.KernelRidgeCV([mercer.Gaussian(1.0)], alphas=[0.1]).fit(X, y)
    assert_allclose(model.gradient(X[:3]), model.best_estimator_.gradient(X[:3]))


def test_a_table_has_a_gradient_by_each_column_that_the_model_reads(table):
    pd = pytest.importorskip("pandas")
    X, y = table
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(kind=["u", "v"] * 30)
    kernel = mercer.kernel("gaussian(length_scale=2.0).on(a, c) + match().on(kind)")
    model = mercer.KernelRidge(kernel, alpha=0.1).fit(frame, y)
    found = model.gradient(frame.head(5))
    assert model.feature_names_in_.tolist() == ["a", "c", "kind"]
    assert found.shape == (5, 3)
    assert (found[:, 2] == 0.0).all()
    assert found[:, :2].all()


def test_sparse_rows_have_the_gradient_of_dense_ones(table):
    sp = pytest.importorskip("scipy.sparse")
    X, y = table
    X = np.where(np.abs(X) > 0.5, X, 0.0)
    dense, sparse = (
        mercer.KernelRidge(mercer.Gaussian(2.0), alpha=0.1).fit(A, y).gradient(A[:4])
        for A in (X, sp.csr_array(X))
    )
    assert_allclose(dense, sparse, atol=1e-10)


def test_a_function_without_training_rows_is_refused(table):
    X, _ = table
    f = PrimalFunction(mercer.Linear(), None, np.ones((3, 1)), np.zeros(1))
    with pytest.raises(ValueError, match="the training rows of f are not kept"):
        f.gradient(X)


def test_a_finished_matrix_has_no_gradient():
    f = DualFunction(mercer.Precomputed(), np.eye(3), np.ones((3, 1)), np.zeros(1), np.arange(3))
    with pytest.raises(ValueError, match="of a finished Gram matrix has no gradient"):
        f.gradient(np.eye(3))


def test_rows_of_text_have_no_columns_to_differentiate_by():
    model = mercer.KernelRidge(mercer.Spectrum(2), alpha=0.1).fit(["abc", "abe", "bcd"], [1, 2, 3])
    with pytest.raises(ValueError, match="rows with columns are needed, got list"):
        model.gradient(["abc"])
