"""Derivatives through views: from what a leaf sees of the rows back to their own columns."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from mercer.data.columns import column_places, n_columns
from mercer.tiles.rows import Rows
from mercer.tiles.tile import Select, View

Array = NDArray[np.float64]


@runtime_checkable
class Differentiable(Protocol):
    """A map of rows g of which the derivative J is known."""

    def pullback(self, X: Any, V: Array) -> Array:
        """Return J(x)'v for every row x of `X` and every target.

        Parameters
        ----------
        X : rows
            The rows, n of them.
        V : array of shape (n, mapped columns, targets)
            v; what is returned has the shape (n, columns, targets).
        """


def is_discrete(view: View) -> bool:
    """Whether a view reads symbols, of which nothing changes by little."""
    return any(getattr(getattr(step, "g", None), "is_discrete", False) for step in view)


def pulled_back(view: View, X: Any, V: Array) -> Array:
    """Return the derivative by the columns of `X`, given that by the columns behind a view.

    Parameters
    ----------
    view : tuple of Select and Transform
        The view.
    X : rows
        The rows as they came.
    V : array of shape (n, seen columns, targets)
        The derivative by what is seen of them.
    """
    rows = Rows(X, "X")
    for i in reversed(range(len(view))):
        step, before = view[i], rows.behind(view[:i]).X
        if isinstance(step, Select):
            out = np.zeros((len(V), n_columns(before), V.shape[2]))
            out[:, column_places(before, step.columns)] = V
            V = out
        elif isinstance(step.g, Differentiable):
            V = step.g.pullback(before, V)
        else:
            raise ValueError(
                f"the derivative of the map {step.g!r:.100} is not known; give it a method "
                "pullback(X, V) that returns J(x)'v for every row, or map the rows beforehand"
            )
    return V
