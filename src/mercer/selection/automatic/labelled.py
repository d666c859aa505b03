"""Rows with classes on which models of an automatic machine are compared."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.errors import ConvergenceWarning
from mercer.estimators.validation import training_subset
from mercer.kernels import Kernel
from mercer.selection.automatic.board import Candidate
from mercer.selection.automatic.cross_fit import Compared
from mercer.selection.classifiers.logistic import KernelLogisticRegressionCV
from mercer.selection.classifiers.ridge import KernelRidgeClassifier

Array = NDArray[np.float64]
Sample = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """Rows, their classes and weights, and which of them are left out together.

    Parameters
    ----------
    reader : Kernel
        A kernel that reads the rows.
    rows : rows
        Checked rows.
    labels : array of shape (n,)
        Their classes by number.
    weights : array of shape (n,)
        Their weights.
    folds : sequence of (rows to fit to, rows left out), optional
        Folds of whole groups; without any, rows are left out one by one.
    """

    reader: Kernel
    rows: Any
    labels: Sample
    weights: Array
    folds: Sequence[tuple[Sample, Sample]] | None = None

    @cached_property
    def classes(self) -> Sample:
        """The classes that there are."""
        return np.unique(self.labels)

    @property
    def has_every_class(self) -> bool:
        """Whether there are two classes, and rows of each are left where others are left out.

        A class that one group has to itself cannot be told from the others without it.
        """
        folds = self.folds or ()
        return len(self.classes) > 1 and all(
            len(np.unique(self.labels[train])) == len(self.classes) for train, _ in folds
        )

    def log_loss(self, model: KernelRidgeClassifier) -> float:
        """Return the mean log loss of a model on rows left out."""
        if self.folds is None:
            P = model.fit(self.rows, self.labels, self.weights).leave_one_out_proba_
        else:
            P = np.empty((len(self.labels), len(self.classes)))
            for train, test in self.folds:
                some = training_subset(self.reader, self.rows, train)
                model.fit(some, self.labels[train], self.weights[train])
                P[test] = model.predict_proba(training_subset(self.reader, self.rows, test))
        own = P[np.arange(len(P)), np.searchsorted(self.classes, self.labels)]
        return float(-np.average(np.log(np.maximum(own, 1e-15)), weights=self.weights))

    def logistic(self, candidate: Candidate, search: KernelLogisticRegressionCV) -> Compared | None:
        """Return logistic regression with the kernel of a candidate, and the C that is best for it.

        Parameters
        ----------
        candidate : Candidate
            Of a mean it is the weighted sum of its kernels.
        search : KernelLogisticRegressionCV
            What tries every C with that kernel; there is None without the time for it.
        """
        with warnings.catch_warnings():
            # What the comparison has no time for is no fault of the model that is fitted last.
            warnings.simplefilter("ignore", ConvergenceWarning)
            search.fit(self.rows, self.labels, self.weights)
        if search._is_cut:
            return None
        return Compared(-float(search.best_score_), candidate, C=float(search.C_))


def labels_by_number(codes: Array) -> NDArray[np.intp]:
    """Return classes by number of their codes 1 and -1, of two classes in one column."""
    return (codes.ravel() > 0.0).astype(int) if codes.shape[1] == 1 else codes.argmax(axis=1)
