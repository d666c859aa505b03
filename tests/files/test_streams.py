"""Models of rows that are not in memory, saved and opened again."""

import pickle

import numpy as np
import pytest

import mercer
from mercer import (
    Gaussian,
    KernelLogisticRegression,
    KernelRidge,
    KernelRidgeClassifier,
    KernelRidgeClassifierCV,
    KernelRidgeCV,
    KernelSVC,
    KernelSVR,
)

X = np.random.default_rng(0).normal(size=(300, 3))
Y = np.sin(X[:, 0])
CLASSES = np.digitize(Y, [-0.3, 0.3])
BY_LANDMARKS = {"solver": "nystrom", "n_landmarks": 30, "random_state": 0}


def blocks():
    return iter([X[:170], X[170:]])


def opened_again(model, tmp_path, how):
    if how == "pickle":
        return pickle.loads(pickle.dumps(model))
    mercer.save(model, tmp_path / "model.mercer")
    return mercer.load(tmp_path / "model.mercer")


@pytest.mark.parametrize("how", ["file", "pickle"])
@pytest.mark.parametrize("rows", [X, blocks], ids=["rows", "blocks"])
@pytest.mark.parametrize(
    "machine",
    [
        KernelRidge(Gaussian(1.0), **BY_LANDMARKS),
        KernelRidgeCV([Gaussian(1.0)], **BY_LANDMARKS),
        KernelSVR(Gaussian(1.0), **BY_LANDMARKS),
        KernelSVC(Gaussian(1.0), **BY_LANDMARKS),
        KernelLogisticRegression(Gaussian(1.0), **BY_LANDMARKS),
        KernelRidgeClassifier(Gaussian(1.0), **BY_LANDMARKS),
        KernelRidgeClassifierCV([Gaussian(1.0)], **BY_LANDMARKS),
    ],
    ids=lambda machine: type(machine).__name__,
)
def test_a_landmark_model_predicts_as_before_with_probabilities(machine, rows, how, tmp_path):
    asked = "predict_proba" if hasattr(machine, "predict_proba") else "predict"
    model = machine.fit(rows, CLASSES if asked == "predict_proba" else Y)
    again = opened_again(model, tmp_path, how)
    np.testing.assert_array_equal(getattr(again, asked)(X[:20]), getattr(model, asked)(X[:20]))
