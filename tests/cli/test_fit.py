"""`mercer fit` and `mercer predict`: from a table to a tested model, and back to a table."""

import json

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import mercer
from mercer.cli.main import main


def run(*arguments, **settings):
    return CliRunner().invoke(main, [str(a) for a in arguments], **settings)


def table(n=80):
    random = np.random.default_rng(0)
    age, site = random.normal(50, 10, n), random.choice(["a", "b", "c"], n)
    price = 0.1 * age + 2.0 * (site == "b") + 0.1 * random.normal(size=n)
    return pl.DataFrame(
        {
            "age": age,
            "site": site,
            "price": price,
            "sick": (price > np.median(price)).astype(int),
            "weight": np.ones(n),
            "home": np.arange(n) // 4,
        }
    )


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "data.csv"
    table().write_csv(path)
    return path


PRICE = ("--target", "price", "--drop", "sick", "--drop", "weight", "--drop", "home")
SICK = ("--target", "sick", "--drop", "price", "--drop", "weight", "--drop", "home")


def fitted(*arguments):
    result = run("fit", *arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_a_regression_is_tuned_tested_and_saved(data, tmp_path):
    model = tmp_path / "m.mercer"
    found = fitted(data, *PRICE, "-o", model)
    assert found["R2"]["value"] > 0.9
    assert found["R2"]["low"] < found["R2"]["value"] < found["R2"]["high"]
    assert found["R2"]["beats_baseline"]
    assert found["rows"] == "64 to learn from, 16 held out"
    assert mercer.kernel(found["kernel"]).check().status == "PROVED"
    assert mercer.load(model).predict(table()).shape == (80,)


def test_two_whole_numbers_are_classes_and_it_is_said(data):
    result = run("fit", data, *SICK, "--C", "1")
    assert result.exit_code == 0
    assert "2 distinct whole numbers: classification" in result.stderr
    assert "accuracy" in result.stdout
    assert "log loss" in result.stdout


def test_the_task_can_be_given(data):
    found = fitted(data, *SICK, "--task", "regression", "--alpha", "1")
    assert "R2" in found


def test_a_kernel_and_a_ridge_can_be_given(data):
    found = fitted(data, *PRICE, "--kernel", "gaussian(5.0).on(age)", "--alpha", "0.5")
    assert found["kernel"] == "gaussian(length_scale=5.0).on(age)"
    assert found["alpha"] == 0.5


def test_options_come_from_a_file_and_the_line_counts_more(data, tmp_path):
    config = tmp_path / "c.toml"
    config.write_text('target = "price"\nalpha = 0.5\nkernel = "linear.on(age)"\nseed = 3\n')
    assert fitted(data, "--config", config)["alpha"] == 0.5
    assert fitted(data, "--config", config, "--alpha", "2")["alpha"] == 2.0
    config.write_text('target = "price"\ntest = 0.5\nalpha = 1.0\ndrop = ["sick"]\n')
    assert fitted(data, "--config", config)["rows"] == "40 to learn from, 40 held out"
    config.write_text("colour = 1\n")
    result = run("fit", data, "--config", config)
    assert result.exit_code == 2
    assert "colour" in result.output


def test_weights_groups_and_a_table_to_test_on(data, tmp_path):
    other = tmp_path / "other.parquet"
    table(20).write_parquet(other)
    settings = ("--target", "price", "--drop", "sick", "--alpha", "1", "--kernel", "linear.on(age)")
    found = fitted(data, *settings, "--weights", "weight", "--groups", "home")
    assert found["rows"] == "64 to learn from, 16 held out"
    assert fitted(data, *settings, "--test-data", other)["rows"] == "80 to learn from, 20 held out"


def test_predictions_keep_the_order_and_the_columns(data, tmp_path):
    model = tmp_path / "m.mercer"
    fitted(data, *PRICE, "--alpha", "1", "-o", model)
    result = run("predict", model, data, "--interval", "0.9")
    found = pl.read_csv(result.stdout.encode())
    assert found.columns == ["prediction", "lower", "upper"]
    assert np.allclose(found["prediction"], mercer.load(model).predict(table()))
    assert (found["lower"] <= found["upper"]).all()
    assert run("predict", model, data, "--keep", "-o", tmp_path / "p.parquet").exit_code == 0
    assert pl.read_parquet(tmp_path / "p.parquet").columns == [*table().columns, "prediction"]


def test_a_column_that_is_taken_is_named(data, tmp_path):
    model, taken = tmp_path / "m.mercer", tmp_path / "taken.csv"
    fitted(data, *PRICE, "--alpha", "1", "-o", model)
    table().with_columns(prediction=pl.lit(1.0)).write_csv(taken)
    assert "'prediction' already" in run("predict", model, taken, "--keep").stderr
    assert "also to be dropped" in run("fit", data, "--target", "age", "--drop", "age").stderr


def test_dates_in_another_form_than_iso_stay_text(tmp_path):
    path = tmp_path / "dates.csv"
    days = [f"0{1 + i % 9}/02/2021" for i in range(40)]
    pl.DataFrame({"day": days, "y": np.arange(40.0)}).write_csv(path)
    found = fitted(path, "--target", "y", "--alpha", "1")
    assert "holds dates as text" in found["columns"]


def test_probabilities_have_a_column_each(data, tmp_path):
    model = tmp_path / "m.mercer"
    fitted(data, *SICK, "--C", "1", "-o", model)
    found = pl.read_csv(run("predict", model, data, "--proba").stdout.encode())
    assert found.columns == ["prediction", "proba_0", "proba_1"]
    assert np.allclose(found["proba_0"] + found["proba_1"], 1.0)


def test_columns_missing_at_prediction_are_named(data, tmp_path):
    model, short = tmp_path / "m.mercer", tmp_path / "short.csv"
    fitted(data, *PRICE, "--alpha", "1", "-o", model)
    table().drop("age").write_csv(short)
    result = run("predict", model, short)
    assert result.exit_code == 1
    assert result.stderr.count("\n") == 2
    assert "no column 'age'" in result.stderr


def test_unseen_categories_are_predicted(data, tmp_path):
    model, new = tmp_path / "m.mercer", tmp_path / "new.csv"
    fitted(data, *PRICE, "--alpha", "1", "-o", model)
    table().with_columns(site=pl.lit("zzz")).write_csv(new)
    assert run("predict", model, new).exit_code == 0


BAD = {
    "missing file": (None, "there is no such file"),
    "empty file": ("", "is empty"),
    "no rows": ("a,y\n", "has no rows"),
    "duplicate columns": ("a,a,y\n1,2,3\n", "several columns 'a'"),
    "no target": ("a,b\n1,2\n", "no column 'y'"),
    "one row": ("a,y\n1,2.5\n", "2.5 in all 1 rows"),
    "three rows": ("a,y\n1,2.5\n2,3.5\n3,4.5\n", "at least 10 are needed"),
    "semicolons": ("a;y\n1;2.5\n", "separated by ';'"),
    "no target values": ("a,y\n1,\n2,\n", "no row with a target"),
    "constant target": ("a,y\n1,2.5\n2,2.5\n3,2.5\n", "'y' is 2.5 in all 3 rows"),
    "no other column": ("y\n1.5\n2.5\n", "no column beside the target"),
    "text in one cell": (
        "a,y\n" + "".join(f"{i},{i}.5\n" for i in range(30)) + "9,abc\n",
        "'abc' in row 31",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_data_is_one_line_that_says_what(name, tmp_path):
    content, said = BAD[name]
    path = tmp_path / "bad.csv"
    if content is not None:
        path.write_text(content)
    result = run("fit", path, "--target", "y")
    assert result.exit_code == 1
    (line,) = [line for line in result.stderr.splitlines() if line.startswith("Error")]
    assert said in line
    assert "bad.csv" in line


def test_bytes_that_are_no_utf8_are_named_by_their_line(tmp_path):
    path = tmp_path / "bad.csv"
    path.write_bytes(b"a,y\n1,2.5\nM\xfcnchen,3.5\n")
    result = run("fit", path, "--target", "y")
    assert "not UTF-8: byte 0xfc in line 3" in result.stderr


def test_missing_cells_are_kept_refused_or_left_out(tmp_path):
    path = tmp_path / "gaps.csv"
    table().with_columns(
        age=pl.when(pl.col("home") == 3).then(None).otherwise(pl.col("age"))
    ).write_csv(path)
    settings = (path, *PRICE, "--alpha", "1")
    assert fitted(*settings)["rows"].startswith("64")
    assert fitted(*settings, "--missing", "drop")["rows"].startswith("60")
    result = run("fit", *settings, "--missing", "refuse")
    assert "column 'age' has 4 missing cells" in result.stderr


def test_wrong_usage_has_its_own_exit_code(data):
    assert run("fit", data).exit_code == 2
    assert run("fit", data, *PRICE, "--test", "1.5").exit_code == 2
    result = run("fit", data, *PRICE, "--C", "1")
    assert result.exit_code == 1
    assert "use --alpha" in result.stderr


def test_debug_shows_the_traceback(tmp_path):
    with pytest.raises(ValueError, match="no such file"):
        run("--debug", "fit", tmp_path / "none.csv", "--target", "y", catch_exceptions=False)


def test_a_full_disk_is_said_and_no_file_is_left(data, tmp_path):
    result = run("fit", data, *PRICE, "--alpha", "1", "-o", tmp_path / "no" / "m.mercer")
    assert result.exit_code == 1
    assert "cannot be written" in result.stderr


def test_check_proves_or_refutes():
    assert run("check", "gaussian(1.0) + linear").exit_code == 0
    result = run("check", "sigmoid")
    assert result.exit_code == 1
    assert result.stdout.startswith("REFUTED")


def test_info_tells_what_is_in_a_file(data, tmp_path):
    model = tmp_path / "m.mercer"
    fitted(data, *PRICE, "--alpha", "1", "-o", model)
    said = run("info", model).stdout
    assert "KernelRidge" in said
    assert "64 training rows: whoever has the file can read them" in said


def test_a_file_that_is_no_model_is_refused(data):
    result = run("info", data)
    assert result.exit_code == 1
    assert "no model file" in result.stderr
