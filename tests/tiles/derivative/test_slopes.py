"""Sums of the derivatives of leaves: the native routine is its NumPy twin."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.native import core as native
from mercer.tiles.derivative import slopes
from mercer.tiles.derivative.slopes import leaf_slopes
from mercer.tiles.tile import Leaf

LEAVES = [
    Leaf("dot", (), ()),
    Leaf("squared_distance", (), ()),
    Leaf("squared_distance", (), (), (0.5, 1.0, 2.0)),
    Leaf("manhattan", (), ()),
    Leaf("manhattan", (), (), (0.5, 1.0, 2.0)),
    Leaf("minimum", (), ()),
    Leaf("chi2", (), ()),
    Leaf("sine", (), (), period=0.7),
]
ids = [f"{leaf.kind}{'' if leaf.weights is None else ' weighted'}" for leaf in LEAVES]


@pytest.mark.parametrize("leaf", LEAVES, ids=ids)
@pytest.mark.parametrize("m", [1, 7, 16, 33])
def test_both_engines_agree(leaf, m, points, rng, monkeypatch):
    U, V, M = points(6, non_negative=True), points(m, non_negative=True), rng.normal(size=(6, m))
    found = leaf_slopes(leaf, U, V, M)
    monkeypatch.setattr(slopes, "core", lambda: None)
    assert_allclose(found, leaf_slopes(leaf, U, V, M), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("leaf", LEAVES[3:], ids=ids[3:])
def test_equal_entries_have_the_mean_of_both_slopes(leaf, points):
    U = points(3, non_negative=True) + 0.5
    step, near = 1e-7, leaf_slopes
    both = [near(leaf, U + side, U, np.eye(3)) for side in (step, -step)]
    assert_allclose(near(leaf, U, U, np.eye(3)), 0.5 * (both[0] + both[1]), atol=1e-5)


def test_zeros_on_both_sides_of_chi_squared_have_no_slope():
    zeros = np.zeros((2, 2))
    assert (leaf_slopes(Leaf("chi2", (), ()), zeros, zeros, np.ones((2, 2))) == 0.0).all()


def test_a_factor_of_zero_does_not_hide_the_slope_of_a_product():
    U, V = np.array([[0.0, 2.0, 3.0]]), np.array([[1.0, 1.0, 5.0]])
    found = leaf_slopes(Leaf("minimum", (), ()), U, V, np.ones((1, 1)))
    assert_allclose(found, [[3.0, 0.0, 0.0]])


def test_points_many_periods_apart_keep_their_phase(rng):
    U, V = np.array([[1e6 + 0.2]]), np.array([[0.0]])
    found = leaf_slopes(Leaf("sine", (), (), period=1.0), U, V, np.ones((1, 1)))
    assert_allclose(found, np.pi * np.sin(2.0 * np.pi * 0.2), rtol=1e-8)


@pytest.mark.skipif(native.core() is None, reason="there is no native core to count threads in")
def test_the_bits_do_not_depend_on_the_threads(rng, monkeypatch):
    U, V, M = rng.random((300, 5)), rng.random((900, 5)), rng.normal(size=(300, 900))
    leaf, found = Leaf("manhattan", (), ()), []
    for threads in (1, 3):
        monkeypatch.setenv("MERCER_THREADS", str(threads))
        found.append(leaf_slopes(leaf, U, V, M))
    assert np.array_equal(*found)
