"""The picture of a Gram matrix, with rows that are alike beside each other."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform

from mercer.data.columns import n_rows, take_rows
from mercer.explanation.subject import chosen_model, evenly
from mercer.gram import gram_of
from mercer.kernels import Kernel, as_kernel
from mercer.reports.axes import axes_for, entitle

Array = NDArray[np.float64]


class GramDisplay:
    """k(x, z) of all pairs of rows as a heat map, in the order of a hierarchical clustering.

    Groups of rows that are alike are dark squares on the diagonal. Colours go by rank among all
    pairs: where a few are far from the others, these are still told apart.

    Parameters
    ----------
    matrix : array of shape (n, n)
        K in that order.
    order : array of shape (n,)
        Which row stands where.
    title : str
        What is drawn.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes drawn on.
    figure_ : matplotlib Figure
        Their figure.
    image_ : matplotlib AxesImage
        The heat map.

    References
    ----------
    Z. Bar-Joseph, D. Gifford and T. Jaakkola (2001), Fast optimal leaf ordering for hierarchical
    clustering.
    """

    # Rows that are drawn: more are no longer told apart.
    shown: ClassVar[int] = 400

    def __init__(self, matrix: Array, order: NDArray[np.intp], title: str) -> None:
        self.matrix = matrix
        self.order = order
        self.title = title

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any = None, *, most: int = shown, ax: Any = None, **options: Any
    ) -> Self:
        """Draw the Gram matrix of a fitted model.

        Parameters
        ----------
        estimator : estimator
            A kernel machine, or a search over some, fitted.
        X : rows, optional
            The rows to compare; by default those that the model holds.
        most : int
            How many rows to draw, at equal distances of all.
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.
        **options
            Settings for ``Axes.imshow``.
        """
        kernel, rows = kernel_and_rows(estimator, X)
        return cls.from_kernel(kernel, rows, most=most, ax=ax, **options)

    @classmethod
    def from_kernel(
        cls, kernel: Kernel | str, X: Any, *, most: int = shown, ax: Any = None, **options: Any
    ) -> Self:
        """Draw the Gram matrix of a kernel on rows; the parameters are as of `from_estimator`."""
        chosen = evenly(n_rows(X), most)
        k = as_kernel(kernel).resolved(X)
        K = np.asarray(gram_of(k, take_rows(X, chosen)).dense(), np.float64)
        order = by_cluster(K)
        some = "" if len(chosen) == n_rows(X) else f"{len(chosen)} of "
        title = f"k(x, z) of {some}{n_rows(X)} rows, by cluster"
        return cls(K[np.ix_(order, order)], chosen[order], title).plot(ax, **options)

    def plot(self, ax: Any = None, **options: Any) -> Self:
        """Draw the map, on new axes or those given; the options go to ``Axes.imshow``."""
        ax = axes_for(ax, (5.4, 4.6))
        self.ax_, self.figure_ = ax, ax.figure
        style = {"cmap": "Blues", "interpolation": "nearest"} | options
        if not {"norm", "vmin", "vmax"} & style.keys():
            style["norm"] = self._by_rank()
        self.image_ = ax.imshow(self.matrix, **style)
        bar = self.figure_.colorbar(self.image_, ax=ax, shrink=0.85, format="%.6g")
        if style.get("norm") is not None and "norm" not in options:
            ends = style["norm"].boundaries
            bar.set_ticks(ends[np.linspace(0, len(ends) - 1, 6).round().astype(int)])
            bar.minorticks_off()
        entitle(ax, self.title)
        ax.set_xticks([])
        ax.set_yticks([])
        return self

    def _by_rank(self) -> Any:
        """Return how entries become colours, as many of each, or None where all are the same."""
        from matplotlib.colors import BoundaryNorm

        # Colours that are told apart, and digits in which entries differ, and not by rounding.
        colours, digits = 64, 9
        size = float(np.abs(self.matrix).max()) or 1.0
        shares = np.linspace(0.0, 1.0, colours + 1)
        ends = np.unique(np.round(np.quantile(self.matrix, shares) / size, digits)) * size
        return BoundaryNorm(ends, 256, clip=True) if len(ends) > 1 else None


def kernel_and_rows(estimator: Any, X: Any = None) -> tuple[Kernel, Any]:
    """Return the kernel of a fitted model, and rows: those given, or those that it holds."""
    model = chosen_model(estimator)
    kernel: Kernel = model.function_.kernel
    if kernel.is_precomputed:
        raise ValueError("a finished Gram matrix has no rows; draw the matrix itself, K")
    if X is not None:
        return kernel, X
    if model.function_.dual is None:
        raise ValueError("this model keeps no training rows; give rows X")
    return kernel, model.function_.dual.rows


def by_cluster(K: Array) -> NDArray[np.intp]:
    """Return the rows of a Gram matrix in the order of their clustering by average linkage.

    The distance is that of the feature space, sqrt(k(x, x) - 2 k(x, z) + k(z, z)).
    """
    if len(K) < 3:
        return np.arange(len(K))
    squares = K.diagonal()[:, None] - 2.0 * K + K.diagonal()
    distances = np.sqrt(np.maximum(0.5 * (squares + squares.T), 0.0))
    np.fill_diagonal(distances, 0.0)
    tree = linkage(squareform(distances, checks=False), "average", optimal_ordering=len(K) <= 500)
    return np.asarray(leaves_list(tree), np.intp)
