"""Tables from files of every format."""

import gzip
from dataclasses import replace
from datetime import date

import numpy as np
import pandas as pd
import polars as pl
import pytest

import mercer
from commands import fitted
from mercer.errors import DataFileError
from mercer.files.form import Form
from mercer.files.lines import opened_rows
from mercer.files.tables import table_of

TABLE = pl.DataFrame({"a": [1.5, 2.5], "b": ["x", "y"], "c": [1, 2]})

WRITERS = {
    "t.csv": lambda path: TABLE.write_csv(path),
    "t.tsv": lambda path: TABLE.write_csv(path, separator="\t"),
    "t.parquet": lambda path: TABLE.write_parquet(path),
    "t.arrow": lambda path: TABLE.write_ipc(path),
    "t.ndjson": lambda path: TABLE.write_ndjson(path),
    "t.csv.gz": lambda path: path.write_bytes(gzip.compress(TABLE.write_csv().encode())),
}


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_gives_the_same_table(name, tmp_path):
    WRITERS[name](tmp_path / name)
    assert opened_rows(str(tmp_path / name)).read().equals(TABLE)


def test_svmlight_is_sparse_rows_and_the_numbers_before_them(tmp_path):
    path = tmp_path / "t.svm"
    path.write_text("1 1:0.5 3:2\n-1 2:1\n")
    found = opened_rows(str(path))
    np.testing.assert_array_equal(found.X.toarray(), [[0.5, 0.0, 2.0], [0.0, 1.0, 0.0]])
    np.testing.assert_array_equal(found.y, [1.0, -1.0])


@pytest.mark.parametrize(
    ("text", "first", "row"),
    [
        ("1 1:2\n", 1, [2]),
        ("1\t0:2\n", 0, [2]),
        ("1 1:2 # 0:5\n", 1, [2]),
        ("1 1:2\n1 0:0\n", 0, [0, 2]),
    ],
)
def test_indices_of_svmlight_begin_at_1_unless_there_is_a_0(text, first, row, tmp_path):
    path = tmp_path / "t.svm"
    path.write_text(text)
    found = opened_rows(str(path))
    assert found.first_index == first
    np.testing.assert_array_equal(found.X[[0]].toarray(), [row])


def test_fasta_is_a_table_of_names_and_sequences(tmp_path):
    path = tmp_path / "t.fasta"
    path.write_text(">one first\nACG\nT\n>two\nGG\n")
    assert opened_rows(str(path)).read().rows() == [("one first", "ACGT"), ("two", "GG")]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("t.xyz", b"a\n1\n", r"of ending '\.xyz'; write it"),
        ("t.parquet", b"PAR1nonsense", "cannot be read"),
        ("t.arrow", b"nonsense", "cannot be read"),
        ("t.ndjson", b"{nonsense", "cannot be read"),
        ("t.svm", b"x y z\n", "no svmlight in line 1"),
        ("t.fasta", b"ACGT\n", "line 1"),
        ("t.csv.gz", b"nonsense", "cannot be unpacked"),
    ],
)
def test_what_cannot_be_read_is_said_in_one_line(name, content, said, tmp_path):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataFileError, match=said) as error:
        opened_rows(str(tmp_path / name))
    assert "\n" not in str(error.value)


def test_a_folder_is_refused(tmp_path):
    (tmp_path / "t.csv").mkdir()
    with pytest.raises(DataFileError, match="is a folder"):
        opened_rows(str(tmp_path / "t.csv"))


@pytest.mark.parametrize("later", ["a\n1\n2\n", "a\n1\n2\n3\n4\n"])
def test_a_file_whose_rows_become_others_is_refused_where_cells_are_kept(later, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a\n1\n2\n3\n")
    opened = table_of(str(path))
    other = tmp_path / "other.csv"
    other.write_text(later)
    with pytest.raises(DataFileError, match="another number of rows when it is read again"):
        list(replace(opened, text=(str(other), ",")).blocks_as_written())


def test_a_table_is_read_in_python_as_the_command_reads_it(tmp_path, caplog):
    path = tmp_path / "orders.csv"
    lines = ["price,share,day,site", "$1,5%,30/01/2020,a", "N/A,7%,2/2/2020,b"]
    path.write_text("\n".join(lines) + "\n")
    with caplog.at_level("INFO", logger="mercer"):
        table = mercer.read_table(path)
    assert table["price"].to_list() == [1.0, None]
    assert table["share"].to_list() == [5.0, 7.0]
    assert table["day"].to_list() == [date(2020, 1, 30), date(2020, 2, 2)]
    assert any("'price': 1 cell such as '$1'" in line for line in caplog.messages)


def test_sparse_rows_are_no_table(tmp_path):
    path = tmp_path / "rows.svmlight"
    path.write_text("1 1:2\n-1 2:3\n")
    with pytest.raises(DataFileError, match="load_svmlight_file"):
        mercer.read_table(path)


def test_spaces_around_names_are_no_part_of_them_unless_a_model_knows_them_so(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(" age ,site\n07,x\n08,y\n")
    assert table_of(str(path)).names == ["age", "site"]
    assert table_of(str(path), Form(numbers=("age",))).read()["age"].to_list() == [7.0, 8.0]
    assert table_of(str(path), Form(numbers=(" age ",))).names == [" age ", "site"]
    assert table_of(str(path), Form(texts=("age",))).read()["age"].to_list() == ["07", "08"]
    path.write_text("age , age\n1,2\n")
    with pytest.raises(DataFileError, match="2 columns of the name 'age'"):
        table_of(str(path))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_the_text_of_a_table_is_read_as_that_of_a_file(library, tmp_path):
    rows = {
        "price": ["$1,250", "$900", "n/a"],
        "share": ["33%", "5%", "8%"],
        "day": ["30/01/2020", "01/02/2020", None],
        "site": ["north ", "NA", "south"],
        "age": [1.5, 2.5, None],
    }
    table = pl.DataFrame(rows)
    table.write_csv(tmp_path / "t.csv")
    found = mercer.read_table(table if library == "polars" else table.to_pandas())
    assert found.equals(mercer.read_table(tmp_path / "t.csv"))
    assert found["price"].to_list() == [1250.0, 900.0, None]
    assert found["day"][0] == date(2020, 1, 30)


def test_what_is_neither_a_file_nor_a_table_is_no_table():
    with pytest.raises(DataFileError, match="a file or a table of pandas, polars or pyarrow is"):
        mercer.read_table(np.zeros((2, 2)))


def test_a_column_of_several_kinds_of_objects_is_named_with_what_makes_it_text():
    table = pd.DataFrame({"b": [1.0, 2.0, 3.0], "a": ["n/a", 1.5, None]})
    with pytest.raises(DataFileError, match="column 'a' has cells of the kinds float, str; make"):
        mercer.read_table(table)
    table["a"] = table["a"].astype("string")
    assert mercer.read_table(table)["a"].to_list() == [None, 1.5, None]


def test_a_table_with_a_name_twice_is_refused_in_one_line():
    table = pd.DataFrame([[1, 2, 3]], columns=["a", "b", "a"])
    with pytest.raises(DataFileError, match=r"^the table has several columns 'a'; rename them$"):
        mercer.read_table(table)


def test_one_new_row_is_read_like_the_training_rows(tmp_path):
    train, new = tmp_path / "train.csv", tmp_path / "new.csv"
    rows = "".join(f"{1 + i % 28:02d}/04/2020,{i % 7},{i}.5\n" for i in range(40))
    train.write_text("when,code,y\n" + rows)
    new.write_text("when,code\n03/04/2020,5\n")
    model = tmp_path / "m.mercer"
    fitted(train, "--target", "y", "--kernel", "linear.on(code)", "--alpha", "1", "-o", model)
    assert mercer.read_table(new)["when"].dtype == pl.String
    for like in (train, str(train), mercer.load(model)):
        for source in (new, pd.read_csv(new)):
            assert mercer.read_table(source, like=like)["when"].to_list() == [date(2020, 4, 3)]
    plain = mercer.KernelRidge("linear").fit(np.zeros((2, 1)), [0.0, 1.0])
    with pytest.raises(DataFileError, match="this KernelRidge was not fitted by the command"):
        mercer.read_table(new, like=plain)
