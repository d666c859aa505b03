"""A limit of time for the whole command."""

import json
from time import perf_counter

import pytest

from commands import PRICE, run
from mercer.cli.fitting import clock
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
