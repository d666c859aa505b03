"""Categories that no training row has are counted, named and warned of once."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import mercer
from mercer.data.levels import Levels, Unseen
from mercer.errors import UnseenCategoriesWarning


def test_levels_are_those_of_all_blocks_without_what_is_missing():
    blocks = [pd.DataFrame({"site": ["b", None], "age": [1, 2]}), pl.DataFrame({"site": ["a"]})]
    assert Levels.of(blocks, ["site"]) == Levels((("site", ("a", "b")),))


def test_a_whole_number_is_the_same_category_beside_a_missing_one():
    known = Levels.of([pd.DataFrame({"site": [1, 2]})], ["site"])
    unseen = Unseen(known)
    unseen.see(pd.DataFrame({"site": [1.0, np.nan]}))
    assert unseen.sentences == []


def test_a_column_of_too_many_categories_is_not_remembered():
    table = pl.DataFrame({"key": [f"k{i}" for i in range(10_001)]})
    assert Levels.of([table], ["key"]) == Levels()


@pytest.mark.parametrize("entry", [("site",), ("site", ["a"]), (1, ("a",)), ("site", (1,))])
def test_what_are_no_levels_is_refused(entry):
    with pytest.raises(ValueError, match="categories are the name of a column"):
        Levels((entry,))


@pytest.mark.parametrize("kind", [mercer.KernelRegressor, mercer.KernelClassifier])
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_an_automatic_machine_warns_once_of_unseen_categories(kind, frame, tmp_path):
    rng = np.random.default_rng(0)
    site = rng.choice(["north", "south"], 25)
    y = (
        site == "north"
        if kind is mercer.KernelClassifier
        else (site == "north") + rng.normal(0, 0.1, 25)
    )
    table = {"site": site.tolist(), "dose": rng.uniform(0, 10, 25)}
    model = kind().fit(frame(table), y)
    model.predict(frame(table))
    mercer.save(model, tmp_path / "m.mercer")
    for each in (model, mercer.load(tmp_path / "m.mercer")):
        with pytest.warns(UnseenCategoriesWarning) as warned:
            each.predict(frame({"site": ["north", "east", "west"], "dose": [1.0, 2.0, 3.0]}))
        (one,) = warned
        assert str(one.message) == (
            "column 'site': 2 rows have categories that no training row has, 'east', 'west'; "
            "predictions there rest on the other columns"
        )
