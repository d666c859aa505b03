"""A matrix that the user brought is checked at the door."""

import numpy as np
import pytest
import scipy.sparse as sp

from mercer.gram import PrecomputedGram, gram_of
from mercer.kernels import Precomputed


@pytest.fixture
def K(rng):
    F = rng.normal(size=(40, 60))
    return F @ F.T


def test_the_matrix_is_not_copied_and_stays_writeable_for_its_owner(K):
    gram = gram_of(Precomputed(), K)
    assert np.shares_memory(gram.dense(), K)
    assert K.flags.writeable


@pytest.mark.parametrize("memory_block", [1 << 20, 16], ids=["one block", "many blocks"])
def test_an_asymmetric_matrix_is_refused_with_the_pair_and_both_values(
    K, monkeypatch, memory_block
):
    monkeypatch.setattr("mercer.data.blocks.MEMORY", memory_block)
    K[3, 17], K[17, 3] = 1.25, 1.5
    with pytest.raises(
        ValueError, match=r"K\[3, 17\] = 1\.25 and K\[17, 3\] = 1\.5; use \(K \+ K\.T\) / 2"
    ):
        PrecomputedGram(K)


def test_rounding_does_not_make_a_matrix_asymmetric(K):
    eps = np.finfo(float).eps
    K[3, 17] += 7 * eps * K.max()
    PrecomputedGram(K)
    K[3, 17] += 3 * eps * K.max()
    with pytest.raises(ValueError, match="must be symmetric"):
        PrecomputedGram(K)


def test_the_rounding_granted_is_that_of_the_type_given(K):
    rounded = K.astype(np.float32)
    rounded[3, 17] += 7 * np.finfo(np.float32).eps * rounded.max()
    assert PrecomputedGram(rounded).dtype == np.float32
    with pytest.raises(ValueError, match="must be symmetric"):
        PrecomputedGram(rounded.astype(np.float64))


def test_integers_lists_and_sparse_matrices_are_taken():
    for K in ([[2, 1], [1, 2]], np.array([[2, 1], [1, 2]]), sp.csr_array([[2, 1], [1, 2]])):
        assert PrecomputedGram(K).dense().tolist() == [[2.0, 1.0], [1.0, 2.0]]


@pytest.mark.parametrize(
    ("K", "said"),
    [
        (np.ones((3, 2)), r"must be square, got shape \(3, 2\)"),
        (np.ones(3), "must be a matrix"),
        (np.diag([1.0, np.nan]), "contains NaN at row 1, column 1"),
        (np.diag([1.0, np.inf]), "contains infinity"),
        (np.eye(2) * 1j, "is complex"),
    ],
    ids=["rectangular", "vector", "nan", "infinity", "complex"],
)
def test_what_cannot_be_a_gram_matrix_is_refused(K, said):
    with pytest.raises(ValueError, match=said):
        PrecomputedGram(K)


@pytest.mark.parametrize("kernel", [Precomputed(), 2.0 * Precomputed()])
def test_of_the_prior_variance_of_new_rows_nothing_is_known(K, kernel):
    assert gram_of(kernel, K, memory=100).residual_diagonal() is None
