"""Whatever comes in: the right answer, or one line that says what was wrong and what to do."""

import re

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from mercer.engine import apply
from mercer.kernels import (
    AdditiveChi2,
    Bilinear,
    Chi2,
    Constant,
    Exponential,
    FromFeatures,
    FromFunction,
    Gaussian,
    InverseMultiquadric,
    Laplacian,
    Linear,
    Matern32,
    Matern52,
    Periodic,
    Polynomial,
    RationalQuadratic,
    Sigmoid,
    Sobolev,
)

X = np.arange(12.0).reshape(4, 3)
X.flags.writeable = False
K = Gaussian()(X)


def refuses(message, call, *args, error=ValueError):
    """Assert that a call raises an error of one line that contains the message."""
    with pytest.raises(error, match=re.escape(message)) as caught:
        call(*args)
    assert "\n" not in str(caught.value)


def with_entry(value):
    changed = X.copy()
    changed[1, 2] = value
    return changed


# Shapes


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            np.arange(3.0),
            "X must be a matrix of shape (rows, columns), got shape (3,); use X.resha",
        ),
        (np.zeros((2, 2, 2)), "X must be a matrix of shape (rows, columns), got shape (2, 2, 2)"),
        (np.array(3.0), "rows are needed (an array, a table or a list), got array(3.)"),
        (3, "rows are needed (an array, a table or a list), got 3"),
        (None, "rows are needed (an array, a table or a list), got None"),
        ([[1.0, 2.0], [3.0]], "X has rows of different lengths; they must be equal"),
        (
            sp.coo_array(np.arange(3.0)),
            "X must be a matrix of shape (rows, columns), got shape (3,)",
        ),
    ],
    ids=["vector", "cube", "0-d array", "number", "None", "ragged", "sparse vector"],
)
def test_rows_that_are_no_matrix_are_refused(rows, message):
    refuses(message, Gaussian(), rows)


def test_both_sides_must_have_the_same_columns():
    refuses("X has 3 columns and Z has 2; both must have the same columns", Gaussian(), X, X[:, :2])


def test_errors_name_the_side():
    refuses("Z contains NaN at row 1, column 2", Gaussian(), X, with_entry(np.nan))
    refuses("Z must be a matrix of shape", Gaussian(), X, X[0])


def test_length_scales_must_fit_the_columns():
    message = "length_scale has 2 entries but the rows have 3 columns; give one per column"
    refuses(message, Gaussian((1.0, 2.0)), X)


def test_bilinear_matrix_must_fit_the_columns():
    refuses("A has 2 columns but the rows have 3; they must agree", Bilinear(np.eye(2)), X)


def test_vectors_must_fit_the_matrix():
    message = "V must have 4 rows to be multiplied by K, got shape (3,)"
    refuses(message, apply, Gaussian().program, X, X, np.ones(3))
    refuses("V must hold real numbers", apply, Gaussian().program, X, X, np.ones(4) + 1j)


# Empty


def test_no_rows_give_an_empty_matrix():
    nothing = np.empty((0, 3))
    assert Gaussian()(nothing).shape == (0, 0)
    assert Gaussian()(nothing, X).shape == (0, 4)
    assert Gaussian()(X, nothing).shape == (4, 0)
    assert Gaussian().distance(nothing).shape == (0, 0)
    assert apply(Gaussian().program, X, nothing, np.empty((0, 2))).tolist() == [[0.0, 0.0]] * 4


def test_no_rows_still_have_columns():
    refuses("X has 3 columns and Z has 2", Gaussian(), np.empty((0, 3)), X[:, :2])
    refuses("X must be a matrix of shape (rows, columns), got shape (0,)", Gaussian(), [])


@pytest.mark.parametrize("rows", [np.empty((3, 0)), [[]], {}, sp.csr_array((3, 0))], ids=str)
def test_no_columns_are_refused(rows):
    refuses("X has 0 columns", Gaussian(), rows)


def test_one_row_is_enough():
    assert Gaussian()(X[:1]).tolist() == [[1.0]]
    assert Gaussian("median")(X[:1]).tolist() == [[1.0]]
    assert Gaussian().distance(X[:1]).tolist() == [[0.0]]


def test_one_column_is_enough():
    assert Sobolev()([[1.0], [3.0]]).tolist() == [[1.0, 1.0], [1.0, 3.0]]


# Entries


@pytest.mark.parametrize(
    ("value", "what"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")]
)
@pytest.mark.parametrize("form", [np.asarray, np.float32, sp.csr_array, np.ndarray.tolist])
@pytest.mark.parametrize("kernel", [Gaussian(), Gaussian("median"), Periodic(), Linear().on(2)])
def test_entries_that_are_not_finite_are_refused_with_their_place(kernel, form, value, what):
    column = 0 if kernel == Linear().on(2) else 2
    message = f"X contains {what} at row 1, column {column}; impute or drop such rows first"
    refuses(message, kernel, form(with_entry(value)))


def test_nan_is_refused_by_diagonal_and_distance_too():
    refuses("X contains NaN at row 1", Gaussian().diagonal, with_entry(np.nan))
    refuses("X contains NaN at row 1", Gaussian().distance, with_entry(np.nan))


def test_nan_in_a_column_that_is_not_used_does_no_harm():
    assert np.isfinite(Gaussian().on(0, 1)(with_entry(np.nan))).all()


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_complex_numbers_are_refused(form):
    refuses("complex", Gaussian(), form(X + 1j))


def test_object_arrays_of_numbers_are_numbers():
    assert_allclose(Gaussian()(X.astype(object)), K)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([[1, None]], "X contains NaN at row 0, column 1"),
        ([[1, "a"]], "X is an object array that holds strings; select its numeric columns"),
        ([[1, 2j]], "X is an object array that does not hold numbers only"),
        ([[1, {}]], "X is an object array that does not hold numbers only"),
    ],
    ids=["None", "string", "complex", "dict"],
)
def test_object_arrays_of_other_things_are_refused(rows, message):
    refuses(message, Gaussian(), np.array(rows, dtype=object))


@pytest.mark.parametrize(
    "dtype", ["i1", "u1", "i4", "i8", "u8", "f2", "f4", "f8", "g", ">f8", ">i4"]
)
def test_every_kind_of_real_number_is_taken(dtype):
    rows = X.astype(dtype)
    result = Gaussian(3.0)(rows)
    assert_allclose(result, Gaussian(3.0)(X), rtol=1e-6)
    assert result.dtype == (np.float32 if dtype == "f4" else np.float64)


def test_booleans_are_zero_and_one():
    assert_allclose(Gaussian()(X > 5), Gaussian()((X > 5).astype(float)))


def test_large_integers_do_not_wrap():
    rows = np.array([[200], [100]], dtype=np.uint8)
    assert Linear()(rows).tolist() == [[40000.0, 20000.0], [20000.0, 10000.0]]
    assert Gaussian(100.0)(rows)[0, 1] == pytest.approx(np.exp(-0.5))


def test_numbers_too_large_for_a_square_are_still_far_apart():
    rows = np.array([[1e200], [-1e200], [1e308]])
    assert Gaussian()(rows).tolist() == np.eye(3).tolist()
    assert np.isinf(Linear()(rows)).all()


# Forms of arrays


def test_masked_arrays_are_refused_if_an_entry_is_masked():
    masked = np.ma.masked_equal(X, 4.0)
    refuses(
        "X is a masked array with 1 masked entries; fill or drop them first", Gaussian(), masked
    )
    assert_allclose(Gaussian()(np.ma.array(X)), K)
    assert_allclose(Gaussian()(masked.filled(4.0)), K)


def test_read_only_memory_maps_are_read(tmp_path):
    np.save(tmp_path / "rows.npy", X)
    rows = np.load(tmp_path / "rows.npy", mmap_mode="r")
    assert not rows.flags.writeable
    assert_allclose(Gaussian()(rows), K)
    assert_allclose(apply(Gaussian().program, rows, None, np.ones(4)), K.sum(axis=1))


@pytest.mark.parametrize(
    "form",
    [
        np.asfortranarray,
        lambda X: np.repeat(X, 2, axis=0)[::2],
        lambda X: np.repeat(X, 2, axis=1)[:, ::2],
        lambda X: X[::-1][::-1],
        lambda X: X[:, ::-1].copy()[:, ::-1],
        lambda X: np.ascontiguousarray(X.T).T,
        np.matrix,
        np.ndarray.tolist,
        lambda X: [tuple(row) for row in X],
        list,
    ],
    ids=["Fortran", "rows", "columns", "back", "mirror", "transposed", "matrix", "lists", "tuples",
         "list of arrays"],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
def test_any_strides_and_nested_lists_are_read(form):
    assert_allclose(Gaussian()(form(X)), K)
    assert_allclose(Gaussian()(form(X), X), K)
    assert_allclose(Gaussian().on(0, 2)(form(X)), Gaussian().on(0, 2)(X))


def test_broadcast_rows_are_read():
    rows = np.broadcast_to(X[:1], (5, 3))
    assert (Gaussian()(rows) == 1.0).all()


# Tables


def pandas_table(columns):
    return pytest.importorskip("pandas").DataFrame(columns)


def polars_table(columns):
    return pytest.importorskip("polars").DataFrame(columns)


def arrow_table(columns):
    return pytest.importorskip("pyarrow").table(columns)


TABLES = pytest.mark.parametrize("table", [dict, pandas_table, polars_table, arrow_table])


@TABLES
def test_tables_are_matrices_with_names(table):
    rows = table({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2]})
    assert_allclose(Gaussian()(rows), K)
    assert_allclose(Gaussian()(rows, X), K)
    assert_allclose(Gaussian().on("c", "a")(rows), Gaussian().on(2, 0)(X))
    assert_allclose(Gaussian().on(-1)(rows), Gaussian().on(2)(X))
    assert_allclose(Gaussian("median").on("b")(rows), Gaussian("median").on(1)(X))
    assert_allclose(Gaussian().diagonal(rows), np.ones(4))


@TABLES
def test_integers_and_booleans_in_tables_are_numbers(table):
    rows = table({"a": [1, 2], "b": [True, False]})
    assert_allclose(Linear()(rows), [[2.0, 2.0], [2.0, 4.0]])


@TABLES
def test_text_beside_the_columns_in_use_does_no_harm(table):
    rows = table({"a": [1.0, 2.0], "name": ["x", "y"]})
    assert_allclose(Linear().on("a")(rows), [[1.0, 2.0], [2.0, 4.0]])


@TABLES
def test_text_in_the_columns_in_use_is_refused_by_name(table):
    rows = table({"a": [1.0, 2.0], "name": ["x", "y"]})
    refuses("column 'name' of X does not hold numbers", Gaussian(), rows)


@TABLES
def test_unknown_columns_are_refused_with_the_known_ones(table):
    rows = table({"age": [1.0, 2.0], "bmi": [3.0, 4.0]})
    refuses("no column 'agee' in the table; it has 'age', 'bmi'", Gaussian().on("agee"), rows)
    refuses("no column 5 in a table of 2 columns", Gaussian().on(5), rows)


@TABLES
def test_missing_cells_are_refused_with_the_column(table):
    rows = table({"age": [1.0, 2.0], "bmi": [3.0, float("nan")]})
    refuses("X contains NaN at row 1, column 'bmi'", Gaussian(), rows)


@pytest.mark.parametrize("table", [pandas_table, polars_table, arrow_table])
def test_nulls_are_missing_cells(table):
    refuses("X contains NaN at row 1, column 'a'", Gaussian(), table({"a": [1.0, None]}))


@TABLES
def test_tables_without_rows_give_an_empty_matrix(table):
    assert Gaussian()(table({"a": np.empty(0), "b": np.empty(0)})).shape == (0, 0)


def test_nullable_integers_are_numbers():
    pandas = pytest.importorskip("pandas")
    rows = pandas.DataFrame({"a": pandas.array([1, 2], dtype="Int64")})
    assert_allclose(Linear()(rows), [[1.0, 2.0], [2.0, 4.0]])
    rows = pandas.DataFrame({"a": pandas.array([1, None], dtype="Int64")})
    refuses("X contains NaN at row 1, column 'a'", Linear(), rows)


@pytest.mark.parametrize("kind", ["category", "datetime64[ns]", "complex"])
def test_columns_of_other_kinds_are_refused(kind):
    pandas = pytest.importorskip("pandas")
    values = ["2020-01-01", "2020-01-02"] if kind != "complex" else [1j, 2j]
    rows = pandas.DataFrame({"a": pandas.Series(values).astype(kind)})
    refuses("column 'a' of X does not hold numbers", Gaussian(), rows)


def test_single_precision_tables_stay_single():
    assert Gaussian()(pandas_table({"a": X[:, 0].astype(np.float32)})).dtype == np.float32


def test_column_names_must_differ():
    pandas = pytest.importorskip("pandas")
    rows = pandas.DataFrame(X, columns=["a", "b", "a"])
    refuses("several columns are named 'a'; rename them", Gaussian(), rows)


def test_lazy_tables_are_refused():
    lazy = polars_table({"a": [1.0]}).lazy()
    refuses("LazyFrame is not a table in memory; collect it first", Gaussian(), lazy)


def test_columns_of_different_length_are_refused():
    refuses("different lengths: [1, 2]", Gaussian(), {"a": [1.0, 2.0], "b": [3.0]})


def test_names_need_a_table():
    message = "X is a matrix without column names, so .on('a') cannot be resolved"
    refuses(message, Gaussian().on("a", 0), X)


def test_positions_need_columns():
    refuses("no column 3 in a matrix of 3 columns", Gaussian().on(3), X)
    refuses("no column -4 in a matrix of 3 columns", Gaussian().on(-4), X)
    refuses(
        ".on(0) needs a table or a matrix, got list of shape (2,)", Gaussian().on(0), ["a", "b"]
    )


# Domains of kernels


@pytest.mark.parametrize("rows", [["ab", "c"], np.array([["a"]]), "text"], ids=repr)
def test_text_is_refused_by_kernels_of_numbers(rows):
    refuses("X must hold numbers for this kernel, got dtype", Gaussian(), rows)


@pytest.mark.parametrize("kernel", [Sobolev(), Chi2(), AdditiveChi2(), Sobolev() + Gaussian()])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_negative_entries_are_refused_where_they_have_no_meaning(kernel, form):
    refuses("needs rows without negative entries, got -11.0; shift or clip", kernel, form(-X))
    refuses("needs rows without negative entries", kernel.diagonal, form(-X))


def test_chi_squared_of_two_zeros_is_zero():
    assert Chi2()(np.zeros((2, 3))).tolist() == [[1.0, 1.0], [1.0, 1.0]]
    assert not AdditiveChi2()(np.zeros((2, 3))).any()


# Users' functions


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (FromFunction(lambda X, Z: X @ X.T), "returned shape (4, 4) for 4 and 2 rows; it must ret"),
        (FromFunction(lambda X, Z: np.nan * X @ Z.T), "values that are not finite real numbers"),
        (FromFunction(lambda X, Z: 1j * X @ Z.T), "values that are not finite real numbers"),
        (
            FromFeatures(lambda X: X[:, 0]),
            "g(X) must be a matrix of shape (rows, columns), got sha",
        ),
        (FromFeatures(lambda X: X[:-1]), "a map in the kernel turned 4 rows into 3"),
        (FromFeatures(lambda X: X * np.nan), "g(X) contains NaN at row 0, column 0"),
        (Gaussian().after(lambda X: None), "g(X) must be a matrix of shape (rows, columns)"),
        (Gaussian().scaled_by(lambda X: X), "f(X) in scaled_by must have shape (4,), got (4, 3)"),
        (Gaussian().scaled_by(lambda X: X[:, 0] / 0), "f(X) in scaled_by holds nan at row 0"),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore:divide by zero|invalid value:RuntimeWarning")
def test_functions_that_return_nonsense_are_refused(kernel, message):
    refuses(message, kernel, X, X[:2])


def test_functions_that_are_not_symmetric_are_refused():
    kernel = FromFunction(lambda X, Z: X @ Z.T + X[:, :1])
    refuses("the kernel function is not symmetric: f(x, z) = ", kernel, X)


# Parameters


@pytest.mark.parametrize(
    "value", [0.0, -1.0, np.nan, np.inf, True, "wide", None, 1j, (), (1.0, -1.0)]
)
@pytest.mark.parametrize(
    "kind", [Gaussian, Exponential, Laplacian, Matern32, Matern52, RationalQuadratic]
)
def test_length_scales_are_positive(kind, value):
    refuses(f"{kind.__name__}: length_scale must", kind, value)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: RationalQuadratic(1.0, 0.0),
            "RationalQuadratic: mixture must be positive, got 0.0",
        ),
        (lambda: InverseMultiquadric(-2.0), "InverseMultiquadric: c must be positive, got -2.0"),
        (lambda: Chi2(-1), "Chi2: gamma must be positive, got -1"),
        (lambda: Periodic(1.0, 0.0), "Periodic: period must be positive, got 0.0"),
        (lambda: Periodic(-1.0), "Periodic: length_scale must be positive, got -1.0"),
        (lambda: Polynomial(0), "Polynomial: degree must be a whole number of at least 1, got 0"),
        (
            lambda: Polynomial(1.5),
            "Polynomial: degree must be a whole number of at least 1, got 1.5",
        ),
        (lambda: Polynomial(offset=np.nan), "Polynomial: offset must be finite, got nan"),
        (lambda: Linear("1"), "Linear: offset must be a real number, got '1'"),
        (lambda: Sigmoid(None), "Sigmoid: scale must be a real number, got None"),
        (lambda: Constant(np.inf), "Constant: value must be finite, got inf"),
        (lambda: Bilinear([[1.0, 2.0], [3.0, 4.0]]), "Bilinear: A must be symmetric"),
        (lambda: Bilinear([[1.0, 2.0]]), "Bilinear: A must be a square matrix of real numbers"),
        (lambda: Bilinear([[np.nan]]), "Bilinear: A must be finite"),
        (lambda: Gaussian.from_gamma(-1.0), "gamma must be positive, got -1.0"),
        (lambda: Gaussian.from_sigma(0.0), "sigma must be positive, got 0.0"),
        (lambda: Gaussian.from_beta(np.nan), "beta must be finite, got nan"),
        (lambda: Laplacian.from_gamma("1"), "gamma must be a real number, got '1'"),
        (lambda: FromFunction(3), "FromFunction: f must be a function, got 3"),
        (lambda: FromFeatures("phi"), "FromFeatures: phi must be a function, got 'phi'"),
    ],
)
def test_parameters_outside_their_domain_are_refused_by_name(make, message):
    refuses(message, make)
