"""What held-out errors cost, against counts that are written out for folds of several sizes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.planning.held_out import (
    chain_held_out,
    entries_held_out,
    features_held_out,
    share_of_search,
)
from mercer.planning.rates import Work
from mercer.selection.splits import Splits

N, P, ALPHAS = 30, 5, 7


def folds(*sizes, spare=0):
    """Consecutive test rows of these sizes, each trained on the others but for a few."""
    ends = np.cumsum(sizes)
    tests = [np.arange(end - size, end) for end, size in zip(ends, sizes, strict=True)]
    every = [(np.setdiff1d(np.arange(N), test), test) for test in tests]
    return Splits(N, [(train[spare:], test) for train, test in every])


@pytest.mark.parametrize("splits", [Splits(N), folds(*[1] * N)], ids=["rows", "folds of one"])
def test_rows_that_are_left_out_one_by_one_take_one_path(splits):
    assert_allclose(entries_held_out(N, splits, ALPHAS), [8 / 3 * N**3, np.inf])
    assert_allclose(features_held_out((N, P), splits, ALPHAS), [6.0 * N * P**2, np.inf])


def test_generalised_cross_validation_needs_no_transformation():
    assert_allclose(entries_held_out(N, None, ALPHAS), [4 / 3 * N**3, np.inf])
    assert_allclose(features_held_out((N, P), None, ALPHAS), [6.0 * N * P**2, np.inf])


def test_folds_take_a_block_for_every_ridge_or_a_path_each():
    splits = folds(12, 10, 8)
    blocks = sum(N * s**2 + s**3 / 3 for s in (12, 10, 8))
    parts = sum(4 / 3 * (N - s) ** 3 for s in (12, 10, 8))
    assert_allclose(entries_held_out(N, splits, ALPHAS), [8 / 3 * N**3 + ALPHAS * blocks, parts])
    blocks = sum(P * s**2 + s**3 / 3 for s in (12, 10, 8))
    parts = sum(6.0 * (N - s) * P**2 for s in (12, 10, 8))
    assert_allclose(
        features_held_out((N, P), splits, ALPHAS), [6.0 * N * P**2 + ALPHAS * blocks, parts]
    )


def test_folds_that_do_not_train_on_all_others_take_a_path_each():
    splits = folds(12, 18, spare=2)
    parts = sum(4 / 3 * (N - s - 2) ** 3 for s in (12, 18))
    assert_allclose(entries_held_out(N, splits, ALPHAS), [np.inf, parts])
    parts = sum(6.0 * (N - s - 2) * P**2 for s in (12, 18))
    assert_allclose(features_held_out((N, P), splits, ALPHAS), [np.inf, parts])


def test_a_chain_takes_its_knots_for_every_target_and_ridge():
    for splits in (None, Splits(N)):
        assert_allclose(chain_held_out((N, 2), splits, ALPHAS), 3e6 + 2 * ALPHAS * 100.0 * N)
    each = 3e6 + 2 * ALPHAS * (500.0 * N + 3e5)
    assert_allclose(chain_held_out((N, 2), folds(12, 10, 8), ALPHAS), 3 * each)


@pytest.mark.parametrize(("fit", "share"), [(0.0, 0.5), (3.0, 0.4), (100.0, 0.2)])
def test_a_search_leaves_twice_the_time_of_a_fit(fit, share, monkeypatch):
    monkeypatch.setattr(Work, "expected", fit)
    assert share_of_search(Work(), 10.0) == pytest.approx(share)
