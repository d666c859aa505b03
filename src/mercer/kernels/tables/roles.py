"""The roles of the columns of a table: a number, a category, a date, text, or none."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer.data.categories import coded, is_missing, titled_columns
from mercer.data.columns import (
    as_seconds,
    column_names,
    column_values,
    is_table,
    select_columns,
)
from mercer.data.dates import Dates, as_dates
from mercer.data.kinds import (
    DATES_AS_TEXT,
    Kind,
    are_iso_dates,
    column_kinds,
    kind_of_values,
)
from mercer.kernels.tables.spelled import NOTHING, Spelled, spelled

# Rows below which one repeated value already says that text is a category.
FEW_ROWS = 20
# Words on average from which on text is prose, and less is a name.
PROSE = 3

# Names and values by which a column numbers the rows instead of describing them.
KEY_NAME = re.compile(r"(.*[_\W])?(id|uuid|guid|key|index|rownames)|.*[a-z]I[Dd]", re.DOTALL)
# Names of times, which come one after the other and say something all the same.
TIME_NAME = re.compile(
    r"(.*[_\W\d])?(t|time|timestamp|date|day|week|month|quarter|year|hour|step|period)([_\W\d].*)?",
    re.IGNORECASE,
)
KEY_VALUE = re.compile(
    r"[A-Za-z]{0,8}[\W_]*\d+|[0-9a-fA-F]{8}(-?[0-9a-fA-F]{4}){3}-?[0-9a-fA-F]{12}"
)

NO_VALUE, ONE_VALUE = "has no value", "has one value"


class Role(StrEnum):
    """What a column becomes."""

    NUMBER = "number"
    CATEGORY = "category"
    DATE = "date"
    TEXT = "text"
    IDENTIFIER = "identifier"
    LEFT_OUT = "left out"

    @property
    def is_used(self) -> bool:
        """Whether a kernel compares rows by such a column."""
        return self not in (Role.IDENTIFIER, Role.LEFT_OUT)


@dataclass(frozen=True, eq=False)
class Column:
    """A column of a table, and what becomes of it.

    Parameters
    ----------
    title : str or int
        Its name, or its position.
    kind : Kind
        What it holds.
    role : Role
        What it becomes.
    missing : int
        How many values are missing.
    distinct : int or None
        How many of the others are different, or None where nobody counted.
    reason : str
        Why it is left out.
    dates : Dates, optional
        The values of a date.
    text_kernel : str
        The kernel of text, in the expression language.
    spelled : Spelled
        What its text seems to hold, and what to do, if that is not what it becomes.
    """

    title: Any
    kind: Kind
    role: Role
    missing: int
    distinct: int | None
    reason: str = ""
    dates: Dates | None = None
    text_kernel: str = ""
    spelled: Spelled = NOTHING

    @property
    def holds(self) -> str:
        """What it holds, in words."""
        is_text = self.kind is Kind.TEXT and self.dates is not None
        return DATES_AS_TEXT if is_text else str(self.kind)


def columns_with_roles(X: Any, keep: Any = ()) -> list[Column]:
    """Return what becomes of every column of a table, array or list, in order.

    Parameters
    ----------
    X : table, array or list
        The rows.
    keep : sequence of str or int
        Columns that are no identifiers, whatever they look like.
    """
    columns = _roles(X, checked_keep(keep, X))
    if any(column.role.is_used for column in columns):
        return columns
    # What numbers the rows is an axis, where there is nothing beside it and it is called no key.
    return [
        replace(column, role=Role.NUMBER, reason="")
        if _is_number_key(column) and not is_key_name(column.title)
        else column
        for column in columns
    ]


def _is_number_key(column: Column) -> bool:
    return column.role is Role.IDENTIFIER and column.kind is Kind.NUMBERS


def checked_keep(keep: Any, X: Any) -> tuple[Any, ...]:
    """Return the columns to keep, of which there may be one alone or none, or refuse unknown ones.

    Parameters
    ----------
    keep : sequence of str or int, str, int or None
        As of `columns_with_roles`.
    X : rows
        The rows, sparse ones among them.
    """
    named = _named_columns(keep)
    titles = _titles(X) if named else []
    unknown = [title for title in named if title not in titles]
    if unknown:
        most = 20
        listed = ", ".join(map(repr, titles[:most])) + (", ..." if len(titles) > most else "")
        raise ValueError(f"keep must name columns of the rows, got {unknown[0]!r}; use {listed}")
    return named


def kept_among(keep: Any, X: Any) -> tuple[Any, ...]:
    """Return those of the columns to keep that are among some rows, which may have lost others."""
    named = _named_columns(keep)
    titles = _titles(X) if named else []
    return tuple(title for title in named if title in titles)


def _named_columns(keep: Any) -> tuple[Any, ...]:
    if keep is None:
        return ()
    is_one = isinstance(keep, str) or not isinstance(keep, Iterable)
    return (keep,) if is_one else tuple(keep)


def _titles(X: Any) -> list[Any]:
    """Return what the columns of rows are called by."""
    if is_table(X):
        return _titles_of_names(column_names(X))
    return list(range(X.shape[1])) if sp.issparse(X) else [i for i, _ in titled_columns(X)]


def _titles_of_names(names: list[Any]) -> list[Any]:
    # Columns that are called by anything but text are meant by their positions.
    is_named = all(isinstance(name, str) for name in names)
    return names if is_named else list(range(len(names)))


def _roles(X: Any, keep: tuple[Any, ...]) -> list[Column]:
    if not is_table(X):
        return [
            _with_role(i, kind_of_values(v), v, partial(np.asarray, v), i in keep)
            for i, v in titled_columns(X)
        ]
    kinds = column_kinds(X)
    # Missing numbers are NaN in one of these, and keep the others whole in the other.
    arrays, values = dict(column_values(X)), dict(titled_columns(X))
    titles = _titles_of_names(list(kinds))
    return [
        _with_role(
            title,
            kind,
            arrays[name] if kind in (Kind.NUMBERS, Kind.DURATIONS) else values[name],
            partial(select_columns, X, [i]),
            title in keep,
        )
        for i, (title, (name, kind)) in enumerate(zip(titles, kinds.items(), strict=True))
    ]


def _with_role(
    title: Any, kind: Kind, values: Any, rows: Callable[[], Any], is_kept: bool
) -> Column:
    """Return a column with its role, given its values, and what makes rows of it, as of dates."""
    if kind in (Kind.NUMBERS, Kind.DURATIONS):
        return _number(title, kind, as_seconds(np.asarray(values)).astype(np.float64), is_kept)
    if kind in (Kind.DATES, Kind.CLOCK_TIMES):
        return _date(title, kind, as_dates(rows()))
    if kind in (Kind.BOOLEANS, Kind.CATEGORIES, Kind.TEXT):
        return _category(title, kind, values, rows, is_kept)
    missing = sum(map(is_missing, values))
    reason = NO_VALUE if kind is Kind.EMPTY else f"holds {kind}"
    return Column(title, kind, Role.LEFT_OUT, missing, 0 if kind is Kind.EMPTY else None, reason)


def _number(title: Any, kind: Kind, values: NDArray[np.float64], is_kept: bool) -> Column:
    known = values[~np.isnan(values)]
    missing, distinct = len(values) - len(known), len(np.unique(known))
    if distinct < 2:
        reason = ONE_VALUE if distinct else NO_VALUE
        return Column(title, kind, Role.LEFT_OUT, missing, distinct, reason)
    counts = _counts_rows(known)
    counts = counts and not is_time_name(title)
    is_key = counts or (is_key_name(title) and _are_whole_and_different(known))
    if is_key and kind is Kind.NUMBERS and not is_kept:
        reason = "numbers the rows" if counts else "is another number in every row"
        return Column(title, kind, Role.IDENTIFIER, missing, distinct, reason)
    return Column(title, kind, Role.NUMBER, missing, distinct)


def _date(title: Any, kind: Kind, dates: Dates) -> Column:
    known = dates.moments[~np.isnat(dates.moments)]
    missing, distinct = len(dates.moments) - len(known), len(np.unique(known))
    if distinct < 2:
        reason = ONE_VALUE if distinct else NO_VALUE
        return Column(title, kind, Role.LEFT_OUT, missing, distinct, reason)
    return Column(title, kind, Role.DATE, missing, distinct, dates=dates)


def _category(
    title: Any, kind: Kind, values: Any, rows: Callable[[], Any], is_kept: bool
) -> Column:
    codes, levels = coded(title, values)
    counts = np.bincount(codes, minlength=len(levels))
    known = [i for i, level in enumerate(levels) if not is_missing(level)]
    words = [levels[i] for i in known]
    n = int(counts[known].sum())
    missing, distinct = len(codes) - n, len(known)
    if distinct + (missing > 0) < 2 or not known:
        reason = ONE_VALUE if known else NO_VALUE
        return Column(title, kind, Role.LEFT_OUT, missing, distinct, reason)
    if kind is not Kind.TEXT:
        return Column(title, kind, Role.CATEGORY, missing, distinct)
    if are_iso_dates(words):
        return _date(title, kind, as_dates(rows()))
    what = NOTHING if is_key_name(title) else spelled(words)
    found = partial(Column, title, kind, missing=missing, distinct=distinct, spelled=what)
    if distinct == n and not is_kept and _are_keys(title, words):
        return found(Role.IDENTIFIER, reason="is another text in every row")
    if _are_categories(words, n):
        return found(Role.CATEGORY)
    return found(Role.TEXT, text_kernel=_text_kernel(words))


def _text_kernel(words: list[Any]) -> str:
    """Return the kernel of a column of text, in the expression language."""
    if _words_each(words) >= PROSE and all(isinstance(word, str) for word in words):
        return "words()"
    # Characters of the parts by which other text is compared.
    part_length = 3
    # Text that is shorter than its parts would not even be like itself.
    is_short = any(0 < len(word) < part_length for word in words)
    return (
        f"spectrum(k={list(range(1, part_length + 1)) if is_short else part_length}).normalized()"
    )


def _words_each(texts: list[Any]) -> float:
    """Return how many words texts have on average."""
    return float(np.mean([len(text.split()) for text in texts]))


def _are_categories(words: list[Any], n: int, short: int = 4) -> bool:
    """Whether the different words of a column of `n` of them are categories.

    Text of fewer characters than is `short` has no parts to compare.
    """
    distinct = len(words)
    come_back = distinct <= n / 2 or (n < FEW_ROWS and distinct < n)
    # Text with at most so many different values, each of them twice on average, is a category; with
    # more of them only if they come back often: names sooner than texts of several words, which
    # have some of these in common where they are not equal.
    most_levels = 50
    rows_per_name, rows_per_text = 3, 10
    rows_per_level = rows_per_name if _words_each(words) < PROSE else rows_per_text
    if come_back and (distinct <= most_levels or distinct <= n / rows_per_level):
        return True
    return float(np.median([len(word) for word in words])) < short


def _are_keys(title: Any, words: list[Any]) -> bool:
    texts = [w.decode("latin-1") if isinstance(w, bytes) else w for w in words]
    looks = all(KEY_VALUE.fullmatch(text) for text in texts)
    return looks or is_key_name(title)


def is_time_name(title: Any) -> bool:
    """Whether a column is called like a time."""
    return isinstance(title, str) and TIME_NAME.fullmatch(title) is not None


def is_key_name(title: Any) -> bool:
    """Whether a column is called like what numbers or names rows."""
    if not isinstance(title, str):
        return False
    return any(KEY_NAME.fullmatch(name) for name in (title, title.lower()))


def _counts_rows(values: NDArray[np.float64]) -> bool:
    """Whether the values are many of 0, 1, 2, ... in some order, and no two are alike.

    Rows to learn from are a part of those that were numbered. Of so many different numbers as
    there are rows two would be alike but for a chance of one in thousands.
    """
    # The shares of the rows at which the first and the last number of such a part are.
    first, last = 0.25, 1.5
    n = len(values)
    if n < FEW_ROWS or not 0.0 <= values.min() <= first * n or values.max() > last * n:
        return False
    return _are_whole_and_different(values)


def _are_whole_and_different(values: NDArray[np.float64]) -> bool:
    if not np.isfinite(values).all() or (values != np.floor(values)).any():
        return False
    return len(np.unique(values)) == len(values)
