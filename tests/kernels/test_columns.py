"""Which columns of a table a kernel reads."""

from mercer.data.kinds import Kind
from mercer.kernels import Gaussian, Linear, Match
from mercer.kernels.columns import assigned, columns_of, named_columns

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
