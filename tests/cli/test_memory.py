"""A limit of memory for the whole command."""

import os
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

import mercer
from commands import PRICE, fitted, run

linux = pytest.mark.skipif(sys.platform != "linux", reason="the system tells of memory in /proc")


def test_a_table_larger_than_the_memory_is_learnt_by_landmarks(tmp_path, monkeypatch):
    from mercer.cli.fitting import data as reading, split, trained

    monkeypatch.setattr(trained.Choice, "chosen_on", 200)
    for module in (reading, split):
        monkeypatch.setattr(module, "MOST_TESTED", 500)
    path, model = tmp_path / "large.parquet", tmp_path / "m.mercer"
    random = np.random.default_rng(0)
    X = random.normal(size=(30_000, 12))
    rows = pl.DataFrame(X, [f"x{j}" for j in range(12)])
    rows = rows.with_columns(y=pl.col("x0").sin() + pl.col("x1"))
    rows.write_parquet(path)
    settings = ("--kernel", "gaussian(2.0).after(standardize()).on(x0, x1)", "--select", "loo")
    found = fitted(path, "--target", "y", "--memory", "10MB", *settings, "-o", model)
    assert found["plan"]["solver"] == "nystrom"
    assert found["rows"] == {"train": 29_500, "test": 500}
    assert found["scores"]["R2"]["value"] > 0.99
    assert mercer.load(model).predict(rows[:5]).shape == (5,)


def test_the_last_rows_of_a_table_larger_than_the_memory_are_held_out(tmp_path, monkeypatch):
    from mercer.cli.fitting import data as reading, split

    for module in (reading, split):
        monkeypatch.setattr(module, "MOST_TESTED", 500)
    random = np.random.default_rng(0)
    rows = pl.DataFrame(random.normal(size=(30_000, 12)), [f"x{j}" for j in range(12)])
    rows = rows.with_columns(y=pl.col("x0") + pl.col("x1"))
    path = tmp_path / "large.parquet"
    rows.write_parquet(path)
    settings = ("--kernel", "gaussian(2.0).on(x0, x1)", "--alpha", "1", "--test-split", "time")
    found = fitted(path, "--target", "y", "--memory", "10MB", *settings)
    assert found["held_out"] == {"by": "time", "rows": "the last rows of the file"}
    assert found["rows"] == {"train": 29_500, "test": 500}


# Bytes that stay in a process a while after polars has sorted 160 MB of numbers.
LEFT_OVER = """
import os, time
from mercer.cli.fit import _keep_little
_keep_little("1GB")
import polars as pl
def resident_bytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
before = resident_bytes()
pl.select(pl.int_range(20_000_000)).to_series().sort(descending=True)
time.sleep(2)
print(resident_bytes() - before)
"""


@linux
def test_a_limit_of_memory_has_tables_give_back_what_they_were_read_with():
    line = (sys.executable, "-c", LEFT_OVER)
    env = {name: value for name, value in os.environ.items() if name != "_RJEM_MALLOC_CONF"}
    result = subprocess.run(line, capture_output=True, text=True, check=True, env=env)
    assert int(result.stdout) < 60_000_000


@pytest.mark.parametrize(("limit", "is_said"), [("150MB", True), ("500MB", True), ("700MB", False)])
def test_a_limit_that_the_command_cannot_keep_is_said(limit, is_said, data):
    line = ("fit", data, *PRICE, "--kernel", "linear.on(age)", "--alpha", "1", "--memory", limit)
    said = f"--memory {limit} is a limit for the work alone here, of"
    result = run(*line)
    assert result.exit_code == 0
    assert (said in result.stderr and "the process holds 0.34 GB by itself" in result.stderr) == (
        is_said
    )
    assert ("within --memory 0.7GB and more" in result.stderr) == is_said


def test_the_rows_of_a_file_that_a_part_of_a_stream_has_are_said_once_and_in_four_bytes(data):
    from mercer.cli.fitting.data import Roles, job_of

    job = job_of(str(data), Roles("price", drop=("sick", "weight", "home")), memory="1KB")
    index = np.arange(1, 60, 3)
    part = job.part(index)
    assert part.X.index is part.rows
    assert part.rows.itemsize == 4
    whole = pl.read_csv(data).select("age", "site")
    assert part.X.collected().equals(whole[index.tolist()])


def test_what_a_job_holds_is_counted_without_the_rows_of_a_stream(data):
    from mercer.cli.fitting.data import Roles, job_of

    roles = Roles("price", drop=("sick", "home"), weights="weight")
    whole, streamed = (job_of(str(data), roles, memory=limit) for limit in ("1GB", "1KB"))
    n = len(streamed)
    assert streamed.nbytes == n * (8 + 8 + 4)
    assert whole.nbytes == streamed.nbytes + whole.X.estimated_size()
