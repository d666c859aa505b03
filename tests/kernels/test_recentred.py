"""Kernels that are valid on coefficients of sum zero, seen from one of the rows."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

import mercer
from mercer import AdditiveChi2, EditDistance, Gaussian, Linear
from mercer.kernels import Kernel, Recentred, recentred
from mercer.testing import check_kernel

N = 30


@dataclass(frozen=True)
class Distance(Kernel):
    """-||x - z||, which is conditionally positive definite."""

    def lower(self, t):
        return -t.sqrt(t.squared_distance())

    @property
    def is_conditional(self):
        return True


@dataclass(frozen=True)
class Hamming(Kernel):
    """-(places in which two texts of one length differ), by a function of its own."""

    domain = "sequences"

    def lower(self, t):
        return t.opaque(
            lambda X, Z: np.array([[-sum(map(str.__ne__, x, z)) for z in Z] for x in X], float)
        )

    @property
    def is_conditional(self):
        return True


@pytest.fixture
def X(points):
    return points(N, non_negative=True)


@pytest.mark.parametrize("kernel", [AdditiveChi2(), Distance()], ids=repr)
def test_it_is_the_formula_of_schoenberg_and_a_level(kernel, X):
    k = recentred(kernel, X)
    x0 = np.array([k.origin])
    expected = kernel(X) - kernel(X, x0) - kernel(x0, X) + kernel(x0, x0) + k.level
    assert_allclose(k(X), expected, atol=1e-13)
    assert k.level > 0.0
    assert list(k.origin) in X.tolist()


@pytest.mark.parametrize("kernel", [AdditiveChi2(), Distance()], ids=repr)
def test_it_is_positive_semidefinite_and_proved_to_be(kernel, X):
    k = recentred(kernel, X)
    assert np.linalg.eigvalsh(kernel(X))[0] < -1.0
    assert np.linalg.eigvalsh(k(X))[0] > -1e-12
    assert k.proof() is not None
    assert not k.is_conditional


@pytest.mark.parametrize("kernel", [AdditiveChi2(), Distance()], ids=repr)
def test_coefficients_of_sum_zero_see_no_difference(kernel, X, rng):
    c = rng.normal(size=N)
    c -= c.mean()
    assert_allclose(c @ recentred(kernel, X)(X) @ c, c @ kernel(X) @ c, rtol=1e-10)


def test_it_keeps_the_contract_of_a_kernel(X, points):
    check_kernel(recentred(AdditiveChi2(), X), X, points(9, non_negative=True))


@pytest.mark.parametrize("kernel", [Gaussian(), Linear() + Gaussian(), Gaussian() * AdditiveChi2()])
def test_other_kernels_are_left_as_they_are(kernel, X):
    assert recentred(kernel, X) is kernel


def test_only_what_needs_it_is_replaced(X):
    k = recentred(0.5 * AdditiveChi2().on(0, 2) + Gaussian(), X)
    scaled, other = k.terms
    assert other == Gaussian()
    assert isinstance(scaled.kernel.kernel, Recentred)
    assert list(scaled.kernel.kernel.origin) in X[:, [0, 2]].tolist()


def test_the_origin_depends_on_what_rows_hold_and_not_on_their_order(X, rng):
    k = recentred(AdditiveChi2(), X)
    assert recentred(AdditiveChi2(), X[rng.permutation(N)]) == k
    assert recentred(AdditiveChi2(), np.repeat(X, 3, axis=0)) == k
    assert recentred(AdditiveChi2(), sp.csr_array(X)) == k
    assert recentred(AdditiveChi2(), pd.DataFrame(X)) == k


def test_the_origin_is_in_the_middle(X):
    X = np.vstack([X, 1e3 + X[:1]])
    assert max(recentred(AdditiveChi2(), X).origin) < 100.0


def test_equal_rows_have_a_level_too():
    k = recentred(AdditiveChi2(), np.ones((4, 2)))
    assert_allclose(k(np.ones((4, 2))), 1.0)


def test_rows_in_float32_give_float32(X):
    k = recentred(AdditiveChi2(), X)
    single = k(X.astype(np.float32))
    assert single.dtype == np.float32
    assert_allclose(single, k(X), rtol=1e-5, atol=1e-5)


def test_it_is_read_back_from_its_text(X):
    k = 2.0 * recentred(AdditiveChi2(), X) + Gaussian()
    assert mercer.kernel(str(k)) == k
    assert AdditiveChi2().seen_from([0.5, 0.25]) == mercer.kernel(
        "additive_chi2().seen_from([0.5, 0.25], level=0.0)"
    )


def test_texts_have_an_origin_too():
    texts = ["abba", "abab", "bbbb", "aaaa", "abaa"]
    k = recentred(Hamming(), texts)
    assert k.origin in texts
    assert np.linalg.eigvalsh(k(texts))[0] > -1e-12
    assert recentred(EditDistance(), texts) == EditDistance()


def test_rows_that_overflow_are_refused():
    X = np.array([[1.7e308, 1.0], [0.0, 1.7e308], [1.0, 2.0]])
    k = recentred(AdditiveChi2(), X)
    with pytest.raises(ValueError, match=r"is not finite at row \d; scale the columns"):
        k(X)
