"""Every kind of Gram against dense algebra."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from scipy.sparse.linalg import aslinearoperator, cg, eigsh

from mercer.gram import (
    DenseGram,
    LowRankGram,
    PrecomputedGram,
    ScaledGram,
    StreamedGram,
    gram_of,
)
from mercer.kernels import Gaussian, Linear, Precomputed

N = 23
KERNEL = Gaussian(1.5) + 0.1 * Linear()


def rows_of(seed=0, n=N):
    return np.random.default_rng(seed).normal(size=(n, 3))


def low_rank():
    F = rows_of()
    return LowRankGram(F), F @ F.T


def low_rank_sparse():
    F = np.maximum(rows_of(1), 0.0)
    return LowRankGram(sp.csr_array(F)), F @ F.T


def with_noise():
    noise = np.linspace(0.5, 2.0, N)
    return StreamedGram(KERNEL, rows_of()).shifted(noise), KERNEL(rows_of()) + np.diag(noise)


def scaled():
    factors = np.linspace(0.5, 2.0, N)
    K = factors[:, None] * KERNEL(rows_of()) * factors
    return ScaledGram(StreamedGram(KERNEL, rows_of()), factors), K


GRAMS = {
    "dense": lambda: (gram_of(KERNEL, rows_of()), KERNEL(rows_of())),
    "streamed": lambda: (StreamedGram(KERNEL, rows_of()), KERNEL(rows_of())),
    "streamed CSR": lambda: (StreamedGram(KERNEL, sp.csr_array(rows_of())), KERNEL(rows_of())),
    "low rank": low_rank,
    "low rank, sparse features": low_rank_sparse,
    "precomputed": lambda: (PrecomputedGram(KERNEL(rows_of())), KERNEL(rows_of())),
    "scaled": scaled,
    "shifted": with_noise,
    "shifted, held": lambda: (
        gram_of(KERNEL, rows_of()).shifted(2.0),
        KERNEL(rows_of()) + 2.0 * np.eye(N),
    ),
}


@pytest.fixture(params=GRAMS, ids=str)
def gram_and_matrix(request):
    return GRAMS[request.param]()


def test_a_gram_multiplies_vectors_and_matrices(gram_and_matrix, rng):
    gram, K = gram_and_matrix
    for V in (rng.normal(size=N), rng.normal(size=(N, 4)), rng.normal(size=(N, 0))):
        assert_allclose(gram @ V, K @ V, rtol=1e-12, atol=1e-12)
        assert (gram @ V).shape == V.shape


def test_a_gram_multiplies_from_the_right(gram_and_matrix, rng):
    gram, K = gram_and_matrix
    V = rng.normal(size=(4, N))
    assert_allclose(V @ gram, V @ K, rtol=1e-12, atol=1e-12)
    assert_allclose(V[0] @ gram, V[0] @ K, rtol=1e-12, atol=1e-12)


def test_a_gram_knows_its_entries(gram_and_matrix):
    gram, K = gram_and_matrix
    assert gram.shape == (N, N)
    assert len(gram) == N
    assert gram.dtype == np.float64
    assert_allclose(gram.dense(), K, rtol=1e-12)
    assert_allclose(gram.diagonal(), np.diag(K), rtol=1e-12)


@pytest.mark.parametrize(
    "index",
    [[3, 0, 3], slice(2, 9, 3), np.arange(N) % 2 == 0, -1, []],
    ids=["numbers", "slice", "mask", "one number", "nothing"],
)
def test_a_gram_gives_the_rows_of_any_index(gram_and_matrix, index):
    gram, K = gram_and_matrix
    expected = np.atleast_2d(K[index])
    assert_allclose(gram.rows(index), expected, rtol=1e-12, atol=1e-14)


def test_a_row_beyond_the_end_is_an_index_error(gram_and_matrix):
    with pytest.raises(IndexError):
        gram_and_matrix[0].rows([N])


@pytest.mark.parametrize("d", [0.25, np.arange(N) / 7.0], ids=["number", "vector"])
def test_a_shift_adds_to_the_diagonal(gram_and_matrix, rng, d):
    gram, K = gram_and_matrix
    A = K + np.diag(np.broadcast_to(d, N))
    shifted = gram.shifted(d)
    assert_allclose(shifted.dense(), A, rtol=1e-12)
    assert_allclose(shifted.diagonal(), np.diag(A), rtol=1e-12)
    assert_allclose(shifted.rows([5, 1]), A[[5, 1]], rtol=1e-12, atol=1e-14)
    V = rng.normal(size=(N, 2))
    assert_allclose(shifted @ V, A @ V, rtol=1e-12, atol=1e-12)
    assert_allclose(gram.dense(), K, rtol=1e-12)


def test_shifts_add_up(gram_and_matrix):
    gram, K = gram_and_matrix
    twice = gram.shifted(1.0).shifted(np.arange(N))
    assert_allclose(twice.dense(), K + np.diag(1.0 + np.arange(N)), rtol=1e-12)


def test_a_fresh_matrix_is_the_callers_own(gram_and_matrix):
    gram, K = gram_and_matrix
    fresh = gram.fresh()
    assert fresh.dtype == np.float64
    assert fresh.flags.c_contiguous
    fresh[:] = np.nan
    assert_allclose(gram.dense(), K, rtol=1e-12)


def test_conjugate_gradients_of_scipy_solve_with_a_gram(gram_and_matrix, rng):
    gram, K = gram_and_matrix
    y = rng.normal(size=N)
    a, failed = cg(gram.shifted(0.5), y, rtol=1e-12, maxiter=1000)
    assert not failed
    assert_allclose(a, np.linalg.solve(K + 0.5 * np.eye(N), y), rtol=1e-8, atol=1e-10)


def test_scipy_finds_the_eigenvalues_of_a_gram(gram_and_matrix):
    gram, K = gram_and_matrix
    found = eigsh(gram, k=3, which="LA", return_eigenvectors=False, v0=np.ones(N))
    assert_allclose(np.sort(found), np.linalg.eigvalsh(K)[-3:], rtol=1e-10)


def test_a_gram_is_a_linear_operator_of_scipy(gram_and_matrix, rng):
    gram, K = gram_and_matrix
    operator = aslinearoperator(gram)
    V = rng.normal(size=(N, 2))
    assert operator.dtype == np.float64
    assert_allclose(operator @ V, K @ V, rtol=1e-12, atol=1e-12)
    assert_allclose(operator.T @ V, K.T @ V, rtol=1e-12, atol=1e-12)
    assert_allclose(gram.matmat(V), K @ V, rtol=1e-12, atol=1e-12)
    assert_allclose(gram.rmatmat(V), K @ V, rtol=1e-12, atol=1e-12)


def test_a_held_gram_is_read_only_and_a_streamed_one_hands_over():
    for held in (gram_of(KERNEL, rows_of()), PrecomputedGram(KERNEL(rows_of()))):
        assert not held.dense().flags.writeable
        assert held.dense() is held.dense()
    streamed = StreamedGram(KERNEL, rows_of())
    assert streamed.dense().flags.writeable
    assert streamed.dense() is not streamed.dense()


def test_float32_rows_give_a_float32_gram():
    X = rows_of().astype(np.float32)
    K = KERNEL(X.astype(np.float64))
    for gram in (gram_of(KERNEL, X), StreamedGram(KERNEL, X)):
        assert gram.dtype == np.float32
        assert gram.dense().dtype == np.float32
        assert gram.fresh().dtype == np.float64
        assert gram.diagonal().dtype == np.float32
        assert_allclose(gram.dense(), K, rtol=1e-5, atol=1e-6)


def test_a_float32_gram_accumulates_float64_vectors_in_float64(rng):
    gram = gram_of(KERNEL, rows_of().astype(np.float32))
    v = rng.normal(size=N)
    assert (gram @ v).dtype == np.float64
    assert_allclose(gram @ v, gram.dense().astype(np.float64) @ v, rtol=1e-14)
    assert (gram @ v.astype(np.float32)).dtype == np.float32


@pytest.mark.parametrize(
    ("V", "said"),
    [
        (np.ones(N + 1), rf"V must have {N} rows .* got shape \({N + 1},\)"),
        (np.ones((N, 2, 2)), rf"V must have {N} rows"),
        (np.ones(N, complex), "V must hold real numbers, got dtype complex128"),
        (["a"] * N, "V must hold real numbers"),
    ],
    ids=["length", "dimensions", "complex", "text"],
)
def test_a_wrong_right_hand_side_is_refused(gram_and_matrix, V, said):
    with pytest.raises(ValueError, match=said):
        gram_and_matrix[0] @ V


@pytest.mark.parametrize("d", [np.ones(N - 1), "1", np.nan, 1j], ids=repr)
def test_a_wrong_shift_is_refused(gram_and_matrix, d):
    with pytest.raises(ValueError, match="a shift must be"):
        gram_and_matrix[0].shifted(d)


def test_a_gram_tells_what_it_holds():
    streamed, held = StreamedGram(KERNEL, rows_of()), gram_of(KERNEL, rows_of())
    assert streamed.held_bytes == streamed.shifted(1.0).held_bytes == 0
    assert held.held_bytes == held.shifted(1.0).held_bytes == 8 * N * N
    assert ScaledGram(held, np.ones(N)).held_bytes == 8 * N * N


def test_a_streamed_matrix_maps_its_rows_once(points):
    calls = []

    def mapped(X):
        calls.append(len(X))
        return 2.0 * X

    gram = StreamedGram(Gaussian().after(mapped), points(50))
    for _ in range(3):
        gram @ np.ones(50)
    gram.rows(slice(0, 5))
    assert calls == [50]


@pytest.mark.parametrize(
    ("rows", "columns"), [([3, 1, 8], slice(2, 20)), (slice(5, None), [4, 2]), ([7], [7, 7])]
)
def test_a_gram_gives_entries_and_sums_between_some_rows_and_columns(
    gram_and_matrix, rows, columns
):
    gram, K = gram_and_matrix
    expected = K[rows][:, columns]
    assert_allclose(gram.between(rows, columns), expected, rtol=1e-12, atol=1e-14)
    V = np.random.default_rng(2).normal(size=(expected.shape[1], 2))
    assert_allclose(gram.partial_product(rows, columns, V), expected @ V, rtol=1e-10, atol=1e-12)
    single = gram.single()
    assert single.between(rows, columns).dtype == np.float32
    assert_allclose(single.between(rows, columns), expected, rtol=1e-5, atol=1e-6)


def test_entries_of_a_finished_matrix_may_be_streamed():
    K = KERNEL(rows_of())
    gram = gram_of(2.0 * Precomputed(), K, share=0.0)
    assert_allclose(gram.between([3, 1], [5, 2, 9]), 2.0 * K[[3, 1]][:, [5, 2, 9]])
    assert_allclose(gram.partial_product([3], [5, 2], np.eye(2)), 2.0 * K[[3]][:, [5, 2]])


def test_a_shift_reaches_the_diagonal_in_any_order_of_memory():
    class Columns(DenseGram):
        def dense(self):
            return np.asfortranarray(np.ones((3, 3)))

    gram = Columns(np.ones((3, 3)), 10**6)
    assert_allclose(gram.shifted(2.0).dense().diagonal(), 3.0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_lower_triangle_of_a_held_matrix_is_that_of_the_streamed_one(dtype):
    X = rows_of()
    held, streamed = gram_of(KERNEL, X).lower(dtype), StreamedGram(KERNEL, X).lower(dtype)
    assert held.dtype == dtype
    assert_allclose(np.tril(held), np.tril(streamed), rtol=4 * np.finfo(dtype).eps)
