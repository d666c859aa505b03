"""Negative directions, against all eigenvectors and all pairs of small matrices."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.kernels.validity.negative import (
    both_ways,
    direction,
    negative_form,
    promising,
    room_for,
    shrunk,
    unequal_pair,
    worst_pair,
)
from mercer.kernels.validity.rounding import form_error


def symmetric(rng, n):
    A = rng.normal(size=(n, n))
    return A + A.T


def test_only_matrices_near_the_largest_number_are_made_smaller():
    border = 2.0**960
    assert room_for(np.array([[border, -border]])) == 1.0
    assert room_for(np.array([[1.0, 1.001 * border]])) == 2.0**-64
    assert room_for(np.array([[1.0, -1.001 * border]])) == 2.0**-64


def test_the_direction_is_the_lowest_eigenvector_of_rows_of_one_size(rng):
    K = symmetric(rng, 6) * np.outer(*[10.0 ** rng.uniform(-3, 3, size=6)] * 2)
    K[5] = K[:, 5] = 0.0
    scale = np.ones(6)
    scale[:5] = 1.0 / np.sqrt(np.abs(K).max(axis=1)[:5])
    _, vectors = np.linalg.eigh(K * np.outer(scale, scale))
    expected = scale * vectors[:, 0]
    expected /= expected[np.abs(expected).argmax()]
    assert_allclose(direction(K), expected, atol=1e-12)
    assert np.abs(direction(K)).max() == direction(K).max() == 1.0


def test_a_negative_form_has_coefficients_of_two_digits_where_they_do(rng):
    K = symmetric(rng, 5)
    c, value, bound = negative_form(K, np.zeros((5, 5)))
    assert_allclose(c, np.round(c, 2))
    assert_allclose(value, c @ K @ c)
    assert bound == form_error(K, np.zeros((5, 5)), c)
    assert value < -bound


def test_a_negative_form_that_rounded_coefficients_miss_has_all_digits():
    # Negative along (1, -0.3333...) only, by a hair.
    u = np.array([1.0, -1.0 / 3.0])
    K = np.outer([1.0, 3.0], [1.0, 3.0]) - 1e-6 * np.outer(u, u)
    c, value, bound = negative_form(K, np.zeros((2, 2)))
    assert_allclose(c[1] / c[0], -1.0 / 3.0, rtol=1e-6)
    assert value < -bound


@pytest.mark.parametrize("error", [0.0, 0.1, 1.0])
def test_a_form_is_negative_only_beyond_the_errors_of_the_entries(error):
    # c = (1, -1) gives 2 - 2 * 1.2 = -0.4 and the bound 4 error.
    K = np.array([[1.0, 1.2], [1.2, 1.0]])
    found = negative_form(K, np.full((2, 2), error))
    assert (found is None) is (error > 0.1 - 1e-9)
    assert negative_form(np.eye(3), np.zeros((3, 3))) is None


def test_coefficients_of_a_matrix_near_the_largest_number_share_its_room():
    K = np.array([[1.0, 2.0], [2.0, 1.0]]) * 2.0**1000
    c, value, bound = negative_form(K, np.zeros((2, 2)))
    assert_allclose(np.abs(c), 2.0**-32)
    assert_allclose(value, -2.0 * 2.0**1000 * 2.0**-64)
    assert np.isfinite(bound)


@pytest.mark.parametrize("entries", [1 << 20, 14, 1])
def test_the_worst_pair_exceeds_its_diagonal_the_most(rng, monkeypatch, entries):
    monkeypatch.setattr("mercer.data.blocks.MEMORY", entries)
    for _ in range(5):
        K = symmetric(rng, 7)
        ratios = {
            (i, j): abs(K[i, j]) / np.sqrt(abs(K[i, i] * K[j, j]))
            for i in range(7)
            for j in range(i + 1, 7)
        }
        assert tuple(worst_pair(K)) == max(ratios, key=ratios.get)


def test_an_entry_beside_a_zero_diagonal_is_the_worst_and_nothing_beside_it_is_none():
    K = np.diag([0.0, 1.0, 0.0, 4.0])
    K[0, 3] = K[3, 0] = 1e-9
    K[1, 3] = K[3, 1] = 1.9
    assert worst_pair(K).tolist() == [0, 3]
    assert worst_pair(np.diag([0.0, 0.0, 1.0])).tolist() == [0, 1]
    assert worst_pair(np.ones((1, 1))).tolist() == [0]


def test_one_row_two_rows_or_the_block_are_promising_where_they_are_negative():
    block = np.arange(3)
    valid = np.eye(3) + 1.0
    assert list(promising(valid, block)) == []
    lone = np.diag([1.0, -1.0, 2.0])
    assert next(promising(lone, block)).tolist() == [1]
    pair = np.eye(3)
    pair[0, 2] = pair[2, 0] = 1.5
    assert next(promising(pair, block)).tolist() == [0, 2]
    # Any two rows are fine, three are not: eigenvalues 1.6, 1.6 and -0.2.
    three = np.full((3, 3), -0.6) + 1.6 * np.eye(3)
    assert [index.tolist() for index in promising(three, block)] == [[0, 1, 2]]


@pytest.mark.parametrize(("entry", "count"), [(1.0 + 1e-13, 0), (1.0 + 1e-11, 2)])
def test_what_one_step_of_the_engine_may_be_off_promises_nothing(entry, count):
    # c = (1, -1) gives 2 - 2 entry beside the size 4: negative by 5e-14 or 5e-12 of it.
    K = np.array([[1.0, entry], [entry, 1.0]])
    assert len(list(promising(K, np.arange(2)))) == count


def test_a_pair_is_unequal_beyond_twice_its_errors_and_a_share_of_the_largest_entry():
    K = np.array([[4.0, 1.0, 2.0], [1.0, 4.0, 3.0], [2.5, 3.125, 4.0]])
    assert sorted(unequal_pair(K, 0.0)) == [0, 2]
    assert unequal_pair(K, 0.125) is None
    assert sorted(unequal_pair(K, 0.124)) == [0, 2]
    assert unequal_pair(K, 0.0, 0.25) is None
    errors = np.zeros((3, 3))
    errors[0, 2] = errors[2, 0] = 0.24
    assert sorted(unequal_pair(K, 0.0, errors)) == [1, 2]
    assert unequal_pair(-K, 0.125) is None
    assert both_ways(K, np.array([0, 2])) == (2.0, 2.5)


def test_the_shrunk_rows_are_those_that_cannot_be_spared(rng):
    K = np.eye(12)
    rows = [3, 7, 10]
    K[np.ix_(rows, rows)] = np.full((3, 3), -0.6) + 1.6 * np.eye(3)
    errors = np.zeros_like(K)
    assert shrunk(K, errors, np.arange(12)).tolist() == rows
    assert shrunk(K, errors, np.array([10, 7, 3, 0])).tolist() == rows
    lone = np.diag([1.0, 1.0, -1.0])
    assert shrunk(lone, np.zeros((3, 3)), np.arange(3)).tolist() == [2]


def test_many_rows_are_halved_and_not_tried_one_by_one():
    n = 20
    # Negative along the ones only, by a hair: every row is needed.
    K = np.eye(n) - np.full((n, n), (1.0 + 1e-3) / n)
    assert len(shrunk(K, np.zeros((n, n)), np.arange(n))) == n
    # A negative form that lives on five rows is found on eight, of which three are then spared.
    K = 2.0 * np.eye(n)
    K[:5, :5] = np.eye(5) - 0.22
    assert shrunk(K, np.zeros((n, n)), np.arange(n)).tolist() == [0, 1, 2, 3, 4]
    kept = shrunk(K, np.zeros((n, n)), np.arange(n), tried=4)
    assert len(kept) == 8
    assert set(range(5)) <= set(kept)
