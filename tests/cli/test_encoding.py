"""Files of CSV that are no UTF-8."""

import polars as pl
import pytest

import mercer
from commands import fitted, refused, run, table

PRICE = ("--target", "prix", "--drop", "sick,weight,home", "--alpha", "1")


def other_encoding(path, encoding, separator=","):
    site = pl.col("site").replace_strict({"a": "Liège", "b": "Köln", "c": "10 €"})
    rows = table().with_columns(site.alias("ville")).drop("site").rename({"price": "prix"})
    text = rows.write_csv(separator=separator).replace("ville", "localité")
    path.write_bytes(text.encode(encoding))
    return text


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16", "iso-8859-15", "utf-8", "utf-8-sig"])
def test_every_command_reads_a_file_in_its_encoding(encoding, tmp_path):
    path, model, page = (tmp_path / name for name in ("old.csv", "m.mercer", "page.html"))
    text = other_encoding(path, encoding)
    known = ("--encoding", encoding)
    fitted(path, *PRICE, *known, "--test-data", path, "-o", model)
    kept = run("predict", model, path, "--keep", *known)
    assert kept.exit_code == 0, kept.output
    found = pl.read_csv(kept.stdout.encode(), infer_schema=False).drop("prediction")
    assert found.equals(pl.read_csv(text.encode(), infer_schema=False))
    assert run("report", model, "--data", path, *known, "-o", page).exit_code == 0
    assert ("--encoding" in page.read_text()) and "Köln" in page.read_text()
    assert run("check", "match.on(localité)", "--data", path, *known).exit_code == 0
    assert "Köln" in mercer.read_table(path, encoding=encoding)["localité"].to_list()


def test_standard_input_may_have_another_encoding(tmp_path):
    path, model = tmp_path / "old.csv", tmp_path / "m.mercer"
    other_encoding(path, "cp1252")
    known = ("--encoding", "cp1252")
    fitted(path, *PRICE, *known, "-o", model)
    found = run("predict", model, "-", *known, input=path.read_bytes())
    assert found.stdout == run("predict", model, path, *known).stdout


def test_bytes_that_an_encoding_has_not_are_named_by_their_line(tmp_path):
    path = tmp_path / "old.csv"
    path.write_bytes(b"a,y\n1,2\nM\x81,3\n")
    line = refused("fit", path, "--target", "y", "--encoding", "cp1252")
    assert "is not cp1252: byte 0x81 in line 3; give the encoding that it has" in line


@pytest.mark.parametrize("name", ["cp1253x", "base64"])
def test_an_encoding_that_there_is_not_is_named(name, data):
    line = refused("fit", data, "--target", "price", "--encoding", name)
    assert f"there is no encoding {name!r} of text; such as cp1252" in line


def test_an_encoding_is_for_text_alone(tmp_path):
    table().write_parquet(tmp_path / "t.parquet")
    line = refused("fit", tmp_path / "t.parquet", "--target", "price", "--encoding", "cp1252")
    assert "is for CSV and TSV" in line
