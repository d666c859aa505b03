"""Bad input: one line that says what is wrong, where, and what to do."""

import errno
import os
import re
import subprocess
import sys

import polars as pl
import pytest

import mercer
from commands import PRICE, SICK, fitted, refused, run, table
from mercer.cli.spelling import in_options
from mercer.errors import ApproximationWarning, DataFileError
from mercer.estimators.fitted import warn_of_landmarks
from mercer.planning import Settings
from mercer.reports.page import Report
from mercer.solvers import Approximation


def rows(target, n=30):
    return "a,y\n" + "".join(f"{i},{target(i)}\n" for i in range(n))


BAD = {
    "missing file": (None, "there is no such file"),
    "empty file": ("", "is empty"),
    "no rows": ("a,y\n", "has no rows"),
    "duplicate columns": ("a,a,y\n1,2,3\n", "2 columns of the name 'a'; rename"),
    "no target": ("a,b\n1,2\n", "no column 'y'; it has a, b"),
    "one row": ("a,y\n1,2.5\n", "1 row with a target 'y'; at least 10 are needed"),
    "no target values": ("a,y\n1,\n2,\n", "no row with a target"),
    "constant target": (rows(lambda i: 2.5), "'y' is 2.5 in all 30 rows"),
    "no other column": ("y\n1.5\n2.5\n", "no column beside the target"),
    "text in one cell": (rows(lambda i: "abc" if i == 20 else i / 2), "'y' has 'abc' in row 21"),
    "text after a mark": (
        rows(lambda i: {5: "unknown", 9: "call us"}.get(i, i / 2)),
        "'y' has 'call us' in row 10",
    ),
    "text after money": (
        rows(lambda i: {5: "-", 9: "call us"}.get(i, f"${i}.50")),
        "'y' has 'call us' in row 10",
    ),
    "text after a gap": (rows(lambda i: {3: "", 9: "x"}.get(i, i / 2)), "'y' has 'x' in row 10"),
    "a long line": (rows(lambda i: "1,2" if i == 4 else i), "3 cells in line 6 and 2 in the first"),
    "an infinite number": ("a,b,y\n" + "1,2,3\n2,inf,4\n" * 9, "'b' has inf in row 2"),
    "an infinite target": (rows(lambda i: "-inf" if i == 7 else i / 2), "'y' has -inf in row 8"),
    "an open quote": (rows(lambda i: '"x' if i == 4 else i), "has a quote in line 6 that is not"),
    "zero bytes": ("a\0,y\n1,2\n", "is no text"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_data_is_one_line_that_says_what(name, tmp_path):
    content, said = BAD[name]
    path = tmp_path / "bad.csv"
    if content is not None:
        path.write_text(content)
    line = refused("fit", path, "--target", "y")
    assert said in line
    assert "bad.csv" in line


@pytest.mark.parametrize("place", ["cell", "header"])
def test_bytes_that_are_no_utf8_are_named_by_their_line(place, tmp_path):
    path = tmp_path / "bad.csv"
    cell = b"a,y\n1,2.5\nM\xfcnchen,3.5\n" + b"1,2.5\n" * 20
    path.write_bytes(cell if place == "cell" else b"a,M\xfcnchen\n" + b"1,2.5\n" * 20)
    line = refused("fit", path, "--target", "y")
    where = f"not UTF-8: byte 0xfc in line {3 if place == 'cell' else 1}"
    assert f"{where}; read it with --encoding cp1252 if it is of Windows" in line


def test_utf_16_is_called_by_its_name(tmp_path):
    path = tmp_path / "bad.csv"
    path.write_text(rows(lambda i: i), encoding="utf-16")
    assert "read it with --encoding utf-16" in refused("fit", path, "--target", "y")


def test_a_name_that_is_nearly_right_is_suggested(data):
    assert "did you mean 'price'?" in refused("fit", data, "--target", "prise")


def test_files_of_other_kinds_are_refused(data, tmp_path):
    odd = tmp_path / "t.docx"
    odd.write_bytes(b"PK")
    assert "from a file of ending '.docx'; write it as one of" in refused(
        "fit", odd, "--target", "y"
    )
    folder = tmp_path / "t.csv"
    folder.mkdir()
    assert "t.csv is a folder; give a file in it" in refused("fit", folder, "--target", "y")
    fake = tmp_path / "t.parquet"
    fake.write_bytes(b"a,y\n1,2\n" * 30)
    said = refused("fit", fake, "--target", "y")
    assert "t.parquet cannot be read as Parquet, which its ending says it is" in said
    assert said.endswith("write it again, or give it the ending of what it is")


def test_svmlight_and_fasta_name_the_line(tmp_path):
    path = tmp_path / "t.svm"
    path.write_text("1 1:0.5\n-1 1:0.2\n1 zwei:3\n")
    assert "no svmlight in line 3, '1 zwei:3'" in refused("fit", path)
    path = tmp_path / "t.fasta"
    path.write_text("ACGT\n>1\nACGT\n")
    assert "line 1 comes before the first with '>'" in refused("fit", path, "--target", "name")


def test_missing_cells_are_kept_refused_or_left_out(tmp_path):
    path = tmp_path / "gaps.csv"
    table().with_columns(
        age=pl.when(pl.col("home") == 3).then(None).otherwise(pl.col("age"))
    ).write_csv(path)
    settings = (path, *PRICE, "--alpha", "1")
    for kept in ("auto", "impute"):
        assert fitted(*settings, "--missing", kept)["rows"]["train"] == 64
    assert fitted(*settings, "--missing", "drop")["rows"] == {"train": 60, "test": 16}
    assert "column 'age' has 4; use" in refused("fit", *settings, "--missing", "refuse")


def test_marks_for_missing_numbers_are_missing(tmp_path):
    path = tmp_path / "marks.csv"
    ages = ["NA" if i % 9 == 0 else str(i) for i in range(80)]
    table().with_columns(age=pl.Series(ages)).write_csv(path)
    result = run("fit", path, *PRICE, "--alpha", "1")
    assert "column 'age': 9 cells such as 'NA' count as missing" in result.stderr
    assert "age     numbers" in result.stdout


def test_a_column_of_numbers_with_a_word_in_it_is_pointed_out(tmp_path):
    path = tmp_path / "word.csv"
    ages = ["old" if i == 6 else str(i) for i in range(80)]
    table().with_columns(age=pl.Series(ages)).write_csv(path)
    result = run("fit", path, *PRICE, "--alpha", "1")
    assert "column 'age' is text, for 'old' in row 7 is no number" in result.stderr


def test_semicolons_and_decimal_commas_are_read(tmp_path):
    path = tmp_path / "euro.csv"
    lines = [f"{i};{i * 0.37:.2f}".replace(".", ",") for i in range(40)]
    path.write_text("a;y\n" + "\n".join(lines) + "\n")
    assert "regression" in fitted(path, "--target", "y", "--alpha", "1")["data"]["task"]


def test_dates_and_truth_values_become_columns(tmp_path):
    path = tmp_path / "days.csv"
    days = pl.date_range(pl.date(2024, 1, 1), pl.date(2024, 3, 20), eager=True)
    rows = table().with_columns(day=days, open=pl.col("home") % 2 == 0)
    rows.write_csv(path)
    found = {c["column"]: c for c in fitted(path, *PRICE, "--alpha", "1")["columns"]}
    assert found["day"]["becomes"].startswith("date")
    assert found["day"]["used"]
    assert found["open"]["used"]


def test_wrong_usage_has_its_own_exit_code(data):
    for arguments in (
        (*PRICE, "--test", "1.5"),
        (*PRICE, "--C", "1"),
        (*PRICE, "--alpha", "1", "--C", "1"),
        (*PRICE, "--alpha", "1", "--select", "loo"),
        (*PRICE, "--missing", "guess"),
        (*PRICE, "--alpha", "-1"),
        (*SICK, "--C", "0"),
    ):
        result = run("fit", data, *arguments)
        assert result.exit_code == 2, arguments
    assert "use --alpha" in run("fit", data, *PRICE, "--C", "1").stderr
    result = run("fit", data, *PRICE, "--select", "many")
    assert result.exit_code == 2 and "got 'many'" in result.stderr


def test_debug_shows_the_traceback(tmp_path):
    with pytest.raises(ValueError, match="no such file"):
        run("--debug", "fit", tmp_path / "none.csv", "--target", "y", catch_exceptions=False)


@pytest.mark.parametrize("option", ["-o", "--report"])
def test_a_place_that_cannot_be_written_is_said_before_anything_is_read(option, data, tmp_path):
    place = tmp_path / "no" / "m.mercer"
    result = run("fit", data, *PRICE, "--alpha", "1", option, place)
    assert result.exit_code == 1
    assert "cannot be written: there is no folder" in result.stderr
    assert "reading" not in result.stderr


@pytest.mark.parametrize("end", ["p.mercer", "p.html", "p.csv"])
def test_a_pipe_or_a_device_is_not_replaced(end, data, model, tmp_path):
    place = tmp_path / end
    os.mkfifo(place)
    line = {
        "p.mercer": ("fit", data, *PRICE, "-o", place),
        "p.html": ("fit", data, *PRICE, "--report", place),
        "p.csv": ("predict", model, data, "-o", place),
    }[end]
    assert "it is a folder, a pipe or a device; give the name of a file" in refused(*line)
    assert place.is_fifo()


@pytest.mark.parametrize("option", ["--weights", "--groups", "--drop"])
def test_a_kernel_of_a_column_that_is_taken_out_is_refused_by_both(option, data):
    kernel = ("--kernel", "linear.on(age) + linear.on(home)", "--alpha", "1")
    said = refused("fit", data, "--target", "price", option, "home", *kernel)
    assert "the kernel reads the column 'home', which --target, --weights, --groups or" in said


def test_a_disk_that_is_full_leaves_the_old_page(tmp_path, monkeypatch):
    page, new = tmp_path / "page.html", Report("<p>new</p>")
    page.write_text("old")

    def full(handle):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("mercer.data.replaced.os.fsync", full)
    with pytest.raises(DataFileError, match=r"page\.html cannot be written: No space left on"):
        new.save(page)
    assert page.read_text() == "old"
    assert os.listdir(tmp_path) == ["page.html"]


def test_rows_are_counted_as_the_file_has_them_also_behind_a_split(tmp_path):
    path = tmp_path / "gaps.csv"
    ages = pl.when(pl.col("row") == 71).then(None).otherwise(pl.col("age"))
    table().with_row_index("row").with_columns(age=ages).drop("row").write_csv(path)
    said = refused("fit", path, *PRICE, "--kernel", "gaussian.on(age)", "--alpha", "1")
    assert f"{path}: X contains NaN in row 72, column 'age'; fill such cells or drop" in said
    assert "--missing drop" in said and "Standardize" not in said


def test_a_target_of_dates_is_refused_with_the_way_out(tmp_path):
    path = tmp_path / "dates.csv"
    path.write_text(rows(lambda i: f"2024-01-{i + 1:02d}"))
    assert "the target 'y' holds dates, such as '2024-01-01'; make a number of them" in refused(
        "fit", path, "--target", "y"
    )


def test_a_few_bytes_of_memory_are_refused_for_the_unit_that_is_meant(data):
    result = run("fit", data, *PRICE, "--memory", "4")
    assert result.exit_code == 2
    assert "--memory 4 is 4 bytes; is 4GB meant?" in result.stderr


def test_advice_is_in_the_words_of_the_command():
    assert in_options("time_limit=5 is short; raise time_limit") == (
        "--time-limit 5 is short; raise --time-limit"
    )
    assert in_options("raise memory= now") == "raise --memory now"
    assert in_options("give memory='2GB'; raise memory=") == "give --memory 2GB; raise --memory"


@pytest.mark.parametrize(("limit", "left"), [(7.49364, "7.494 s"), (3600.4, "3600 s")])
def test_landmarks_for_want_of_time_are_told_with_what_the_command_can_do(limit, left):
    found, settings = Approximation(0.01, 500, 0.0), Settings(time_limit=limit)
    with pytest.warns(ApproximationWarning) as warned:
        warn_of_landmarks("an exact fit to 50000 rows", settings, found, "cg")
    said = in_options(str(warned[0].message))
    assert f"longer than half of the {left} that --time-limit leaves, or" in said
    assert said.endswith(
        "; a longer --time-limit (or --memory, where that is short) allows more of them, or an "
        "exact fit"
    )
    assert "solver" not in said
    assert "n_landmarks" not in said


@pytest.mark.parametrize("quoted", ["'time_limit'", '"raise memory= now"', "'memory=3'"])
def test_texts_in_quotes_are_not_in_the_words_of_the_command(quoted):
    assert in_options(f"no column {quoted} in the table") == f"no column {quoted} in the table"


def test_rows_that_are_left_out_are_counted(tmp_path):
    path = tmp_path / "gaps.csv"
    path.write_text(rows(lambda i: "" if i == 3 else i / 2))
    assert "1 row without a target left out" in run("fit", path, "--target", "y").stderr


@pytest.mark.parametrize("task", ["auto", "regression"])
def test_a_target_of_words_is_told_as_text_and_not_by_a_cell(task, tmp_path):
    path = tmp_path / "words.csv"
    path.write_text(rows(lambda i: f"name {i}"))
    line = refused("fit", path, "--target", "y", "--task", task)
    assert (
        "the target 'y' is text with 30 distinct values, such as 'name 0', and no numbers" in line
    )
    assert "give another column by --target, or use --task classification" in line
    assert "mend" not in line


def test_an_expression_that_is_wrong_is_said(data):
    assert "gausian" in refused("fit", data, *PRICE, "--kernel", "gausian(1.0)")
    assert "height" in refused("fit", data, *PRICE, "--kernel", "gaussian(1.0).on(height)")


def test_files_that_are_no_models_are_refused(data, tmp_path):
    for command in (("info", data), ("predict", data, data), ("explain", data)):
        assert "no model file" in refused(*command)
    kernel = tmp_path / "k.mercer"
    mercer.save(mercer.Gaussian(1.0), kernel)
    assert "holds a Gaussian, which predicts nothing" in refused("predict", kernel, data)


def test_a_fault_of_ours_is_one_line_too(data, monkeypatch):
    from mercer.cli.fitting import trained

    def fails(self, job):
        raise AttributeError("no such thing")

    monkeypatch.setattr(trained.Choice, "trained", fails)
    line = refused("fit", data, *PRICE)
    assert "AttributeError: no such thing; this is a fault of mercer" in line


def test_dates_as_text_and_a_separator_are_told_on_standard_error(tmp_path):
    path = tmp_path / "days.csv"
    lines = [
        f"{1 + i % 9:02}/{1 + i % 8}/2020;{1 + i % 9}/{13 + i % 8}/2020;{i * 0.37:.2f}".replace(
            ".", ","
        )
        for i in range(40)
    ]
    path.write_text("day;end;y\n" + "\n".join(lines) + "\n")
    told = run("fit", path, "--target", "y", "--alpha", "1").stderr
    assert "columns are separated by ';', where numbers may have decimal commas" in told
    assert told.count("column 'day' holds dates as text") == 1
    assert "make dates of it (the day or the month first, as you know)" in told
    assert "column 'end': dates with the month first, such as '1/13/2020'" in told


def test_wrong_usage_of_fit_and_check_ends_with_exit_code_2(data):
    for said, arguments in {
        "--target COLUMN": ("fit", data),
        "--memory must be a size such as 512MB or 4GB": ("fit", data, *PRICE, "--memory", "lots"),
        "mercer check -- EXPR": ("check", "-1*linear"),
        "mercer info houses.mercer shows its kernel": ("check", "houses.mercer"),
    }.items():
        result = run(*arguments)
        assert result.exit_code == 2
        assert said in result.stderr


def test_check_counts_rows_of_a_file_from_1(data):
    line = refused("check", "sigmoid", "--data", data)
    assert "column 'site'" in line
    assert "in row 1;" in line


def test_a_missing_model_is_told_as_missing_data_are(data, tmp_path):
    said = "there is no such file; check its name and folder"
    assert said in refused("predict", tmp_path / "none.mercer", data)
    assert said in refused("fit", tmp_path / "none.csv", *PRICE)


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("fit", "none.csv", "--target", "y"), 1, "none.csv: there is no such file; check its"),
        (("info", "none.mercer"), 1, "none.mercer: there is no such file; check its"),
        (("explain", "none.mercer"), 1, "none.mercer: there is no such file; check its"),
        (("predict", "none.mercer", __file__), 1, "none.mercer: there is no such file; check its"),
        (("report", "none.mercer"), 1, "none.mercer: there is no such file; check its"),
        (("fit", __file__), 2, "to predict: --target COLUMN"),
    ],
    ids=lambda given: given[0] if isinstance(given, tuple) else "",
)
def test_what_is_plainly_wrong_is_told_before_anything_large_is_imported(arguments, code, said):
    script = (
        "import sys; from mercer.cli.main import main\n"
        "try: main()\n"
        "finally: print(sorted({'numpy', 'scipy', 'polars'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == code
    assert said in done.stderr
    assert done.stdout == "[]\n"


def test_rows_after_a_model_are_told_to_be_given_by_data(data):
    for command in ("report", "explain"):
        result = run(command, "m.mercer", data)
        assert result.exit_code == 2
        assert "unexpected extra argument" in result.stderr
        assert "mercer report MODEL --data FILE" in result.stderr


def test_of_an_option_that_is_misspelt_the_nearest_is_told(data):
    result = run("fit", data, "--traget", "price")
    assert result.exit_code == 2
    assert re.search(r"Did you mean '?--target'?\?", result.stderr)


def test_a_config_file_with_a_wrong_key_is_told_every_long_option(data, tmp_path):
    path = tmp_path / "fit.toml"
    path.write_text("colour = 1\n")
    assert "it has C, alpha, class-weight, drop" in run("fit", data, "--config", path).stderr


def test_a_file_without_a_line_of_names_is_told_so(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("".join(f"{i},{-i}.5,{i}e-3\n" for i in range(20)))
    said = refused("fit", path, "--target", "y")
    assert "no column 'y'; it has 0, 0.5, 0e-3; a line that names the columns should be" in said


def test_a_target_whose_squares_are_no_numbers_is_refused_with_its_size(tmp_path):
    rows = table().with_columns(pl.col("price") * 1e200)
    rows.write_csv(tmp_path / "huge.csv")
    line = refused("fit", tmp_path / "huge.csv", *PRICE, "--alpha", "1")
    assert "the target 'price' has numbers of up to " in line
    assert line.endswith("e+200, whose squares are no numbers to score by; divide it by that")
