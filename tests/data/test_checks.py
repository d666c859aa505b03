"""The checks at the door, at the borders of what they let through."""

import datetime as dt
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from mercer.data.checks import (
    LARGEST_SINGLE,
    as_matrix,
    as_matrix_with_gaps,
    as_vector,
    cell_refusal,
    check_finite,
    check_no_gaps,
    check_no_text,
    check_no_text_in_rows,
    check_not_negative,
    check_targets,
    checked_flag,
    checked_not_negative,
    checked_positive,
    fits_single,
    refuse_masked,
)

LAYOUTS = {"dense": np.asarray, "sparse": sp.csr_array}


@pytest.mark.parametrize("value", [1e-300, 2, np.float32(0.5), np.int8(3), 1e300])
def test_positive_numbers_are_floats(value):
    assert checked_positive("C", value) == value
    assert type(checked_positive("C", value)) is float
    assert type(checked_not_negative("C", value)) is float


@pytest.mark.parametrize("value", [0.0, -1.0, np.inf, -np.inf, np.nan, "1", None, True, np.True_])
def test_what_is_no_positive_number_is_refused_by_its_value(value):
    with pytest.raises(ValueError, match="C must be a positive finite number, got"):
        checked_positive("C", value)


@pytest.mark.parametrize("value", [-1e-300, -1.0, np.inf, np.nan, "1", None, False, np.False_])
def test_what_is_negative_or_no_number_is_refused_by_its_value(value):
    with pytest.raises(ValueError, match="alpha must be a finite number and not negative, got"):
        checked_not_negative("alpha", value)


def test_zero_is_not_negative():
    assert checked_not_negative("alpha", 0.0) == 0.0
    assert checked_not_negative("alpha", 0) == 0.0


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_single_precision_ends_at_its_largest_number_on_either_side(layout):
    assert fits_single(layout([[LARGEST_SINGLE, -LARGEST_SINGLE]]))
    assert not fits_single(layout([[1.01 * LARGEST_SINGLE, 0.0]]))
    assert not fits_single(layout([[1.0, -1.01 * LARGEST_SINGLE]]))
    assert fits_single(layout(np.empty((0, 2))))


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_negative_entries_are_refused_and_zeros_are_not(layout):
    check_not_negative(layout([[0.0, 3.0]]), "chi2")
    check_not_negative(layout(np.empty((0, 2))), "chi2")
    with pytest.raises(ValueError, match=r"chi2 needs rows without negative entries, got -0\.5"):
        check_not_negative(layout([[1.0, -0.5], [-0.25, 7.0]]), "chi2")


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize(("value", "what"), [(np.nan, "NaN"), (np.inf, "infinity")])
def test_the_first_entry_that_is_not_finite_is_named_by_its_place(layout, value, what):
    X = np.ones((3, 4))
    X[1, 2] = X[2, 0] = value
    with pytest.raises(ValueError, match=f"X contains {what} at row 1, column 2; impute"):
        check_finite(layout(X), "X")
    with pytest.raises(ValueError, match=f"X contains {what} at row 1, column 'c'; impute"):
        check_finite(layout(X), "X", lambda: ["a", "b", "c", "d"])


def test_only_a_missing_number_is_offered_a_place():
    with pytest.raises(ValueError, match=r"rows first, or give them a place by the kernel 'auto'"):
        as_matrix([[np.nan]])
    with pytest.raises(ValueError, match=r"impute or drop such rows first$"):
        as_matrix([[np.inf]])


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_large_entries_whose_sum_overflows_are_finite(layout):
    X = layout([[1e308, 1e308], [1e308, -1e308]])
    assert as_matrix(X) is not None


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_gaps_may_stand_where_infinity_may_not(layout):
    gaps = as_matrix_with_gaps(layout([[np.nan, 1.0], [2.0, np.nan]]))
    dense = gaps.toarray() if sp.issparse(gaps) else gaps
    assert np.isnan(dense).tolist() == [[True, False], [False, True]]
    with pytest.raises(ValueError, match="infinity at row 1, column 0"):
        as_matrix_with_gaps(layout([[np.nan, 1.0], [np.inf, 0.0]]))


def test_vectors_keep_single_precision_and_turn_all_else_into_double():
    assert as_vector(np.ones(2, np.float32), 2, "v").dtype == np.float32
    for dtype in (np.float64, np.int32, np.uint8, np.bool_, np.float16):
        assert as_vector(np.ones(2, dtype), 2, "v").dtype == np.float64


@pytest.mark.parametrize(
    ("v", "message"),
    [
        (["a", "b"], "v must hold real numbers, got dtype"),
        ([1j, 2.0], "v must hold real numbers, got dtype complex"),
        ([1.0, 2.0, 3.0], r"v must have shape \(2,\), got \(3,\)"),
        ([[1.0], [2.0]], r"v must have shape \(2,\), got \(2, 1\)"),
        ([1.0, np.nan], "v holds nan at row 1; it must be finite"),
        ([np.inf, np.nan], "v holds inf at row 0; it must be finite"),
    ],
)
def test_what_is_no_vector_of_finite_numbers_is_refused(v, message):
    with pytest.raises(ValueError, match=message):
        as_vector(v, 2, "v")


def test_an_array_of_fields_is_refused_by_its_own_name():
    with pytest.raises(ValueError, match="landmarks is an array of the fields 'a'; pass pandas"):
        as_matrix(np.zeros(2, [("a", float)]), "landmarks")


def test_a_mask_without_a_masked_entry_is_none():
    whole = np.ma.masked_array([[1.0, 2.0]], mask=False)
    assert as_matrix(whole).tolist() == [[1.0, 2.0]]
    refuse_masked(whole, "X")
    with pytest.raises(ValueError, match="X is a masked array with 2 masked entries"):
        refuse_masked(np.ma.masked_array([1.0, 2.0, 3.0], mask=[1, 0, 1]), "X")


def test_text_is_looked_for_among_the_first_thousand_objects():
    objects = np.full((1001, 1), None, dtype=object)
    objects[1000, 0] = "late"
    check_no_text(objects, "X")
    objects[999, 0] = "early"
    with pytest.raises(ValueError, match="X holds text, 'early' at row 999, column 0, and this"):
        check_no_text(objects, "X")


def test_thirty_characters_of_a_text_are_shown():
    check_no_text(np.array([1.0]), "X")
    with pytest.raises(ValueError, match=f"X holds text, '{'a' * 30}' at row 0, and"):
        check_no_text(np.array(["a" * 30]), "X")
    with pytest.raises(ValueError, match=rf"X holds text, '{'a' * 30}' \.\.\. at row 0, and"):
        check_no_text(np.array(["a" * 31]), "X")


def test_one_dimension_is_told_how_to_be_two_and_three_are_not():
    with pytest.raises(ValueError, match=r"got shape \(3,\); use \[X\] for one row, or numpy"):
        as_matrix([1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match=r"got shape \(1, 1, 1\)$"):
        as_matrix([[[1.0]]])


@pytest.mark.skipif(
    np.finfo(np.longdouble).max <= np.finfo(np.float64).max, reason="no wider type here"
)
def test_wide_numbers_beyond_double_are_refused_by_their_place():
    X = np.ones((2, 3), np.longdouble)
    assert as_matrix(X).dtype == np.float64
    X[1, 2] = np.longdouble(2.0) ** 1100
    with pytest.raises(ValueError, match=r"at row 1, column 2, beyond 1\.8e308"):
        as_matrix(X)


@pytest.mark.parametrize("dtype", [object, np.float64, np.float32])
def test_targets_of_which_one_is_not_finite_are_refused_by_its_row(dtype):
    for value, what in ((np.nan, "NaN"), (np.inf, "infinity")):
        with pytest.raises(ValueError, match=f"Input y contains {what}.* at row 2"):
            check_targets(np.array([1.0, 2.0, value, np.nan], dtype))
        with pytest.raises(ValueError, match=f"Input y contains {what}.* at row 1"):
            check_targets(np.array([[1.0, 2.0], [0.0, value]], dtype))
    check_targets(np.array([1.0, 2.0], dtype))


@pytest.mark.parametrize("labels", [["a", "b"], [1, 2], [True, False], ["a", None], [10**400], 3.0])
def test_labels_that_are_no_floats_pass_as_what_they_are(labels):
    check_no_gaps(np.array(labels, object))
    check_no_gaps(labels)


@pytest.mark.parametrize(
    ("y", "found"),
    [
        (["a", "b"], "text at row 0: 'a'"),
        (["1", "2"], "text at row 0: '1'"),
        ([1.0, "x"], "text at row 1: 'x'"),
        (np.array([1, b"2"], object), "text at row 1"),
        (np.array(["2020-01-02"], "M8[D]"), "datetime64 at row 0: '2020-01-02'"),
        ([dt.date(2020, 1, 2)], "date at row 0: '2020-01-02'"),
        (np.array([5], "m8[s]"), "timedelta64 at row 0"),
        (pd.Series(pd.Categorical(["a", "b"])), "text at row 0: 'a'"),
        (pd.Series(pd.date_range("2020", periods=2, tz="UTC")), "Timestamp at row 0"),
    ],
    ids=str,
)
def test_targets_that_are_no_numbers_are_refused_in_a_line(y, found):
    with pytest.raises(ValueError, match=f"y must hold numbers, got {found}") as error:
        check_targets(y)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "y", [[1, 2], [True, False], [Fraction(1, 3)], [Decimal(2)], np.ones((2, 3)), [[1], [2, 3]]]
)
def test_numbers_of_any_kind_are_targets(y):
    check_targets(y)


def test_sparse_targets_are_refused():
    with pytest.raises(ValueError, match=r"y is a sparse matrix of shape .*; pass y.toarray"):
        check_targets(sp.csr_array(np.eye(2)))


def test_missing_targets_are_named():
    for y in ([1.0, None], pd.array([1, None], dtype="Int64"), [1.0, np.nan]):
        with pytest.raises(ValueError, match="y contains NaN at row 1"):
            check_targets(y)


def test_the_hint_of_sparse_rows_is_no_circle():
    with pytest.raises(ValueError, match="or pass dense rows and the kernel 'auto'"):
        check_finite(sp.csr_array([[np.nan, 1.0]]), "X")


@pytest.mark.parametrize("shape", [(2,), (1, 2, 1)])
def test_a_cell_is_named_in_a_table_alone(shape):
    cells = np.array([None, "a"], object)
    assert "at row 0, column 0" in cell_refusal(cells.reshape(1, 2), "X")
    assert cell_refusal(cells.reshape(shape), "X") == ""


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_an_array_of_floats_is_taken_as_it_is_in_either_order_and_with_gaps_between_rows(dtype):
    whole = np.arange(24.0).reshape(6, 4).astype(dtype)
    for X in (whole, np.asfortranarray(whole), whole[::2, 1:], whole[:, ::-1]):
        assert as_matrix(X, "X") is X


def test_an_array_that_is_not_aligned_to_its_numbers_is_copied():
    X = np.zeros(4, dtype=[("c", "i1"), ("x", "f8", 2)])["x"]
    assert as_matrix(X, "X") is not X
    spaced = np.zeros(4, dtype=[("c", "i4"), ("x", "f8", 2)])["x"]
    assert as_matrix(spaced, "X") is not spaced


@pytest.mark.parametrize(
    ("rows", "place"),
    [(["a"], "row 0"), ((1.0, "b"), "row 1"), ([[1.0, "c"]], "row 0, column 1")],
    ids=str,
)
def test_text_among_rows_that_are_no_array_is_named_by_its_place(rows, place):
    with pytest.raises(ValueError, match=place):
        check_no_text_in_rows(rows, "X")
    check_no_text_in_rows([[1.0, 2.0]], "X")
    check_no_text_in_rows({"a": 1}, "X")


def test_a_flag_is_true_or_false_and_nothing_that_only_counts_as_one():
    assert [checked_flag("x", v) for v in (True, np.False_)] == [True, False]
    for value in (1, 0.0, None, "yes"):
        with pytest.raises(ValueError, match=f"x must be True or False, got {value!r}"):
            checked_flag("x", value)
