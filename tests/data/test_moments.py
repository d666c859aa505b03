"""Moments of blocks, joined: those of all rows."""

import numpy as np
import pytest

from mercer.data.moments import Moments, moments_of
from mercer.data.stream import stream_of


@pytest.fixture
def X():
    X = np.random.default_rng(2).normal(size=(200, 4)) * [1.0, 1e-9, 1e9, 0.0] + [
        0.0,
        5.0,
        0.0,
        3.0,
    ]
    X[::7, 0] = np.nan
    return X


@pytest.mark.parametrize("weights", [None, np.arange(200.0)])
def test_moments_of_blocks_are_those_of_all_rows(X, weights):
    stream = stream_of(lambda: iter([X[:10], X[10:11], X[11:]]))
    # The blocks of a stream are cut anew; here they are joined as they are.
    parts = [
        Moments.of(X[at], None if weights is None else weights[at])
        for at in (slice(0, 10), slice(10, 11), slice(11, 200))
    ]
    joined = parts[0].joined(parts[1]).joined(parts[2])
    for found in (joined, moments_of(stream, weights)):
        for j in range(4):
            known = ~np.isnan(X[:, j])
            w = np.ones(known.sum()) if weights is None else weights[known]
            mean = np.average(X[known, j], weights=w)
            spread = np.sqrt(np.average((X[known, j] - mean) ** 2, weights=w))
            assert found.mean[j] == pytest.approx(mean, rel=1e-13, abs=1e-6 * spread)
            assert found.spread[j] == pytest.approx(spread, rel=1e-6, abs=0.0)
        assert found.has_gaps.tolist() == [True, False, False, False]


def test_a_block_of_no_weight_changes_nothing(X):
    found = Moments.of(X).joined(Moments.of(X + 9.0, np.zeros(200)))
    np.testing.assert_array_equal(found.mean, Moments.of(X).mean)
    np.testing.assert_allclose(found.spread, Moments.of(X).spread, rtol=1e-15)


def test_a_constant_column_has_its_value_and_the_scale_one(X):
    mean, scale = moments_of(stream_of(lambda: iter([X[:50], X[50:]]))).scales()
    assert (mean[3], scale[3]) == (3.0, 1.0)


def test_large_numbers_do_not_overflow():
    X = np.array([[1e200], [3e200]])
    found = Moments.of(X[:1]).joined(Moments.of(X[1:]))
    assert found.spread[0] == pytest.approx(1e200)
