"""Work is counted, and what it costs is the same in every call; only seconds are measured."""

import numpy as np
import pytest

from mercer.planning import rates
from mercer.planning.rates import RATES, Work, machine_slowness


def test_work_adds_up_and_multiplies():
    work = Work(double=1.0, byte=2.0) + 3.0 * Work(byte=1.0, symbol=2.0)
    assert work == Work(double=1.0, byte=5.0, symbol=6.0)


@pytest.mark.parametrize("level", RATES)
def test_the_cost_is_that_of_the_level_that_runs(level, monkeypatch):
    monkeypatch.setattr(rates, "core", lambda: None if level == "numpy" else object())
    monkeypatch.setattr(rates, "cpu_level", lambda: level)
    assert Work(double=1e9, function=1e9).cost == pytest.approx(
        RATES[level].double + RATES[level].function
    )


def test_an_unknown_level_counts_as_the_least_one(monkeypatch):
    monkeypatch.setattr(rates, "core", object)
    monkeypatch.setattr(rates, "cpu_level", lambda: "plain")
    assert rates.rates() == RATES["v2"]


def test_more_threads_take_less_time_but_cost_the_same(monkeypatch):
    work, found = Work(double=1e9, byte=1e9), []
    for threads in (1, 4):
        monkeypatch.setattr(rates, "thread_count", lambda threads=threads: threads)
        found.append((work.cost, work.seconds))
    (cost, alone), (same, shared) = found
    assert cost == same
    assert alone / 4.0 < shared < alone


def test_a_machine_is_measured_once_and_its_slowness_is_a_power_of_two():
    slowness = machine_slowness()
    assert np.log2(slowness) == int(np.log2(slowness))
    assert machine_slowness() == slowness
