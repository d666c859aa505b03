"""The picture of a fit to one column: the curve, its band, and the training points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from mercer.data.columns import like_rows
from mercer.reports.axes import LINE, axes_for, dress, legend_beside, line_of
from mercer.reports.line import Points, needed_line

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Fit:
    """A fitted function of one number.

    Parameters
    ----------
    values : array of shape (m,)
        f at the points of the picture.
    band : (array, array) or None
        The ends of prediction intervals there.
    label : str
        What it is called.
    """

    values: Array
    band: tuple[Array, Array] | None
    label: str


class FitDisplay:
    """One or several fits to the same points on a line.

    Parameters
    ----------
    x : array of shape (m,)
        Where the fits are drawn.
    fits : list of Fit
        The fits.
    points : Points
        The training points.
    y : array of shape (n,)
        Their targets.
    title : str
        What was fitted.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes drawn on.
    figure_ : matplotlib Figure
        Their figure.
    lines_ : list of matplotlib Line2D
        A curve for every fit.
    points_ : matplotlib PathCollection
        The training points.
    band_ : matplotlib collection or None
        The intervals, where one fit is drawn that has some.
    """

    def __init__(self, x: Array, fits: list[Fit], points: Points, y: Array, title: str) -> None:
        self.x = x
        self.fits = fits
        self.points = points
        self.y = y
        self.title = title

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        coverage: float = 0.9,
        resolution: int = 300,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw a fitted regression of one column with its prediction intervals, if it has some.

        Parameters
        ----------
        estimator : regressor
            Fitted to rows with one column.
        X, y : rows, array of shape (n,)
            The points to draw, by custom those of training.
        coverage : float
            The share of new targets that intervals should hold.
        resolution : int
            At how many points the curve is drawn.
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.
        **options
            Settings of the curve for ``Axes.plot``.
        """
        check_is_fitted(estimator)
        points = needed_line(X, "a picture of a fit")
        x = line_of(points.values, resolution)
        rows = like_rows(X, x[:, None])
        band = None
        if hasattr(estimator, "predict_interval"):
            lower, upper = estimator.predict_interval(rows, coverage)
            band = (np.asarray(lower), np.asarray(upper))
        fit = Fit(np.asarray(estimator.predict(rows)), band, "f")
        display = cls(x, [fit], points, np.asarray(y, np.float64), type(estimator).__name__)
        return display.plot(ax, coverage=coverage, **options)

    @classmethod
    def from_alphas(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        alphas: Sequence[float] = (1e-4, 1e-2, 1.0, 1e2),
        *,
        resolution: int = 300,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Fit a regression with every alpha, and draw the curves: from overfit to underfit.

        Parameters
        ----------
        estimator : KernelRidge
            With a parameter ``alpha``; copies of it are fitted.
        X, y : rows, array of shape (n,)
            Rows with one column, and targets.
        alphas : sequence of float
            The ridges, by default from a fit that follows every point to one that is nearly
            constant. The legend tells the leave-one-out error of each.
        resolution : int
            At how many points curves are drawn.
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.
        **options
            Settings of the curves for ``Axes.plot``.
        """
        points, targets = needed_line(X, "a picture of fits"), np.asarray(y, np.float64)
        x = line_of(points.values, resolution)
        rows, fits = like_rows(X, x[:, None]), []
        for alpha in alphas:
            model = clone(estimator).set_params(alpha=alpha).fit(X, y)
            label = f"alpha = {alpha:g}"
            left_out = getattr(model, "leave_one_out_predictions_", None)
            if left_out is not None:
                error = np.sqrt(np.mean((targets - left_out) ** 2))
                label += f"\n(left out: {error:.3g})"
            fits.append(Fit(np.asarray(model.predict(rows)), None, label))
        return cls(x, fits, points, targets, type(estimator).__name__).plot(ax, **options)

    def plot(self, ax: Any = None, *, coverage: float = 0.9, **options: Any) -> Self:
        """Draw it, on new axes or those given; the options go to ``Axes.plot``."""
        import matplotlib.pyplot as plt

        is_one = len(self.fits) == 1
        ax = axes_for(ax, (6.4, 4.0) if is_one else (7.6, 4.2))
        self.ax_, self.figure_, self.band_ = ax, ax.figure, None
        self.points_ = ax.scatter(self.points.values, self.y, s=16, color="0.35", zorder=3, lw=0)
        shades = plt.get_cmap("viridis")(np.linspace(0.05, 0.9, len(self.fits)))
        self.lines_ = []
        for fit, shade in zip(self.fits, shades, strict=True):
            style = {"color": LINE if is_one else shade, "linewidth": 2.0, "label": fit.label}
            self.lines_ += ax.plot(self.x, fit.values, **(style | options))
            if is_one and fit.band is not None:
                name = f"interval of {coverage:.0%}"
                self.band_ = ax.fill_between(
                    self.x, *fit.band, color=LINE, alpha=0.18, linewidth=0, label=name
                )
        # A curve that runs away between points would leave no room for the others.
        low, high = float(self.y.min()), float(self.y.max())
        room = 0.35 * (high - low) or 1.0
        ax.set_ylim(max(ax.get_ylim()[0], low - room), min(ax.get_ylim()[1], high + room))
        dress(ax, self.title, self.points.name, "")
        if is_one:
            ax.legend(fontsize="small", framealpha=0.8, edgecolor="none")
        else:
            legend_beside(ax)
        return self
