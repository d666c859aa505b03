"""Rows and Gram matrices of float32, whose rounding is not that of float64."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal

import mercer
from mercer.errors import SingularSystemError
from mercer.gram import gram_of
from mercer.solvers.ridge.held_out import leave_one_out


@pytest.fixture
def rows():
    return np.random.default_rng(0).normal(size=(40, 2)).astype(np.float32)


@pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "polars"])
@pytest.mark.parametrize("alpha", [1e-6, 1e-10])
def test_a_table_of_float32_is_fitted_as_its_numbers_in_float64(rows, library, alpha):
    y = np.sin(rows[:, 0])
    single = library.DataFrame({"a": rows[:, 0], "b": rows[:, 1]})
    double = library.DataFrame({"a": rows[:, 0].astype(float), "b": rows[:, 1].astype(float)})
    model = mercer.KernelRidge("gaussian(20.0).on(a, b)", alpha).fit(single, y)
    other = mercer.KernelRidge("gaussian(20.0).on(a, b)", alpha).fit(double, y)
    assert_array_equal(model.predict(single), other.predict(double))
    assert model.certificate_.satisfied


@pytest.mark.usefixtures("brief")
def test_the_automatic_machine_fits_a_table_of_float32(rows):
    table = pd.DataFrame({"a": rows[:, 0], "b": rows[:, 1]})
    y = np.sin(table.a) + table.b
    model = mercer.KernelRegressor(random_state=0).fit(table, y)
    assert model.score(table, y) > 0.99


@pytest.mark.parametrize("solver", ["cholesky", "eigen", "cg"])
def test_rounding_of_a_finished_matrix_in_float32_does_not_make_it_indefinite(rows, solver):
    K = mercer.Gaussian(20.0)(rows.astype(float)).astype(np.float32)
    model = mercer.KernelRidge("precomputed", 1e-10, solver=solver)
    with pytest.raises(SingularSystemError, match="rounding alone asks for 5e-05"):
        model.fit(K, np.sin(rows[:, 0]))


def test_rounding_of_float32_is_no_witness_when_rows_are_left_out(rows):
    gram = gram_of(mercer.Gaussian(20.0), rows)
    assert gram.dtype == np.float32
    y, weights = np.sin(rows[:, :1]).astype(float), np.ones(len(rows))
    problem = mercer.solvers.RidgeProblem(y, np.array([1e-10]), weights, True)
    with pytest.raises(SingularSystemError):
        leave_one_out(gram, problem)
