"""What an entry takes is counted from the formula: more columns and dearer functions cost more."""

import numpy as np
import pandas as pd
import pytest

from mercer import (
    Chi2,
    EditDistance,
    Exponential,
    FromFunction,
    Gaussian,
    Laplacian,
    Linear,
    Precomputed,
    Spectrum,
    Subsequence,
)
from mercer.planning.costs import COSTS
from mercer.planning.entries import entry_work
from mercer.planning.rates import Work

X = np.abs(np.random.default_rng(0).normal(size=(100, 6)))


def cost(kernel, rows=X):
    return entry_work(kernel.resolved(rows), rows).cost


@pytest.mark.parametrize(
    ("cheap", "dear"),
    [
        (Linear(), Gaussian(1.0)),
        (Gaussian(1.0), Exponential(1.0)),
        (Gaussian(1.0), Laplacian(1.0)),
        (Laplacian(1.0), Chi2(1.0)),
        (Gaussian(1.0), Gaussian(1.0) + Linear()),
        (Gaussian(1.0).on(0), Gaussian(1.0)),
        (Gaussian(1.0), FromFunction(lambda A, B: A @ B.T)),
        (FromFunction(lambda A, B: A @ B.T), FromFunction(lambda a, b: a @ b, pairwise=True)),
    ],
    ids=str,
)
def test_more_to_compute_costs_more(cheap, dear):
    assert cost(cheap) < cost(dear)


def test_columns_of_a_table_by_name_cost_what_they_cost_in_an_array():
    table = pd.DataFrame(X, columns=list("abcdef"))
    assert entry_work(Gaussian(1.0).on("a", "c"), table) == entry_work(Gaussian(1.0).on(0, 2), X)


@pytest.mark.parametrize("kernel", [Subsequence(3, 0.5), EditDistance(5.0)], ids=str)
def test_longer_texts_cost_more(kernel):
    texts = ["abcde" * 4, "badce" * 4]
    assert cost(kernel, texts) < cost(kernel, ["ab" + text * 5 for text in texts])


def test_sparse_features_cost_what_few_of_their_entries_have_in_common():
    assert cost(Spectrum(3), ["abcdefgh", "hgfedcba"]) <= cost(Spectrum(3), ["abcdefgh"] * 2)


def texts_of(letters, count, length):
    rng = np.random.default_rng(0)
    return ["".join(rng.choice(list(letters), length)) for _ in range(count)]


def test_k_grams_that_no_row_of_the_sample_has_are_counted():
    # Of 4096 possible ones the sample of 64 rows has about 2800.
    columns = entry_work(Spectrum(6), texts_of("ACGT", 1000, 80)).column - COSTS.entry_term
    assert columns / COSTS.entry_count == pytest.approx(4096, rel=0.05)


def test_texts_with_k_grams_of_their_own_cost_what_they_have_in_common():
    # Counts of 64 such rows are dense, those of all rows are sparse.
    texts = texts_of("abcdefghijklmnopqrstuvwxyz ", 1000, 60)
    least = COSTS.entry_term + COSTS.entry_block
    assert least <= entry_work(Spectrum(4), texts).column < 1.2 * least


def test_entries_of_a_finished_matrix_are_read():
    assert entry_work(Precomputed(), np.eye(3)) == Work(byte=8.0)
