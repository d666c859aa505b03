"""The data sets of the benchmarks, read from the folder named by MERCER_DATA."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

FOLDER = Path(os.environ.get("MERCER_DATA", Path(__file__).parents[2] / "shared" / "data"))


def regression(name: str) -> tuple[Array, Array]:
    """Return the standardised columns and the target of a regression data set."""
    table = np.loadtxt(FOLDER / "uci" / f"{name}.csv.gz", delimiter=",", skiprows=1)
    X, y = table[:, :-1], table[:, -1]
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def classification(name: str) -> tuple[Array, Array]:
    """Return the standardised columns and the labels, as text, of a classification data set."""
    (file,) = FOLDER.glob(f"*/{name}.csv.gz")
    table = np.loadtxt(file, dtype=str, delimiter=",", skiprows=1)
    X = table[:, :-1].astype(float)
    return (X - X.mean(axis=0)) / X.std(axis=0), table[:, -1]
