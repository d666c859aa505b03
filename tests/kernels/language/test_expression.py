from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings

from catalogue import ARD, COMPOSITE, SIMPLE
from mercer.errors import KernelSyntaxError
from mercer.kernels import (
    AdditiveChi2,
    Bilinear,
    Constant,
    Cosine,
    Exp,
    FromFeatures,
    FromFunction,
    Gaussian,
    InverseMultiquadric,
    Kernel,
    Laplacian,
    Linear,
    Matern32,
    Normalized,
    Polynomial,
    PolynomialOf,
    Precomputed,
    Product,
    RationalQuadratic,
    Scaled,
    Sum,
    kernel,
)
from mercer.kernels.language.vocabulary import KERNELS
from strategies import ODD_NAMES, kernels

g, h, k = Gaussian(), Linear(), Polynomial()


def message(text):
    with pytest.raises(KernelSyntaxError) as caught:
        kernel(text)
    return str(caught.value)


# Round trip


@given(kernels)
@settings(max_examples=500, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_what_prints_reads_back_as_the_same_kernel(k):
    text = str(k)
    assume(len(text) <= 10_000)
    assert kernel(text) == k


@pytest.mark.parametrize("k", [*SIMPLE, *ARD, *COMPOSITE], ids=str)
def test_every_kernel_of_the_catalogue_reads_back(k):
    assert kernel(str(k)) == k


@pytest.mark.parametrize("name", ODD_NAMES, ids=ascii)
def test_an_odd_column_name_reads_back(name):
    assert kernel(str(h.on(name, 0, -1))) == h.on(name, 0, -1)


@pytest.mark.parametrize("value", [5e-324, 1.7976931348623157e308, 0.1 + 0.2, 1e22, 1e-7, 1 / 3])
def test_every_digit_of_a_number_reads_back(value):
    assert kernel(str(Gaussian(value))).length_scale == value


def test_a_numpy_column_name_prints_as_a_plain_one():
    assert str(h.on(np.str_("body mass"), np.int64(3))) == "linear(offset=0.0).on('body mass', 3)"


@pytest.mark.parametrize(
    "k",
    [
        g * h * k,
        g * (h + k),
        (g * h) ** 2,
        (g**2) ** 3,
        (2.0 * g) * h,
        h * (2.0 * g),
        2.0 * (g * h),
        (g + h).exp(),
        (g**2).normalized(),
        (2.0 * g).on("a"),
        g.exp().exp(),
        g.on(0).on("a"),
        Sum((g,)),
        Product((g,)),
        Sum((Product((Sum((g,)), h)),)),
        Scaled(g, -0.0),
        Constant(1.0) + Constant(2.0),
        g + 1.0,
        -3.0 + g,
    ],
    ids=str,
)
def test_brackets_are_printed_where_they_matter(k):
    assert kernel(str(k)) == k


@pytest.mark.parametrize("wrap", [Kernel.exp, lambda k: k**2, lambda k: (k * h) + h])
def test_the_deepest_nesting_reads_back(wrap):
    k = g
    for _ in range(24):
        k = wrap(wrap(k)) if wrap is Kernel.exp else wrap(k)
    assert kernel(str(k)) == k


# Meaning


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("gaussian", Gaussian(1.0)),
        ("gaussian()", Gaussian(1.0)),
        ("gaussian(2)", Gaussian(2.0)),
        ("gaussian(length_scale=(1.0, 2.0))", Gaussian((1.0, 2.0))),
        ("gaussian(length_scale=[1.0, 2.0,])", Gaussian((1.0, 2.0))),
        ("gaussian((3.0))", Gaussian(3.0)),
        ("gaussian((3.0,))", Gaussian((3.0,))),
        ("gaussian('median')", Gaussian("median")),
        ('gaussian(length_scale="columns")', Gaussian("columns")),
        ("polynomial(3, offset=.5)", Polynomial(3, 0.5)),
        ("polynomial(3, -1, scale=-2e-1)", Polynomial(3, -1.0, -0.2)),
        ("bilinear(A=((1.0,0.0),(0.0,1.0)))", Bilinear(((1.0, 0.0), (0.0, 1.0)))),
        ("inverse_multiquadric(c=2)", InverseMultiquadric(2.0)),
        ("additive_chi2", AdditiveChi2()),
        ("matern32", Matern32()),
        ("rational_quadratic(mixture=2)", RationalQuadratic(1.0, 2.0)),
        ("precomputed()", Precomputed()),
        ("linear(offset=1+2*3)", Linear(7.0)),
        ("linear(offset=2**-1)", Linear(0.5)),
        ("linear(offset=-2**2)", Linear(-4.0)),
        ("2**3**2 * linear", 512.0 * h),
        ("2*3*linear", 6.0 * h),
        ("2*linear*3", 6.0 * h),
        ("--2*linear", 2.0 * h),
        ("0*linear", 0 * h),
        ("2 + 3 + linear", 5.0 + h),
        ("linear + 2 + 3", h + 2.0 + 3.0),
        ("linear + -1", h + -1.0),
        ("linear * gaussian + cosine", h * g + Cosine()),
        ("linear * (gaussian + cosine)", h * (g + Cosine())),
        ("2*linear**2", 2.0 * h**2),
        ("linear**2.0", h**2),
        ("linear ** 2 ** 3", h**8),
        ("0.5*linear*gaussian", (0.5 * h) * g),
        ("linear.on(age)", h.on("age")),
        ("linear.on(age, 'body mass', 0, -1,)", h.on("age", "body mass", 0, -1)),
        ("linear.on(True, gaussian, größe)", h.on("True", "gaussian", "größe")),
        (r"linear.on('a\n\t\r\\\'\"\x41\u00e9\U0001f600')", h.on("a\n\t\r\\'\"Aé😀")),
        ("linear.exp().normalized()", Normalized(Exp(h))),
        ("linear.polynomial([1, 0, 2])", PolynomialOf(h, (1.0, 0.0, 2.0))),
        ("linear.polynomial(coefficients=(1,))", PolynomialOf(h, (1.0,))),
        ("(linear + gaussian).on(0)", (h + g).on(0)),
        ("sum(linear, gaussian)", h + g),
        ("product(linear, 2*gaussian)", h * (2.0 * g)),
        (" linear\n +\tgaussian ", h + g),
    ],
)
def test_an_expression_means_what_python_means(text, expected):
    assert kernel(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("rbf(2.0)", Gaussian(2.0)),
        ("poly(3)", Polynomial(3)),
        ("gaussian(gamma=0.125)", Gaussian(2.0)),
        ("gaussian(sigma=3)", Gaussian(3.0)),
        ("gaussian(beta=0.25)", Gaussian(2.0)),
        ("rbf(gamma=0.125)", Gaussian(2.0)),
        ("laplacian(gamma=0.5)", Laplacian(2.0)),
    ],
)
def test_an_alias_means_its_kernel(text, expected):
    assert kernel(text) == expected


def test_the_example_of_the_design_reads():
    k = kernel("0.5*gaussian(gamma=0.1).on(age) + linear(offset=1).on(bmi)")
    assert k == 0.5 * Gaussian.from_gamma(0.1).on("age") + Linear(1.0).on("bmi")


@pytest.mark.parametrize("name", sorted(KERNELS))
def test_every_name_is_a_class_in_snake_case(name):
    assert name.replace("_", "") == KERNELS[name].__name__.lower()


def test_the_examples_of_the_documentation_read():
    page = (Path(__file__).parents[3] / "docs" / "expression.md").read_text(encoding="utf-8")
    examples = page.split("```text\n")[1].split("```")[0].splitlines()
    assert all(isinstance(kernel(example), Kernel) for example in examples)


def test_a_kernel_passes_through_unchanged():
    assert kernel(g) is g


@pytest.mark.parametrize("value", [None, 3, b"linear", ["linear"]], ids=repr)
def test_what_is_neither_text_nor_kernel_is_a_type_error(value):
    with pytest.raises(TypeError, match=f"got {type(value).__name__}"):
        kernel(value)


# Functions


def double(X):
    return 2.0 * X


@pytest.mark.parametrize(
    ("k", "text"),
    [
        (FromFunction(double), "from_function(f=<double>, pairwise=False)"),
        (FromFeatures(lambda X: X), "from_features(phi=<lambda>)"),
        (h.after(double), "linear(offset=0.0).after(<double>)"),
        (h.scaled_by(double) + 1.0, "linear(offset=0.0).scaled_by(<double>) + constant(value=1.0)"),
    ],
    ids=["FromFunction", "FromFeatures", "after", "scaled_by"],
)
def test_a_kernel_with_a_function_prints_readably(k, text):
    assert str(k) == text


@pytest.mark.parametrize(
    "k",
    [FromFunction(double), FromFeatures(double), h.after(double), h.scaled_by(double)],
    ids=str,
)
def test_a_kernel_with_a_function_is_refused_with_the_reason(k):
    assert "a Python function cannot be written as text" in message(str(k))


@pytest.mark.parametrize("text", ["from_function(1)", "from_features", "linear.after(1)"])
def test_a_name_that_needs_a_function_is_refused_with_the_reason(text):
    assert "a Python function cannot be written as text" in message(text)
