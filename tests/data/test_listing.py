"""Small tables for people."""

import pytest

from mercer.data.listing import as_frame, as_html, as_text, in_four_digits

ROWS = [("a", 1, 0.123456), ("long\nname", "", 22.0)]


def test_numbers_stand_to_the_right():
    assert as_text(("name", "n", "value"), ROWS).splitlines() == [
        "name        n   value",
        "a           1  0.1235",
        "long\\nname         22",
    ]


def test_long_cells_are_cut():
    (_, line) = as_text(("name",), [("x" * 100,)]).splitlines()
    assert line == "x" * 39 + "…"


def test_a_table_without_rows_has_a_header():
    assert as_text(("a", "b"), []) == "a  b"
    assert as_frame(("a", "b"), []).columns.tolist() == ["a", "b"]


def test_markup_is_escaped():
    assert "<caption>&lt;t&gt;</caption>" in as_html("<t>", ("a",), [("<i>",)])
    assert "<td>&lt;i&gt;</td>" in as_html("<t>", ("a",), [("<i>",)])


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (91764.2, "91,760"),
        (-2.5e6, "-2,500,000"),
        (9999.6, "10,000"),
        (1234.56, "1235"),
        (3.2e9, "3.2e+09"),
        (-0.0, "0"),
        (1.5e-7, "1.5e-07"),
        (float("inf"), "inf"),
        (float("nan"), "nan"),
    ],
)
def test_numbers_of_thousands_and_millions_are_written_out(value, text):
    assert in_four_digits(value) == text
