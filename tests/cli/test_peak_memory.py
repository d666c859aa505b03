"""The most that a command with a limit of memory holds, measured."""

import subprocess
import sys

import numpy as np
import polars as pl
import pytest


@pytest.mark.skipif(sys.platform != "linux", reason="peaks are in units of Linux")
def test_the_command_keeps_to_its_limit_of_memory(tmp_path):
    random = np.random.default_rng(0)
    rows = pl.DataFrame(random.normal(size=(1_000_000, 24)), [f"x{j}" for j in range(24)])
    path, kernel = tmp_path / "rows.parquet", "gaussian(3.0).on(x0, x1, x2, x3)"
    rows.with_columns(y=pl.col("x0").sin() + pl.col("x1")).write_parquet(path)
    code = "import sys; from mercer.cli.main import main; sys.exit(main())"
    told = ("--target", "y", "--kernel", kernel, "--alpha", "1", "--memory", "700MB")
    line = (sys.executable, "-c", code, "fit", str(path), *told, "--time-limit", "10", "--json")
    # By a small process, since one begins with the peak of that which it was made by.
    measured = f"import resource, subprocess; subprocess.run({line!r}, check=True); "
    measured += "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)"
    line = (sys.executable, "-c", measured)
    found = subprocess.run(line, capture_output=True, text=True, check=True)
    assert int(found.stdout.splitlines()[-1]) <= 1.1 * 700e6
