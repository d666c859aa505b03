"""The gradient of f by its input, against differences of 40-digit values of the formula."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from mpmath import mp, mpf
from numpy.testing import assert_allclose

import oracle
from catalogue import ARD, COMPOSITE, SIMPLE, needs_non_negative
from mercer.kernels import (
    AdditiveChi2,
    Cosine,
    Exponential,
    FromFeatures,
    FromFunction,
    Gaussian,
    Laplacian,
    Linear,
    Match,
    Matern32,
    Matern52,
    Periodic,
    Polynomial,
    RationalQuadratic,
    Sobolev,
    Spectrum,
    Standardize,
)
from mercer.tiles import Tile
from mercer.tiles.derivative import input_gradient


def gradient(kernel, X, Z, a):
    return input_gradient(kernel.lower(Tile()), X, Z, a)


def differences(kernel, X, Z, a, step=1e-5):
    """Central differences of f, of shape (n, columns, targets)."""
    moves = step * np.eye(X.shape[1])
    values = [kernel(X + move, Z) @ a - kernel(X - move, Z) @ a for move in moves]
    return np.stack(values, axis=1) / (2.0 * step)


def exact_gradient(kernel, x, Z, a):
    """The gradient at one row by differentiating its 40-digit values."""

    def f(k, t):
        moved = [mpf(v) + (t if i == k else 0) for i, v in enumerate(x)]
        return mp.fsum(
            w * oracle.entry(kernel, moved, list(map(mpf, z))) for w, z in zip(a, Z, strict=True)
        )

    return [float(mp.diff(lambda t, k=k: f(k, t), 0)) for k in range(len(x))]


@pytest.mark.parametrize("kernel", [*SIMPLE, *ARD, *COMPOSITE], ids=repr)
def test_the_gradient_is_that_of_the_formula(kernel, points, rng):
    is_positive = needs_non_negative(kernel)
    X, Z = points(2, non_negative=is_positive), points(3, non_negative=is_positive)
    a = rng.normal(size=(3, 1))
    expected = [exact_gradient(kernel, x.tolist(), Z.tolist(), a[:, 0].tolist()) for x in X]
    found = gradient(kernel, X, Z, a)
    assert found.shape == (2, 3, 1)
    assert_allclose(found[:, :, 0], expected, rtol=1e-10, atol=1e-12)


def smooth_kernels():
    scales = st.floats(0.5, 3.0)
    ard = st.tuples(scales, scales, scales)
    simple = st.one_of(
        st.builds(Gaussian, st.one_of(scales, ard)),
        st.builds(Exponential, st.one_of(scales, ard)),
        st.builds(Laplacian, st.one_of(scales, ard)),
        st.builds(Matern32, ard),
        st.builds(Matern52, scales),
        st.builds(RationalQuadratic, scales, scales),
        st.builds(Periodic, scales, scales),
        st.builds(Linear, scales),
        st.builds(lambda c: Polynomial(2, c, 0.3), scales),
        st.just(Cosine()),
        st.builds(lambda s: Gaussian(s).on(2, 0), scales),
    )
    return st.recursive(
        simple,
        lambda parts: st.one_of(
            st.builds(lambda k, g: k + g, parts, parts),
            st.builds(lambda k, g: k * g, parts, parts),
            st.builds(lambda c, k: c * k, scales, parts),
            st.builds(lambda k: k.normalized(), parts),
            st.builds(lambda k: k**2, parts),
            st.builds(lambda k: k.polynomial([0.2, 0.5, 0.1]), parts),
            st.builds(lambda k: (0.1 * k.normalized()).exp(), parts),
        ),
        max_leaves=4,
    )


@settings(max_examples=60)
@given(kernel=smooth_kernels(), seed=st.integers(0, 1000))
def test_the_gradient_of_any_composition_agrees_with_differences(kernel, seed):
    rng = np.random.default_rng(seed)
    X, Z, a = rng.normal(size=(4, 3)), rng.normal(size=(5, 3)), rng.normal(size=(5, 2))
    expected = differences(kernel, X, Z, a)
    size = np.abs(expected).max() + np.abs(kernel(X, Z)).max()
    assert_allclose(gradient(kernel, X, Z, a), expected, rtol=1e-6, atol=1e-6 * size)


@pytest.mark.parametrize(
    "kernel",
    [Exponential(1.0), Exponential((1.0, 2.0, 3.0)), Laplacian(1.0), Matern32(2.0), Sobolev()],
    ids=repr,
)
def test_at_a_training_row_the_gradient_is_the_mean_of_both_sides(kernel, points):
    Z = points(4, non_negative=True)
    X, a, step = Z[:2], np.array([[1.0], [-2.0], [0.5], [3.0]]), 1e-6
    expected = differences(kernel, X, Z, a, step)
    assert_allclose(gradient(kernel, X, Z, a), expected, rtol=1e-5, atol=1e-5)


def test_a_row_beside_a_training_row_has_the_slope_of_the_kink(points):
    Z = points(1)
    X = Z + np.array([1e-9, 0.0, 0.0])
    found = gradient(Exponential(0.5), X, Z, np.ones((1, 1)))
    assert_allclose(found[0, :, 0], [-2.0, 0.0, 0.0], rtol=1e-6)


def test_columns_that_are_not_read_have_the_gradient_zero(points):
    X = points(3)
    found = gradient(Gaussian(1.0).on(1), X, X, np.ones((3, 1)))
    assert (found[:, [0, 2]] == 0.0).all()
    assert found[:, 1].any()


def test_of_standardised_columns_it_is_the_gradient_by_the_raw_ones(points, rng):
    X = points(5) * [1.0, 10.0, 0.1] + 3.0
    a = rng.normal(size=(5, 1))
    kernel = Gaussian((1.0, 2.0, 3.0)).after(Standardize()).resolved(X)
    assert_allclose(gradient(kernel, X, X, a), differences(kernel, X, X, a), atol=1e-6)


def test_a_missing_number_has_the_gradient_zero(points, rng):
    X = np.array(points(5))
    X[1, 2] = np.nan
    kernel = Gaussian(1.0).after(Standardize(missing="mean")).resolved(X)
    found = gradient(kernel, X, X, rng.normal(size=(5, 1)))
    assert found.shape == (5, 3, 1)
    assert found[1, 2, 0] == 0.0
    assert np.isfinite(found).all()


def test_of_a_kernel_seen_from_a_row_it_is_that_of_the_formula(points, rng):
    X, a = points(4, non_negative=True) + 0.1, rng.normal(size=(4, 1))
    kernel = AdditiveChi2().seen_from((0.5, 0.2, 0.3), 1.0)
    Z = X[::-1] + 0.2
    assert_allclose(gradient(kernel, X, Z, a), differences(kernel, X, Z, a), rtol=1e-6, atol=1e-8)


def test_text_and_categories_add_nothing_to_the_gradient_of_numbers():
    X = {"x": np.array([0.1, 0.5, 0.9]), "c": ["a", "b", "a"], "t": ["abc", "abe", "bcd"]}
    numbers = Gaussian(1.0).on("x")
    kernel = numbers + Match().on("c") + Spectrum(2, normalize=True).on("t")
    found = gradient(kernel, X, X, np.ones((3, 1)))
    assert_allclose(found, gradient(numbers, X, X, np.ones((3, 1))))
    assert (found[:, 1:] == 0.0).all()


def test_a_product_with_categories_keeps_the_slope_of_numbers():
    X = {"x": np.array([0.1, 0.5, 0.9]), "c": ["a", "b", "a"]}
    kernel, step = Gaussian(1.0).on("x") * Match().on("c"), 1e-6
    up, down = ({**X, "x": X["x"] + move} for move in (step, -step))
    expected = (kernel(up, X) - kernel(down, X)).sum(axis=1) / (2.0 * step)
    assert_allclose(gradient(kernel, X, X, np.ones((3, 1)))[:, 0, 0], expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("kernel", "reason"),
    [
        (FromFunction(lambda X, Z: X @ Z.T), "the derivative of the function"),
        (FromFeatures(lambda X: X**2), "the derivative of the map"),
        (Gaussian(1.0).scaled_by(lambda X: X[:, 0]), "the derivative of f in scaled_by"),
    ],
)
def test_a_function_of_the_user_is_refused(kernel, reason, points):
    with pytest.raises(ValueError, match=reason):
        gradient(kernel, points(3), points(3), np.ones((3, 1)))


class Squares:
    """A map of the user with a derivative."""

    def __call__(self, X):
        return np.asarray(X) ** 2

    def pullback(self, X, V):
        return 2.0 * np.asarray(X)[:, :, None] * V


def test_a_map_of_the_user_may_say_its_derivative(points, rng):
    X, Z, a = points(3), points(4), rng.normal(size=(4, 1))
    kernel = Gaussian(1.0).after(Squares())
    assert_allclose(gradient(kernel, X, Z, a), differences(kernel, X, Z, a), atol=1e-7)


def test_many_columns_and_far_rows_lose_no_digits(rng):
    X, Z = rng.normal(size=(5, 40)) + 100.0, rng.normal(size=(7, 40)) + 100.0
    a = rng.normal(size=(7, 1))
    weights = np.exp(-0.5 * ((X[:, None] - Z[None]) ** 2).sum(axis=2) / 36.0) * a[:, 0]
    expected = -np.einsum("ij,ijk->ik", weights, X[:, None] - Z[None]) / 36.0
    found = gradient(Gaussian(6.0), X, Z, a)[:, :, 0]
    assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
