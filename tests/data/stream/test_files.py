"""Rows of files, by polars in batches, and maps of arrays."""

import sys

import numpy as np
import polars as pl
import pytest

from mercer.data.blocks import blocks_of
from mercer.data.stream import opened, stream_of

WRITERS = {
    "parquet": "write_parquet",
    "csv": "write_csv",
    "tsv": "write_csv",
    "arrow": "write_ipc",
    "feather": "write_ipc",
    "ndjson": "write_ndjson",
}


@pytest.fixture
def table():
    X = np.random.default_rng(1).normal(size=(300, 3))
    return pl.DataFrame(X, schema=["a", "b", "delay"])


def written(table, path):
    options = {"separator": "\t"} if path.suffix == ".tsv" else {}
    getattr(table, WRITERS[path.suffix[1:]])(path, **options)
    return path


@pytest.mark.parametrize("ending", WRITERS)
@pytest.mark.parametrize("kind", [str, lambda path: path], ids=["text", "path"])
def test_files_are_read_in_order_without_the_column_of_targets(tmp_path, table, ending, kind):
    path = written(table, tmp_path / f"rows.{ending}")
    stream, y, _ = opened(kind(path), "delay")
    assert stream.shape == (300, 2)
    np.testing.assert_array_equal(y, table["delay"])
    assert stream.collected().equals(table.drop("delay"))


def test_an_array_on_a_disk_is_mapped(tmp_path, table):
    X = table.to_numpy().astype(np.float32)
    np.save(tmp_path / "rows.npy", X)
    stream = stream_of(tmp_path / "rows.npy")
    np.testing.assert_array_equal(stream.collected(), X)


@pytest.mark.parametrize("change", [lambda t: t.head(290), lambda t: pl.concat([t, t])])
def test_a_file_that_shrinks_or_grows_between_passes_names_both_counts(tmp_path, table, change):
    path = written(table, tmp_path / "rows.parquet")
    stream = stream_of(path)
    now = change(table)
    written(now, path)
    with pytest.raises(ValueError, match=rf"had 300 rows .* and has {len(now)} now"):
        list(blocks_of(stream, 1))


def test_a_column_that_is_not_there_is_refused_with_those_that_are(tmp_path, table):
    path = written(table, tmp_path / "rows.csv")
    with pytest.raises(ValueError, match=r"no column 'dealy' .* it has 'a', 'b', 'delay'"):
        opened(path, "dealy")


def test_names_of_no_file_of_rows_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"no path to a file of rows; such names end in .parquet"):
        stream_of("rows.xlsx")
    with pytest.raises(FileNotFoundError, match="there is no such file"):
        stream_of(tmp_path / "none.csv")


def test_an_empty_file_is_refused(tmp_path, table):
    path = written(table.clear(), tmp_path / "rows.parquet")
    with pytest.raises(ValueError, match="has 0 rows; at least one is needed"):
        stream_of(path)


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_a_damaged_file_is_refused_in_one_line(tmp_path, table, ending):
    path = written(table, tmp_path / f"rows.{ending}")
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(ValueError, match="could not be read") as refused:
        stream_of(path)
    assert "\n" not in str(refused.value)


def test_without_polars_the_way_to_have_it_is_named(tmp_path, table, monkeypatch):
    path = written(table, tmp_path / "rows.csv")
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ImportError, match=r"pip install 'mercer\[io\]'"):
        stream_of(path)
