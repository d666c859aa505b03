"""Texts of new rows that have nothing in common with those of the rows of a fit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.data.columns import column_values, is_table, n_rows
from mercer.functions.dual import DualFunction
from mercer.functions.function import Function
from mercer.functions.primal import in_features
from mercer.kernels import Columns, Kernel


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
    _rows: dict[str, int] = field(default_factory=dict, init=False)

    def see(self, X: Any) -> None:
        """Count the texts of a table, or of a list of texts."""
        known: dict[str, NDArray[np.bool_]] = {}
        for column, shared in self._shared:
            known[column] = known.get(column, False) | (shared(X)[:, 0] > 0.0)
        for column, is_known in known.items():
            unknown = int((~is_known & _has_text(X, column)).sum())
            if unknown:
                self._rows[column] = self._rows.get(column, 0) + unknown

    @cached_property
    def _shared(self) -> list[tuple[str, Function]]:
        """The sums of what a text shares with all training rows, by column.

        Kernels of texts count, so that no term of such a sum is negative.
        """
        dual = self.function.dual
        return [
            (column, in_features(DualFunction(term, part.rows, ones, np.zeros(1))))
            for _, part in (() if dual is None else dual.sums)
            for ones in [np.ones((n_rows(part.rows), 1))]
            for column, term in _text_terms(part.kernel)
        ]

    @property
    def sentences(self) -> list[str]:
        """What was found, a line for every column."""
        return [
            f"{f'column {column!r}: ' if column else ''}"
            f"{'1 text has' if rows == 1 else f'{rows} texts have'} nothing in common with those "
            "of the training rows; what is predicted there does not depend on them"
            for column, rows in self._rows.items()
        ]


def _text_terms(kernel: Kernel, column: str = "") -> Iterator[tuple[str, Kernel]]:
    """Yield what a kernel compares texts by, with the column; "" where rows are texts."""
    if isinstance(kernel, Columns):
        if len(kernel.columns) == 1 and _compares_texts(kernel):
            yield str(kernel.columns[0]), kernel
    elif not kernel.parts:
        if _compares_texts(kernel):
            yield column, kernel
    else:
        for part in kernel.parts:
            yield from _text_terms(part, column)


def _compares_texts(kernel: Kernel) -> bool:
    if kernel.parts:
        return any(map(_compares_texts, kernel.parts))
    return kernel.domain == "sequences"


def _has_text(X: Any, column: str) -> NDArray[np.bool_]:
    """Return which rows have something in a column of text, or are something."""
    values = {str(n): v for n, v in column_values(X)}.get(column, ()) if is_table(X) else X
    return np.array([isinstance(v, str) and bool(v.strip()) for v in values], bool)
