"""Digests tell problems apart, by all that they are made of."""

from functools import partial

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF
from sklearn.preprocessing import StandardScaler

from mercer import (
    Bilinear,
    FromFeatures,
    FromFunction,
    Gaussian,
    Laplacian,
    Linear,
    Project,
    Spectrum,
    Standardize,
)
from mercer.solvers.digest import digest


def test_values_shapes_types_and_order_are_told_apart():
    x = np.arange(4.0)
    found = [
        digest(x, "a"),
        digest(x.astype(np.float32), "a"),
        digest(x.reshape(2, 2), "a"),
        # Adding so little to the entries changes that of zero alone.
        digest(x + 1e-300, "a"),
        digest(x[::-1], "a"),
        digest("a", x),
        digest(x, "b"),
        digest(["a", "b"]),
        digest(["a,b"]),
        digest([x, "a"]),
        digest(1),
        digest(True),
        digest(None),
    ]
    assert digest(x, "a") == digest(x.copy(), "a")
    assert len(set(found)) == len(found)


def test_every_entry_of_arrays_in_any_order_counts(monkeypatch):
    monkeypatch.setattr("mercer.solvers.digest.BLOCK_BYTES", 100)
    x = np.arange(700.0).reshape(70, 10)
    for i in range(0, 700, 33):
        y = x.copy()
        y.flat[i] += 1e-9
        assert digest(y) != digest(x)
    assert digest(np.asfortranarray(x)) == digest(x)
    assert digest(x[:, :0]) != digest(x[:0])
    assert digest(np.array(["2020-01-01"], "M8[D]")) != digest(np.array(["2020-01-02"], "M8[D]"))


def test_kernels_count_with_their_classes_and_numbers():
    kernels = [
        Gaussian(1.0),
        Gaussian(1.0 + 1e-15),
        Laplacian(1.0),
        Linear() + Gaussian(1.0),
        Gaussian(1.0).on("a"),
        Gaussian(1.0).after(Standardize()),
        Gaussian(1.0).after(Project([[1.0, 0.0], [0.0, 1.0]])),
        Gaussian(1.0).after(Project([[2.0, 0.0], [0.0, 1.0]])),
        Bilinear(np.eye(2)),
        Spectrum(3),
    ]
    assert len({digest(k) for k in kernels}) == len(kernels)
    assert digest(Gaussian(1.0).after(Project(((1.0, 0.0), (0.0, 1.0))))) == digest(kernels[6])


@pytest.mark.parametrize(
    "kernel",
    [
        Gaussian(1.0).after(lambda X: X),
        Gaussian(1.0).after(np.exp),
        Gaussian(1.0).after(partial(np.multiply, 2.0)),
        Gaussian(1.0).after(StandardScaler().fit(np.eye(3)).transform),
        Linear() + Gaussian(1.0).scaled_by(np.sum),
        FromFunction(lambda X, Z: X @ Z.T),
        FromFunction(RBF(1.0)),
        FromFeatures(np.sin),
    ],
    ids=str,
)
def test_functions_in_a_kernel_are_refused_with_what_to_do(kernel):
    with pytest.raises(ValueError, match="use a kernel without Python functions, or checkpoint=N"):
        digest(kernel)
