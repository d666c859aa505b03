"""The picture of an effect: the curve of f along one column."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from mercer.data.columns import column_names, is_table
from mercer.explanation import Effect, effect_of
from mercer.explanation.effects import column_place
from mercer.reports.axes import LINE, axes_for, dress

Array = NDArray[np.float64]


class EffectDisplay:
    """What a model answers where one column has one value for all rows, over that value.

    The line is the mean over the rows, the band holds the answers at 80 % of them: it is narrow
    where the other columns do not matter. Categories have a point and a lying line each.

    Parameters
    ----------
    effect : Effect
        The curve.
    answer : str
        What the model answers.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes drawn on.
    figure_ : matplotlib Figure
        Their figure.
    line_ : matplotlib Line2D
        The mean.
    band_ : matplotlib collection
        The band, or the lying lines.
    """

    def __init__(self, effect: Effect, answer: str) -> None:
        self.effect = effect
        self.answer = answer

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        column: str | int,
        *,
        resolution: int = 60,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw the effect of a column of a fitted model.

        Parameters
        ----------
        estimator : estimator
            Fitted; of classes it is the probability of the last one, or its score.
        X : rows
            An array or a table. The other columns are those of some of these rows.
        column : str or int
            The column by name or position: numbers, dates or categories.
        resolution : int
            At how many numbers to look.
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.
        **options
            Settings of the line for ``Axes.plot``.
        """
        check_is_fitted(estimator)
        place = column_place(X, column)
        name = str(column_names(X)[place] if is_table(X) else f"column {place}")
        found = effect_of(lambda rows: answers(estimator, rows), X, place, name, resolution)
        if found is None:
            raise ValueError(
                f"column {column!r} has no curve: it has one value, or holds text; choose another"
            )
        return cls(found, answer_name(estimator)).plot(ax, **options)

    def plot(self, ax: Any = None, **options: Any) -> Self:
        """Draw it, on new axes or those given; the options go to ``Axes.plot``."""
        ax = axes_for(ax, (5.6, 3.8))
        self.ax_, self.figure_ = ax, ax.figure
        e, style = self.effect, {"color": LINE, "linewidth": 2.0}
        if e.is_ordered:
            self.band_ = ax.fill_between(e.values, e.low, e.high, color=LINE, alpha=0.18, lw=0)
            (self.line_,) = ax.plot(e.values, e.mean, **(style | options))
        else:
            # Names lie on the left, where there is room for them; the most frequent one is on top.
            places, names = np.arange(len(e.values)), [str(value) for value in e.values]
            self.band_ = ax.hlines(places, e.low, e.high, color=LINE, alpha=0.35, linewidth=6)
            points = style | {"linestyle": "none", "marker": "o"} | options
            (self.line_,) = ax.plot(e.mean, places, **points)
            ax.set_ylim(len(places) - 0.4, -0.6)
            # Names leave little room for numbers of the size of prices.
            ax.locator_params(axis="x", nbins=5)
            ax.set_yticks(places, [n if len(n) <= 24 else f"{n[:23]}…" for n in names])
        axes = (e.column, self.answer) if e.is_ordered else (self.answer, e.column)
        dress(ax, f"effect of {e.column}", *axes)
        if e.values.dtype.kind == "M":
            ax.tick_params(axis="x", rotation=25)
        return self


def answers(estimator: Any, rows: Any) -> Array:
    """Return a number for each row: the prediction, or what speaks for the last class."""
    if not hasattr(estimator, "classes_"):
        values = np.asarray(estimator.predict(rows), np.float64)
        if values.ndim != 1:
            raise ValueError("a curve is that of one target, and this model predicts several")
        return values
    if hasattr(estimator, "predict_proba"):
        return np.asarray(estimator.predict_proba(rows)[:, -1], np.float64)
    scores = np.asarray(estimator.decision_function(rows), np.float64)
    return scores if scores.ndim == 1 else scores[:, -1]


def answer_name(estimator: Any) -> str:
    """Return what `answers` are."""
    if not hasattr(estimator, "classes_"):
        return "prediction"
    what = "probability of" if hasattr(estimator, "predict_proba") else "score of"
    return f"{what} {class_name(estimator.classes_[-1])}"


def class_name(label: Any) -> str:
    """Return what a class is called in a sentence, where a number alone could be anything."""
    return label if isinstance(label, str) and label[:1].isalpha() else f"class {label}"
