import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

from mercer.data.distinct import distinct_sample, row_numbers


@pytest.fixture
def X(rng):
    return rng.integers(-2, 3, size=(500, 3)).astype(float)


def test_every_distinct_row_is_taken_once(X):
    sample = X[distinct_sample(X, 1000)]
    assert_array_equal(np.unique(sample, axis=0), np.unique(X, axis=0))
    assert len(sample) == len(np.unique(X, axis=0))


def test_the_sample_does_not_depend_on_order_or_repetition(X, rng):
    shuffled = rng.permutation(np.vstack([X, X[:100]]))
    assert_array_equal(shuffled[distinct_sample(shuffled, 20)], X[distinct_sample(X, 20)])
    assert len(distinct_sample(X, 20)) == 20


def test_sparse_and_single_precision_rows_give_the_same_sample(X):
    expected = distinct_sample(X, 20)
    assert_array_equal(distinct_sample(sp.csr_array(X), 20), expected)
    assert_array_equal(distinct_sample(X.astype(np.float32), 20), expected)


def test_the_sign_of_zero_makes_no_difference():
    assert len(distinct_sample(np.array([[0.0, 1.0], [-0.0, 1.0]]), 5)) == 1


def test_the_sample_is_spread_over_the_rows(rng):
    X = rng.uniform(size=(20_000, 1))
    sample = X[distinct_sample(X, 1000)]
    assert abs(sample.mean() - 0.5) < 0.05
    assert abs(sample.std() - 12**-0.5) < 0.05


def test_no_rows_give_no_sample():
    assert distinct_sample(np.empty((0, 2)), 5).shape == (0,)


def test_texts_have_a_sample_too():
    texts = ["b", "a", "b", "c"]
    assert [texts[i] for i in distinct_sample(texts, 2)] == ["a", "b"]


@pytest.mark.parametrize("cells", [[[1, 2], [1], [1, 2]], [(1,), None, (1,)]], ids=["", "gaps"])
def test_cells_of_a_table_may_be_lists(cells):
    table = pd.DataFrame({"a": [1.0, 1.0, 1.0], "b": cells})
    first, second, third = row_numbers(table)
    assert first == third != second


@pytest.mark.parametrize("of", [list, np.array], ids=["lists", "arrays"])
def test_long_sequences_that_differ_in_the_middle_are_distinct(of):
    one = [str(i) for i in range(1500)]
    other = [*one[:700], "x", *one[701:]]
    for rows in (
        [of(one), of(other), of(one)],
        pd.DataFrame({"words": [of(one), of(other), of(one)]}),
        pl.DataFrame({"words": [one, other, one]}),
    ):
        first, second, third = row_numbers(rows)
        assert first == third != second


def test_lists_of_numbers_that_differ_in_the_last_digits_are_distinct():
    first, second = row_numbers(pl.DataFrame({"v": [[0.1234567891], [0.1234567892]]}))
    assert first != second


@pytest.mark.parametrize("of", [list, lambda texts: pd.DataFrame({"t": texts})], ids=["", "table"])
def test_one_long_text_does_not_make_the_others_as_long(of):
    rows = of([*"ab" * 500, "y" * 50_000])
    tracemalloc.start()
    numbers = row_numbers(rows)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # An array of as many letters for every row takes 200 MB.
    assert most < 5_000_000
    assert_array_equal(numbers[:2], numbers[2:4])
    assert len(set(numbers)) == 3
