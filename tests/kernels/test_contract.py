from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse as sp

from catalogue import ARD, COMPOSITE, SIMPLE, needs_non_negative
from mercer.kernels import FromFeatures, FromFunction, Gaussian, Kernel, Linear, Polynomial
from mercer.testing import check_kernel


def halves(X):
    return np.hstack([X, X**2])


def twice(X):
    return 2.0 * X


def first(X):
    return 1.0 + np.abs(X[:, 0])


def inner(X, Z):
    return X @ Z.T


def inner_of_rows(x, z):
    return float(x @ z)


@dataclass(frozen=True)
class Cauchy(Kernel):
    """1 / (1 + ||x - z||^2 / s^2)."""

    scale: float = 1.0

    def lower(self, t):
        return t.reciprocal(1.0 + t.squared_distance(self.scale))

    def rule(self):
        return "completely monotone function of ||x - z||^2 (Schoenberg)"


USERS = [
    FromFeatures(halves),
    FromFunction(inner),
    FromFunction(inner_of_rows, pairwise=True),
    Gaussian().after(twice),
    Polynomial().scaled_by(first),
    (FromFunction(inner) + Gaussian()).normalized(),
    FromFunction(inner).on(0, 1) * Gaussian().after(halves),
    (Gaussian().after(twice) + Linear()).scaled_by(first).on(2, 1),
    Cauchy(2.0),
]


def sides(kernel, points):
    sign = needs_non_negative(kernel)
    return points(9, 3, sign), points(7, 3, sign)


@pytest.mark.parametrize("kernel", [*SIMPLE, *ARD, *COMPOSITE, *USERS], ids=str)
def test_kernel_keeps_its_contract(kernel, points):
    check_kernel(kernel, *sides(kernel, points))


@pytest.mark.parametrize("kernel", [*SIMPLE, *ARD, *COMPOSITE], ids=str)
def test_kernel_keeps_its_contract_in_single_precision(kernel, points):
    X, Z = sides(kernel, points)
    check_kernel(kernel, X.astype(np.float32), Z.astype(np.float32))


@pytest.mark.parametrize("kernel", [*SIMPLE, *ARD, *COMPOSITE], ids=str)
def test_kernel_keeps_its_contract_on_sparse_rows(kernel, points):
    X, Z = sides(kernel, points)
    check_kernel(kernel, sp.csr_array(X * (np.abs(X) > 0.5)), sp.csr_array(Z * (np.abs(Z) > 0.5)))


@pytest.mark.parametrize("rule", ["median", "columns"])
def test_a_rule_for_a_parameter_keeps_the_contract(rule, points):
    check_kernel(Gaussian(rule) + Linear(), points(9), points(7))


def test_a_kernel_on_named_columns_keeps_its_contract_on_tables(points):
    X, Z = ({"a": t[:, 0], "b": t[:, 1], "c": t[:, 2]} for t in (points(8), points(6)))
    check_kernel(Gaussian().on("a") + Linear().on("c", "b"), X, Z)


def test_one_row_on_a_side_is_too_little_to_check(points):
    with pytest.raises(ValueError, match="at least two rows on both sides, got 1 and 4"):
        check_kernel(Gaussian(), points(1), points(4))


# What the contract finds in kernels that break it.


def lopsided(X, Z):
    return X @ Z.T + X[:, :1]


def block_dependent(X, Z):
    return X @ Z.T / len(Z)


def writing(X, Z):
    X[:, 0] *= 2.0
    return X @ Z.T


class Optimist(FromFunction):
    """Claims a proof that it has not."""

    def rule(self):
        return "wishful thinking"


def minus_inner(X, Z):
    return -X @ Z.T


@pytest.mark.parametrize(
    ("kernel", "claim"),
    [
        (FromFunction(lopsided), r"k\(x, z\) equals k\(z, x\)"),
        (FromFunction(block_dependent), "transpose of|a block equals|k.diagonal"),
        (FromFunction(writing), "the rows are left as they were|equals"),
        (Optimist(minus_inner), "positive semi-definite, as its proof says, got the eigenvalue -"),
    ],
    ids=["asymmetric", "block-dependent", "writing", "falsely proved"],
)
def test_the_contract_names_the_claim_that_is_broken(kernel, claim, rng):
    with pytest.raises(AssertionError, match=f"breaks its contract: .*({claim})"):
        check_kernel(kernel, rng.normal(size=(6, 3)), rng.normal(size=(5, 3)))
