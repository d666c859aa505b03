"""The automatic machine for classification."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from mercer.estimators import KernelLogisticRegression
from mercer.estimators.classes import one_against_rest
from mercer.estimators.estimator import Arguments, tag_rows
from mercer.estimators.validation import (
    checked_classification,
    checked_seed,
    checked_weights,
    training_subset,
)
from mercer.selection.automatic.kernels import reader_of
from mercer.selection.automatic.search import JUDGED_ROWS, Leaderboard, Tournament
from mercer.selection.logistic import KernelLogisticRegressionCV
from mercer.solvers import Run

Array = NDArray[np.float64]

# The share of a time limit that is for finding kernels.
SHARE_OF_KERNELS = 0.6
# How many of the best by least squares are judged by their log loss.
LOGISTIC = 2


class KernelClassifier(ClassifierMixin, Arguments):
    """Classification of a table without a choice to make, with calibrated probabilities.

    Kernels are found as `KernelRegressor` finds them, for classes as 1 and -1. The best by least
    squares are then fitted by logistic regression, and the one whose probabilities of rows left
    out have the least log loss wins.

    Parameters
    ----------
    time_limit : float, optional
        Seconds in which to choose and fit.
    memory : int or str, optional
        The limit of memory, in bytes or as ``"4GB"``; a share of the free memory by default.
    random_state : int, RandomState or None
        Seed of the samples of rows; None is always the same one.

    Attributes
    ----------
    candidates_ : Leaderboard
        All kernels that were tried, best first, with their errors on rows left out. Print it.
    kernel_ : Kernel
        The winner, an expression that can be edited.
    C_ : float
        What its losses count beside the penalty.
    estimator_ : KernelLogisticRegression
        The model, fitted to all rows.
    classes_ : array
        The classes in order.
    n_features_in_, feature_names_in_
        The columns seen in `fit`.
    """

    def __init__(
        self,
        *,
        time_limit: float | None = None,
        memory: Any = None,
        random_state: Any = None,
    ) -> None:
        self.time_limit = time_limit
        self.memory = memory
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose a kernel for the rows `X` and their classes `y`, and fit it.

        Parameters
        ----------
        X : rows
            An array, CSR matrix or table, or a list of texts.
        y : array of shape (n,)
            The classes, as numbers or strings.
        sample_weight : float or array of shape (n,), optional
            w; a whole weight counts as that many equal rows, zero as none.
        """
        run, reader = Run(self.time_limit), reader_of(X)
        rows, codes, classes = checked_classification(self, reader, X, y)
        weights = checked_weights(sample_weight, len(codes))
        targets = one_against_rest(codes, len(classes))
        seed = checked_seed(self.random_state) or 0
        limit = run.share(SHARE_OF_KERNELS)
        tournament = Tournament.of(reader, rows, targets, weights, self.memory, seed, limit)
        self.candidates_: Leaderboard = tournament.winners()
        kernels = [c.kernel for c in self.candidates_.entries[:LOGISTIC]]
        sample = tournament.sample(JUDGED_ROWS)
        judge = KernelLogisticRegressionCV(
            kernels, memory=self.memory, time_limit=run.rest, random_state=self.random_state
        )
        y_seen = tournament.y[sample]
        labels = y_seen[:, 0] > 0.0 if y_seen.shape[1] == 1 else y_seen.argmax(axis=1)
        seen = training_subset(reader, tournament.X, sample)
        judge.fit(seen, labels, tournament.weights[sample])
        self.kernel_, self.C_ = judge.kernel_, float(judge.C_) / tournament.unit
        model = KernelLogisticRegression(
            self.kernel_, self.C_, memory=self.memory, time_limit=run.rest
        )
        self.estimator_ = model.fit(X, y, sample_weight)
        self.classes_ = self.estimator_.classes_
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class of each of the rows `X`."""
        return np.asarray(self._fitted().predict(X))

    def predict_proba(self, X: Any) -> Array:
        """Return the probabilities of the classes at the rows `X`, of shape (n, classes)."""
        return np.asarray(self._fitted().predict_proba(X))

    def decision_function(self, X: Any) -> Array:
        """Return the scores of the classes at the rows `X`."""
        return np.asarray(self._fitted().decision_function(X))

    @property
    def certificate_(self) -> Any:
        """What the solver proves of `estimator_`."""
        return self._fitted().certificate_

    @property
    def function_(self) -> Any:
        """The fitted function, that of `estimator_`."""
        return self._fitted().function_

    def _fitted(self) -> KernelLogisticRegression:
        check_is_fitted(self, "estimator_")
        return self.estimator_

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tag_rows(tags, [])
        return tags
