"""<G, dK/dtheta> for every real parameter, against differences of exact values."""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from mpmath import mpf
from numpy.testing import assert_allclose

import oracle
from catalogue import ARD, COMPOSITE, SIMPLE, needs_non_negative
from mercer.kernels import (
    AdditiveChi2,
    Bilinear,
    Chi2,
    EditDistance,
    Exponential,
    FromFunction,
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    Match,
    Matern32,
    Periodic,
    Precomputed,
    RationalQuadratic,
    Spectrum,
    Standardize,
    Subsequence,
    domains,
)
from mercer.kernels.kernel import Sum
from mercer.kernels.params import real_parameters


def moved(kernel, name, k, step):
    """The kernel with an entry of a parameter moved by a step."""
    value = kernel.get_params()[name]
    if not isinstance(value, tuple):
        return kernel.with_params(**{name: value + step})
    return kernel.with_params(**{name: (*value[:k], value[k] + step, *value[k + 1 :])})


def by_differences(values, kernel, name, step=1e-4):
    """Differences of order four of values(kernel) by every entry of a parameter."""
    found = []
    for k in range(np.size(kernel.get_params()[name])):
        one, two = (
            values(moved(kernel, name, k, i * step)) - values(moved(kernel, name, k, -i * step))
            for i in (1, 2)
        )
        found.append(float((8 * one - two) / mpf(12 * step)))
    return np.array(found)


def checked(kernel, X, G, values, rtol, atol):
    found = kernel.parameter_gradient(X, G)
    assert found.keys() == real_parameters(kernel).keys()
    for name, value in found.items():
        expected = by_differences(values, kernel, name)
        assert np.shape(value) == np.shape(kernel.get_params()[name])
        assert_allclose(np.ravel(value), expected, rtol=rtol, atol=atol, err_msg=name)


def parameters_move(kernel):
    """Whether every parameter may be moved a little to either side."""
    return all(np.min(value) > 0.0 for value in real_parameters(kernel).values())


EXACT = [k for k in [*SIMPLE, *ARD, *COMPOSITE] if parameters_move(k) and real_parameters(k)]


@pytest.mark.parametrize("kernel", EXACT, ids=repr)
def test_the_gradient_is_that_of_the_formula(kernel, points, rng):
    X, G = points(3, non_negative=needs_non_negative(kernel)), rng.normal(size=(3, 3))
    checked(kernel, X, G, lambda k: (G * oracle.gram(k, X)).sum(), 1e-10, 1e-9)


TEXTS = ["abcab", "bcabca", "aabbc", "cab", "abcabcabc"]


@pytest.mark.parametrize(
    "kernel",
    [
        Subsequence(2, 0.5),
        Subsequence((2, 3), 0.6).normalized(),
        EditDistance(2.0),
        Spectrum((1, 2), (1.0, 0.5)),
        Spectrum((1, 2), (1.0, 0.5), normalize=True),
        0.5 * Spectrum(2, normalize=True) + 2.0 * Subsequence(2, 0.3).normalized(),
    ],
    ids=repr,
)
def test_parameters_of_kernels_of_text_have_theirs(kernel, rng):
    G = rng.normal(size=(5, 5))
    checked(kernel, TEXTS, G, lambda k: float((G * k(TEXTS)).sum()), 1e-7, 1e-7)


@pytest.mark.parametrize("decay", [0.0, 1.0])
def test_a_decay_at_the_end_of_its_range_has_the_slope_of_the_polynomial(decay):
    # One common subsequence of "ab" and "axb": decay^(1 + 2).
    G = np.array([[0.0, 1.0], [0.0, 0.0]])
    found = Subsequence(2, decay).parameter_gradient(["ab", "axb"], G)
    assert found["decay"] == pytest.approx(3.0 * decay**2, abs=1e-10)


def test_a_product_over_columns_and_terms_has_every_name_of_get_params(points, rng):
    X = points(6) * [1.0, 10.0, 1.0]
    first = Matern32((1.0, 2.0)).after(Standardize()).on(0, 1)
    kernel = (0.5 * first + 2.0 * Linear(0.3).on(2) * Periodic(1.0, 0.7).on(2)).resolved(X)
    G = rng.normal(size=(6, 6))
    checked(kernel, X, G, lambda k: float((G * k(X)).sum()), 1e-7, 1e-7)
    assert set(real_parameters(kernel)) <= kernel.get_params().keys()


@dataclass(frozen=True)
class Odd(Kernel):
    """A kernel of a user, with functions of its parameters in it."""

    c: float = domains.positive(1.0)
    weights: tuple[float, ...] = domains.coefficients((1.0, 2.0))

    def lower(self, t):
        bump = math.sqrt(self.c) * t.exp(-math.log1p(self.c) * t.squared_distance())
        return self.weights[0] * bump + self.weights[1] * t.dot()


def test_the_author_of_a_kernel_writes_nothing_for_it(points, rng):
    X, G = points(5), rng.normal(size=(5, 5))
    checked(Odd(1.5, (0.3, 0.4)), X, G, lambda k: float((G * k(X)).sum()), 1e-7, 1e-7)


@dataclass(frozen=True)
class Mixed(Kernel):
    """A kernel of a user in which a scale of one column weighs another one too."""

    scales: tuple[float, ...] = domains.coefficients((1.0, 2.0))

    def lower(self, t):
        a, b = self.scales
        return t.exp(-t.squared_distance((a * b, b)))


def test_scales_that_belong_to_several_columns_are_not_taken_for_one_each(points, rng):
    X, G = points(5, 2), rng.normal(size=(5, 5))
    checked(Mixed((0.7, 1.3)), X, G, lambda k: float((G * k(X)).sum()), 1e-7, 1e-7)


def test_equal_terms_have_their_own_derivatives(points, rng):
    X, G = points(5), rng.normal(size=(5, 5))
    one = Gaussian((1.0, 2.0, 3.0)).parameter_gradient(X, G)["length_scale"]
    twice = Sum((Gaussian((1.0, 2.0, 3.0)), Gaussian((1.0, 2.0, 3.0)))).parameter_gradient(X, G)
    assert_allclose(twice["terms__0__length_scale"], one)
    assert_allclose(twice["terms__1__length_scale"], one)


@pytest.mark.parametrize("kernel", [Exponential((1.0, 2.0)), Laplacian(1.0), Matern32(1.0)])
def test_equal_rows_and_constant_columns_are_finite_and_count_nothing(kernel, rng):
    X = np.column_stack([np.repeat([0.0, 1.0, 5.0], 2), np.full(6, 7.0)])
    G = rng.normal(size=(6, 6))
    checked(kernel, X, G, lambda k: float((G * k(X)).sum()), 1e-7, 1e-7)


@pytest.mark.parametrize("family", [Gaussian, Laplacian])
def test_weights_of_many_rows_need_not_be_symmetric(points, rng, family):
    X, G = points(300), rng.normal(size=(300, 300))
    scales = (1.0, 2.0, 3.0)
    found = family(scales).parameter_gradient(X, G)["length_scale"]
    K, power = family(scales)(X), 1 if family is Laplacian else 2
    gaps = [np.abs(np.subtract.outer(x, x)) ** power for x in X.T]
    expected = [(G * K * D).sum() / s ** (power + 1) for D, s in zip(gaps, scales, strict=True)]
    assert_allclose(found, expected, rtol=1e-9)


def test_rules_are_resolved_on_the_rows(points, rng):
    X, G = points(5), rng.normal(size=(5, 5))
    k = Gaussian("median")
    assert k.parameter_gradient(X, G) == k.resolved(X).parameter_gradient(X, G)


def test_single_precision_serves(points, rng):
    X, G = points(5), rng.normal(size=(5, 5))
    exact = RationalQuadratic(1.0, 2.0).parameter_gradient(X, G)
    found = RationalQuadratic(1.0, 2.0).parameter_gradient(X.astype(np.float32), G)
    for name, value in exact.items():
        assert found[name] == pytest.approx(value, rel=1e-4)


def test_kernels_without_real_parameters_have_no_derivatives(points):
    X = points(3)
    for kernel in (AdditiveChi2(), Bilinear(np.eye(3)), FromFunction(lambda X, Z: X @ Z.T)):
        assert kernel.parameter_gradient(np.abs(X), np.eye(3)) == {}
    assert Match().parameter_gradient([["a"], ["b"]], np.eye(2)) == {}
    assert Precomputed().parameter_gradient(np.eye(3), np.eye(3)) == {}


def test_weights_of_another_shape_are_refused(points):
    with pytest.raises(ValueError, match=r"G must have the shape \(3, 3\) of k\(X\), got \(2, 2\)"):
        Gaussian().parameter_gradient(points(3), np.eye(2))


def test_a_map_that_depends_on_the_parameters_of_a_part_is_refused(points):
    kernel = (AdditiveChi2() + Chi2(0.5)).seen_from((0.1, 0.2, 0.3), 1.0)
    with pytest.raises(ValueError, match="a map in it depends on them"):
        kernel.parameter_gradient(points(3, non_negative=True), np.eye(3))
