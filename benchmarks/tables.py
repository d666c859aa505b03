"""The tables of the benchmark of the automatic machine, as a user would read them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from datasets import FOLDER
from numpy.typing import NDArray
from solubility import table as solubility_table

NUMBERS = (
    "airfoil",
    "autompg",
    "concrete",
    "elevators",
    "housing",
    "keggundirected",
    "kin8nm",
    "parkinsons",
    "protein",
    "yacht",
    "bike",
    "aqsoldb",
    "esol_delaney",
)
CLASSES = (
    "german",
    "ionosphere",
    "phoneme",
    "satimage",
    "spambase",
    "letter",
    "usps",
    "covtype_93k",
)
SYNTHETIC = "few_of_32"
# Two columns of bike sum to the count whose logarithm is the target.
LEAKS = {"bike": ["x15", "x16"]}


@dataclass(frozen=True)
class Task:
    """A table, its targets, and whether these are classes."""

    X: pd.DataFrame
    y: NDArray[Any]
    has_classes: bool


def task(name: str) -> Task:
    """Return a table by its name."""
    if name == SYNTHETIC:
        return few_of_32()
    if name in ("aqsoldb", "esol_delaney"):
        rows, y, descriptors, _ = solubility_table(name)
        return Task(rows[descriptors], y, False)
    if name in NUMBERS:
        table = pd.read_csv(FOLDER / "uci" / f"{name}.csv.gz")
        y = table.pop("y").to_numpy(float)
        return Task(table.drop(columns=LEAKS.get(name, [])), y, False)
    table = pd.read_csv(FOLDER / "classification" / f"{name}.csv.gz")
    target = "digit" if name == "usps" else "class"
    y = table.pop(target).astype(str).to_numpy(str)
    return Task(table.drop(columns="split", errors="ignore"), y, True)


def few_of_32(n: int = 4000) -> Task:
    """Return 32 normal columns of which 4 matter, by a product and a wave, with little noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 32))
    y = np.sin(2.0 * X[:, 3]) * X[:, 11] + np.cos(1.5 * X[:, 17] + X[:, 25])
    table = pd.DataFrame(X, columns=[f"x{i}" for i in range(32)])
    return Task(table, y + 0.1 * rng.normal(size=n), False)
