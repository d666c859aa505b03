"""The native pass of coordinate descent against its NumPy twin, and against the formula."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from mercer.native import coordinates
from mercer.native.coordinates import Descent, SharedRows
from mercer.native.core import routines
from mercer.native.smo import Box
from mercer.native.twins import coordinates as coordinates_twin

FORMS = {"dense": np.asarray, "by columns": np.asfortranarray, "sparse": sp.csr_array}


@pytest.fixture
def F(rng):
    F = rng.normal(size=(40, 13)) * (rng.uniform(size=(40, 13)) < 0.4)
    F[5] = 0.0
    return F


def box_of(rng, n, epsilon):
    z, costs = np.sign(rng.normal(size=n)), rng.uniform(0.1, 2.0, size=n)
    if epsilon:
        return Box(rng.normal(size=n), -costs, costs, epsilon, True)
    return Box(z, np.where(z > 0, 0.0, -costs), np.where(z > 0, costs, 0.0), 0.0, True)


def descent(F, box, rho=0.3):
    squares = np.asarray((F * F).sum(axis=1), np.float64)
    return Descent(F, box, squares, rho, np.zeros(len(box.z)), 0.1)


def objective(F, box, a, rho=0.3, b=0.1):
    w = F.T @ a
    sums = b * a.sum() + 0.5 * rho * a.sum() ** 2
    return 0.5 * w @ w + sums - box.z @ a + box.epsilon * np.abs(a).sum()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("epsilon", [0.0, 0.2])
def test_the_native_pass_is_that_of_its_twin(rng, F, form, epsilon, monkeypatch):
    pytest.importorskip("mercer.native._native", reason="the native core is not built here")
    box, rows = box_of(rng, 40, epsilon), FORMS[form](F)
    orders = [rng.permutation(40) for _ in range(5)]
    native, twin = descent(rows, box), descent(rows, box)
    for order in orders:
        native.sweep(order)
        native.update_multiplier()
    monkeypatch.setattr(coordinates, "routines", lambda twin: twin)
    for order in orders:
        twin.sweep(order)
        twin.update_multiplier()
    assert_allclose(native.a, twin.a, atol=1e-12)
    assert_allclose(native.w, twin.w, atol=1e-12)
    assert_allclose(native.offset, twin.offset, atol=1e-12)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("epsilon", [0.0, 0.2])
def test_a_step_is_the_least_value_along_its_coefficient(rng, F, form, epsilon):
    box, rows = box_of(rng, 40, epsilon), FORMS[form](F)
    state = descent(rows, box)
    state.sweep(rng.permutation(40))
    for i in (5, 7, 30):
        state.sweep(np.array([i]))
        others = np.linspace(box.lower[i], box.upper[i], 201)
        values = []
        for u in others:
            a = state.a.copy()
            a[i] = u
            values.append(objective(F, box, a))
        assert objective(F, box, state.a) <= min(values) + 1e-12


def test_weights_and_offset_are_kept_along(rng, F):
    box = box_of(rng, 40, 0.0)
    state = descent(sp.csr_array(F), box)
    for _ in range(20):
        state.sweep(rng.permutation(40))
    assert_allclose(state.w, F.T @ state.a, atol=1e-12)
    assert_allclose(state.offset, 0.1 + 0.3 * state.a.sum(), atol=1e-12)
    assert ((box.lower <= state.a) & (state.a <= box.upper)).all()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("is_centred", [True, False])
def test_rows_that_are_shared_are_those_of_a_centred_copy(rng, dtype, is_centred, monkeypatch):
    many = (1.0 + rng.normal(size=(90, 37))).astype(dtype)
    where = rng.permutation(90)[:40]
    shared = SharedRows(many, where, is_centred)
    F = many[where].astype(np.float64)
    F = F - F.mean(axis=0) * is_centred
    a, w = rng.normal(size=40), rng.normal(size=37)
    off = 1e-12 if dtype == np.float64 else 1e-4
    assert_allclose(shared @ w, F @ w, atol=off)
    assert_allclose(shared.transposed(a), F.T @ a, atol=off)
    assert_allclose(shared.squares, (F**2).sum(axis=1), rtol=off)
    box = box_of(rng, 40, 0.1)
    copied = descent(F, box)
    states = [Descent(shared, box, shared.squares, 0.3, np.zeros(40), 0.1) for _ in range(2)]
    for state in (copied, states[0]):
        for start in range(3):
            state.sweep(np.arange(start, 40))
            state.update_multiplier()
    monkeypatch.setattr(coordinates, "routines", lambda twin: twin)
    for start in range(3):
        states[1].sweep(np.arange(start, 40))
        states[1].update_multiplier()
    for state in states:
        assert_allclose(state.a, copied.a, atol=off)
        assert_allclose(state.w, copied.w, atol=10 * off)
        assert_allclose(state.offset, copied.offset, atol=off)


def test_neighbours_among_shared_rows_are_not_copied(rng):
    many = rng.normal(size=(90, 5))
    shared = SharedRows(many, np.arange(20, 60), False)
    (block,) = shared._of_blocks(lambda _, block: block)
    assert np.shares_memory(block, many)


def test_rows_that_are_not_visited_stay_as_they_are(rng, F):
    state = descent(F, box_of(rng, 40, 0.0))
    state.sweep(np.arange(10))
    assert_array_equal(state.a[10:], 0.0)


def test_repeated_columns_of_a_row_are_added(monkeypatch):
    F = sp.csr_array(([1.0, 2.0], [0, 0], [0, 2]), shape=(1, 1))
    for core in (routines(coordinates_twin), coordinates_twin):
        monkeypatch.setattr(coordinates, "routines", lambda twin, core=core: core)
        box = Box(np.ones(1), np.zeros(1), np.full(1, 9.0), 0.0, False)
        state = Descent(F, box, np.array([9.0]), 0.0, np.zeros(1), 0.0)
        state.sweep(np.arange(1))
        assert_allclose([state.a[0], state.w[0]], [1.0 / 9.0, 1.0 / 3.0])


def test_more_columns_than_numbers_for_them_are_refused():
    F = sp.csr_array(([1.0], np.array([2**40]), [0, 1]), shape=(1, 2**41))
    box = Box(np.ones(1), np.zeros(1), np.ones(1), 0.0, False)
    with pytest.raises(ValueError, match="leave out those without an entry"):
        Descent(F, box, np.ones(1), 0.0, np.zeros(1), 0.0)
