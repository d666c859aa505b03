"""Texts of new rows that have nothing in common with those of the rows of a fit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.data.columns import column_names, is_table, n_rows, select_columns
from mercer.data.layout import narrowed, used_columns
from mercer.data.sequences import sequence_rows
from mercer.functions.dual import DualFunction
from mercer.functions.function import Function
from mercer.functions.primal import PrimalFunction, in_features
from mercer.gram import features_at
from mercer.kernels import Columns, EditDistance, Kernel, Sum
from mercer.kernels.columns import kept_with

# A column of a table by its name, one of a matrix by its position; None where rows are texts.
Column = str | int | None


@dataclass(eq=False)
class UnknownTexts:
    """The texts of rows that come in blocks of which a function knows no word and no k-gram.

    Its term sum_i a_i k(x_i, x) is zero there whatever a is, so that every such text is given the
    same answer. Where a function keeps no rows, nothing is known of them.

    Parameters
    ----------
    function : Function
        f, of a kernel that compares texts or of another one.
    """

    function: Function
    _rows: dict[Column, int] = field(default_factory=dict, init=False)

    def see(self, X: Any) -> None:
        """Count the texts of a table, or of a list of texts."""
        known: dict[Column, NDArray[np.bool_]] = {}
        for column, shared in _shared(self.function):
            known[column] = known.get(column, False) | (shared(X)[:, 0] > 0.0)
        for column, is_known in known.items():
            unknown = int((~is_known & _has_text(X, column)).sum())
            if unknown:
                self._rows[column] = self._rows.get(column, 0) + unknown

    @property
    def sentences(self) -> list[str]:
        """What was found, a line for every column."""
        return [
            f"{'' if column is None else f'column {column!r}: '}"
            f"{'1 text has' if rows == 1 else f'{rows} texts have'} nothing in common with those "
            "of the training rows; what is predicted there does not depend on them"
            for column, rows in self._rows.items()
        ]


@kept_with
def _shared(function: Function) -> list[tuple[Column, Function]]:
    """Return the sums of what a text shares with all training rows, by column.

    Kernels of texts count, so that no term of such a sum is negative. A column with a term that is
    never zero is left out.
    """
    dual = function.dual
    terms = [
        (column, term, part.rows)
        for _, part in (() if dual is None else dual.sums)
        for column, term in _text_terms(part.kernel, part.rows)
    ]
    always = {column for column, term, _ in terms if _is_never_zero(term)}
    return [(column, _summed(term, rows)) for column, term, rows in terms if column not in always]


def _summed(kernel: Kernel, rows: Any) -> Function:
    """Return sum_i k(x_i, x), by those features that some x_i has where these are sparse."""
    ones, phi = np.ones((n_rows(rows), 1)), kernel.feature_map
    is_sparse = phi is not None and phi.stays_sparse(rows) and not phi.is_open(rows)
    if not is_sparse or kernel.n_features(rows) is None:
        return in_features(DualFunction(kernel, rows, ones, np.zeros(1)))
    F = features_at(kernel, rows)
    columns = used_columns(F)
    return PrimalFunction(kernel, columns, narrowed(F, columns).T @ ones, np.zeros(1))


def _text_terms(kernel: Kernel, rows: Any) -> Iterator[tuple[Column, Kernel]]:
    """Yield what a kernel compares texts by, with the column."""
    if isinstance(kernel, Columns):
        if len(kernel.columns) == 1 and _compares_texts(kernel):
            column = _name_of(kernel.columns[0], rows)
            yield column, kernel.kernel.on(column)
    elif not kernel.parts:
        if _compares_texts(kernel):
            yield None, kernel
    else:
        for part in kernel.parts:
            yield from _text_terms(part, rows)


def _name_of(column: str | int, rows: Any) -> str | int:
    """Return the name of a column of the table of a fit; others may have it in another place."""
    if isinstance(column, str) or not is_table(rows):
        return column
    name: Any = column_names(rows)[column]
    # Columns called by numbers are meant by their positions.
    return name if isinstance(name, str) else column


def _compares_texts(kernel: Kernel) -> bool:
    if kernel.parts:
        return any(map(_compares_texts, kernel.parts))
    return kernel.domain == "sequences"


def _is_never_zero(kernel: Kernel) -> bool:
    """Whether a kernel is positive however little two texts have in common."""
    if not kernel.parts:
        return isinstance(kernel, EditDistance)
    return (any if isinstance(kernel, Sum) else all)(map(_is_never_zero, kernel.parts))


def _has_text(X: Any, column: Column) -> NDArray[np.bool_]:
    """Return which rows have something in a column of text, or are something."""
    values = sequence_rows(X if column is None else select_columns(X, [column]))
    return np.array([isinstance(v, str) and bool(v.strip()) for v in values], bool)
