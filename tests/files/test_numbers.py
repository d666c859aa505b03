"""Columns of text that spell numbers."""

import pytest

from mercer.errors import DataFileError
from mercer.files.form import Form
from mercer.files.tables import table_of


def read(tmp_path, cells, separator=",", form=None):
    """Return the cells of a column as they are read, and what is said of it."""
    path = tmp_path / "t.csv"
    path.write_text("\n".join([f"a{separator}b", *(f"{cell}{separator}1" for cell in cells)]))
    table = table_of(str(path), *([] if form is None else [form]))
    return table.read()["a"].to_list(), " ".join(table.remarks)


@pytest.mark.parametrize(
    ("cells", "numbers", "said"),
    [
        (
            ["33%", "12.5%", "-8 %"],
            [33.0, 12.5, -8.0],
            "3 cells such as '33%', which is read as 33",
        ),
        (['"$38,767"', '"-$1,000.50"', "7"], [38767.0, -1000.5, 7.0], "2 cells such as '$38,767'"),
        (["12 €", "8€"], [12.0, 8.0], "such as '12 €', which is read as 12, are numbers"),
        (['"1,234"', '"1,234,567.5"', "3"], [1234.0, 1234567.5, 3.0], "which is read as 1234"),
        (["5", "Unknown", "?", "n.a."], [5.0, None, None, None], "3 cells such as 'Unknown' count"),
    ],
)
def test_percent_money_thousands_and_marks_are_numbers_and_said_to_be(
    tmp_path, cells, numbers, said
):
    found, remarks = read(tmp_path, cells)
    assert found == numbers
    assert said in remarks


def test_decimals_may_follow_a_comma_and_points_be_by_thousands(tmp_path):
    found, _ = read(tmp_path, ["1.234,5", "2,25", "-7"], ";")
    assert found == [1234.5, 2.25, -7.0]
    _, said = read(tmp_path, ["1.234,5", "2.25"], ";")
    assert "has points by thousands ('1.234,5') and before decimals ('2.25'); write all" in said


def test_commas_before_decimals_beside_a_point_alone_are_a_mixture(tmp_path):
    cells = ["970,5", "980,5", "990,5", "1.000", "1.010"]
    found, said = read(tmp_path, cells, ";")
    assert found == cells
    assert "is text, for it has '970,5' and '1.000', of which one is by thousands; write" in said


def test_a_comma_and_a_point_before_three_digits_are_a_mixture_unless_others_tell(tmp_path):
    found, said = read(tmp_path, ['"4,967"', "4.967", "7"])
    assert found == ["4,967", "4.967", "7"]
    assert "it has '4,967' and '4.967', of which one is by thousands" in said
    assert read(tmp_path, ['"4,967"', "4.967", "12.5"])[0] == [4967.0, 4.967, 12.5]
    assert read(tmp_path, ['"4,967"', "4.967", '"1,234.5"'])[0] == [4967.0, 4.967, 1234.5]


def test_points_before_three_digits_are_told_of_beside_decimal_commas(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a;b;c\n4.967;3,5;x\n5.123;4;y\n")
    table = table_of(str(path))
    assert table.read()["a"].to_list() == [4.967, 5.123]
    assert "column 'a': '4.967' is read as 4.967, and '3,5' elsewhere has" in table.remarks[-1]
    path.write_text("a;b\n4.967;3\n5.123;4\n")
    assert len(table_of(str(path)).remarks) == 1
    path.write_text("a;b\n4.9671;3,5\n5.123;4\n")
    assert len(table_of(str(path)).remarks) == 1


def test_a_point_by_thousands_tells_how_points_before_three_digits_are_read(tmp_path):
    found, said = read(tmp_path, ["4.967", "1.234,5", "12,5"], ";")
    assert found == [4967.0, 1234.5, 12.5]
    assert "2 cells such as '4.967', which is read as 4967, are numbers" in said
    cells = ["4.967", "1.234,5", "0.500"]
    found, said = read(tmp_path, cells, ";")
    assert found == cells
    assert "has points by thousands ('1.234,5') and before decimals ('0.500')" in said


def test_points_of_a_column_that_is_text_in_the_end_are_not_told_of(tmp_path):
    path = tmp_path / "t.csv"
    lines = [*["4.967;3,5"] * 150, "north;4"]
    path.write_text("\n".join(["a;b", *lines]))
    assert not any("is read as" in remark for remark in table_of(str(path)).remarks)
    path.write_text("\n".join(["a;b", *lines[:-1]]))
    assert "column 'a': '4.967' is read as 4.967" in table_of(str(path)).remarks[-1]
    known = table_of(str(path), Form(texts=("a",), numbers=("b",)))
    assert not any("is read as" in remark for remark in known.remarks)


def test_points_by_thousands_of_the_training_rows_are_so_in_later_files(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a;b\n1.234,5;1\n970,5;1\n")
    assert table_of(str(path)).by_thousands == ("a",)
    form = Form(numbers=("a",), by_thousands=("a",))
    assert read(tmp_path, ["1.234", "7", "2,5"], ";", form)[0] == [1234.0, 7.0, 2.5]
    with pytest.raises(DataFileError, match=r"'a' has '2\.25' in row 1, and was numbers"):
        read(tmp_path, ["2.25"], ";", form)


def test_numbers_with_signs_may_begin_with_the_point(tmp_path):
    assert read(tmp_path, [".5%", "1%"])[0] == [0.5, 1.0]
    assert read(tmp_path, ["$.50", "-$.25"])[0] == [0.5, -0.25]
    assert read(tmp_path, [",5%", "1%"], ";")[0] == [0.5, 1.0]


@pytest.mark.parametrize(
    ("cells", "why"),
    [
        (["33%", "0.4", "8%"], "a sign of percent behind some numbers and none behind others"),
        (["$5", "€6", "7"], "several signs of money"),
        ([*"123456789" * 9, "x1", *"abcdef"], "'x1' in row 82 is no number, nor are 6 cells more"),
    ],
)
def test_what_cannot_be_compared_stays_text_with_the_way_out(tmp_path, cells, why):
    found, said = read(tmp_path, cells)
    assert found == cells
    assert "column 'a' is text, for" in said and why in said and "if it should be numbers" in said


@pytest.mark.parametrize("cells", [["x1", "y2", "3"], ['"1,23"', '"4,5"'], ['"0,123"']])
def test_other_text_stays_as_it_is_without_a_word(tmp_path, cells):
    found, said = read(tmp_path, cells)
    assert found == [cell.strip('"') for cell in cells]
    assert said == ""


def test_digits_with_a_zero_before_them_in_every_cell_are_codes(tmp_path):
    cells = [f"{1000 + i:05d}" for i in range(150)]
    found, said = read(tmp_path, cells)
    assert found == cells
    assert said == (
        "column 'a': 150 cells such as '01000', with a zero before the digits, are codes and no "
        "number; the column is text"
    )
    assert read(tmp_path, ["007", "", "01067"])[0] == ["007", None, "01067"]
    assert "1 cell such as '007'" in read(tmp_path, ["?", "007"])[1]


@pytest.mark.parametrize("last", ["10067", "0", "0.5", "n/a"])
def test_digits_are_numbers_unless_all_have_a_zero_before_them(tmp_path, last):
    found, said = read(tmp_path, [*(f"{1000 + i:05d}" for i in range(150)), last])
    if last == "n/a":
        assert found[-2:] == ["01149", None] and "150 cells such as '01000'" in said
    else:
        assert found == [*(1000.0 + i for i in range(150)), float(last)] and said == ""


def test_codes_are_numbers_to_a_model_that_was_fitted_to_numbers(tmp_path):
    assert read(tmp_path, ["007", "011"], form=Form(numbers=("a",))) == ([7.0, 11.0], "")
    assert read(tmp_path, ["7", "11"], form=Form(texts=("a",)))[0] == ["7", "11"]


def test_a_column_known_to_be_numbers_is_read_alike_or_refused(tmp_path):
    form = Form(numbers=("a",))
    assert read(tmp_path, ['"$1,000"', "unknown"], form=form)[0] == [1000.0, None]
    with pytest.raises(DataFileError, match="'a' has 'old' in row 2, and was numbers"):
        read(tmp_path, ["1", "old"], form=form)
    with pytest.raises(DataFileError, match="'a' has several signs of money; write all numbers"):
        read(tmp_path, ["$1", "€2"], form=form)


def test_words_in_the_first_rows_of_a_column_of_numbers_are_still_named_and_refused(tmp_path):
    cells = [*["x"] * 3, *map(str, range(1000))]
    assert "'x' in row 1 is no number, nor are 2 cells more" in read(tmp_path, cells)[1]
    many = [*["x"] * 60, *map(str, range(40)), *["9"] * 10_000]
    assert read(tmp_path, many)[0] == many
    with pytest.raises(DataFileError, match="'a' has 'x' in row 1, and was numbers"):
        read(tmp_path, many, form=Form(numbers=("a",)))
