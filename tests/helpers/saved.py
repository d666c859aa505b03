"""Fitted models of every kind, with rows to predict at."""

from __future__ import annotations

import datetime
import decimal
from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import scipy.sparse as sp
from sklearn.model_selection import KFold

import mercer

random = np.random.default_rng(0)
X = random.normal(size=(30, 3))
Y = X[:, 0] + 0.1 * random.normal(size=30)
TWO = np.where(Y > 0, "yes", "no")
THREE = np.digitize(Y, [-0.5, 0.5])
TEXTS = ["abab", "bcbc", "acac", "abca", "bbca"] * 6
TABLE = pd.DataFrame(
    {"a": X[:, 0], "b": pd.Categorical(THREE.astype(str)), "note": ["to be", "or not"] * 15}
)
TABLE["day"] = pd.date_range("2024-01-01", periods=30)
POLARS = pl.DataFrame({"a": X[:, 0], "b": THREE.astype(str), "day": TABLE["day"].to_numpy()})
GAPS = pd.DataFrame({"a": np.where(X[:, 0] > 1, np.nan, X[:, 0]), "note": ["to be", None] * 15})
# Categories of every kind that a cell of an array can be.
CELLS = [1, 2.5, "a", None, True, b"x", 10**30, datetime.date(2024, 1, 1), (1, "b")]
CELLS += [datetime.datetime(2024, 1, 1, 12, tzinfo=datetime.UTC), datetime.timedelta(1, 2, 3)]
CELLS += [
    decimal.Decimal("1.50"),
    np.int8(7),
    np.datetime64("2024-01-01"),
    pd.Timestamp(2024, 2, 1),
]
CATEGORIES = np.empty((30, 1), object)
CATEGORIES[:, 0] = [CELLS[i % len(CELLS)] for i in range(30)]
WIDE = random.normal(size=(30, 600))
CSR = sp.csr_array(np.maximum(X, 0.0))

MODELS = {
    "ridge": lambda: (mercer.KernelRidge().fit(X, Y), X),
    "ridge of two targets": lambda: (mercer.KernelRidge().fit(X, np.c_[Y, -Y]), X),
    "ridge in features": lambda: (mercer.KernelRidge("linear").fit(X, Y), X),
    "ridge on a line": lambda: (mercer.KernelRidge("exponential").fit(X[:, :1], Y), X[:, :1]),
    "ridge of texts": lambda: (mercer.KernelRidge("spectrum(2)").fit(TEXTS, Y), TEXTS),
    "ridge of a table": lambda: (mercer.KernelRidge("auto").fit(TABLE, Y), TABLE),
    "ridge of sparse rows": lambda: (mercer.KernelRidge().fit(CSR, Y), CSR),
    "ridge of a Gram matrix": lambda: (
        mercer.KernelRidge("precomputed").fit(mercer.Gaussian(1.0)(X), Y),
        mercer.Gaussian(1.0)(X),
    ),
    "mean of ridges": lambda: (mercer.KernelRidgeMean(weights=[0.6, 0.4]).fit(X, Y), X),
    "mean of classifiers": lambda: (
        mercer.KernelRidgeMeanClassifier(weights=[0.6, 0.4]).fit(TABLE[["a"]], THREE),
        TABLE[["a"]],
    ),
    "chosen ridge": lambda: (mercer.KernelRidgeCV().fit(X, Y), X),
    "ridge classifier": lambda: (mercer.KernelRidgeClassifier().fit(X, THREE), X),
    "chosen classifier": lambda: (mercer.KernelRidgeClassifierCV().fit(X, TWO), X),
    "SVC": lambda: (mercer.KernelSVC().fit(X, TWO), X),
    "SVC of three classes": lambda: (mercer.KernelSVC().fit(X, THREE), X),
    "SVC of a table": lambda: (mercer.KernelSVC("auto").fit(TABLE, THREE), TABLE),
    "SVC in features": lambda: (mercer.KernelSVC("linear").fit(CSR, TWO), CSR),
    "SVR": lambda: (mercer.KernelSVR().fit(X, Y), X),
    "logistic": lambda: (mercer.KernelLogisticRegression().fit(X, THREE), X),
    "chosen logistic": lambda: (mercer.KernelLogisticRegressionCV().fit(X, TWO), X),
    "perceptron": lambda: (mercer.KernelPerceptron().fit(X, THREE), X),
    "components": lambda: (
        mercer.KernelPCA(n_components=2, fit_inverse_transform=True).fit(X),
        X,
    ),
    "Mercer map": lambda: (mercer.MercerMap(n_components=3).fit(X), X),
    "monomials": lambda: (mercer.Monomials(2).fit(X), X),
    "ridge by landmarks": lambda: (
        mercer.KernelRidge(solver="nystrom", n_landmarks=9).fit(X, Y),
        X,
    ),
    "ridge of a stream": lambda: (
        mercer.KernelRidge(n_landmarks=2).partial_fit(X[:15], Y[:15]).partial_fit(X[15:], Y[15:]),
        X,
    ),
    "ridge of weighted rows": lambda: (mercer.KernelRidge().fit(X, Y, np.abs(X[:, 1])), X),
    "ridge of a repaired kernel": lambda: (
        mercer.KernelRidge("sigmoid", repair="clip").fit(X, Y),
        X,
    ),
    "ridge of categories": lambda: (
        mercer.KernelRidge(mercer.Match(missing="own-category")).fit(CATEGORIES, Y),
        CATEGORIES,
    ),
    "ridge of polars": lambda: (mercer.KernelRidge("auto").fit(POLARS, Y), POLARS),
    "ridge of gaps": lambda: (mercer.KernelRidge("auto").fit(GAPS, Y), GAPS),
    "ridge of dates": lambda: (
        mercer.KernelRidge(mercer.Gaussian(1.0).after(mercer.Calendar()).on("day")).fit(TABLE, Y),
        TABLE,
    ),
    "ridge of scores": lambda: (
        mercer.KernelRidge(mercer.Gaussian("median").after(mercer.NormalScores())).fit(X, Y),
        X,
    ),
    "ridge of a projection": lambda: (
        mercer.KernelRidge(
            mercer.Gaussian(1.0).after(mercer.Project([[1.0, 0.0, 2.0], [0.0, 1.0, -1.0]]))
        ).fit(X, Y),
        X,
    ),
    "ridge of many columns": lambda: (
        mercer.KernelRidge(mercer.Gaussian("median").after(mercer.Standardize())).fit(WIDE, Y),
        WIDE,
    ),
    "ridge of tokens": lambda: (
        mercer.KernelRidge("spectrum(2)").fit([[ord(c) for c in t] for t in TEXTS], Y),
        [[ord(c) for c in t] for t in TEXTS],
    ),
    "ridge in float32": lambda: (
        mercer.KernelRidge().fit(X.astype(np.float32), Y),
        X.astype(np.float32),
    ),
    "ridge chosen by folds": lambda: (
        mercer.KernelRidgeCV(
            ["gaussian", "laplacian"], [0.1, 1.0], cv=KFold(3, shuffle=True, random_state=0)
        ).fit(X, Y),
        X,
    ),
    "automatic regression": lambda: (mercer.KernelRegressor(time_limit=1.0).fit(X, Y), X),
    "automatic classifier": lambda: (mercer.KernelClassifier(time_limit=1.0).fit(X, TWO), X),
    "SVC against the rest": lambda: (mercer.KernelSVC(multiclass="ovr").fit(X, THREE), X),
    "SVC of a Gram matrix": lambda: (
        mercer.KernelSVC("precomputed").fit(mercer.Gaussian(1.0)(X), THREE),
        mercer.Gaussian(1.0)(X),
    ),
    "SVC of a stream": lambda: (
        mercer.KernelSVC().partial_fit(X, THREE, classes=[0, 1, 2]),
        X,
    ),
    "SVR of a stream": lambda: (mercer.KernelSVR().partial_fit(X, Y), X),
    "SVC by landmarks": lambda: (
        mercer.KernelSVC(solver="nystrom", n_landmarks=9).fit(X, THREE),
        X,
    ),
    "logistic of a stream": lambda: (
        mercer.KernelLogisticRegression(n_landmarks=2).partial_fit(X, THREE, classes=[0, 1, 2]),
        X,
    ),
    "perceptron of a few points": lambda: (mercer.KernelPerceptron(budget=5).fit(X, THREE), X),
    "landmarks": lambda: (
        mercer.Nystroem(n_components=5, random_state=np.random.RandomState(3)).fit(X),
        X,
    ),
    "random features": lambda: (mercer.RandomFourier(n_components=7, random_state=0).fit(X), X),
    "components as a table": lambda: (
        mercer.KernelPCA(n_components=2).set_output(transform="pandas").fit(X),
        X,
    ),
}


@cache
def made(name):
    """Return a model and rows, the same at every call, for tests that leave it as it is."""
    return MODELS[name]()


def answers(model, rows):
    """Return all that a model says of rows, or why it says nothing."""
    names = ["predict", "decision_function", "predict_proba", "transform", "gradient"]
    if getattr(model, "approximation_", None) is None:
        # Those of a landmark model need training rows, which no file of it has.
        names.append("predict_interval")
    found = {}
    for name in names:
        if hasattr(model, name):
            try:
                found[name] = getattr(model, name)(rows)
            except (ValueError, TypeError) as error:
                found[name] = np.array(str(error))
    return found
