"""The score of a regression, in whatever units its targets are."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score

from mercer.solvers.rounding import usual_unit


class Regression(RegressorMixin):
    """What regressions share: their score."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the coefficient of determination R2 of predictions at the rows `X`.

        Parameters
        ----------
        X, y : rows, array of shape (n,) or (n, targets)
            Rows and their targets, of which it is the mean.
        sample_weight : array of shape (n,), optional
            w.
        """
        predicted, targets = self.predict(X), np.asarray(y, np.float64)
        # In these units squares of the targets are numbers.
        unit = usual_unit(float(np.abs(targets).max(initial=0.0)))
        return float(r2_score(targets / unit, predicted / unit, sample_weight=sample_weight))
