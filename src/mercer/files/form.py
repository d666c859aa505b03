"""What a model keeps of how its file was read, so that later files are read in the same way."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from mercer.data.ranges import Levels, Ranges, is_name_with_texts

# Where a model has it.
ATTRIBUTE = "file_form_"
NO_RANGES, NO_LEVELS = Ranges(()), Levels()
# How dates are written, as `strftime` says it.
WRITTEN = re.compile(r"(?:%d(.)%m\1|%m(.)%d\2)%Y(?: %H:%M(?::%S)?)?|%Y(.)%m\3%d(?: %H:%M(?::%S)?)?")


@dataclass(frozen=True)
class Form:
    """How the cells of a file became columns, where the file alone does not say it.

    Parameters
    ----------
    first_index : {0, 1}, optional
        The index of the first column of svmlight; None if the rows are to say it: 1, as LIBSVM has
        it, unless one of them has an index 0.
    n_features : int, optional
        The columns of svmlight, of which the last may be zero in all rows.
    texts : tuple of str
        The columns of text of a table: a category 7 among others is a number where it is alone.
    numbers : tuple of str
        The columns of numbers that a model reads: 7 is no category '7' for a word in another row.
    by_thousands : tuple of str
        Those with points by thousands where decimals follow a comma: 1.234 is no 1,234 there.
    dates : tuple of (str, str)
        Columns of dates that were text, each with how they are written: 3/4/2020 is in April where
        the model has seen ``"%d/%m/%Y"``.
    target : str, optional
        The column that the model predicts.
    categories : Levels
        Columns that are compared as categories, each with those that the training rows have.
    ranges : Ranges
        The least and the largest number of columns in the training rows.
    remarks : tuple of str
        What a user was told of how the file was read.
    trimmed : tuple of (str, tuple of str)
        Columns of text that were read without spaces around their cells and with marks such as
        ``n/a`` as missing cells, each with the marks that are categories there.
    """

    first_index: int | None = None
    n_features: int | None = None
    texts: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    target: str | None = None
    categories: Levels = NO_LEVELS
    ranges: Ranges = NO_RANGES
    remarks: tuple[str, ...] = ()
    by_thousands: tuple[str, ...] = ()
    dates: tuple[tuple[str, str], ...] = ()
    trimmed: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def __post_init__(self) -> None:
        if not all(
            isinstance(name, str) for name in (*self.texts, *self.numbers, *self.by_thousands)
        ):
            raise ValueError("columns of a table have names that are texts")
        if not all(isinstance(text, str) for text in self.remarks):
            raise ValueError("remarks on how a file was read are texts")
        if not all(_is_date(entry) for entry in self.dates):
            raise ValueError("dates are the name of a column and how its cells are written")
        if not all(is_name_with_texts(entry) for entry in self.trimmed):
            raise ValueError("marks of columns of text are the name of a column and its marks")
        if self.first_index not in (None, 0, 1):
            raise ValueError(f"columns are counted from 0 or 1, got {self.first_index!r}")


def _is_date(entry: Any) -> bool:
    if not isinstance(entry, tuple) or len(entry) != 2:
        return False
    return all(isinstance(text, str) for text in entry) and bool(WRITTEN.fullmatch(entry[1]))


# Nothing is known, and the file is to say it.
OPEN = Form()


def form_of(model: Any) -> Form:
    """Return how files are read for a model: like its own, or as is customary if it had none."""
    found = getattr(model, ATTRIBUTE, None)
    if isinstance(found, Form):
        return found
    return Form(1, getattr(model, "n_features_in_", None))


def keep_form(model: Any, form: Form) -> None:
    """Have a model know how its file was read."""
    setattr(model, ATTRIBUTE, form)
