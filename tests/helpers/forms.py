"""A fitted function of every form and kind of rows, with new rows and its values there."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import scipy.sparse as sp

from mercer.functions import (
    DualFunction,
    LineFunction,
    MeanFunction,
    PairFunction,
    PrimalFunction,
    in_features,
)
from mercer.gram import chain_of, features_of
from mercer.kernels import (
    Constant,
    Exponential,
    Gaussian,
    Laplacian,
    Linear,
    Match,
    Polynomial,
    Precomputed,
    Sobolev,
    Spectrum,
)

WORDS = ["kernel", "kennel", "canal", "channel", "panel", "colonel", "vernal", "venal"]


def slowly(function, X, Z):
    """Return sum_i a_i k(x, z_i) + b by the whole matrix, or the mean of several such sums."""
    values = [v * f.kernel(X, Z) @ f.by_target for v, f in function.dual.sums]
    return sum(values) + function.dual.intercept


def dual(rng, kernel=None, rows=None, targets=2):
    kernel = Gaussian(1.5) if kernel is None else kernel
    rows = rng.normal(size=(20, 3)) if rows is None else rows
    n = len(rows) if isinstance(rows, list) else rows.shape[0]
    return DualFunction(kernel, rows, rng.normal(size=(n, targets)), rng.normal(size=targets))


def table(rng, n, library=pd.DataFrame):
    site = [("north", "south")[i] for i in rng.integers(2, size=n)]
    return library({"age": rng.normal(size=n), "site": site})


def pairs(rng, rows=None, kernel=None):
    counts = np.array([5, 0, 8, 7], np.int32)
    rows = rng.normal(size=(20, 3)) if rows is None else rows
    a, b = rng.normal(size=(20, 3)), rng.normal(size=6)
    return PairFunction(Gaussian(1.5) if kernel is None else kernel, rows, a, b, counts=counts)


def primal(rng):
    f = dual(rng, Polynomial(2))
    c = features_of(f.kernel, f.rows).F.T @ f.coefficients
    return PrimalFunction(f.kernel, None, c, f.intercept, f)


def mean(rng):
    f = primal(rng)
    parts = (f, dual(rng, rows=f.dual.rows), dual(rng, Laplacian(2.0) + 1.0, f.dual.rows))
    return MeanFunction(parts, np.array([0.5, 0.3, 0.2]))


def line(rng, kernel):
    f = dual(rng, kernel, rng.uniform(0.0, 5.0, size=(20, 1)))
    gram = chain_of(kernel, f.rows)
    level = gram.constant * f.coefficients.sum(axis=0)
    values = gram.knots.firsts(gram.knots.ascending(gram @ f.coefficients)) - level
    return LineFunction(kernel, gram.knots.positions, values, level, f.intercept, f)


def finished(rng):
    f = dual(rng)
    K = f.kernel(f.rows)
    index = np.array([3, 17, 4])
    a = rng.normal(size=(3, 2))
    return DualFunction(Precomputed(), K[np.ix_(index, index)], a, f.intercept, index)


MIXED = Gaussian(0.7).on("age") * Match().on("site") + 1.0
SPARSE = sp.csr_array(np.maximum(np.random.default_rng(1).normal(size=(20, 3)), 0.0))

# By name: the function, and new rows.
FORMS = {
    "dual": lambda rng: (dual(rng), rng.normal(size=(9, 3))),
    "mean": lambda rng: (mean(rng), rng.normal(size=(9, 3))),
    "csr": lambda rng: (dual(rng, Linear(1.0), SPARSE), SPARSE[:7]),
    "pandas": lambda rng: (dual(rng, MIXED, table(rng, 20)), table(rng, 9)),
    "polars": lambda rng: (dual(rng, MIXED, table(rng, 20, pl.DataFrame)), table(rng, 9)),
    "texts": lambda rng: (dual(rng, Spectrum(2), WORDS), WORDS[::-1]),
    "tokens": lambda rng: (dual(rng, Spectrum(2), [list(w) for w in WORDS]), WORDS[:3]),
    "pairs": lambda rng: (pairs(rng), rng.normal(size=(9, 3))),
    "primal": lambda rng: (primal(rng), rng.normal(size=(9, 3))),
    "k-grams": lambda rng: (in_features(dual(rng, Spectrum(2), WORDS)), WORDS[::-1]),
    "straight line": lambda rng: (line(rng, 2.0 * Sobolev() + 3.0), rng.uniform(0, 9, (9, 1))),
    "bent line": lambda rng: (
        line(rng, Exponential(0.7) + Constant(2.0)),
        rng.uniform(-4, 9, (9, 1)),
    ),
    "finished": lambda rng: (finished(rng), rng.normal(size=(9, 20))),
}
