"""A kernel in the words of a sentence names its families and the columns that they read."""

import pytest

import mercer
from mercer.kernels.language.outline import outline


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("gaussian(2.0)", "gaussian"),
        ("3 * gaussian(2.0) + 5", "gaussian"),
        ("gaussian.on(a, b, c, d)", "gaussian of a, b, c and d"),
        ("gaussian.on(a, b, c, d, e)", "gaussian of a, b, c and 2 more"),
        ("gaussian(1.0).on(a) + gaussian(2.0).on(a)", "gaussian of a"),
        ("gaussian.on(a) + linear + matern32.on(a)", "(gaussian + matern32) of a + linear"),
        ("gaussian.on(a) * (2 * match.on(c) + 5)", "gaussian of a × match of c"),
        ("linear * (match.on(c) + match.on(d))", "linear × (match of c + match of d)"),
        ("gaussian.after(normal_scores()).after(standardize()).on(a)", "gaussian of ranks of a"),
        ("gaussian.after(calendar()).on(day)", "gaussian of the calendar of day"),
        ("(gaussian + linear).on(a)", "(gaussian + linear) of a"),
        ("spectrum(3).normalized()", "normalized(spectrum)"),
        ("constant(2.0)", "constant"),
    ],
)
def test_an_outline_names_families_and_columns(expression, said):
    assert outline(mercer.kernel(expression)) == said
