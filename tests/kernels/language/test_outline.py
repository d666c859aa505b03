"""A kernel in the words of a sentence names its families and the columns that they read."""

import pytest

import mercer
from mercer.kernels.language.outline import by_terms, outline


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
        ("spectrum(3).normalized()", "normalized spectrum"),
        ("match.on(a) ** 3 * gaussian.on(b)", "a power of match of a × gaussian of b"),
        ("(match.on(a) + linear.on(b)) ** 2", "a power of (match of a + linear of b)"),
        ("constant(2.0)", "constant"),
    ],
)
def test_an_outline_names_families_and_columns(expression, said):
    assert outline(mercer.kernel(expression)) == said


def test_a_long_kernel_is_read_by_its_terms_with_its_lists_counted():
    short = "gaussian(length_scale=2.0).on(a) + linear(offset=0.0)"
    assert by_terms(mercer.kernel(short)) == short
    mapped = "gaussian(length_scale=2.0).after(standardize(missing='mean')).on('a * b', c)"
    assert by_terms(mercer.kernel(f"{mapped} * match")).splitlines() == [
        "gaussian(length_scale=2.0).after(standardize(missing='mean'))",
        "  .on('a * b', c) * match(missing='refuse')",
    ]
    columns = [f"column_{i}" for i in range(30)]
    scales = [1.25 + i for i in range(30)]
    many = f"matern32(length_scale={scales}).on({', '.join(columns)})"
    k = mercer.kernel(f"0.3 * {many} + {short}")
    assert by_terms(k).splitlines() == [
        "0.3 * matern32(length_scale=[30 numbers]).on(30 columns)",
        "+ gaussian(length_scale=2.0).on(a)",
        "+ linear(offset=0.0)",
    ]
    # A sum that is long by its terms alone is written out.
    several = mercer.kernel(" + ".join(f"gaussian(1.0).on({name})" for name in columns))
    assert mercer.kernel(by_terms(several)) == several
