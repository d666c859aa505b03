"""Fitted models of every kind, with rows to predict at."""

from __future__ import annotations

import numpy as np
import pandas as pd
import scipy.sparse as sp

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
}


def answers(model, rows):
    """Return all that a model says of rows."""
    names = ("predict", "decision_function", "predict_proba", "transform")
    return {name: getattr(model, name)(rows) for name in names if hasattr(model, name)}
