"""Indefinite matrices made positive semi-definite."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.errors import MemoryLimitError
from mercer.gram import LowRankGram, PrecomputedGram, StreamedGram, gram_of, repair_of
from mercer.kernels import Gaussian, Sigmoid

N = 30
MAPS = {"clip": lambda s: np.maximum(s, 0.0), "flip": np.abs, "shift": lambda s: s - s.min()}


@pytest.fixture
def K(rng):
    F = rng.normal(size=(N, N))
    return F + F.T


@pytest.mark.parametrize("how", MAPS)
def test_eigenvalues_are_mapped_as_the_name_says(K, how):
    s, U = np.linalg.eigh(K)
    expected = (U * MAPS[how](s)) @ U.T
    repair = repair_of(PrecomputedGram(K), how)
    assert repair.is_changed
    assert_allclose(repair.gram.dense(), expected, atol=1e-12)


@pytest.mark.parametrize("how", MAPS)
def test_every_form_of_the_operator_agrees(K, how, rng):
    gram = repair_of(PrecomputedGram(K), how).gram
    A = gram.dense()
    V = rng.normal(size=(N, 2))
    assert gram.shape == (N, N)
    assert gram.dtype == np.float64
    assert_allclose(gram @ V, A @ V, atol=1e-11)
    assert_allclose(gram @ V[:, 0], A @ V[:, 0], atol=1e-11)
    assert_allclose(gram.diagonal(), np.diag(A), atol=1e-12)
    assert_allclose(gram.rows([7, 2]), A[[7, 2]], atol=1e-12)
    fresh = gram.fresh()
    fresh[:] = 0.0
    assert_allclose(gram.dense(), A)


@pytest.mark.parametrize("how", ["clip", "flip"])
def test_new_rows_go_through_the_map_of_the_training_rows(K, how, rng):
    s, U = np.linalg.eigh(K)
    repair = repair_of(PrecomputedGram(K), how)
    new, a = rng.normal(size=(5, N)), rng.normal(size=(N, 2))
    expected = new @ (U * (MAPS[how](s) / s)) @ U.T @ a
    assert_allclose(new @ repair.coefficients(a), expected, atol=1e-11)
    # Training rows are rows too.
    assert_allclose(K @ repair.coefficients(a), repair.gram @ a, atol=1e-10)


def test_a_shift_leaves_new_rows_alone(K, rng):
    a = rng.normal(size=(N, 2))
    assert_allclose(repair_of(PrecomputedGram(K), "shift").coefficients(a), a, atol=0.0)


@pytest.mark.parametrize("how", [None, *MAPS])
def test_a_semidefinite_matrix_is_left_as_it_is(how, points, rng):
    F = rng.normal(size=(N, 3))
    grams = [
        PrecomputedGram(F @ F.T),
        PrecomputedGram((F @ F.T).astype(np.float32)),
        gram_of(Gaussian(100.0), points(N)),
        StreamedGram(Gaussian(), points(N)),
        LowRankGram(F),
    ]
    for gram in grams:
        repair = repair_of(gram, how)
        assert repair.gram is gram
        assert not repair.is_changed
        a = rng.normal(size=(N, 1))
        assert_allclose(repair.coefficients(a), a, atol=0.0)


def test_a_proved_kernel_needs_no_eigenvalues(points):
    # There is no memory for them.
    repair_of(StreamedGram(Gaussian(), points(50), memory="1KB"), "clip")
    with pytest.raises(MemoryLimitError):
        repair_of(StreamedGram(Sigmoid(), points(50), memory="1KB"), "clip")


def test_an_unknown_repair_is_refused(K):
    with pytest.raises(ValueError, match="must be None or one of 'clip', 'flip', 'shift', got 'x'"):
        repair_of(PrecomputedGram(K), "x")


def test_a_limit_too_small_for_eigenvalues_is_named_as_it_was_given(K):
    gram = PrecomputedGram(K, memory="20KB")
    told = r"3 dense matrices of 30 x 30 .* need 0\.0216 MB but the limit is 0\.02 MB"
    with pytest.raises(MemoryLimitError, match=told):
        repair_of(gram, "clip")
