"""The features of landmarks in memory."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer import Gaussian
from mercer.data.stream import stream_of
from mercer.errors import MemoryLimitError
from mercer.gram import HeldEntriesGram, HeldLandmarkGram, fits_features, landmark_gram
from mercer.testing import check_gram

random = np.random.default_rng(0)
X = random.normal(size=(60, 3))


def gram(scale=1.5, m=12):
    return landmark_gram(Gaussian(scale), X, m)


def test_it_keeps_the_contract_of_a_gram_matrix():
    F = gram().landmarks(X)
    check_gram(HeldLandmarkGram.of(gram(), np.float64), F @ F.T)


@pytest.mark.parametrize(("dtype", "off"), [(np.float64, 0.0), (np.float32, 1e-5)])
def test_blocks_are_those_of_the_features_in_any_precision(dtype, off):
    held = HeldLandmarkGram.of(gram(), dtype)
    blocks = [F for _, F in held.feature_blocks(entries=100)]
    assert_allclose(np.vstack(blocks), gram().features(), rtol=0, atol=off)
    assert held.held_bytes == 60 * 12 * np.dtype(dtype).itemsize


def test_what_is_held_in_a_precision_is_not_computed_again():
    held = HeldLandmarkGram.of(gram(), np.float32)
    assert HeldLandmarkGram.of(held, np.float32) is held
    assert HeldLandmarkGram.of(held, np.float64).stored_dtype == np.float64
    assert_array_equal(held.index, gram().index)


def test_landmarks_that_are_nearly_dependent_are_whitened_in_float64():
    stiff = gram(100.0, 12)
    assert stiff.landmarks.single_error > 1e-2
    held = HeldLandmarkGram.of(stiff, np.float32)
    expected, is_held = stiff.features().astype(np.float32), held.matrix != 0.0
    assert_array_equal(held.matrix[is_held], expected[is_held])
    # What is nothing beside the rounding of float32 is held as zero.
    nothing = 1e-6 * float(np.finfo(np.float32).eps) * np.abs(expected).max()
    assert np.abs(expected[~is_held]).max(initial=0.0) < nothing


def test_features_that_do_not_fit_are_refused_with_the_landmarks_that_would():
    small = landmark_gram(Gaussian(1.5), X, 12, memory=60 * 4 * 12 - 1)
    assert not fits_features(small, np.float32)
    with pytest.raises(MemoryLimitError, match="use n_landmarks=11"):
        HeldLandmarkGram.of(small, np.float32)


def test_features_in_float64_have_to_fit_beside_those_in_float32():
    both = 12 * 60 * 10
    for memory, fits in ((both, True), (both - 1, False)):
        held = HeldLandmarkGram.of(landmark_gram(Gaussian(1.5), X, 10, memory=memory), np.float32)
        assert fits_features(held, np.float64) == fits


def test_entries_that_are_held_have_the_products_of_the_features():
    held, V, U = (
        HeldEntriesGram.of(gram()),
        random.normal(size=(12, 2)),
        random.normal(size=(60, 2)),
    )
    F = held.landmarks(X)
    check_gram(held, F @ F.T)
    assert held.held_bytes == 4 * 60 * 12
    stored = held.stored_rows(slice(10, 60))
    assert_allclose(stored @ held.to_stored(V), F[10:] @ V, atol=1e-4)
    assert_allclose(held.from_stored(stored.T @ U[10:]), F[10:].T @ U[10:], atol=1e-4)
    for blocks in (held.feature_blocks(np.float32), held.held_blocks(100)):
        assert_allclose(np.vstack([B for _, B in blocks]), F, atol=1e-4)


@pytest.mark.parametrize("index", [[3, 4, 5], [50, 7, 9], np.arange(60)[::-1]])
def test_a_part_of_the_entries_has_its_rows_in_their_order(index):
    held, V = HeldEntriesGram.of(gram()), random.normal(size=(12, 1))
    part = held.part(np.array(index))
    assert part.matrix is held.matrix
    stored = part.stored_rows(slice(None))
    assert_allclose(stored @ part.to_stored(V), held.landmarks(X[index]) @ V, atol=1e-4)
    assert_allclose(
        np.vstack([K for _, K in part.cross_blocks()]), held.landmarks.entries(X[index])
    )


def test_landmarks_that_are_nearly_dependent_have_features_and_no_entries():
    assert isinstance(HeldEntriesGram.of(gram(scale=30.0)), HeldLandmarkGram)


@pytest.mark.parametrize(("dtype", "off"), [(np.float64, 1e-12), (np.float32, 1e-4)])
def test_products_and_entries_of_any_rows_of_a_stream_are_those_of_held_features(dtype, off):
    streamed = landmark_gram(Gaussian(1.5), stream_of(lambda: iter([X[:20], X[20:]])), None, X[:12])
    index = np.array([30, 4, 50, 7])
    part, F = HeldLandmarkGram.of(streamed, dtype).part(index), streamed.landmarks(X)[index]
    V = random.normal(size=(4, 2))
    assert_allclose(part.product(V), F @ (F.T @ V), rtol=0, atol=off)
    assert_allclose(part.between([2, 0], slice(1, 4)), F[[2, 0]] @ F[1:].T, rtol=0, atol=off)
