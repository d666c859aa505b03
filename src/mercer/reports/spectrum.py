"""The picture of a spectrum: the eigenvalues of a Gram matrix, and its eigenfunctions."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from mercer.data.columns import like_rows, n_rows, take_rows
from mercer.explanation.subject import chosen_model, evenly
from mercer.gram import gram_of
from mercer.kernels import Kernel, as_kernel
from mercer.reports.axes import COLOURS, QUIET, SECOND, axes_for, dress, legend_beside, line_of
from mercer.reports.gram import kernel_and_rows
from mercer.reports.line import points_on_a_line
from mercer.tiles import evaluate

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Spectrum:
    """K = n sum_j l_j u_j u_j' for some rows.

    Parameters
    ----------
    eigenvalues : array of shape (n,)
        Those of K, in descending order, in units of all rows: those of n of them times N / n.
    functions : array of shape (n, some)
        The first eigenfunctions at the rows, of mean square 1.
    alpha : float or None
        The ridge of the model, for all rows.
    """

    eigenvalues: Array
    functions: Array
    alpha: float | None

    @property
    def effective_dimension(self) -> float | None:
        """sum_j s_j / (s_j + alpha): how many numbers a ridge regression is free to choose."""
        if self.alpha is None:
            return None
        s = self.eigenvalues
        return float(np.sum(s / (s + self.alpha))) if self.alpha > 0.0 else float(np.sum(s > 0.0))


def spectrum_of(K: Array, n: int, alpha: float | None) -> Spectrum:
    """Return the spectrum of the Gram matrix `K` of some out of `n` rows, with eigenfunctions."""
    s, U = eigh(K)
    s = _told(s)
    # Eigenfunctions that are drawn.
    most = 4
    first = U[:, ::-1][:, : min(most, int(np.sum(s > 0.0)))] * np.sqrt(len(K))
    signs = np.where(first.sum(axis=0) < 0.0, -1.0, 1.0)
    return Spectrum(s * (n / len(K)), first * signs, alpha)


def eigenvalues_of(K: Array, n: int, alpha: float | None) -> Spectrum:
    """Return the spectrum of the Gram matrix `K` of some out of `n` rows: eigenvalues alone."""
    s = _told(eigh(K, eigvals_only=True))
    return Spectrum(s * (n / len(K)), np.empty((len(K), 0)), alpha)


def _told(s: Array) -> Array:
    """Return ascending eigenvalues in descending order, zero for what is rounding."""
    # The least eigenvalue beside the largest that is not rounding.
    rounding = 1e-13
    return np.where(s > rounding * max(float(s[-1]), 0.0), s, 0.0)[::-1]


def ridge_of(model: Any) -> float | None:
    """Return the ridge of a model, or None where it has none, or one for every target."""
    alpha: Any = getattr(model, "alpha", None)
    return float(alpha) if isinstance(alpha, Real) else None


class SpectrumDisplay:
    """The eigenvalues of a Gram matrix, and beside them the first eigenfunctions.

    Eigenvalues far above alpha are learned, those far below are not; their effective number is
    sum_j s_j / (s_j + alpha). Eigenfunctions of one column are curves; of several columns the rows
    are drawn by the first two.

    Parameters
    ----------
    spectrum : Spectrum
        Eigenvalues and eigenfunctions at the rows.
    line : (array of shape (m,), array of shape (m, functions)) or None
        Points of the one column in ascending order, and the eigenfunctions there.
    name : str
        What the column is called.

    Attributes
    ----------
    axes_ : array of two matplotlib Axes
        The axes drawn on; `ax_` is the first.
    figure_ : matplotlib Figure
        Their figure.
    """

    def __init__(self, spectrum: Spectrum, line: tuple[Array, Array] | None, name: str) -> None:
        self.spectrum = spectrum
        self.line = line
        self.name = name

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any = None, *, axes: Any = None) -> Self:
        """Draw the spectrum of a fitted model.

        Parameters
        ----------
        estimator : estimator
            A kernel machine, or a search over some, fitted. Of a ridge regression the effective
            dimension is told.
        X : rows, optional
            By default those that the model holds.
        axes : two matplotlib Axes, optional
            Where to draw; by default a new figure.
        """
        kernel, rows = kernel_and_rows(estimator, X)
        return cls.from_kernel(kernel, rows, ridge_of(chosen_model(estimator)), axes=axes)

    @classmethod
    def from_kernel(
        cls, kernel: Kernel | str, X: Any, alpha: float | None = None, *, axes: Any = None
    ) -> Self:
        """Draw the spectrum of a kernel on rows.

        Parameters
        ----------
        kernel : Kernel or str
            The kernel.
        X : rows
            Of many, some at equal distances stand for all.
        alpha : float, optional
            The ridge beside which eigenvalues count.
        axes : two matplotlib Axes, optional
            Where to draw; by default a new figure.
        """
        k = as_kernel(kernel).resolved(X)
        # Rows whose matrix is taken apart: a second or less.
        most = 1000
        rows = take_rows(X, evenly(n_rows(X), most))
        found = spectrum_of(np.asarray(gram_of(k, rows).dense(), np.float64), n_rows(X), alpha)
        points = points_on_a_line(rows)
        line, name = None, ""
        if points is not None:
            x, name = line_of(points.values, 300), points.name
            K = evaluate(k.program, like_rows(rows, x[:, None]), rows)
            count = found.functions.shape[1]
            own = found.eigenvalues[:count] * len(points.values) / n_rows(X)
            line = (x, K @ found.functions / own)
        return cls(found, line, name).plot(axes)

    def plot(self, axes: Any = None) -> Self:
        """Draw both, on new axes or those given."""
        if axes is None:
            import matplotlib.pyplot as plt

            _, axes = plt.subplots(1, 2, figsize=(9.2, 3.8), layout="constrained")
        self.axes_ = np.asarray(axes)
        self.ax_, self.figure_ = self.axes_[0], self.axes_[0].figure
        self.draw_eigenvalues(self.axes_[0])
        self._draw_functions(self.axes_[1])
        return self

    def draw_eigenvalues(self, ax: Any = None) -> Any:
        """Draw the eigenvalues alone, and return the axes."""
        ax = axes_for(ax)
        s, alpha = self.spectrum.eigenvalues, self.spectrum.alpha
        kept = s[s > 0.0]
        ax.semilogy(np.arange(1, len(kept) + 1), kept, color=COLOURS[1], linewidth=1.8)
        title = "eigenvalues of K"
        if alpha is not None and alpha > 0.0:
            ax.axhline(alpha, color=SECOND, linestyle="--", linewidth=1.2)
            ax.text(len(kept), alpha, f"alpha = {alpha:.3g}", color=SECOND, ha="right", va="bottom")
            title += f", effective dimension {self.spectrum.effective_dimension:.1f}"
        dress(ax, title, "number of the eigenvalue", "")
        ax.locator_params(axis="x", integer=True)
        return ax

    def _draw_functions(self, ax: Any) -> None:
        u = self.spectrum.functions
        if self.line is not None:
            x, curves = self.line
            for j, curve in enumerate(curves.T):
                ax.plot(x, curve, color=COLOURS[j], label=f"{j + 1}")
            dress(ax, "eigenfunctions", self.name, "")
            legend_beside(ax)
        elif u.shape[1] >= 2:
            ax.scatter(u[:, 0], u[:, 1], s=12, color=COLOURS[1], alpha=0.6, linewidths=0)
            dress(ax, "rows by the first two eigenfunctions", "first", "second")
        else:
            ax.plot(np.sort(u[:, 0]) if u.size else [], color=QUIET)
            dress(ax, "first eigenfunction, rows in its order", "row", "")
