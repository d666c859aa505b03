"""The data sets of the benchmarks, read from the folder named by MERCER_DATA."""

from __future__ import annotations

import csv
import gzip
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
    """Return the standardised columns and the labels of a classification data set.

    Columns that do not vary are left out, and so is the one that says which rows are for testing.
    """
    (path,) = FOLDER.glob(f"*/{name}.csv.gz")
    table = np.loadtxt(path, delimiter=",", skiprows=1, dtype=str)
    with_split = table[0, 0] in ("train", "test")
    X, y = table[:, int(with_split) : -1].astype(np.float64), table[:, -1]
    spread = X.std(axis=0)
    return ((X - X.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0))[:, spread > 0.0], y


def sparse_text(name: str) -> tuple[Array, Array]:
    """Return the standardised columns, dense, and the labels of a data set in LIBSVM's format."""
    from sklearn.datasets import load_svmlight_file

    rows, y = load_svmlight_file(FOLDER / "libsvm" / f"{name}.txt.gz")
    X = rows.toarray()
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def splice_junctions() -> list[str]:
    """Return the splice-junction sequences, 60 letters each."""
    with gzip.open(FOLDER / "sequences" / "splice_junction.csv.gz", "rt") as file:
        return [row["sequence"] for row in csv.DictReader(file)]


def fasta(name: str) -> tuple[list[str], list[str]]:
    """Return the sequences and labels of a FASTA file, whose header lines are the labels."""
    with gzip.open(FOLDER / "sequences" / f"{name}.fasta.gz", "rt") as file:
        records = file.read().split(">")[1:]
    labels, sequences = zip(*(record.split("\n", 1) for record in records), strict=True)
    return ["".join(s.split()) for s in sequences], list(labels)
