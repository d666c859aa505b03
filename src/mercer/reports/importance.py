"""The picture of what matters: the columns of a model by their importance."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from mercer.explanation import Explanation, explain
from mercer.reports.axes import LINE, QUIET, SECOND, axes_for, dress


class ImportanceDisplay:
    """A bar for every column: how far f moves with one deviation of it, see `mercer.explain`.

    Over the bar of a number is a line from the change at 10 % of the rows to that at 90 %, with a
    point at the mean: to the right of zero f grows with the column, to the left it falls.

    Parameters
    ----------
    explanation : Explanation
        What `mercer.explain` returned.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes drawn on.
    figure_ : matplotlib Figure
        Their figure.
    bars_ : matplotlib BarContainer
        The bars, the most important first.
    """

    def __init__(self, explanation: Explanation) -> None:
        self.explanation = explanation

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        *,
        target: int | None = None,
        most: int = 15,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw the importance of the columns of a fitted model.

        Parameters
        ----------
        estimator : estimator
            A kernel machine, or a search over some, fitted.
        X : rows, optional
            Where to look at f; by default the rows that the model holds.
        target : int, optional
            Which target or function, if there are several.
        most : int
            How many columns to draw.
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.
        **options
            Settings of the bars for ``Axes.barh``.
        """
        return cls(explain(estimator, X, target=target)).plot(ax, most=most, **options)

    def plot(self, ax: Any = None, *, most: int = 15, **options: Any) -> Self:
        """Draw the bars, on new axes or those given; the options go to ``Axes.barh``."""
        rows = self.explanation.columns[:most]
        if not rows:
            raise ValueError("the rows of this model have no columns; print mercer.explain(model)")
        ax = axes_for(ax, (6.4, 1.2 + 0.32 * len(rows)))
        self.ax_, self.figure_ = ax, ax.figure
        places = np.arange(len(rows))
        style = {"color": "#bcd9ee", "height": 0.7} | options
        self.bars_ = ax.barh(places, [row.importance for row in rows], **style)
        for place, row in zip(places, rows, strict=True):
            if not np.isnan(row.effect):
                colour = LINE if row.effect >= 0.0 else SECOND
                if not np.isnan(row.low):
                    ax.plot([row.low, row.high], [place, place], color=colour, linewidth=1.6)
                ax.plot([row.effect], [place], "o", color=colour, markersize=4.5)
        ax.axvline(0.0, color=QUIET, linewidth=0.8)
        left_out = len(self.explanation.columns) - len(rows)
        title = f"importance of columns{f' ({left_out} more)' if left_out else ''}"
        said = "change of f with one deviation\n(bar: importance; line: 80% of the rows)"
        if all(np.isnan(row.effect) for row in rows):
            said = "importance: how far f moves with the cell of another row"
        dress(ax, title, said, "")
        # Numbers of the size of prices would touch.
        ax.locator_params(axis="x", nbins=5)
        ax.set_yticks(places, [str(row.column) for row in rows])
        ax.grid(False, axis="y")
        ax.invert_yaxis()
        return self
