"""The Gram matrix by landmarks, and the choice of landmarks."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer import Exponential, FromFunction, Gaussian, Match, Spectrum
from mercer.features import landmark_map
from mercer.features.landmarks import factor_without
from mercer.gram import gram_of, landmark_gram
from mercer.gram.pivots import RULES, chosen_landmarks
from mercer.testing import check_gram

random = np.random.default_rng(0)
X = random.normal(size=(60, 3))


@pytest.mark.parametrize("how", RULES)
def test_it_keeps_the_contract_of_a_gram_matrix(how):
    gram = landmark_gram(Gaussian(1.5), X, 12, how)
    F = gram.landmarks(X)
    check_gram(gram, F @ F.T)


def test_products_with_the_entries_between_rows_and_landmarks():
    gram = landmark_gram(Gaussian(1.5), X, 12)
    K = Gaussian(1.5)(X, gram.landmarks.rows)
    V, U = random.normal(size=(12, 2)), random.normal(size=(60, 2))
    assert np.allclose(gram.cross_product(V), K @ V)
    assert np.allclose(gram.cross_transposed(U), K.T @ U)
    assert np.allclose(np.vstack([B for _, B in gram.cross_blocks(entries=100)]), K)


def test_the_trace_residual_is_that_of_the_formula():
    gram = landmark_gram(Gaussian(1.5), X, 12)
    F = gram.landmarks(X)
    assert gram.trace_residual() == pytest.approx(1.0 - np.trace(F @ F.T) / 60)


def test_what_landmarks_leave_of_the_prior_variance_is_the_diagonal_of_the_difference(rng):
    X, kernel = rng.normal(size=(30, 2)), Gaussian(1.0)
    gram = landmark_gram(kernel, X, 5)
    assert_allclose(gram.residual_diagonal(), 1.0 - np.diag(gram.dense()), atol=1e-12)
    assert gram.residual_diagonal().max() > 0.01
    assert gram_of(kernel, X).residual_diagonal().tolist() == [0.0] * 30


def test_all_rows_as_landmarks_reproduce_the_kernel():
    gram = landmark_gram(Gaussian(0.5), X, 60)
    assert np.allclose(gram.dense(), Gaussian(0.5)(X), rtol=0, atol=1e-10)


def test_pivots_leave_less_than_uniform_landmarks_on_rows_in_clusters():
    few = np.concatenate([random.normal(size=(400, 2)) * 0.1, random.normal(size=(8, 2)) * 5])
    left = {
        how: np.mean(
            [landmark_gram(Gaussian(0.5), few, 12, how, s).trace_residual() for s in range(5)]
        )
        for how in ("uniform", "rpcholesky")
    }
    assert left["rpcholesky"] < 0.8 * left["uniform"]


def test_landmarks_are_the_same_for_the_same_seed():
    first, again, other = (
        chosen_landmarks(Gaussian(1.0), X, 9, "rpcholesky", s) for s in (1, 1, 2)
    )
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_landmarks_beyond_the_pivots_are_drawn_by_what_these_leave(monkeypatch):
    monkeypatch.setattr("mercer.gram.pivots.MOST_PIVOTS", 4)
    found = chosen_landmarks(Gaussian(1.0), X, 20, "rpcholesky")
    assert len(np.unique(found, axis=0)) == 20


def test_landmarks_may_be_given():
    gram = landmark_gram(Gaussian(1.0), X, None, X[:7])
    assert gram.landmarks.n_features == 7


def test_texts_are_chosen_by_pivots():
    texts = ["abcab", "bcabc", "cabca", "aaaa", "abcab", "bbbb"]
    gram = landmark_gram(Spectrum(k=2), texts, 6)
    assert np.allclose(gram.dense(), Spectrum(k=2)(texts), rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ("m", "how", "said"),
    [
        (61, "uniform", "from 1 to the number of rows, 60, got 61"),
        (0, "uniform", "got 0"),
        (None, "uniform", "n_landmarks is needed"),
        (5, "best", "one of 'rpcholesky', 'uniform', 'kmeans' or rows, got 'best'"),
        (5, X[:7], "n_landmarks=5 but 7 landmarks are given"),
    ],
)
def test_what_cannot_be_chosen_is_refused(m, how, said):
    with pytest.raises(ValueError, match=said):
        landmark_gram(Gaussian(1.0), X, m, how)


def test_clusters_of_texts_are_refused():
    with pytest.raises(ValueError, match=r"kmeans.*rpcholesky"):
        landmark_gram(Spectrum(k=2), ["ab", "bc", "cd"], 2, "kmeans")


def test_residuals_and_what_the_landmarks_see_of_them():
    gram = landmark_gram(Gaussian(1.5), X, 12)
    K, w = Gaussian(1.5)(X, gram.landmarks.rows), random.uniform(1.0, 2.0, 60)
    c, y = random.normal(size=(12, 2)), random.normal(size=(60, 2))
    r, adjoint = gram.residuals(c, y, w)
    assert np.allclose(r, y - K @ c)
    assert np.allclose(adjoint, K.T @ (w[:, None] * np.column_stack([r, np.ones(60)])))


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_entries_are_in_float32_where_rows_are_not_far_from_zero(offset):
    rows, w = X + offset, random.uniform(1.0, 2.0, 60)
    gram = landmark_gram(Gaussian(1.5), rows, 12)
    assert gram.is_single == (offset == 0.0)
    K, C = Gaussian(1.5)(rows, gram.landmarks.rows), random.normal(size=(12, 2))
    product, total = gram.normal_product(C, w)
    assert np.allclose(product, K.T @ (w[:, None] * (K @ C)), rtol=1e-5, atol=1e-4)
    assert np.allclose(total, w @ (K @ C), rtol=1e-5, atol=1e-4)
    assert np.allclose(np.vstack([B for _, B in gram.cross_blocks(np.float32)]), K, atol=1e-5)


def test_landmarks_that_add_little_are_left_out_of_the_factor():
    # Three rows next to others have pivots of 1e-6, where the rest leave a thousand times as much.
    rows = np.vstack([X, X[:3] + 1e-3])
    gram = landmark_gram(Gaussian(0.7), rows, 60, "uniform", seed=1)
    phi = gram.landmarks
    assert phi.n_features < 60
    assert_array_equal(phi.rows, rows[gram.index].astype(np.float32))
    assert_array_equal(phi.factor, np.tril(phi.factor))
    assert (phi.factor.diagonal() > 0.0).all()
    assert_allclose(phi.factor @ phi.factor.T, Gaussian(0.7)(phi.rows), atol=1e-13)


@pytest.mark.parametrize("index", [[0], [59], [3, 4, 5, 40], list(range(1, 60, 2))])
def test_the_factor_without_some_landmarks_is_that_of_the_others(index):
    phi, _ = landmark_map(Gaussian(0.7), X)
    fewer = factor_without(phi.factor, np.array(index))
    others, _ = landmark_map(Gaussian(0.7), np.delete(X, index, axis=0))
    assert_allclose(fewer, others.factor, atol=1e-12)


def test_a_sketch_keeps_the_length_of_what_is_weighted_on_average():
    gram, w = landmark_gram(Gaussian(1.5), X, 6), random.uniform(1.0, 2.0, 60)
    K = Gaussian(1.5)(X, gram.landmarks.rows)
    found = [gram.sketch(12, w, seed) for seed in range(400)]
    mean = np.mean([S.T @ S for S, _ in found], axis=0)
    expected = K.T @ (w[:, None] * K)
    assert np.abs(mean - expected).max() < 0.05 * np.abs(expected).max()
    sums = np.mean([S.T @ ones for S, ones in found], axis=0)
    assert np.abs(sums - K.T @ w).max() < 0.05 * np.abs(K.T @ w).max()
    assert found[0][0].shape == (12, 6)


def test_landmarks_that_add_nothing_to_what_is_left_anyway_are_left_out():
    # Pairs of rows so near to each other that a second landmark there is wasted.
    rows = np.repeat(random.normal(size=(100, 8)), 2, axis=0)
    rows[1::2] += 1e-5
    gram = landmark_gram(Gaussian(1.0), rows, 120, "uniform")
    assert gram.landmarks.n_features < 120
    assert gram.landmarks.factor.diagonal().min() ** 2 > 1e-5
    assert np.array_equal(rows[gram.index].astype(np.float32), gram.landmarks.rows)


def test_rounding_to_float32_moves_the_features_of_chosen_landmarks_by_no_mean():
    rows, kernel = np.random.default_rng(1).normal(size=(3000, 4)), Gaussian(2.5)
    chosen = landmark_gram(kernel, rows, 100)
    assert chosen.index is not None
    unrounded = landmark_gram(kernel, rows, None, rows[chosen.index])

    def shift(gram):
        off = sum((F - gram.landmarks(rows[at])).sum(axis=0) for at, F in single_features(gram))
        return np.linalg.norm(off) / len(rows)

    def single_features(gram):
        for at, K in gram.cross_blocks(np.float32):
            yield at, gram.landmarks.whitened(K.astype(np.float64))

    assert shift(chosen) < 0.2 * shift(unrounded)


def _are_equal(A, B):
    return (A[:, None, :] == B[None, :, :]).all(axis=2).astype(np.float64)


@pytest.mark.parametrize("kernel", [Match(), FromFunction(_are_equal), Exponential(0.001)])
def test_landmarks_are_rows_as_they_are_where_the_kernel_tells_them_from_rounded_ones(kernel):
    # Rounded as well, these rows are equal as before: only beside exact ones it is seen.
    rows = 0.1 * random.integers(0, 50, (300, 1))
    gram = landmark_gram(kernel, rows, 40)
    assert_array_equal(gram.landmarks.rows, rows[gram.index])


def test_landmarks_that_float32_does_not_tell_apart_are_rows_as_they_are():
    rows = X + 1e6
    gram = landmark_gram(Gaussian(1.5), rows, 12)
    assert_array_equal(gram.landmarks.rows, rows[gram.index])
