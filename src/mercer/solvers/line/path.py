"""The ridge path of points on a line: O(n) for every alpha, held-out errors included."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mercer.functions import LineFunction
from mercer.gram import ChainGram
from mercer.native.spread import Spread
from mercer.native.threads import in_threads
from mercer.solvers.line.banded import Banded, ChainSystem
from mercer.solvers.ridge.bordered import RidgeProblem
from mercer.solvers.smoother import LinearSmoother, RidgeFits

Array = NDArray[np.float64]
Rows = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class ChainPath:
    """Ridge problems on a chain that differ in alpha only: the same interface as `RidgePath`.

    Nothing is reduced beforehand, since the recurrences of every alpha take O(n) steps.

    Parameters
    ----------
    gram : ChainGram
        K.
    weights : array of shape (n,)
        w, positive.
    fit_intercept : bool
        Whether there is an offset b.
    """

    gram: ChainGram
    weights: Array
    fit_intercept: bool

    def at(self, y: Array, alphas: Array) -> ChainFits:
        """Return the fits to the targets `y` of shape (n, targets) for every alpha."""
        problem = RidgeProblem(y, np.ones(y.shape[1]), self.weights, self.fit_intercept)
        return ChainFits(self.gram, problem, alphas)


@dataclass(frozen=True, eq=False)
class ChainFits(RidgeFits):
    """The fits of a chain to some targets, for every alpha.

    Parameters
    ----------
    gram : ChainGram
        K.
    problem : RidgeProblem
        Targets, weights and offset; its alpha is not used.
    alphas : array of shape (alphas,)
        The ridges.
    """

    # Ridges whose functions are evaluated together, so that the positions are looked up once.
    together: ClassVar[int] = 8

    gram: ChainGram
    problem: RidgeProblem
    alphas: Array

    def leave_one_out(self) -> Array:
        return Banded().leave_one_out(self.gram, self.problem, self.alphas)

    def left_out(self) -> tuple[Array, Array]:
        """Return the leave-one-out errors, and 1 - h_i, the share of the residual in them.

        The shapes are (alphas, n, targets) and (alphas, n).
        """
        system, X = ChainSystem(self.gram, self.problem), self.gram.at(np.arange(len(self.gram)))
        every = np.arange(self.problem.y.shape[1])
        v = [ChainSmoother(system, alpha, every).variance(X) for alpha in self.alphas.tolist()]
        with np.errstate(divide="ignore", invalid="ignore"):
            free = 1.0 - np.array(v) * self.problem.weights / self.alphas[:, None]
        return self.leave_one_out(), np.asarray(free)

    def losses(self) -> Array:
        return Banded().leave_one_out_errors(self.gram, self.problem, self.alphas)

    def leave_out(self, rows: Rows) -> Array:
        rest = np.delete(np.arange(len(self.gram)), rows)
        fits = ChainFits(self.gram.part(rest), self.problem.on(rest), self.alphas)
        return np.asarray(self.problem.y[rows] - fits.predicted(self.gram.at(rows)))

    def residuals(self) -> Array:
        system = ChainSystem(self.gram, self.problem)
        out = np.empty((len(self.alphas), *self.problem.y.shape))
        for i, k in np.ndindex(len(self.alphas), out.shape[2]):
            a, *_ = system.solved(k, float(self.alphas[i]))
            out[i, :, k] = self.alphas[i] * a / self.problem.weights
        return out

    def generalised(self, more: float = 0.0) -> Array:
        system = ChainSystem(self.gram, self.problem)
        targets = range(self.problem.y.shape[1])
        return np.column_stack([system.generalised(k, self.alphas, more) for k in targets])

    def predicted(self, others: Any) -> Array:
        system = ChainSystem(self.gram, self.problem)
        targets = self.problem.y.shape[1]
        parts = []
        for start in range(0, len(self.alphas), self.together):
            ridges = self.alphas[start : start + self.together]
            jobs = [(k, float(alpha)) for alpha in ridges for k in range(targets)]
            _, f, b, level = zip(*in_threads(lambda job: system.solved(*job), jobs), strict=True)
            knots, values = self.gram.knots.positions, np.column_stack(f)
            function = LineFunction(self.gram.kernel, knots, values, np.array(level), np.array(b))
            values = function(others)
            parts.append(values.reshape(-1, len(ridges), targets).transpose(1, 0, 2))
        return np.concatenate(parts)


@dataclass(frozen=True, eq=False)
class ChainSmoother(LinearSmoother):
    """The fit on a chain as a linear map of the targets.

    Between two knots f is their interpolation plus the noise of a bridge, so that the variance at a
    row takes O(log n) steps, and what all targets count for there O(n), carried outwards from knot
    to knot.

    Parameters
    ----------
    system : ChainSystem
        The problem on the chain.
    alpha : float
        The ridge.
    targets : array of int
        Which targets have it.
    """

    system: ChainSystem
    alpha: float
    targets: Rows

    @cached_property
    def _spread(self) -> Spread:
        return Spread.of(self.system.precision, float(self.system.per_alpha(self.alpha)))

    def weights(self, X: Any) -> Array:
        system, knots = self.system, self.system.knots
        h = self._spread.influence(system.gram.shares(X, system.is_adrift)).T
        if knots.starts is not None:
            share = system.rows.weights / knots.repeated(system.precision.weights)
            h = knots.repeated(h) * share[:, None]
        return knots.as_given(h)

    def variance(self, X: Any, prior: Array | None = None) -> Array:
        """Return the posterior variance of f(x) + b at the rows `X`; their prior is not needed."""
        system = self.system
        variance = self._spread.variance(system.gram.shares(X, system.is_adrift))
        return np.asarray(system.gram.factor * variance)
