"""Gram matrices with a copy in float32 beside them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer import FromFunction, Gaussian
from mercer.gram import CopiedGram, StreamedGram, gram_of, with_copy

KERNEL = Gaussian(1.5)


@pytest.fixture
def X(rng):
    return rng.normal(size=(30, 3))


@pytest.fixture
def index():
    return np.array([3, 4, 5, 11, 20, 21])


def test_a_part_of_a_copy_is_looked_up_and_k_itself_keeps_its_digits(X, index):
    part = with_copy(StreamedGram(KERNEL, X)).part(index)
    single = part.single()
    assert single.stored is not None
    K = KERNEL(X)[np.ix_(index, index)]
    assert single.dtype == np.float32
    assert_allclose(single.dense(), K, rtol=1e-6)
    assert_allclose(part.dense(), K, rtol=1e-14)
    assert_allclose(part.diagonal(), K.diagonal())
    assert_allclose(part.rows([1, 3]), K[[1, 3]], rtol=1e-14)
    assert_allclose(single.diagonal(), K.diagonal(), rtol=1e-6)


def test_products_are_those_of_k(X, index, rng):
    gram = with_copy(StreamedGram(KERNEL, X))
    v = rng.normal(size=(30, 2))
    assert_allclose(gram @ v, KERNEL(X) @ v, rtol=1e-12)
    assert_allclose(
        gram.partial_product(None, index, v[index]), KERNEL(X, X[index]) @ v[index], rtol=1e-12
    )
    small = gram.part(index).single()
    K = KERNEL(X)[np.ix_(index, index)]
    assert_allclose(small @ v[index], K @ v[index], rtol=1e-5)


def test_entries_and_sums_of_a_part_are_those_of_k(X, index, rng):
    part = with_copy(StreamedGram(KERNEL, X)).part(index)
    K = KERNEL(X)[np.ix_(index, index)]
    rows, columns = np.array([0, 4]), np.array([1, 2, 5])
    v = rng.normal(size=3)
    assert_allclose(part.between(rows, columns), K[np.ix_(rows, columns)], rtol=1e-14)
    assert_allclose(part.partial_product(rows, columns, v), K[np.ix_(rows, columns)] @ v)
    assert_allclose(part.partial_product(columns, columns, v), K[np.ix_(columns, columns)] @ v)
    assert_allclose(part.partial_product(None, columns, v), K[:, columns] @ v)


def test_all_rows_in_another_order_are_a_part(X, rng):
    order = rng.permutation(len(X))
    turned = with_copy(StreamedGram(KERNEL, X)).part(order)
    K = KERNEL(X)[np.ix_(order, order)]
    v = rng.normal(size=len(X))
    assert_allclose(turned.dense(), K, rtol=1e-14)
    assert_allclose(turned.rows([2]), K[[2]], rtol=1e-14)
    assert_allclose(turned.partial_product(None, np.arange(len(X)), v), K @ v)


def test_parts_of_parts_point_into_the_same_copy(X, index):
    gram = with_copy(StreamedGram(KERNEL, X))
    copy, _ = gram.single().stored
    for twice in (gram.part(index).part([0, 5]).single(), gram.part(index).single().part([0, 5])):
        matrix, rows = twice.stored
        assert matrix is copy
        assert_array_equal(rows, [3, 21])


def test_no_copy_is_made_of_what_is_held_or_too_large(X):
    held = gram_of(KERNEL, X)
    assert with_copy(held) is held
    assert not isinstance(with_copy(StreamedGram(KERNEL, X, 1000)), CopiedGram)


def test_a_part_is_known_no_better_than_the_whole(X):
    # A user's function may lose half of its digits, at some rows as well as at all.
    whole = StreamedGram(FromFunction(lambda A, B: A @ B.T), X)
    index = np.array([4, 1, 7])
    part = with_copy(whole).part(index)
    assert part.entry_error == whole.entry_error > 1e-9
    assert_array_equal(part.errors(slice(0, 2)), whole.errors(index[:2]))
