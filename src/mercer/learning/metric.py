"""The metric of a kernel learned from the gradients of its own fit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.data.checks import as_matrix
from mercer.kernels import After, Columns, Kernel, Normalized, Project, Scaled
from mercer.kernels.heuristics import median_distance
from mercer.kernels.maps import InputMap
from mercer.learning.variables import scales_of
from mercer.solvers.ridge.bordered import RidgeProblem
from mercer.solvers.ridge.path import RidgePath
from mercer.tiles import Tile
from mercer.tiles.derivative import input_gradient

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Round:
    """A fit with one metric.

    Parameters
    ----------
    kernel : Kernel
        The kernel.
    alpha : float
        The ridge of least error on rows left out.
    value : float
        That error, as `mercer.solvers.ridge.evidence.left_out_error` gives it.
    """

    kernel: Kernel
    alpha: float
    value: float


@dataclass(frozen=True, eq=False)
class GradientMetric:
    """Recursive feature machine: M = mean_i grad f(x_i) grad f(x_i)', for f fitted with metric M.

    Every round fits f by kernel ridge regression, with the ridge of least leave-one-out error, and
    takes the average outer product of its gradients, over rows and targets, for the next metric,
    in units of its mean diagonal. The length scale is the median distance in the metric, times the
    best of some factors in the first round.

    Parameters
    ----------
    kernel : Kernel
        A kernel of distances, also on columns, after maps or scaled.
    X : rows
        The rows.
    problem : RidgeProblem
        Their targets and weights; its alpha is not used.
    is_full : bool
        Whether the metric is a full matrix, as a map of the rows, or a length scale per column.

    References
    ----------
    A. Radhakrishnan, D. Beaglehole, P. Pandit, M. Belkin (2024), Mechanism for feature learning in
    neural networks and backpropagation-free machine learning models.
    """

    kernel: Kernel
    X: Any
    problem: RidgeProblem
    is_full: bool
    factors: tuple[float, ...] = (0.5, 1.0, 2.0)
    ridges: tuple[float, ...] = tuple(np.logspace(-6.0, 1.0, 22).tolist())

    def rounds(self) -> Iterator[Round]:
        """Yield the fits, the first with the metric of the spread of every column."""
        base, seen = _innermost(self.kernel, self.X)
        U = np.asarray(as_matrix(seen), np.float64)
        spread = U.std(axis=0)
        M = np.diag(1.0 / np.where(spread > 0.0, spread, 1.0) ** 2)
        factors = self.factors
        while True:
            tried = [self._fitted(base, U, M, factor) for factor in factors]
            factor, inner, found, a = min(tried, key=lambda fit: fit[2].value)
            yield replace(found, kernel=_put(self.kernel, inner))
            gradient = input_gradient(inner.lower(Tile()), U, U, a)
            M = np.einsum("nit,njt->ij", gradient, gradient)
            size = float(np.trace(M)) / len(M)
            if not 0.0 < size < np.inf:
                return
            M, factors = M / size, (factor,)

    def _fitted(
        self, base: Kernel, U: Array, M: Array, factor: float
    ) -> tuple[float, Kernel, Round, Array]:
        """Return the kernel with a metric, its best fit, and the coefficients."""
        inner = self._with_metric(base, U, M, factor)
        K = np.array(inner(U), np.float64, order="C")
        unit = float(np.diagonal(K).mean())
        alphas = unit * np.array(self.ridges)
        problem = self.problem
        fits = RidgePath(K, problem.weights, problem.fit_intercept).at(problem.y, alphas)
        e = fits.leave_one_out()
        w = problem.weights[:, None]
        losses = (w * e**2).sum(axis=(1, 2)) / (w.sum() * e.shape[2])
        best = int(np.nanargmin(losses))
        value = 0.5 * problem.y.size * float(np.log(losses[best]))
        a = fits.coefficients()[0][best]
        return factor, inner, Round(inner, float(alphas[best]), value), a

    def _with_metric(self, base: Kernel, U: Array, M: Array, factor: float) -> Kernel:
        name = scales_of(base)[0]
        if self.is_full:
            values, vectors = np.linalg.eigh(M)
            R = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
            scale = factor * median_distance(U @ R.T, base.metric)
            project = Project(tuple(map(tuple, R.tolist())))
            return base.with_params(**{name: scale}).after(project)
        # Directions without a slope are left out of distances: a length scale that is endless.
        roots = np.sqrt(np.diagonal(M))
        scale = factor * median_distance(U * roots, base.metric)
        scales = scale / np.maximum(roots, 1e-6 * roots.max())
        return base.with_params(**{name: tuple(scales.tolist())})


def _innermost(kernel: Kernel, X: Any) -> tuple[Kernel, Any]:
    """Return the one kernel of distances in a kernel, and what it sees of the rows."""
    if isinstance(kernel, After) and isinstance(kernel.g, InputMap):
        kernel = kernel.with_params(g=kernel.g.resolved(X))
    if isinstance(kernel, After | Columns | Normalized | Scaled):
        return _innermost(kernel.kernel, kernel.inputs(X))
    if kernel.parts or not scales_of(kernel):
        raise ValueError(
            "the metric of one kernel with a length scale is learned from gradients of f, got "
            f"{kernel!r:.100}; give one such as Gaussian('median'), or use method='gradient'"
        )
    return kernel, X


def _put(kernel: Kernel, inner: Kernel) -> Kernel:
    """Return a kernel with another one in its innermost place."""
    if isinstance(kernel, After | Columns | Normalized | Scaled):
        return kernel.with_params(kernel=_put(kernel.kernel, inner))
    return inner
