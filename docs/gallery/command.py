"""
From a file to a model
======================

The command does in one line what the other scripts do by hand: it reads a file, says what every
column is, compares kernels, learns scales, tests the model on rows that it never saw and saves it.
This script writes such a file, runs the command on it, and opens what it leaves behind.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import polars as pl

import mercer

folder = Path(tempfile.mkdtemp())
rng = np.random.default_rng(0)
n = 400
houses = pl.DataFrame(
    {
        "area": rng.uniform(40, 200, n).round(),
        "year": rng.integers(1900, 2020, n),
        "place": rng.choice(["centre", "north", "river"], n),
    }
)
worth = 2.0 * houses["area"] * (1 + 0.5 * (houses["place"] == "river"))
price = worth + 60.0 * np.cos((houses["year"] - 1900) / 25) + rng.normal(0, 15, n)
houses.with_columns(price=price.round(1)).write_csv(folder / "houses.csv")

# %%
# The command, and what it says: the progress, and then the result.

line = "fit houses.csv --target price -o houses.mercer --report houses.html"
done = subprocess.run(
    [sys.executable, "-m", "mercer.cli", *line.split()], cwd=folder, text=True, check=True,
    stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
)  # fmt: skip
print("$ mercer", line)
print(done.stdout)

# %%
# The model file holds numbers and names and runs nothing. What it has learned are the pictures that
# the report has, too.

model = mercer.load(folder / "houses.mercer")
figure, axes = plt.subplots(1, 3, figsize=(13.0, 3.8), layout="constrained")
mercer.ImportanceDisplay.from_estimator(model, ax=axes[0])
mercer.EffectDisplay.from_estimator(model, houses, "year", ax=axes[1])
mercer.EffectDisplay.from_estimator(model, houses, "place", ax=axes[2])
plt.show()
