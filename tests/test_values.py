"""What is handed from room to room: whether it can be changed, and what it is equal to."""

import re
from dataclasses import fields, is_dataclass
from importlib import import_module
from inspect import isclass
from pkgutil import walk_packages

import pytest
from sklearn.base import BaseEstimator

ROOMS = ("mercer.solvers", "mercer.selection", "mercer.kernels.validity")
# What changes while something runs.
STATES = {
    "mercer.kernels.validity.search.Tally",
    "mercer.selection.classifiers.calibration.Calibration",
    "mercer.solvers.lowrank.sketched.SketchedInverse",
    "mercer.solvers.lowrank.sketched.Steps",
    "mercer.solvers.margin.active_set.NewtonStep",
    "mercer.solvers.margin.smo._State",
    "mercer.solvers.run.Run",
}
ARRAYS = re.compile(r"\b(Array|Codes|Matrix|NDArray|Rows|Single|Targets|Whole)\b")


def records():
    """Yield the dataclasses of the rooms by their names."""
    for room in ROOMS:
        for found in walk_packages(import_module(room).__path__, f"{room}."):
            for kind in vars(import_module(found.name)).values():
                if isclass(kind) and kind.__module__ == found.name and is_dataclass(kind):
                    # Parameters of estimators are set by whoever searches among them.
                    if issubclass(kind, BaseEstimator):
                        continue
                    yield f"{found.name}.{kind.__name__}", kind


RECORDS = dict(records())


@pytest.mark.parametrize("name", RECORDS)
def test_only_the_state_of_a_run_can_be_changed(name):
    assert RECORDS[name].__dataclass_params__.frozen is (name not in STATES)


@pytest.mark.parametrize("name", RECORDS)
def test_what_holds_arrays_is_equal_to_itself_alone(name):
    # Compared one by one, arrays have no single answer.
    if any(ARRAYS.search(str(field.type)) for field in fields(RECORDS[name])):
        assert RECORDS[name].__eq__ is object.__eq__
