"""The native routines for sequences against their twins, at every level and thread count."""

import functools
import textwrap

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

import strings
from mercer.data.sequences import as_sequences
from mercer.native.strings import (
    count_products,
    numbered,
    run_lengths,
    sparse_products,
    subsequence_diagonal,
    subsequences,
)
from mercer.native.twins import strings as strings_twin
from mercer.tiles import counts, kmers as grams, loop_twin
from mercer.tiles.evaluate import engine
from processes import forked

native = pytest.importorskip("mercer.tiles.loop", reason="the native core is not built here")

LEVELS = ("v2", "v3", "v4", "plain")


@pytest.fixture(params=LEVELS)
def level(request, monkeypatch):
    """Every level of the processor that this machine has."""
    if engine() is loop_twin:
        pytest.skip("the NumPy engine runs")
    monkeypatch.setenv("MERCER_CPU", request.param)
    try:
        native.cpu_level()
    except ValueError:
        pytest.skip(f"this machine has no level {request.param}")
    return request.param


@functools.cache
def expected(k, shorter):
    """Words, weights, and the Gram matrix of the words by the twin, once for all levels."""
    rng = np.random.default_rng(k)
    rows = strings.words(rng, 22, longest=12)
    weights = rng.random(k) + 0.5 if shorter else np.eye(k)[-1]
    each = [np.frombuffer(row.encode(), np.uint8) for row in rows]
    K = strings.gram(lambda s, t: strings_twin.subsequence(s, t, weights, 0.7), each, each)
    return as_sequences(rows), weights, K


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5, 6, 7, 9])
@pytest.mark.parametrize("shorter", [False, True])
def test_subsequences_equal_their_twin(level, k, shorter):
    S, weights, K = expected(k, shorter)
    some = slice(3, 8)
    close = functools.partial(assert_allclose, rtol=1e-13, atol=1e-13)
    close(subsequences(S, S, weights, 0.7), K)
    close(subsequences(S, S[some], weights, 0.7), K[:, some])
    close(subsequences(S[some], S, weights, 0.7), K[some])
    close(subsequence_diagonal(S, weights, 0.7), np.diagonal(K))


def test_subsequences_of_tokens_equal_those_of_letters(level, rng):
    rows = strings.words(rng, 20)
    tokens = [[{"a": "one", "b": "two", "c": (3, 3)}[c] for c in row] for row in rows]
    weights = np.ones(3)
    S, T = as_sequences(rows), as_sequences(tokens)
    assert_array_equal(subsequences(S, S, weights, 0.5), subsequences(T, T, weights, 0.5))


@pytest.mark.parametrize(
    "shape", [(1, 1, 5), (3, 70, 31), (33, 65, 2100), (4, 4, 64), (200, 130, 40)]
)
def test_products_of_counts_are_exact(level, rng, shape):
    n, m, p = shape
    pad = -p % counts.PADDING
    A, B = (
        np.pad(rng.integers(0, 9, (rows, p)), ((0, 0), (0, pad))).astype(np.int16)
        for rows in (n, m)
    )
    assert_array_equal(count_products(A, B), strings_twin.count_products(A, B))
    assert_array_equal(count_products(A, A), strings_twin.count_products(A, A))


@pytest.mark.parametrize("shape", [(1, 1, 5), (9, 17, 40), (64, 30, 3), (5, 5, 1)])
def test_products_of_sparse_rows_are_those_of_dense_ones(rng, shape):
    n, m, p = shape
    A, B = (sp.random_array((rows, p), density=0.3, rng=rng, format="csr") for rows in (n, m))
    for right in (A, B):
        expected = A.toarray() @ right.toarray().T
        assert_allclose(sparse_products(A, right), expected, rtol=1e-14, atol=1e-15)


def test_large_counts_are_multiplied_exactly(level):
    A = np.zeros((2, 32), np.int16)
    A[:, 0] = 2**15 - 1
    assert_array_equal(count_products(A, A), np.full((2, 2), float((2**15 - 1) ** 2)))


def test_products_of_counts_fill_any_array(rng):
    A, B = (rng.integers(0, 9, (n, 32)).astype(np.int16) for n in (70, 67))
    expected = strings_twin.count_products(A, B)
    for out in (np.empty((67, 70)).T, np.empty((70, 100))[:, 3:70], np.empty((70, 134))[:, ::2]):
        assert_array_equal(count_products(A, B, out), expected)


# Few distinct codes are tallied, many are sorted.
@pytest.mark.parametrize("distinct", [5, 5_000, 2**50])
def test_run_lengths_equal_their_twin(rng, distinct):
    starts = np.concatenate([[0], np.cumsum(rng.integers(0, 30, 200))])
    codes = rng.integers(-distinct, distinct, starts[-1]) * (2**60 // distinct)
    for ours, theirs in zip(
        run_lengths(codes, starts), strings_twin.run_lengths(codes, starts), strict=True
    ):
        assert_array_equal(ours, theirs)


@pytest.mark.parametrize("n", [0, 1, 100, 20_000])
def test_equal_values_have_one_number(rng, n):
    values = rng.integers(-n, n + 1, n) * (2**60 // (n + 1))
    count, places = numbered(values)
    expected, _ = strings_twin.numbered(values)
    assert count == expected
    names = np.empty(count, np.int64)
    names[places] = values
    assert_array_equal(names[places], values)


@functools.cache
def long_pair(k):
    """Return two sequences, so long that the native loop asks in between whether to go on.

    Then what the twin finds of both, and of the first with itself.
    """
    random = np.random.default_rng(20240607)
    s, t = (random.integers(97, 99, 1500).astype(np.uint8) for _ in range(2))
    return s, t, *(strings_twin.subsequence(s, other, np.ones(k), 0.5) for other in (t, s))


@pytest.mark.parametrize("k", [1, 3, 7])
def test_sequences_that_are_compared_in_parts_have_the_sums_of_the_whole(level, k):
    s, t, expected, own = long_pair(k)
    S, T = (as_sequences([row.tobytes().decode()]) for row in (s, t))
    assert_allclose(subsequences(S, T, np.ones(k), 0.5), [[expected]], rtol=1e-10)
    assert_allclose(subsequence_diagonal(S, np.ones(k), 0.5), [own], rtol=1e-10)


@pytest.mark.skipif(engine() is loop_twin, reason="the NumPy engine runs")
@pytest.mark.parametrize("threads", [2, 3, 7])
def test_the_bits_do_not_depend_on_the_threads(rng, monkeypatch, threads):
    S = as_sequences(strings.words(rng, 150, longest=20))
    # So long that every row is a task of its own.
    long = as_sequences(strings.words(rng, 20, longest=1500))
    F = grams.gram_counts(S, 2, [(0, 1)])
    narrow, _ = counts.brought_together(F, F)
    A, _ = counts.as_counts(narrow, narrow)

    def results():
        return (
            subsequences(S, S, np.ones(4), 0.6),
            subsequences(long, long, np.ones(2), 0.9),
            subsequence_diagonal(S, np.ones(4), 0.6),
            count_products(A, A),
            sparse_products(narrow, narrow),
            grams.gram_counts(S, 3, [(0, 2)]).data,
        )

    monkeypatch.setenv("MERCER_THREADS", "1")
    alone = results()
    monkeypatch.setenv("MERCER_THREADS", str(threads))
    for one, other in zip(alone, results(), strict=True):
        assert_array_equal(one, other)


@pytest.mark.parametrize("letters", ["ab", "aé", "日本😀"])
@pytest.mark.parametrize("width", [1, 3, 9, 12])
def test_k_grams_are_counted_whatever_their_letters_and_length(rng, letters, width):
    rows = strings.words(rng, 30, letters, longest=16)
    F = grams.gram_counts(as_sequences(rows), width, [tuple(range(width))])
    left, right = counts.brought_together(F, F)
    expected = strings.gram(lambda s, t: strings.spectrum(s, t, width), rows, rows)
    assert_array_equal((left @ right.T).toarray(), expected)


def test_the_column_of_a_k_gram_does_not_depend_on_the_other_rows(rng):
    rows = strings.words(rng, 20, "abé")
    whole = grams.gram_counts(as_sequences(rows), 2, [(0, 1)])
    for i, row in enumerate(rows):
        alone = grams.gram_counts(as_sequences([row]), 2, [(0, 1)])
        assert_array_equal(alone.indices, whole[[i]].indices)


def test_k_grams_counted_in_parts_are_those_counted_at_once(rng, monkeypatch):
    S = as_sequences(strings.words(rng, 50))
    whole = grams.gram_counts(S, 2, [(0, 1)])
    monkeypatch.setattr(grams, "LARGE", 16)
    parts = grams.gram_counts(S, 2, [(0, 1)])
    for name in ("indptr", "indices", "data"):
        assert_array_equal(getattr(parts, name), getattr(whole, name))


def test_two_k_grams_with_one_hash_are_refused(monkeypatch):
    monkeypatch.setattr(grams, "mixed", lambda state: state * np.uint64(0))
    with pytest.raises(ValueError, match="two k-grams share a 59-bit hash"):
        grams.gram_counts(as_sequences(["éa", "éb"]), 2, [(0, 1)])


def test_counts_that_do_not_fit_are_multiplied_as_sparse_rows():
    for value in (0.5, -1.0, 2.0**15):
        assert counts.as_counts(*[sp.csr_array(np.array([[value, 1.0]]))] * 2) is None
    large = sp.csr_array(np.full((1, 3), 30000.0))
    assert counts.as_counts(large, large) is None
    assert counts.as_counts(sp.csr_array(np.ones((2, 2))), sp.csr_array(np.eye(2))) is not None


@pytest.mark.skipif(engine() is loop_twin, reason="the NumPy engine runs")
@pytest.mark.parametrize("kernel", ["Subsequence(3, 0.5)", "GappedKmer(13, 7)"])
@pytest.mark.parametrize(
    "rows", ['["ab" * 2000] * 4000', '["ab" * 200_000]'], ids=["many", "one very long"]
)
def test_an_interrupt_stops_a_long_comparison(kernel, rows):
    code = textwrap.dedent(
        f"""
        import os, signal, threading
        from mercer import GappedKmer, Subsequence
        rows = {rows}
        # A process started in the background may have been told to ignore Ctrl-C.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        try:
            {kernel}(rows)
        except KeyboardInterrupt:
            print("stopped")
        """
    )
    run = forked(code)
    assert run.stdout == "stopped\n", run.stderr
