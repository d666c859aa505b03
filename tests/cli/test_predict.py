"""`mercer predict`: a saved model on the rows of a file, in blocks."""

import gzip
import os
import pickle
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import mercer
from commands import PRICE, SICK, fitted, refused, run, table
from mercer.cli import predict as command
from mercer.data.ranges import Levels, Unseen
from mercer.data.stream.text import pieces_of
from mercer.files.written import table_writer

MERCER = [sys.executable, "-m", "mercer.cli"]


def test_predictions_keep_the_order_and_the_columns(data, model):
    result = run("predict", model, data, "--interval", "0.9")
    found = pl.read_csv(result.stdout.encode())
    assert found.columns == ["prediction", "lower", "upper"]
    assert np.allclose(found["prediction"], mercer.load(model).predict(table()))
    assert (found["lower"] <= found["upper"]).all()


def test_a_table_is_read_in_blocks_and_the_rows_are_the_same(data, model, monkeypatch):
    whole = run("predict", model, data).stdout
    sizes = []

    def columns(machine, rows, *settings):
        sizes.append(len(rows))
        return original(machine, rows, *settings)

    original = command._columns
    monkeypatch.setattr(command, "_columns", columns)
    monkeypatch.setattr(command, "ROWS", 7)
    found = pl.read_csv(run("predict", model, data).stdout.encode())
    assert max(sizes) <= 7
    assert sum(sizes) == 80
    assert np.allclose(found["prediction"], pl.read_csv(whole.encode())["prediction"])


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "arrow", "ndjson"])
def test_predictions_are_written_in_blocks_to_every_format(
    ending, data, model, tmp_path, monkeypatch
):
    monkeypatch.setattr(command, "ROWS", 11)
    path = tmp_path / f"out.{ending}"
    assert run("predict", model, data, "-o", path, "--keep").exit_code == 0
    read = {
        "csv": pl.read_csv,
        "tsv": lambda p: pl.read_csv(p, separator="\t"),
        "parquet": pl.read_parquet,
        "arrow": pl.read_ipc,
        "ndjson": pl.read_ndjson,
    }
    found = read[ending](path)
    assert found.columns == [*table().columns, "prediction"]
    assert np.allclose(found["age"], table()["age"])
    assert np.allclose(found["prediction"], mercer.load(model).predict(table()))
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(
        ["data.csv", "m.mercer", f"out.{ending}"]
    )


def test_an_output_that_fails_leaves_the_old_file(data, model, tmp_path):
    path = tmp_path / "out.csv"
    path.write_text("old\n")
    table().drop("age").write_csv(data)
    assert "no column 'age'" in refused("predict", model, data, "-o", path)
    assert path.read_text() == "old\n"
    assert {p.name for p in tmp_path.iterdir()} == {"data.csv", "m.mercer", "out.csv"}


def test_probabilities_are_columns_of_the_classes(data, tmp_path):
    model = tmp_path / "c.mercer"
    fitted(data, *SICK, "--C", "1", "-o", model)
    found = pl.read_csv(run("predict", model, data, "--proba").stdout.encode())
    assert found.columns == ["prediction", "proba_0", "proba_1"]
    assert np.allclose(found["proba_0"] + found["proba_1"], 1.0)
    result = run("predict", model, data, "--interval", "0.9")
    assert result.exit_code == 2
    assert "use --proba" in result.stderr


def test_columns_that_would_be_written_twice_are_named(data, model):
    table().with_columns(prediction=pl.lit(1.0)).write_csv(data)
    assert "has a column 'prediction' already" in refused("predict", model, data, "--keep")


def test_probabilities_of_a_regression_are_wrong_usage(data, model):
    result = run("predict", model, data, "--proba")
    assert result.exit_code == 2
    assert "--proba is for classes" in result.stderr


@pytest.mark.parametrize("rows", [7, 1 << 14])
@pytest.mark.parametrize("ending", ["csv", "tsv"])
def test_columns_that_are_kept_stand_as_in_the_file(
    rows, ending, data, model, tmp_path, monkeypatch
):
    monkeypatch.setattr(command, "ROWS", rows)
    monkeypatch.setattr("mercer.files.tables.pieces_of", partial(pieces_of, size=200))
    number = pl.int_range(pl.len()).cast(pl.String)
    given = table().with_columns(number.str.zfill(5).alias("id"), ("$" + number).alias("cost"))
    given.write_csv(data)
    path = tmp_path / f"out.{ending}"
    assert run("predict", model, data, "--keep", "-o", path).exit_code == 0
    separator = "," if ending == "csv" else "\t"
    found = pl.read_csv(path, infer_schema=False, separator=separator).drop("prediction")
    assert found.equals(pl.read_csv(data, infer_schema=False))
    # Of standard input, too.
    piped = run("predict", model, "-", "--keep", input=data.read_bytes()).stdout
    assert pl.read_csv(piped.encode(), infer_schema=False).drop("prediction").equals(found)


@pytest.mark.parametrize("commas", [True, False])
def test_what_is_kept_of_a_file_with_semicolons_is_read_like_it(commas, tmp_path, monkeypatch):
    monkeypatch.setattr(command, "ROWS", 30)
    path, kept, model = (tmp_path / name for name in ("data.csv", "kept.csv", "m.mercer"))
    rows = table()[["age", "site", "price"]].with_columns(pl.col("age", "price").round(3))
    if commas:
        shown = pl.col("age", "price").cast(pl.String).str.replace(".", ",", literal=True)
        rows = rows.with_columns(shown)
    rows.write_csv(path, separator=";")
    fitted(path, "--target", "price", "--alpha", "1", "-o", model)
    result = run("predict", model, path, "--interval", "0.9", "--keep", "-o", kept)
    assert result.exit_code == 0, result.output
    assert (";" in kept.read_text()) and ("," in kept.read_text()) == commas
    alone = run("predict", model, path, "--interval", "0.9").stdout
    plain = pl.read_csv(alone.encode())
    found = mercer.read_table(kept)
    assert found.drop("prediction", "lower", "upper").equals(mercer.read_table(path))
    assert found.select(plain.columns).equals(plain)
    # Of standard input, and in tables with other separators, where numbers are as others.
    piped = run("predict", model, "-", "--interval", "0.9", "--keep", input=path.read_bytes())
    assert piped.stdout == kept.read_text()
    other = tmp_path / "kept.tsv"
    assert run("predict", model, path, "--interval", "0.9", "--keep", "-o", other).exit_code == 0
    assert mercer.read_table(other).equals(found)


@pytest.mark.parametrize("name", ["out.doc", "out", "out.csv.gz", "out.fasta"])
def test_an_output_of_no_format_of_tables_is_said_before_anything_is_read(name, tmp_path):
    line = refused("predict", tmp_path / "no.mercer", "no.csv", "-o", tmp_path / name)
    assert f"{name} cannot be written: a table goes to .csv, .tsv, .parquet, .arrow" in line


def test_standard_input_and_output_are_a_pipe(data, model):
    result = run("predict", model, "-", input=data.read_bytes())
    assert result.exit_code == 0
    assert result.stdout == run("predict", model, data).stdout
    assert result.stderr == ""


def test_a_closed_pipe_ends_quietly(model, tmp_path):
    data = tmp_path / "many.csv"
    pl.concat([table()] * 2000).write_csv(data)
    line = f"{sys.executable} -m mercer.cli predict {model} {data} | head -n 2"
    done = subprocess.run(line, shell=True, capture_output=True, text=True)
    assert done.stdout.startswith("prediction\n")
    assert done.stderr == ""


def test_columns_missing_at_prediction_are_named(data, model, tmp_path):
    short = tmp_path / "short.csv"
    table().drop("age").write_csv(short)
    line = refused("predict", model, short)
    assert "short.csv" in line
    assert "no column 'age'" in line


def test_unseen_categories_are_predicted_and_said(model, tmp_path, monkeypatch):
    monkeypatch.setattr(command, "ROWS", 30)
    new = tmp_path / "new.csv"
    sites = ["a"] * 20 + ["zzz"] * 50 + ["q", "r", "s"] + [None] * 7
    table().with_columns(site=pl.Series(sites)).write_csv(new)
    result = run("predict", model, new)
    assert len(result.stdout.splitlines()) == 81
    assert result.stderr == (
        f"{new}, column 'site': 53 rows have categories that no training row has, 'zzz', 'q', 'r' "
        "and others in 1 of them; predictions there rest on the other columns\n"
    )


def test_a_column_of_fresh_keys_takes_no_more_memory_with_more_rows():
    unseen = Unseen(Levels((("key", ("a", "b")),)))
    sizes = []
    for block in range(30):
        unseen.see(pl.DataFrame({"key": [f"key {block} {i}" for i in range(1000)]}))
        sizes.append(len(pickle.dumps(unseen)))
    assert sizes[-1] <= sizes[1] + 10
    (said,) = unseen.sentences
    assert "30000 rows have categories" in said
    assert "'key 0 0', 'key 0 1', 'key 0 10' and others in 29997 of them" in said


def test_categories_that_were_seen_are_not_talked_about(data, model):
    assert run("predict", model, data).stderr == ""


def test_numbers_far_outside_are_counted_over_all_blocks(model, tmp_path, monkeypatch):
    monkeypatch.setattr(command, "ROWS", 10)
    new = tmp_path / "new.csv"
    ages = pl.Series([1000.0 if i % 20 == 3 else 50.0 for i in range(80)])
    table().with_columns(age=ages).write_csv(new)
    said = run("predict", model, new).stderr
    assert said.count("\n") == 1
    assert f"{new}, cells far outside of the training rows" in said
    assert "column 'age', 4 rows with values such as 1000 where these" in said


def test_unseen_categories_of_rows_for_tests_are_said(data, tmp_path):
    rest = tmp_path / "rest.csv"
    table().with_columns(site=pl.lit("zzz")).write_csv(rest)
    settings = (*PRICE, "--alpha", "1", "--test-data", rest)
    said = run("fit", data, *settings).stderr
    assert "held-out rows, column 'site': 80 rows have categories" in said


def test_the_target_is_ignored_where_rows_have_it(data, model, tmp_path):
    whole = run("predict", model, data).stdout
    table().with_columns(price=pl.lit("unknown")).write_csv(data)
    assert run("predict", model, data).stdout == whole


def test_a_bad_cell_is_named_by_the_block_it_is_in(model, tmp_path, monkeypatch):
    monkeypatch.setattr(command, "ROWS", 20)
    new = tmp_path / "new.csv"
    ages = [*range(50), "abc", *range(29)]
    pl.DataFrame({"age": list(map(str, ages)), "site": ["a"] * 80}).write_csv(new)
    assert "new.csv" in refused("predict", model, new)


def test_a_full_disk_is_said_in_a_line(data, model):
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*MERCER, "predict", model, data], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 1
    assert done.stderr == "Error: the output: No space left on device\n"


def test_a_file_that_cannot_grow_leaves_nothing_behind(data, tmp_path):
    # A limit on the size of files is a small disk, which needs no rights.
    code = (
        "import resource, signal\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))\n"
        "from mercer.cli.main import main\n"
        "main()\n"
    )
    out = tmp_path / "m.mercer"
    line = ["fit", data, *PRICE, "--alpha", "1", "-o", out]
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, line)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert done.returncode == 1
    assert "m.mercer cannot be written: File too large" in done.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["data.csv"]


@pytest.mark.parametrize("ending", ["csv", "parquet", "ndjson"])
def test_a_category_that_looks_like_a_number_is_one_where_it_stands_alone(ending, tmp_path):
    kinds = ["A", "B", "07", "true"] * 10
    places = [["A", "B", "07", "true"].index(kind) for kind in kinds]
    rows = pl.DataFrame({"g": kinds, "y": [10.0 * place for place in places]})
    path, model = tmp_path / "t.csv", tmp_path / "m.mercer"
    rows.write_csv(path)
    settings = ("--target", "y", "--task", "regression", "--kernel", "match.on(g)")
    alone = pl.DataFrame({"g": ["07"], "y": [20.0]} if ending == "csv" else {"g": [7]})
    rest = tmp_path / f"rest.{ending}"
    write = {"csv": alone.write_csv, "parquet": alone.write_parquet, "ndjson": alone.write_ndjson}
    if ending != "csv":
        rows.with_columns(pl.col("g").replace("07", "7")).write_csv(path)
    write[ending](rest)
    fitted(path, *settings, "--alpha", "0.001", "-o", model)
    found = pl.read_csv(run("predict", model, rest).stdout.encode())["prediction"]
    assert np.allclose(found, [20.0], atol=0.1)


def test_categories_of_rows_for_tests_are_those_of_the_rows_learnt_from(tmp_path):
    path, rest = tmp_path / "t.csv", tmp_path / "rest.csv"
    path.write_text("g,y\n" + "A,0\nB,10\n7,20\n" * 10)
    rest.write_text("g,y\n7,20\n")
    settings = ("--target", "y", "--task", "regression", "--kernel", "match.on(g)")
    found = fitted(path, *settings, "--alpha", "0.001", "--test-data", rest)
    assert found["scores"]["RMSE"]["value"] < 0.1


def test_a_file_that_ends_too_early_is_named_and_not_the_output(tmp_path):
    path, model, out = tmp_path / "t.svm", tmp_path / "m.mercer", tmp_path / "out.csv"
    path.write_text("".join(f"{i}.5 1:{i} 2:{i * i % 7}\n" for i in range(40)))
    fitted(path, "--alpha", "1", "-o", model)
    packed = tmp_path / "t.svm.gz"
    packed.write_bytes(gzip.compress(path.read_bytes())[:60])
    assert f"{packed} cannot be read" in refused("predict", model, packed, "-o", out)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_an_error_beside_writing_is_not_one_of_the_output(ending, tmp_path):
    out = tmp_path / f"out.{ending}"
    with pytest.raises(OSError, match="of the input"), table_writer(str(out)) as write:
        write(pl.DataFrame({"a": [1]}))
        raise OSError("of the input")
    assert not list(tmp_path.iterdir())


def test_a_word_in_a_column_that_was_numbers_is_refused_and_a_mark_is_a_missing_one(tmp_path):
    path, rest, model = tmp_path / "t.csv", tmp_path / "rest.csv", tmp_path / "m.mercer"
    path.write_text("g,y\n" + "1,0\n2,10\n3,20\n" * 10)
    settings = ("--target", "y", "--task", "regression", "--kernel", "match.on(g)")
    fitted(path, *settings, "--alpha", "0.001", "-o", model)
    rest.write_text("g\n3\nx\n")
    assert "the column 'g' has 'x' in row 2, and was numbers" in refused("predict", model, rest)
    rest.write_text("g\nNA\n")
    assert "column 'g' has a missing value in row 1" in refused("predict", model, rest)


def test_points_by_thousands_are_read_as_in_the_training_rows(tmp_path):
    def predicted(cell):
        path.write_text(f"a;b\n{cell};1\n")
        return run("predict", model, path).stdout

    path, model = tmp_path / "rows.csv", tmp_path / "m.mercer"
    cells = [f"{1 + i // 10}.{i % 10}00,5;{i % 3};{i}" for i in range(30)]
    path.write_text("\n".join(["a;b;y", *cells]))
    fitted(path, "--target", "y", "--kernel", "linear", "--output", model)
    assert predicted("2.000") == predicted("2000") != predicted("2")


def test_what_is_said_of_rows_follows_the_line_of_the_phase(data, model, tmp_path):
    table().with_columns(age=pl.col("age") + 1e6).write_csv(data)
    lines = run("predict", model, data, "-o", tmp_path / "out.csv").stderr.splitlines()
    assert lines[0].startswith(f"predicting {data} ... ") and lines[0].endswith(" s")
    assert "far outside" in lines[1]


def test_standard_input_is_called_that_in_errors(data, model):
    table().with_columns(prediction=pl.lit(1.0)).write_csv(data)
    line = refused("predict", model, "-", "--keep", input=data.read_bytes())
    assert "standard input has a column 'prediction' already" in line


def test_dates_with_the_day_first_are_read_as_in_the_training_rows(tmp_path):
    days = pl.date_range(pl.date(2020, 1, 25), pl.date(2020, 4, 3), eager=True)
    y = (np.arange(len(days)) / 7.0).round(3)
    rows = pl.DataFrame({"d": days.dt.strftime("%d/%m/%Y"), "y": y})
    rows.write_csv(tmp_path / "rows.csv")
    model = tmp_path / "days.mercer"
    result = run("fit", tmp_path / "rows.csv", "--target", "y", "--alpha", "0.01", "-o", model)
    assert "column 'd': dates with the day first, such as '25/01/2020'" in result.stderr
    assert "calendar(" in result.stdout
    (tmp_path / "new.csv").write_text("d\n02/03/2020\n03/02/2020\n")
    (tmp_path / "iso.csv").write_text("d\n2020-03-02\n2020-02-03\n")
    told = run("predict", model, tmp_path / "new.csv").stdout
    assert np.array(told.splitlines()[1:], float) == pytest.approx([37 / 7.0, 9 / 7.0], abs=0.2)
    assert run("predict", model, tmp_path / "iso.csv").stdout == told
    (tmp_path / "later.csv").write_text("d\n02/03/2031\n")
    said = run("predict", model, tmp_path / "later.csv").stderr
    assert "'d', 1 row with 2031-03-02 where these have 2020-01-2" in said


def test_postal_codes_with_a_zero_before_them_are_categories(tmp_path):
    path, model = tmp_path / "rows.csv", tmp_path / "zip.mercer"
    lines = [f"0{1000 + i % 4},{(i % 4) ** 2 + i / 100}" for i in range(40)]
    path.write_text("zip,y\n" + "\n".join(lines) + "\n")
    result = run("fit", path, "--target", "y", "--alpha", "0.01", "-o", model)
    assert "column 'zip': 40 cells such as '01000', with a zero" in result.stderr
    assert "match(" in result.stdout
    (tmp_path / "new.csv").write_text("zip\n01003\n1003\n")
    seen = run("predict", model, tmp_path / "new.csv")
    assert float(seen.stdout.split()[1]) == pytest.approx(9.0, abs=0.5)
    assert "'1003'" in seen.stderr
