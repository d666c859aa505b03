"""Some of the rows of a side: their entries are those of all, and nothing is read again."""

import re

import numpy as np
import pandas as pd
import pytest

from mercer import GappedKmer, Gaussian, Linear, Match, Spectrum, Standardize
from mercer.tiles import Rows, evaluate, rows as rows_module
from mercer.tiles.operands import bind

TABLE = pd.DataFrame(
    {
        "a": np.linspace(0.0, 1.0, 12) ** 2,
        "b": np.arange(12.0),
        "site": ["n", "s", "w"] * 4,
        "text": [f"abcab{'cab' * (i % 4)}xy" for i in range(12)],
    }
)
KERNELS = [
    Gaussian(0.5).on("a", "b"),
    Linear().on("b") + Match().on("site"),
    Spectrum(2).on("text"),
    GappedKmer(4, 2).on("text"),
    Spectrum((1, 2), normalize=True).on("text") * Gaussian(2.0).on("a"),
    Gaussian(1.0).on("a").scaled_by(lambda X: np.asarray(X["b"])),
]


@pytest.mark.parametrize("index", [slice(2, 9), np.array([7, 1, 1, 10])], ids=["slice", "some"])
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_entries_of_some_rows_are_those_of_all(kernel, index):
    side = Rows(TABLE, "X")
    found = evaluate(kernel.program, side.part(index), side)
    np.testing.assert_allclose(found, kernel(TABLE)[index], rtol=1e-14)
    among = evaluate(kernel.program, side.part(index))
    np.testing.assert_allclose(among, kernel(TABLE)[index][:, index], rtol=1e-14)


def test_a_table_is_read_once_for_all_of_its_parts(monkeypatch):
    read, side, kernel = [], Rows(TABLE, "X"), KERNELS[0] + KERNELS[1]
    select = rows_module.select_columns
    monkeypatch.setattr(
        rows_module, "select_columns", lambda X, columns: read.append(columns) or select(X, columns)
    )
    evaluate(kernel.program, side.part([0, 1]), side)
    first = len(read)
    for i in range(2, 12):
        evaluate(kernel.program, side.part([i]), side)
    assert len(read) == first


def test_the_numbers_of_a_table_are_read_once_for_maps_and_what_they_are_resolved_on(monkeypatch):
    read, side = [], Rows(TABLE, "X")
    floats = rows_module.as_floats
    monkeypatch.setattr(
        rows_module, "as_floats", lambda X, name: read.append(name) or floats(X, name)
    )
    kernel = Gaussian("median").after(Standardize()).on("a", "b")
    resolved = kernel.resolved(side)
    values = evaluate(resolved.program, side)
    assert read == ["X", "g(X)"]
    np.testing.assert_array_equal(values, kernel(TABLE))


def test_views_of_many_rows_are_not_kept_beside_their_numbers(monkeypatch):
    monkeypatch.setattr(rows_module, "MEMORY", 8)
    side, kernel = Rows(TABLE, "X"), Gaussian(1.0).after(Standardize()).on("a", "b")
    np.testing.assert_array_equal(kernel.resolved(side)(TABLE), kernel(TABLE))
    step = kernel.view[0]
    assert side.after(step) is not side.after(step)


def test_the_codes_of_many_rows_are_worked_out_once_for_all_of_their_parts(monkeypatch):
    monkeypatch.setattr(rows_module, "MEMORY", 8)
    read, side, kernel = [], Rows(TABLE, "X"), Match().on("site", "text")
    expected = kernel(TABLE)
    select = rows_module.select_columns
    monkeypatch.setattr(
        rows_module, "select_columns", lambda X, columns: read.append(columns) or select(X, columns)
    )
    for i in range(3):
        found = evaluate(kernel.program, side.part([i]), side)
        np.testing.assert_array_equal(found, expected[[i]])
    assert len(read) == 1


@pytest.mark.parametrize("shape", ["()", "(4, 1, 1)"])
def test_a_map_that_makes_no_matrix_of_rows_is_refused_by_its_shape(shape):
    makes = {"()": lambda X: np.asarray(X.sum()), "(4, 1, 1)": lambda X: X[:, :1, None]}[shape]
    told = rf"g\(X\) must be a matrix of shape \(rows, columns\), got shape {re.escape(shape)}"
    with pytest.raises(ValueError, match=told):
        Linear().after(makes)(np.ones((4, 2)), np.ones((4, 2)))


def test_a_program_is_bound_once_to_the_same_rows():
    side, other = Rows(TABLE, "X"), Rows(TABLE, "Z")
    program = KERNELS[0].program
    assert bind(program, side) is bind(program, side)
    assert bind(program, side) is not bind(program, side, other)
    assert bind(KERNELS[1].program, side).program is KERNELS[1].program


def test_rows_hold_on_to_the_last_program_alone():
    side = Rows(TABLE, "X")
    for scale in (0.5, 1.0, 2.0):
        bind(Gaussian(scale).on("a", "b").program, side)
    assert list(side.bound) == [Gaussian(2.0).on("a", "b").program]


def test_columns_that_differ_are_named_before_a_scale_that_fits_one_side():
    with pytest.raises(ValueError, match="X has 3 columns and Z has 2"):
        Gaussian((1.0, 2.0, 3.0))(np.ones((2, 3)), np.ones((2, 2)))


@pytest.mark.parametrize("kernel", [Linear().on("b"), Match().on("site")], ids=str)
def test_some_rows_beside_themselves_are_one_side(kernel):
    operand = bind(kernel.program, Rows(TABLE, "X").part([3, 1, 4])).operands[0]
    assert operand.left is operand.right
    np.testing.assert_array_equal(
        evaluate(kernel.program, Rows(TABLE, "X").part([3, 1, 4])), kernel(TABLE.iloc[[3, 1, 4]])
    )
