"""Every kernel against its textbook formula, and the worked exercises of lecture notes."""

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import oracle
from catalogue import ARD, COMPOSITE, SIMPLE, needs_non_negative
from mercer.kernels import (
    Bilinear,
    Cosine,
    Exponential,
    FromFeatures,
    FromFunction,
    Gaussian,
    Laplacian,
    Linear,
    Matern32,
    Matern52,
    Periodic,
    Polynomial,
    Precomputed,
    RationalQuadratic,
    Sobolev,
)


@pytest.mark.parametrize("kernel", [*SIMPLE, *ARD, *COMPOSITE], ids=str)
def test_kernel_is_its_formula(kernel, points):
    sign = needs_non_negative(kernel)
    X, Z = points(5, 3, sign), points(4, 3, sign)
    assert oracle.error(kernel(X, Z), kernel, X, Z) < 1e-13


@pytest.mark.parametrize("kernel", [*SIMPLE, *ARD, *COMPOSITE], ids=str)
def test_a_gram_matrix_is_symmetric_to_the_last_bit(kernel, points):
    K = kernel(points(40, 3, needs_non_negative(kernel)))
    assert_array_equal(K, K.T)


@pytest.mark.parametrize("kernel", [*SIMPLE, *ARD, *COMPOSITE], ids=str)
def test_diagonal_is_the_formula_at_equal_rows(kernel, points):
    X = points(5, 3, needs_non_negative(kernel))
    expected = [float(v) for v in np.diagonal(oracle.gram(kernel, X))]
    assert_allclose(kernel.diagonal(X), expected, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("kernel", [*SIMPLE, *ARD, *COMPOSITE], ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_diagonal_has_the_precision_of_the_rows(kernel, points, dtype):
    X = points(5, 3, needs_non_negative(kernel)).astype(dtype)
    assert kernel.diagonal(X).dtype == kernel(X).dtype == dtype


# Names for the same parameter


def test_gamma_sigma_and_beta_are_three_names_of_one_width(points):
    X = points(6)
    gamma = 0.37
    D = np.array([[((x - z) ** 2).sum() for z in X] for x in X])
    assert_allclose(Gaussian.from_gamma(gamma)(X), np.exp(-gamma * D), rtol=1e-13)
    assert_allclose(Gaussian.from_sigma(0.8)(X), np.exp(-D / (2 * 0.8**2)), rtol=1e-13)
    assert_allclose(Gaussian.from_beta(0.9)(X), np.exp(-0.9 / 2 * D), rtol=1e-13)


def test_laplacian_takes_gamma_too(points):
    X = points(6)
    D = np.array([[np.abs(x - z).sum() for z in X] for x in X])
    assert_allclose(Laplacian.from_gamma(0.37)(X), np.exp(-0.37 * D), rtol=1e-13)


def test_one_length_scale_per_column_is_a_division_of_the_columns(points):
    X = points(6)
    scales = (0.5, 2.0, 3.0)
    for kind in (Gaussian, Exponential, Laplacian, Matern32, Matern52, RationalQuadratic):
        assert_allclose(kind(scales)(X), kind(1.0)(X / np.array(scales)), rtol=1e-12)


# The median rule


def test_median_is_the_median_distance_between_rows():
    X = np.array([[0.0], [1.0], [3.0]])  # distances 1, 2, 3
    assert Gaussian("median").resolved(X) == Gaussian(2.0)
    assert_allclose(Gaussian("median")(X), Gaussian(2.0)(X))


def test_median_of_a_laplacian_is_of_sums_of_absolute_differences():
    X = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]])
    assert Laplacian("median").resolved(X) == Laplacian(2.0)


def test_median_is_resolved_on_the_rows_that_the_part_sees(points):
    X = points(9)
    kernel = (Gaussian("median").on(0) + Linear()).resolved(X)
    assert kernel.terms[0].kernel == Gaussian("median").resolved(X[:, :1])


def test_a_median_distance_that_overflows_is_refused_with_the_largest_entry():
    with pytest.raises(ValueError, match=r"overflow, with entries up to 3e\+200; scale the"):
        Gaussian("median").resolved(np.array([[1e200], [-3e200], [2e200]]))
    with pytest.raises(ValueError, match=r"overflow, with entries up to 3e\+25; scale the"):
        Gaussian("median").resolved(np.array([[1e25], [-3e25], [2e25]], np.float32))


def test_a_variance_that_overflows_is_refused_with_the_largest_entry():
    X = np.array([[1e200, 0.0], [-3e200, 1.0]])
    with np.errstate(over="ignore"), pytest.raises(ValueError, match="entries up to 3e\\+200"):
        Gaussian("variance").resolved(X)


def test_a_kernel_that_looks_at_its_fields_sees_the_numbers_of_rules(points):
    @dataclass(frozen=True)
    class Rounded(Gaussian):
        def __post_init__(self):
            super().__post_init__()
            if not isinstance(self.length_scale, str):
                object.__setattr__(self, "length_scale", float(round(self.length_scale)))

    assert Rounded("median").resolved(10.0 * points(20, 3)).length_scale.is_integer()


def test_median_of_equal_rows_is_one():
    assert Gaussian("median").resolved(np.ones((4, 2))) == Gaussian(1.0)


def test_median_leaves_equal_rows_out_when_they_are_most():
    X = np.array([[0.0]] * 5 + [[3.0]])
    assert Gaussian("median").resolved(X) == Gaussian(3.0)


def test_columns_rule_is_one_over_the_number_of_columns(points):
    X = points(6, 4)
    D = np.array([[((x - z) ** 2).sum() for z in X] for x in X])
    assert_allclose(Gaussian("columns")(X), np.exp(-D / 4), rtol=1e-13)
    assert_allclose(Polynomial(2, 0.0, "columns")(X), (X @ X.T / 4) ** 2, rtol=1e-12)


# Worked exercises


def test_inner_product_of_second_order_features_is_the_polynomial_kernel():
    def phi(X):
        x, y = X.T
        r = np.sqrt(2.0)
        return np.column_stack([np.ones_like(x), x**2, y**2, r * x, r * y, r * x * y])

    x, z = np.array([[2.0, -3.0]]), np.array([[1.0, 4.0]])
    assert_allclose(phi(x)[0], [1, 4, 9, 2**1.5, -3 * 2**0.5, -6 * 2**0.5], rtol=1e-15)
    assert FromFeatures(phi)(x, z).item() == pytest.approx(81.0, rel=1e-15)
    assert Polynomial(2, 1.0)(x, z).item() == 81.0


def test_square_of_the_inner_product_is_that_of_squares_and_cross_terms(points):
    def phi(X):
        u, v = X.T
        return np.column_stack([u**2, v**2, np.sqrt(2.0) * u * v])

    X, Z = points(6, 2), points(5, 2)
    assert_allclose(FromFeatures(phi)(X, Z), Polynomial(2, 0.0)(X, Z), rtol=1e-12, atol=1e-14)
    assert_allclose((Linear() ** 2)(X, Z), Polynomial(2, 0.0)(X, Z), rtol=1e-12)


def test_expansion_of_the_quadratic_kernel_in_two_columns(points):
    X, Z = points(4, 2), points(4, 2)
    x1, x2, z1, z2 = X[:, :1], X[:, 1:], Z[:, 0], Z[:, 1]
    expected = 1 + 2 * x1 * z1 + 2 * x2 * z2
    expected = expected + (x1 * z1) ** 2 + (x2 * z2) ** 2 + 2 * x1 * z1 * x2 * z2
    assert_allclose(Polynomial(2, 1.0)(X, Z), expected, rtol=1e-12, atol=1e-14)


def test_gaussian_is_an_exponential_kernel_scaled_by_a_function(points):
    def f(X):
        return np.exp(-0.5 * (X**2).sum(axis=1))

    X, Z = points(6), points(5)
    assert_allclose(Linear().exp().scaled_by(f)(X, Z), Gaussian()(X, Z), rtol=1e-12)


def test_gaussian_of_one_column_is_a_series_of_features():
    sigma, x, z = 1.3, 0.7, -0.4
    j = np.arange(40)
    factorial = np.cumprod(np.concatenate([[1.0], j[1:].astype(float)]))

    def phi(t):
        return np.exp(-(t**2) / (2 * sigma**2)) * (t / sigma) ** j / np.sqrt(factorial)

    value = Gaussian(sigma)(np.array([[x]]), np.array([[z]])).item()
    assert phi(x) @ phi(z) == pytest.approx(value, rel=1e-14)


def test_min_kernel_is_an_integral_of_indicators():
    X = np.array([[0.2], [0.5], [0.9]])
    t = (np.arange(10_000) + 0.5) / 10_000
    indicators = (t[None, :] < X).astype(float)
    assert_allclose(Sobolev()(X), indicators @ indicators.T / len(t), atol=1e-4)
    assert_allclose(Sobolev()(X), np.minimum(X, X.T))


def test_min_kernel_of_several_columns_is_a_product(points):
    X = points(5, 2, non_negative=True)
    assert_allclose(Sobolev()(X), (Sobolev().on(0) * Sobolev().on(1))(X), rtol=1e-14)


def test_similarity_defines_the_distance_of_rows(points):
    X, Z = points(6), points(5)
    expected = np.linalg.norm(X[:, None] - Z[None], axis=2)
    assert_allclose(Linear().distance(X, Z), expected, rtol=1e-7)


def test_gram_matrix_of_the_linear_kernel_is_the_product_of_the_data(points):
    X = points(6)
    assert_allclose(Linear()(X), X @ X.T, rtol=1e-12, atol=1e-14)


def test_kernel_matrix_is_that_of_its_eigenfeatures(points):
    K = Gaussian()(points(7))
    values, V = np.linalg.eigh(K)
    features = V * np.sqrt(values)
    assert_allclose(features @ features.T, K, atol=1e-14)


def test_predictor_of_absolute_products_of_the_notes():
    def phi(X):
        return np.column_stack([X, np.abs(X[:, 0] * X[:, 1])])

    x = np.array([[2.0, -3.0]])
    assert phi(x)[0].tolist() == [2.0, -3.0, 6.0]
    assert phi(x)[0] @ [3.0, -1.0, 2.0] == 21.0
    assert FromFeatures(phi)(x).item() == 4.0 + 9.0 + 36.0


def test_bilinear_of_the_identity_is_linear(points):
    X = points(5)
    assert_allclose(Bilinear(np.eye(3))(X), Linear()(X), rtol=1e-12, atol=1e-14)


def test_cosine_is_the_normalized_linear_kernel(points):
    X, Z = points(5), points(4)
    assert_allclose(Cosine()(X, Z), Linear().normalized()(X, Z), rtol=1e-13, atol=1e-15)


def test_periodic_repeats_after_its_period(points):
    X, Z = points(5), points(4)
    kernel = Periodic(0.8, 2.5)
    assert_allclose(kernel(X + 5.0, Z), kernel(X, Z), rtol=1e-12)


def test_rational_quadratic_becomes_gaussian(points):
    X = points(5)
    assert_allclose(RationalQuadratic(1.3, 1e7)(X), Gaussian(1.3)(X), rtol=1e-5)


# Functions and finished matrices


def test_function_of_blocks_and_function_of_rows_agree(points):
    X, Z = points(5), points(4)
    blocks = FromFunction(lambda X, Z: np.tanh(X @ Z.T))
    rows = FromFunction(lambda x, z: np.tanh(x @ z), pairwise=True)
    assert_allclose(blocks(X, Z), rows(X, Z), rtol=1e-13)


def test_function_on_strings_sees_the_strings():
    def shared_letters(a, b):
        return len(set(a) & set(b))

    kernel = FromFunction(shared_letters, pairwise=True)
    assert kernel(["abc", "cd"], ["bc"]).tolist() == [[2.0], [1.0]]


def test_precomputed_is_the_matrix_itself(rng):
    A = rng.normal(size=(4, 4))
    K = A @ A.T
    assert_allclose(Precomputed()(K), K)
    assert_allclose((2.0 * Precomputed())(K), 2.0 * K)
    assert_allclose(Precomputed().diagonal(K), np.diagonal(K))


def test_precomputed_block_that_is_not_square_has_no_diagonal(rng):
    message = r"a precomputed block of shape \(2, 3\) has no diagonal k\(x, x\)"
    with pytest.raises(ValueError, match=message):
        Precomputed().diagonal(rng.normal(size=(2, 3)))


def test_precomputed_block_of_the_wrong_width_is_refused(rng):
    message = r"a precomputed block of shape \(2, 3\) does not fit 2 training rows"
    with pytest.raises(ValueError, match=message):
        Precomputed()(rng.normal(size=(2, 3)))


def test_a_function_of_whole_numbers_is_called_with_them():
    X = np.arange(64, dtype=np.int16).reshape(2, 32)
    K = FromFunction(lambda A, B: np.ones((len(A), len(B))))(X)
    np.testing.assert_array_equal(K, np.ones((2, 2)))
