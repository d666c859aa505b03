"""The model that `mercer fit` makes of a job."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import Any, ClassVar

from mercer.cli.fitting.data import Job
from mercer.data.stream import Stream
from mercer.estimators import KernelLogisticRegression, KernelRidge
from mercer.selection import (
    KernelClassifier,
    KernelLogisticRegressionCV,
    KernelRegressor,
    KernelRidgeCV,
)

# Rows on which a kernel is chosen for a table that is not in memory, and the share of a time limit
# that choosing may take.
CHOSEN_ON, CHOOSING = 20_000, 0.5


@dataclass(frozen=True)
class Choice:
    """What a user has decided about a model; what is None is chosen by rows left out.

    Parameters
    ----------
    kernel : str, optional
        An expression.
    penalty : float, optional
        alpha of a regression, C of a classification.
    select : str, optional
        How the penalty is chosen: "loo", "gcv", or a number of folds.
    memory : int, optional
        The limit of memory in bytes.
    time_limit : float, optional
        The limit of time in seconds.
    seed : int
        Of samples.
    """

    # Seconds that a fit is given at least.
    least_seconds: ClassVar[float] = 0.001

    kernel: str | None = None
    penalty: float | None = None
    select: str | None = None
    memory: int | None = None
    time_limit: float | None = None
    seed: int = 0

    @property
    def is_automatic(self) -> bool:
        """Whether the automatic machine decides."""
        return self.kernel is None and self.penalty is None and self.select is None

    def trained(self, job: Job) -> tuple[Any, Any]:
        """Return a model that is fitted to a job, and the one that chose its kernel.

        Both are the same, unless rows are a stream and a search chooses: it does on a sample, and
        the last fit is to all. The automatic machine takes streams by itself.
        """
        if self.is_automatic or not isinstance(job.X, Stream):
            model = self._chosen(job, self.time_limit)
            return model, model
        began, limit = perf_counter(), self.time_limit
        if self.penalty is not None:
            model = self._fitted(job, self.kernel or "auto", self.penalty, limit)
            return model, model
        sample = job.in_memory(CHOSEN_ON, self.seed)
        judge = self._chosen(sample, None if limit is None else CHOOSING * limit)
        penalty = judge.C_ if job.is_classes else judge.alpha_
        rest = None if limit is None else max(self.least_seconds, limit - (perf_counter() - began))
        return self._fitted(job, judge.kernel_, float(penalty), rest), judge

    def _chosen(self, job: Job, limit: float | None) -> Any:
        """Return a model of rows in memory, with what is open chosen by rows left out."""
        if self.penalty is not None:
            return self._fitted(job, self.kernel or "auto", self.penalty, limit)
        kind: Any
        if self.is_automatic:
            kind = KernelClassifier if job.is_classes else KernelRegressor
            model = kind(random_state=self.seed, memory=self.memory, time_limit=limit)
            return model.fit(job.X, job.y, sample_weight=job.weights, groups=job.groups)
        kind = KernelLogisticRegressionCV if job.is_classes else KernelRidgeCV
        cv = held_out(self.select or "loo", is_grouped=job.groups is not None)
        model = kind(self.kernel or "auto", cv=cv, memory=self.memory, time_limit=limit)
        return model.fit(job.X, job.y, sample_weight=job.weights, groups=job.groups)

    def _fitted(self, job: Job, kernel: Any, penalty: float, limit: float | None) -> Any:
        kind: Any = KernelLogisticRegression if job.is_classes else KernelRidge
        # Rows that are read block by block have one solver that does.
        solver = "nystrom" if isinstance(job.X, Stream) else "auto"
        model = kind(kernel, penalty, solver=solver, memory=self.memory, time_limit=limit)
        return model.fit(job.X, job.y, sample_weight=job.weights)


def held_out(select: str, is_grouped: bool) -> Any:
    """Return how rows are left out to choose a penalty; rows of a group together."""
    # Folds of groups where their number is not said.
    folds = 5
    if is_grouped:
        from sklearn.model_selection import GroupKFold

        return GroupKFold(int(select) if select.isdecimal() else folds)
    return int(select) if select.isdecimal() else select
