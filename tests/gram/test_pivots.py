"""Randomly pivoted Cholesky: what it reproduces, and how it grows."""

import time

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer.gram import LowRankGram, Pivots, PrecomputedGram, StreamedGram, gram_of
from mercer.gram.pivots import rejection_cholesky
from mercer.kernels import Exponential, Gaussian, Linear


@pytest.fixture
def gram(points):
    return gram_of(Gaussian(1.0), points(300))


@pytest.mark.parametrize("rank", [1, 7, 40])
def test_a_matrix_of_low_rank_is_reproduced(rng, rank):
    features = rng.normal(size=(200, rank))
    pivots = Pivots(LowRankGram(features), 0)
    pivots.grow(150)
    assert len(pivots.index) == rank
    assert pivots.trace == 0.0
    assert_allclose(pivots.F.T @ pivots.F, features @ features.T, atol=1e-12 * rank)


def test_the_residual_is_the_diagonal_of_what_is_missing(gram):
    pivots = Pivots(gram, 0)
    pivots.grow(50)
    missing = gram.dense() - pivots.F.T @ pivots.F
    assert_allclose(pivots.residual, missing.diagonal(), atol=1e-13)
    assert np.linalg.eigvalsh(missing).min() > -1e-13


def test_rows_that_were_taken_are_reproduced(gram):
    pivots = Pivots(gram, 0)
    pivots.grow(60)
    assert_allclose((pivots.F.T @ pivots.F)[pivots.index], gram.rows(pivots.index), atol=1e-12)


def test_no_row_is_taken_twice(rng):
    X = np.repeat(rng.normal(size=(40, 2)), 5, axis=0)
    pivots = Pivots(StreamedGram(Exponential(1.0), X), 0)
    pivots.grow(200)
    assert len(pivots.index) == 40
    assert len(np.unique(pivots.index // 5)) == 40
    assert pivots.trace == 0.0


def test_the_trace_falls_with_every_block(gram):
    pivots = Pivots(gram, 0)
    pivots.grow(100)
    k, trace = np.array(pivots.history).T
    assert (np.diff(trace) < 0).all()
    assert (np.diff(k) > 0).all()
    assert k[-1] == len(pivots.F) == 100
    assert trace[-1] == pivots.trace


def test_growth_continues_from_what_there_is(gram):
    pivots = Pivots(gram, 0)
    pivots.grow(30)
    index, F, trace = pivots.index, pivots.F.copy(), pivots.trace
    pivots.grow(80)
    assert_array_equal(pivots.index[:30], index)
    assert_array_equal(pivots.F[:30], F)
    assert len(pivots.F) == 80
    assert pivots.trace < trace


def test_growing_to_less_changes_nothing(gram):
    pivots = Pivots(gram, 0)
    pivots.grow(30)
    F = pivots.F
    pivots.grow(20)
    assert_array_equal(pivots.F, F)


def test_the_factor_is_stored_row_by_row(gram):
    pivots = Pivots(gram, 0)
    pivots.grow(20)
    assert pivots.F.shape == (20, 300)
    assert pivots.F.flags.c_contiguous


def test_equal_seeds_give_equal_bits(gram):
    first, second, other = (Pivots(gram, seed) for seed in (3, 3, 4))
    for pivots in (first, second, other):
        pivots.grow(40)
        pivots.grow(90)
    assert_array_equal(first.index, second.index)
    assert_array_equal(first.F, second.F)
    assert first.index.tolist() != other.index.tolist()


def test_it_stops_at_a_trace(gram):
    pivots = Pivots(gram, 0)
    pivots.grow(300, until=3.0)
    assert pivots.trace <= 3.0
    assert pivots.history[-2][1] > 3.0
    assert len(pivots.F) < 150


def test_it_begins_nothing_but_a_first_block_after_a_deadline(gram):
    pivots = Pivots(gram, 0)
    pivots.grow(300, deadline=time.perf_counter())
    assert len(pivots.history) == 2
    assert 0 < len(pivots.F) < 100


def test_all_rows_reproduce_everything(points):
    gram = gram_of(Exponential(1.0), points(50))
    pivots = Pivots(gram, 0)
    pivots.grow(1000)
    assert sorted(pivots.index) == list(range(50))
    assert_allclose(pivots.F.T @ pivots.F, gram.dense(), atol=1e-12)


def test_every_kind_of_gram_gives_the_same_factor(points):
    X = points(80)
    K = Linear(1.0)(X)
    grams = [gram_of(Linear(1.0), X), StreamedGram(Linear(1.0), X), PrecomputedGram(K)]
    copies = []
    for gram in grams:
        pivots = Pivots(gram, 0)
        pivots.grow(4)
        copies.append(pivots.F.T @ pivots.F)
    for copy in copies[1:]:
        assert_allclose(copy, copies[0], rtol=1e-10, atol=1e-10)


def test_single_precision_is_not_copied_beyond_its_rounding(points):
    X = points(200).astype(np.float32)
    pivots = Pivots(StreamedGram(Gaussian(3.0), X), 0)
    pivots.grow(200)
    K = Gaussian(3.0)(X.astype(float))
    assert len(pivots.index) < 150
    assert_allclose(pivots.F.T @ pivots.F, K, atol=1e-4)


def test_a_row_of_zeros_is_never_taken(rng):
    features = rng.normal(size=(30, 3))
    features[::2] = 0.0
    pivots = Pivots(LowRankGram(features), 0)
    pivots.grow(30)
    assert (pivots.index % 2 == 1).all()
    zero = Pivots(LowRankGram(np.zeros((5, 2))), 0)
    zero.grow(5)
    assert zero.F.shape == (0, 5)


def test_the_first_row_is_taken_in_proportion_to_the_diagonal():
    gram = PrecomputedGram(np.diag([1.0, 2.0, 5.0]))
    counts = np.zeros(3)
    for seed in range(800):
        pivots = Pivots(gram, seed)
        pivots.grow(1)
        counts[pivots.index[0]] += 1
    assert_allclose(counts / 800, [1 / 8, 2 / 8, 5 / 8], atol=0.05)


def test_rejection_keeps_the_distribution_of_one_by_one_sampling(rng):
    # The second pivot of a block is drawn from the residual that the first one leaves.
    F = rng.normal(size=(4, 2))
    K = F @ F.T + 0.1 * np.eye(4)
    expected = np.zeros(4)
    for i in range(4):
        left = K.diagonal() - K[i] ** 2 / K[i, i]
        left[i] = 0.0
        expected += K[i, i] / np.trace(K) * left / left.sum()
    counts = np.zeros(4)
    for seed in range(1500):
        pivots = Pivots(PrecomputedGram(K), seed)
        pivots.grow(2)
        counts[pivots.index[1]] += 1
    assert_allclose(counts / 1500, expected, atol=0.04)


def test_rejection_cholesky_factors_the_rows_that_pass(rng):
    F = rng.normal(size=(10, 6))
    H = F @ F.T
    kept, L = rejection_cholesky(H, rng.random(10), np.full(10, 1e-12))
    assert 1 <= len(kept) <= 6
    assert_allclose(L @ L.T, H[np.ix_(kept, kept)], atol=1e-12)
    assert_array_equal(L, np.tril(L))
