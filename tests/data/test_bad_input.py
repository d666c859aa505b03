"""Whatever comes in: the right answer, or one line that says what was wrong and what to do."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from mercer.kernels import (
    Bilinear,
    Cosine,
    Gaussian,
    Laplacian,
    Linear,
    Periodic,
    Sobolev,
)
from mercer.tiles import apply
from refusals import refuses

X = np.arange(12.0).reshape(4, 3)
X.flags.writeable = False
K = Gaussian()(X)


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
            "X must be a matrix of shape (rows, columns), got shape (3,); use [X] for one row, or",
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
    refuses(message, Gaussian((1.0, 2.0)).diagonal, X)
    refuses(message, Laplacian((1.0, 2.0)).diagonal, X)


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
        ([[1, "a"]], "X holds text, 'a' at row 0, column 1, and this kernel is one of numbers"),
        ([[1, 2j]], "X holds a complex at row 0, column 1, which is no number"),
        ([[1, {}]], "X holds a dict at row 0, column 1, which is no number"),
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


@pytest.mark.parametrize("columns", [1, 200])
def test_numbers_too_large_for_a_square_are_still_far_apart(columns):
    rows = np.outer([1e200, -1e200, 1e307], np.ones(columns))
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


@pytest.mark.parametrize("kernel", [Linear().exp(), Linear() ** 200], ids=str)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_a_diagonal_that_overflows_is_not_normalised_to_no_number(kernel, form):
    rows = form(np.array([[1.0], [40.0]]))
    refuses("k(x, x) = inf at row 1 of X cannot be normalised", kernel.normalized(), rows)
    message = "k(x, x) = inf at row 0 of Z cannot be normalised; scale the rows, or use a kernel"
    refuses(message, kernel.normalized(), rows[:1], rows[1:])


def test_whole_numbers_beyond_all_floats_are_refused():
    message = "X holds a whole number at row 0, column"
    refuses(message, Linear(), [[10**400, 1]])
    refuses(message, Gaussian(), np.array([[1, -(10**400)]], dtype=object))


def test_angles_of_rows_whose_norms_overflow_are_refused():
    message = "k(x, x) = inf at row 1 of X cannot be normalised; scale the rows"
    refuses(message, Cosine(), np.array([[1.0, 2.0], [1e160, 1e160]]))


@pytest.mark.parametrize("size", [1e25, 1e-25])
def test_angles_of_rows_whose_norms_leave_single_precision_are_refused(size):
    rows = np.array([[0.0, 0.0], [1.0, 2.0], [size, size]], np.float32)
    for kernel in (Cosine(), Linear().normalized()):
        refuses("does not fit into float32, in which the rows are; scale", kernel, rows)
        assert_allclose(kernel(rows.astype(np.float64))[1], [0.0, 1.0, 3.0 / 10**0.5], rtol=1e-6)
