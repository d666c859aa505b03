"""Rows of any size: an answer, or a sentence that says what to do."""

import re
import warnings

import numpy as np
import pytest
from sklearn.base import clone

from mercer import (
    KernelLogisticRegression,
    KernelLogisticRegressionCV,
    KernelPCA,
    KernelPerceptron,
    KernelRidge,
    KernelRidgeClassifier,
    KernelRidgeClassifierCV,
    KernelRidgeCV,
    KernelSVC,
    KernelSVR,
    Laplacian,
    Linear,
    MercerMap,
    Polynomial,
)
from mercer.errors import ConvergenceWarning

MODELS = [
    *[KernelRidge(solver=s) for s in ("auto", "cholesky", "eigen", "cg", "sgd", "nystrom")],
    *[KernelLogisticRegression(solver=s) for s in ("newton", "cg", "sgd", "nystrom")],
    *[kind(solver=s) for kind in (KernelSVC, KernelSVR) for s in ("smo", "sgd", "nystrom")],
    *[KernelPCA(n_components=2, solver=s) for s in ("dense", "iterative")],
    KernelRidgeClassifier(),
    KernelRidgeCV(),
    KernelRidgeClassifierCV(),
    KernelLogisticRegressionCV(),
    KernelPerceptron(),
    MercerMap(n_components=3),
]
# One line, with what to do.
REFUSALS = r"\A[^\n]*(scale the columns|raise alpha|use at most)[^\n]*\Z"


@pytest.mark.parametrize("scale", [1e-100, 1e30, 1e100, 1e300])
@pytest.mark.parametrize("kernel", [Linear(), Polynomial(2), Laplacian(1.0)], ids=str)
@pytest.mark.parametrize("model", MODELS, ids=str)
def test_rows_of_any_size_get_finite_answers_or_a_sentence(model, kernel, scale, rng):
    X = rng.normal(size=(24, 3))
    y = (X[:, 0] > 0.1).astype(int)
    model = clone(model)
    model.set_params(**{"kernels" if "kernels" in model.get_params() else "kernel": kernel})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            model.fit(scale * X, y)
        except ValueError as error:
            assert re.search(REFUSALS, str(error))
            return
        said = getattr(model, "decision_function", None) or getattr(model, "predict", None)
        assert np.isfinite((said or model.transform)(scale * X)).all()
