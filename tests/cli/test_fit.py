"""`mercer fit`: from a table to a tested model."""

import json
import re
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

import mercer
from commands import PRICE, SICK, fitted, run, table
from mercer.cli.fitting.result import _leaderboard
from mercer.cli.fitting.screen import _listed, _shown_kernel, _shown_leaderboard
from mercer.kernels.language.editable import editable


def test_a_regression_is_tuned_tested_and_saved(data, tmp_path):
    model = tmp_path / "m.mercer"
    found = fitted(data, *PRICE, "--time-limit", "5", "-o", model)
    score = found["scores"]["R2"]
    assert score["value"] > 0.9
    assert score["low"] < score["value"] < score["high"]
    assert score["beats_baseline"]
    assert found["rows"] == {"train": 64, "test": 16}
    assert found["leaderboard"][0]["rank"] == 1
    assert found["model file"] == str(model)
    assert mercer.kernel(found["kernel"]).check().status == "PROVED"
    assert mercer.load(model).predict(table()).shape == (80,)


def test_the_screen_tells_everything_that_happened(data, tmp_path):
    model = tmp_path / "m.mercer"
    result = run("fit", data, *PRICE, "--time-limit", "2", "-o", model)
    assert result.exit_code == 0
    for said in (
        "64 rows to learn from and 16 held out",
        "price, numbers from",
        "columns, 2 of 2 are used",
        "site    text           0         3  category",
        "leaderboard, chosen first",
        "to edit and to give back: ",
        "plan\n  KernelRidge",
        " by cholesky",
        "95% interval",
        "against the mean as baseline",
        "relative residual",
        f"model file   {model}",
    ):
        assert said in result.stdout, said


@pytest.mark.usefixtures("brief")
def test_a_mean_shows_every_fit_with_its_weight(data, monkeypatch):
    from mercer.selection.automatic import mean, search

    def averaged(finalists, judge, weights, groups):
        # Whatever they miss.
        monkeypatch.setattr(
            mean, "_weights", lambda missed, w: np.eye(missed.shape[-1])[:2].mean(0)
        )
        made = mean._mean(finalists, judge, weights, groups)
        return [made, *finalists]

    monkeypatch.setattr(search, "with_mean", averaged)
    said = run("fit", data, *PRICE, "--time-limit", "3").stdout
    assert "kernel, a mean of 2 fits that compare rows by" in said
    assert said.count("  0.50 of ") == 2
    assert "mercer info MODEL --options > options.toml" in said
    found = fitted(data, *PRICE, "--time-limit", "3")
    assert [part["weight"] for part in found["mean"]] == [0.5, 0.5]
    assert all(part["alpha"] > 0.0 and part["kernel"] for part in found["mean"])


def test_what_a_colleague_should_know_is_printed(data):
    found = fitted(data, *PRICE, "--kernel", "gaussian.on(age)", "--alpha", "1")
    assert any("tested on" in said for said in found["warnings"])
    said = run("fit", data, *PRICE, "--kernel", "gaussian.on(age)", "--alpha", "1").stdout
    assert f"before you use it\n  - {found['warnings'][0]}" in said


def test_the_kernel_that_is_printed_gives_the_same_model_again(data, monkeypatch):
    from mercer.selection.automatic import search

    monkeypatch.setattr(search, "with_mean", lambda finalists, *given: list(finalists))
    found = fitted(data, *PRICE, "--time-limit", "3")
    again = fitted(data, *PRICE, "--kernel", found["kernel"], "--alpha", found["alpha"])
    assert again["kernel"] == found["kernel"]
    assert again["scores"]["RMSE"]["value"] == pytest.approx(
        found["scores"]["RMSE"]["value"], rel=0.02
    )


def test_an_editable_kernel_has_no_numbers_of_the_rows():
    text = "gaussian(length_scale=1.23456).after(normal_scores()).after(standardize()).on(a, b)"
    rows = {"a": np.arange(20.0), "b": np.arange(20.0) ** 2}
    resolved = mercer.kernel(text).resolved(rows)
    assert "knots=[" in str(resolved)
    assert str(editable(resolved)) == text.replace("1.23456", "1.235")


def test_two_whole_numbers_are_classes_and_it_is_said(data):
    result = run("fit", data, *SICK, "--C", "1")
    assert result.exit_code == 0
    assert "2 distinct whole numbers: classification" in result.stdout
    assert "accuracy" in result.stdout
    assert "log loss" in result.stdout
    assert "the shares of the classes" in result.stdout


@pytest.mark.parametrize(
    ("values", "task"),
    [
        ([True, False] * 20, "classification"),
        (["yes", "no"] * 20, "classification"),
        ([float(i % 3) for i in range(40)], "classification"),
        (list(range(40)), "regression"),
        ([i / 7 for i in range(40)], "regression"),
    ],
)
def test_the_task_follows_from_the_values_of_the_target(values, task, tmp_path):
    path = tmp_path / "t.csv"
    pl.DataFrame({"x": np.arange(40.0), "y": values}).write_csv(path)
    kind = ["--C", 1] if task == "classification" else ["--alpha", 1]
    assert task in fitted(path, "--target", "y", *kind)["data"]["task"]


def test_the_task_can_be_given(data):
    found = fitted(data, *SICK, "--task", "regression", "--alpha", "1")
    assert "R2" in found["scores"]


def test_a_kernel_and_a_ridge_can_be_given(data):
    found = fitted(data, *PRICE, "--kernel", "gaussian(5.0).on(age)", "--alpha", "0.5")
    assert found["kernel"] == "gaussian(length_scale=5.0).on(age)"
    assert found["alpha"] == 0.5
    uses = {c["column"]: c["used"] for c in found["columns"]}
    assert uses == {"age": True, "site": False}


@pytest.mark.parametrize("select", ["loo", "gcv", "4"])
def test_a_ridge_is_chosen_as_asked_for(data, select):
    kernel = ("--kernel", "gaussian(10.0).on(age)")
    found = fitted(data, *PRICE, *kernel, "--select", select)
    alphas = [entry["alpha"] for entry in found["leaderboard"]]
    assert len(set(alphas)) > 3
    assert found["alpha"] in alphas


def test_options_come_from_a_file_and_the_line_wins(data, tmp_path):
    config = tmp_path / "c.toml"
    config.write_text('target = "price"\nalpha = 0.5\nkernel = "linear.on(age)"\nseed = 3\n')
    assert fitted(data, "--config", config)["alpha"] == 0.5
    assert fitted(data, "--config", config, "--alpha", "2")["alpha"] == 2.0
    config.write_text('[fit]\ntarget = "price"\ntest = 0.5\nalpha = 1.0\ndrop = ["sick"]\n')
    assert fitted(data, "--config", config)["rows"] == {"train": 40, "test": 40}
    for content in ("colour = 1\n", "alpha = "):
        config.write_text(content)
        result = run("fit", data, "--config", config)
        assert result.exit_code == 2
        assert "c.toml" in result.output


def test_weights_groups_and_a_table_to_test_on(data, tmp_path):
    other = tmp_path / "other.parquet"
    table(20).write_parquet(other)
    settings = ("--target", "price", "--drop", "sick", "--alpha", "1", "--kernel", "linear.on(age)")
    found = fitted(data, *settings, "--weights", "weight", "--groups", "home")
    assert found["rows"] == {"train": 64, "test": 16}
    assert {c["column"] for c in found["columns"]} == {"age", "site"}
    found = fitted(data, *settings, "--test-data", other)
    assert found["rows"] == {"train": 80, "test": 20}


def test_one_column_may_be_both_the_weights_and_the_groups(data):
    settings = ("--target", "price", "--drop", "sick,weight", "--alpha", "1")
    found = fitted(data, *settings, "--weights", "home", "--groups", "home")
    assert {c["column"] for c in found["columns"]} == {"age", "site"}


def test_weights_count_in_the_fit_and_in_the_scores(tmp_path):
    path, rows = tmp_path / "w.csv", table()
    settings = ("--target", "price", "--kernel", "gaussian(5.0).on(age)", "--alpha", "1")
    rows.with_columns(weight=pl.col("age") ** 2).write_csv(path)
    weighted = fitted(path, *settings, "--weights", "weight")["scores"]["RMSE"]["value"]
    assert weighted != fitted(path, *settings)["scores"]["RMSE"]["value"]


def test_talk_is_one_line_for_each_phase_and_the_result_is_apart_from_it(data, tmp_path):
    result = run("fit", data, *PRICE, "--alpha", "1", "-o", tmp_path / "m.mercer", "--json")
    lines = result.stderr.splitlines()
    assert [line.split(" ... ")[0].split()[0] for line in lines] == [
        "reading",
        "fitting",
        "testing",
    ]
    assert all(line.endswith(" s") for line in lines)
    json.loads(result.stdout)


def test_a_report_is_written(data, tmp_path):
    page = tmp_path / "page.html"
    result = run("fit", data, *PRICE, "--alpha", "1", "--report", page)
    assert result.exit_code == 0, result.output
    assert page.read_text().startswith("<!doctype html>")
    assert str(page) in result.stdout


@pytest.mark.parametrize("seed", range(3))
def test_a_class_of_one_row_is_learnt_from(seed, tmp_path):
    path = tmp_path / "t.csv"
    labels = ["a"] * 20 + ["b"] * 20 + ["c"]
    pl.DataFrame({"x": np.arange(41.0), "y": labels}).write_csv(path)
    assert fitted(path, "--target", "y", "--C", "1", "--seed", seed)["rows"]["train"] == 33


def test_groups_reach_the_automatic_machine(data, monkeypatch):
    from mercer.selection.automatic.regressor import KernelRegressor

    seen = []
    original = KernelRegressor.fit

    def fit(self, X, y, sample_weight=None, groups=None):
        seen.append((X, groups))
        return original(self, X, y, sample_weight, groups)

    monkeypatch.setattr(KernelRegressor, "fit", fit)
    settings = ("--target", "price", "--drop", "sick,weight", "--groups", "home")
    fitted(data, *settings, "--time-limit", "1")
    ((X, groups),) = seen
    assert "home" not in X.columns
    homes = table().join(X, on="age")["home"]
    assert len(np.unique(np.column_stack([homes, groups]), axis=0)) == len(np.unique(groups)) == 16


@pytest.mark.parametrize("target", ["sick", "site"])
def test_classes_may_be_won_by_a_ridge(target, data, tmp_path, monkeypatch):
    from mercer.selection.automatic.classifier import KernelClassifier
    from mercer.selection.automatic.cross_fit import Compared

    def compared(self, search, reader, one, means, run):
        return {"ridge": Compared(0.0, one)}

    monkeypatch.setattr(KernelClassifier, "_cross_fitted", lambda _, s, board, run: (board, {}))
    monkeypatch.setattr(KernelClassifier, "_compared", compared)
    page = tmp_path / "p.html"
    settings = ("--target", target, "--drop", "weight,home", "--time-limit", "5")
    result = run("fit", data, *settings, "--report", page)
    assert result.exit_code == 0, result.output
    assert "KernelRidgeClassifier by cholesky" in result.stdout
    assert "to edit and to give back: " in result.stdout
    assert "the share of rows left out that are misclassified" in result.stdout
    assert page.exists()


def test_what_candidates_are_ranked_by_has_a_name(data):
    said = [
        run("fit", data, *PRICE, "--kernel", "gaussian", "--select", how).stdout
        for how in ("loo", "gcv")
    ]
    assert "by RMSE on rows left out, in units of price" in said[0]
    assert "by rows left out: GCV" in said[1]
    sick = run("fit", data, *SICK, "--kernel", "gaussian.on(age)", "--select", "3").stdout
    assert "by rows left out: log loss" in sick
    assert (
        "RMSE on rows left out, in units of price"
        in run("fit", data, *PRICE, "--time-limit", "1").stdout
    )


def test_a_leaderboard_has_a_candidate_once_by_its_last_round():
    tried = {
        "kernel": ["linear"] * 5,
        "C": np.array([0.1, 1.0, 10.0, 0.1, 1.0]),
        "n_resources": np.array([50, 50, 50, 400, 400]),
        "mean_test_score": -np.array([0.5, 0.3, 0.6, 0.45, 0.4]),
        "rank_test_score": np.array([4, 3, 5, 2, 1]),
    }
    board = _leaderboard(SimpleNamespace(cv_results_=tried, cv="loo"))
    assert [(e["rank"], e["C"], e["rows"], e["log loss"]) for e in board] == [
        (1, 1.0, 400, 0.4),
        (2, 0.1, 400, 0.45),
        (3, 10.0, 50, 0.6),
    ]


@pytest.mark.parametrize(
    ("saved", "said"),
    [({"model file": "m.mercer"}, "mercer info m.mercer"), ({}, "save it by -o MODEL, then")],
)
def test_a_kernel_of_a_page_is_told_in_words_with_how_it_is_edited_in_a_file(saved, said):
    long = " + ".join(["gaussian(length_scale=1.5).on(age)"] * 20)
    result = {"data": {"file": "d.csv"}, "outline": "gaussian of age", **saved}
    mean = [{"weight": 0.9, "kernel": long, "outline": "gaussian of age", "alpha": 2.0}]
    for text in map(_shown_kernel, ({**result, "kernel": long}, {**result, "mean": mean})):
        assert f"gaussian of age\n  to edit and to give back: {said}" in text
        assert text.endswith("--options > options.toml, and mercer fit d.csv --config options.toml")
        assert long not in text


def test_words_that_differ_by_capital_letters_alone_are_named(tmp_path):
    path = tmp_path / "t.csv"
    rows = [
        f"{'Berlin' if i % 3 else 'berlin'},{i % 7},{('no', 'yes', 'Yes')[i % 3]}"
        for i in range(60)
    ]
    path.write_text("\n".join(["city,x,y", *rows]))
    said = run("fit", path, "--target", "y", "--C", "1", "--kernel", "match.on(city)").stderr
    assert "column 'city': 'Berlin' and 'berlin' differ by capital letters alone; they are" in said
    assert "column 'y': 'Yes' and 'yes' differ by capital letters alone" in said


@pytest.mark.parametrize("columns", [80, 120])
def test_tables_on_a_terminal_are_as_wide_as_it_is(columns, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    cells = [[1, "mean of " + "gaussian, learned further and " * 5, "leave-one-out", 480, 40110.5]]
    lines = _listed(["rank", "kernel", "scored by", "rows", "RMSE"], cells).splitlines()
    assert len(lines[1]) == columns
    assert lines[1].endswith("leave-one-out   480  40,110") and "…  " in lines[1]


def test_the_line_above_a_leaderboard_fits_a_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    board = [
        {"rank": i, "kernel": "gaussian", "C": 1.0, "rows": 100 * i, "log loss": 0.3}
        for i in (1, 2)
    ]
    lines = _shown_leaderboard(board, "y", []).splitlines()
    assert lines[:2] == [
        "leaderboard, best first, by rows left out: log loss, those that were tried on",
        "  the most rows before the others",
    ]


def test_every_class_is_told_with_its_recall_the_rarest_first(tmp_path):
    path, page = tmp_path / "t.csv", tmp_path / "p.html"
    x = np.linspace(0.0, 1.0, 300)
    pl.DataFrame({"x": x, "y": np.where(x > 0.94, "rare", "usual")}).write_csv(path)
    settings = ("--target", "y", "--kernel", "gaussian(0.05)", "--C", "1e-3")
    found = fitted(path, *settings, "--report", page)
    assert [(c["label"], c["rows"], c["recall"]) for c in found["classes"]] == [
        ("rare", 4, 0.0),
        ("usual", 56, 1.0),
    ]
    assert found["classes"][0]["precision"] is None
    assert any("mercer fit --class-weight balanced" in said for said in found["warnings"])
    said = run("fit", path, *settings, "--class-weight", "balanced").stdout
    assert "weigh classes alike" not in said
    assert "class by class, the rarest first (recall: of the rows of a class" in said
    assert re.search(r"\n  rare +4 +\d+ +1 ", said)
    # The baseline is that of the rows, and not of their weights.
    assert re.search(r"accuracy .* 0.9333 ", said)
    assert "Class by class" in page.read_text(encoding="utf-8")


def test_the_rarer_of_two_classes_is_told_with_thresholds(tmp_path):
    path, page = tmp_path / "data.csv", tmp_path / "page.html"
    rows = table(300).with_columns(hit=pl.when(pl.col("price") > 7.2).then(1).otherwise(0))
    rows.write_csv(path)
    settings = ("--target", "hit", "--drop", "price,sick,weight,home", "--C", "1")
    found = fitted(path, *settings, "--report", page)
    assert found["thresholds"]["class"] == "1"
    shares = [each["flagged"] for each in found["thresholds"]["each"]]
    assert shares == sorted(shares, reverse=True)
    half = next(each for each in found["thresholds"]["each"] if each["threshold"] == 0.5)
    by_class = next(each for each in found["classes"] if each["label"] == "1")
    assert [half["precision"], half["recall"]] == [by_class["precision"], by_class["recall"]]
    html = page.read_text()
    assert "Thresholds of class 1" in html
    assert "precision over recall of class 1: average precision" in html
    assert "average precision of '1'" in run("fit", path, *settings).stdout
    three = fitted(path, "--target", "site", "--drop", "price,sick,weight,home,hit", "--C", "1")
    assert "thresholds" not in three
    assert "average precision" not in three["scores"]
