"""A limit of time for the whole command."""

import json
from time import perf_counter
from types import SimpleNamespace

import numpy as np
import pytest

from commands import PRICE, run
from mercer import Gaussian, KernelRidge
from mercer.cli.fitting import clock, result
from mercer.cli.fitting.clock import left_for_fit


@pytest.mark.parametrize("limit", [2.0, 60.0])
def test_little_is_not_taken_off_a_limit(limit):
    for spent in (0.0, 0.1, 0.2):
        assert left_for_fit(limit, spent, 500, False) == limit


def test_what_is_read_tested_and_written_beside_the_fit_is_taken_off_in_twentieths():
    assert left_for_fit(20.0, 5.0, 0, False) == 15.0
    assert left_for_fit(20.0, 5.3, 0, False) == left_for_fit(20.0, 5.59, 0, False) == 15.0
    assert left_for_fit(20.0, 5.0, 100_000, False) == 13.0
    assert left_for_fit(20.0, 5.0, 100_000, True) == 10.0


def test_a_tenth_is_left_to_the_fit_however_long_the_rest_takes():
    assert left_for_fit(20.0, 19.0, 0, True) == left_for_fit(20.0, 500.0, 0, True) == 2.0


def test_the_fit_has_what_reading_leaves_and_the_command_keeps_its_limit(data, monkeypatch):
    seen = {}

    def left(*given):
        seen["spent"], seen["left"] = given[1], left_for_fit(*given)
        return seen["left"]

    monkeypatch.setattr(clock, "left_for_fit", left)
    settings = ("--kernel", "gaussian.on(age)", "--alpha", "1", "--time-limit", "4", "--json")
    began = perf_counter()
    found = run("fit", data, *PRICE, *settings)
    assert found.exit_code == 0
    assert json.loads(found.stdout)["rows"]["train"] > 0
    assert 0.0 < seen["spent"] < perf_counter() - began
    assert 0.4 <= seen["left"] <= 4.0


def test_what_is_left_to_the_fit_is_said_where_it_is_less_than_the_limit(data, monkeypatch):
    settings = ("--kernel", "gaussian.on(age)", "--alpha", "1", "--time-limit", "8")
    for left, is_said in ((3.0, True), (8.0, False)):
        monkeypatch.setattr(clock, "left_for_fit", lambda *given, left=left: left)
        said = run("fit", data, *PRICE, *settings).stderr
        assert ("the fit has 3 s of --time-limit 8" in said) == is_said


class Rows(SimpleNamespace):
    """A job of some rows."""

    def __len__(self):
        return len(self.X)


def test_the_plan_that_is_told_is_that_of_the_rows_that_there_was_time_for(monkeypatch):
    X = np.linspace(0.0, 1.0, 300)[:, None]
    train = Rows(X=X, y=X[:, 0], weights=None)
    few = KernelRidge(Gaussian(1.0)).fit(X[:100], X[:100, 0])
    assert result._plan(few, train, 100) == {
        "solver": few.certificate_.method,
        "gram": "100 of 300 rows",
        "because": "there was no time for more",
    }
    by_landmarks = KernelRidge(Gaussian(1.0), n_landmarks=5).fit(X[:100], X[:100, 0])
    told = result._plan(by_landmarks, train, 100)
    assert told["because"] == "5 landmarks stand for 100 rows"
    weighted = Rows(X=X, y=X[:, 0], weights=np.r_[np.ones(100), np.zeros(200)])
    assert result._plan(few, weighted, 100)["gram"] == few.plan(X).gram
    # Of many rows a plan takes long.
    monkeypatch.setattr(result, "MOST_TESTED", 50)
    assert result._plan(few, Rows(X=X[:100], y=X[:100, 0], weights=None), 100) == {
        "solver": few.certificate_.method,
        "gram": "100 rows",
        "because": "these are solved exactly",
    }
