"""The picture of a kernel: k(x, .) as curves, and the bumps whose sum is f."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from mercer.data.columns import like_rows
from mercer.explanation.subject import chosen_model
from mercer.kernels import Kernel, as_kernel
from mercer.reports.axes import COLOURS, LINE, QUIET, axes_for, dress, legend_beside, line_of
from mercer.reports.gram import kernel_and_rows
from mercer.reports.line import needed_line
from mercer.reports.selection import called
from mercer.tiles import evaluate

Array = NDArray[np.float64]


class KernelDisplay:
    """Curves of one number: k(x, .) for some x, or a_i k(x_i, .) for every training point.

    Parameters
    ----------
    x : array of shape (m,)
        Where curves are drawn.
    curves : array of shape (m, count)
        The curves.
    labels : list of str
        What they are called; none if they are many.
    total : array of shape (m,) or None
        Their sum and the offset, f + b.
    title, name : str
        What is drawn, and what the number is called.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes drawn on.
    figure_ : matplotlib Figure
        Their figure.
    lines_ : list of matplotlib Line2D
        The curves.
    total_ : matplotlib Line2D or None
        The sum.
    """

    def __init__(
        self, x: Array, curves: Array, labels: list[str], total: Array | None, title: str, name: str
    ) -> None:
        self.x = x
        self.curves = curves
        self.labels = labels
        self.total = total
        self.title = title
        self.name = name

    @classmethod
    def from_kernel(
        cls,
        kernel: Kernel | str,
        centres: Sequence[float] = (-2.0, 0.0, 2.0),
        *,
        limits: tuple[float, float] | None = None,
        resolution: int = 300,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw k(x, .) of a kernel of one number for some x.

        Parameters
        ----------
        kernel : Kernel or str
            The kernel, with numbers for parameters.
        centres : sequence of float
            The x.
        limits : (float, float), optional
            From where to where; by default two units beyond the centres.
        resolution : int
            At how many points curves are drawn.
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.
        **options
            Settings of the curves for ``Axes.plot``.
        """
        at = np.asarray(centres, np.float64)
        if at.ndim != 1 or len(at) == 0 or not np.isfinite(at).all():
            raise ValueError(
                f"centres must be some finite numbers, got an array of shape {at.shape}; give "
                "such as [-2.0, 0.0, 2.0]"
            )
        low, high = limits or (float(at.min()) - 2.0, float(at.max()) + 2.0)
        x = np.linspace(low, high, resolution)
        k = as_kernel(kernel).resolved(x[:, None])
        K = np.asarray(k(x[:, None], at[:, None]), np.float64)
        labels = [f"k({centre:g}, ·)" for centre in at]
        return cls(x, K, labels, None, called(k), "z").plot(ax, **options)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        target: int = 0,
        resolution: int = 400,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw the bump a_i k(x_i, .) of every training point of one column, and their sum.

        Parameters
        ----------
        estimator : estimator
            A kernel machine, or a search over some, fitted to rows with one column.
        target : int
            Which target or function, if there are several.
        resolution : int
            At how many points curves are drawn.
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.
        **options
            Settings of the bumps for ``Axes.plot``.
        """
        kernel, rows = kernel_and_rows(estimator)
        points = needed_line(rows, "a picture of bumps")
        f = chosen_model(estimator).function_
        x = line_of(points.values, resolution)
        seen = like_rows(rows, x[:, None])
        bumps = np.hstack(
            [
                evaluate(part.kernel.program, seen, part.rows) * (v * part.by_target[:, target])
                for v, part in f.dual.sums
            ]
        ).astype(np.float64)
        total = bumps.sum(axis=1) + f.intercept[target]
        title = f"{bumps.shape[1]} bumps and their sum, {called(kernel)}"
        return cls(x, bumps, [], total, title, points.name).plot(ax, **options)

    def plot(self, ax: Any = None, **options: Any) -> Self:
        """Draw the curves, on new axes or those given; the options go to ``Axes.plot``."""
        ax = axes_for(ax)
        self.ax_, self.figure_, self.total_ = ax, ax.figure, None
        if self.labels:
            self.lines_ = [
                line
                for j, label in enumerate(self.labels)
                for line in ax.plot(
                    self.x,
                    self.curves[:, j],
                    **({"color": COLOURS[j % len(COLOURS)], "label": label} | options),
                )
            ]
        else:
            style = {"color": QUIET, "linewidth": 0.7, "alpha": 0.7} | options
            self.lines_ = ax.plot(self.x, self.curves, **style)
            if self.lines_:
                self.lines_[0].set_label("a_i k(x_i, ·)")
        if self.total is not None:
            (self.total_,) = ax.plot(self.x, self.total, color=LINE, linewidth=2.2, label="f + b")
        dress(ax, self.title, self.name, "")
        # More curves than colours are not told apart by name.
        if len(self.labels) <= len(COLOURS):
            legend_beside(ax)
        return self
