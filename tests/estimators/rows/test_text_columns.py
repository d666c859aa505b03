"""Columns of text that spell numbers or dates: one warning of the fit, with what converts them."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import is_classifier

from mercer import (
    KernelClassifier,
    KernelLogisticRegression,
    KernelPCA,
    KernelPerceptron,
    KernelRegressor,
    KernelRidge,
    KernelRidgeClassifier,
    KernelRidgeCV,
    KernelSVC,
    KernelSVR,
    describe_columns,
)
from mercer.errors import TextColumnsWarning

N = 30
AGE = [20.5 + 1.5 * i for i in range(N)]
MONEY = [f"€ {1 + i % 4},{680 + i}.86" for i in range(N)]
TABLES = {"pandas": pd.DataFrame, "polars": pl.DataFrame}
EACH_TABLE = pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)


def fitted(model, rows):
    """Fit a model, and return what it warned of and where."""
    y = np.sin(np.arange(N))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model.fit(rows, y > 0.0 if is_classifier(model) else y)
    return [w for w in told if w.category is TextColumnsWarning]


@pytest.mark.usefixtures("brief")
@pytest.mark.parametrize(
    "model",
    [
        KernelClassifier(),
        KernelRegressor(),
        KernelRidge("auto"),
        KernelRidgeCV("auto"),
        KernelRidgeClassifier("auto"),
        KernelLogisticRegression("auto"),
        KernelSVC("auto"),
        KernelSVR("auto"),
        KernelPerceptron("auto"),
        KernelPCA("auto"),
    ],
    ids=lambda model: type(model).__name__,
)
def test_money_as_text_is_warned_of_once_where_a_model_is_fitted(model):
    (told,) = fitted(model, pd.DataFrame({"age": AGE, "price": MONEY}))
    assert told.filename == __file__
    assert str(told.message) == (
        "column 'price' holds numbers as text, such as '€ 1,680.86'; make numbers of it with "
        "decimal points to have them compared by size: X['price'] = pd.to_numeric(X['price']"
        ".str.replace('[^0-9.eE-]', '', regex=True)); mercer.read_table(X) reads such columns "
        "as mercer fit does; or declare it a category to keep it"
    )


@pytest.mark.usefixtures("brief")
def test_a_table_of_polars_is_told_the_expression_of_polars():
    (told,) = fitted(KernelRegressor(), pl.DataFrame({"age": AGE, "price": MONEY}))
    assert "X = X.with_columns(pl.col('price').str.replace_all(" in str(told.message)


def test_a_table_of_nothing_else_is_warned_of_too():
    rows = pd.DataFrame({"code": [str(7 * i * i + 100) for i in range(N)]})
    (told,) = fitted(KernelRegressor(), rows)
    assert "column 'code' holds numbers as text" in str(told.message)


@EACH_TABLE
def test_several_columns_have_one_warning(table):
    (told,) = fitted(KernelRidge("auto"), table({"age": AGE, "price": MONEY, "cost": MONEY}))
    assert str(told.message).endswith("; so do 1 more, see mercer.describe_columns(X)")


@EACH_TABLE
@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (MONEY, [1000 * (1 + i % 4) + 680.86 + i for i in range(N)]),
        ([f"-{i}.5 %" for i in range(N)], [-i - 0.5 for i in range(N)]),
        ([f"{i},5 €" for i in range(N)], [i + 0.5 for i in range(N)]),
        ([f"1.{100 + i},25" for i in range(N)], [1100.25 + i for i in range(N)]),
        ([f" {i + 1}e-3" for i in range(N)], [(i + 1) / 1000 for i in range(N)]),
        (["n/a", *(f"${i},000" for i in range(1, N))], [np.nan, *(1e3 * i for i in range(1, N))]),
    ],
    ids=["money", "percent", "commas", "points by thousands", "exponents", "marks"],
)
def test_the_expression_makes_the_numbers(table, cells, values):
    names = {"X": table({"age": AGE, "c": cells}), "pd": pd, "pl": pl}
    exec(describe_columns(names["X"]).columns[1].conversion, names)
    assert describe_columns(names["X"]).columns[1].holds == "numbers"
    found = np.array(names["X"]["c"].to_numpy(), float)
    np.testing.assert_allclose(found, values, rtol=1e-14)


@EACH_TABLE
@pytest.mark.parametrize(
    "form", ["%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%Y/%m/%d"], ids=["day", "month", "points", "year"]
)
def test_the_expression_makes_the_dates(table, form):
    days = pd.date_range("2020-01-25", periods=N)
    names = {"X": table({"age": AGE, "c": days.strftime(form).tolist()}), "pd": pd, "pl": pl}
    exec(describe_columns(names["X"]).columns[1].conversion, names)
    assert names["X"]["c"].to_numpy().astype("M8[D]").tolist() == days.date.tolist()


@pytest.mark.parametrize(
    "cells",
    [
        [f"{1 + i % 12}/{1 + i % 9}/2020" for i in range(N)],
        [f"{i},5" if i % 2 else f"{i}.5" for i in range(N)],
        [f"{i}%" if i % 2 else f"{i}" for i in range(N)],
        [f"${i}" if i % 2 else f"€{i}" for i in range(N)],
    ],
    ids=["the day or the month", "commas and points", "some percent", "several moneys"],
)
def test_no_expression_is_given_where_the_cells_leave_it_open(cells):
    use = describe_columns(pd.DataFrame({"age": AGE, "c": cells})).columns[1]
    assert use.remark and use.conversion == ""


def test_digits_that_come_back_may_be_a_code_and_have_no_warning():
    for cells in ([str(i % 3) for i in range(N)], [str(70 + i % 9) for i in range(N)]):
        rows = pd.DataFrame({"age": AGE, "c": cells})
        assert fitted(KernelRidge("auto"), rows) == []
    (told,) = fitted(KernelRidge("auto"), rows.assign(c=[f"{i % 3}.5" for i in range(N)]))
    assert "such as '0.5'" in str(told.message)


def test_a_declared_category_or_another_kernel_has_no_warning():
    rows = pd.DataFrame({"age": AGE, "c": pd.Categorical([str(i % 3) for i in range(N)])})
    assert fitted(KernelRegressor(), rows) == []
    assert fitted(KernelRidge("match.on(c)"), rows.astype({"c": str})) == []
