"""What rounding can explain, and what it cannot."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer.kernels import (
    Constant,
    Cosine,
    FromFunction,
    Gaussian,
    Linear,
    Polynomial,
    Precomputed,
    Sigmoid,
    Spectrum,
)
from mercer.kernels.validity.negative import direction
from mercer.kernels.validity.rounding import _map, _relative_error, entry_errors, form_error
from mercer.tiles.twin import FUNCTIONS


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
    assert form_error(K, 1e-12 * np.abs(K), c) == pytest.approx(
        (m / (1 - m) + 1e-12) * size, rel=1e-9, abs=0.0
    )


def test_direction_finds_the_small_block_that_is_negative():
    K = np.diag([1e12, 1e12, 1e-6, 1e-6])
    K[2, 3] = K[3, 2] = 1.1e-6
    c = direction(K)
    assert_allclose(np.abs(c), [0.0, 0.0, 1.0, 1.0], atol=1e-12)
    assert c @ K @ c < 0.0


@pytest.mark.parametrize("function", sorted(FUNCTIONS))
def test_the_bar_of_a_function_is_the_distance_to_the_further_image_of_its_ends(function):
    value, error = np.array([0.9, 2.0, 5.0]), np.array([0.3, 1.5, 0.1])
    f = FUNCTIONS[function]
    image, bar = _map(function, (value, error))
    within = np.abs(f(value + error * np.linspace(-1.0, 1.0, 401)[:, None]) - f(value))
    assert_allclose(image, f(value))
    assert_allclose(bar, within.max(axis=0), rtol=1e-12)


@pytest.mark.parametrize(("value", "error"), [(0.5, 0.6), (-0.5, 0.6), (0.5, 0.5), (-0.5, 0.5)])
def test_a_reciprocal_of_what_may_be_zero_is_unknown(value, error):
    with np.errstate(divide="ignore"):
        assert _map("reciprocal", (np.array([value]), np.array([error])))[1] == np.inf


def test_an_exponential_of_what_may_be_zero_is_known():
    assert np.isfinite(_map("exp", (np.array([0.5]), np.array([0.6])))[1])


def test_the_doubt_about_a_factor_covers_every_diagonal_within_the_bar():
    diagonal, error = np.array([1.0, 4.0, 0.3]), np.array([0.5, 1e-3, 0.2])
    inside = diagonal + error * np.linspace(-1.0, 1.0, 101)[:, None]
    off = np.abs(np.sqrt(diagonal / inside) - 1.0).max(axis=0)
    relative = _relative_error(diagonal, error)
    assert (relative >= off[:, None] + off[None, :]).all()
    each = error / (diagonal - error)
    assert_allclose(relative, each[:, None] + each[None, :])


def test_a_factor_is_in_doubt_where_its_diagonal_may_vanish_and_in_none_where_it_is_not_positive():
    diagonal = np.array([1.0, 0.1, 0.2, -0.2, -1.0, 0.0])
    error = np.array([0.0, 0.2, 0.2, 0.2, 0.2, 0.0])
    # Positive for certain; of either sign; perhaps zero; at most zero, three times.
    each = np.array([0.0, np.inf, np.inf, 0.0, 0.0, 0.0])
    with np.errstate(divide="ignore", invalid="ignore"):
        assert_allclose(np.diagonal(_relative_error(diagonal, error)), 2.0 * each)


def test_the_bar_of_a_product_is_the_largest_that_the_bars_of_its_factors_allow(rng):
    # Functions of a user are granted a relative error of 1e-6 each, so that it adds up.
    a, b = rng.normal(size=(2, 4, 4))
    X = np.arange(4.0)[:, None]

    def entries(K):
        return lambda X, Z: K[np.ix_(X[:, 0].astype(int), Z[:, 0].astype(int))]

    kernel = FromFunction(entries(a + a.T)) * FromFunction(entries(b + b.T))
    errors = entry_errors(kernel.program, X)
    assert_allclose(errors, np.abs(kernel(X)) * ((1.0 + 1e-6) ** 2 - 1.0), rtol=1e-5)


def test_counts_of_k_grams_are_granted_a_step_of_their_value():
    # One step for the count, and one for the kernel's own program.
    texts = ["abab", "abc", "xyz"]
    kernel = Spectrum(2)
    K = kernel(texts)
    assert_allclose(entry_errors(kernel.program, texts), 2e-12 * K, rtol=1e-9, atol=0.0)


def test_a_finished_matrix_is_granted_what_its_precision_may_have_lost(rng):
    K = rng.normal(size=(3, 3))
    for dtype, share in ((np.float64, 1e-6), (np.float32, 1e-5)):
        given = K.astype(dtype)
        errors = entry_errors(Precomputed().program, given)
        assert_allclose(errors, (share + 1e-12) * np.abs(given), rtol=1e-5)


def test_steps_add_up_along_a_sum_with_factors(points):
    X = points(4)
    K = np.abs(X @ X.T)
    sizes = np.abs(X) @ np.abs(X).T
    errors = entry_errors((3.0 * Linear()).program, X)
    # The dot product is granted a step of the sizes of its terms, and every later step one more.
    assert (errors >= 3.0 * 1e-12 * sizes).all()
    assert (errors <= 3.0 * 1e-12 * (sizes + 3.0 * K) * 1.001).all()


def test_a_diagonal_that_may_be_positive_is_in_doubt_and_one_that_is_surely_not_is_none():
    relative = _relative_error(np.array([-0.1, -2.0, 1.0]), np.array([0.5, 0.5, 0.5]))
    # The second is at most -1.5, and gives the factor zero without error.
    assert_array_equal(relative, [[np.inf, np.inf, np.inf], [np.inf, 0.0, 1.0], [np.inf, 1.0, 2.0]])
