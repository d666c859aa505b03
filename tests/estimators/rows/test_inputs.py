"""What KernelRidge takes, and what it refuses."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from mercer.estimators import (
    KernelLogisticRegression,
    KernelPCA,
    KernelPerceptron,
    KernelRidge,
    KernelSVC,
    KernelSVR,
)
from mercer.kernels import FromFunction, Gaussian, Linear, Periodic

TABLES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}


@pytest.fixture
def X(rng):
    return rng.normal(size=(40, 3))


@pytest.fixture
def y(X):
    return np.cos(X[:, 0]) + X[:, 2]


@pytest.fixture
def expected(X, y):
    return KernelRidge(Gaussian(1.0), 0.1).fit(X, y).predict(X)


def columns_of(X):
    return {name: column.copy() for name, column in zip("abc", X.T, strict=True)}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_a_table_of_numbers_is_a_matrix(X, y, expected, table):
    model = KernelRidge(Gaussian(1.0), 0.1).fit(table(columns_of(X)), y)
    assert_allclose(model.predict(table(columns_of(X))), expected, rtol=1e-12)
    assert model.n_features_in_ == 3
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_a_kernel_reads_the_columns_it_names(X, y, table):
    named = Gaussian(1.0).on("a") + Linear().on("c", "b")
    by_position = Gaussian(1.0).on(0) + Linear().on(2, 1)
    expected = KernelRidge(by_position, 0.1).fit(X, y).predict(X[:9])
    data = table({**columns_of(X), "text": ["word"] * 40})
    model = KernelRidge(named, 0.1).fit(data, y)
    assert_allclose(model.predict(data)[:9], expected, rtol=1e-12)
    assert model.n_features_in_ == 3
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_rows_of_no_weight_are_dropped_from_a_table(X, y, table):
    kernel = Gaussian("median").on("a", "b")
    weights = (np.arange(40) % 2).astype(float)
    model = KernelRidge(kernel).fit(table(columns_of(X)), y, weights)
    odd = KernelRidge(kernel).fit(table(columns_of(X[1::2])), y[1::2])
    data = table(columns_of(X))
    assert_allclose(model.predict(data), odd.predict(data), rtol=1e-10)


def test_targets_and_weights_may_be_series(X, y, expected):
    for series in (pd.Series, pl.Series, list):
        model = KernelRidge(Gaussian(1.0), 0.1).fit(X, series(y), series(np.ones(40)))
        assert_allclose(model.predict(X), expected, rtol=1e-12)


def test_columns_of_numbers_in_another_order_give_the_right_answer(X, y):
    data = pd.DataFrame(columns_of(X))
    model = KernelRidge(Gaussian((1.0, 2.0, 3.0))).fit(data, y)
    assert_allclose(model.predict(data[["b", "a", "c"]]), model.predict(data), rtol=1e-12)


def test_masked_entries_are_refused_wherever_they_are(X, y):
    hidden = np.zeros(X.shape, bool)
    hidden[3, 1] = True
    some = np.ma.masked_array(y, hidden[:, 1])
    for estimator, targets in ((KernelRidge(), y), (KernelSVC(), y > 0.0), (KernelSVR(), y)):
        with pytest.raises(ValueError, match="X is a masked array with 1 masked entries"):
            estimator.fit(np.ma.masked_array(X, hidden), targets)
        with pytest.raises(ValueError, match="y is a masked array with 1 masked entries"):
            estimator.fit(X, np.ma.masked_array(targets, hidden[:, 1]))
        with pytest.raises(ValueError, match="sample_weight is a masked array"):
            estimator.fit(X, targets, sample_weight=abs(some))
        whole = np.ma.masked_array(X, np.zeros(X.shape, bool))
        assert_allclose(
            estimator.fit(whole, targets).predict(whole), estimator.fit(X, targets).predict(X)
        )


def test_a_column_that_is_not_there_is_named(X, y):
    with pytest.raises(ValueError, match=r"no column 'd' in the table; it has 'a', 'b', 'c'"):
        KernelRidge(Gaussian().on("d")).fit(pd.DataFrame(columns_of(X)), y)
    with pytest.raises(ValueError, match=r"X is a matrix without column names"):
        KernelRidge(Gaussian().on("d")).fit(X, y)


def test_a_missing_value_in_a_named_column_is_refused(X, y):
    data = pd.DataFrame(columns_of(X))
    data.loc[3, "b"] = np.nan
    KernelRidge(Gaussian().on("a")).fit(data, y)
    with pytest.raises(ValueError, match="NaN at row 3"):
        KernelRidge(Gaussian().on("a", "b")).fit(data, y)


def test_a_dict_of_columns_is_refused(X, y):
    with pytest.raises(ValueError, match="dict of columns; pass a pandas or polars table"):
        KernelRidge(Gaussian().on("a")).fit(columns_of(X), y)


@pytest.mark.parametrize("kernel", ["gaussian", "auto", Gaussian().on("a")], ids=str)
def test_an_array_of_fields_is_refused_with_the_table_to_make_of_it(X, y, kernel):
    fields = np.rec.fromarrays(X.T, names="a,b,c")
    with pytest.raises(ValueError, match=r"fields 'a', 'b', 'c'; pass pandas.DataFrame\(X\)$"):
        KernelRidge(kernel).fit(np.asarray(fields), y)
    assert KernelRidge(kernel).fit(pd.DataFrame(fields), y).score(pd.DataFrame(fields), y) > 0.0


def test_columns_of_few_values_as_pandas_keeps_them_are_numbers(X, y):
    X = np.where(np.abs(X) > 0.5, X, 0.0)
    data = pd.DataFrame(columns_of(X)).astype(pd.SparseDtype(float, 0.0))
    expected = KernelRidge("gaussian", 0.1).fit(X, y)
    assert_allclose(KernelRidge("gaussian", 0.1).fit(data, y).predict(data), expected.predict(X))


@pytest.mark.parametrize("container", [sp.csr_array, sp.csc_array, sp.csr_matrix, sp.coo_array])
def test_sparse_rows_give_the_same_model(X, y, container):
    X = np.where(np.abs(X) > 0.5, X, 0.0)
    expected = KernelRidge("gaussian", 0.1).fit(X, y)
    model = KernelRidge("gaussian", 0.1).fit(container(X), y, np.ones(40))
    assert_allclose(model.predict(container(X)), expected.predict(X), rtol=1e-10)
    assert_allclose(model.predict(X), expected.predict(X), rtol=1e-10)


@pytest.mark.parametrize("kernel", ["linear", "gaussian", "laplacian"])
@pytest.mark.parametrize("Model", [KernelRidge, KernelSVC, KernelSVR])
def test_a_damaged_sparse_matrix_is_refused_in_fit_and_predict(X, y, Model, kernel):
    sound, damaged = sp.csr_array(X), sp.csr_array(X)
    damaged.indices[-1] = 300
    targets = (y > 0).astype(int)
    said = r"^X has an entry at row 39, column 300, outside of its shape \(40, 3\); build it again"
    with pytest.raises(ValueError, match=said):
        Model(kernel).fit(damaged, targets)
    model = Model(kernel).fit(sound, targets)
    with pytest.raises(ValueError, match=said):
        model.predict(damaged)


@pytest.mark.parametrize(
    "kernel",
    ["linear()", 'gaussian("median")', "laplacian(2.0)", "polynomial(2, 1.0, 0.5)", "sobolev()"],
)
@pytest.mark.parametrize("Model", [KernelRidge, KernelSVC, KernelSVR])
def test_the_widest_sparse_rows_are_learnt_from_in_the_columns_they_use(X, y, Model, kernel):
    narrow = np.column_stack([np.abs(X), np.zeros(40)])
    places = np.array([0, 10**5, 2**31 - 2, 7])
    rows, columns = np.nonzero(narrow)
    wide = sp.csr_array((narrow[rows, columns], (rows, places[columns])), shape=(40, 2**31 - 1))
    targets = (y > 0).astype(int)
    expected = Model(kernel).fit(sp.csr_array(narrow), targets).predict(narrow[:9])
    assert_allclose(Model(kernel).fit(wide, targets).predict(wide[:9]), expected, atol=1e-6)


def test_float32_rows_are_solved_in_float64(X, y):
    single = X.astype(np.float32)
    model = KernelRidge(Gaussian(1.0), 1e-3).fit(single, y.astype(np.float32))
    double = KernelRidge(Gaussian(1.0), 1e-3).fit(
        single.astype(np.float64), y.astype(np.float32).astype(np.float64)
    )
    assert_array_equal(model.dual_coef_, double.dual_coef_)
    assert model.predict(single).dtype == np.float64
    assert model.certificate_.satisfied


def test_a_float32_precomputed_matrix_may_be_as_symmetric_as_float32_is(X, y):
    K = Gaussian(1.0)(X).astype(np.float32)
    K[0, 1] += 4 * np.finfo(np.float32).eps
    model = KernelRidge("precomputed", 0.1).fit(K, y)
    assert_allclose(model.predict(K), KernelRidge(Gaussian(1.0), 0.1).fit(X, y).predict(X), 1e-4)


@pytest.mark.parametrize(
    "form",
    [
        lambda X: X.tolist(),
        lambda X: X.astype(object),
        np.asfortranarray,
        lambda X: np.ma.masked_array(X),
        lambda X: X[::-1][::-1],
        lambda X: X.astype(">f8"),
    ],
    ids=["lists", "objects", "Fortran order", "masked", "strides", "byte order"],
)
def test_any_array_of_numbers_gives_the_same_model(X, y, expected, form):
    model = KernelRidge(Gaussian(1.0), 0.1).fit(form(X), y)
    assert_allclose(model.predict(form(X)), expected, rtol=1e-12)


def test_whole_numbers_and_truth_values_are_numbers(X, y):
    for kind in (int, bool):
        rows = (X > 0).astype(kind)
        model = KernelRidge(Gaussian(1.0)).fit(rows, y)
        again = KernelRidge(Gaussian(1.0)).fit(rows.astype(float), y)
        assert_array_equal(model.predict(rows), again.predict(rows.astype(float)))


def test_a_read_only_memory_map_is_left_alone(X, y, expected, tmp_path):
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    assert_allclose(KernelRidge(Gaussian(1.0), 0.1).fit(mapped, y).predict(mapped), expected)


def test_a_function_kernel_takes_rows_that_are_no_numbers():
    def shared(A, B):
        return np.array([[float(len(set(a) & set(b))) for b in B] for a in A])

    words = ["abc", "bcd", "xyz", "wxy"]
    model = KernelRidge(FromFunction(shared), 1e-6).fit(words, [1.0, 1.0, 2.0, 2.0])
    assert_allclose(model.predict(["bc", "yx"]), [1.0, 2.0], atol=0.2)


def test_a_table_is_taken_by_a_kernel_that_maps_its_rows(X, y):
    data = pd.DataFrame(columns_of(X))
    model = KernelRidge(Periodic(1.0, 7.0), 0.1).fit(data, y)
    assert_allclose(
        model.predict(data), KernelRidge(Periodic(1.0, 7.0), 0.1).fit(X, y).predict(X), rtol=1e-12
    )


@pytest.mark.parametrize(
    ("alpha", "said"),
    [
        (-1.0, "alpha must be finite and not negative, got -1"),
        (np.nan, "alpha must be finite and not negative, got nan"),
        (np.inf, "alpha must be finite and not negative, got inf"),
        ([1.0, -2.0], "alpha must be finite and not negative, got -2"),
        ([1.0, 2.0, 3.0], r"one entry for each of 2 targets, got shape \(3,\)"),
        ([[1.0, 2.0]], r"one entry for each of 2 targets, got shape \(1, 2\)"),
        ("strong", "alpha must be a number or one number per target, got 'strong'"),
        (None, "alpha must be a number or one number per target, got None"),
        (True, "alpha must be a number or one number per target, got True"),
    ],
)
def test_a_ridge_that_means_nothing_is_refused(X, y, alpha, said):
    with pytest.raises(ValueError, match=said):
        KernelRidge(alpha=alpha).fit(X, np.column_stack([y, y]))


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        (np.zeros(40), "sample_weight is zero for every row"),
        (np.linspace(-1.0, 1.0, 40), "must not be negative, got -1 at row 0"),
        (np.ones(39), r"sample_weight must have shape \(40,\), got \(39,\)"),
        (np.ones((40, 1)), r"sample_weight must have shape \(40,\)"),
        (np.full(40, np.nan), "sample_weight holds nan at row 0"),
        (np.full(40, 1e-310), "sample_weight is at most 1e-310, which is zero beside alpha"),
        (["heavy"] * 40, "sample_weight must hold real numbers"),
        (-2.0, "must not be negative"),
    ],
    ids=["zero", "negative", "length", "column", "nan", "tiny", "text", "number"],
)
def test_weights_that_mean_nothing_are_refused(X, y, weights, said):
    with pytest.raises(ValueError, match=said):
        KernelRidge(alpha=100.0).fit(X, y, weights)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda X, y: (X[:, 0], y), "Expected 2D array, got 1D array instead"),
        (lambda X, y: (X[:0], y[:0]), "0 sample"),
        (lambda X, y: (X[:, :0], y), "0 feature"),
        (lambda X, y: (X * 1j, y), "Complex data not supported"),
        (lambda X, y: (np.where(X[3, 1] == X, np.nan, X), y), "X contains NaN at row 3, column 1"),
        (
            lambda X, y: (np.where(X[3, 1] == X, np.inf, X), y),
            "X contains infinity at row 3, column 1",
        ),
        (lambda X, y: (X, np.where(y == y[2], np.nan, y)), "Input y contains NaN"),
        (lambda X, y: (X, y[:-1]), "they must agree"),
        (lambda X, y: (X.astype(str), y), "X holds text, .*, and this kernel is one of numbers"),
        (lambda X, y: (X, None), "requires y to be passed"),
    ],
    ids=["vector", "no rows", "no columns", "complex", "nan", "inf", "y", "length", "text", "none"],
)
def test_rows_and_targets_that_mean_nothing_are_refused(X, y, change, said):
    with pytest.raises(ValueError, match=said):
        KernelRidge(Gaussian(1.0)).fit(*change(X, y))


def test_a_table_and_its_targets_must_agree(X, y):
    data = pd.DataFrame(columns_of(X))
    with pytest.raises(ValueError, match="X has 40 rows but y has 39; they must agree"):
        KernelRidge(Gaussian().on("a")).fit(data, y[:-1])
    with pytest.raises(ValueError, match="requires y to be passed"):
        KernelRidge(Gaussian().on("a")).fit(data, None)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (dict(kernel="no_such_kernel"), "no_such_kernel"),
        (dict(solver="magic"), "solver must be one of 'auto', "),
        (dict(tol=-1.0), "tol must be a positive finite number or None, got -1"),
        (dict(memory="much"), "memory must be bytes or text such as"),
        (dict(kernel="precomputed"), r"must be square, got shape \(40, 3\)"),
    ],
    ids=["kernel", "solver", "tol", "memory", "precomputed"],
)
def test_settings_that_mean_nothing_are_refused_in_fit(X, y, settings, said):
    with pytest.raises(ValueError, match=said):
        KernelRidge(**settings).fit(X, y)


def test_a_kernel_of_the_wrong_type_is_refused_in_fit(X, y):
    with pytest.raises(TypeError, match="kernel must be a Kernel, a name, an expression"):
        KernelRidge(None).fit(X, y)


def test_a_failed_fit_leaves_the_model_unfitted(X, y):
    model = KernelRidge(alpha=0.0)
    with pytest.raises(ValueError, match="singular to working precision"):
        model.fit(np.repeat(X, 2, axis=0), np.repeat(y, 2))
    with pytest.raises(AttributeError):
        _ = model.kernel_


def test_new_rows_must_have_the_columns_of_the_training_rows(X, y):
    model = KernelRidge().fit(X, y)
    with pytest.raises(ValueError, match="X has 2 features, but KernelRidge is expecting 3"):
        model.predict(X[:, :2])


@pytest.mark.parametrize("container", [np.array, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize(
    ("model", "answer"),
    [
        (KernelRidge(Gaussian(1.0)), "predict"),
        (KernelLogisticRegression(Gaussian(1.0)), "predict_proba"),
        (KernelPerceptron(Gaussian(1.0)), "decision_function"),
        (KernelSVC(Gaussian(1.0)), "predict_proba"),
        (KernelPCA(Gaussian(1.0)), "transform"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_what_becomes_of_the_rows_after_fit_changes_no_answer(X, y, container, model, answer):
    expected = getattr(clone(model).fit(X, y > 1.0), answer)(X)
    rows = container(X)
    fitted = clone(model).fit(rows, y > 1.0)
    (rows.data if sp.issparse(rows) else rows)[:] = 7.0
    assert_allclose(getattr(fitted, answer)(X), expected, rtol=1e-9, atol=1e-12)
