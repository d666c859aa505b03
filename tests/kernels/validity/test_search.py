"""The search for a witness: what it tries, how it counts, what it grants to rounding."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer.kernels import FromFunction, Gaussian, Linear, Precomputed, Sigmoid
from mercer.kernels.validity import search as module
from mercer.kernels.validity.designs import Demands
from mercer.kernels.validity.proof import Asymmetry, Status, Witness
from mercer.kernels.validity.search import (
    Tally,
    _accepted,
    _gram,
    _refute,
    _samples,
    _tried,
    check_validity,
)


def product(X, Z):
    return X @ Z.T


def test_a_tally_counts_designs_points_and_the_smallest_eigenvalue():
    tally = Tally()
    assert str(tally) == "0 sets of points (0 in all)"
    tally.count(np.diag([4.0, 1.0, 2.0]))
    assert str(tally) == "1 set of points (3 in all, smallest eigenvalue 2.5e-01 of the largest)"
    tally.count(np.diag([1.0, 1.0]))
    assert (tally.designs, tally.points, tally.smallest) == (2, 5, 0.25)
    tally.count(np.diag([-1.0, 2.0]))
    assert tally.smallest == -0.5
    # A matrix without a positive eigenvalue says nothing about shares.
    tally.count(np.zeros((2, 2)))
    tally.count(-np.eye(2))
    assert (tally.designs, tally.points, tally.smallest) == (5, 11, -0.5)


def test_the_gram_matrix_has_both_halves_computed():
    kernel = FromFunction(lambda X, Z: X @ Z.T + X[:, :1])
    points = np.array([[1.0], [2.0]])
    assert_array_equal(_gram(kernel, points), points @ points.T + points)
    with pytest.raises(ValueError, match="too large on these rows"):
        _gram(Linear(), 1e200 * points)


@pytest.mark.parametrize(
    ("n", "trials", "groups"), [(20, 30, 1), (256, 30, 1), (257, 30, 4), (257, 39, 4), (257, 9, 1)]
)
def test_rows_are_tried_all_at_once_or_in_random_groups(n, trials, groups):
    X = np.arange(float(n))[::-1, None] + 1.0
    found = list(_samples(Linear(), X, trials, np.random.default_rng(0)))
    # First the row of the lowest k(x, x), the last one.
    assert found[0].tolist() == [[1.0]]
    assert len(found) == 1 + groups
    for group in found[1:]:
        assert len(group) == min(n, 256)
        assert (np.diff(group[:, 0]) < 0.0).all()


def test_many_rows_of_a_function_are_sampled_and_those_of_a_formula_are_not(monkeypatch):
    monkeypatch.setattr(module, "MATRIX_ROWS", 50)
    X = np.arange(100.0)[:, None]
    seen = []

    def counted(X, Z):
        seen.append(len(X))
        return X @ Z.T

    list(_samples(FromFunction(counted), X, 1, np.random.default_rng(0)))
    assert max(seen) <= 50
    for rows in (50, 100):
        found = list(_samples(Linear(), X[:rows], 1, np.random.default_rng(0)))
        assert len(found[1]) == rows


def test_the_widths_are_those_that_a_function_takes():
    def three(X, Z):
        if X.shape[1] != 3:
            raise ValueError("three columns")
        return X @ Z.T

    demands = Demands(has_functions=True)
    assert _accepted(FromFunction(three), demands) == (3,)
    assert _accepted(FromFunction(product), demands) == (1, 2, 3, 5, 8)
    assert _accepted(FromFunction(three), Demands(has_functions=True, exactly=7)) == (7,)
    assert _accepted(FromFunction(three), Demands()) == (1, 2, 3, 5, 8)

    def seven(X, Z):
        return three(X[:, :3], Z[:, :3]) if X.shape[1] == 7 else three(X[:, :1], Z[:, :1])

    # None of the usual numbers, but the first of the others.
    assert _accepted(FromFunction(seven), demands) == (7,)

    def none(X, Z):
        raise ValueError("nothing")

    assert _accepted(FromFunction(none), demands) == (1,)
    assert _accepted(FromFunction(none), Demands(has_functions=True, at_least=3)) == (3,)


@pytest.mark.parametrize(("width", "is_found"), [(64, True), (65, False)])
def test_columns_are_asked_for_up_to_sixty_four(width, is_found):
    def wide(X, Z):
        if X.shape[1] != width:
            raise ValueError("wider")
        return X @ Z.T

    found = _accepted(FromFunction(wide), Demands(has_functions=True))
    assert found == ((width,) if is_found else (1,))


def test_points_that_a_function_refuses_are_left_out():
    def positive(X, Z):
        if X.min() < 0.0:
            raise ValueError("below zero")
        return X @ Z.T

    tally = Tally()
    sets = iter([np.array([[-1.0]]), np.array([[1.0]]), np.array([[2.0], [3.0]])])
    assert _tried(FromFunction(positive), sets, tally) is None
    assert (tally.designs, tally.points) == (2, 3)
    with pytest.raises(ValueError, match=r"no made-up points suit this kernel \(ValueError: below"):
        _tried(FromFunction(positive), iter([np.array([[-1.0]])]), Tally())


@pytest.mark.parametrize(("gap", "is_refuted"), [(3e-4, True), (1e-9, False)])
def test_an_asymmetry_beyond_rounding_is_shown_with_its_points(gap, is_refuted):
    def lopsided(X, Z):
        return X @ Z.T + gap * (X[:, :1] - Z[:, 0])

    points = np.array([[1.0], [2.0], [4.0]])
    kernel = FromFunction(lopsided)
    found = _refute(kernel, points, _gram(kernel, points), Tally())
    if not is_refuted:
        assert found is None
        return
    assert isinstance(found, Asymmetry)
    # The first and the last differ the most.
    assert sorted(found.points[:, 0].tolist()) == [1.0, 4.0]
    assert_allclose(sorted(found.values), [4.0 - 3 * gap, 4.0 + 3 * gap])


def test_a_witness_has_few_points_and_its_value():
    points = np.array([[0.0], [1.0], [2.0]])
    kernel = FromFunction(lambda X, Z: -(X @ Z.T))
    tally = Tally()
    found = _refute(kernel, points, _gram(kernel, points), tally)
    assert isinstance(found, Witness)
    assert found.points.tolist() == [[2.0]]
    assert_allclose(found.value, -4.0)
    assert tally.designs == 1


def test_the_states_of_a_check_come_with_their_evidence():
    assert check_validity(Gaussian(1.0), None, 3, 0).proof is not None
    refuted = check_validity(Sigmoid(1.0, -1.0), None, 30, 0)
    assert refuted.status == Status.REFUTED
    consistent = check_validity(FromFunction(product), None, 9, 0)
    assert consistent.status == Status.CONSISTENT
    assert consistent.searched.startswith("9 sets of points")
    with pytest.raises(ValueError, match="X has 0 rows"):
        check_validity(FromFunction(product), np.empty((0, 2)), 3, 0)
    for trials in (0, True, 2.0):
        with pytest.raises(ValueError, match="trials must be a whole number of at least 1, got"):
            check_validity(FromFunction(product), None, trials, 0)
    assert check_validity(FromFunction(product), None, 1, 0).status == Status.CONSISTENT


@pytest.mark.parametrize(("dtype", "is_refuted"), [(np.float64, True), (np.float32, False)])
def test_a_finished_matrix_in_single_precision_is_granted_its_rounding(dtype, is_refuted):
    K = np.array([[1.0, 0.5], [0.5 + 4e-6, 1.0]], dtype)
    validity = check_validity(Precomputed(), K, 3, 0)
    assert (validity.status == Status.REFUTED) is is_refuted
    if is_refuted:
        assert sorted(validity.witness.points.tolist()) == [0, 1]


def test_a_finished_matrix_has_a_witness_of_its_own_rows():
    K = np.eye(6)
    K[1, 4] = K[4, 1] = 1.5
    witness = check_validity(Precomputed(), K, 3, 0).witness
    assert witness.points.tolist() == [1, 4]
    assert_allclose(witness.value, -1.0)
    huge = check_validity(Precomputed(), 1e300 * K, 3, 0).witness
    assert huge.points.tolist() == [1, 4]
    assert huge.value < -huge.rounding_bound
