"""Factorisations that can be ended, against those of SciPy, and the threads of the BLAS."""

from functools import partial
from time import perf_counter, sleep

import numpy as np
import pytest
import scipy.linalg
from numpy.testing import assert_allclose, assert_array_equal
from threadpoolctl import ThreadpoolController

from mercer.data.limits.deadline import TimeIsUpError, until
from mercer.native import lapack
from mercer.native.threads import left_behind


def blas_threads():
    libraries = ThreadpoolController().select(user_api="blas").info()
    return [library["num_threads"] for library in libraries]


def positive(rng, n, dtype=np.float64):
    A = rng.normal(size=(n, n))
    return np.asfortranarray((A @ A.T / n + np.eye(n)).astype(dtype))


@pytest.fixture
def small_panels(monkeypatch):
    """Orders of a hundred in panels of 16, some columns at a time."""
    monkeypatch.setattr(lapack, "SMALL", 10)
    monkeypatch.setattr(lapack, "cholesky", partial(lapack.cholesky, panel=16, work=16 * 16 * 40))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("n", [25, 96, 101])
def test_the_factor_is_that_of_lapack_and_leaves_the_other_triangle(
    rng, small_panels, dtype, lower, n
):
    A = positive(rng, n, dtype)
    L = A.copy(order="F")
    assert lapack.cholesky(L, lower) == 0
    half, other = (np.tril, np.triu) if lower else (np.triu, np.tril)
    expected = scipy.linalg.cholesky(A.astype(np.float64), lower=lower)
    assert_allclose(half(L), expected, rtol=0, atol=40 * n * np.finfo(dtype).eps)
    k = 1 if lower else -1
    assert_array_equal(other(L, k), other(A, k))


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("order", [1, 16, 17, 70, 101])
def test_the_first_minor_that_is_not_positive_is_named(rng, small_panels, lower, order):
    A = positive(rng, 101)
    A[order - 1, order - 1] = -1.0
    assert lapack.cholesky(A, lower) == order


@pytest.mark.parametrize("factor", [partial(lapack.cholesky, lower=True), lapack.inverse_of_factor])
def test_a_factor_has_all_threads_of_the_blas_from_an_order_on_and_below_it_one(
    rng, monkeypatch, factor
):
    seen, call = set(), lapack._call

    def noted(*arguments):
        blas = ThreadpoolController().select(user_api="blas").info()
        seen.update(library["num_threads"] for library in blas)
        call(*arguments)

    monkeypatch.setattr(lapack, "_call", noted)
    monkeypatch.setattr(lapack, "SMALL", 10)
    with ThreadpoolController().limit(limits=2, user_api="blas"):
        factor(positive(rng, 20))
        if seen != {2}:
            pytest.skip("this BLAS cannot be given two threads")
        seen.clear()
        factor(positive(rng, 19))
    assert seen == {1}


def test_a_factor_ends_in_time(rng, small_panels):
    with until(perf_counter() - 1.0), pytest.raises(TimeIsUpError):
        lapack.cholesky(positive(rng, 101), lower=True)


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("most", [None, 3, 40])
def test_eigenvalues_are_those_of_lapack(rng, monkeypatch, lower, most):
    monkeypatch.setattr(lapack, "SMALL", 10)
    A = positive(rng, 40)
    half = np.asfortranarray((np.tril if lower else np.triu)(A))
    s, V = lapack.eigh(half, lower, most)
    expected = scipy.linalg.eigvalsh(A)[-len(s) :]
    assert len(s) == (most or 40)
    assert_allclose(s, expected, rtol=1e-12)
    assert_allclose(A @ V, V * s, atol=1e-12)


@pytest.mark.parametrize("small", [1, 1000], ids=["by LAPACK", "by SciPy"])
@pytest.mark.parametrize("lower", [True, False])
def test_eigenvalues_that_are_all_equal_are_found(lower, small, monkeypatch):
    monkeypatch.setattr(lapack, "SMALL", small)
    A = np.asfortranarray(3.0 * np.eye(40) - 3.0 / 40)
    s, V = lapack.eigh(A.copy(order="F"), lower, most=2)
    assert_allclose(s, 3.0)
    assert_allclose(A @ V, 3.0 * V, atol=1e-14)
    assert_allclose(V.T @ V, np.eye(2), atol=1e-14)


def test_eigenvalues_and_singular_values_end_in_time(rng):
    A = positive(rng, 1200)
    for work in (lapack.eigh, lapack.svd):
        began = perf_counter()
        with until(began + 0.05), pytest.raises(TimeIsUpError):
            work(A.copy(order="F"))
        assert perf_counter() - began < 1.0


def test_singular_values_are_those_of_lapack(rng, monkeypatch):
    monkeypatch.setattr(lapack, "SMALL", 10)
    A = rng.normal(size=(30, 12))
    U, s, Vt = lapack.svd(A.copy())
    assert_allclose(U * s @ Vt, A, atol=1e-12)
    assert_allclose(s, scipy.linalg.svdvals(A), rtol=1e-12)


def test_what_is_left_behind_hands_on_its_answer_and_its_error():
    assert left_behind(lambda: 7) == 7
    with pytest.raises(ZeroDivisionError):
        left_behind(lambda: 1 // 0)


def test_what_is_left_behind_does_not_hold_up_whoever_waits():
    began = perf_counter()
    with until(began + 0.05), pytest.raises(TimeIsUpError):
        left_behind(lambda: sleep(3.0))
    assert perf_counter() - began < 1.0


@pytest.mark.parametrize("n", [0, 1, 5, 40, 96, 97, 250, 401])
def test_the_inverse_of_a_factor_is_that_of_the_matrix(rng, small_panels, n):
    A = positive(rng, n)
    L = A.copy(order="F")
    lapack.cholesky(L, lower=True)
    assert lapack.inverse_of_factor(L) == 0
    assert_allclose(np.tril(L), np.tril(np.linalg.inv(A)), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("is_ours", [True, False])
@pytest.mark.parametrize("n", [5, 40])
def test_the_square_of_a_factor_is_in_its_place(rng, small_panels, monkeypatch, n, is_ours):
    if not is_ours:
        monkeypatch.setattr(lapack, "_routine", lambda *_: None)
    A = np.asfortranarray(rng.normal(size=(n, n)), np.float32)
    L = np.tril(A)
    lapack.square_of_factor(A)
    assert_allclose(np.tril(A), np.tril(L.T @ L), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("is_ours", [True, False])
@pytest.mark.parametrize("n", [5, 40])
def test_a_pivoted_factor_takes_the_largest_rest_next(rng, small_panels, monkeypatch, n, is_ours):
    if not is_ours:
        monkeypatch.setattr(lapack, "_routine", lambda *_: None)
    B = rng.normal(size=(n, n // 2))
    K = B @ B.T
    factor = np.array(K, order="F")
    order = lapack.pivoted_cholesky(factor, 1e-8)
    assert len(order) == n // 2
    L = np.tril(factor)[:, : n // 2]
    assert_allclose(L[: n // 2] @ L[: n // 2].T, K[np.ix_(order, order)], atol=1e-10)
    assert (np.diff(L.diagonal()) <= 1e-12).all()


def test_a_pivoted_factor_answers_the_clock(rng, small_panels, monkeypatch):
    monkeypatch.setattr(lapack, "_call", lambda *_: sleep(3.0))
    began = perf_counter()
    with until(began + 0.05), pytest.raises(TimeIsUpError):
        lapack.pivoted_cholesky(positive(rng, 40), 0.0)
    assert perf_counter() - began < 1.0


@pytest.mark.parametrize("n", [0, 1, 5, 97, 250])
def test_the_inverse_of_a_triangle_leaves_the_other_one_alone(rng, n):
    A = np.asfortranarray(rng.normal(size=(n, n)) / max(n, 1) + 2.0 * np.eye(n))
    expected = np.tril(np.linalg.inv(np.tril(A))) + np.triu(A, 1)
    assert lapack.inverse_of_triangle(A) == 0
    assert_allclose(A, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("order", [1, 2, 100, 250])
def test_a_factor_with_a_pivot_of_zero_has_no_inverse(small_panels, order):
    diagonal = np.ones(250)
    diagonal[order - 1] = 0.0
    for invert in (lapack.inverse_of_factor, lapack.inverse_of_triangle):
        assert invert(np.asfortranarray(np.diag(diagonal))) == order


def test_the_blas_has_one_thread_until_the_last_who_asked_is_done():
    first, second = lapack.one_blas_thread(), lapack.one_blas_thread()
    with ThreadpoolController().limit(limits=2, user_api="blas"):
        if set(blas_threads()) != {2}:
            pytest.skip("this BLAS cannot be given two threads")
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        assert set(blas_threads()) == {1}
        second.__exit__(None, None, None)
        assert set(blas_threads()) == {2}
