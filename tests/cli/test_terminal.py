"""The command on a terminal: a spinner while it works, and Ctrl-C."""

import os
import re
import select
import signal
import subprocess
import sys
import time

import numpy as np
import polars as pl
import pytest

import mercer
from commands import PRICE, fitted
from processes import forked

pty = pytest.importorskip("pty", reason="this system has no pseudo-terminals")
COMMAND = [sys.executable, "-m", "mercer.cli"]
# Seconds after which a command that should have ended is given up.
PATIENCE = 120


def on_a_terminal(arguments, until=None, then=b""):
    """Return what a command writes to a terminal and its exit code.

    As soon as the terminal shows the text `until`, the keys `then` are pressed.
    """
    ours, theirs = pty.openpty()
    env = {**os.environ, "TERM": "xterm", "COLUMNS": "90"}
    process = subprocess.Popen(
        [*COMMAND, *map(str, arguments)],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=env,
        start_new_session=True,
        preexec_fn=_takes_the_terminal,
    )
    os.close(theirs)
    seen, is_pressed, ends = b"", until is None, time.monotonic() + PATIENCE
    try:
        while time.monotonic() < ends:
            if select.select([ours], [], [], 0.05)[0]:
                try:
                    found = os.read(ours, 4096)
                except OSError:
                    break
                if not found:
                    break
                seen += found
            if not is_pressed and until in seen:
                os.write(ours, then)
                is_pressed = True
        return seen.decode(), process.wait(10)
    finally:
        process.kill()
        os.close(ours)


def _takes_the_terminal():
    import fcntl
    import termios

    # Ctrl-C is a signal to the processes whose terminal it is pressed on.
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def plain(screen):
    """Return what a terminal shows without colours and without what was written over."""
    text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", screen)
    return [line.rsplit("\r", 1)[-1] for line in text.replace("\r\n", "\n").splitlines()]


@pytest.fixture
def slow(tmp_path):
    """A table that takes minutes to learn."""
    path = tmp_path / "slow.csv"
    random = np.random.default_rng(0)
    X = random.normal(size=(9000, 4))
    y = X[:, 0] * X[:, 1] + random.normal(size=len(X))
    pl.DataFrame(X, list("abcd")).with_columns(y=y).write_csv(path)
    return path


def test_a_terminal_shows_a_spinner_and_then_a_line_for_each_phase(data, tmp_path):
    model = tmp_path / "m.mercer"
    screen, code = on_a_terminal(["fit", data, *PRICE, "--alpha", "1", "-o", model])
    assert code == 0, screen
    assert "fitting to 64 rows 0:00:0" in " ".join(
        re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", screen).split()
    )
    lines = plain(screen)
    done = [line.split(" ... ")[0] for line in lines if re.search(r" \.\.\. [0-9.]+ s$", line)]
    assert done == [f"reading {data}", "fitting to 64 rows", "testing on 16 rows"]
    assert model.exists()


def test_ctrl_c_ends_a_fit_with_one_line_and_no_file(slow, tmp_path):
    model = tmp_path / "m.mercer"
    screen, code = on_a_terminal(
        ["fit", slow, "--target", "y", "-o", model], b"fitting to", b"\x03"
    )
    assert code == 130, screen
    lines = plain(screen)
    assert lines[-1] == "interrupted; files are as they were before"
    assert "fitting to 7200 rows ... not done" in lines[-2]
    assert "Traceback" not in screen
    assert [p.name for p in tmp_path.iterdir()] == ["slow.csv"]


def test_ctrl_c_wants_no_model_of_a_solver_that_would_keep_what_it_has(slow, tmp_path):
    # Conjugate gradients answer the first KeyboardInterrupt with the model they have come to.
    code = (
        "import os, signal, sys\n"
        "from mercer.solvers.run import Run\n"
        "def report(self, iteration, value):\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    return self.is_over()\n"
        "Run.report = report\n"
        "from mercer.cli.__main__ import run\n"
        "run()\n"
    )
    model = tmp_path / "m.mercer"
    line = ["fit", slow, "--target", "y", "--kernel", "gaussian(2.0)"]
    line += ["--alpha", "1", "--memory", "100MB", "-o", model]
    done = forked(code, *line)
    assert done.returncode == 130, done.stderr
    assert done.stderr.splitlines()[-1] == "interrupted; files are as they were before"
    assert not model.exists()


def test_ctrl_c_leaves_the_old_model(data, tmp_path):
    model = tmp_path / "m.mercer"
    fitted(data, *PRICE, "--alpha", "1", "-o", model)
    before = model.read_bytes()
    code = (
        "import os, signal\n"
        "os.fsync = lambda file: os.kill(os.getpid(), signal.SIGINT)\n"
        "from mercer.cli.__main__ import run\n"
        "run()\n"
    )
    line = ["fit", data, *PRICE, "--alpha", "2", "-o", model]
    done = forked(code, *line)
    assert done.returncode == 130, done.stderr
    assert model.read_bytes() == before
    assert mercer.load(model).alpha == 1.0
    assert sorted(p.name for p in tmp_path.iterdir()) == ["data.csv", "m.mercer"]


def test_the_signal_is_heard_as_before_when_a_command_has_ended(data):
    before = signal.getsignal(signal.SIGINT)
    fitted(data, *PRICE, "--alpha", "1")
    assert signal.getsignal(signal.SIGINT) is before


def test_what_a_model_has_learned_fits_the_terminal(tmp_path):
    random = np.random.default_rng(0)
    table = pl.DataFrame({"a name of forty letters is rather a long": random.normal(size=60)})
    table = table.with_columns(pl.Series("place of the house", random.choice(["a", "b"], 60)))
    path = tmp_path / "m.mercer"
    mercer.save(mercer.KernelRidge("auto", 0.1).fit(table, random.normal(size=60)), path)
    screen, code = on_a_terminal(["explain", path])
    lines = plain(screen)
    assert code == 0 and max(map(len, lines)) <= 90
    assert any("in 80% of rows)" in line for line in lines)
