"""Probabilities of a ridge classifier from the scores of rows that were left out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from mercer.data.limits.deadline import TimeIsUpError
from mercer.errors import ConvergenceWarning, MemoryLimitError, warn_caller
from mercer.estimators import KernelRidge, KernelRidgeMean
from mercer.estimators.svm.probabilities import score_columns
from mercer.solvers import Run
from mercer.solvers.contract import FEW_ROWS
from mercer.solvers.logistic.temperature import smoothed_targets, temperature

Array = NDArray[np.float64]


@dataclass(eq=False)
class Calibration:
    """What the scores of a kernel ridge on targets -1 and 1 are worth as probabilities.

    The temperature is worked out when it is first asked for: it takes the diagonal of an inverse,
    which costs more than the fit.

    Parameters
    ----------
    model : KernelRidge or KernelRidgeMean
        Fitted to the targets.
    targets : array of shape (n,) or (n, classes)
        -1 and 1.
    codes : array of shape (n,)
        The class of each row by its number.
    weights : array of shape (n,)
        w.
    copies : array of shape (n,)
        How many equal rows every row stands for, one of which is left out.
    time_limit : float, optional
        Seconds to find the temperature in; one is taken for it where they are not enough.
    known : float, optional
        The temperature once it was found.

    References
    ----------
    C. Guo, G. Pleiss, Y. Sun, K. Weinberger (2017), On calibration of modern neural networks.
    """

    model: KernelRidge | KernelRidgeMean
    targets: Array
    codes: NDArray[np.intp]
    weights: Array
    copies: Array
    time_limit: float | None = None
    known: float | None = None

    @property
    def temperature(self) -> float:
        """T in softmax(T scores), from the scores of rows of which one copy was left out."""
        if self.known is None:
            self.known = self._found()
        return self.known

    def _found(self) -> float:
        if self.model.certificate_.method == FEW_ROWS:
            warn_caller(
                "the model is that of a few rows alone, of which no scores of rows left out are "
                "known; probabilities are those of a temperature of one; raise time_limit",
                ConvergenceWarning,
            )
            return 1.0
        try:
            with Run(self.time_limit).limited():
                scores = score_columns(self._held_out_scores())
        except TimeIsUpError:
            warn_caller(
                f"the time limit of {self.time_limit:g} s was up before every row was left out; "
                "probabilities are those of a temperature of one; raise time_limit",
                ConvergenceWarning,
            )
            return 1.0
        targets = smoothed_targets(self.codes, self.weights, scores.shape[1])
        return temperature(scores, targets, self.weights)

    def __call__(self, scores: Array) -> Array:
        """Return the probabilities that scores are worth, of shape (n, classes)."""
        return np.asarray(softmax(self.temperature * score_columns(scores), axis=1))

    def __getstate__(self) -> dict[str, Any]:
        # A landmark model is saved without the rows that the temperature comes from.
        if self.model.approximation_ is not None:
            self.known = self.temperature
        return dict(vars(self))

    def _held_out_scores(self) -> Array:
        scores = self._left_out()
        if (self.copies <= 1.0).all():
            return scores
        used = self.weights > 0.0
        missed = self.model.residuals_less_one(self.copies[used])
        scores = scores.copy()
        scores[used] = self.targets[used] - missed.reshape(-1, *scores.shape[1:])
        return scores

    def _left_out(self) -> Array:
        try:
            return self.model.leave_one_out_predictions_
        except MemoryLimitError as error:
            raise MemoryLimitError(
                f"probabilities come from rows left out, by an inverse: {error}; or use "
                "CalibratedClassifierCV of scikit-learn, which fits to parts of the rows"
            ) from None
