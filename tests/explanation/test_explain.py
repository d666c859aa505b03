"""The columns, directions and categories that a model has learned, as one table."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose
from sklearn.inspection import permutation_importance

import mercer
from mercer import (
    Gaussian,
    KernelLogisticRegression,
    KernelRidge,
    KernelSVC,
    KernelSVR,
    NormalScores,
    explain,
)
from mercer.errors import MemoryLimitError
from mercer.explanation.importance import Importance, deviations
from mercer.explanation.subject import Subject

COLUMNS = ["age", "site", "when", "gap", "flag", "text"]


def mixed(rng, n=80):
    when = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 700, n), "D")
    return pd.DataFrame(
        {
            "age": rng.normal(50.0, 10.0, n),
            "site": rng.choice(["a", "b", "c"], n),
            "when": when,
            "gap": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n)),
            "flag": rng.random(n) < 0.5,
            "text": ["".join(rng.choice(list("CNO"), 8)) for _ in range(n)],
        }
    )


def first(explanation, count):
    return {row.column for row in list(explanation)[:count]}


def test_the_importance_of_a_linear_function_is_its_weight_times_the_deviation(rng):
    X = rng.normal(size=(60, 3)) * [1.0, 5.0, 2.0]
    w = np.array([2.0, -1.0, 0.0])
    model = KernelRidge("linear", 1e-9).fit(X, X @ w + 3.0)
    rows = {row.column: row for row in explain(model).columns}
    for j in range(2):
        assert rows[j].importance == pytest.approx(abs(w[j]) * X[:, j].std(), rel=1e-5)
        assert rows[j].effect == pytest.approx(w[j] * X[:, j].std(), rel=1e-5)
        assert_allclose((rows[j].low, rows[j].high), rows[j].effect, rtol=1e-5)
    assert [row.column for row in explain(model)][:2] == [1, 0]


def test_importance_and_effect_are_how_f_moves_with_the_cell_of_another_row(rng):
    X = rng.normal(size=(50, 4)) * [1.0, 2.0, 3.0, 4.0]
    model = KernelRidge("gaussian(3.0)", 0.1).fit(X, np.sin(X[:, 0]) * X[:, 1])
    # 500 exchanges: each of 50 rows has the cells of ten others.
    random, rows = np.random.default_rng(0), np.tile(X, (10, 1))
    drawn = np.concatenate([random.permutation(50) for _ in range(10)])
    for row in explain(model).columns:
        j, other = row.column, rows.copy()
        other[:, j] = X[drawn, j]
        change, move = model.predict(other) - model.predict(rows), X[drawn, j] - rows[:, j]
        s = X[:, j].std()
        size = s * np.sqrt(np.sum(change**2) / np.sum(move**2))
        assert row.importance == pytest.approx(size, rel=1e-6)
        assert row.effect == pytest.approx(s * (move @ change) / (move @ move), rel=1e-6)
        is_moved = move != 0.0
        slopes = s * change[is_moved] / move[is_moved]
        below = [np.mean(slopes <= slope) for slope in slopes]
        ends = [min(slopes[np.array(below) >= share]) for share in (0.1, 0.9)]
        assert (row.low, row.high) == pytest.approx(tuple(ends), rel=1e-6)


def test_the_drawn_cells_stand_for_those_of_all_other_rows(rng):
    X = rng.normal(size=(50, 4)) * [1.0, 2.0, 3.0, 4.0]
    model = KernelRidge("gaussian(3.0)", 0.1).fit(X, np.sin(X[:, 0]) * X[:, 1])
    found = explain(model).columns
    largest = max(row.importance for row in found)
    for row in found:
        j, everyone = row.column, []
        for i in range(len(X)):
            other = X.copy()
            other[:, j] = X[i, j]
            everyone.append(model.predict(other) - model.predict(X))
        expected = np.sqrt(0.5 * np.mean(np.square(everyone)))
        assert row.importance == pytest.approx(expected, rel=0.15)
        moves = X[:, None, j] - X[None, :, j]
        slope = np.sum(moves * everyone) / np.sum(moves**2)
        assert row.effect == pytest.approx(X[:, j].std() * slope, abs=0.1 * largest)


@pytest.mark.parametrize("power", [1.0, 6.0])
def test_a_column_is_as_important_in_any_units_of_a_skewed_number(rng, power):
    U = rng.uniform(0.05, 1.0, size=(300, 3))
    y = 2.0 * np.log(U[:, 0]) + np.log(U[:, 1])
    X = U.copy()
    X[:, 0] = U[:, 0] ** power
    seen = Gaussian(2.0).after(NormalScores())
    found = {
        row.column: row.importance for row in explain(KernelRidge(seen, 1e-3).fit(X, y)).columns
    }
    shuffled = permutation_importance(KernelRidge(seen, 1e-3).fit(X, y), X, y, random_state=0)
    expected = np.sqrt(shuffled.importances_mean[0] / shuffled.importances_mean[1])
    assert found[0] / found[1] == pytest.approx(expected, rel=0.15)
    assert found[2] < 0.05 * found[0]


def test_where_columns_are_too_many_to_exchange_only_those_without_slopes_are(rng, monkeypatch):
    asked = []
    values = Subject.values

    def counted(self, rows):
        asked.append(len(rows))
        return values(self, rows)

    monkeypatch.setattr(Subject, "values", counted)
    monkeypatch.setattr(Importance, "work", 1e5)
    numbers = {f"x{j}": rng.normal(size=60) for j in range(9)}
    table = pd.DataFrame({**numbers, "still": 1.0, "site": rng.choice(["a", "b"], 60)})
    y = 2.0 * table.x3 - table.x7 + 3.0 * (table.site == "a")
    kernel = mercer.Linear().on(*numbers, "still") + mercer.Match().on("site")
    model = KernelRidge(kernel, 1e-3).fit(table, y)
    subject = Subject.of(model)
    sizes = Importance(subject).sizes
    assert sum(asked) <= 2 * 60
    monkeypatch.setattr(Importance, "work", 1e12)
    monkeypatch.setattr(Importance, "most_exchanged", 60)
    assert_allclose(sizes, Importance(subject).sizes, atol=1e-3)
    assert sizes[[3, 7, 10]].min() > 0.5


def test_the_four_columns_of_32_that_matter_are_named_first(rng):
    X = rng.normal(size=(300, 32))
    y = np.sin(2.0 * X[:, 3]) + X[:, 11] * X[:, 17] + X[:, 29]
    learned = mercer.learn("gaussian(length_scale='median')", X, y, max_iter=25).kernel
    explanation = explain(KernelRidge(learned, 0.1).fit(X, y))
    assert first(explanation, 4) == {3, 11, 17, 29}
    scales = {row.column: row.length_scale for row in explanation.columns}
    assert set(sorted(scales, key=scales.get)[:4]) == {3, 11, 17, 29}


def test_the_scale_of_a_column_is_not_that_of_its_indicator_of_missing_cells(rng):
    X = rng.normal(size=(40, 2))
    X[::5, 0] = np.nan
    standard = mercer.Standardize((0.0, 0.0), (1.0, 1.0), missing="mean", indicators=(0,))
    kernel = mercer.Gaussian((2.0, 3.0, 0.01)).after(standard)
    model = mercer.KernelRidge(kernel).fit(X, rng.normal(size=40))
    assert {row.column: row.length_scale for row in mercer.explain(model).columns} == {
        0: 2.0,
        1: 3.0,
    }


def test_learned_scales_are_in_deviations_of_the_columns(rng):
    X = rng.normal(size=(40, 3)) * [1.0, 10.0, 100.0]
    y = rng.normal(size=40)
    plain = explain(KernelRidge("gaussian([2.0, 30.0, 50.0])").fit(X, y))
    k = "gaussian([2.0, 3.0, 0.5]).after(standardize)"
    standard = explain(KernelRidge(k).fit(X, y))
    for row in plain.columns:
        expected = [2.0, 30.0, 50.0][row.column] / X[:, row.column].std()
        assert row.length_scale == pytest.approx(expected)
    assert {r.column: r.length_scale for r in standard.columns} == {0: 2.0, 1: 3.0, 2: 0.5}
    one = explain(KernelRidge("gaussian(2.0)").fit(X, y))
    assert np.isnan([row.length_scale for row in one.columns]).all()


def test_an_exchanged_category_and_a_number_with_the_same_effect_are_as_important(rng):
    sign = rng.choice([-1.0, 1.0], 400)
    table = pd.DataFrame({"x": rng.choice([-1.0, 1.0], 400), "c": np.where(sign > 0, "a", "b")})
    model = KernelRidge("linear.on(x) + match.on(c)", 1e-6).fit(table, table.x + sign)
    sizes = {row.column: row.importance for row in explain(model).columns}
    assert sizes["x"] == pytest.approx(1.0, rel=1e-3)
    assert sizes["c"] == pytest.approx(1.0, rel=0.15)


def test_an_explanation_says_from_which_rows_it_looks(rng):
    table = mixed(rng, 30)
    model = KernelRidge("gaussian.on(age)").fit(table, table.age)
    assert str(explain(model)).startswith("seen from the 30 rows that the model keeps")
    assert str(explain(model, table[:7])).startswith("seen from the 7 rows that were given")


def test_an_explanation_of_two_classes_says_which_of_them_f_speaks_for(rng):
    X = rng.normal(size=(40, 2))
    model = KernelLogisticRegression("linear").fit(X, np.where(X[:, 0] > 0.0, "yes", "no"))
    found = explain(model)
    assert "the larger f is, the likelier is yes" in str(found)
    assert found.columns[0].effect > 0.0
    assert "likelier" not in str(explain(KernelRidge("linear").fit(X, X[:, 0])))


def test_categories_have_the_effects_that_made_the_target(rng):
    table = mixed(rng, 120)
    y = 0.1 * table.age + 2.0 * (table.site == "b") + table.flag
    explanation = explain(KernelRidge("auto", 0.01).fit(table, y))
    assert first(explanation, 3) == {"age", "site", "flag"}
    found = {(row.column, row.part): row.effect for row in explanation.categories}
    assert found["site", "b"] - found["site", "a"] == pytest.approx(2.0, abs=0.2)
    assert found["flag", True] - found["flag", False] == pytest.approx(1.0, abs=0.2)
    rows = [row for row in explanation if row.kind == "category" and row.column == "site"]
    # Without interactions the effect is the same at every row.
    assert_allclose([row.low for row in rows], [row.high for row in rows], atol=1e-9)


@pytest.mark.parametrize("form", [pd.DataFrame, pl.from_pandas])
def test_every_form_of_table_is_explained_alike(rng, form):
    table = mixed(rng)
    y = table.age.to_numpy() / 10.0 + (table.site == "b")
    explanation = explain(KernelRidge("auto").fit(form(table), y))
    assert {row.column for row in explanation.columns} == set(COLUMNS)
    assert first(explanation, 2) == {"age", "site"}
    assert {row.column for row in explanation.categories} >= {"site", "flag"}
    assert {row.column for row in explanation if row.kind == "k-gram"} == {"text"}


@pytest.mark.parametrize(
    "model",
    [
        KernelRidge(),
        KernelSVR(C=10.0),
        KernelSVC(C=10.0),
        KernelSVC(solver="nystrom", n_landmarks=20),
        KernelLogisticRegression(C=10.0),
        KernelRidge(solver="nystrom", n_landmarks=20),
        mercer.KernelRidgeCV("gaussian"),
        mercer.KernelRidgeClassifier(),
        mercer.KernelRidgeClassifierCV("gaussian"),
        mercer.KernelLogisticRegressionCV("gaussian"),
        mercer.KernelPerceptron(),
        KernelRidge("polynomial(2)", solver="primal"),
        KernelRidge(mercer.FromFunction(lambda X, Z: X @ Z.T)),
    ],
    ids=lambda model: type(model).__name__,
)
def test_every_estimator_with_a_function_is_explained(rng, model):
    X = rng.normal(size=(80, 3))
    y = 3.0 * X[:, 1] + 0.2 * X[:, 0]
    is_classifier = hasattr(model, "classes_") or "class" in str(type(model).__mro__).lower()
    explanation = explain(model.fit(X, y > 0.0 if is_classifier else y))
    assert next(iter(explanation)).column == 1
    assert len(explanation.columns) == 3


def test_several_functions_are_explained_together_or_one_by_one(rng):
    X = rng.normal(size=(90, 3))
    y = np.digitize(X[:, 2], [-0.5, 0.5])
    model = KernelLogisticRegression().fit(X, y)
    together = explain(model)
    assert together.columns[0].column == 2
    assert np.isnan(together.columns[0].effect)
    each = [{r.column: r.importance for r in explain(model, target=t).columns} for t in range(3)]
    squares = np.mean([found[2] ** 2 for found in each])
    assert together.columns[0].importance == pytest.approx(np.sqrt(squares))
    last = explain(model, target=2).columns[0]
    assert (last.column, last.target) == (2, 2)
    assert last.effect > 0.0


def test_rows_can_be_given(rng):
    X = rng.normal(size=(50, 2))
    model = KernelRidge("gaussian(1.0)", 0.01).fit(X, np.maximum(X[:, 0], 0.0))
    left, right = X[X[:, 0] < -0.5], X[X[:, 0] > 0.5]
    sizes = [explain(model, rows).columns[0].importance for rows in (left, right)]
    assert sizes[0] < 0.5 * sizes[1]


def test_it_prints_and_makes_a_frame_and_a_page(rng):
    table = mixed(rng)
    explanation = explain(KernelRidge("auto").fit(table, table.age))
    lines = str(explanation).splitlines()
    assert lines[3].startswith("(effect: ")
    assert lines[4].split()[:3] == ["column", "importance", "effect"]
    assert lines[5].split()[0] == "age"
    direction = explanation.directions[0]
    assert f"{direction.importance:6.1%}  {direction.part}" in lines
    frame = explanation.to_pandas()
    assert frame.columns.tolist() == list(mercer.explanation.Row._fields)
    assert len(frame) == len(explanation) == len(list(explanation))
    assert frame.column[0] == "age"
    evil = table.rename(columns={"age": "<b>age</b>"})
    page = explain(KernelRidge("auto").fit(evil, table.age))._repr_html_()
    assert "<b>" not in page and "&lt;b&gt;age" in page


def test_what_cannot_be_explained_is_refused_with_the_reason(rng):
    X = rng.normal(size=(20, 2))
    K = X @ X.T
    with pytest.raises(ValueError, match="finished Gram matrix has no columns"):
        explain(KernelRidge("precomputed").fit(K, X[:, 0]))
    with pytest.raises(ValueError, match="Nystroem has no fitted function to explain"):
        explain(mercer.Nystroem(n_components=5).fit(X))
    with pytest.raises(ValueError, match="target must be one of 0 to 0, got 1"):
        explain(KernelRidge().fit(X, X[:, 0]), target=1)


def test_deviations_leave_out_what_is_missing_and_what_is_no_number():
    table = pd.DataFrame({"a": [1.0, np.nan, 3.0], "b": ["x", "y", "z"]})
    assert_allclose(deviations(table), [1.0, 1.0])


def test_columns_by_their_ranks_are_compared_by_exchanged_cells():
    """Values that lie close together make derivatives of ranks as large as one likes."""
    random = np.random.default_rng(0)
    x, z = random.normal(size=(2, 300))
    close = np.where(random.uniform(size=300) < 0.5, 1e-9 * z, z)
    table = pd.DataFrame({"x": x, "close": close})
    y = 2.0 * x - 0.5 * np.sign(close)
    k = mercer.Gaussian(2.0).after(mercer.NormalScores())
    model = mercer.KernelRidge(k, 0.1).fit(table, y)
    found = {row.column: row for row in mercer.explain(model).columns}
    assert_allclose(found["x"].importance, 2.0, rtol=0.2)
    assert found["close"].importance < 1.0
    assert_allclose(found["x"].effect, 2.0, rtol=0.2)
    assert -1.0 < found["close"].effect < -0.2


def test_a_limit_of_memory_is_not_taken_for_a_kernel_without_a_derivative(rng, monkeypatch):
    X = rng.normal(size=(20, 2))
    model = KernelRidge("gaussian", 0.1).fit(X, X[:, 0])

    def refuse(self, rows):
        raise MemoryLimitError("too large")

    monkeypatch.setattr(type(model.function_), "gradient", refuse)
    with pytest.raises(MemoryLimitError, match="too large"):
        explain(model)


def test_a_spread_has_a_legend_and_a_column_without_a_name_is_called_by_its_position():
    X = np.random.default_rng(0).normal(size=(40, 2))
    said = str(mercer.explain(mercer.KernelRidge("linear", 0.1).fit(X, X @ [2.0, 1.0])))
    assert "from low to high: that change in 80% of rows" in said
    assert re.search(r"\ncolumn 0 +1\.", said)
    assert re.search(r"100.0%  0\.\d+ column 0 \+ 0\.\d+ column 1", said)


def test_a_classifier_by_least_squares_knows_the_names_of_its_columns():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 2)), columns=["a", "b"])
    model = mercer.KernelRidgeClassifier("gaussian").fit(X, np.where(X.a > 0.0, "u", "v"))
    assert [row.column for row in explain(model, X[:20]).columns] == ["a", "b"]
    assert [row.column for row in explain(model).columns] == ["a", "b"]


def test_an_explanation_fits_the_lines_that_it_is_given():
    rng = np.random.default_rng(0)
    names = ["the living area of the house in square metres", "price " + "x" * 30]
    table = pd.DataFrame(rng.normal(size=(60, 2)), columns=names)
    table["place"] = rng.choice(["Charlottenburg-Wilmersdorf in Berlin", "Altstadt"], 60)
    found = mercer.explain(mercer.KernelRidge("auto", 0.1).fit(table, 1e5 * table[names[0]]))
    said = found.to_text(80)
    assert max(map(len, said.splitlines())) <= 80 < max(map(len, str(found).splitlines()))
    assert "the living area" in said and "…" in said
    assert found.to_text(1000) == found.to_text(2000)
