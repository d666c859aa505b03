"""A kernel with a place for missing cells."""

import numpy as np
import polars as pl
import pytest

from mercer import describe_columns, kernel
from mercer.kernels.tables.imputed import imputed

TABLE = pl.DataFrame(
    {
        "a": [1.0, None, 3.0, 5.0],
        "b": [1.0, 2.0, None, 6.0],
        "site": ["x", None, "y", "x"],
        "day": ["2020-01-01", None, "2020-05-01", "2021-01-01"],
        "note": ["foo bar", None, "bar baz", "one two three"],
    }
)
KERNELS = [
    "gaussian(1.0).on(a) + match.on(site)",
    "gaussian([1.0, 2.0]).on(a, b)",
    "2 * gaussian(2.0)",
    "linear * match.on(site)",
    "gaussian.after(standardize()).on(a)",
    "(gaussian(1.0) * linear).on(a, b)",
    "gaussian(1.0).on(a).normalized()",
    "words.on(note) + linear.on(a)",
    "gaussian.after(calendar()).on(day)",
    "(gaussian(1.0).after(standardize(missing='mean')) + linear).on(a, b)",
    "((gaussian(1.0).after(standardize(missing='mean')) + linear) * gaussian(2.0)).on(a, b)",
    "(linear * gaussian(1.0).after(standardize(missing='mean'))).normalized().on(a)",
    "(match(missing='own-category') + match).on(site)",
    "gaussian.after(standardize(missing='mean')).after(standardize()).on(a)",
    "(gaussian.after(standardize(missing='mean')) + linear).after(normal_scores()).on(a, b)",
]


@pytest.mark.parametrize("expression", KERNELS)
def test_imputed_kernel_takes_gaps_and_is_the_same_on_rows_without_them(expression):
    k = kernel(expression)
    found = imputed(k, TABLE).resolved(TABLE)(TABLE)
    assert np.isfinite(found).all()
    whole = TABLE[[0, 3]]
    if "standardize" not in expression and "calendar" not in expression:
        np.testing.assert_allclose(
            found[np.ix_([0, 3], [0, 3])], describe_columns(whole, k).kernel.resolved(whole)(whole)
        )


def test_missing_number_stands_at_the_mean_of_its_column():
    k = imputed(kernel("linear.on(a)"), TABLE)
    assert k(TABLE)[0, 1] == 1.0 * 3.0


def test_part_with_a_place_for_gaps_keeps_it():
    k = kernel("gaussian.after(standardize(missing='mean')).on(a)")
    assert imputed(k, TABLE) == k
    mixed = imputed(kernel("(gaussian.after(standardize(missing='mean')) + linear).on(a)"), TABLE)
    assert mixed.kernel.terms[0] == k.kernel
