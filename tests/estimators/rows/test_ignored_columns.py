"""Columns of a table that a kernel does not read: named in one warning."""

import re
import warnings
from datetime import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import is_regressor

from mercer.errors import IgnoredColumnsWarning
from mercer.estimators import (
    KernelLogisticRegression,
    KernelPCA,
    KernelPerceptron,
    KernelRidge,
    KernelSVC,
    KernelSVR,
)
from mercer.kernels import (
    Constant,
    FromFunction,
    Gaussian,
    Match,
    describe_columns,
)
from mercer.selection import KernelLogisticRegressionCV, KernelRidgeClassifier, KernelRidgeCV

TABLES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}
EACH_TABLE = pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)


@EACH_TABLE
@pytest.mark.parametrize(
    ("kernel", "ignored"),
    [
        ("gaussian", "'site' (text), 'day' (dates)"),
        ("match", "'age' (numbers), 'dose' (numbers), 'day' (dates)"),
        ("gaussian + match", "'day' (dates)"),
    ],
)
def test_columns_that_are_ignored_are_named_in_one_warning(columns, y, table, kernel, ignored):
    rows = table({**columns, "day": [datetime(2020, 1, 1)] * 60})
    with pytest.warns(IgnoredColumnsWarning, match=re.escape(ignored)) as caught:
        KernelRidge(kernel).fit(rows, y)
    assert len(caught) == 1
    assert "the kernel 'auto'" in str(caught[0].message)
    assert caught[0].filename == __file__


@EACH_TABLE
def test_text_that_spells_dates_is_called_so_where_it_is_ignored(columns, y, table):
    days = [None, *(f"2020-01-{1 + i % 28:02d}" for i in range(59))]
    rows = table({**columns, "day": days})
    with pytest.warns(IgnoredColumnsWarning, match=r"'site' \(text\), 'day' \(dates as text\)"):
        KernelRidge("gaussian").fit(rows, y)
    described = {use.column: use.holds for use in describe_columns(rows, "gaussian")}
    assert (described["site"], described["day"]) == ("text", "dates as text")


@pytest.mark.parametrize(
    "kernel",
    [
        Gaussian().on("age"),
        Gaussian() + Match(),
        Gaussian().on("age") + Match(),
        Constant(1.0),
        FromFunction(lambda X, Z: np.ones((len(X), len(Z)))),
        Gaussian().on("age").scaled_by(lambda X: np.ones(len(X))),
        Gaussian().on(0).after(lambda X: np.ones((len(X), 1))),
    ],
    ids=["named", "all", "some named", "none read", "function", "factor", "map"],
)
def test_a_kernel_that_names_or_reads_its_columns_gives_no_warning(columns, y, kernel):
    rows = pd.DataFrame({**columns, "nothing": [None] * 60})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        KernelRidge(kernel).fit(rows, y)


@pytest.mark.parametrize(
    "model", [KernelRidgeCV(), KernelLogisticRegressionCV(), KernelRidgeClassifier()], ids=repr
)
def test_a_search_warns_once_of_columns_that_no_kernel_reads(columns, y, model):
    rows = pd.DataFrame(columns)
    target = y if isinstance(model, KernelRidgeCV) else y > 0.0
    with pytest.warns(IgnoredColumnsWarning, match=r"'site' \(text\)") as caught:
        model.fit(rows, target)
    assert len([w for w in caught if w.category is IgnoredColumnsWarning]) == 1


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "kind",
    [
        KernelRidge,
        KernelRidgeCV,
        KernelRidgeClassifier,
        KernelLogisticRegression,
        KernelLogisticRegressionCV,
        KernelPerceptron,
        KernelSVC,
        KernelSVR,
        KernelPCA,
    ],
)
def test_columns_that_are_ignored_are_warned_of_at_the_line_that_fits(columns, y, kind):
    with pytest.warns(IgnoredColumnsWarning) as caught:
        kind().fit(pd.DataFrame(columns), y if is_regressor(kind()) else y > 0.0)
    found = [w.filename for w in caught if w.category is IgnoredColumnsWarning]
    assert found == [__file__]
