"""The band reduction against its twin, the eigendecomposition, and both against dense algebra."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer.native import NotPositiveError, core, reduce
from mercer.native.twins.spectrum import Spectrum

ALPHAS = np.array([1e-4, 0.1, 30.0])
# Around the width of the band, the reflectors gathered at a time, and the tiles of a sweep.
SIZES = (2, 5, 31, 32, 33, 34, 65, 128, 129, 161, 290)


def matrix_of(n, rng):
    F = rng.normal(size=(n, n + 3))
    return F @ F.T / n


def unit(n, rng):
    u = rng.uniform(0.5, 2.0, size=n)
    return u / np.linalg.norm(u)


def inverse_across(K, u, alpha):
    """(P (K + alpha) P)^+ for the projection P across u."""
    A = np.linalg.inv(K + alpha * np.eye(len(K)))
    return A if u is None else A - np.outer(A @ u, A @ u) / (u @ A @ u)


@pytest.fixture(params=[False, True], ids=["all", "across u"])
def across(request):
    return request.param


@pytest.fixture(params=["chosen", "twin"])
def make(request):
    return reduce if request.param == "chosen" else Spectrum


@pytest.mark.parametrize("n", SIZES)
def test_every_answer_is_that_of_the_dense_inverse(make, n, across, rng):
    K, u = matrix_of(n, rng), unit(n, rng) if across else None
    V = rng.normal(size=(n, 2))
    reduced = make(K.copy(), u)
    shifted = reduced.shifted(ALPHAS)
    C = reduced.forward(V)
    solved = shifted.solve(C)
    diagonals, traces = shifted.diagonals(), shifted.traces()
    rows = np.arange(0, n, 2)
    for i, alpha in enumerate(ALPHAS):
        B = inverse_across(K, u, alpha)
        assert_allclose(reduced.back(solved[i]), B @ V, rtol=1e-8, atol=1e-9 * abs(B).max())
        assert_allclose(diagonals[i], np.diag(B), rtol=1e-9)
        assert_allclose(traces[i], np.trace(B), rtol=1e-9)
        Z = shifted.half(i, rows)
        assert_allclose(Z.T @ Z, B[np.ix_(rows, rows)], atol=1e-9 * abs(B).max())


@pytest.mark.parametrize("n", SIZES)
def test_q_has_orthonormal_columns_across_u(make, n, rng):
    u = unit(n, rng)
    reduced = make(matrix_of(n, rng), u)
    Q = reduced.back(np.eye(n - 1))
    assert_allclose(Q.T @ Q, np.eye(n - 1), atol=1e-12)
    assert_allclose(u @ Q, 0.0, atol=1e-12)
    assert_allclose(reduced.forward(np.eye(n)), Q.T, atol=1e-12)


def test_q_is_the_same_before_and_after_it_is_formed(make, rng):
    reduced = make(matrix_of(90, rng), unit(90, rng))
    V, C = rng.normal(size=(90, 2)), rng.normal(size=(89, 2))
    before = reduced.forward(V), reduced.back(C)
    reduced.shifted(ALPHAS).diagonals()
    assert_allclose(reduced.forward(V), before[0], atol=1e-12)
    assert_allclose(reduced.back(C), before[1], atol=1e-12)


def test_one_row_has_nothing_across_its_direction(make):
    reduced = make(np.ones((1, 1)), np.ones(1))
    shifted = reduced.shifted(ALPHAS)
    assert shifted.solve(reduced.forward(np.ones((1, 2)))).shape == (3, 0, 2)
    assert_array_equal(reduced.back(np.ones((0, 2))), np.zeros((1, 2)))
    assert_array_equal(shifted.diagonals(), np.zeros((3, 1)))
    assert_array_equal(shifted.traces(), 0.0)


def test_only_the_upper_triangle_is_read(make, across, rng):
    K, u = matrix_of(50, rng), unit(50, rng) if across else None
    upper = np.where(np.triu(np.ones((50, 50), bool)), K, 7.0)
    expected = make(K, u).shifted(ALPHAS).traces()
    assert_allclose(make(upper, u).shifted(ALPHAS).traces(), expected, rtol=1e-12)


def test_a_shift_that_leaves_a_matrix_indefinite_is_named(make, across, rng):
    K, u = np.diag(np.linspace(-1.0, 3.0, 60)), unit(60, rng) if across else None
    with pytest.raises(NotPositiveError) as refusal:
        make(K, u).shifted(np.array([10.0, 0.01, 2.0]))
    assert refusal.value.position == 1


def test_without_a_shift_a_singular_matrix_is_refused(make, rng):
    F = rng.normal(size=(60, 30))
    with pytest.raises(NotPositiveError):
        make(F @ F.T, None).shifted(np.array([1.0, 0.0]))


def test_without_a_shift_an_invertible_matrix_is_inverted(make, rng):
    K = matrix_of(60, rng) + np.eye(60)
    traces = make(K.copy(), None).shifted(np.zeros(1)).traces()
    assert_allclose(traces, np.trace(np.linalg.inv(K)), rtol=1e-10)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_entries_that_are_not_finite_are_refused(make, across, rng, bad):
    K, u = matrix_of(60, rng), unit(60, rng) if across else None
    K[3, 50] = K[50, 3] = bad
    with pytest.raises(NotPositiveError), np.errstate(invalid="ignore"):
        make(K, u).shifted(ALPHAS)


@pytest.mark.parametrize("level", ["v2", "v3", "v4", "plain"])
def test_every_level_agrees_with_the_twin(monkeypatch, level, rng):
    pytest.importorskip("mercer.native._native", reason="the native core is not built here")
    from mercer.native.band import Band

    try:
        core._level(level)
    except ValueError:
        pytest.skip(f"this machine has no level {level}")
    monkeypatch.setenv("MERCER_CPU", level)
    K, u = matrix_of(150, rng), unit(150, rng)
    band, twin = (kind(K.copy(), u).shifted(ALPHAS) for kind in (Band, Spectrum))
    assert_allclose(band.diagonals(), twin.diagonals(), rtol=1e-10)
    assert_allclose(band.traces(), twin.traces(), rtol=1e-10)
    rows = np.arange(40)
    halves = [shifted.half(1, rows) for shifted in (band, twin)]
    assert_allclose(halves[0].T @ halves[0], halves[1].T @ halves[1], atol=1e-10)


def test_the_number_of_threads_changes_no_bit(monkeypatch, rng):
    K, u = matrix_of(300, rng), unit(300, rng)
    reduced = reduce(K, u)
    answers = []
    for threads in ("1", "3"):
        monkeypatch.setenv("MERCER_THREADS", threads)
        shifted = reduced.shifted(ALPHAS)
        answers.append((shifted.diagonals(), shifted.traces(), shifted.half(0, np.arange(99))))
    for one, other in zip(*answers, strict=True):
        assert_array_equal(one, other)
