"""Missing cells, and rows that are alike in them."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from mercer.estimators.posterior import alike_in_gaps, missing_cells


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_missing_cells_are_those_of_numbers_texts_and_dates(frame):
    day = np.array(["2024-01-01", "NaT"], "M8[ns]")
    table = frame({"a": [1.0, None], "b": ["x", None], "c": [1, 2], "d": day})
    assert missing_cells(table).tolist() == [[False] * 4, [True, True, False, True]]
    assert missing_cells(np.array([[1.0, np.nan]])).tolist() == [[False, True]]
    assert missing_cells(["text"]) is None


def test_rows_are_grouped_by_what_they_miss_and_rare_ones_by_each_cell():
    nan = np.nan
    train = np.array([[1.0, 1.0]] * 3 + [[nan, 1.0]] * 3 + [[1.0, nan]] * 2 + [[nan, nan]])
    new = np.array([[2.0, 2.0], [nan, 2.0], [nan, nan], [2.0, nan]])
    found = alike_in_gaps(train, new, 3)
    assert {tuple(place): [told.tolist() for told in sets] for place, sets in found} == {
        (0,): [[0, 1, 2]],
        (1,): [[3, 4, 5]],
        (2,): [[3, 4, 5, 8], [6, 7, 8]],
        (3,): [[6, 7, 8]],
    }


def test_without_enough_rows_all_of_them_tell():
    train, new = np.array([[1.0], [np.nan], [2.0]]), np.array([[np.nan], [1.0]])
    assert [told.tolist() for _, (told,) in alike_in_gaps(train, new, 3)] == [[0, 1, 2]] * 2
    (group,) = alike_in_gaps(np.ones((3, 1)), new, 3)
    assert group[0].tolist() == [0, 1]
