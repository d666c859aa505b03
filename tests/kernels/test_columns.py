"""Which columns of a table a kernel reads."""

import numpy as np
import pytest

from mercer.data import blocks
from mercer.data.kinds import Kind
from mercer.kernels import Gaussian, Linear, Match
from mercer.kernels.columns import assigned, check_cells, columns_of, named_columns
from mercer.tiles import Rows

KINDS = {"a": Kind.NUMBERS, "b": Kind.NUMBERS, "site": Kind.CATEGORIES}


def test_parts_without_columns_are_put_on_those_of_their_domain():
    k = Gaussian(2.0) + 0.5 * Match() + Linear().on("a")
    placed = assigned(k, KINDS)
    assert placed == Gaussian(2.0).on("a", "b") + 0.5 * Match().on("site") + Linear().on("a")
    assert named_columns(placed) == {"a", "b", "site"}
    assert columns_of(placed, "categories") == {"site"}


def test_a_kernel_that_names_all_its_columns_is_itself():
    k = Gaussian(2.0).on("a") + 0.5 * Match().on("site")
    assert assigned(k, KINDS) is k


def test_a_bad_cell_in_a_late_block_is_named_by_its_row_among_all(monkeypatch):
    monkeypatch.setattr(blocks, "MEMORY", 1 << 10)
    X = {"a": np.zeros(3000)}
    check_cells(Gaussian(2.0).on("a"), Rows(X, "X"))
    X["a"][2345] = np.inf
    with pytest.raises(ValueError, match="row 2345"):
        check_cells(Gaussian(2.0).on("a"), Rows(X, "X"))
