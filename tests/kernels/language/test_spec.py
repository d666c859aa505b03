"""Kernels as arrays and plain values, and back."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_array_equal

from mercer.kernels import (
    AdditiveChi2,
    Bilinear,
    Calendar,
    FillMissing,
    FromFunction,
    Gaussian,
    Linear,
    Polynomial,
    Spectrum,
    Standardize,
    Words,
    recentred,
)
from mercer.kernels.language.spec import CLASSES, kernel_from_state, kernel_state
from strategies import kernels

PLAIN = np.ndarray | str | list | bool | int | float


def has_state(kernel):
    """Whether a kernel comes back from a state of arrays and plain values."""
    state = kernel_state(kernel)
    return all(isinstance(v, PLAIN) for v in state.values()) and kernel_from_state(state) == kernel


@given(kernels)
def test_every_kernel_comes_back_from_its_state(kernel):
    assert has_state(kernel)


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_every_class_is_called_by_its_own_name(name):
    assert CLASSES[name].__name__.lower() == name.replace("_", "")


def test_parameters_come_back_with_all_their_digits():
    state = kernel_state(0.1 * Gaussian((1.0 / 3.0, 1e-300, 2.0)).on("a", "b c", "d"))
    assert state["class"] == "scaled"
    assert state["factor"] == 0.1
    assert state["kernel.columns"] == ["a", "b c", "d"]
    assert_array_equal(state["kernel.kernel.length_scale"], [1.0 / 3.0, 1e-300, 2.0])


@pytest.mark.parametrize(
    "kernel",
    [
        Gaussian(3.0).after(Standardize()).resolved(np.random.default_rng(0).normal(size=(9, 900))),
        Gaussian(tuple(np.linspace(0.1, 1.0, 5000).tolist())),
        Bilinear(np.eye(80)),
        Linear().after(Standardize((0.0, 1.0), (1.0, 2.0), "mean", (1,))).on(0, 2),
        Gaussian("median").after(Calendar()).on("day") + Words().after(FillMissing()).on("note"),
        Spectrum((2, 3), (0.5, 1.0)).normalized() ** 2,
        Polynomial(2).polynomial([0.5, 0.0, 1.0]).exp(),
        recentred(AdditiveChi2(), np.random.default_rng(0).uniform(size=(9, 3))),
    ],
    ids=lambda k: repr(k)[:40],
)
def test_kernels_of_many_numbers_columns_and_maps_have_a_state(kernel):
    assert has_state(kernel)


@dataclass(frozen=True)
class Mine(Linear):
    """A kernel that the library does not know."""


@pytest.mark.parametrize(
    "kernel",
    [
        FromFunction(lambda X, Z: X @ Z.T),
        2.0 * Linear().after(np.abs),
        Linear().scaled_by(np.ones_like) + 1.0,
        Gaussian(1.0) * Mine(),
    ],
)
def test_functions_and_classes_of_users_have_no_state(kernel):
    with pytest.raises(ValueError, match="has no state of arrays and plain values"):
        kernel_state(kernel)


@pytest.mark.parametrize(
    ("state", "match"),
    [
        ({}, "no kernel or map has the name None"),
        ({"class": "eval"}, "no kernel or map has the name 'eval'"),
        ({"class": "as_numbers"}, "begins with one, got 'as_numbers'"),
        ({"class": "gaussian", "length_scale": -1.0}, "length_scale"),
        ({"class": "scaled", "factor": 1.0, "kernel.class": "from_function"}, "'from_function'"),
    ],
)
def test_states_that_mean_no_kernel_are_refused(state, match):
    with pytest.raises(ValueError, match=match):
        kernel_from_state(state)


def test_a_state_that_nests_without_end_is_refused():
    state = {}
    for depth in range(3000):
        state["kernel." * depth + "class"] = "exp"
    with pytest.raises(ValueError, match="nests deeper"):
        kernel_from_state(state)
