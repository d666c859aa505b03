"""The model that `mercer fit` makes of a job."""

from __future__ import annotations

from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, ClassVar

from mercer.cli.fitting.data import Job
from mercer.data.stream import Stream, some_rows
from mercer.estimators import KernelLogisticRegression, KernelRidge, KernelRidgeMean
from mercer.kernels import Kernel, default_kernel
from mercer.reports.held_out import inside
from mercer.selection import (
    KernelClassifier,
    KernelLogisticRegressionCV,
    KernelRegressor,
    KernelRidgeClassifier,
    KernelRidgeCV,
    KernelRidgeMeanClassifier,
)


@dataclass(frozen=True)
class Choice:
    """What a user has decided about a model; what is open is chosen by rows left out.

    Parameters
    ----------
    kernels : tuple of Kernel or "auto"
        One, several to choose from, or with their alphas those of a mean.
    alphas : tuple of float
        The ridges of least squares, one for each kernel.
    shares : tuple of float
        The weights in a mean of several; found by rows left out where there are none.
    C : float, optional
        That of a logistic regression.
    select : str, optional
        How the penalty is chosen: "loo", "gcv", or a number of folds.
    class_weight : str, optional
        "balanced" where classes count alike, however many rows they have.
    memory : int, optional
        The limit of memory in bytes.
    time_limit : float, optional
        The limit of time in seconds.
    seed : int
        Of samples.
    """

    # Seconds that a fit is given at least.
    least_seconds: ClassVar[float] = 0.001
    # Rows on which a kernel is chosen for a table that is not in memory, and the share of a time
    # limit that choosing may take.
    chosen_on: ClassVar[int] = 20_000
    choosing: ClassVar[float] = 0.5

    kernels: tuple[Kernel | str, ...] = ()
    alphas: tuple[float, ...] = ()
    shares: tuple[float, ...] = ()
    C: float | None = None
    select: str | None = None
    class_weight: str | None = None
    memory: int | None = None
    time_limit: float | None = None
    seed: int = 0

    @property
    def is_automatic(self) -> bool:
        """Whether the automatic machine decides."""
        return not (self.kernels or self.is_fixed or self.select)

    @property
    def is_fixed(self) -> bool:
        """Whether nothing is left to choose."""
        return bool(self.alphas) or self.C is not None

    def trained(self, job: Job) -> tuple[Any, Any]:
        """Return a model that is fitted to a job, and the one that chose its kernel.

        Both are the same, unless rows are a stream and a search chooses: it does on a sample, and
        the last fit is to all. The automatic machine takes streams by itself.
        """
        if self.is_automatic or self.is_fixed or not isinstance(job.X, Stream):
            model = self._fixed(job) if self.is_fixed else self._chosen(job, self.time_limit)
            return model, model
        began, limit = perf_counter(), self.time_limit
        sample = job.in_memory(self.chosen_on, self.seed)
        judge = self._chosen(sample, None if limit is None else self.choosing * limit)
        rest = None if limit is None else max(self.least_seconds, limit - (perf_counter() - began))
        found = {"C": judge.C_} if job.is_classes else {"alphas": (judge.alpha_,)}
        last = replace(self, kernels=(judge.kernel_,), time_limit=rest, **found)
        return last._fixed(job), judge

    def _chosen(self, job: Job, limit: float | None) -> Any:
        """Return a model of rows in memory, with what is open chosen by rows left out."""
        kind: Any
        if self.is_automatic:
            kind = KernelClassifier if job.is_classes else KernelRegressor
            model = kind(
                random_state=self.seed, memory=self.memory, time_limit=limit, keep=job.keep
            )
            self._weigh(model)
            return model.fit(job.X, job.y, job.weights, job.groups)
        kind = KernelLogisticRegressionCV if job.is_classes else KernelRidgeCV
        cv = held_out(self.select or "loo", is_grouped=job.groups is not None)
        kernels = list(self.kernels) or _default(job)
        model = kind(kernels, cv=cv, memory=self.memory, time_limit=limit)
        self._weigh(model)
        return model.fit(job.X, job.y, sample_weight=job.weights, groups=job.groups)

    def _fixed(self, job: Job) -> Any:
        """Return a model with kernels and penalties that are given."""
        # Rows that are read block by block have one solver that does.
        solver = "nystrom" if isinstance(job.X, Stream) else "auto"
        kernel = self.kernels[0] if self.kernels else _default(job)
        model: Any
        if self.C is not None:
            model = KernelLogisticRegression(kernel, self.C, solver=solver)
        elif len(self.kernels) > 1:
            mean: Any = KernelRidgeMeanClassifier if job.is_classes else KernelRidgeMean
            model = mean(self.kernels, self.alphas, self.shares or None, solver=solver)
        else:
            ridge: Any = KernelRidgeClassifier if job.is_classes else KernelRidge
            model = ridge(kernel, self.alphas[0], solver=solver)
        self._weigh(model)
        model.set_params(memory=self.memory, time_limit=self.time_limit)
        return model.fit(job.X, job.y, sample_weight=job.weights)

    def _weigh(self, model: Any) -> None:
        if self.class_weight is not None:
            model.set_params(class_weight=self.class_weight)


def _default(job: Job) -> Any:
    """Return the kernel that the columns suggest, as estimators take it."""
    return default_kernel(some_rows(job.X), job.keep) if job.keep else "auto"


def keep_limits(model: Any, memory: str | None, time_limit: float | None) -> None:
    """Have a model and the one inside keep the limits of a user, of which less was left to them."""
    for each in {id(found): found for found in (model, inside(model))}.values():
        each.set_params(memory=memory, time_limit=time_limit)


def held_out(select: str, is_grouped: bool) -> Any:
    """Return how rows are left out to choose a penalty; rows of a group together."""
    # Folds of groups where their number is not said.
    folds = 5
    if is_grouped:
        from sklearn.model_selection import GroupKFold

        return GroupKFold(int(select) if select.isdecimal() else folds)
    return int(select) if select.isdecimal() else select
