"""What rounding hides from a product, and norms of numbers whose squares are none."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.data.blocks import MEMORY
from mercer.solvers.rounding import (
    column_norms,
    column_units,
    product_rounding,
    row_norms,
    usual_unit,
)

EPS = np.finfo(float).eps
SIZES = [1.0, 1e-200, 1e200, 5e-324, 1e-120, 1e-61, 1e170]


def test_errors_of_few_terms_add_up_as_if_they_had_one_sign():
    diagonal, a = np.array([4.0, 9.0, 0.25]), np.array([1.0, -2.0, 0.0])
    # sqrt(k) = 2, 3, 1/2 and sum sqrt(k) |a| = 8, less than four times the root of squares.
    assert_allclose(product_rounding(diagonal, a), 2.0 * EPS * 8.0 * np.array([2.0, 3.0, 0.5]))


def test_errors_of_many_terms_add_up_like_four_roots_of_their_squares(rng):
    diagonal, a = rng.uniform(0.5, 3.0, size=400), rng.normal(size=(400, 2))
    size = 4.0 * np.sqrt((diagonal[:, None] * a**2).sum(axis=0))
    assert (size < (np.sqrt(diagonal)[:, None] * np.abs(a)).sum(axis=0)).all()
    expected = 2.0 * EPS * np.sqrt(diagonal)[:, None] * size
    assert_allclose(product_rounding(diagonal, a), expected)


def test_a_diagonal_entry_that_is_not_positive_hides_nothing():
    rounding = product_rounding(np.array([-1.0, 0.0, 1.0]), np.array([5.0, 5.0, 1.0]))
    assert_allclose(rounding, [0.0, 0.0, 2.0 * EPS])


def test_single_precision_is_not_lost_in_its_own_range():
    diagonal = np.full(3, 1e-30, np.float32)
    assert_allclose(product_rounding(diagonal, np.full(3, 1e-30)), 6e-60 * EPS, rtol=1e-6)


def test_the_unit_of_a_column_is_its_largest_entry_or_one_where_that_is_no_unit():
    V = np.array([[1.0, 0.0, np.inf, -3.0], [-2.0, 0.0, 1.0, np.nan]])
    assert column_units(V).tolist() == [2.0, 1.0, 1.0, 1.0]
    assert column_units(np.empty((0, 2))).tolist() == [1.0, 1.0]


@pytest.mark.parametrize("size", SIZES)
def test_norms_are_numbers_where_squares_are_none(size):
    V = size * np.array([[3.0, 0.0, 1.0], [4.0, 0.0, 0.0]])
    assert_allclose(column_norms(V), size * np.array([5.0, 0.0, 1.0]), rtol=1e-12)
    assert_allclose(row_norms(V.T), size * np.array([5.0, 0.0, 1.0]), rtol=1e-12)


def test_norms_of_rows_of_several_sizes_are_all_numbers(rng):
    V = np.array(SIZES)[:, None] * np.array([3.0, -4.0])
    assert_allclose(row_norms(V), 5.0 * np.array(SIZES), rtol=1e-12)
    assert_allclose(row_norms(np.stack([V, 2.0 * V]))[1], 10.0 * np.array(SIZES), rtol=1e-12)


def test_norms_of_what_is_no_number_are_none():
    V = np.array([[np.inf, 1.0], [np.nan, 1.0], [3.0, 4.0]])
    with np.errstate(invalid="ignore"):
        assert_allclose(row_norms(V), [np.inf, np.nan, 5.0])
    assert np.isnan(column_norms(V)[0])


@pytest.mark.parametrize("size", [0.0, 1e-60, 1.0, 1e60, float("inf"), np.nan])
def test_a_quantity_of_usual_size_is_counted_in_ones(size):
    assert usual_unit(size) == 1.0


@pytest.mark.parametrize("size", [0.99e-60, 1.01e60, 3e-200, 7e300, 1e-320])
def test_a_quantity_of_another_size_is_counted_in_the_power_of_two_next_to_it(size):
    unit = usual_unit(size)
    assert np.frexp(unit)[0] == 0.5
    assert 2.0**-0.51 < size / unit < 2.0**0.51


def test_norms_of_many_rows_are_summed_block_by_block(rng):
    V = rng.normal(size=(MEMORY // 2, 3)) * [1.0, 1e200, 1e-200]
    expected = [
        np.linalg.norm(column / scale) * abs(scale) for column, scale in zip(V.T, V[0], strict=True)
    ]
    np.testing.assert_allclose(column_norms(V), expected, rtol=1e-13)
