"""Estimators on tables with missing values: refused by their place, or given one."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone, is_regressor

from mercer.estimators import (
    KernelLogisticRegression,
    KernelPerceptron,
    KernelRidge,
    KernelSVC,
    KernelSVR,
)
from mercer.kernels import (
    Gaussian,
    Match,
    Standardize,
)
from mercer.selection import KernelRidgeCV

TABLES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}
EACH_TABLE = pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
FILLED = Gaussian(1.5).after(Standardize(missing="mean"))
IGNORING = pytest.mark.filterwarnings("ignore::mercer.errors.IgnoredColumnsWarning")


@IGNORING
@EACH_TABLE
def test_missing_values_are_refused_with_column_and_row(columns, y, table):
    gaps = {**columns, "site": [None if i == 7 else v for i, v in enumerate(columns["site"])]}
    with pytest.raises(ValueError, match="column 'site' has a missing value at row 7"):
        KernelRidge(Match()).fit(table(gaps), y)
    KernelRidge(Match(missing="own-category")).fit(table(gaps), y)
    gaps = {**columns, "age": np.where(np.arange(60) == 5, np.nan, columns["age"])}
    with pytest.raises(ValueError, match="NaN at row 5, column 'age'"):
        KernelRidge(Gaussian() + Match()).fit(table(gaps), y)


@EACH_TABLE
def test_a_missing_number_in_a_table_of_numbers_is_named(columns, y, table):
    whole = {"age": columns["age"], "dose": columns["dose"]}
    numbers = {**whole, "dose": np.where(np.arange(60) == 5, np.nan, columns["dose"])}
    with pytest.raises(ValueError, match=r"^X contains NaN at row 5, column 'dose'; impute"):
        KernelRidge().fit(table(numbers), y)
    model = KernelRidge().fit(table(whole), y)
    with pytest.raises(ValueError, match=r"^X contains NaN at row 5, column 'dose'; impute"):
        model.predict(table(numbers))


@EACH_TABLE
@pytest.mark.parametrize("kernel", ["spectrum(k=2)", "spectrum(k=2).normalized()", "subsequence"])
def test_missing_text_is_named_by_its_row_in_the_table(columns, y, table, kernel):
    text = ["abc"[: 1 + i % 3] * 4 for i in range(60)]
    text[41] = None
    with pytest.raises(ValueError, match=r"column 'text' holds .* at row 41; text"):
        KernelRidge(kernel).fit(table({"text": text}), y)


@pytest.mark.parametrize("table", [pd.DataFrame, pl.DataFrame])
def test_a_column_of_numbers_that_are_all_missing_is_refused(columns, y, table):
    rows = table({**columns, "lost": np.full(60, np.nan)})
    with pytest.raises(ValueError, match="NaN at row 0, column 'lost'"):
        KernelRidge(Gaussian() + Match()).fit(rows, y)


@EACH_TABLE
@pytest.mark.parametrize(
    "model",
    [
        KernelRidge(FILLED, 0.1),
        KernelSVR(FILLED),
        KernelRidgeCV([FILLED]),
        KernelSVC(FILLED),
        KernelLogisticRegression(FILLED),
        KernelPerceptron(FILLED),
    ],
    ids=lambda model: type(model).__name__,
)
def test_missing_numbers_have_a_place_in_every_estimator(columns, y, table, model):
    gaps = [None if i % 7 == 2 else v for i, v in enumerate(columns["age"].tolist())]
    rows = table({"age": gaps, "dose": columns["dose"]})
    known = np.array([np.nan if v is None else v for v in gaps])
    mean, scale = np.nanmean(known), np.nanstd(known)
    dose = (columns["dose"] - columns["dose"].mean()) / columns["dose"].std()
    by_hand = np.column_stack(
        [np.nan_to_num((known - mean) / scale, nan=0.0), dose, np.isnan(known)]
    )
    target = y if is_regressor(model) else y > 0.5
    name = "kernels" if isinstance(model, KernelRidgeCV) else "kernel"
    plain = clone(model).set_params(**{name: Gaussian(1.5)}).fit(by_hand, target)
    fitted = clone(model).fit(rows, target)
    assert_allclose(fitted.predict(rows), plain.predict(by_hand), rtol=1e-6)
    assert pickle.loads(pickle.dumps(fitted)).kernel_ == fitted.kernel_
    matrix = np.column_stack([known, columns["dose"]])
    assert_allclose(clone(model).fit(matrix, target).predict(matrix), fitted.predict(rows), 1e-6)


def test_infinity_is_refused_where_missing_numbers_are_not(columns, y):
    matrix = np.column_stack([columns["age"], columns["dose"]])
    matrix[3, 1] = np.inf
    matrix[2, 0] = np.nan
    for rows, column in ((matrix, "1"), (pd.DataFrame(matrix, columns=["a", "b"]), "'b'")):
        with pytest.raises(ValueError, match=f"infinity at row 3, column {column}"):
            KernelRidge(FILLED).fit(rows, y)


def test_missing_categories_in_an_array_are_a_category(y):
    X = np.array([[0.0], [np.nan], [1.0]] * 20)
    model = KernelRidge(Match("own-category"), 0.1).fit(X, y)
    assert_allclose(model.predict(X[:3]), [y[i::3].mean() for i in range(3)], atol=0.2)


def test_a_tag_says_whether_missing_numbers_are_taken():
    assert KernelRidge(FILLED).__sklearn_tags__().input_tags.allow_nan
    assert not KernelRidge().__sklearn_tags__().input_tags.allow_nan


@pytest.mark.parametrize("scale", [1.5, "median"])
@pytest.mark.parametrize("model", [KernelRidge, KernelSVC, KernelLogisticRegression])
def test_a_missing_number_is_named_where_one_part_fills_it_in_and_another_does_not(
    rng, model, scale
):
    X = rng.normal(size=(20, 2))
    labels = (X[:, 0] > 0.0).astype(int)
    X[3, 1] = np.nan
    with pytest.raises(ValueError, match="X contains NaN at row 3, column 1"):
        model(Gaussian(scale) + FILLED).fit(X, labels)
