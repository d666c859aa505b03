"""The kernel that a table suggests, from what its columns hold, and what became of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from mercer.data.categories import OWN_CATEGORY
from mercer.data.columns import is_table, n_rows
from mercer.data.kinds import Kind
from mercer.data.listing import as_frame, as_html, as_text
from mercer.kernels.columns import assigned, column_terms, refuse_unknown
from mercer.kernels.families.categories import Match
from mercer.kernels.families.stationary import Gaussian
from mercer.kernels.kernel import Kernel, Sum
from mercer.kernels.language.expression import kernel as parsed
from mercer.kernels.maps import MEAN, FillMissing, Standardize
from mercer.kernels.tables.calendar import Calendar, telling_parts
from mercer.kernels.tables.roles import Column, Role, checked_keep, columns_with_roles

# The kernels of the numbers of a table, and of its categories.
NUMBERS = Gaussian("median").after(Standardize(missing=MEAN))
CATEGORIES = Match(OWN_CATEGORY)

HEADER = ("column", "holds", "missing", "distinct", "becomes")


def default_kernel(X: Any, keep: Any = ()) -> Kernel:
    """Return a sensible kernel for a table: a sum of terms with k(x, x) = 1, one for each kind.

    Numbers are compared by one Gaussian of the standardised columns; dates by a Gaussian of the
    time and of the phases of the year, the week and the day that tell something; categories by
    `Match`; text of several words by ``words()`` and other text by
    ``spectrum(k=3).normalized()``, or ``k=[1, 2, 3]`` where some of it is shorter. Dates and text
    have a term for each column. `describe_columns` lists what becomes of each column. ``print`` the
    kernel to see, and edit, what it says: `mercer.kernel` reads it back.

    Means, scales and the length scales, which are median distances, are those of the rows that the
    kernel is fitted to, as an estimator weighs them; ``k.resolved(X)`` has them of `X`.

    Parameters
    ----------
    X : table, array or list
        The rows. Of an array, and of a table that calls some column by anything but text, the
        columns are named by position; a list holds one column.
    keep : sequence of str or int
        Columns to compare rows by though they look like identifiers. Of sparse rows none is taken
        for one.

    Notes
    -----
    What becomes of a column:

    - Numbers are numbers, however few different ones there are, and durations are numbers too.
      Truth values and columns declared as categories are categories.
    - Dates, with times and time zones or without, times of the day, and text that says all of its
      dates as ISO 8601 does, are dates.
    - Other text is a category if it has at most 50 different values, or as few as a tenth of the
      rows, and they come back twice on average (in a table of fewer than 20 rows: if any does);
      text with a median length of fewer than four characters is one too, whether it comes back or
      not.
    - Left out are columns that tell rows from each other but not how they are alike: of one
      value, of none, of whole numbers that count 20 rows or more, or two of three such rows, and
      of values all different that are called or look like keys ("id", "user_id", "A-0042", a
      UUID). What counts rows stays where there is no other column, or it is called like a time,
      and any of these if `keep` names it.
    - Text that spells numbers ("1,5"), or dates in another way than ISO 8601 ("2/29/2024"), is text
      like any other, as nobody can tell what is a code and which of two numbers is the month.
      `describe_columns` remarks on it, and says what to do.
    - Lists and other objects are left out too; make numbers or text of them.
    - The columns of sparse rows are numbers. They are divided by their standard deviations, and
      their means, which would fill the rows, stay: distances are the same. Rows of more than 1000
      columns, as counts of words have, are compared as they are.

    What becomes of a missing value, in these rows and in later ones:

    - A number stands at the mean of its column, and a date at the mean time and in the middle of
      every circle. A further column is 1 there and 0 elsewhere: of a column of numbers if some are
      missing in the rows that the kernel is fitted to, and of every column of dates.
    - A category is one of its own, which equals other missing ones. One that was never seen
      equals none.
    - Text is empty. The term of a text without a word, or without a character, is 0 with every
      row, itself included: it says nothing.

    Examples
    --------
    >>> import mercer
    >>> table = {"age": [41.0, 52.0, 60.0], "site": ["a", "b", "a"]}
    >>> print(mercer.default_kernel(table))  # doctest: +NORMALIZE_WHITESPACE
    gaussian(length_scale='median').after(standardize(missing='mean')).on(age)
        + match(missing='own-category').on(site)
    """
    if sp.issparse(X):
        checked_keep(keep, X)
        return _of_sparse(X)
    return kernel_of_report(describe_columns(X, keep=keep), X)


def kernel_of_report(report: ColumnReport, X: Any) -> Kernel:
    """Return the kernel of a report on the columns of `X`, or refuse rows that suggest none."""
    if report.kernel is None:
        told = [f"{u.column!r} {u.remark or u.reason}" for u in report.columns[:10]]
        reasons = "; ".join(told) or "there are none"
        if n_rows(X) == 1:
            raise ValueError("one sample is like no other, and rows are compared; give more rows")
        found = "no column tells what is alike"
        raise ValueError(f"{found} ({reasons}); name a kernel for them")
    return report.kernel


class ColumnUse(NamedTuple):
    """A row of a report on columns.

    `becomes` says what a kernel makes of the column; of one that is left out, `reason` says why. Of
    text that spells numbers or dates, `remark` says so, and what to do; `conversion` is the code of
    pandas or polars that does it to a table `X` of theirs, where the texts leave no doubt. Digits
    that come back may be meant as a code, `is_code`. The `role` is what `default_kernel` takes the
    column for.
    """

    column: str | int
    holds: str
    missing: int
    distinct: int | None
    becomes: str
    reason: str = ""
    remark: str = ""
    conversion: str = ""
    is_code: bool = False
    role: Role = Role.LEFT_OUT

    @property
    def is_used(self) -> bool:
        """Whether the kernel reads the column."""
        return not self.reason


# Why a kernel that was given leaves a column out.
NOT_READ = "the kernel does not read it"


@dataclass(frozen=True)
class ColumnReport:
    """What a kernel makes of each column of a table: prints as a table, and is iterated by rows.

    Parameters
    ----------
    columns : tuple of ColumnUse
        The columns in order: their name or position, what they hold, how many values are missing
        and how many of the others are different, and what the kernel makes of them.
    kernel : Kernel or None
        The kernel, or None if no column says how rows are alike.
    """

    columns: tuple[ColumnUse, ...]
    kernel: Kernel | None

    def __iter__(self) -> Iterator[ColumnUse]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    @property
    def left_out(self) -> tuple[ColumnUse, ...]:
        """The columns that the kernel does not read."""
        return tuple(use for use in self.columns if not use.is_used)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What some columns seem to hold that is not what they are read as, and what to do."""
        return tuple(f"column {u.column!r} {u.remark}" for u in self.columns if u.remark)

    def to_pandas(self) -> Any:
        """Return the rows as a data frame of pandas."""
        return as_frame(HEADER, self._cells())

    def __str__(self) -> str:
        return "\n".join([self._title(), as_text(HEADER, self._shown()), *self.remarks])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return as_html("; ".join([self._title(), *self.remarks]), HEADER, self._shown())

    def _title(self) -> str:
        used = len(self.columns) - len(self.left_out)
        return f"{used} of {len(self.columns)} columns are used"

    def _cells(self) -> list[tuple[Any, ...]]:
        return [use[: len(HEADER)] for use in self.columns]

    def _shown(self) -> list[tuple[Any, ...]]:
        return [tuple("" if v is None else v for v in row) for row in self._cells()]


def describe_columns(X: Any, kernel: Kernel | str | None = None, keep: Any = ()) -> ColumnReport:
    """Return what a kernel makes of each column of a table, and what it leaves out and why.

    Parameters
    ----------
    X : table, array or list
        The rows.
    kernel : Kernel or str, optional
        The kernel, `default_kernel` of the rows unless it is given.
    keep : sequence of str or int
        As of `default_kernel`.

    Examples
    --------
    >>> import mercer
    >>> table = {"id": [7, 8, 9], "age": [41.0, 52.0, None], "site": ["a", "b", "a"]}
    >>> print(mercer.describe_columns(table))
    2 of 3 columns are used
    column  holds    missing  distinct  becomes
    id      numbers        0         3  left out: is another number in every row
    age     numbers        1         2  number, indicator where missing
    site    text           0         2  category
    """
    if sp.issparse(X):
        checked_keep(keep, X)
        return _sparse_report(X, kernel)
    columns, library = columns_with_roles(X, keep), type(X).__module__.partition(".")[0]
    if kernel is None:
        uses = [_use(column, _becomes(column), column.reason, library) for column in columns]
        return ColumnReport(tuple(uses), _suggested(columns, is_table(X)))
    given = parsed(kernel)
    refuse_unknown(given, X)
    placed = assigned(given, {c.title: c.kind for c in columns}) if is_table(X) else given
    terms = column_terms(placed, [c.title for c in columns])
    uses = [_use(column, ", ".join(terms[column.title]), NOT_READ, library) for column in columns]
    return ColumnReport(tuple(uses), placed)


def _of_sparse(X: Any) -> Kernel:
    """Return the kernel of sparse rows, whose zeros stay zeros."""
    # Columns beyond which sparse rows count words or the like, which have one unit already.
    many_columns = 1000
    if X.shape[1] > many_columns:
        return Gaussian("median")
    return Gaussian("median").after(Standardize(with_mean=False))


def _sparse_report(X: Any, kernel: Kernel | str | None) -> ColumnReport:
    """Return the report on sparse rows, of which all columns are numbers."""
    given = _of_sparse(X) if kernel is None else parsed(kernel)
    terms = column_terms(given, list(range(X.shape[1])))
    columns = sp.csc_array(X)
    uses = []
    for j in range(X.shape[1]):
        values = columns.data[columns.indptr[j] : columns.indptr[j + 1]]
        known = values[~np.isnan(values)]
        zeros = int(len(known[known != 0.0]) + len(values) - len(known) < X.shape[0])
        distinct = len(np.unique(known[known != 0.0])) + zeros
        column = Column(j, Kind.NUMBERS, Role.NUMBER, len(values) - len(known), distinct)
        becomes = "number" if kernel is None else ", ".join(terms[j])
        uses.append(_use(column, becomes, NOT_READ))
    return ColumnReport(tuple(uses), given)


def _use(column: Column, becomes: str, reason: str, library: str = "") -> ColumnUse:
    """Return the row of a column, which is left out for a reason unless it becomes something."""
    reason = "" if becomes else reason
    return ColumnUse(
        column.title,
        column.holds,
        column.missing,
        column.distinct,
        becomes or f"{Role.LEFT_OUT}: {reason}",
        reason,
        column.spelled.remark,
        _conversion(column, library),
        column.role is Role.CATEGORY and column.spelled.are_digits,
        column.role,
    )


def _conversion(column: Column, library: str) -> str:
    """Return the code that makes what it spells of a column of text in a table of a library."""
    if not isinstance(column.title, str):
        return ""
    name = repr(column.title)
    if library == "pandas" and column.spelled.pandas:
        return f"X[{name}] = {column.spelled.pandas.format(column=name)}"
    if library == "polars" and column.spelled.polars:
        return f"X = X.with_columns({column.spelled.polars.format(column=name)})"
    return ""


def _becomes(column: Column) -> str:
    """Return what the default kernel makes of a column, nothing if it is left out."""
    if not column.role.is_used:
        return ""
    if column.role is Role.NUMBER:
        return "number, indicator where missing" if column.missing else "number"
    if column.dates is not None:
        return f"date: {', '.join(telling_parts(column.dates))}"
    if column.role is Role.TEXT:
        return f"text: {column.text_kernel}"
    return "category, missing is one" if column.missing else "category"


def _suggested(columns: Sequence[Column], is_named: bool) -> Kernel | None:
    """Return the sum of the terms for columns that are used, or None if none is."""
    of = {role: [c for c in columns if c.role is role] for role in Role}
    terms: list[Kernel] = []
    if of[Role.NUMBER]:
        terms.append(NUMBERS.on(*(c.title for c in of[Role.NUMBER])))
    terms += [_of_dates(column).on(column.title) for column in of[Role.DATE]]
    if of[Role.CATEGORY]:
        terms.append(CATEGORIES.on(*(c.title for c in of[Role.CATEGORY])))
    terms += [parsed(c.text_kernel).after(FillMissing()).on(c.title) for c in of[Role.TEXT]]
    if not is_named and all(c.role.is_used for c in columns) and len(terms) == 1:
        # Columns without a name need not be named if all of them are read alike.
        return terms[0].parts[0]
    return (terms[0] if len(terms) == 1 else Sum(tuple(terms))) if terms else None


def _of_dates(column: Column) -> Kernel:
    """Return the Gaussian of the parts of dates that tell something."""
    assert column.dates is not None
    return Gaussian("median").after(Calendar(telling_parts(column.dates), missing=MEAN))
