"""Scores of held-out predictions: the weighted mean squared error, or a scorer of scikit-learn."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.metrics import check_scoring

from mercer.solvers.rounding import usual_unit

Array = NDArray[np.float64]


class HeldOut(RegressorMixin, BaseEstimator):
    """What a scorer takes for a fitted model: it predicts the held-out predictions."""

    def __init__(self, predictions: Any = None) -> None:
        self.predictions = predictions

    def fit(self, X: Any, y: Any) -> HeldOut:
        """Do nothing."""
        return self

    def predict(self, X: Any) -> Any:
        """Return the predictions, whatever the rows."""
        return self.predictions

    def __sklearn_is_fitted__(self) -> bool:
        return True


@dataclass(frozen=True, eq=False)
class Scores:
    """What is made of held-out errors; higher is better.

    Parameters
    ----------
    scorer : callable, optional
        scorer(estimator, X, y) of scikit-learn; by default minus the weighted mean of the squared
        errors, averaged over the targets.
    per_target : bool
        Whether every target has a score of its own.
    is_weighted : bool
        Whether the user gave weights, which a scorer is to have if it takes them.
    is_single : bool
        Whether the user gave the targets as a vector.
    """

    scorer: Callable[..., float] | None
    per_target: bool
    is_weighted: bool
    is_single: bool

    @classmethod
    def of(cls, scoring: Any, per_target: bool, is_weighted: bool, is_single: bool) -> Scores:
        """Return the scores that a name or a function means."""
        return cls(scorer_of(HeldOut(), scoring), per_target, is_weighted, is_single)

    def __call__(self, errors: Array, X: Any, y: Array, weights: Array) -> Array:
        """Return the scores of errors of shape (alphas, rows, targets) at rows with targets `y`.

        The shape is (alphas, targets) with a score per target, else (alphas, 1).
        """
        if self.scorer is None:
            raise ValueError("errors are scored by a scorer, and losses without one")
        passes = self.is_weighted and takes_weights(self.scorer)
        options = {"sample_weight": weights} if passes else {}
        targets = np.arange(y.shape[1])
        together = targets[:, None] if self.per_target else targets[None]
        scores = np.empty((len(errors), len(together)))
        for i, j in np.ndindex(*scores.shape):
            predicted, truth = ((v[:, together[j]]) for v in (y - errors[i], y))
            if self.per_target or self.is_single:
                predicted, truth = predicted.ravel(), truth.ravel()
            scores[i, j] = self.scorer(HeldOut(predicted), X, truth, **options)
        return scores

    def units_of(self, y: Array) -> Array:
        """Return what every target is counted in, so that squares of its errors are numbers.

        A power of two, which changes no digit; the same for all where their losses are averaged.
        """
        sizes = np.abs(y).max(axis=0)
        if not self.per_target:
            sizes = np.full_like(sizes, sizes.max())
        return np.array([usual_unit(float(size)) for size in sizes])

    def of_losses(self, losses: Array) -> Array:
        """Return the scores of losses of shape (alphas, targets, folds), smaller being better."""
        return -losses if self.per_target else -losses.mean(axis=1, keepdims=True)


def scorer_of(model: BaseEstimator, scoring: Any) -> Callable[..., float] | None:
    """Return the scorer of a model that a name or a function means, or None for none."""
    if scoring is None:
        return None
    if not (isinstance(scoring, str) or callable(scoring)):
        raise ValueError(
            f"scoring must be one scorer, by its name or as a function, got {scoring!r}"
        )
    scorer: Callable[..., float] = check_scoring(model, scoring=scoring)
    return scorer


def takes_weights(scorer: Any) -> bool:
    """Whether a scorer takes the weights of rows."""
    # A scorer of scikit-learn passes everything on to its metric.
    metric: Any = getattr(scorer, "_score_func", scorer)
    try:
        return "sample_weight" in inspect.signature(metric).parameters
    except (TypeError, ValueError):
        return False
