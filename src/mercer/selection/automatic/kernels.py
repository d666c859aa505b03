"""The kernels that an automatic machine starts from, by what the columns of a table hold."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from operator import add, mul
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from mercer.data.categories import OWN_CATEGORY
from mercer.data.columns import is_table
from mercer.estimators.estimator import kernel_for
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
    describe_columns,
)
from mercer.kernels.kernel import Sum
from mercer.kernels.maps import MEAN
from mercer.kernels.tables.roles import Column, Role, checked_keep, columns_with_roles

# What is best depends on the target, so that all are tried. Two are learned from where they start,
# of which one finds what the other takes for noise, smooth functions or steps in single columns;
# the others start from the scales of the better.
FAMILIES: dict[str, Any] = {
    "matern32": Matern32,
    "laplacian": Laplacian,
    "gaussian": Gaussian,
    "exponential": Exponential,
}
LEADERS = (Matern32, Laplacian)


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
    family : type, optional
        The kernel of the numbers, where those of one start serve another.
    is_scored : bool
        Whether it sees normal scores.
    terms : tuple of Kernel
        The terms of a sum of which nothing but the weights are learned.
    """

    name: str
    kernel: Kernel
    is_learned: bool
    family: Any = None
    is_scored: bool = False
    terms: tuple[Kernel, ...] = ()

    @property
    def leads(self) -> bool:
        """Whether it is learned from where it starts, for the others to start from."""
        leads = self.family in LEADERS and not self.is_scored
        return self.is_learned and not self.terms and (self.family is None or leads)


def starts(X: Any, is_learned: bool = True, keep: Any = ()) -> list[Start]:
    """Return the kernels to try on rows such as `X`, learned ones among them or none.

    Numbers are compared by one kernel of each family, on standardised columns and on their normal
    scores; a category makes rows less alike by a factor; dates and text have terms of their own.
    Columns to `keep` are no identifiers.
    """
    return [start for start in _all_starts(X, keep) if is_learned or not start.is_learned]


def _all_starts(X: Any, keep: Any) -> list[Start]:
    if sp.issparse(X):
        return [Start("default", default_kernel(X, keep), False)]
    simple = describe_columns(X, keep=keep).kernel
    if simple is None:
        # No column says how rows are alike: what is left is the mean.
        return [Start("constant", Constant(1.0), False)]
    columns = columns_with_roles(X, keep)
    numbers = [c.title for c in columns if c.role is Role.NUMBER]
    if not numbers:
        return list(_without_numbers(columns, simple))
    return list(_of_numbers(X, columns, numbers, simple))


def _of_numbers(
    X: Any, columns: list[Column], numbers: list[Any], simple: Kernel
) -> Iterator[Start]:
    others = [term for term in _terms(simple) if not _reads(term, numbers)]
    factors = list(_factors(columns))
    every = numbers if is_table(X) or factors or len(numbers) < len(columns) else []

    def start(name: str, is_scored: bool, is_learned: bool) -> Start:
        k = FAMILIES[name]("median")
        k = k.after(NormalScores()) if is_scored else k
        k = _placed(k.after(Standardize(missing=MEAN)), every)
        k = reduce(mul, factors, k)
        k = reduce(add, others, k)
        title = f"{name} of ranks" if is_scored else name
        title = f"{title}, learned" if is_learned else title
        return Start(title, k, is_learned, FAMILIES[name], is_scored)

    for is_scored in (False, True):
        for name in FAMILIES:
            yield start(name, is_scored, True)
    if terms := tuple(_one_column_terms(columns, numbers)):
        yield Start("additive, learned", Sum(terms), True, terms=terms)
    for is_scored in (False, True):
        for name in FAMILIES:
            yield start(name, is_scored, False)


def _without_numbers(columns: list[Column], simple: Kernel) -> Iterator[Start]:
    """Yield what is tried where no column holds numbers.

    The default kernel adds what the categories say. A product of their factors knows what they say
    together, too, as where one matters only beside a certain other.
    """
    if sum(column.role is Role.CATEGORY for column in columns) > 1:
        others = [term for term in _terms(simple) if not _reads(term, [])]
        k = reduce(add, others, reduce(mul, _factors(columns)))
        yield Start("product", k, False)
        yield Start("product, learned", k, True)
    yield Start("default", simple, False)
    yield Start("default, learned", simple, True)
    if terms := tuple(_one_column_terms(columns, [])):
        yield Start("additive, learned", Sum(terms), True, terms=terms)


def _factors(columns: list[Column]) -> Iterator[Kernel]:
    """Yield factors by which rows are more alike where their categories agree.

    Every category has one of its own, so that those that say nothing are found. Of many the share
    that agrees makes one, to the power of their number, as a product of equal factors would: it
    costs passes over all pairs of rows for every factor to learn.
    """
    most_factors, largest_power = 12, 16
    titles, alike = (
        [c.title for c in columns if c.role is Role.CATEGORY],
        Match(missing=OWN_CATEGORY),
    )
    if len(titles) <= most_factors:
        yield from (alike.on(title) + 1.0 for title in titles)
    else:
        yield (alike.on(*titles) + 1.0) ** min(len(titles), largest_power)


def _one_column_terms(columns: list[Column], numbers: list[Any]) -> Iterator[Kernel]:
    """Yield kernels of one column each, of which a sum with weights is learned.

    It is for functions that are sums of functions of single columns, of which every one is learned
    from all rows. A number has a term for short and one for long waves, a category one. There are
    none of one column, nor of so many that their matrices would take too long.

    References
    ----------
    D. Duvenaud, H. Nickisch, C. E. Rasmussen (2011), Additive Gaussian processes.
    """
    # Columns up to which sums of one-column kernels are tried.
    most = 30
    if not 2 <= len(columns) <= most:
        return
    # Their length scales in deviations.
    lengths = (0.7, 4.0)
    for title in numbers:
        for length in lengths:
            yield Matern32(length).after(Standardize(missing=MEAN)).on(title)
    for column in columns:
        if column.role is Role.CATEGORY:
            yield Match(missing=OWN_CATEGORY).on(column.title)


def in_family(learned: Kernel, start: Start) -> Kernel:
    """Return a learned kernel of a family that leads with that of another start in its place.

    Distances keep their size: of standardised columns |x - z| is 2 / sqrt(pi) on average and
    (x - z)^2 is 2, so that the sum of |x_k - z_k| / l_k is longer than the root of that of
    (x_k - z_k)^2 / l_k^2 by a known factor.
    """
    if isinstance(learned, LEADERS):
        scales = np.atleast_1d(np.array(learned.length_scale, np.float64))
        if (start.family is Laplacian) != isinstance(learned, Laplacian):
            longer = np.sqrt(2.0 / np.pi) * (1.0 / scales).sum() / np.sqrt((1.0 / scales**2).sum())
            longer = max(longer, 1.0)
            scales = scales * (longer if start.family is Laplacian else 1.0 / longer)
        k = start.family(tuple(scales.tolist()) if len(scales) > 1 else float(scales[0]))
        return k.after(NormalScores()) if start.is_scored else k
    changes: dict[str, Any] = {}
    for name, value in learned.get_params(deep=False).items():
        if isinstance(value, Kernel):
            changes[name] = in_family(value, start)
        elif isinstance(value, tuple) and all(isinstance(part, Kernel) for part in value):
            changes[name] = tuple(in_family(part, start) for part in value)
    return learned.with_params(**changes) if changes else learned


def at_widths(kernel: Kernel) -> list[Kernel]:
    """Return a kernel with its first length scale at several widths."""
    name = next((k for k in kernel.get_params() if k.endswith("length_scale")), None)
    scale = None if name is None else kernel.get_params()[name]
    if name is None or not isinstance(scale, float):
        return [kernel]
    # Units of the median distance.
    widths = (0.5, 1.5)
    return [kernel.with_params(**{name: factor * scale}) for factor in widths]


def unit_of(kernel: Kernel, rows: Any) -> float:
    """Return the mean of k(x, x), in units of which penalties are tried."""
    return float(np.mean(kernel.diagonal(rows)))


def _placed(kernel: Kernel, columns: list[Any]) -> Kernel:
    return kernel.on(*columns) if columns else kernel


def _terms(kernel: Kernel) -> tuple[Kernel, ...]:
    return kernel.terms if isinstance(kernel, Sum) else (kernel,)


def _reads(term: Kernel, numbers: list[Any]) -> bool:
    """Whether a term of the default kernel is that of the numbers, or of categories."""
    columns = getattr(term, "columns", None)
    inner = getattr(term, "kernel", None)
    return columns is None or set(columns) <= set(numbers) or isinstance(inner, Match)


def reader_of_rows(X: Any, keep: Any = ()) -> Kernel:
    """Return a kernel that reads all columns that say something, by which rows are checked."""
    try:
        found = kernel_for("auto", X)
    except ValueError as error:
        if "no column tells" not in str(error):
            raise
        found = Constant(1.0)
    kept = checked_keep(keep, X)
    if not kept or sp.issparse(X):
        return found
    kernel = describe_columns(X, keep=kept).kernel
    return found if kernel is None else kernel
