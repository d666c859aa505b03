"""Every fit says which phase begins, one line each, to the logger "mercer"."""

import logging

import numpy as np
import pytest

from mercer import (
    KernelLogisticRegression,
    KernelPCA,
    KernelPerceptron,
    KernelRegressor,
    KernelRidge,
    KernelSVC,
    KernelSVR,
    Nystroem,
    RandomFourier,
)

X = np.random.default_rng(0).normal(size=(80, 2))


def phases(model, caplog, y):
    with caplog.at_level(logging.INFO, "mercer"):
        model.fit(X, y)
    assert not any("\n" in record.getMessage() for record in caplog.records)
    return [record.getMessage() for record in caplog.records]


@pytest.mark.parametrize(
    "model",
    [
        KernelRidge(),
        KernelSVC(),
        KernelSVR(),
        KernelLogisticRegression(),
    ],
)
def test_a_fit_plans_and_solves(model, caplog):
    y = X[:, 0] if isinstance(model, KernelRidge | KernelSVR) else X[:, 0] > 0.0
    found = phases(model, caplog, y)
    assert found == [f"{type(model).__name__}: planning a fit to 80 rows", "solving"]


def test_landmarks_and_every_pass_over_the_rows_are_phases(caplog):
    found = phases(KernelRidge(solver="nystrom", n_landmarks=10), caplog, X[:, 0])
    assert found[1:] == [
        "10 landmarks are chosen",
        "solving",
        "pass over 80 rows: equations in float64",
        "pass over 80 rows: certificate",
    ]


def test_components_and_a_perceptron_have_phases(caplog):
    assert phases(KernelPCA(), caplog, None) == ["KernelPCA: components of 80 rows"]
    assert "solving" in phases(KernelPerceptron(), caplog, X[:, 0] > 0.0)


def test_features_have_phases(caplog):
    assert phases(Nystroem("gaussian", 10), caplog, None) == [
        "Nystroem: choosing landmarks among 80 rows",
        "factor of 10 landmarks",
        "what 10 landmarks leave of the kernel",
    ]
    caplog.clear()
    assert phases(RandomFourier("gaussian", 10), caplog, None) == [
        "RandomFourier: drawing frequencies of 10 features"
    ]


def test_the_automatic_machine_tells_its_rounds_and_the_last_fit(caplog):
    found = phases(KernelRegressor(), caplog, X[:, 0])
    assert found[0].startswith("trying")
    assert "fitting the best kernel by KernelRidge" in found
    assert found[-1] == "solving"


def test_nobody_is_bothered_who_does_not_listen(capfd):
    KernelRidge().fit(X, X[:, 0])
    out, err = capfd.readouterr()
    assert (out, err) == ("", "")
