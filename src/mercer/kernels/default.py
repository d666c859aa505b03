"""The kernel that a table suggests, from what its columns hold."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.data.categories import OWN_CATEGORY, REFUSE, coded, is_missing, titled_columns
from mercer.data.columns import column_values, is_table
from mercer.data.kinds import Kind, column_kinds, kind_of_values
from mercer.kernels.categories import Match
from mercer.kernels.expression import kernel
from mercer.kernels.heuristics import median_distance
from mercer.kernels.kernel import Kernel, Sum
from mercer.kernels.maps import Standardize
from mercer.kernels.stationary import Gaussian

# Text with at most so many different values, each of them twice on average, is a category; with
# more of them only if they come back this often.
LEVELS = 50
OFTEN = 10
# Rows below which one repeated value already says that text is a category.
FEW = 20
# Text of fewer characters has no parts to compare, and of so many words is prose.
SHORT = 4
PROSE = 3
# Characters of the parts by which other text is compared.
PART = 3
# Columns of numbers up to which each has a length scale of its own to edit.
MOST_SCALES = 50
DIGITS = 4

# Names and values by which a column numbers the rows instead of describing them.
KEY_NAME = re.compile(r"(.*[_\W])?(id|uuid|guid|key|index|rownames)|.*[a-z]I[Dd]", re.DOTALL)
KEY_VALUE = re.compile(
    r"[A-Za-z]{0,8}[\W_]*\d+|[0-9a-fA-F]{8}(-?[0-9a-fA-F]{4}){3}-?[0-9a-fA-F]{12}"
)


def default_kernel(X: Any) -> Kernel:
    """Return a sensible kernel for a table: a sum of terms with k(x, x) = 1, one for each kind.

    Numbers are compared by one Gaussian of the standardised columns, with a length scale for each
    column, all at the median distance of the rows; categories by `Match`; text of several words
    by ``words()`` and other text by ``spectrum(k=3).normalized()``, or ``k=[1, 2, 3]`` where some
    of it is shorter, a term for each column. In such a term text without a word, or without a
    character, has nothing to compare: its value is 0 with every row, itself included. ``print``
    the kernel to see, and edit, what it says: `mercer.kernel` reads it back.

    Parameters
    ----------
    X : table, array or list
        The rows. Of an array, and of a table that calls some column by anything but text, the
        columns are named by position; a list holds one column.

    Notes
    -----
    What becomes of a column:

    - Numbers are numbers, however few different ones there are. Truth values and columns declared
      as categories are categories.
    - Text is a category if it has at most 50 different values, or as few as a tenth of the rows,
      and they come back twice on average (in a table of fewer than 20 rows: if any does); text
      with a median length of fewer than four characters is one too, whether it comes back or not.
    - A missing category is a category of its own. Missing numbers are left for `fit` to refuse.
    - Left out are columns that tell rows from each other but not how they are alike: of one
      value, of none, of whole numbers that count 20 rows or more from 0 or 1, and of values all
      different that are called or look like keys ("id", "user_id", "A-0042", a UUID).
    - Dates and times, lists and other objects are left out too; make numbers or text of them.

    Examples
    --------
    >>> import mercer
    >>> table = {"age": [41.0, 52.0, 60.0], "site": ["a", "b", "a"]}
    >>> print(mercer.default_kernel(table))  # doctest: +NORMALIZE_WHITESPACE
    gaussian(length_scale=[1.412]).after(standardize()).on(age)
        + match(missing='refuse').on(site)
    """
    choice = _Choice()
    for title, kind, values in _described(X):
        choice.take(title, kind, values)
    terms = choice.terms(is_table(X))
    if not terms:
        reasons = "; ".join(choice.left_out[:10]) or "there are none"
        raise ValueError(f"no column says how rows are alike ({reasons}); name a kernel for them")
    return terms[0] if len(terms) == 1 else Sum(tuple(terms))


@dataclass
class _Choice:
    """The columns by the term that reads them, and why the others are left out."""

    numbers: dict[Any, NDArray[np.float64]] = field(default_factory=dict)
    categories: list[Any] = field(default_factory=list)
    has_gaps: bool = False
    text: list[tuple[Any, str]] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)

    def take(self, title: Any, kind: Kind, values: Any) -> None:
        """Put a column where it belongs."""
        if kind is Kind.NUMBERS:
            self._take_numbers(title, np.asarray(values, dtype=np.float64))
        elif kind in (Kind.BOOLEANS, Kind.CATEGORIES, Kind.TEXT):
            self._take_categories(title, kind, values)
        else:
            self._leave(title, f"holds {kind}")

    def _leave(self, title: Any, reason: str) -> None:
        self.left_out.append(f"{title!r} {reason}")

    def _take_numbers(self, title: Any, values: NDArray[np.float64]) -> None:
        known = values[~np.isnan(values)]
        if known.size == 0 or known.min() == known.max():
            self._leave(title, "has one value" if known.size else "is empty")
        elif _counts_rows(known) or (_is_key_name(title) and _are_whole_and_different(known)):
            self._leave(title, "numbers the rows")
        else:
            self.numbers[title] = values

    def _take_categories(self, title: Any, kind: Kind, values: Any) -> None:
        codes, levels = coded(title, values)
        gaps = [i for i, level in enumerate(levels) if is_missing(level)]
        counts = np.bincount(codes, minlength=len(levels))
        known = [i for i in range(len(levels)) if i not in set(gaps)]
        n = int(counts[known].sum())
        has_gaps = n < len(codes)
        if len(known) + has_gaps < 2:
            self._leave(title, "has one value" if known else "is empty")
            return
        words = [levels[i] for i in known]
        if kind is Kind.TEXT and len(words) == n and _are_keys(title, words):
            self._leave(title, "numbers the rows")
            return
        if kind is Kind.TEXT and not _are_categories(words, n):
            self.text.append((title, _text_kernel(words)))
            return
        self.categories.append(title)
        self.has_gaps = self.has_gaps or has_gaps

    def terms(self, is_named: bool) -> list[Kernel]:
        """Return the terms of the kernel."""
        found: list[Kernel] = []
        if self.numbers:
            found.append(_gaussian(list(self.numbers.values())).on(*self.numbers))
        if self.categories:
            term = Match(OWN_CATEGORY if self.has_gaps else REFUSE)
            found.append(term.on(*self.categories))
        found += [kernel(text).on(title) for title, text in self.text]
        # Columns without a name need not be named if all of them are read alike.
        is_whole = not is_named and not self.left_out and len(found) == 1
        return [part for term in found for part in term.parts] if is_whole else found


def _described(X: Any) -> list[tuple[Any, Kind, Any]]:
    """Return the title, the kind and the values of every column."""
    if not is_table(X):
        return [(title, kind_of_values(values), values) for title, values in titled_columns(X)]
    kinds = column_kinds(X)
    # Missing numbers are NaN in one of these, and keep the others whole in the other.
    arrays, values = dict(column_values(X)), dict(titled_columns(X))
    # Columns that are called by anything but text are meant by their positions.
    is_named = all(isinstance(name, str) for name in kinds)
    titles: Iterable[Any] = kinds if is_named else range(len(kinds))
    return [
        (title, kind, (arrays if kind is Kind.NUMBERS else values)[name])
        for title, (name, kind) in zip(titles, kinds.items(), strict=True)
    ]


def _gaussian(columns: list[NDArray[np.float64]]) -> Kernel:
    """Return the Gaussian of standardised columns at the median distance of complete rows."""
    rows = np.column_stack(columns)
    rows = rows[np.isfinite(rows).all(axis=1)]
    # Standardised rows are about sqrt(2 d) apart, if there are none to ask.
    median = float(np.sqrt(2.0 * len(columns)))
    if len(rows) > 1:
        median = median_distance(Standardize().resolved(rows)(rows))
    scale = float(f"{median:.{DIGITS}g}")
    each = scale if len(columns) > MOST_SCALES else (scale,) * len(columns)
    return Gaussian(each).after(Standardize())


def _text_kernel(words: list[Any]) -> str:
    """Return the kernel of a column of text, in the expression language."""
    tokens = [len(word.split()) for word in words]
    is_prose = np.mean(tokens) >= PROSE and all(isinstance(word, str) for word in words)
    if is_prose:
        return "words()"
    # Text that is shorter than its parts would not even be like itself.
    is_short = any(0 < len(word) < PART for word in words)
    return f"spectrum(k={list(range(1, PART + 1)) if is_short else PART}).normalized()"


def _are_categories(words: list[Any], n: int) -> bool:
    """Whether the different words of a column of `n` of them are categories."""
    distinct = len(words)
    come_back = distinct <= n / 2 or (n < FEW and distinct < n)
    if come_back and (distinct <= LEVELS or distinct <= n / OFTEN):
        return True
    return float(np.median([len(word) for word in words])) < SHORT


def _are_keys(title: Any, words: list[Any]) -> bool:
    texts = [w.decode("latin-1") if isinstance(w, bytes) else w for w in words]
    looks = all(KEY_VALUE.fullmatch(text) for text in texts)
    return looks or _is_key_name(title)


def _is_key_name(title: Any) -> bool:
    if not isinstance(title, str):
        return False
    return any(KEY_NAME.fullmatch(name) for name in (title, title.lower()))


def _counts_rows(values: NDArray[np.float64]) -> bool:
    """Whether the values are 0, 1, 2, ... or 1, 2, 3, ... in some order, and many."""
    n, low = len(values), float(values.min())
    is_count = n >= FEW and low in (0.0, 1.0) and float(values.max()) - low == n - 1
    return is_count and _are_whole_and_different(values)


def _are_whole_and_different(values: NDArray[np.float64]) -> bool:
    if not np.isfinite(values).all() or (values != np.floor(values)).any():
        return False
    return len(np.unique(values)) == len(values)
