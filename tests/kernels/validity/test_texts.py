"""Designs of words: what a kernel reads, and the words and tables that it is tried on."""

from itertools import islice, product

import numpy as np
import pytest

from mercer.kernels import Gaussian, Spectrum
from mercer.kernels.validity import texts
from mercer.kernels.validity.designs import SIZES
from mercer.kernels.validity.texts import domains_read, text_designs

NUMBERS, WORDS = Gaussian(1.0), Spectrum(2)


@pytest.mark.parametrize(
    ("kernel", "reads"),
    [
        (NUMBERS, {None: "numbers"}),
        (WORDS * WORDS, {None: "sequences"}),
        (
            WORDS.on("dna") + NUMBERS.on("x", "y"),
            {"dna": "sequences", "x": "numbers", "y": "numbers"},
        ),
        (2.0 * WORDS.on(2), {2: "sequences"}),
        # A place in a selection is one of its columns, counted from either end.
        ((WORDS.on(0) + NUMBERS.on(-1)).on("a", "b"), {"a": "sequences", "b": "numbers"}),
        ((WORDS.on(1) * NUMBERS.on(-2)).on("a", "b"), {"b": "sequences", "a": "numbers"}),
        (WORDS.on("a").on("a", "b"), {"a": "sequences"}),
        # Nobody knows what a user's map makes of the rows.
        (WORDS.after(np.asarray) + NUMBERS.on("x"), {"x": "numbers"}),
    ],
)
def test_what_a_kernel_reads_is_known_by_column(kernel, reads):
    assert domains_read(kernel) == reads


@pytest.mark.parametrize(("place", "found"), [(2, (2,)), (-3, (-3,)), (1, ("b",)), (-2, ("a",))])
def test_a_place_beyond_a_selection_is_none_of_its_columns(place, found):
    assert texts._selected(place, ("a", "b")) == found


def test_the_first_designs_are_all_short_words_and_all_orders_of_four_letters():
    designs = list(islice(text_designs({None: "sequences"}, 8, np.random.default_rng(0)), 8))
    for trial, letters, longest in ((0, "ab", 2), (1, "ab", 3), (2, "abc", 2), (3, "ab", 4)):
        every = ["".join(w) for n in range(longest + 1) for w in product(letters, repeat=n)]
        assert designs[trial] == every
    assert len(set(designs[4])) == 24
    assert {"".join(sorted(word)) for word in designs[4]} == {"abcd"}
    assert [len(designs[trial]) for trial in (6, 7)] == [63, 40]


def distance(one, other):
    """The edit distance of two words, by the table of their beginnings."""
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        before, row = row, [i]
        for j, beside in enumerate(other, 1):
            row.append(min(before[j] + 1, row[-1] + 1, before[j - 1] + (letter != beside)))
    return row[-1]


def test_neighbours_are_the_words_at_a_distance_of_one_from_one_of_six_letters(monkeypatch):
    asked = []
    monkeypatch.setattr(texts, "_word", lambda rng, *given: asked.append(given) or "abcabc")
    near = texts._neighbours(np.random.default_rng(0))
    every = ("".join(w) for n in (5, 6, 7) for w in product("abc", repeat=n))
    assert near == sorted(w for w in every if distance(w, "abcabc") <= 1)
    assert asked == [(3, 6)]


def test_random_words_have_one_to_four_letters_and_up_to_twelve_of_them():
    rng, seen = np.random.default_rng(0), []
    for _ in range(200):
        words = texts._some_words(rng)
        assert len(words) in SIZES
        seen += words
    assert {len(word) for word in seen} == set(range(13))
    assert {len(set(word)) for word in seen} == {0, 1, 2, 3, 4}
    assert set("".join(seen)) == set("abcd")


def test_columns_of_a_table_hold_the_words_in_some_order_or_numbers():
    rng = np.random.default_rng(0)
    table = next(text_designs({"dna": "sequences", "x": "numbers", None: "numbers"}, 1, rng))
    assert list(table) == ["dna", "x"]
    assert sorted(table["dna"]) == ["", "a", "aa", "ab", "b", "ba", "bb"]
    assert table["dna"] != sorted(table["dna"])
    assert table["x"].shape == (7,)
    assert table["x"].dtype == np.float64


@pytest.mark.parametrize(("columns", "width"), [([2], 3), ([-2], 2), ([0, -3, 1], 3), ([0], 1)])
def test_a_matrix_is_as_wide_as_the_places_that_are_read(columns, width):
    rng = np.random.default_rng(0)
    matrix = next(text_designs(dict.fromkeys(columns, "sequences"), 1, rng))
    assert matrix.shape == (7, width)
    read = {c % width for c in columns}
    for c in range(width):
        assert (sorted(map(str, matrix[:, c]), key=len)[-1] != "0") is (c in read)


def test_after_the_known_shapes_come_random_words(monkeypatch):
    monkeypatch.setattr(texts, "_some_words", lambda rng: ["random"])
    designs = list(text_designs({None: "sequences"}, 10, np.random.default_rng(0)))
    assert [words == ["random"] for words in designs] == [False] * 8 + [True] * 2
