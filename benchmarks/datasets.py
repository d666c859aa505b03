"""The data sets of the benchmarks, read from the folder named by MERCER_DATA."""

from __future__ import annotations

import csv
import gzip
import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.datasets import load_svmlight_file

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


def splice_classes() -> Array:
    """Return the classes of the splice junctions: EI, IE or N."""
    with gzip.open(FOLDER / "sequences" / "splice_junction.csv.gz", "rt") as file:
        return np.array([row["class"].strip() for row in csv.DictReader(file)])


def sentences() -> tuple[list[str], Array]:
    """Return sentences of film reviews, and whether each is for the film, as a sign."""
    table = pd.read_csv(FOLDER / "text" / "sentence_polarity.csv.gz")
    return table["text"].tolist(), np.where(table["class"] == table["class"].max(), 1.0, -1.0)


def fasta(name: str) -> tuple[list[str], list[str]]:
    """Return the sequences and labels of a FASTA file, whose header lines are the labels."""
    with gzip.open(FOLDER / "sequences" / f"{name}.fasta.gz", "rt") as file:
        records = file.read().split(">")[1:]
    labels, sequences = zip(*(record.split("\n", 1) for record in records), strict=True)
    return ["".join(s.split()) for s in sequences], list(labels)


def binary_rows(n: int = 20_000, width: int = 1000, ones: int = 20) -> tuple[Any, Array]:
    """Return sparse rows of zeros and ones, as of words by Zipf's law, and noisy linear labels."""
    rng = np.random.default_rng(0)
    share = 1.0 / np.arange(1, width + 1)
    share = np.minimum(ones * share / share.sum(), 0.6)
    dense = rng.random((n, width)) < share
    score = dense @ rng.normal(size=width)
    score = (score - np.median(score)) / score.std()
    y = np.where(score + 0.5 * rng.normal(size=n) > 0.0, 1.0, -1.0)
    return _short_indices(csr_matrix(dense.astype(float))), y


def _short_indices(rows: Any) -> Any:
    """Return sparse rows with indices of 32 bits, which scikit-learn's machines ask for."""
    rows.indices, rows.indptr = rows.indices.astype("i4"), rows.indptr.astype("i4")
    return rows


def classification_task(name: str) -> tuple[Any, Array, Any]:
    """Return training rows, labels and test rows of a classification data set.

    A number after the name of a set is that of the first rows of it, as in letter-8000.

    Columns are standardised but for a9a, whose sparse rows of zeros and ones stay as they are,
    and usps, whose pixels have one scale.
    """
    set_name, _, first = name.rpartition("-")
    if first.isdigit():
        X, y, T = classification_task(set_name)
        return X[: int(first)], y[: int(first)], T
    if name == "binary":
        X, y = binary_rows()
        return X, y, X
    if name in ("a9a", "cod-rna"):
        width = 123 if name == "a9a" else 8
        parts = [FOLDER / "libsvm" / f"{name}{end}.txt.gz" for end in ("", ".t")]
        (X, y), (T, _) = (load_svmlight_file(str(part), n_features=width) for part in parts)
        if name == "a9a":
            return _short_indices(X), y, _short_indices(T)
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
