"""The machine's rates: the best of all runs is kept in a file, which may break and heals."""

import json

import pytest

from mercer.solvers import rates


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    rates.machine_rates.cache_clear()
    yield tmp_path
    rates.machine_rates.cache_clear()


def test_rates_are_positive_and_kept_in_a_file(cache):
    measured = rates.machine_rates()
    assert min(measured.double, measured.single, measured.copy) > 1e6
    (file,) = cache.rglob("*.json")
    assert json.loads(file.read_text())["double"] == measured.double


def test_better_rates_of_an_earlier_run_are_kept(cache):
    rates.machine_rates()
    (file,) = cache.rglob("*.json")
    file.write_text('{"double": 1e30, "single": 2e30, "copy": 3e30}')
    rates.machine_rates.cache_clear()
    assert rates.machine_rates() == rates.Rates(1e30, 2e30, 3e30)


def test_rates_measured_on_a_busy_machine_are_improved_on(cache):
    rates.machine_rates()
    (file,) = cache.rglob("*.json")
    file.write_text('{"double": 1.0, "single": 2.0, "copy": 3.0}')
    rates.machine_rates.cache_clear()
    assert rates.machine_rates().double > 1e6
    assert json.loads(file.read_text())["copy"] > 1e6


@pytest.mark.parametrize("text", ["", "{", "[]", '{"double": 0}', '{"double": -1.0, "single": 1}'])
def test_a_broken_file_is_measured_anew(cache, text):
    rates.machine_rates()
    (file,) = cache.rglob("*.json")
    file.write_text(text)
    rates.machine_rates.cache_clear()
    assert rates.machine_rates().double > 1e6


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path, monkeypatch):
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    rates.machine_rates.cache_clear()
    assert rates.machine_rates().copy > 1e6
    rates.machine_rates.cache_clear()
