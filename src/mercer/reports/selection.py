"""The picture of a selection: the criterion over alpha, a curve for every kernel."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from mercer.kernels import Kernel
from mercer.kernels.language.outline import outline
from mercer.reports.axes import axes_for, dress, legend_beside

Array = NDArray[np.float64]

CHOSEN = "#d1495b"


@dataclass(frozen=True, eq=False)
class Curve:
    """The criterion over alpha for one kernel, in one round of the search."""

    kernel: Kernel
    alphas: Array
    values: Array
    is_refined: bool


class SelectionDisplay:
    """The criterion of a selection over alpha, one curve per kernel, the choice marked.

    Where the score is minus an error, the error is drawn, so that the choice is the lowest point.

    Parameters
    ----------
    curves : list of Curve
        What to draw.
    chosen : array of shape (choices, 2)
        alpha and criterion of what was chosen.
    kernel : Kernel
        The kernel chosen.
    criterion : str
        The name of the criterion.
    is_error : bool
        Whether lower is better.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes drawn on.
    figure_ : matplotlib Figure
        Their figure.
    lines_ : list of matplotlib Line2D
        The curves.
    chosen_ : matplotlib Line2D
        The mark of the choice.
    """

    # The legend names this many curves; of more it names the chosen one only.
    legend_rows: ClassVar[int] = 16
    # Names longer than this go below the axes rather than beside them.
    long_name: ClassVar[int] = 28

    def __init__(
        self, curves: list[Curve], chosen: Array, kernel: Kernel, criterion: str, is_error: bool
    ) -> None:
        self.curves = curves
        self.chosen = chosen
        self.kernel = kernel
        self.criterion = criterion
        self.is_error = is_error

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **options: Any) -> Self:
        """Draw the selection of a fitted `KernelRidgeCV`; others are refused.

        Parameters
        ----------
        estimator : KernelRidgeCV
            Fitted.
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.
        **options
            Settings of the curves for ``Axes.plot``.
        """
        check_is_fitted(estimator)
        if not hasattr(estimator, "cv_results_"):
            raise TypeError(
                f"a selection is one of KernelRidgeCV, got {type(estimator).__name__}; an "
                "automatic machine has its leaderboard in candidates_"
            )
        results = estimator.cv_results_
        sign, criterion = _criterion(estimator)
        values = sign * results["mean_test_score"]
        rounds = results["iter"]
        curves = []
        starts = [0, *(np.flatnonzero(_changes(results["kernel"], rounds)) + 1), len(values)]
        for begin, end in pairwise(starts):
            order = begin + np.argsort(results["alpha"][begin:end])
            kernel = results["kernel"][begin]
            curve = Curve(kernel, results["alpha"][order], values[order], rounds[begin] > 0)
            curves.append(curve)
        best = np.atleast_1d(estimator.best_index_)
        chosen = np.column_stack([results["alpha"][best], values[best]])
        display = cls(curves, chosen, estimator.kernel_, criterion, sign < 0.0)
        return display.plot(ax, **options)

    def plot(self, ax: Any = None, **options: Any) -> Self:
        """Draw the curves, on new axes or those given; the options go to ``Axes.plot``."""
        import matplotlib.pyplot as plt

        names, title = _names([curve.kernel for curve in self.curves])
        is_new = ax is None
        ax = axes_for(ax, (7.2, 4.4))
        self.ax_, self.figure_ = ax, ax.figure
        shades = plt.get_cmap("viridis")(np.linspace(0.05, 0.92, len(self.curves)))
        self.lines_ = []
        for curve, name, shade in zip(self.curves, names, shades, strict=True):
            is_best = curve.kernel == self.kernel
            style = {
                "color": CHOSEN if curve.is_refined else shade,
                "linestyle": "--" if curve.is_refined else "-",
                "linewidth": 2.2 if is_best else 1.3,
                "zorder": 3 if is_best else 2,
                "label": f"{name}, all rows" if curve.is_refined else name,
            }
            self.lines_ += ax.plot(curve.alphas, curve.values, **(style | options))
        self._mark(ax)
        self._dress(ax, title)
        if is_new:
            # The ticks that a first layout settles make room for themselves in the second.
            self.figure_.draw_without_rendering()
        return self

    def _mark(self, ax: Any) -> None:
        alpha = ", ".join(f"{a:.2g}" for a in self.chosen[:, 0])
        (self.chosen_,) = ax.plot(
            *self.chosen.T,
            linestyle="none",
            marker="o",
            markersize=9,
            markerfacecolor="white",
            markeredgecolor=CHOSEN,
            markeredgewidth=2.2,
            zorder=4,
            label=f"chosen: alpha = {alpha}",
        )

    def _dress(self, ax: Any, title: str) -> None:
        values = np.concatenate([curve.values for curve in self.curves])
        alphas = np.concatenate([curve.alphas for curve in self.curves])
        if (alphas > 0.0).all():
            ax.set_xscale("log")
        # Powers of ten would leave an axis of less than two without a number.
        decade = 10.0
        if self.is_error and 0.0 < decade * np.nanmin(values) <= np.nanmax(values):
            ax.set_yscale("log")
        elif not self.is_error:
            # Scores fall without limit where alpha is far too small; what matters is on top.
            best, typical = np.nanmax(values), np.nanmedian(values)
            lowest = max(np.nanmin(values), best - 4.0 * ((best - typical) or np.inf))
            ax.set_ylim(lowest - 0.05 * (best - lowest), best + 0.08 * (best - lowest) or None)
        dress(ax, f"chosen: {called(self.kernel)}", "alpha", self.criterion)
        self._explain(ax, title)

    def _explain(self, ax: Any, title: str) -> None:
        lines = [*self.lines_, self.chosen_]
        if len(self.curves) > self.legend_rows:
            kept = zip(self.curves, self.lines_, strict=True)
            lines = [line for curve, line in kept if curve.kernel == self.kernel] + lines[-1:]
        is_long = max(len(line.get_label()) for line in lines) > self.long_name
        below: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (0.0, -0.16)}
        style: dict[str, Any] = {"title_fontsize": "small", "alignment": "left"}
        legend_beside(ax, handles=lines, title=title, **style, **(below if is_long else {}))


def _criterion(estimator: Any) -> tuple[float, str]:
    """Return the sign and the name under which to draw the score."""
    if estimator.scoring is None:
        by = {"loo": "leave-one-out", "gcv": "generalised cross-validation"}
        name = by.get(estimator.cv, "held-out") if isinstance(estimator.cv, str) else "held-out"
        return -1.0, f"{name} mean squared error"
    name = estimator.scoring if isinstance(estimator.scoring, str) else "held-out score"
    if name.startswith("neg_"):
        return -1.0, name.removeprefix("neg_").replace("_", " ")
    return 1.0, name.replace("_", " ")


def _changes(kernels: NDArray[Any], rounds: NDArray[Any]) -> NDArray[np.bool_]:
    """Return after which candidates another curve begins."""
    others = np.array([a != b for a, b in pairwise(kernels)], bool)
    return others | (rounds[:-1] != rounds[1:])


def _names(kernels: list[Kernel]) -> tuple[list[str], str]:
    """Return how curves are called: by the one parameter that varies if there is one."""
    settings = [k.get_params(deep=False) for k in kernels]
    plain = len({type(k) for k in kernels}) == 1 and not kernels[0].parts
    varied = [name for name in settings[0] if len({str(s.get(name)) for s in settings}) > 1]
    if plain and len(varied) == 1:
        names = [shortened(str(s[varied[0]])) for s in settings]
        return names, f"{type(kernels[0]).__name__}, {varied[0]}"
    names = [called(k) for k in kernels]
    if len(set(names)) < len(set(kernels)):
        names = [shortened(str(k)) for k in kernels]
    return names, "kernel"


def called(kernel: Kernel) -> str:
    """Return a kernel in the room of a title: its text, or its families if that is long."""
    # Characters of a title.
    most = 60
    text = shortened(str(kernel))
    if len(text) > most:
        text = outline(kernel)
    return text if len(text) <= most else f"{text[: most - 1]}…"


def shortened(text: str) -> str:
    """Return an expression with its numbers rounded to three digits."""
    return re.sub(r"\d+\.\d+(e[+-]?\d+)?", lambda number: f"{float(number[0]):.3g}", text)
