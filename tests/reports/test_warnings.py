"""What a page warns of before a model is used."""

import numpy as np
import pytest

import mercer


@pytest.mark.parametrize(
    ("sign", "said"),
    [
        (1.0, "Errors grow with the prediction: intervals are too narrow at large ones; fit the"),
        (-1.0, "Errors fall with the prediction: intervals are too narrow at small ones."),
        (0.0, None),
    ],
)
def test_errors_that_go_with_the_prediction_are_said(sign, said):
    rng = np.random.default_rng(0)
    X = rng.uniform(1.0, 5.0, size=(400, 1))
    y = 10.0 + X[:, 0] + 0.2 * np.exp(0.7 * sign * (X[:, 0] - 3.0)) * rng.normal(size=400)
    model = mercer.KernelRidge("gaussian", 0.1).fit(X[:200], y[:200])
    page = mercer.report(model, X[200:], y[200:]).html
    assert said in page if said else "with the prediction:" not in page
