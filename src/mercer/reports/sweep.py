"""The picture of a Gaussian kernel that narrows: from underfit to overfit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

from mercer.estimators import KernelEstimator, KernelSVC
from mercer.kernels import Gaussian
from mercer.reports.decision import DecisionDisplay

# Ten widths from 2^-6 to 2^10, equal steps of the logarithm.
GAMMAS = tuple(float(g) for g in 2.0 ** np.linspace(-6.0, 10.0, 10))


@dataclass(frozen=True, eq=False)
class Panel:
    """One fit of a sweep: its gamma, the share of training rows it gets right, and of others."""

    gamma: float
    display: DecisionDisplay
    training: float
    held_out: float | None


class GammaSweepDisplay:
    """The regions of one classifier with exp(-gamma ||x - z||^2), a panel for every gamma.

    Parameters
    ----------
    panels : list of Panel
        The fits.
    title : str
        What was fitted.

    Attributes
    ----------
    figure_ : matplotlib Figure
        The figure.
    axes_ : array of matplotlib Axes
        A panel for every gamma.
    """

    across: ClassVar[int] = 5

    def __init__(self, panels: list[Panel], title: str) -> None:
        self.panels = panels
        self.title = title

    @classmethod
    def from_data(
        cls,
        X: Any,
        y: Any,
        gammas: Sequence[float] = GAMMAS,
        *,
        estimator: Any = None,
        cv: Any = 5,
        resolution: int = 120,
        **options: Any,
    ) -> Self:
        """Fit a classifier for every gamma, and draw its regions.

        Parameters
        ----------
        X : rows
            An array or a table of two columns.
        y : array of shape (n,)
            The labels.
        gammas : sequence of float
            The gammas, by default 10 from 2^-6 to 2^10.
        estimator : classifier, optional
            With a parameter ``gamma`` or ``kernel``; by default a `KernelSVC`.
        cv : int, splitter or None
            By which folds the share of held-out rows that are right is found; None leaves it out.
        resolution : int
            The number of positions along each axis of a panel.
        **options
            Settings of the points for ``Axes.scatter``.
        """
        base = KernelSVC() if estimator is None else estimator
        panels = []
        for gamma in gammas:
            model = with_gamma(base, float(gamma)).fit(X, y)
            held_out = None
            if cv is not None:
                held_out = float(cross_val_score(clone(model), X, y, cv=cv).mean())
            display = DecisionDisplay.of(model, X, y, resolution)
            panels.append(Panel(float(gamma), display, float(model.score(X, y)), held_out))
        return cls(panels, type(base).__name__).plot(**options)

    def plot(self, **options: Any) -> Self:
        """Draw all panels on a new figure; the options go to ``Axes.scatter``."""
        import matplotlib.pyplot as plt

        down = -(-len(self.panels) // self.across)
        across = min(self.across, len(self.panels))
        self.figure_, grid = plt.subplots(
            down,
            across,
            figsize=(2.5 * across, 2.75 * down + 0.9),
            sharex=True,
            sharey=True,
            squeeze=False,
            layout="constrained",
        )
        self.axes_ = grid.ravel()[: len(self.panels)]
        for unused in grid.ravel()[len(self.panels) :]:
            unused.set_axis_off()
        for ax, panel in zip(self.axes_, self.panels, strict=True):
            style = {"s": 11, "linewidths": 0.3} | options
            panel.display.plot(ax, legend=False, line_width=1.1, **style)
            ax.set_xticks([])
            ax.set_yticks([])
            ax.set_title(f"gamma = {_short(panel.gamma)}", fontsize="medium", fontweight="bold")
            ax.set_xlabel(_caption(panel), fontsize="small", color="0.25")
            ax.set_ylabel("")
        self._explain()
        return self

    def _explain(self) -> None:
        first, second = self.panels[0].display.names
        self.figure_.suptitle(
            f"{self.title} with exp(-gamma ||x - z||²), from wide to narrow\n"
            f"({first} across, {second} up)",
            fontsize="medium",
        )
        fullest = max(self.panels, key=lambda panel: len(panel.display.handles()))
        handles = fullest.display.handles()
        self.figure_.legend(
            handles=handles,
            loc="outside lower center",
            ncols=len(handles),
            fontsize="small",
            frameon=False,
        )


def with_gamma(estimator: Any, gamma: float) -> Any:
    """Return a copy of a classifier with the Gaussian kernel exp(-gamma ||x - z||^2)."""
    copy = clone(estimator)
    if isinstance(copy, KernelEstimator):
        return copy.set_params(kernel=Gaussian.from_gamma(gamma), gamma=None)
    return copy.set_params(gamma=gamma)


def _caption(panel: Panel) -> str:
    support = len(panel.display.support)
    right = f"right: {panel.training:.0%} in training"
    right += "" if panel.held_out is None else f", {panel.held_out:.0%} held out"
    return f"{right}\n{support} support vectors" if support else right


def _short(gamma: float) -> str:
    return f"{gamma:.4g}" if gamma >= 100.0 else f"{gamma:.3g}"
