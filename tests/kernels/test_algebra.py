"""The operators and methods that build kernels from kernels."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.testing import assert_allclose

from mercer.kernels import (
    Columns,
    Constant,
    Cosine,
    Exp,
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    Normalized,
    Polynomial,
    PolynomialOf,
    Power,
    Product,
    Scaled,
    Sigmoid,
    Sum,
)

a, b, c = Gaussian(1.5), Polynomial(2, 1.0, 0.5), Laplacian(2.0)


@pytest.fixture
def X(points):
    return points(7)


@pytest.fixture
def Z(points):
    return points(5)


# What the operators mean


def test_sum_adds(X, Z):
    assert_allclose((a + b)(X, Z), a(X, Z) + b(X, Z), rtol=1e-12)


def test_product_multiplies(X, Z):
    assert_allclose((a * b)(X, Z), a(X, Z) * b(X, Z), rtol=1e-12)


def test_factor_scales_from_either_side(X, Z):
    assert_allclose((2.5 * a)(X, Z), 2.5 * a(X, Z), rtol=1e-12)
    assert a * 2.5 == 2.5 * a


def test_power_multiplies_with_itself(X, Z):
    assert_allclose((b**3)(X, Z), b(X, Z) ** 3, rtol=1e-12)
    assert (b**1)(X, Z) == pytest.approx(b(X, Z))


def test_exp_is_elementwise(X, Z):
    assert_allclose(a.exp()(X, Z), np.exp(a(X, Z)), rtol=1e-12)


def test_polynomial_starts_with_the_constant(X, Z):
    K = a(X, Z)
    assert_allclose(a.polynomial([0.5, 2.0, 3.0])(X, Z), 0.5 + 2.0 * K + 3.0 * K**2, rtol=1e-12)
    assert_allclose(a.polynomial([0.5])(X, Z), np.full(K.shape, 0.5))


def test_normalized_divides_by_the_diagonals(X, Z):
    expected = b(X, Z) / np.sqrt(np.outer(b.diagonal(X), b.diagonal(Z)))
    assert_allclose(b.normalized()(X, Z), expected, rtol=1e-12)
    assert_allclose(b.normalized().diagonal(X), np.ones(len(X)), rtol=1e-14)


def test_scaled_by_multiplies_both_sides(X, Z):
    def f(X):
        return X[:, 0]

    assert_allclose(a.scaled_by(f)(X, Z), f(X)[:, None] * a(X, Z) * f(Z), rtol=1e-12)


def test_after_maps_both_sides(X, Z):
    def g(X):
        return np.hstack([X, X**2])

    assert_allclose(a.after(g)(X, Z), a(g(X), g(Z)), rtol=1e-12)


def test_on_selects_columns_in_the_given_order(X, Z):
    assert_allclose(a.on(2, 0)(X, Z), a(X[:, [2, 0]], Z[:, [2, 0]]), rtol=1e-12)
    ordered = Gaussian((0.5, 2.0))
    assert_allclose(ordered.on(2, 0)(X, Z), ordered(X[:, [2, 0]], Z[:, [2, 0]]), rtol=1e-12)


def test_on_counts_from_the_end(X, Z):
    assert_allclose(a.on(-1)(X, Z), a(X[:, [-1]], Z[:, [-1]]), rtol=1e-12)


def test_on_selects_by_name(X):
    table = {"x": X[:, 0], "y": X[:, 1], "z": X[:, 2]}
    assert_allclose(a.on("z", "x")(table), a(X[:, [2, 0]]), rtol=1e-12)


def test_on_of_on_counts_within_the_first_selection(X):
    assert_allclose(a.on(1).on(2, 0)(X), a(X[:, [0]]), rtol=1e-12)


def test_columns_of_a_sum_are_those_of_its_terms(X):
    assert_allclose((a + b).on(1, 2)(X), (a.on(1, 2) + b.on(1, 2))(X), rtol=1e-12)


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        (a * b + c, lambda A, B, C: A * B + C),
        (c + a * b, lambda A, B, C: C + A * B),
        ((a + b) * c, lambda A, B, C: (A + B) * C),
        (c * (a + b), lambda A, B, C: C * (A + B)),
        ((a * b) ** 2 + c, lambda A, B, C: (A * B) ** 2 + C),
        (2.0 * (a + b) * c, lambda A, B, C: 2.0 * (A + B) * C),
        (a + 2.0 * (b * c), lambda A, B, C: A + 2.0 * B * C),
        ((2.0 * a) ** 2 * b, lambda A, B, C: 4.0 * A**2 * B),
        (a.exp() * b + c.exp(), lambda A, B, C: np.exp(A) * B + np.exp(C)),
        ((a + b.normalized()) * c, None),
    ],
    ids=lambda value: str(value) if isinstance(value, Kernel) else "formula",
)
def test_nesting_two_levels_deep_means_what_it_says(kernel, expected, X, Z):
    if expected is None:
        B = b(X, Z) / np.sqrt(np.outer(b.diagonal(X), b.diagonal(Z)))
        value = (a(X, Z) + B) * c(X, Z)
    else:
        value = expected(a(X, Z), b(X, Z), c(X, Z))
    assert_allclose(kernel(X, Z), value, rtol=1e-12)


# Flattening


def test_sum_of_sums_is_one_sum():
    assert (a + b) + c == a + (b + c) == Sum((a, b, c))


def test_product_of_products_is_one_product():
    assert (a * b) * c == a * (b * c) == Product((a, b, c))


def test_product_inside_a_sum_stays_a_product():
    assert (a * b + c).terms == (Product((a, b)), c)


def test_sum_inside_a_product_stays_a_sum():
    assert ((a + b) * c).terms == (Sum((a, b)), c)


def test_scaled_sum_inside_a_sum_stays_scaled():
    assert (2.0 * (a + b) + c).terms == (Scaled(Sum((a, b)), 2.0), c)


def test_power_inside_a_product_stays_a_power():
    assert (a**2 * b).terms == (Power(a, 2), b)


def test_factors_of_factors_are_multiplied():
    assert 2.0 * (3.0 * a) == Scaled(a, 6.0)


def test_a_factor_is_scaled_and_no_product_with_a_constant():
    assert isinstance(2.0 * a, Scaled)
    assert (2.0 * a).kernel == a


def test_order_of_terms_is_kept():
    assert a + b != b + a


# Numbers and strangers


def test_a_number_added_is_a_constant_kernel(X):
    assert a + 1.0 == Sum((a, Constant(1.0)))
    assert 1 + a == Sum((Constant(1.0), a))
    assert_allclose((a + 1.0)(X), a(X) + 1.0, rtol=1e-14)


def test_zero_times_a_kernel_is_allowed_and_zero(X):
    assert not (0 * a)(X).any()


@pytest.mark.parametrize("number", [2, 2.0, np.float64(2.0), np.float32(2.0), np.int64(2)])
def test_any_real_number_is_a_factor(number):
    assert number * a == a * number == Scaled(a, 2.0)
    assert type((number * a).factor) is float


@pytest.mark.parametrize("stranger", ["a", None, [1.0], 1j, True, np.ones(2), np.ones((2, 2))])
@pytest.mark.parametrize("operator", ["+", "*"])
def test_strangers_are_refused_on_either_side(stranger, operator):
    for left, right in ((a, stranger), (stranger, a)):
        with pytest.raises(TypeError, match="kernels and numbers") as caught:
            left + right if operator == "+" else left * right
        assert "\n" not in str(caught.value)


def test_a_stranger_may_answer_itself():
    class Polite:
        def __radd__(self, other):
            return "added"

        def __rmul__(self, other):
            return "multiplied"

        def __rsub__(self, other):
            return "subtracted"

    assert a + Polite() == "added"
    assert a * Polite() == "multiplied"
    assert a - Polite() == "subtracted"


@pytest.mark.parametrize("other", [b, 2.0, 3, "a", None, True, 1j, np.ones((2, 2))], ids=repr)
def test_kernels_are_not_subtracted_or_divided_and_the_error_says_why(other):
    for attempt, reason in (
        (lambda: a - other, "a difference of kernels need not be a kernel"),
        (lambda: other - a, "a difference of kernels need not be a kernel"),
        (lambda: a / other, "a quotient of kernels need not be a kernel"),
        (lambda: other / a, "a quotient of kernels need not be a kernel"),
    ):
        with pytest.raises(TypeError, match=reason) as caught:
            attempt()
        assert "\n" not in str(caught.value)


def test_minus_a_kernel_is_no_kernel_and_the_error_says_why():
    with pytest.raises(TypeError, match="since kernels are positive semi-definite"):
        _ = -a


# What is refused where it is written


@pytest.mark.parametrize("factor", [-1.0, -1e-300, np.nan, np.inf])
def test_negative_or_infinite_factors_are_refused(factor):
    with pytest.raises(ValueError, match="Scaled: factor must"):
        factor * a


@pytest.mark.parametrize("exponent", [0, -1, 1.5, "2", True])
def test_powers_are_whole_numbers_of_at_least_one(exponent):
    message = f"Power: exponent must be a whole number of at least 1, got {exponent!r}"
    with pytest.raises(ValueError, match=message):
        a**exponent


@pytest.mark.parametrize("coefficients", [[1.0, -0.5], [], 3.0, [np.nan], "12"])
def test_coefficients_are_numbers_of_at_least_zero(coefficients):
    with pytest.raises(ValueError, match="PolynomialOf: coefficients must"):
        a.polynomial(coefficients)


def test_negative_coefficient_says_why():
    with pytest.raises(ValueError, match="must not be negative, or the result would not be a kern"):
        a.polynomial([1.0, -0.5])


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ((), "needs at least one column"),
        ((0, 0), "names a column twice"),
        ((1.5,), "takes column names or whole numbers, got 1.5"),
        ((True,), "takes column names or whole numbers, got True"),
        ((None,), "takes column names or whole numbers, got None"),
    ],
)
def test_columns_are_names_or_whole_numbers(columns, message):
    with pytest.raises(ValueError, match=message):
        a.on(*columns)


def test_terms_must_be_kernels():
    with pytest.raises(ValueError, match="Sum: a term must be a kernel, got 3"):
        Sum((a, 3))
    with pytest.raises(ValueError, match="Sum needs at least one term, got none"):
        Sum(())


def test_functions_must_be_functions():
    with pytest.raises(ValueError, match="After: g must be a function, got 3"):
        a.after(3)
    with pytest.raises(ValueError, match="ScaledBy: f must be a function, got 3"):
        a.scaled_by(3)


def test_function_of_the_wrong_length_is_refused(X):
    with pytest.raises(ValueError, match=r"f\(X\) in scaled_by must have shape \(7,\), got \(6,\)"):
        a.scaled_by(lambda X: X[:-1, 0])(X)
    with pytest.raises(ValueError, match="turned 7 rows into 6; it must keep the rows"):
        a.after(lambda X: X[:-1])(X)


# Normalisation and distance


def test_normalized_is_zero_where_a_diagonal_is_zero():
    X = np.array([[0.0, 0.0], [1.0, 2.0]])
    for kernel in (Linear().normalized(), Cosine(), (0 * Linear()).normalized()):
        K = kernel(X)
        assert np.isfinite(K).all()
        assert K[0].tolist() == [0.0, 0.0]
        assert kernel.diagonal(X)[0] == 0.0


def test_normalized_of_a_negative_diagonal_is_zero():
    X = np.array([[0.0], [3.0]])
    assert_allclose(Linear(-1.0).normalized()(X), [[0.0, 0.0], [0.0, 1.0]], rtol=1e-15)


def test_normalized_of_a_sum_uses_the_diagonal_of_the_sum(X):
    K = (a + b)(X)
    d = np.sqrt(np.diagonal(K))
    assert_allclose((a + b).normalized()(X), K / d[:, None] / d, rtol=1e-12)


def test_distance_is_that_of_features(X, Z):
    expected = np.sqrt(2.0 - 2.0 * a(X, Z))
    assert_allclose(a.distance(X, Z), expected, rtol=1e-7)


def test_distance_of_rows_from_themselves_is_zero(X):
    assert not np.diagonal(b.distance(X)).any()
    assert_allclose(b.distance(X), b.distance(X, X.copy()), atol=1e-6)


def test_distance_is_clamped_at_zero_where_a_kernel_is_none(X):
    D = Sigmoid().distance(10.0 * X)
    assert np.isfinite(D).all()
    assert (D >= 0.0).all()


# Any expression keeps the rules

leaves = st.sampled_from([a, b, c, Linear(), Constant(0.5), Cosine()])
expressions = st.recursive(
    leaves,
    lambda k: st.one_of(
        st.builds(lambda x, y: x + y, k, k),
        st.builds(lambda x, y: x * y, k, k),
        st.builds(lambda x, f: f * x, k, st.floats(0.0, 3.0)),
        st.builds(Power, k, st.integers(1, 3)),
        st.builds(Normalized, k),
        st.builds(lambda x: Exp(0.01 * x), k),
        st.builds(lambda x: PolynomialOf(x, (0.5, 1.0)), k),
        st.builds(lambda x: Columns(x, (0, 1, 2)), k),
    ),
    max_leaves=5,
)


@settings(max_examples=60, deadline=None)
@given(expressions)
def test_every_expression_is_proved_and_positive_semi_definite(kernel):
    X = np.random.default_rng(1).normal(size=(6, 3))
    assert kernel.check().status == "PROVED"
    K = kernel(X)
    size = np.sqrt(np.maximum(np.diagonal(K), 1e-300))
    assert np.linalg.eigvalsh(K / size[:, None] / size)[0] > -1e-9


@pytest.mark.parametrize("factor", [5e-324, 1e-310, 1e-300, 1e300])
def test_normalised_values_are_numbers_however_small_or_large_the_diagonal_is(factor, points):
    X = points(6)
    K = (factor * Gaussian(1.5)).normalized()(X)
    # A diagonal that is no normal number has lost its digits, and counts as zero.
    expected = Gaussian(1.5)(X) if factor >= 1e-300 else np.zeros((6, 6))
    assert_allclose(K, expected, rtol=1e-12)
