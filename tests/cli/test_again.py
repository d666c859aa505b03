"""A model that is given back: by options in a file, and by the code of its report."""

from html import unescape
from pathlib import Path

import numpy as np
import pytest

import mercer
from commands import PRICE, SICK, fitted, run, table
from mercer.reports.page.again import code
from mercer.reports.page.facts import Facts

AGE, SITE = "gaussian(7.123456789).after(standardize()).on(age)", "match.on(site)"
ONE = ("--kernel", f"{AGE} + {SITE}")
MEAN = ("--kernel", AGE, "--alpha", "0.2", "--kernel", SITE, "--alpha", "3")
WINNERS = [
    ("KernelRidge", (*PRICE, *ONE, "--alpha", "0.123456789")),
    ("KernelRidgeMean", (*PRICE, *MEAN, "--share", "0.3", "--share", "0.7")),
    ("KernelRidgeMean", (*PRICE, *MEAN)),
    ("KernelRidgeClassifier", (*SICK, *ONE, "--alpha", "0.5")),
    ("KernelRidgeMeanClassifier", (*SICK, *MEAN, "--share", "0.3", "--share", "0.7")),
    ("KernelLogisticRegression", (*SICK, *ONE, "--C", "2.5", "--class-weight", "balanced")),
]


def answers(model):
    ask = getattr(model, "predict_proba", model.predict)
    return ask(table(30).drop("price", "sick", "weight", "home"))


@pytest.mark.parametrize(("kind", "options"), WINNERS)
def test_the_options_that_a_file_tells_make_the_same_model(kind, options, data, tmp_path):
    first, again, config = (tmp_path / name for name in ("a.mercer", "b.mercer", "c.toml"))
    assert fitted(data, *options, "-o", first)["model"] == kind
    config.write_text(run("info", first, "--options").stdout)
    drop = ("--drop", "price,sick,weight,home".replace(options[1] + ",", ""))
    assert fitted(data, "--config", config, *drop, "-o", again)["model"] == kind
    models = mercer.load(first), mercer.load(again)
    np.testing.assert_allclose(answers(models[0]), answers(models[1]), rtol=1e-9)


@pytest.mark.parametrize(("kind", "options"), WINNERS)
def test_the_code_of_a_report_makes_the_same_model(kind, options, data, tmp_path):
    path = tmp_path / "m.mercer"
    fitted(data, *options, "--test-data", data, "-o", path)
    model = mercer.load(path)
    if hasattr(model, "set_temperature"):
        model.set_temperature(1.75)
    rows = mercer.read_table(data)
    given = {"X": rows.select("age", "site"), "y": rows[options[1]].to_numpy()}
    exec(code(Facts(model)).rsplit("mercer.report", 1)[0], given)
    assert type(given["model"]).__name__ == kind
    np.testing.assert_allclose(answers(given["model"]), answers(model), rtol=1e-9)


def test_weights_of_ten_digits_are_taken_out_of_a_kernel_and_its_penalty(data):
    large = f"3e10 * gaussian(7.0).on(age) + 1e10 * {SITE}"
    found = fitted(data, *PRICE, "--kernel", large, "--alpha", "2e10")
    assert found["kernel"].startswith("0.75 * gaussian")
    assert found["alpha"] == 0.5
    again = fitted(data, *PRICE, "--kernel", found["kernel"], "--alpha", found["alpha"])
    assert again["scores"]["RMSE"]["value"] == pytest.approx(found["scores"]["RMSE"]["value"])


def test_the_best_of_several_kernels_is_chosen(data):
    found = fitted(data, *PRICE, "--kernel", SITE, "--kernel", f"{AGE} + {SITE}")
    assert found["kernel"].startswith("gaussian")
    assert {entry["kernel"] for entry in found["leaderboard"]} > {found["kernel"]}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((*SICK, "--alpha", "1", "--C", "1"), "--alpha is for least squares and --C for"),
        ((*PRICE, *MEAN[:2], *MEAN), "give an --alpha for each --kernel; got 2 for 3"),
        ((*PRICE, *MEAN, "--share", "1"), "a --share is the weight of a --kernel"),
        ((*SICK, *MEAN[:2], *MEAN[4:6], "--C", "1"), "--C is for one --kernel, got 2"),
        ((*PRICE, "--class-weight", "balanced"), "--class-weight is not for a regression"),
    ],
)
def test_options_that_make_no_model_together_are_wrong_usage(options, said, data):
    result = run("fit", data, *options)
    assert result.exit_code == 2
    assert said in result.stderr


def test_a_file_of_another_model_has_no_options(tmp_path):
    path = tmp_path / "k.mercer"
    mercer.save(mercer.KernelPCA("gaussian", 2).fit(np.arange(12.0).reshape(6, 2)), path)
    result = run("info", path, "--options")
    assert result.exit_code == 1
    assert "holds a KernelPCA, which mercer fit does not make" in result.stderr


@pytest.mark.usefixtures("brief")
def test_classes_weigh_alike_in_the_automatic_machine_too(data, tmp_path):
    path = tmp_path / "m.mercer"
    settings = (*SICK, "--drop", "price", "--class-weight", "balanced", "--time-limit", "20")
    assert run("fit", data, *settings, "-o", path).exit_code == 0
    assert mercer.load(path).class_weight == "balanced"
    assert 'class-weight = "balanced"' in run("info", path, "--options").stdout


def test_a_model_keeps_the_limits_of_its_user_and_not_what_was_left_of_them(data, tmp_path):
    path, again = tmp_path / "m.mercer", tmp_path / "again.mercer"
    limits = ("--memory", "1GB", "--time-limit", "20")
    assert run("fit", data, *SICK, "--drop", "price", *limits, "-o", path).exit_code == 0
    model = mercer.load(path)
    for each in (model, model.estimator_):
        assert (each.memory, each.time_limit) == ("1GB", 20.0)
    assert "--memory 1GB --time-limit 20" in run("info", path).stdout
    config = tmp_path / "options.toml"
    config.write_text(run("info", path, "--options").stdout)
    assert 'memory = "1GB"\ntime-limit = 20' in config.read_text()
    assert run("fit", data, "--config", config, "--drop", "price", "-o", again).exit_code == 0
    assert "--memory 1GB --time-limit 20" in run("info", again).stdout


TARGET = ("--target", "price")
HELD_OUT = [
    ("random rows", PRICE),
    ("a share of each class", (*SICK, "--seed", "3")),
    ("weighted rows", (*TARGET, "--drop", "sick,home", "--weights", "weight", "--test", "0.3")),
    ("whole groups", (*TARGET, "--drop", "sick,weight", "--groups", "home")),
    ("the last rows", (*PRICE, "--time", "when")),
    ("a file", (*PRICE, "--test-data")),
]


@pytest.mark.parametrize(("which", "options"), HELD_OUT)
def test_the_code_of_a_page_reads_the_file_and_makes_the_same_model(
    which, options, data, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    rows = mercer.read_table(data)
    if "--time" in options:
        rows = rows.with_row_index("when", 2001).select("when", *rows.columns)
    rows.write_csv("all.csv")
    rows[:20].write_csv("new.csv")
    given = (*options, "new.csv") if which == "a file" else options
    kernel = ("--kernel", AGE, "--alpha", "0.5", "-o", "m.mercer", "--report", "page.html")
    found = fitted("all.csv", *given, *kernel)
    page = Path("page.html").read_text(encoding="utf-8")
    code = unescape(page.rpartition("<h3>Python</h3><pre>")[2].partition("</pre>")[0])
    made = {}
    exec(code, made)
    assert Path("report.html").is_file()
    assert found["rows"] == {"train": len(made["X"]), "test": len(made["X_test"])}
    made, saved = (
        model.predict(made["X_test"]) for model in (made["model"], mercer.load("m.mercer"))
    )
    np.testing.assert_allclose(made, saved, rtol=1e-9)
