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
