"""Effects of columns and categories on a function, and their ends."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import mercer
from mercer import KernelRidge, explain
from mercer.explanation.effects import effect_of
from mercer.explanation.importance import Change


def test_the_effect_of_a_category_that_matters_to_few_rows_lies_between_its_ends(rng):
    # The category moves f in 5 of 100 rows alone, fewer than lie beyond either end.
    table = pd.DataFrame({"site": ["a", "b"] * 50, "is_open": np.arange(100) >= 95})
    y = 10.0 * ((table.site == "b") & table.is_open)
    kernel = "match.on(site) * match.on(is_open)"
    explanation = explain(KernelRidge(kernel, alpha=1e-3).fit(table, y), table)
    rows = [row for row in explanation.categories if row.column == "site"]
    assert len(rows) == 2
    assert all(row.low <= row.effect <= row.high for row in rows)


def test_the_effect_of_a_column_is_the_mean_over_the_rows_with_that_value(rng):
    X = rng.normal(size=(30, 2))
    model = KernelRidge("gaussian(2.0)", 0.1).fit(X, X[:, 0] * X[:, 1])
    effect = effect_of(model.predict, X, 0, "first", points=5)
    for value, mean, low, high in zip(
        effect.values, effect.mean, effect.low, effect.high, strict=True
    ):
        answers = model.predict(np.column_stack([np.full(30, value), X[:, 1]]))
        assert mean == pytest.approx(answers.mean())
        assert (low, high) == pytest.approx(tuple(np.quantile(answers, [0.1, 0.9])))
    assert effect_of(model.predict, np.zeros((5, 2)), 0) is None


def test_a_linear_function_of_scores_has_its_slope_for_an_effect():
    random = np.random.default_rng(1)
    x = random.normal(size=(400, 1)) ** 3
    scores = mercer.NormalScores().resolved(x)(x)[:, 0]
    k = mercer.Linear().after(mercer.NormalScores())
    (row,) = mercer.explain(mercer.KernelRidge(k, 1e-6).fit(x, 3.0 * scores)).columns
    assert_allclose([row.importance, row.effect], 3.0, rtol=0.1)


def test_dates_that_are_text_have_an_effect_in_order():
    days = pd.date_range("2024-01-01", periods=120).strftime("%Y-%m-%d")
    table = pd.DataFrame({"day": np.resize(days[::10], 120), "x": np.arange(120.0)})
    found = effect_of(lambda rows: np.asarray(rows["x"], float), table, 0, "day")
    assert found.is_ordered
    assert found.values.dtype.kind == "M"


def test_an_effect_lies_between_its_ends_also_where_moves_differ_in_size():
    rng = np.random.default_rng(0)
    moves = rng.normal(size=300)
    values = np.where(np.abs(moves) > 1.5, 3.0, 0.1) * moves
    effect, low, high = Change(values[:, None], moves, 1.0).effect()
    assert effect == pytest.approx(moves @ values / (moves @ moves))
    assert low <= effect <= high


def test_an_effect_is_between_its_ends_at_80_percent_of_the_rows(rng):
    moves = rng.normal(size=500)
    slopes = rng.normal(2.0, 1.0, 500)
    _, low, high = Change((slopes * moves)[:, None], moves, 1.0).effect()
    assert (low, high) == pytest.approx(np.quantile(slopes, [0.1, 0.9], method="inverted_cdf"))
    assert np.mean((slopes >= low - 1e-9) & (slopes <= high + 1e-9)) == pytest.approx(0.8, abs=0.01)
    # A few long moves are a few rows, however much they weigh in the effect.
    moves[:20] *= 50.0
    slopes[:20] = 9.0
    effect, low, high = Change((slopes * moves)[:, None], moves, 1.0).effect()
    assert low < 1.5 < 8.0 < effect == high
