import re
import subprocess
import sys

import pytest
from click.testing import CliRunner

import mercer
from mercer.cli.info import engine_line
from mercer.cli.main import main


def run(*arguments):
    return CliRunner().invoke(main, arguments, catch_exceptions=False)


def test_help_names_the_commands_and_loads_nothing_heavy():
    code = (
        "import sys\n"
        "from mercer.cli.main import main\n"
        "main(['--help'], standalone_mode=False)\n"
        "print([m for m in ('numpy', 'scipy', 'sklearn', 'rich') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {"demo", "info"} <= set(done.stdout.split())
    assert done.stdout.endswith("[]\n")


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


def test_an_unknown_command_is_wrong_usage():
    result = run("solve")
    assert result.exit_code == 2
    assert "No such command 'solve'" in result.output


def test_demo_learns_something_and_says_what_ran():
    result = run("demo")
    assert result.exit_code == 0
    lines = dict(line.split(maxsplit=1) for line in result.output.splitlines())
    assert 0.6 < float(lines["R2"].split()[0]) < 0.85
    error, naive = map(float, re.findall(r"\d\.\d{3}", lines["RMSE"]))
    assert error < 0.6 * naive
    assert "gaussian" in lines["kernel"]
    assert lines["engine"].startswith(("native", "NumPy"))


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
