"""Rows of text, bytes or tokens in every form: the same symbols, or one line that says why not."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal

from mercer.data.columns import take_rows
from mercer.data.sequences import as_sequences, text_rows
from mercer.data.symbols import symbol, symbols_of

ROWS = ["abc", "", "añ", "日本\U0001f600", "a"]

FORMS = {
    "tuple": tuple(ROWS),
    "objects": np.array(ROWS, dtype=object),
    "strings": np.array(ROWS),
    "one column": np.array(ROWS, dtype=object)[:, None],
    "lists of characters": [list(row) for row in ROWS],
    "tuples of characters": [tuple(row) for row in ROWS],
    "arrays of characters": [np.array(list(row), dtype=object) for row in ROWS],
    "pandas": pd.Series(ROWS, index=[7, 3, 0, 1, 2]),
    "pandas objects": pd.Series(ROWS, dtype=object),
    "polars": pl.Series(ROWS),
    "pyarrow": pa.array(ROWS),
    "pyarrow chunks": pa.chunked_array([ROWS[:2], ROWS[2:]]),
    "mapping": {"text": ROWS},
    "pandas table": pd.DataFrame({"text": ROWS}),
    "polars table": pl.DataFrame({"text": ROWS}),
    "pyarrow table": pa.table({"text": ROWS}),
}


def lists(S):
    return [S.symbols[a:b].tolist() for a, b in zip(S.starts, S.starts[1:], strict=False)]


@pytest.mark.parametrize("form", FORMS)
def test_text_is_its_code_points_in_every_form(form):
    assert lists(as_sequences(FORMS[form])) == [[ord(c) for c in row] for row in ROWS]


@pytest.mark.parametrize("form", [f for f in FORMS if "table" not in f])
@pytest.mark.parametrize("index", [slice(1, 4), np.array([3, 0, 3])])
def test_rows_are_taken_by_position_in_every_form(form, index):
    taken = lists(as_sequences(take_rows(FORMS[form], index)))
    whole = lists(as_sequences(ROWS))
    assert taken == [whole[i] for i in np.arange(len(ROWS))[index]]


def test_bytes_are_the_characters_of_the_same_numbers():
    assert lists(as_sequences([b"ab", b"\xff"])) == [[97, 98], [255]]
    assert lists(as_sequences(np.array([b"ab"]))) == [[97, 98]]


def test_characters_are_not_normalised():
    composed, decomposed = lists(as_sequences(["é", "e\u0301"]))
    assert composed == [0xE9]
    assert decomposed == [0x65, 0x301]


def test_a_lone_surrogate_is_a_character():
    assert lists(as_sequences(["\ud800"])) == [[0xD800]]


def test_rows_of_symbols_are_taken_like_rows_of_text(rng):
    rows = ["abc", "", "de", "f"]
    index = rng.integers(4, size=10)
    assert lists(as_sequences(rows)[index]) == lists(as_sequences([rows[i] for i in index]))


def test_tokens_have_the_same_symbol_in_other_data():
    one = lists(as_sequences([["the", "cat"], ["sat"]]))
    other = lists(as_sequences([["sat", "x"], ["cat"]]))
    assert one[1][0] == other[0][0]
    assert one[0][1] == other[1][0]
    assert len({*one[0], *one[1], other[0][1]}) == 4


def test_equal_tokens_are_one_symbol_and_others_are_not():
    assert symbol(1) == symbol(1.0) == symbol(True) == symbol(np.int64(1))
    different = [
        0,
        1,
        -1,
        -2,
        0.5,
        2**61 - 1,
        None,
        "1",
        b"1",
        "one",
        (1,),
        (1, 1),
        ((1,),),
        ("a", "b"),
    ]
    assert len(set(symbols_of(different).values())) == len(different)


def test_a_token_of_one_character_is_the_character():
    assert symbol("a") == ord("a")
    assert lists(as_sequences([["a", "b"], "ab"])) == [[97, 98], [97, 98]]


def test_symbols_do_not_depend_on_the_process():
    assert symbol("token") == 12704120779588913239


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (["a", None], "X holds None at row 1; text, bytes or a list of tokens is needed there"),
        (["a", float("nan")], "X holds float nan at row 1"),
        (["a", "b", 3], "X holds int 3 at row 2"),
        (pd.Series(["a", None]), "at row 1; text, bytes"),
        (pl.Series(["a", None]), "X holds None at row 1"),
        (pa.array(["a", None]), "X holds None at row 1"),
        (pl.DataFrame({"smiles": ["a", None]}), "column 'smiles' holds None at row 1"),
        ({"words": [["a"], [["b"]]]}, "column 'words' holds the token ['b'] at row 1"),
        (np.arange(3), "X holds int 0 at row 0"),
        ("abc", "X is one sequence, 'abc'; give a list of them"),
        (b"abc", "X is one sequence, b'abc'; give a list of them"),
        (3, "rows are needed (an array, a table or a list), got 3"),
        ([["a", ["b"]]], "X holds the token ['b'] at row 0, which is not hashable"),
        ([["a", frozenset()]], "a token must be text, bytes, a number, None or a tuple"),
        (np.array([["a", "b"]]), "reads one column, got an array of shape (1, 2)"),
        ({"a": ["x"], "b": ["y"]}, "reads one column, and this table has 2"),
    ],
    ids=str,
)
def test_what_is_no_sequence_is_refused_with_its_row(rows, message):
    with pytest.raises(ValueError) as refusal:
        as_sequences(rows)
    assert message in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_only_text_is_text():
    assert text_rows(pl.Series(["a", ""])) == ["a", ""]
    with pytest.raises(ValueError, match=r"X holds list .* at row 1; text is needed there"):
        text_rows(["a", ["b"]])


def test_no_rows_are_no_sequences():
    S = as_sequences([])
    assert len(S) == 0
    assert_array_equal(S.starts, [0])
