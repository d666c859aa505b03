"""Margin problems by landmarks: dual coordinate descent on their features."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mercer.gram import Gram, HeldLandmarkGram, LandmarkGram, fits_features
from mercer.native.coordinates import SharedRows
from mercer.solvers.contract import Solution
from mercer.solvers.lowrank.products import FeatureProducts
from mercer.solvers.margin.coordinates import CoordinateDescent
from mercer.solvers.margin.problem import Gap, MarginProblem
from mercer.solvers.refusals import known_by_landmarks
from mercer.solvers.run import Run

Array = NDArray[np.float64]

MEASURE = "relative duality gap in the landmark model"


@dataclass(frozen=True)
class NystromDescent(CoordinateDescent):
    """Minimise 1/2 ||w||^2 + sum_i loss_i(w'phi_i + b - z_i) for the features phi of landmarks.

    The features are computed once and stored, in float32 where the tolerance allows, and read one
    row at a time as `CoordinateDescent` does. The duality gap is measured in float64, without
    these features.

    Parameters
    ----------
    tol : float
        Relative duality gap to reach in the landmark model.
    max_iter : int, optional
        Epochs allowed.
    random_state : int
        Where the orders of the rows come from.
    least_single : float
        The tolerance from which on float32 serves: a gap of that size is told from its rounding.

    References
    ----------
    C. Williams and M. Seeger (2001), Using the Nystrom method to speed up kernel machines;
    C.-J. Hsieh, K.-W. Chang, C.-J. Lin, S. Keerthi and S. Sundararajan (2008), A dual coordinate
    descent method for large-scale linear SVM.
    """

    name: ClassVar[str] = "nystrom"
    # The last digits are lost beside what the landmarks leave.
    share: ClassVar[float] = 0.5

    least_single: float = 1e-4

    @property
    def dtype(self) -> Any:
        """The precision of the features."""
        return np.float32 if self.tol >= self.least_single else np.float64

    def _solved(self, gram: Gram, problem: MarginProblem, run: Run) -> Solution:
        """Return the coefficients of shape (n, 1), offset and gap of shape (1,), and the weights.

        K must be known by landmarks.
        """
        known = known_by_landmarks(gram)
        kept = run.restored()
        if kept is not None and kept["counts"][2] > np.dtype(self.dtype).itemsize:
            # What float32 had to tell was known when the run was killed.
            return self._by_features(HeldLandmarkGram.of(known, np.float64), problem, run)
        found = self._by_features(HeldLandmarkGram.of(known, self.dtype), problem, run)
        is_done = found.residual[0] <= self.tol or run.ended_by or self.dtype == np.float64
        if is_done or self.max_iter is not None or not fits_features(known, np.float64):
            return found
        # The rounding of float32 is all that is left over.
        begun = replace(problem, start=found.coefficients[:, 0])
        return self._by_features(HeldLandmarkGram.of(known, np.float64), begun, run)

    def _by_features(self, gram: HeldLandmarkGram, problem: MarginProblem, run: Run) -> Solution:
        F = SharedRows(gram.matrix, gram.where, problem.fit_intercept)
        state, _, advice = self._descended(F, gram, problem, run)
        measured = run.measured(lambda: _measured(gram, problem, state.a))
        if measured is None:
            # Without the time to measure them the weights have the digits that steps need.
            measured = state.w, Gap.unknown(state.gap.offset - float(F.centre @ state.w))
        w, gap = measured
        found = problem.solution(state.a, gap, self.tol, state.epoch, "nystrom", advice)
        return replace(found, theta=w[:, None], measure=MEASURE)


def _measured(gram: LandmarkGram, problem: MarginProblem, a: Array) -> tuple[Array, Gap]:
    """Return the weights F'a and the largest gap there may be, both in float64."""
    exact = FeatureProducts(gram, is_exact=True)
    w = exact.back(a[:, None])
    return w[:, 0], problem.proved(a, exact.forward(w)[:, 0], gram.diagonal())
