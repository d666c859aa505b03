"""Digests tell problems apart, by all that they are made of."""

import io
from functools import partial

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

from mercer import Gaussian, Linear, Standardize
from mercer.solvers.digest import digest

SCALE = 1.0


def scaled(X):
    return inner(X) * SCALE


def inner(X):
    return X if len(X) < 2 else inner(X[1:])


def wide(factor, power=1):
    return lambda X: factor * X**power


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


def test_kernels_count_with_their_numbers_and_functions():
    kernels = [
        Gaussian(1.0),
        Gaussian(1.0 + 1e-15),
        Linear() + Gaussian(1.0),
        Gaussian(1.0).after(wide(1.0)),
        Gaussian(1.0).after(wide(2.0)),
        Gaussian(1.0).after(wide(2.0, 2)),
        Gaussian(1.0).after(lambda X: X),
        Gaussian(1.0).after(lambda X: X * 2),
        Gaussian(1.0).after(lambda X: X * 3),
        Gaussian(1.0).after(lambda X, by=3: X * by),
        Gaussian(1.0).after(lambda X, by=4: X * by),
        Gaussian(1.0).after(np.exp),
        Gaussian(1.0).after(np.sinh),
        Gaussian(1.0).after(partial(np.multiply, 2.0)),
        Gaussian(1.0).after(partial(np.multiply, 3.0)),
        Gaussian(1.0).after(Standardize()),
        Gaussian(1.0).scaled_by(wide(1.0)),
        Gaussian(1.0).after(StandardScaler().fit(np.eye(3)).transform),
        Gaussian(1.0).after(StandardScaler().fit(2.0 * np.eye(3)).transform),
    ]
    assert len({digest(k) for k in kernels}) == len(kernels)
    assert digest(Gaussian(1.0).after(wide(2.0))) == digest(Gaussian(1.0).after(wide(2.0)))


def test_what_a_function_reads_from_its_module_counts(monkeypatch):
    first = digest(scaled)
    assert digest(scaled) == first
    monkeypatch.setitem(globals(), "SCALE", 2.0)
    second = digest(scaled)
    monkeypatch.setitem(globals(), "inner", lambda X: X)
    assert len({first, second, digest(scaled)}) == 3


def test_what_does_not_tell_what_it_holds_is_refused_with_what_to_do():
    with pytest.raises(ValueError, match="use a plain function instead, or checkpoint=None"):
        digest(Gaussian(1.0).after(partial(print, file=io.TextIOWrapper(io.BytesIO()))))
