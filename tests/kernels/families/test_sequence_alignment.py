"""Common subsequences against enumeration, and the edit distance against its definition."""

import functools

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import strings
from mercer.kernels import EditDistance, Spectrum, Status, Subsequence
from mercer.kernels.families import alignment
from refusals import refuses

short = st.lists(st.text("abc", max_size=7), min_size=1, max_size=4)


@settings(max_examples=60, deadline=None)
@given(short, short, st.integers(1, 5), st.floats(0.0, 1.0))
def test_subsequences_are_those_of_all_index_tuples(X, Z, k, decay):
    expected = strings.gram(lambda s, t: strings.subsequence(s, t, k, decay), X, Z)
    assert_allclose(Subsequence(k, decay)(X, Z), expected, rtol=1e-12, atol=1e-12)


@settings(max_examples=30, deadline=None)
@given(short, st.floats(0.0, 1.0))
def test_several_lengths_are_added(X, decay):
    several = Subsequence((1, 2, 4), decay)(X)
    assert_allclose(several, sum(Subsequence(k, decay)(X) for k in (1, 2, 4)), rtol=1e-12)
    assert_allclose(Subsequence((1, 2, 4), decay).diagonal(X), np.diagonal(several), rtol=1e-12)


def test_longer_words_agree_with_enumeration(rng):
    X = strings.words(rng, 6, "ab", 13)
    for k in (2, 4, 7):
        expected = strings.gram(lambda s, t, k=k: strings.subsequence(s, t, k, 0.8), X, X)
        assert_allclose(Subsequence(k, 0.8)(X), expected, rtol=1e-12, atol=1e-12)


def test_sums_that_overflow_are_refused_rather_than_no_number():
    # No shorter sequence has that many subsequences: C(520, 260)^2 is more than 1e308.
    message = "subsequences of 260 symbols at decay 1 overflows on these sequences; use a smaller"
    refuses(message, Subsequence(260, 1.0).normalized(), ["a" * 520])


@pytest.mark.parametrize("value", [np.inf, np.nan])
def test_a_block_of_sums_is_looked_at_like_the_diagonal(value, monkeypatch):
    monkeypatch.setattr(alignment, "subsequences", lambda S, T, *_: np.array([[1.0, value]]))
    message = "subsequences of 2 symbols at decay 0.5 overflows on these sequences; use a smaller k"
    refuses(message, Subsequence(2, 0.5), ["aa"], ["aa", "aaa"])


def test_weights_that_are_lost_are_refused_rather_than_zero():
    kernel, X = Subsequence(30, 1e-6), ["b", "a" * 31]
    message = "at decay 1e-06 weigh less than the smallest number at row 1; use a smaller k or a l"
    refuses(message, kernel.normalized(), X)
    assert_array_equal(kernel.diagonal(["b", "a" * 29]), [0.0, 0.0])
    assert_array_equal(Subsequence(30, 0.0).diagonal(X), [0.0, 0.0])


def test_a_window_of_k_symbols_without_gaps_weighs_the_decay_to_the_power_k_less_one():
    assert Subsequence(3, 0.5)(["abc"], ["abc"]).item() == 0.5**4
    # The classic text kernel counts one more place in both windows.
    assert 0.5**2 * Subsequence(2, 0.5)(["cat"], ["car"]).item() == 0.5**4


def test_without_decay_all_subsequences_count_and_with_full_decay_single_symbols():
    assert Subsequence(2, 1.0)(["aaaa"], ["aaa"]).item() == 6 * 3
    assert_array_equal(Subsequence(1, 0.0)(["abca"], ["aa"]), Spectrum(1)(["abca"], ["aa"]))
    assert Subsequence(2, 0.0)(["ab"], ["ab"]).item() == 0.0


def test_sequences_shorter_than_k_have_the_value_zero():
    K = Subsequence(3, 0.5)(["", "a", "ab", "abc"])
    assert_array_equal(K[:3], 0.0)
    assert_array_equal(K[:, :3], 0.0)
    assert K[3, 3] > 0


def test_values_do_not_depend_on_the_other_rows(rng):
    X = strings.words(rng, 40, longest=30)
    K = Subsequence(3, 0.5)(X)
    for i in (0, 7, 39):
        assert_allclose(Subsequence(3, 0.5)([X[i]], X)[0], K[i], rtol=1e-13)


@functools.cache
def levenshtein(s, t):
    if not s or not t:
        return len(s) + len(t)
    change = levenshtein(s[1:], t[1:]) + (s[0] != t[0])
    return min(change, levenshtein(s[1:], t) + 1, levenshtein(s, t[1:]) + 1)


def test_edit_distance_is_the_least_number_of_edits(rng):
    X, Z = strings.words(rng, 8), strings.words(rng, 7)
    expected = strings.gram(lambda s, t: np.exp(-levenshtein(s, t) / 3.0), X, Z)
    assert_allclose(EditDistance(3.0)(X, Z), expected, rtol=1e-12)


@pytest.mark.parametrize("scale", [1.0, 2.0, 10.0])
def test_edit_distance_is_refuted_by_words(scale):
    kernel = EditDistance(scale)
    assert kernel.proof() is None
    validity = kernel.check()
    assert validity.status == Status.REFUTED
    c, points = validity.witness.coefficients, validity.witness.points
    assert c @ kernel(points) @ c < -validity.witness.rounding_bound


def test_long_sequences_are_compared_no_further_than_the_kernel_reaches(rng):
    long = "".join(rng.choice(list("ACGT"), 1_000_000))
    near = long[:1000] + "X" + long[1001:500_000] + long[500_003:]
    other = "".join(rng.choice(list("ACGT"), 1_000_000))
    K = EditDistance(1.0)([long, near, other, ""])
    expected = np.eye(4)
    expected[0, 1] = expected[1, 0] = np.exp(-4.0)
    assert_allclose(K, expected, rtol=1e-14)


@pytest.mark.parametrize("scale", [0.01, 0.1, 1.0])
def test_a_value_is_zero_only_where_the_exponential_is(scale):
    lengths = np.arange(0, 1000, 7)
    values = EditDistance(scale)([""], ["a" * n for n in lengths])[0]
    with np.errstate(under="ignore"):
        assert_allclose(values, np.exp(-lengths / scale), rtol=1e-12, atol=1e-307)


def test_edit_distance_of_a_small_scale_is_consistent():
    assert EditDistance(0.1).check(trials=20).status == Status.CONSISTENT


def test_words_of_the_user_are_searched_first():
    rows = ["", "b", "aa", "ab", "ba", "bb"]
    witness = EditDistance(5.0).check(rows).witness
    assert set(witness.points) <= set(rows)


@pytest.mark.parametrize(
    "kernel", [EditDistance(3.0).on("a"), EditDistance(3.0).on("a").on(0), EditDistance(3.0).on(1)]
)
def test_edit_distance_of_a_column_is_refuted_by_a_table(kernel):
    witness = kernel.check().witness
    c = witness.coefficients
    assert c @ kernel(witness.points) @ c < -witness.rounding_bound
