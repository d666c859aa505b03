"""Fitted functions of points on a line."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from mercer.functions import LineFunction
from mercer.gram import chain_of
from mercer.kernels import Constant, Exponential, Laplacian, Sobolev

KERNELS = [
    Sobolev(),
    Exponential(0.7),
    Laplacian((2.0,)),
    3.0 * Sobolev(),
    0.5 * Exponential(2.0) + 0.3,
    2.0 * (Sobolev() + 1.5),
    1.0 + 0.1 * Laplacian() + 2.0 * Constant(0.5),
]


def through(kernel, X, a):
    """Return sum_i a_i k(x_i, .) by its values at the knots."""
    gram = chain_of(kernel, X)
    level = gram.constant * a.sum(axis=0)
    values = gram.knots.firsts(gram.knots.ascending(gram @ a)) - level
    return LineFunction(gram.kernel, gram.knots.positions, values, level, np.zeros(a.shape[1]))


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_it_is_the_sum_over_the_rows(rng, kernel):
    X = rng.uniform(0.0, 5.0, size=(30, 1))
    X[[4, 7]] = X[9]
    X[12] = 0.0
    a, new = rng.normal(size=(30, 2)), rng.uniform(0.0, 9.0, size=(200, 1))
    f = through(kernel, X, a)
    assert_allclose(f(new), kernel(new, X) @ a, rtol=1e-10, atol=1e-10)
    assert_allclose(f(X), kernel(X) @ a, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("length_scale", [1e-8, 1e-3, 1e8])
def test_it_survives_every_length_scale(rng, length_scale):
    X = np.sort(rng.uniform(0.0, 1.0, size=(20, 1)), axis=0)
    kernel, a = Exponential(length_scale), rng.normal(size=(20, 1))
    new = rng.uniform(-1.0, 2.0, size=(50, 1))
    assert_allclose(through(kernel, X, a)(new), kernel(new, X) @ a, atol=1e-10)


def test_the_column_is_read_from_matrices_tables_and_csr(rng):
    X = rng.uniform(0.0, 5.0, size=(30, 1))
    table = pd.DataFrame({"name": ["x"] * 30, "time": X[:, 0]})
    wide = np.hstack([rng.normal(size=(30, 2)), X])
    a = rng.normal(size=(30, 1))
    for kernel, rows in (
        (Exponential(0.7).on("time"), table),
        (Exponential(0.7).on(2), wide),
        (Exponential(0.7).on(2), sp.csr_array(wide)),
        (Exponential(0.7).after(np.sqrt), X**2),
    ):
        assert_allclose(through(kernel, rows, a)(rows), Exponential(0.7)(X) @ a, atol=1e-11)
