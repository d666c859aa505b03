"""Windows compared pair by pair: against counting, their twin and enumeration."""

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.testing import assert_array_equal

import strings
from mercer.data.sequences import as_sequences
from mercer.kernels.families.sequence import Grams
from mercer.native.twins import strings as strings_twin
from mercer.tiles import kmers as grams, loop_twin
from mercer.tiles.counts import brought_together
from mercer.tiles.evaluate import engine
from mercer.tiles.windows import Cost, matched_windows, matched_windows_diagonal

LEVELS = ("v2", "v3", "v4", "plain")


@pytest.fixture(params=LEVELS)
def level(request, monkeypatch):
    """Every level of the processor that this machine has, or the one NumPy engine."""
    if engine() is loop_twin:
        if request.param != LEVELS[0]:
            pytest.skip("the NumPy engine has no levels")
        return None
    native = pytest.importorskip("mercer.tiles.loop")
    monkeypatch.setenv("MERCER_CPU", request.param)
    try:
        native.cpu_level()
    except ValueError:
        pytest.skip(f"this machine has no level {request.param}")
    return request.param


def values_of(g, m):
    return tuple(math.comb(e, g - m) for e in range(g + 1))


def twin(values, S, T):
    return strings.gram(lambda s, t: strings_twin.matched_windows(s, t, values), S.each(), T.each())


@settings(max_examples=60)
@given(
    X=st.lists(st.text("abc", max_size=24), max_size=20),
    Z=st.lists(st.text("abcd", max_size=24), max_size=5),
    g=st.integers(1, 7),
    data=st.data(),
)
def test_pairs_of_windows_are_those_that_enumeration_finds(X, Z, g, data):
    m = data.draw(st.integers(0, g - 1))
    S, T = as_sequences(X), as_sequences(Z)
    values = values_of(g, m)
    expected = strings.gram(lambda s, t: strings.gapped(s, t, g, m), X, Z)
    assert_array_equal(matched_windows(S, T, values), expected)
    assert_array_equal(matched_windows(T, S, values), expected.T)
    own = strings.gram(lambda s, t: strings.gapped(s, t, g, m), X, X)
    assert_array_equal(matched_windows(S, S, values), own)
    assert_array_equal(matched_windows_diagonal(S, values), np.diagonal(own))


@pytest.mark.parametrize(("g", "m"), [(7, 3), (9, 5), (10, 2), (13, 3)])
def test_pairs_of_windows_agree_with_counts_under_masks(rng, g, m):
    S = as_sequences(strings.words(rng, 60, "ACGT", 50))
    F = grams.gram_counts(S, g, list(Grams(g, m).masks()))
    left, right = brought_together(F, F)
    assert_array_equal(matched_windows(S, S, values_of(g, m)), (left @ right.T).toarray())


@pytest.mark.skipif(engine() is loop_twin, reason="the NumPy engine compares in one part")
def test_sequences_that_are_compared_in_parts_have_the_sums_of_the_whole(rng):
    # So long that the native loop asks in between whether to go on.
    S = as_sequences(["".join(rng.choice(list("ACGT"), n)) for n in (6000, 5000)])
    F = grams.gram_counts(S, 8, list(Grams(8, 2).masks()))
    left, right = brought_together(F, F)
    expected = (left @ right.T).toarray()
    assert_array_equal(matched_windows(S, S, values_of(8, 2)), expected)
    assert_array_equal(matched_windows_diagonal(S, values_of(8, 2)), np.diagonal(expected))


# One, two, three and more bytes of values, narrow windows, and those beyond 16 positions.
@pytest.mark.parametrize(
    ("g", "m"), [(1, 0), (8, 4), (13, 7), (15, 8), (16, 5), (17, 2), (20, 10), (40, 20), (63, 3)]
)
@pytest.mark.parametrize("letters", ["ab", "ACGT"])
def test_pairs_of_windows_equal_their_twin(level, rng, g, m, letters):
    X = strings.words(rng, 37, letters, 90)
    S, T = as_sequences(["", "a", *X]), as_sequences(X[:5])
    values = values_of(g, m)
    for right in (S, T):
        assert_array_equal(matched_windows(S, right, values), twin(values, S, right))
    diagonal = np.diagonal(twin(values, S, S))
    assert_array_equal(matched_windows_diagonal(S, values), diagonal)


@pytest.mark.parametrize("letters", [3, 255, 256, 70_000])
def test_alphabets_may_have_any_number_of_letters(level, rng, letters):
    tokens = rng.integers(0, letters, 200)
    # Every letter occurs, and some sequences have windows in common.
    rows = [tokens[i : i + n].tolist() for i, n in zip(range(0, 160, 4), range(40), strict=True)]
    S, others = as_sequences(rows), as_sequences([list(range(letters)), *rows[:3]])
    values = values_of(5, 2)
    assert_array_equal(matched_windows(S, S, values), twin(values, S, S))
    assert_array_equal(matched_windows_diagonal(S, values), np.diagonal(twin(values, S, S)))
    if engine() is not loop_twin:
        assert_array_equal(matched_windows(others, S, values)[1:], twin(values, others[1:], S))


@pytest.mark.skipif(engine() is loop_twin, reason="the NumPy engine runs")
@pytest.mark.parametrize("threads", [2, 3, 7])
def test_the_bits_do_not_depend_on_the_threads(rng, monkeypatch, threads):
    S = as_sequences(strings.words(rng, 200, longest=60))
    values = values_of(13, 7)

    def results():
        return matched_windows(S, S, values), matched_windows_diagonal(S, values)

    monkeypatch.setenv("MERCER_THREADS", "1")
    alone = results()
    monkeypatch.setenv("MERCER_THREADS", str(threads))
    for one, other in zip(alone, results(), strict=True):
        assert_array_equal(one, other)


@pytest.mark.skipif(engine() is loop_twin, reason="a table of all pairs would not fit")
def test_sums_over_long_sequences_do_not_overflow():
    n = 1 << 15
    S = as_sequences(["a" * n])
    expected = float((n - 7) ** 2 * math.comb(8, 4))
    assert matched_windows(S, S, values_of(8, 4)).item() == expected
    assert matched_windows_diagonal(S, values_of(8, 4)).item() == expected


def test_a_value_for_no_equal_position_counts_whole_windows_only(level, rng):
    X = strings.words(rng, 25, "ab", 20)
    S = as_sequences(X)
    windows = np.maximum(S.lengths - 3 + 1, 0)
    assert_array_equal(matched_windows(S, S, (1, 1, 1, 1)), np.outer(windows, windows))


def test_many_masks_are_compared_and_one_is_counted(rng):
    S = as_sequences(strings.words(rng, 100, "ACGT", 100))
    assert Grams(13, 7).comparison(S, S) is not None
    assert Grams(13, 7).own_comparison(S) is not None
    assert not Grams(13, 7).pays(S)
    assert not Grams(6).is_comparable


def test_few_masks_of_many_rare_letters_are_counted():
    rows = ["".join(chr(97 + (i * j * j + i + j) % 25) for j in range(60)) for i in range(2000)]
    S = as_sequences(rows * 20)
    assert Cost(S, S, 4, 3).counting() < Cost(S, S, 4, 3).pairing()
    assert Grams(4, 1).comparison(S, S) is None
