"""Estimators on tables: which columns a model reads, and what it makes of other tables."""

import pickle
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.model_selection import cross_val_predict

from mercer.estimators import KernelLogisticRegression, KernelRidge, KernelSVC
from mercer.kernels import (
    Constant,
    Exponential,
    FromFunction,
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    Match,
    Matern32,
    Precomputed,
    Standardize,
)
from mercer.selection import KernelRidgeCV

TABLES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}
EACH_TABLE = pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
IGNORING = pytest.mark.filterwarnings("ignore::mercer.errors.IgnoredColumnsWarning")


@dataclass(frozen=True)
class Lengths(Kernel):
    """A kernel of text that stands in for any: the product of the lengths."""

    domain: ClassVar[str] = "sequences"

    def lower(self, t):
        return t.opaque(_lengths)


def _lengths(X, Z):
    return np.outer(*([len(v) for v in np.asarray(side).ravel()] for side in (X, Z))) / 100.0


def picked(columns, *names):
    return {name: columns[name] for name in names}


@IGNORING
@EACH_TABLE
@pytest.mark.parametrize(
    ("kernel", "used", "named"),
    [
        (
            Gaussian(10.0),
            ["age", "dose", "smoker"],
            Gaussian(10.0).on("age", "dose", "smoker"),
        ),
        (Match(), ["site", "smoker"], Match().on("site", "smoker")),
        (
            Gaussian(10.0).on("age") + Match(),
            ["age", "site", "smoker"],
            Gaussian(10.0).on("age") + Match().on("site", "smoker"),
        ),
        (
            0.5 * (Linear() * Match()).normalized(),
            ["age", "site", "dose", "smoker"],
            0.5
            * (Linear().on("age", "dose", "smoker") * Match().on("site", "smoker")).normalized(),
        ),
        (Lengths() + 1.0, ["site"], Lengths().on("site") + 1.0),
        (Gaussian(1.0).on("age"), ["age"], Gaussian(1.0).on("age")),
    ],
    ids=str,
)
def test_a_kernel_without_columns_reads_those_of_its_domain(columns, y, table, kernel, used, named):
    model = KernelRidge(kernel, 0.1).fit(table(columns), y)
    assert model.feature_names_in_.tolist() == used
    assert model.n_features_in_ == len(used)
    assert model.kernel_ == named
    expected = KernelRidge(named, 0.1).fit(table(columns), y).predict(table(columns))
    assert_allclose(model.predict(table(columns)), expected, rtol=1e-12)


@EACH_TABLE
def test_a_scaled_kernel_reads_the_columns_of_numbers(columns, y, table):
    scaled = Gaussian("median").after(Standardize())
    model = KernelRidge(scaled + Match().on("site")).fit(table(columns), y)
    assert model.feature_names_in_.tolist() == ["age", "site", "dose", "smoker"]
    assert model.kernel_.terms[0].columns == ("age", "dose", "smoker")
    assert len(model.kernel_.terms[0].kernel.g.mean) == 3


@EACH_TABLE
def test_columns_in_another_order_give_the_right_answer(columns, y, table):
    model = KernelRidge(Gaussian(10.0) + Match(), 0.1).fit(table(columns), y)
    other = picked(columns, "smoker", "dose", "site", "age")
    assert_allclose(model.predict(table(other)), model.predict(table(columns)), rtol=1e-12)


@EACH_TABLE
def test_further_columns_are_ignored(columns, y, table):
    for kernel in (Gaussian(10.0) + Match(), Gaussian(10.0).on("age"), Match().on("site")):
        model = KernelRidge(kernel, 0.1).fit(table(columns), y)
        wider = {"note": ["x"] * 60, **columns, "other": np.full(60, np.nan)}
        assert_allclose(model.predict(table(wider)), model.predict(table(columns)), rtol=1e-12)


@EACH_TABLE
def test_further_columns_beside_a_table_of_numbers_are_ignored(columns, y, table):
    numbers = picked(columns, "age", "dose")
    model = KernelRidge(Gaussian(10.0), 0.1).fit(table(numbers), y)
    wider = table({"note": ["x"] * 60, **numbers})
    assert_allclose(model.predict(wider), model.predict(table(numbers)), rtol=1e-12)


@EACH_TABLE
def test_missing_and_renamed_columns_are_named(columns, y, table):
    model = KernelRidge(Gaussian(10.0) + Match()).fit(table(columns), y)
    with pytest.raises(ValueError, match=r"no column 'age', 'smoker' in the table; it has 'Age'"):
        model.predict(table({"Age": columns["age"], **picked(columns, "site", "dose")}))
    numbers = KernelRidge().fit(table(picked(columns, "age", "dose")), y)
    with pytest.raises(ValueError, match="no column 'dose' in the table; it has 'age'"):
        numbers.predict(table(picked(columns, "age")))


@EACH_TABLE
@pytest.mark.parametrize("others", [[], ["site"]], ids=["numbers", "mixed"])
def test_text_in_a_column_of_numbers_is_named_by_its_column_row_and_value(
    columns, y, table, others
):
    rows = picked(columns, "age", "dose", *others)
    kernel = Gaussian(10.0).on("age", "dose") + Match() if others else Gaussian(10.0)
    model = KernelRidge(kernel).fit(table(rows), y)
    spoilt = {**rows, "dose": [str(v) for v in rows["dose"]]}
    spoilt["dose"][41] = "unknown"
    said = "column 'dose' of X does not hold numbers: 'unknown' at row 41; make a number of it or a"
    with pytest.raises(ValueError, match=said):
        model.predict(table(spoilt))


@pytest.mark.parametrize("form", [list, lambda rows: np.array(rows, object)])
def test_text_among_numbers_is_named_by_its_place(columns, y, form):
    rows = [
        list(row) for row in zip(columns["age"].tolist(), columns["dose"].tolist(), strict=True)
    ]
    model = KernelRidge().fit(rows, y)
    rows[41][1] = "unknown"
    said = "X holds text, 'unknown' at row 41, column 1, and this kernel is one of numbers; make"
    with pytest.raises(ValueError, match=said):
        model.predict(form(rows))


@EACH_TABLE
def test_a_category_never_seen_matches_none(columns, y, table):
    model = KernelRidge(Match().on("site"), 0.1).fit(table(columns), y)
    new = table({"site": ["site 9", "site 0"]})
    assert_allclose(model.predict(new)[0], model.intercept_, rtol=1e-12)
    assert model.predict(new)[1] != model.intercept_


def test_a_model_takes_any_kind_of_table(columns, y):
    model = KernelRidge(Gaussian(10.0) + Match(), 0.1).fit(pd.DataFrame(columns), y)
    expected = model.predict(pd.DataFrame(columns))
    for table in TABLES.values():
        assert_allclose(model.predict(table(columns)), expected, rtol=1e-12)


def test_a_matrix_has_no_columns_to_name(columns, y):
    model = KernelRidge(Gaussian() + Match()).fit(pd.DataFrame(columns), y)
    said = r"reads columns by name, such as 'age', and X has no names \(ndarray\); pass a table"
    with pytest.raises(ValueError, match=said):
        model.predict(np.zeros((2, 4)))


def test_a_domain_without_columns_is_refused(columns, y):
    numbers = pd.DataFrame(picked(columns, "age", "dose"))
    with pytest.raises(ValueError, match=r"reads categories, and no column .* 'age' \(numbers\)"):
        KernelRidge(Match()).fit(numbers, y)
    words = pd.DataFrame(picked(columns, "site"))
    with pytest.raises(ValueError, match=r"reads numbers, and no column .* 'site' \(text\)"):
        KernelRidge(Gaussian()).fit(words, y)


def test_a_kernel_of_text_needs_one_column_of_it(columns, y):
    two = pd.DataFrame({**columns, "note": columns["site"]})
    with pytest.raises(ValueError, match="the table has 2: 'site', 'note'; name one with"):
        KernelRidge(Lengths()).fit(two, y)
    KernelRidge(Lengths().on("note")).fit(two, y)


@IGNORING
def test_dates_are_neither_numbers_nor_categories(columns, y):
    rows = pd.DataFrame({**columns, "day": pd.date_range("2020-01-01", periods=60)})
    model = KernelRidge(Gaussian() + Match()).fit(rows, y)
    assert "day" not in model.feature_names_in_


def test_nullable_numbers_are_numbers(columns, y):
    rows = pd.DataFrame(columns).convert_dtypes()
    model = KernelRidge(Gaussian(10.0) + Match(), 0.1).fit(rows, y)
    plain = KernelRidge(Gaussian(10.0) + Match(), 0.1).fit(pd.DataFrame(columns), y)
    assert_allclose(model.predict(rows), plain.predict(pd.DataFrame(columns)), rtol=1e-12)


def test_a_table_of_numbers_is_still_a_matrix(columns, y):
    numbers = pd.DataFrame(picked(columns, "age", "dose"))
    model = KernelRidge(Gaussian(10.0), 0.1).fit(numbers, y)
    assert model.kernel_ == Gaussian(10.0)
    assert isinstance(model.X_fit_, np.ndarray)


def test_positions_and_functions_see_the_table_as_it_was(columns, y):
    rows = pd.DataFrame(columns)
    by_position = FromFunction(lambda X, Z: np.outer(X.iloc[:, 0], Z.iloc[:, 0]))
    for kernel in (Gaussian().on(0), by_position):
        model = KernelRidge(kernel, 1.0).fit(rows, y)
        assert model.feature_names_in_.tolist() == list(columns)
        moved = rows[["site", "smoker", "dose", "age"]].assign(other="x")
        assert_allclose(model.predict(moved), model.predict(rows), rtol=1e-12)


def test_a_kernel_that_reads_nothing_takes_a_table(columns, y):
    model = KernelRidge(Constant(1.0)).fit(pd.DataFrame(columns), y)
    assert_allclose(model.predict(pd.DataFrame(columns)), y.mean())


def test_a_precomputed_matrix_may_be_a_table(columns, y):
    K = Match().on("site")(columns)
    frame = pd.DataFrame(K, columns=[f"row {i}" for i in range(60)])
    model = KernelRidge(Precomputed(), 0.1).fit(frame, y)
    direct = KernelRidge(Match().on("site"), 0.1).fit(pd.DataFrame(columns), y)
    assert_allclose(model.predict(frame), direct.predict(pd.DataFrame(columns)), rtol=1e-10)


@EACH_TABLE
def test_the_plan_is_that_of_the_columns_read(columns, table):
    plan = KernelRidge(Gaussian() + Match()).plan(table(columns))
    assert plan.solver == "cholesky"


def test_it_is_cloned_pickled_and_cross_validated(columns, y):
    rows = pd.DataFrame(columns)
    model = KernelRidge(Gaussian(10.0) + Match(), 0.1)
    again = pickle.loads(pickle.dumps(clone(model).fit(rows, y)))
    assert_allclose(again.predict(rows), model.fit(rows, y).predict(rows), rtol=1e-12)
    assert np.corrcoef(cross_val_predict(model, rows, y, cv=5), y)[0, 1] > 0.9


@EACH_TABLE
def test_rows_of_no_weight_are_dropped(columns, y, table):
    weights = (np.arange(60) % 2).astype(float)
    half = table({name: list(np.asarray(values)[1::2]) for name, values in columns.items()})
    kernel = Gaussian("median").after(Standardize()) + Match()
    model = KernelRidge(kernel).fit(table(columns), y, weights)
    assert_allclose(
        model.predict(half), KernelRidge(kernel).fit(half, y[1::2]).predict(half), rtol=1e-9
    )


@EACH_TABLE
@pytest.mark.parametrize("solver", ["cg", "eigen"])
def test_every_solver_takes_a_table(columns, y, table, solver):
    kernel = Gaussian(10.0) + Match()
    exact = KernelRidge(kernel, 0.1, solver="cholesky").fit(table(columns), y)
    model = KernelRidge(kernel, 0.1, solver=solver, random_state=0).fit(table(columns), y)
    assert_allclose(model.predict(table(columns)), exact.predict(table(columns)), atol=1e-4)


@EACH_TABLE
def test_kernel_and_ridge_are_chosen_on_tables(columns, y, table):
    model = KernelRidgeCV([Gaussian(10.0), Gaussian(10.0) + Match()]).fit(table(columns), y)
    assert model.kernel_ == Gaussian(10.0).on("age", "dose", "smoker") + Match().on(
        "site", "smoker"
    )
    other = picked(columns, "smoker", "dose", "site", "age")
    assert_allclose(model.predict(table(other)), model.predict(table(columns)), rtol=1e-12)


@IGNORING
def test_the_default_kernels_are_tried_on_the_columns_of_numbers(columns, y):
    model = KernelRidgeCV().fit(pd.DataFrame(columns), y)
    assert model.kernel_.columns == ("age", "dose", "smoker")
    tried = {type(k.kernel) for k in model.cv_results_["kernel"]}
    assert tried == {Gaussian, Matern32, Exponential, Laplacian}


def test_columns_called_by_numbers_are_read_by_position(columns, y):
    rows = pd.DataFrame(dict(enumerate(columns.values(), start=7)))
    model = KernelRidge(Gaussian(10.0) + Match(), 0.1).fit(rows, y)
    assert model.kernel_ == Gaussian(10.0).on(0, 2, 3) + Match().on(1, 3)
    named = KernelRidge(Gaussian(10.0) + Match(), 0.1).fit(pd.DataFrame(columns), y)
    assert_allclose(model.predict(rows), named.predict(pd.DataFrame(columns)), rtol=1e-12)


def test_parts_without_columns_stand_beside_positions_and_functions(columns, y):
    rows = pd.DataFrame(columns)
    model = KernelRidge(Gaussian(10.0).on(0) + Match(), 0.1).fit(rows, y)
    assert model.kernel_ == Gaussian(10.0).on(0) + Match().on("site", "smoker")
    ages = FromFunction(lambda X, Z: np.outer(X["age"], Z["age"]) / 1600.0)
    model = KernelRidge(ages + Match(), 0.1).fit(rows, y)
    linear = (1.0 / 1600.0) * Linear().on("age")
    expected = KernelRidge(linear + Match(), 0.1).fit(rows, y).predict(rows)
    assert_allclose(model.predict(rows), expected, rtol=1e-8)
    assert model.feature_names_in_.tolist() == list(columns)


def test_a_factor_of_rows_sees_all_of_the_table(columns, y):
    rows = pd.DataFrame(columns)
    kernel = Gaussian(10.0).on("dose").scaled_by(lambda X: 1.0 + X["age"].to_numpy() / 100.0)
    model = KernelRidge(kernel, 0.1).fit(rows, y)
    assert model.feature_names_in_.tolist() == list(columns)
    assert model.score(rows, y) > 0.0


@EACH_TABLE
def test_categories_declared_otherwise_are_compared_by_their_values(columns, y, table):
    model = KernelRidge(Match().on("site"), 0.1).fit(table(columns), y)
    other = ["site 9", "site 1", "site 0"]
    expected = model.predict(table({"site": other}))
    declared = pd.DataFrame({"site": pd.Categorical(other, categories=sorted(other))})
    assert_allclose(model.predict(declared), expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("kernel", "column", "bad"),
    [
        ("gaussian(2.0).on(age)", "age", np.nan),
        ("gaussian('median').on(age)", "age", "x"),
        ("gaussian(2.0).after(standardize()).on(age, size)", "age", np.nan),
        ("match().on(site) * linear.on(age)", "site", None),
        ("spectrum(2).on(site)", "site", None),
        ("gaussian(1.0).after(calendar()).on(day)", "day", None),
    ],
)
@pytest.mark.parametrize("kind", [KernelSVC, KernelLogisticRegression, KernelRidge])
def test_a_bad_cell_is_named_by_its_row_in_the_table(kernel, column, bad, kind):
    table = pd.DataFrame(
        {
            "age": np.arange(30.0),
            "size": np.arange(30.0) ** 2,
            "site": ["north", "south", "east"] * 10,
            "day": pd.date_range("2020-01-01", periods=30),
        }
    ).astype({column: object})
    table.loc[17, column] = bad
    # Three classes are sorted, and rows without weight left out.
    weights = np.where(np.arange(30) < 5, 0.0, 1.0)
    with pytest.raises(ValueError, match="at row 17"):
        kind(kernel).fit(table, np.arange(30) % 3, weights)
