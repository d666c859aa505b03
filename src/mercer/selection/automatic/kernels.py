"""The kernels that an automatic machine starts from, by what the columns of a table hold."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from typing import Any, NamedTuple

import scipy.sparse as sp

from mercer.data.categories import OWN_CATEGORY
from mercer.data.columns import is_table
from mercer.estimators.validation import kernel_for
from mercer.kernels import (
    Constant,
    Exponential,
    Gaussian,
    Kernel,
    Laplacian,
    Match,
    Matern32,
    NormalScores,
    Standardize,
    default_kernel,
)
from mercer.kernels.kernel import Sum
from mercer.kernels.maps import MEAN
from mercer.kernels.tables.roles import Column, Role, columns_with_roles

# From smooth to rough: what is best depends on the target, so that all are tried.
FAMILIES: dict[str, Any] = {
    "gaussian": Gaussian,
    "matern32": Matern32,
    "exponential": Exponential,
    "laplacian": Laplacian,
}
# Columns up to which each has a term of its own in a sum, and beyond which none has a scale of its
# own: the first costs a Gram matrix for each column, the second has more scales than rows can tell.
MOST_TERMS, MOST_SCALES = 12, 300


class Start(NamedTuple):
    """A kernel to learn from, or to take as it is.

    Parameters
    ----------
    name : str
        What it is called on the leaderboard.
    kernel : Kernel
        The kernel, with rules for parameters.
    is_learned : bool
        Whether every column gets a scale, and every term a weight.
    """

    name: str
    kernel: Kernel
    is_learned: bool


def starts(X: Any) -> list[Start]:
    """Return the kernels to try on rows such as `X`.

    Numbers are compared by one kernel of each family, on standardised columns and on their normal
    scores; a category makes rows less alike by a factor; dates and text have terms of their own.
    """
    try:
        simple = default_kernel(X)
    except ValueError:
        # No column says how rows are alike: what is left is the mean.
        return [Start("constant", Constant(1.0), False)]
    if sp.issparse(X):
        return [Start("default", simple, False)]
    columns = columns_with_roles(X)
    numbers = [c.title for c in columns if c.role is Role.NUMBER]
    if not numbers:
        return [Start("default", simple, False), Start("default, learned", simple, True)]
    return list(_of_numbers(X, columns, numbers, simple))


def _of_numbers(
    X: Any, columns: list[Column], numbers: list[Any], simple: Kernel
) -> Iterator[Start]:
    others = [term for term in _terms(simple) if not _reads(term, numbers)]
    categories = [c.title for c in columns if c.role is Role.CATEGORY]
    every = numbers if is_table(X) or categories or len(numbers) < len(columns) else []
    is_many = len(numbers) > MOST_SCALES
    for name, family in FAMILIES.items():
        for is_scored in (False, True):
            k = family("median")
            k = k.after(NormalScores()) if is_scored else k
            k = _placed(k.after(Standardize(missing=MEAN)), every)
            for category in categories:
                k = k * (Match(missing=OWN_CATEGORY).on(category) + 1.0)
            k = reduce(lambda total, term: total + term, others, k)
            title = f"{name} of ranks" if is_scored else name
            yield Start(title, k, False)
            if not is_many:
                yield Start(f"{title}, learned", k, True)
    if 2 <= len(numbers) <= MOST_TERMS:
        alone = [Matern32("median").after(Standardize(missing=MEAN)).on(title) for title in numbers]
        whole = _placed(Matern32("median").after(Standardize(missing=MEAN)), every)
        yield Start("matern32, sum of columns, learned", Sum((*alone, whole, *others)), True)


def _placed(kernel: Kernel, columns: list[Any]) -> Kernel:
    return kernel.on(*columns) if columns else kernel


def _terms(kernel: Kernel) -> tuple[Kernel, ...]:
    return kernel.terms if isinstance(kernel, Sum) else (kernel,)


def _reads(term: Kernel, numbers: list[Any]) -> bool:
    """Whether a term of the default kernel is that of the numbers, or of categories."""
    columns = getattr(term, "columns", None)
    inner = getattr(term, "kernel", None)
    return columns is None or set(columns) <= set(numbers) or isinstance(inner, Match)


def reader_of(X: Any) -> Kernel:
    """Return a kernel that reads all columns that say something, by which rows are checked."""
    try:
        return kernel_for("auto", X)
    except ValueError as error:
        if "no column tells" not in str(error):
            raise
        return Constant(1.0)
