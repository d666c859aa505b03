"""The code of a page makes its model again, or says how far it does not."""

import numpy as np
import pytest

import mercer
from mercer.reports.page.again import code
from mercer.reports.page.facts import Facts


@pytest.mark.parametrize("columns", [2, 60])
def test_code_has_the_numbers_of_maps_that_are_of_some_rows_or_says_that_it_takes_others(
    columns, rng
):
    X, y = rng.normal(size=(300, columns)), rng.normal(size=300)
    k = mercer.kernel("gaussian(3.0).after(normal_scores())")
    model = mercer.KernelRidge(k.resolved(X[:200]), 0.1).fit(X, y)
    lines, made = code(Facts(model)), {"X": X, "y": y}
    exec(lines.rsplit("mercer.report", 1)[0], made)
    is_told = "# predictions differ by a little." in lines
    assert is_told == (columns == 60)
    assert np.array_equal(made["model"].predict(X), model.predict(X)) != is_told
    again = mercer.KernelRidge(k, 0.1).fit(X, y)
    assert "normal_scores()" in code(Facts(again)) and "differ" not in code(Facts(again))
