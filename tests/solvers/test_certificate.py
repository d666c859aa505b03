"""What a certificate says."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.kernels import Linear
from mercer.solvers import Certificate


def certificate(value=1e-9, radius=2.0):
    return Certificate("relative residual", value, 1e-6, radius, Linear().diagonal)


@pytest.mark.parametrize(("value", "satisfied"), [(1e-9, True), (1e-6, True), (2e-6, False)])
def test_it_is_satisfied_within_its_tolerance(value, satisfied):
    assert certificate(value).satisfied is satisfied


def test_nothing_that_is_not_a_number_satisfies():
    assert not certificate(np.nan).satisfied


def test_the_bound_grows_with_the_norm_of_a_row():
    X = np.array([[3.0, 4.0], [0.0, 0.0]])
    assert_allclose(certificate().bound(X), [10.0, 0.0])


def test_the_bound_has_a_column_per_target():
    X = np.array([[3.0, 4.0], [1.0, 0.0]])
    bound = certificate(radius=np.array([1.0, 2.0])).bound(X)
    assert_allclose(bound, [[5.0, 10.0], [1.0, 2.0]])


def test_an_infinite_radius_bounds_nothing_wherever():
    X = np.array([[3.0, 4.0], [0.0, 0.0]])
    assert np.isinf(certificate(radius=np.inf).bound(X)).all()
    bound = certificate(radius=np.array([np.inf, 2.0])).bound(X)
    assert_allclose(bound, [[np.inf, 10.0], [np.inf, 0.0]])


def test_the_bound_is_zero_where_rounding_makes_a_square_negative():
    rounded = replace(certificate(), diagonal=lambda X: np.array([-1e-17, 4.0]))
    assert_allclose(rounded.bound(None), [0.0, 4.0])


def test_it_prints_in_one_line():
    assert str(certificate()) == (
        "relative residual 1.0e-09, within 1.0e-06; |f - f*|(x) <= 2.0e+00 sqrt(k(x, x))"
    )
    assert "NOT within 1.0e-06" in str(certificate(1e-3))
    assert str(certificate(radius=np.inf)).endswith("; no bound")
    assert repr(certificate()) == str(certificate())
