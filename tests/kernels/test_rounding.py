"""What rounding can explain, and what it cannot."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.kernels import (
    Constant,
    Cosine,
    Gaussian,
    Linear,
    Polynomial,
    Sigmoid,
)
from mercer.kernels.negative import direction
from mercer.kernels.rounding import entry_errors, form_error


def test_error_bars_cover_a_cancellation(points):
    kernel = Linear(-1.0) * Linear() + Linear() * Constant(1.0)  # (x'z)^2, by a difference
    X = 1e-4 * points(5)
    true = Polynomial(2, 0.0)(X)
    errors = entry_errors(kernel.program, X)
    assert (np.abs(kernel(X) - true) <= errors).all()
    assert errors.max() > 1e-12 * np.abs(true).max()


def test_error_bars_are_the_promise_of_the_engine_at_least(points):
    X = points(6)
    for kernel in (Gaussian(), Polynomial(3), Sigmoid(), Cosine(), Gaussian().normalized()):
        errors = entry_errors(kernel.program, X)
        K = np.abs(kernel(X))
        assert (errors >= 1e-12 * K).all()
        assert (errors <= 1e-10 * K.max()).all()


def test_rounding_bound_is_that_of_a_quadratic_form(points):
    K = Gaussian()(points(4))
    c = np.array([1.0, -2.0, 0.0, 3.0])
    m = 10 * np.finfo(float).eps
    size = np.abs(c) @ np.abs(K) @ np.abs(c)
    assert form_error(K, 1e-12 * np.abs(K), c) == pytest.approx((m / (1 - m) + 1e-12) * size)


def test_direction_finds_the_small_block_that_is_negative():
    K = np.diag([1e12, 1e12, 1e-6, 1e-6])
    K[2, 3] = K[3, 2] = 1.1e-6
    c = direction(K)
    assert_allclose(np.abs(c), [0.0, 0.0, 1.0, 1.0], atol=1e-12)
    assert c @ K @ c < 0.0
