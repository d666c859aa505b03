"""Errors and help that name the file, the option and what to do."""

import numpy as np
import polars as pl
import pytest

import mercer
from commands import PRICE, fitted, refused, run, table


def misused(*arguments):
    """Return the line of a command that is used wrongly."""
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    return result.stderr.splitlines()[-1]


def test_a_kernel_on_a_column_that_a_table_lacks_is_no_kernel_of_its_rows(data):
    said = refused("check", "gaussian.on(agee)", "--data", data)
    assert f"{data}: no column 'agee' in the table; it has 'age'" in said
    assert said.endswith("did you mean 'age'?")


@pytest.mark.parametrize("command", ["predict", "report"])
def test_all_columns_that_a_model_misses_are_named_with_the_file(command, tmp_path):
    known, new, model = tmp_path / "known.csv", tmp_path / "new.csv", tmp_path / "m.mercer"
    notes = ["red car", "blue car", "red bus", "blue bus"] * 20
    rows = table().with_columns(note=pl.Series(notes))
    rows.write_csv(known)
    rows.drop("note", "age", "site").write_csv(new)
    kernel = "gaussian.on(age) + match.on(site) + words.on(note)"
    fitted(known, *PRICE, "--kernel", kernel, "--alpha", "1", "-o", model)
    given = (model, new) if command == "predict" else (model, "--data", new)
    said = refused(command, *given)
    assert str(new) in said
    assert all(repr(name) in said.partition("it has")[0] for name in ("age", "site", "note"))


def test_dates_that_are_text_of_another_kind_are_told_how_they_are_read():
    days = pl.DataFrame({"day": ["2020-01-01", "2020-02-01", "2021-03-01"]})
    model = mercer.KernelRidge("gaussian.after(calendar()).on(day)").fit(days, [1, 2, 3])
    with pytest.raises(ValueError, match=r"mercer.read_table\(X, like=model\)"):
        model.predict(pl.DataFrame({"day": ["14/01/2021"]}))


def test_a_test_of_a_model_is_not_told_of_an_option_that_it_has_not(model, tmp_path):
    words = tmp_path / "words.csv"
    table().with_columns(price=pl.Series([f"w{i}" for i in range(80)])).write_csv(words)
    assert "--task" not in refused("report", model, "--data", words)
    assert "--task" in refused("fit", words, *PRICE)


def test_rows_to_test_on_are_a_share_or_a_file(data):
    said = misused("fit", data, *PRICE, "--test-data", data, "--test", "0.3")
    assert "--test is the share to test on and --test-data its rows; give one" in said


@pytest.mark.parametrize("limit", ["0", "-1", "nan", "inf"])
def test_a_limit_of_no_time_is_refused_before_anything_is_read(limit):
    said = misused("fit", "none.csv", *PRICE, "--time-limit", limit)
    assert f"--time-limit must be seconds above 0, got {limit}" in said


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("time-limit = 'three'", "time-limit: 'three' is not a valid float"),
        ("alpha = [1, 'x']", "alpha: 'x' is not a valid float"),
        ("target = ['a', 'b']", "target must have one value, got ['a', 'b']"),
        ("report = true", "report must have one value, got True"),
        ("json = 'yes'", "json must be true or false, got 'yes'"),
    ],
)
def test_a_value_of_a_wrong_kind_is_named_by_its_file_and_key(line, said, data, tmp_path):
    config = tmp_path / "c.toml"
    config.write_text(line)
    found = misused("fit", data, *PRICE, "--config", config)
    assert f"{config}: {said}" in found


def test_what_is_no_table_is_told_as_what_it_is(tmp_path):
    book = tmp_path / "book.xlsx"
    book.write_bytes(b"PK")
    assert "export its sheet as CSV" in refused("fit", book, *PRICE)
    assert f"{tmp_path} is a folder; give a file" in refused("fit", tmp_path, *PRICE)


def test_missing_weights_are_counted_and_the_first_is_placed(tmp_path):
    path = tmp_path / "weights.csv"
    some = [None if i in (6, 9) else 1.0 for i in range(80)]
    table().with_columns(weight=pl.Series(some)).write_csv(path)
    said = refused("fit", path, *PRICE, "--weights", "weight")
    assert "'weight' of weights has 2 missing cells, the first in row 7" in said


def test_a_page_without_a_folder_is_told_as_such(tmp_path):
    X = np.arange(6.0)[:, None]
    with pytest.raises(mercer.errors.DataFileError, match=r"there is no folder .*none; make it"):
        mercer.report(
            mercer.KernelRidge().fit(X, X[:, 0]), X, X[:, 0], tmp_path / "none" / "r.html"
        )


def test_one_row_is_told_to_be_too_few():
    with pytest.raises(ValueError, match=r"one sample is like no other.*give more rows"):
        mercer.KernelRegressor().fit([[1.0]], [1.0])


def test_identifiers_are_not_advised_to_be_named_where_a_kernel_says_what_is_read(tmp_path):
    path, config = tmp_path / "t.csv", tmp_path / "c.toml"
    table().with_columns(user_id=pl.int_range(80)).write_csv(path)
    config.write_text("kernel = 'gaussian.on(age)'")
    assert "--keep user_id keeps it" in run("fit", path, *PRICE, "--select", "5").stderr
    assert "--keep" not in run("fit", path, *PRICE, "--config", config).stderr


def test_a_long_kernel_of_a_column_has_a_short_name(data):
    long = "gaussian([1.25, 2.5]).after(standardize()).on(age, weight) + match.on(site)"
    found = run("fit", data, "--target", "price", "--kernel", long, "--alpha", "1").stdout
    (line,) = [line for line in found.splitlines() if line.startswith("  age ")]
    assert line.endswith("gaussian(...).after(standardize())")


def test_a_report_tells_what_a_test_has_found(data, model, tmp_path):
    new = tmp_path / "new.csv"
    table().with_columns(site=pl.lit("zzz")).write_csv(new)
    found = run("report", model, "--data", new, "-o", tmp_path / "r.html")
    assert found.stdout == f"{tmp_path / 'r.html'}\n"
    for said in ("held-out rows, against the mean", "RMSE", "before you use it", "'zzz'"):
        assert said in found.stderr


def test_one_kernel_of_many_penalties_is_listed_by_them_in_units_of_the_target(data):
    found = run("fit", data, *PRICE, "--kernel", "gaussian(9.0).on(age)", "--select", "5").stdout
    board = found.partition("leaderboard")[2].splitlines()
    assert board[0].endswith("by RMSE on rows left out, in units of price")
    assert board[1].split() == ["rank", "alpha", "RMSE"]
