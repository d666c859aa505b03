import math
import re

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st

import mercer
from catalogue import ARD, COMPOSITE, SIMPLE
from mercer.kernels import (
    AdditiveChi2,
    Bilinear,
    Chi2,
    Constant,
    Cosine,
    Exponential,
    FromFeatures,
    FromFunction,
    Gaussian,
    InverseMultiquadric,
    Laplacian,
    Linear,
    Matern32,
    Matern52,
    Periodic,
    Polynomial,
    Precomputed,
    RationalQuadratic,
    Sigmoid,
    Sobolev,
    Sum,
)
from strategies import composites

g, h = Gaussian(), Linear()
EXP = r"\exp\left(-\frac{\lVert x - z\rVert^{2}}{2}\right)"


# LaTeX: what single kernels look like


@pytest.mark.parametrize(
    ("k", "formula"),
    [
        (Gaussian(), EXP),
        (Gaussian(3.0), r"\exp\left(-\frac{\lVert x - z\rVert^{2}}{18}\right)"),
        (Gaussian(0.7), r"\exp\left(-\frac{\lVert x - z\rVert^{2}}{0.98}\right)"),
        (Gaussian(0.1), r"\exp\left(-50 \, \lVert x - z\rVert^{2}\right)"),
        (Gaussian(1e-5), r"\exp\left(-5 \cdot 10^{9} \, \lVert x - z\rVert^{2}\right)"),
        (Gaussian.from_gamma(0.1), r"\exp\left(-0.1 \, \lVert x - z\rVert^{2}\right)"),
        (Exponential(2.0), r"\exp\left(-\frac{\lVert x - z\rVert}{2}\right)"),
        (Laplacian(3.0), r"\exp\left(-\frac{\lVert x - z\rVert_1}{3}\right)"),
        (
            Matern32(),
            r"\left(1 + \sqrt{3} \, \lVert x - z\rVert\right) \, "
            r"\exp\left(-\sqrt{3} \, \lVert x - z\rVert\right)",
        ),
        (
            Matern52(),
            r"\left(1 + \sqrt{5} \, \lVert x - z\rVert + \frac{5 \, \lVert x - z\rVert^{2}}{3}"
            r"\right) \, \exp\left(-\sqrt{5} \, \lVert x - z\rVert\right)",
        ),
        (
            RationalQuadratic(1.0, 2.0),
            r"\frac{1}{\left(1 + \frac{\lVert x - z\rVert^{2}}{4}\right)^{2}}",
        ),
        (InverseMultiquadric(1.5), r"\frac{1}{\sqrt{\lVert x - z\rVert^{2} + 1.5}}"),
        (
            Periodic(1.0, 7.0),
            r"\exp\left(-2 \, \sum_j \sin^2(\pi (x_j - z_j) / 7)\right)",
        ),
        (Linear(), r"x^\top z"),
        (Linear(-1.0), r"x^\top z - 1"),
        (Polynomial(3, 1.0, 2.0), r"\left(2 \, x^\top z + 1\right)^{3}"),
        (Sigmoid(), r"\tanh\left(x^\top z\right)"),
        (Cosine(), r"\frac{x^\top z}{\lVert x\rVert \, \lVert z\rVert}"),
        (
            Bilinear([[1, 0.5], [0.5, 2]]),
            r"x^\top \begin{pmatrix} 1 & 0.5 \\ 0.5 & 2 \end{pmatrix} z",
        ),
        (Bilinear(np.eye(7)), r"x^\top A z"),
        (Chi2(0.3), r"\exp\left(-0.3 \, \sum_j \frac{(x_j - z_j)^2}{x_j + z_j}\right)"),
        (AdditiveChi2(), r"-\sum_j \frac{(x_j - z_j)^2}{x_j + z_j}"),
        (Sobolev(), r"\prod_j \min(x_j, z_j)"),
        (Constant(2.5), "2.5"),
        (Precomputed(), "k(x, z)"),
        (FromFunction(np.inner), "k(x, z)"),
        (FromFeatures(np.sign), r"\operatorname{sign}(x)^\top \operatorname{sign}(z)"),
        (FromFeatures(lambda X: X), r"g(x)^\top g(z)"),
    ],
    ids=str,
)
def test_the_formula_of_a_kernel(k, formula):
    assert k.latex() == formula


# LaTeX: parameters that data decide, and columns


@pytest.mark.parametrize(
    ("k", "formula"),
    [
        (
            Gaussian("median"),
            r"\exp\left(-\frac{\lVert x - z\rVert^{2}}{2 \, \ell_{\mathrm{median}}^{2}}\right)",
        ),
        (Gaussian("columns"), r"\exp\left(-\frac{\lVert x - z\rVert^{2}}{d}\right)"),
        (Laplacian("columns"), r"\exp\left(-\frac{\lVert x - z\rVert_1}{d}\right)"),
        (Polynomial(2, 1.0, "columns"), r"\left(\frac{x^\top z}{d} + 1\right)^{2}"),
        (
            Gaussian("variance"),
            r"\exp\left(-\frac{\lVert x - z\rVert^{2}}{d \, \operatorname{var}(X)}\right)",
        ),
        (
            2 * (Gaussian("columns") * h),
            r"2 \, \exp\left(-\frac{\lVert x - z\rVert^{2}}{d}\right) \, x^\top z",
        ),
    ],
    ids=str,
)
def test_a_parameter_that_data_decide_is_a_symbol(k, formula):
    assert k.latex() == formula


@pytest.mark.parametrize(
    ("k", "formula"),
    [
        (h.on("age"), r"x_{\text{age}}^\top z_{\text{age}}"),
        (h.on(0, 2), r"x_{0,\, 2}^\top z_{0,\, 2}"),
        (
            h.on("a_b", "50 %"),
            r"x_{\text{a\_b},\, \text{50 \%}}^\top z_{\text{a\_b},\, \text{50 \%}}",
        ),
        (h.on(-1).on("a", "b"), r"x_{\text{b}}^\top z_{\text{b}}"),
        (Sobolev().on(0, 1), r"\prod_{j \in \{0,\, 1\}} \min(x_j, z_j)"),
        (h.after(np.sign).on(1), r"\operatorname{sign}(x_1)^\top \operatorname{sign}(z_1)"),
        (h.on(1).after(np.sign), r"\operatorname{sign}(x)_1^\top \operatorname{sign}(z)_1"),
    ],
    ids=str,
)
def test_columns_are_subscripts(k, formula):
    assert k.latex() == formula


def test_many_columns_are_cut_short():
    assert r"z_{0,\, 1,\, 2,\, 3,\, 4,\, \dots}" in h.on(*range(9)).latex()


def test_long_names_of_columns_are_cut_short_earlier():
    k = h.on("mean radius", "mean texture", "mean perimeter")
    assert r"z_{\text{mean radius},\, \dots}" in k.latex()
    assert (
        r"z_{\text{a name that is longer than an index}}"
        in h.on("a name that is longer than an index").latex()
    )


def test_length_scales_of_few_columns_are_written_out():
    assert Gaussian((1.0, 2.0)).on("age", "bmi").latex() == (
        r"\exp\left(-\frac{1}{2} \, \left(\left(x_{\text{age}} - z_{\text{age}}\right)^{2} + "
        r"\frac{\left(x_{\text{bmi}} - z_{\text{bmi}}\right)^{2}}{4}\right)\right)"
    )


def test_length_scales_of_many_columns_are_symbols():
    assert Laplacian((1.0, 2.0, 3.0, 4.0, 5.0)).latex() == (
        r"\exp\left(-\sum_j \frac{\lvert x_j - z_j\rvert}{\ell_j}\right)"
    )


# LaTeX: composition


@pytest.mark.parametrize(
    ("k", "formula"),
    [
        (0.1 * g + h + 3, rf"0.1 \, {EXP} + x^\top z + 3"),
        (0.5 * (g + h), rf"\frac{{1}}{{2}} \, \left({EXP} + x^\top z\right)"),
        (g * h, rf"{EXP} \, x^\top z"),
        (h**3, r"\left(x^\top z\right)^{3}"),
        (h * h, r"\left(x^\top z\right)^{2}"),
        (g + g, rf"2 \, {EXP}"),
        (0 * g, "0"),
        (h.exp(), r"\exp\left(x^\top z\right)"),
        (h.polynomial([1, 2, 3]), r"3 \, \left(x^\top z\right)^{2} + 2 \, x^\top z + 1"),
        (
            Linear(1).polynomial([0, 2, 3]),
            r"3 \, \left(x^\top z + 1\right)^{2} + 2 \, \left(x^\top z + 1\right)",
        ),
        (g.normalized(), EXP),
        (
            Polynomial().normalized(),
            r"\frac{\left(x^\top z + 1\right)^{2}}"
            r"{\left(\lVert x\rVert^{2} + 1\right) \, \left(\lVert z\rVert^{2} + 1\right)}",
        ),
        (
            FromFunction(np.inner).normalized(),
            r"\frac{k(x, z)}{\sqrt{k(x, x) \, k(z, z)}}",
        ),
        (h.scaled_by(np.sign), r"\operatorname{sign}(x) \, x^\top z \, \operatorname{sign}(z)"),
        (Sobolev() * h, r"\left(\prod_j \min(x_j, z_j)\right) \, x^\top z"),
    ],
    ids=str,
)
def test_the_formula_of_a_composition(k, formula):
    assert k.latex() == formula


def test_a_long_sum_has_a_formula():
    assert Sum((Linear(1.0),) * 2000).latex() == r"2000 \, x^\top z + 2000"


# LaTeX: the formula is true. A small reader evaluates it, and finds the value of the kernel.

READ = [
    (r"\lVert x - z\rVert_1", "N1"),
    (r"\lVert x - z\rVert", "N2"),
    (r"\lVert x\rVert", "NX"),
    (r"\lVert z\rVert", "NZ"),
    (r"x^\top z", "(DOT)"),
    (r"\left", ""),
    (r"\right", ""),
    (r"\,", "*"),
    (r"\cdot", "*"),
    (r"\exp", "exp"),
    (r"\tanh", "tanh"),
    (r"\sqrt", "sqrt"),
]


def evaluated(formula, x, z):
    for latex, python in READ:
        formula = formula.replace(latex, python)
    formula = formula.replace("^", "**").replace(r"\frac", "").replace("}{", ")/(")
    formula = formula.replace("{", "(").replace("}", ")")
    names = {
        "N1": np.abs(x - z).sum(),
        "N2": np.linalg.norm(x - z),
        "NX": np.linalg.norm(x),
        "NZ": np.linalg.norm(z),
        "DOT": x @ z,
        "exp": math.exp,
        "tanh": math.tanh,
        "sqrt": math.sqrt,
    }
    return eval(formula, {"__builtins__": {}}, names)


clean = st.sampled_from([0.5, 1.0, 1.5, 2.0, 3.0])
readable = st.recursive(
    st.one_of(
        st.builds(Gaussian, clean),
        st.builds(Exponential, clean),
        st.builds(Laplacian, clean),
        st.builds(Matern32, clean),
        st.builds(Matern52, clean),
        st.builds(RationalQuadratic, clean, clean),
        st.builds(InverseMultiquadric, clean),
        st.builds(Linear, clean),
        st.builds(Polynomial, st.integers(1, 3), clean, clean),
        st.builds(Sigmoid, clean, clean),
        st.builds(Constant, clean),
        st.just(Cosine()),
    ),
    lambda parts: st.one_of(
        st.builds(lambda a, b: a + b, parts, parts),
        st.builds(lambda a, b: a * b, parts, parts),
        st.builds(lambda a, c: c * a, parts, clean),
        st.builds(lambda a, n: a**n, parts, st.integers(1, 3)),
        st.builds(lambda a: (0.125 * a.normalized()).exp(), parts),
        st.builds(lambda a: a.normalized(), parts),
        st.builds(lambda a, c: a.polynomial(c), parts, st.lists(clean, min_size=1, max_size=3)),
    ),
    max_leaves=5,
)


@given(readable)
@settings(max_examples=300, deadline=None)
def test_the_formula_has_the_value_of_the_kernel(k):
    x, z = np.array([0.3, -0.5, 0.4]), np.array([0.2, 0.1, 0.6])
    value = k(x[None], z[None])[0, 0]
    assume(abs(value) < 1e100)
    # Numbers of many digits are rounded to six, and powers multiply that error.
    assert evaluated(k.latex(), x, z) == pytest.approx(value, rel=1e-2)


def is_balanced(formula):
    depth = 0
    for brace in re.findall(r"(?<!\\)[{}]", formula):
        depth += 1 if brace == "{" else -1
        if depth < 0:
            return False
    return depth == 0 and formula.count(r"\left(") == formula.count(r"\right)")


# Length scales within reason: squares of extreme ones leave the range of floats.
ordinary = st.one_of(
    st.floats(1e-100, 1e100),
    st.just("median"),
    st.lists(st.floats(0.1, 9.0), min_size=1).map(tuple),
)
formulas = st.recursive(
    st.one_of(
        st.builds(Gaussian, ordinary),
        st.builds(Laplacian, ordinary),
        st.builds(RationalQuadratic, ordinary),
        st.sampled_from([Cosine(), Sobolev(), AdditiveChi2(), Precomputed(), Periodic()]),
        st.builds(Linear, st.floats(allow_nan=False, allow_infinity=False)),
        st.builds(Bilinear, st.just(((1.0, 0.0), (0.0, 2.0)))),
    ),
    composites,
    max_leaves=6,
)


@given(formulas)
@settings(max_examples=300, deadline=None)
def test_the_brackets_of_any_formula_match(k):
    assert is_balanced(k.latex())


@pytest.mark.parametrize("k", [*SIMPLE, *ARD, *COMPOSITE], ids=str)
def test_a_notebook_gets_the_formula_in_dollars(k):
    assert k._repr_latex_() == f"${k.latex()}$"


def test_columns_of_a_row_with_a_long_name_are_under_a_summation_sign():
    scales = (1.0, 2.0, 3.0)
    short = Gaussian(scales).on("a", "b", "c").latex()
    assert r"\sum" not in short and r"x_{\text{a}}" in short
    long = Gaussian(scales).after(mercer.Standardize()).on("area", "year", "tax").latex()
    assert r"\sum_j" in long and r"\ell_j" in long
