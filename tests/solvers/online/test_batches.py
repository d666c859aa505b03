"""Batches of rows: how many, and scores that follow the coefficients."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.gram import gram_of
from mercer.kernels import Gaussian
from mercer.solvers import Run
from mercer.solvers.online.batches import ENTRY_BYTES, Iterate, batch_size


@pytest.fixture
def gram(points):
    return gram_of(Gaussian(1.0), points(50))


def test_every_row_is_in_one_batch_of_an_epoch(gram):
    state = Iterate(gram, False, np.zeros((50, 1)), 8, 0)
    visited = [batch.which for batch in state.epoch(Run())]
    assert max(map(len, visited)) <= 8
    assert np.array_equal(np.sort(np.concatenate(visited)), np.arange(50))


def test_orders_differ_from_epoch_to_epoch_and_not_from_run_to_run(gram):
    def orders(seed):
        state = Iterate(gram, False, np.zeros((50, 1)), 8, seed)
        return [np.concatenate([b.which for b in state.epoch(Run())]) for _ in range(2)]

    first, second = orders(0)
    assert not np.array_equal(first, second)
    assert np.array_equal([first, second], orders(0))
    assert not np.array_equal(first, orders(1)[0])


@pytest.mark.parametrize(("is_single", "off"), [(False, 1e-13), (True, 1e-5)])
def test_scores_follow_the_coefficients_and_are_exact_once_refreshed(gram, rng, is_single, off):
    state = Iterate(gram, is_single, np.zeros((50, 2)), 8, 0)
    for batch in state.epoch(Run()):
        state.move(batch, 1e50 * rng.normal(size=(len(batch.which), 2)))
    exact = gram @ state.A
    assert_allclose(state.F, exact, atol=off * np.abs(exact).max())
    assert not state.is_exact
    state.refresh()
    assert state.is_exact
    assert np.array_equal(state.F, exact)


def test_a_batch_knows_the_entries_between_its_own_rows(gram):
    (batch,) = Iterate(gram, False, np.zeros((50, 1)), 50, 0).epoch(Run())
    assert np.array_equal(batch.core, gram.dense()[np.ix_(batch.which, batch.which)])


def test_batches_grow_with_the_root_of_the_rows_and_keep_to_the_memory():
    plenty = 1 << 40
    assert batch_size(100, plenty) == 100
    assert batch_size(4_000_000, plenty) == 2 * batch_size(1_000_000, plenty)
    assert batch_size(10_000, plenty, factors=4) < batch_size(10_000, plenty)
    assert batch_size(10_000, 10 * ENTRY_BYTES * 10_000) == 10
    assert batch_size(10_000, 1) == 2
