"""The scores of the probabilities of classes in a search."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from mercer.selection.scoring import scorer_of, takes_weights
from mercer.solvers.logistic.likelihood import log_probabilities, probabilities

Array = NDArray[np.float64]


class HeldOutClassifier(ClassifierMixin, BaseEstimator):
    """What a scorer takes for a fitted classifier: it predicts from the held-out scores."""

    def __init__(self, scores: Any = None, classes: Any = None) -> None:
        self.scores = scores
        self.classes = classes

    def fit(self, X: Any, y: Any) -> HeldOutClassifier:
        """Do nothing."""
        return self

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes in order."""
        return np.asarray(self.classes)

    def decision_function(self, X: Any) -> Array:
        """Return the scores, whatever the rows."""
        return np.asarray(self.scores.ravel() if self.scores.shape[1] == 1 else self.scores)

    def predict_proba(self, X: Any) -> Array:
        """Return the probabilities of the classes."""
        return probabilities(self.scores)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable classes."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def __sklearn_is_fitted__(self) -> bool:
        return True


@dataclass(frozen=True, eq=False)
class ClassScores:
    """What is made of held-out scores; higher is better.

    Parameters
    ----------
    scorer : callable, optional
        scorer(estimator, X, y) of scikit-learn; by default minus the weighted mean of the log
        loss.
    is_weighted : bool
        Whether the user gave weights, of rows or of classes, which a scorer is to have if it takes
        them.
    classes : array
        The classes in order.
    """

    scorer: Callable[..., float] | None
    is_weighted: bool
    classes: NDArray[Any]

    @classmethod
    def of(cls, scoring: Any, is_weighted: bool, classes: NDArray[Any]) -> ClassScores:
        """Return the scores that a name or a function means."""
        return cls(scorer_of(HeldOutClassifier(), scoring), is_weighted, classes)

    def __call__(self, F: Array, X: Any, codes: NDArray[np.intp], weights: Array) -> float:
        """Return the score of held-out scores at rows of these classes."""
        if self.scorer is None:
            chances = log_probabilities(F)[np.arange(len(F)), codes]
            return float(np.average(chances, weights=weights))
        passes = self.is_weighted and takes_weights(self.scorer)
        options = {"sample_weight": weights} if passes else {}
        model = HeldOutClassifier(F, self.classes)
        return float(self.scorer(model, X, self.classes[codes], **options))
