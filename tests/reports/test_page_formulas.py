"""Formulas on a page: MathML of every kernel, and names of columns as their text."""

import re
from xml.etree import ElementTree

import pytest

import mercer
from mercer.reports.page.mathml import in_factors, mathml
from mercer.reports.page.sections import _formula

FORMULAS = [
    "gaussian(2.0)",
    "gaussian([1, 2, 3, 4, 5.0])",
    "laplacian",
    "chi2",
    "additive_chi2",
    "sigmoid",
    "periodic",
    "rational_quadratic",
    "polynomial(3)",
    "sobolev",
    "cosine",
    "inverse_multiquadric",
    "bilinear([[2, 1], [1, 2]])",
    "(1 + gaussian) ** 2",
    "linear.exp()",
    "words",
    "mismatch(k=3)",
    "gapped_kmer(4, 2)",
    "edit_distance",
    "subsequence",
]
EVIL = "<script>alert(1)</script>\\}{$&%_^~'\"</math><img src=x onerror=alert(2)>"


def test_the_text_of_a_formula_is_what_the_column_is_called():
    for name in (EVIL, "a b", "x_1^2", "\\", "{", "}", "50 %", "~"):
        found = mathml(mercer.Gaussian(1.0).on(name).latex())
        tree = ElementTree.fromstring(found)
        assert {element.text for element in tree.iter("mtext")} == {name}


@pytest.mark.parametrize("kernel", FORMULAS)
def test_every_formula_becomes_well_formed_mathml_without_commands(kernel):
    latex = mercer.kernel(kernel).latex()
    found = mathml(latex)
    text = "".join(ElementTree.fromstring(found).itertext())
    assert "\\" not in text
    numbers = re.findall(r"\d+(?:\.\d+)?", latex)
    assert (
        re.findall(r"\d+(?:\.\d+)?", " ".join(ElementTree.fromstring(found).itertext())) == numbers
    )


def test_scripts_fractions_and_roots_are_set():
    assert mathml("x^{2}_i") == (
        '<math displaystyle="true"><msubsup><mi>x</mi><mi>i</mi><mn>2</mn></msubsup></math>'
    )
    assert "<mfrac><mn>1</mn><mn>2</mn></mfrac>" in mathml(r"\frac{1}{2}")
    assert "<msqrt><mi>x</mi></msqrt>" in mathml(r"\sqrt{x}")
    assert mathml(r"\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}").count("<mtd>") == 4


def test_a_product_is_a_row_of_factors_between_which_a_line_may_end():
    k = 0.5 * (mercer.Gaussian(1.0).on("a") * (1.0 + mercer.Match().on("b")))
    assert in_factors(k.latex()).count(" <math") == 2
    assert in_factors("x").count("<math") == 1


def test_brackets_around_what_is_high_are_as_high():
    text = mathml(r"k(x, z) = \exp\left(-\frac{x}{2}\right)^{2}")
    assert text.count('<mo stretchy="false">') == 2
    assert "<msup><mrow><mo>(</mo>" in text and "<mo>)</mo></mrow><mn>2</mn></msup>" in text


def test_factors_that_are_multiplied_out_have_four_digits():
    text = _formula(0.12345 * (0.23456 * mercer.Gaussian(1.0) + mercer.Linear()))
    assert "<mn>0.02896</mn>" in text and "<mn>0.1235</mn>" in text


def test_a_factor_before_a_sum_is_multiplied_out_into_lines():
    k = mercer.Gaussian(1.0) + 0.5 * (mercer.Linear() + 4.0 * mercer.Exponential(2.0))
    assert _formula(k).count("<div>") == 3


def test_a_sum_of_many_terms_is_cut_short_and_says_so():
    text = _formula(sum((mercer.Gaussian(1.0 + i) for i in range(20)), mercer.Linear()))
    assert text.count("<div>") == 13
    assert "9 terms more" in text
