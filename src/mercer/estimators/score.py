"""The scores of predictions: of numbers in whatever units they are, and of classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.metrics import r2_score

from mercer.data.stream import opened
from mercer.solvers.rounding import usual_units


class Regression(RegressorMixin):
    """What regressions share: their score."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the coefficient of determination R2 of predictions at the rows `X`.

        Parameters
        ----------
        X, y : rows, array of shape (n,) or (n, targets), or str
            Rows and their targets, of which it is the mean, as in `fit`.
        sample_weight : array of shape (n,) or str, optional
            w.
        """
        X, y, sample_weight = opened(X, y, sample_weight)
        predicted, targets = self.predict(X), np.asarray(y, np.float64)
        # In these units squares of the targets are numbers, those of each target by itself.
        units = usual_units(targets)
        return float(r2_score(targets / units, predicted / units, sample_weight=sample_weight))


class Classification(ClassifierMixin):
    """What classifiers share: their score."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of the rows `X` whose class is predicted.

        Parameters
        ----------
        X, y : rows, array of shape (n,) or str
            Rows and their classes, as in `fit`.
        sample_weight : array of shape (n,) or str, optional
            w.
        """
        return float(super().score(*opened(X, y, sample_weight)))
