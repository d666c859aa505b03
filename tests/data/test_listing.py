"""Small tables for people."""

from mercer.data.listing import as_frame, as_html, as_text

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
