"""Every fit by landmarks on rows of a map or of blocks: the one on the same rows in memory."""

import numpy as np
import pytest

from mercer import (
    Gaussian,
    KernelLogisticRegression,
    KernelRidge,
    KernelRidgeMean,
    KernelSVC,
    KernelSVR,
    Standardize,
)

# Landmarks that are given are the same whatever the rows come from.
X = np.random.default_rng(0).normal(size=(300, 3)).round(2).astype(np.float32).astype(np.float64)
Y = np.sin(X[:, 0]) + 0.1 * X[:, 1]
CLASSES = np.digitize(Y, [-0.5, 0.5])
BY_LANDMARKS = {"solver": "nystrom", "landmarks": X[:40], "tol": 1e-7}


@pytest.fixture(params=["float64 map", "float32 map", "blocks"])
def rows(request, tmp_path):
    """All rows, from where they are not in memory."""
    if request.param == "blocks":
        return lambda: iter([X[:170], X[170:]])
    np.save(tmp_path / "rows.npy", X.astype(request.param.split()[0]))
    return np.load(tmp_path / "rows.npy", mmap_mode="r")


@pytest.mark.parametrize(
    ("machine", "y", "asked"),
    [
        (KernelRidge("gaussian", 1e-2, **BY_LANDMARKS), Y, "predict"),
        (KernelRidge("gaussian", 1e-2, **BY_LANDMARKS), Y, "predict_interval"),
        (KernelRidgeMean(["gaussian", "linear"], 1e-2, **BY_LANDMARKS), Y, "predict"),
        (KernelSVR("gaussian", **BY_LANDMARKS), Y, "predict"),
        (KernelSVR("gaussian", C=np.inf, epsilon=1.0, **BY_LANDMARKS), Y, "predict"),
        (KernelSVC("gaussian", **BY_LANDMARKS), CLASSES, "decision_function"),
        (KernelSVC("gaussian", **BY_LANDMARKS), CLASSES, "predict_proba"),
        (KernelSVC("gaussian", multiclass="ovr", **BY_LANDMARKS), CLASSES, "predict_proba"),
        (KernelSVC("gaussian", C=np.inf, **BY_LANDMARKS), X[:, 0] > 0.0, "decision_function"),
        (KernelLogisticRegression("gaussian", **BY_LANDMARKS), CLASSES, "predict_proba"),
    ],
    ids=lambda value: f"{type(value).__name__}{getattr(value, 'C', '')}",
)
def test_what_is_fitted_to_rows_on_a_disk_is_fitted_to_them_in_memory(rows, machine, y, asked):
    found = getattr(machine.fit(rows, y), asked)(X[:20])
    expected = getattr(machine.fit(X, y), asked)(X[:20])
    np.testing.assert_allclose(found, expected, atol=1e-3)


def test_intervals_of_rows_on_a_disk_go_by_the_cells_that_are_missing(tmp_path):
    gaps = X.copy()
    gaps[::3, 1] = np.nan
    # Rows that miss a cell have larger errors.
    y = Y + np.where(np.isnan(gaps[:, 1]), 10.0 * X[:, 2], 0.0)
    np.save(tmp_path / "rows.npy", gaps)
    machine = KernelRidge(Gaussian(1.0).after(Standardize(missing="mean")), 1e-2, **BY_LANDMARKS)
    machine.set_params(landmarks=gaps[:40])
    found = machine.fit(np.load(tmp_path / "rows.npy", mmap_mode="r"), y).predict_interval(gaps)
    np.testing.assert_allclose(found, machine.fit(gaps, y).predict_interval(gaps), atol=1e-6)
