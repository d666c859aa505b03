"""Rows of every kind that a model keeps."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import scipy.sparse as sp

DAYS = [dt.datetime(2024, 5, day, 12) for day in (3, 1, 2)]
COLUMNS = {
    "age": [1.5, None, 3.0],
    "count": [1, 2, 3],
    "is_old": [True, False, True],
    "site": ["north", None, "söüth"],
    "day": DAYS,
}
TABLES = {
    "pandas": pd.DataFrame(COLUMNS),
    "categorical": pd.DataFrame({"site": pd.Categorical(["a", "b", "a"])}),
    "whole categories": pd.DataFrame({"site": pd.Categorical([3, 1, 3])}),
    "nullable": pd.DataFrame({"site": pd.array(["a", pd.NA, "b"], dtype="string")}),
    "polars": pl.DataFrame(COLUMNS),
    "enum": pl.DataFrame({"site": ["a", "b", "a"]}, {"site": pl.Enum(["b", "a"])}),
    "pyarrow": pa.table(COLUMNS),
    "zoned": pd.DataFrame({"day": pd.Series(DAYS).dt.tz_localize("Europe/Berlin")}),
    "zoned polars": pl.DataFrame({"day": DAYS}, {"day": pl.Datetime("us", "America/New_York")}),
    "zoned pyarrow": pa.table({"day": pa.array(DAYS, pa.timestamp("us", "UTC"))}),
    "mapping": {"age": np.arange(3.0), "site": ["a", "b", "c"]},
}
ROWS = {
    **TABLES,
    "array": np.arange(6.0).reshape(3, 2),
    "single": np.arange(6.0, dtype=np.float32).reshape(3, 2),
    "csr": sp.csr_array(np.eye(3)),
    "csc": sp.csc_array(np.array([[1.0, 2.0, 0.0], [0.0, 3.0, 0.0], [0.0, 0.0, 4.0]])),
    "texts": ["a", "bc", "d"],
    "tokens": [["a", 1], ["b"], []],
    "arrays of tokens": [np.array([1, 2]), np.array([3])],
}
