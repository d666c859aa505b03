"""Newton's method on the logistic problem of a batch of rows, all others fixed."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from mercer.errors import IndefiniteKernelError
from mercer.gram import DenseGram, Gram
from mercer.solvers.logistic.curvature import FactoredCurvature
from mercer.solvers.logistic.likelihood import LogisticProblem, Root
from mercer.solvers.online.batches import Batch, Iterate
from mercer.solvers.refusals import indefinite_along

Array = NDArray[np.float64]

# Newton steps of a batch, whose rows are computed once for all of them.
STEPS = 4


def newton_factors(columns: int) -> int:
    """Return how many factors of K of a batch take as long as its steps, see `newton_work`."""
    return STEPS * (1 if columns == 1 else 4 * columns + 1)


def stepped(
    gram: Gram, problem: LogisticProblem, state: Iterate, batch: Batch, b: Array
) -> tuple[Array, Array]:
    """Return how the coefficients of a batch change, and the offset at which they do.

    With all other coefficients fixed, those of the batch minimise C sum_i w_i loss_i + 1/2 v'K v
    + s'b over v and b, where s is the sum of the coefficients, which so is kept: v = C w (T - P),
    and 1'v = s. The steps are those of `mercer.solvers.logistic.solver.Newton`.

    Parameters
    ----------
    gram : Gram
        K.
    problem : LogisticProblem
        The whole problem.
    state : Iterate
        Where it stands.
    batch : Batch
        The rows.
    b : array of shape (columns,)
        The offset to begin with.

    References
    ----------
    H.-F. Yu, F.-L. Huang, C.-J. Lin (2011), Dual coordinate descent methods for logistic regression
    and maximum entropy models.
    """
    part = _BatchProblem(problem.on(batch.which), batch.core, state, batch.which)
    core = DenseGram(part.K, gram.memory)
    try:
        curvature = FactoredCurvature(core, problem.columns)
        return part.minimised(curvature, b)
    except IndefiniteKernelError as error:
        # The witness has to speak of all rows.
        c = np.zeros(len(gram))
        c[batch.which] = error.witness.coefficients
        raise (indefinite_along(gram, c) or error) from None


class _BatchProblem:
    """The problem of a batch: its losses, K, coefficients A and scores F."""

    # The share of its first gap at which a batch is left: the other rows move it more than that.
    enough: ClassVar[float] = 1e-3
    # Halvings of a step that goes too far.
    halvings: ClassVar[int] = 30

    def __init__(
        self, losses: LogisticProblem, K: Array, state: Iterate, index: NDArray[np.intp]
    ) -> None:
        self.losses, self.K = losses, K
        self.A, self.F = state.A[index], state.F[index]

    def minimised(self, curvature: FactoredCurvature, b: Array) -> tuple[Array, Array]:
        """Return the change of the coefficients, and the offset."""
        step, first = np.zeros_like(self.A), np.inf
        for _ in range(STEPS):
            scores = self.F + self.K @ step + b
            D = self.A + step - self.losses.C * self.losses.residual(scores)
            KD = self.K @ D
            gap = float((D * KD).sum())
            if gap <= self.enough * first < np.inf:
                break
            first = min(first, gap)
            root = self.losses.curvature(scores)
            curvature.prepare(root, 1.0 / self.losses.C)
            move, change = _newton(curvature, root, D, KD, self.losses.fit_intercept)
            length = self._length(scores, self.A + step, move, change)
            if length == 0.0:
                break
            step, b = step + length * move, b + length * change
        return step, b

    def _length(self, scores: Array, v: Array, move: Array, change: Array) -> float:
        """Return a length of a step that lowers the objective, 0 if there is none."""
        K_move = self.K @ move
        slope = float((v * K_move).sum()) + float(self.A.sum(axis=0) @ change)
        square = float((move * K_move).sum())
        here, length = self.losses.loss(scores), 1.0
        for _ in range(self.halvings):
            loss = self.losses.loss(scores + length * (K_move + change))
            if loss + length * slope + 0.5 * length**2 * square <= here:
                return length
            length *= 0.5
        return 0.0


def _newton(
    curvature: FactoredCurvature, root: Root, D: Array, KD: Array, fit_intercept: bool
) -> tuple[Array, Array]:
    """Return a Newton step of the coefficients that keeps their sum, and that of the offset.

    It is R U - D with (R'K R + lam I) U + R'1 c = R'K D, where c is the step of the offset.
    """
    columns = D.shape[1]
    move = root.forward(curvature.solve(root.back(KD))) - D
    if not fit_intercept:
        return move, np.zeros(columns)
    each = np.broadcast_to(np.eye(columns)[:, None], (columns, *D.shape))
    raised = root.forward(curvature.solve(root.back(each)))
    # A number added to all offsets changes nothing: the shortest of all solutions is taken.
    S = raised.sum(axis=1)
    change = np.linalg.lstsq(S, move.sum(axis=0), rcond=1e-13 * columns)[0]
    return move - np.tensordot(change, raised, axes=1), change
