"""Large tables of text, parsed once."""

import gc
import gzip
import pickle

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings, strategies as st
from polars.testing import assert_frame_equal

from mercer import KernelRidge
from mercer.data.stream import text
from mercer.data.stream.text import ParsedText, pieces_of
from mercer.errors import DataFileError

CELLS = st.sampled_from(
    ["", "1", "07", "-2", "1.5", "1e3", "word", "true", "NA", '"a, b"', '"c\nd"']
)


def table_of(*args, **settings):
    parsed = ParsedText(*args, **settings)
    return parsed.scan().collect()


@given(st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=30), st.integers(4, 60))
@settings(deadline=None, max_examples=60)
def test_pieces_have_the_kinds_and_cells_of_the_whole_file(tmp_path_factory, rows, size):
    path = tmp_path_factory.mktemp("text") / "t.csv"
    path.write_text("a,b,c\n" + "".join(f"{a},{b},0\n" for a, b in rows))
    whole = pl.read_csv(path, infer_schema_length=None)
    assert_frame_equal(table_of(path, size=size), whole)


def test_a_word_late_in_a_column_of_numbers_keeps_the_spelling_of_the_first(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "07,1\n" * 20 + "x,1.5\n")
    found = table_of(path, size=30)
    assert found["a"].to_list() == ["07"] * 20 + ["x"]
    assert found["b"].to_list() == [1.0] * 20 + [1.5]


def test_pieces_end_with_lines_and_not_within_quotes(tmp_path):
    path = tmp_path / "t.csv"
    lines = ['1,"one\ntwo"\n', '2,"three"\n', "3,four\n"]
    path.write_text("a,b\n" + "".join(lines))
    pieces = [piece.decode().removeprefix("a,b\n") for piece in pieces_of(path, 7)]
    assert "".join(pieces) == "".join(lines)
    assert all(piece.count('"') % 2 == 0 and piece.endswith("\n") for piece in pieces)


def test_a_line_may_take_many_pieces(tmp_path):
    path = tmp_path / "t.csv"
    lines = ['1,"' + "one\n" * 20 + '"\n', '2,"a ""b""\n"\n', "3,four\n"]
    path.write_text("a,b\n" + "".join(lines))
    for size in range(1, 30):
        pieces = [piece.decode().removeprefix("a,b\n") for piece in pieces_of(path, size)]
        assert "".join(pieces) == "".join(lines)
        assert all(piece.count('"') % 2 == 0 for piece in pieces)


class Counted(bytearray):
    """Bytes that count how many of them are searched."""

    searched = 0

    def count(self, what, start, end):
        type(self).searched += end - start
        return super().count(what, start, end)

    def rfind(self, what, start, end=None):
        end = len(self) if end is None else end
        found = super().rfind(what, start, end)
        type(self).searched += end - max(found, start)
        return found


@pytest.mark.parametrize(
    ("content", "whole"),
    [
        (b'a\n5" pipe\n' + b"x\n" * 1000, 2),
        (b'a\n5" pipe\n' + b'"x"\n' * 1000, 2),
        (b"x\n" * 1000, 2000),
        (b'"x\n' * 999, 2 * 3 * 499),
    ],
)
def test_the_end_of_whole_lines_is_found_in_one_pass(content, whole, monkeypatch):
    monkeypatch.setattr(Counted, "searched", 0)
    assert text._last_line_end(Counted(content), 0, False) == whole
    assert Counted.searched <= 4 * len(content)


@pytest.mark.parametrize(
    ("longest", "said"), [(1 << 20, "within 1 MiB"), (1 << 26, "by the end of the file")]
)
def test_a_quote_that_is_not_closed_is_named_by_its_line(longest, said, tmp_path, monkeypatch):
    monkeypatch.setattr(text, "LONGEST", longest)
    path = tmp_path / "t.tsv"
    rows = "".join(f"{i}\tx{i}\n" for i in range(120_000))
    path.write_text(f'a\tb\n{rows}7\tpipe 5" wide\n{rows}')
    with pytest.raises(DataFileError, match=f"quote in line 120002 that is not closed {said}"):
        for _ in pieces_of(path, 1 << 16):
            pass


def test_a_quote_in_the_names_of_columns_that_is_not_closed_is_refused(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('a,5" pipe\n' + "1,2\n" * 20_000)
    with pytest.raises(DataFileError, match="quote in line 1 that is not closed where the names"):
        next(pieces_of(path))


def test_packed_text_is_unpacked(tmp_path):
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"a;b\n1;2\n3;4\n"))
    assert table_of(path, ";", size=5)["b"].to_list() == [2, 4]


def test_columns_named_as_text_stay_text(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n01,2\n02,3\n")
    assert table_of(path, texts=("a",))["a"].to_list() == ["01", "02"]


def test_it_is_parsed_again_where_it_is_unpickled(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a\n1\n2\n")
    again = pickle.loads(pickle.dumps(ParsedText(path)))
    assert again.scan().collect()["a"].to_list() == [1, 2]


def test_its_rows_are_in_small_groups_of_which_a_reader_holds_several(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "t.csv"
    path.write_text("a\n" + "1\n" * 50_000)
    parsed = ParsedText(path)
    (file,) = parsed.folder.iterdir()
    found = parquet.ParquetFile(file).metadata
    assert found.num_rows == 50_000
    assert max(found.row_group(i).num_rows for i in range(found.num_row_groups)) <= 1 << 14


def test_the_folder_goes_with_it(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a\n1\n")
    parsed = ParsedText(path)
    folder = parsed.folder
    assert folder.is_dir()
    del parsed
    gc.collect()
    assert not folder.exists()


def test_a_model_of_a_large_file_is_that_of_a_small_one(tmp_path, monkeypatch):
    X = np.random.default_rng(0).normal(size=(200, 2)).round(3)
    path = tmp_path / "t.csv"
    pl.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": X.sum(axis=1)}).write_csv(path)
    models = []
    for large in (text.LARGE, 1):
        monkeypatch.setattr(text, "LARGE", large)
        models.append(KernelRidge(solver="nystrom", n_landmarks=20).fit(str(path), "y"))
    np.testing.assert_array_equal(models[0].dual_coef_, models[1].dual_coef_)
