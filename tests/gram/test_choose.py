"""Which Gram is chosen, and what is refused for want of memory."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from mercer.errors import MemoryLimitError
from mercer.gram import (
    DenseGram,
    LowRankGram,
    PrecomputedGram,
    StreamedGram,
    gram_of,
    kept_gram_of,
    unheld_gram_of,
)
from mercer.kernels import Gaussian, Linear, Precomputed

KERNEL = Gaussian(2.0)


@pytest.fixture
def X(rng):
    return rng.normal(size=(50, 2))  # K takes 20 kB


def test_a_gram_is_held_where_it_fits(X):
    assert isinstance(gram_of(KERNEL, X), DenseGram)
    assert isinstance(gram_of(KERNEL, X, memory=20_000), DenseGram)
    assert isinstance(gram_of(KERNEL, X, memory="20KB"), DenseGram)


def test_a_gram_is_streamed_where_it_does_not_fit(X):
    gram = gram_of(KERNEL, X, memory=19_999)
    assert isinstance(gram, StreamedGram)
    assert_allclose(gram @ np.ones(50), KERNEL(X).sum(axis=1), rtol=1e-12)


@pytest.mark.parametrize("memory", [20_000, 19_999])
def test_held_or_streamed_a_gram_knows_how_new_rows_compare_with_its_own(X, rng, memory):
    new = rng.normal(size=(3, 2))
    assert_allclose(gram_of(KERNEL, X, memory).entries_at(new), KERNEL(X, new), rtol=1e-12)


def test_entries_of_no_known_kernel_do_not_tell_how_new_rows_compare(X):
    with pytest.raises(ValueError, match=r"does not know how new rows compare.*use gram_of"):
        DenseGram(KERNEL(X), 1 << 20).entries_at(X)


def test_a_gram_is_held_where_it_fits_into_its_share(X):
    assert isinstance(gram_of(KERNEL, X, memory=40_000, share=0.5), DenseGram)
    assert isinstance(gram_of(KERNEL, X, memory=39_999, share=0.5), StreamedGram)


def test_float32_rows_take_half_the_memory(X):
    assert isinstance(gram_of(KERNEL, X.astype(np.float32), memory="10KB"), DenseGram)


def test_a_gram_that_nobody_holds_is_streamed_or_precomputed(X):
    assert isinstance(unheld_gram_of(KERNEL, X), StreamedGram)
    assert isinstance(unheld_gram_of(Precomputed(), KERNEL(X)), PrecomputedGram)


def test_a_kernel_may_be_given_by_name(X):
    assert gram_of("gaussian", X).source.kernel == Gaussian("median").resolved(X)


def test_the_median_is_resolved_on_the_rows(X):
    for gram in (gram_of(Gaussian("median"), X).source, StreamedGram(Gaussian("median"), X)):
        assert gram.kernel == Gaussian("median").resolved(X)
        assert_allclose(gram.dense(), Gaussian("median")(X), rtol=1e-14)


@pytest.mark.parametrize(
    "ask",
    [
        lambda X: DenseGram.of(StreamedGram(KERNEL, X, memory="10KB")),
        lambda X: StreamedGram(KERNEL, X, memory="10KB").dense(),
        lambda X: StreamedGram(KERNEL, X, memory="10KB").fresh(),
        lambda X: StreamedGram(KERNEL, X, memory="10KB").shifted(1.0).dense(),
        lambda X: LowRankGram(X, memory="10KB").dense(),
        lambda X: PrecomputedGram(KERNEL(X), memory="10KB").fresh(),
        lambda X: PrecomputedGram(KERNEL(X), memory="10KB").shifted(1.0).dense(),
    ],
)
def test_a_matrix_beyond_the_limit_is_refused_in_one_line(X, ask):
    with pytest.raises(MemoryLimitError) as refusal:
        ask(X)
    text = str(refusal.value)
    assert "50 x 50 float64 entries needs 0.02 MB but the limit is 0.01 MB" in text
    assert "raise memory=, use fewer rows, or use products" in text
    assert "\n" not in text


def test_the_refusal_counts_gigabytes_and_allocates_nothing():
    X = np.zeros((200_000, 1))
    with pytest.raises(MemoryLimitError, match=r"320\.00 GB but the limit is 4\.00 GB"):
        StreamedGram(KERNEL, X, memory="4GB").dense()


@pytest.mark.parametrize("memory", ["4 parsecs", -1, 0, True, "GB"])
def test_a_limit_that_means_nothing_is_refused(X, memory):
    with pytest.raises(ValueError, match="memory must be"):
        gram_of(KERNEL, X, memory=memory)


def test_a_kernel_is_precomputed_if_any_of_its_parts_is():
    assert Precomputed().is_precomputed
    assert (2.0 * Precomputed() + 1.0).is_precomputed
    assert not (Gaussian() + Linear()).is_precomputed


def test_a_kernel_made_of_a_precomputed_one_works_on_the_matrix(X, rng):
    K = KERNEL(X)
    gram = gram_of(2.0 * Precomputed() + 1.0, K)
    v = rng.normal(size=50)
    assert_allclose(gram.dense(), 2.0 * K + 1.0, rtol=1e-14)
    streamed = unheld_gram_of(2.0 * Precomputed() + 1.0, K)
    assert_allclose(streamed @ v, (2.0 * K + 1.0) @ v, rtol=1e-12)
    assert_allclose(streamed.rows([4, 2]), 2.0 * K[[4, 2]] + 1.0, rtol=1e-14)


def test_entries_of_few_rows_are_kept_and_those_of_many_are_not(X, rng):
    assert isinstance(kept_gram_of(KERNEL, X), DenseGram)
    assert isinstance(kept_gram_of(KERNEL, rng.normal(size=(300, 2))), StreamedGram)


def test_sparse_rows_stay_sparse_where_they_are_compared_again_and_again():
    filled = sp.random(300, 20, density=0.3, random_state=0, format="csr")
    assert sp.issparse(kept_gram_of(KERNEL, filled).X)
