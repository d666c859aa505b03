import json
import re
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

import mercer
from commands import PRICE, fitted, refused, run, table
from mercer.cli import bench
from mercer.cli.fitting.data import Roles, job_of
from mercer.cli.fitting.known import known_of
from mercer.cli.info import engine_line
from mercer.cli.main import COMMANDS


def test_help_names_the_commands_and_loads_nothing_heavy():
    code = (
        "import sys\n"
        "from mercer.cli.main import main\n"
        "main(['--help'], standalone_mode=False)\n"
        "heavy = ('numpy', 'scipy', 'sklearn', 'rich', 'polars')\n"
        "print([m for m in heavy if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(COMMANDS) <= set(done.stdout.split())
    assert done.stdout.endswith("[]\n")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command):
    result = run(command, "--help")
    assert result.exit_code == 0
    assert "Usage: " in result.output


def test_version_is_that_of_the_package():
    assert run("--version").output == f"mercer, version {mercer.__version__}\n"


def test_info_tells_version_engine_threads_and_memory():
    result = run("info")
    assert result.exit_code == 0
    lines = dict(line.split(maxsplit=1) for line in result.output.splitlines())
    assert lines["mercer"] == mercer.__version__
    assert lines["engine"].startswith(("native", "NumPy"))
    assert int(lines["threads"]) >= 1
    assert "memory" in lines


def test_info_tells_what_is_in_a_file(model):
    said = run("info", model).stdout
    assert "KernelRidge" in said
    assert "64 training rows: whoever has the file can read them" in said
    assert "age, site" in said
    assert "predicts     price" in said


def test_info_is_brief_about_numbers_that_are_taken_from_rows_and_exact_if_asked(data, tmp_path):
    ranks = "gaussian(1.23456789).after(normal_scores()).on(age)"
    model, kernel = tmp_path / "m.mercer", tmp_path / "k.mercer"
    fitted(data, *PRICE, "--kernel", ranks, "--alpha", "1", "-o", model)
    mercer.save(mercer.load(model).kernel_, kernel)
    for path in (model, kernel):
        brief = run("info", path).stdout
        assert "gaussian(length_scale=1.235).after(normal_scores()).on(age)" in brief
        exact = run("info", path, "--exact").stdout
        assert str(mercer.load(kernel)) in exact
        assert "knots=" in exact
    assert run("info", "--exact").exit_code == 2


def test_info_calls_a_model_by_one_name_and_says_in_words_what_it_is(data, tmp_path):
    path = tmp_path / "m.mercer"
    names = {
        ("--alpha", "1"): "KernelRidge, a kernel ridge regression",
        ("--kernel", "linear.on(age)"): "KernelRidgeCV, which has chosen a kernel ridge regression",
        ("--time-limit", "3"): "KernelRegressor, which has chosen a ",
    }
    for options, name in names.items():
        fitted(data, *PRICE, *options, "-o", path)
        said = run("info", path).stdout
        assert re.search(rf"^model +{name}", said, re.MULTILINE)
        assert len(re.findall(r"Kernel[A-Z]\w+", said)) == 1
        assert type(mercer.load(path)).__name__ == name.split(",")[0]


def test_info_has_a_line_for_each_term_of_a_long_kernel_and_counts_its_lists(tmp_path):
    path, random = tmp_path / "m.mercer", np.random.default_rng(0)
    columns = [f"column_{i}" for i in range(30)]
    X = pl.DataFrame(random.normal(size=(60, 30)), columns)
    scales = random.uniform(0.1, 9.0, 30).round(3).tolist()
    k = mercer.Matern32(tuple(scales)).on(*columns) + mercer.Gaussian(2.0).on("column_0")
    mercer.save(mercer.KernelRidge(k).fit(X, X["column_0"]), path)
    result = run("info", path)
    lines = result.stdout.splitlines()
    (first,) = (i for i, line in enumerate(lines) if line.startswith("kernel "))
    assert lines[first].split(maxsplit=1)[1] == "matern32(length_scale=[30 numbers]).on(30 columns)"
    assert lines[first + 1].strip() == "+ gaussian(length_scale=2.0).on(column_0)"
    assert "--exact or --json writes them out" in result.stderr
    assert str(k) in run("info", path, "--exact").stdout
    found = json.loads(run("info", path, "--json").stdout)
    assert mercer.kernel(found["kernel"]) == k
    assert json.loads(run("info", "--json").stdout)["mercer"] == mercer.__version__
    assert run("info", path, "--json", "--options").exit_code == 2


def test_an_unknown_command_is_wrong_usage():
    result = run("solve")
    assert result.exit_code == 2
    assert "No such command 'solve'" in result.output


def test_check_proves_or_refutes(tmp_path):
    data = tmp_path / "d.csv"
    pl.DataFrame(np.random.default_rng(0).normal(size=(30, 2)), ["u", "v"]).write_csv(data)
    assert run("check", "gaussian(1.0) + linear").exit_code == 0
    for arguments in (("sigmoid",), ("sigmoid.on(u, v)", "--data", data)):
        result = run("check", *arguments)
        assert result.exit_code == 1
        assert result.stdout.startswith("REFUTED")
    assert "no such file" in refused("check", "linear", "--data", "none.csv")


def test_explain_says_what_matters_in_words_and_as_json(model):
    said = run("explain", model)
    assert said.exit_code == 0, said.output
    assert "age" in said.stdout
    assert {"age", "site"} <= {row["column"] for row in json.loads(_json("explain", model))}


def _json(*arguments):
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return result.stdout


def test_a_report_on_other_rows_is_written(model, data, tmp_path):
    page = tmp_path / "p.html"
    result = run("report", model, "--data", data, "--target", "price", "-o", page)
    assert result.exit_code == 0, result.output
    assert result.stdout == f"{page}\n"
    assert "<html" in page.read_text()


def test_a_report_knows_the_target_that_the_model_was_fitted_to(model, data, tmp_path):
    assert run("report", model, "--data", data, "-o", tmp_path / "p.html").exit_code == 0
    table().rename({"price": "cost"}).write_csv(data)
    assert "has no column 'price'" in refused("report", model, "--data", data)
    settings = ("--data", data, "--target", "cost", "-o", tmp_path / "p.html")
    assert run("report", model, *settings).exit_code == 0


def test_a_report_asks_for_the_target_of_a_model_that_was_fitted_in_python(data, tmp_path):
    path = tmp_path / "m.mercer"
    rows = table()
    mercer.save(mercer.KernelRidge("linear").fit(rows.select("age"), rows["price"]), path)
    result = run("report", path, "--data", data)
    assert result.exit_code == 2
    assert "--target COLUMN" in result.stderr


def test_a_report_without_rows_to_test_on_says_so(model, tmp_path):
    page = tmp_path / "p.html"
    result = run("report", model, "-o", page)
    assert result.exit_code == 0, result.output
    assert result.stdout == f"{page}\n"
    html = page.read_text(encoding="utf-8")
    assert "It was not tested on held-out rows" in html
    assert f"mercer report {model} -o {page}" in html
    assert ">R2<" not in html


def test_a_target_without_rows_to_test_on_is_wrong_usage(model):
    result = run("report", model, "--target", "price")
    assert result.exit_code == 2
    assert "give --data FILE" in result.output


def test_a_report_reads_few_rows_of_svmlight_like_those_learnt_from(tmp_path):
    path, rest, model = tmp_path / "t.svm", tmp_path / "rest.svm", tmp_path / "m.mercer"
    path.write_text("".join(f"{i % 2} 0:{i % 2} 1:{i % 5} 2:{i % 3}\n" for i in range(40)))
    assert run("fit", path, "--C", "1", "-o", model).exit_code == 0
    # The first column and the last one are zero in all of them.
    rest.write_text("".join(f"{i % 2} 1:{i + 1}\n" for i in range(6)))
    result = run("report", model, "--data", rest, "-o", tmp_path / "p.html")
    assert result.exit_code == 0, result.output


def test_a_report_takes_labels_for_those_of_the_model(tmp_path):
    path, rest, model = tmp_path / "t.csv", tmp_path / "rest.csv", tmp_path / "m.mercer"
    path.write_text("x,y\n" + "".join(f"{i % 4},{('a', '7')[i % 4 > 1]}\n" for i in range(40)))
    settings = ("--target", "y", "--task", "classification", "--C", "100", "-o", model)
    assert run("fit", path, *settings).exit_code == 0
    rest.write_text("x,y\n" + "2,7\n3,7\n" * 3)
    result = run("report", model, "--data", rest, "--target", "y", "-o", tmp_path / "p.html")
    assert result.exit_code == 0, result.output
    known = known_of(mercer.load(model))
    assert job_of(str(rest), Roles("y"), like=known).y.tolist() == ["7"] * 6


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_learns_to_complete(shell):
    result = run("completion", shell)
    assert result.exit_code == 0
    assert "_MERCER_COMPLETE" in result.stdout


def test_bench_compares_with_scikit_learn_and_names_the_machine(monkeypatch):
    for name, value in (("ROWS", 120), ("FEW", 60)):
        monkeypatch.setattr(bench, name, value)
    monkeypatch.setattr(bench.Race, "runs", 1)
    found = json.loads(_json("bench"))
    assert all(race["ratio"] > 0 for race in found["races"])
    assert found["machine"]["cpu"]
    said = run("bench").stdout
    assert "ratio" in said
    assert "threads, load" in said


def test_the_demo_fits_tests_reports_and_predicts(tmp_path):
    result = run("demo", "--folder", tmp_path / "here", "--time-limit", "1")
    assert result.exit_code == 0, result.output
    assert {p.name for p in (tmp_path / "here").iterdir()} == {
        "solubility.csv",
        "new.csv",
        "solubility.mercer",
        "report.html",
        "predicted.csv",
    }
    assert f"the report is {(tmp_path / 'here' / 'report.html').resolve()}" in result.stdout
    assert "500 new substances: off by" in result.stdout
    assert "$ mercer fit" in result.stderr


def test_the_model_of_a_file_predicts_in_another_process(model, tmp_path):
    data = tmp_path / "few.csv"
    table(5).write_csv(data)
    line = [sys.executable, "-m", "mercer.cli", "predict", str(model), str(data)]
    done = subprocess.run(line, capture_output=True, text=True, check=True)
    assert done.stdout == run("predict", model, data).stdout


def test_no_colours_without_a_terminal_or_where_they_are_not_wanted(data, monkeypatch):
    arguments = ("fit", data, *PRICE, "--alpha", "1")
    assert "\x1b[" not in run(*arguments).stdout
    assert "\x1b[1m" in run(*arguments, color=True).stdout
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in run(*arguments, color=True).stdout


def test_the_same_seed_gives_the_same_split(data):
    settings = (data, *PRICE, "--alpha", "1", "--seed")
    assert fitted(*settings, "4")["scores"] == fitted(*settings, "4")["scores"]
    assert fitted(*settings, "4")["scores"] != fitted(*settings, "5")["scores"]


@pytest.mark.parametrize(
    ("engine", "cpu", "line"),
    [
        ("native", "v4", "native, x86-64-v4"),
        ("native", "plain", "native"),
        ("numpy", None, "NumPy"),
    ],
)
def test_the_engine_is_named_in_words(engine, cpu, line):
    assert engine_line({"engine": engine, "cpu": cpu, "threads": 1}) == line


def test_the_help_of_completion_keeps_its_lines():
    said = run("completion", "--help").stdout
    assert "  mercer completion bash >> ~/.bashrc\n" in said and "\\b" not in said
