"""The data sets of the benchmarks, read from the folder named by MERCER_DATA."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.datasets import load_svmlight_file

Array = NDArray[Any]

FOLDER = Path(os.environ.get("MERCER_DATA", Path(__file__).parents[2] / "shared" / "data"))


def regression(name: str) -> tuple[Array, Array]:
    """Return the standardised columns and the target of a regression data set."""
    table = np.loadtxt(FOLDER / "uci" / f"{name}.csv.gz", delimiter=",", skiprows=1)
    X, y = table[:, :-1], table[:, -1]
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def classification(name: str) -> tuple[Any, Array, Any]:
    """Return training rows, labels and test rows of a classification data set.

    Columns are standardised but for a9a, whose sparse rows of zeros and ones stay as they are,
    and usps, whose pixels have one scale.
    """
    if name in ("a9a", "cod-rna"):
        width = 123 if name == "a9a" else 8
        parts = [FOLDER / "libsvm" / f"{name}{end}.txt.gz" for end in ("", ".t")]
        (X, y), (T, _) = (load_svmlight_file(str(part), n_features=width) for part in parts)
        if name == "a9a":
            return X, y, T
        X, T = X.toarray(), T[:50_000].toarray()
    elif name == "svmguide1":
        parts = [FOLDER / "libsvm" / f"svmguide1{end}.csv.gz" for end in ("", ".t")]
        train, test = (pd.read_csv(part) for part in parts)
        y = train.pop("y").to_numpy()
        X, T = train.to_numpy(float), test.drop(columns="y").to_numpy(float)
    elif name == "usps":
        table = pd.read_csv(FOLDER / "classification" / "usps.csv.gz")
        y, split = table.pop("digit").to_numpy(), table.pop("split").to_numpy()
        X, is_train = table.to_numpy(float), split == "train"
        return X[is_train], y[is_train], X[~is_train]
    else:
        table = pd.read_csv(FOLDER / "classification" / f"{name}.csv.gz")
        y = table.pop("class").to_numpy()
        X = T = table.to_numpy(float)
    mean, scale = X.mean(axis=0), X.std(axis=0)
    return (X - mean) / scale, y, (T - mean) / scale
