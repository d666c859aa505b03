"""The axes that pictures are drawn on: new or given, plainly dressed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

# Colours that people tell apart whatever colours they see (Okabe and Ito).
COLOURS = ("#d55e00", "#0072b2", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#999999")
LINE, SECOND, QUIET = "#0072b2", "#d55e00", "0.6"


def axes_for(ax: Any, size: tuple[float, float] = (6.4, 4.2)) -> Any:
    """Return the axes given, or those of a new figure of this size in inches."""
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=size, layout="constrained")[1]


def entitle(ax: Any, title: str, x: str = "", y: str = "") -> None:
    """Name the axes."""
    ax.set_title(title, fontsize="medium")
    ax.set_xlabel(x)
    ax.set_ylabel(y)


def dress(ax: Any, title: str, x: str, y: str) -> None:
    """Name the axes, and draw a grid behind what is on them."""
    entitle(ax, title, x, y)
    ax.grid(True, which="major", color="0.92", linewidth=0.8)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)


def legend_beside(ax: Any, **options: Any) -> None:
    """Put a legend to the right of the axes."""
    place: dict[str, Any] = {"loc": "center left", "bbox_to_anchor": (1.01, 0.5)}
    ax.legend(fontsize="small", frameon=False, **(place | options))


def line_of(X: Any, resolution: int, room: float = 0.06) -> NDArray[np.float64]:
    """Return points from one end of the numbers `X` to the other, and a little beyond."""
    low, high = float(np.min(X)), float(np.max(X))
    beyond = room * (high - low) or 1.0
    return np.linspace(low - beyond, high + beyond, resolution)
