"""Sequences as they come in: lists, arrays and columns of text, bytes or tokens become symbols."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.data.columns import column_names, is_table, n_rows, table_column
from mercer.data.symbols import Sequences, symbols_of


def as_sequences(X: Any) -> Sequences:
    """Return the rows `X` as sequences of symbols.

    Parameters
    ----------
    X : rows
        A list, tuple, array or column of texts, bytes or lists of hashable tokens, or a table of
        one such column. A text is the list of its characters (code points, not normalised), and
        bytes are the characters of the same numbers.
    """
    if isinstance(X, Sequences):
        return X
    rows = sequence_rows(X)
    try:
        return _texts(rows)
    except TypeError:
        return _tokens(rows, _where(X))


def text_rows(X: Any) -> list[str]:
    """Return the rows `X` as texts; whatever is no text is an error."""
    rows = sequence_rows(X)
    for i, row in enumerate(rows):
        if not isinstance(row, str):
            raise ValueError(_not_a_sequence(row, i, "text", _where(X)))
    return rows


def sequence_rows(X: Any) -> list[Any]:
    """Return the rows `X` as a list, which no check has seen yet."""
    if isinstance(X, str | bytes):
        raise ValueError(f"X is one sequence, {X!r:.60}; give a list of them, one for each row")
    if is_table(X):
        names = column_names(X)
        if len(names) != 1:
            raise ValueError(
                f"a kernel for sequences reads one column, and this table has {len(names)}; "
                "select one with .on('name')"
            )
        X = table_column(X, names[0])
    if hasattr(X, "to_pylist"):
        return list(X.to_pylist())
    if not hasattr(X, "dtype"):
        n_rows(X)
        return list(X)
    shape = tuple(X.shape)
    if len(shape) != 1 and shape[1:] != (1,):
        raise ValueError(
            f"a kernel for sequences reads one column, got an array of shape {shape}; "
            "select one with .on(0)"
        )
    return list(np.asarray(X, dtype=object).reshape(-1).tolist())


def _texts(rows: Sequence[str]) -> Sequences:
    """Return texts by their code points; anything else raises TypeError."""
    text = "".join(rows)
    if text.isascii():
        symbols: NDArray[Any] = np.frombuffer(text.encode("ascii"), np.uint8)
    else:
        symbols = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    return Sequences(symbols, _starts(map(len, rows), len(rows)))


def _tokens(rows: Sequence[Any], where: str) -> Sequences:
    """Return rows of any kind, each checked; `where` they are is named if one is wrong."""
    for i, row in enumerate(rows):
        if not isinstance(row, str | bytes | list | tuple | np.ndarray):
            raise ValueError(_not_a_sequence(row, i, "text, bytes or a list of tokens", where))
    spelled = [_spelled(row, i, where) for i, row in enumerate(rows)]
    numbers = symbols_of(token for row in spelled for token in row)
    starts = _starts(map(len, spelled), len(spelled))
    symbols = np.fromiter((numbers[t] for row in spelled for t in row), np.uint64, int(starts[-1]))
    return Sequences(symbols, starts)


def _spelled(row: Any, i: int, where: str) -> Any:
    if isinstance(row, bytes):
        return row.decode("latin-1")
    if isinstance(row, np.ndarray):
        row = row.tolist()
    if not isinstance(row, str):
        for token in row:
            try:
                hash(token)
            except TypeError:
                raise ValueError(
                    f"{where} holds the token {token!r:.60} at row {i}, which is not hashable; "
                    "use text, numbers or tuples as tokens"
                ) from None
    return row


def _starts(lengths: Iterable[int], n: int) -> NDArray[np.int64]:
    starts = np.zeros(n + 1, np.int64)
    np.cumsum(np.fromiter(lengths, np.int64, n), out=starts[1:])
    return starts


def _where(X: Any) -> str:
    return f"column {column_names(X)[0]!r}" if is_table(X) else "X"


def _not_a_sequence(row: Any, i: int, wanted: str, where: str) -> str:
    what = f"{type(row).__name__} {row!r:.60}" if row is not None else "None"
    return (
        f"{where} holds {what} at row {i}; {wanted} is needed there: fill or drop such rows first"
    )
