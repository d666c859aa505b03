"""The search: the scores of all alphas for each of many kernels on the same rows."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from mercer.data.memory import gigabytes
from mercer.engine import NotPositiveError
from mercer.engine.threads import thread_count
from mercer.errors import MemoryLimitError
from mercer.estimators import KernelRidge
from mercer.estimators.rows import training_subset
from mercer.gram import Gram, shared_grams
from mercer.kernels import Kernel
from mercer.selection.held_out import held_out_errors
from mercer.selection.scoring import Scores
from mercer.selection.splits import Splits
from mercer.solvers import RidgePath

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

ENTRY_BYTES = 8
# Rows below which one kernel is not worth the threads of the BLAS.
ROWS_FOR_THREADS = 1000


@dataclass(frozen=True, eq=False)
class Search:
    """Rows of positive weight with their targets, and how candidates are scored on them.

    Parameters
    ----------
    X : rows
        An array, CSR matrix, table or finished Gram matrix.
    y : array of shape (n, targets)
        The targets.
    weights : array of shape (n,)
        Positive weights.
    reader : Kernel
        A kernel that reads the rows as all candidates do.
    fit_intercept : bool
        Whether there is an offset.
    splits : Splits, optional
        The folds; None is generalised cross-validation.
    scores : Scores
        What is made of held-out errors.
    memory : int
        The limit in bytes.
    """

    X: Any
    y: Array
    weights: Array
    reader: Kernel
    fit_intercept: bool
    splits: Splits | None
    scores: Scores
    memory: int

    def __len__(self) -> int:
        return len(self.y)

    def on(self, rows: Rows) -> Search:
        """Return the search on some of the rows."""
        return replace(
            self,
            X=training_subset(self.reader, self.X, rows),
            y=self.y[rows],
            weights=self.weights[rows],
            splits=None if self.splits is None else self.splits.on(rows),
        )

    def scored(self, kernels: Sequence[Kernel], alphas: Sequence[Array]) -> list[Array]:
        """Return the scores of every kernel with its alphas, of shape (alphas, columns) each."""
        at_once = min(thread_count(), len(kernels), self._room)
        spare = self.memory - at_once * self._bytes
        grams = shared_grams(kernels, self.X, self.memory, spare)
        # Several kernels side by side keep the processors busy without waiting for each other, as
        # the threads of the BLAS do in every product, the longer the smaller it is.
        is_coarse = len(kernels) > 1 or len(self) < ROWS_FOR_THREADS
        limit = threadpool_limits(1, "blas") if is_coarse else nullcontext()
        with limit, ThreadPoolExecutor(at_once) as pool:
            jobs = [
                pool.submit(self._scored, gram, kernel, ridges)
                for gram, kernel, ridges in zip(grams, kernels, alphas, strict=True)
            ]
            try:
                return [job.result() for job in jobs]
            finally:
                pool.shutdown(cancel_futures=True)

    def _scored(self, gram: Gram, kernel: Kernel, alphas: Array) -> Array:
        try:
            if self.splits is None:
                path = RidgePath(gram.fresh(), self.weights, self.fit_intercept)
                return self.scores.of_losses(path.at(self.y, alphas).generalised())
            errors = held_out_errors(
                gram.fresh(), self.y, self.weights, alphas, self.fit_intercept, self.splits
            )
        except NotPositiveError as failure:
            raise self._reason(kernel, float(alphas[failure.position])) from None
        tested = self.splits.tested
        X = None if self.scores.scorer is None else training_subset(self.reader, self.X, tested)
        return self.scores(errors, X, self.y[tested], self.weights[tested])

    def _reason(self, kernel: Kernel, alpha: float) -> Exception:
        """Return why K + alpha W^-1 could not be inverted, as the exact solver words it."""
        model = KernelRidge(kernel, alpha, fit_intercept=self.fit_intercept, memory=self.memory)
        try:
            model.fit(self.X, self.y, self.weights)
        except ValueError as error:
            return error
        return ValueError(
            f"{kernel} with alpha = {alpha:g} is singular to working precision when rows are held "
            "out; raise the smallest of alphas"
        )

    @property
    def _bytes(self) -> int:
        """The memory for one kernel: its Gram matrix, and beside it Q or the rows of a fold."""
        return (1 if self.splits is None else 2) * ENTRY_BYTES * len(self) ** 2

    @property
    def _room(self) -> int:
        """The number of kernels for which there is memory at the same time, at least one."""
        if self._bytes > self.memory:
            hint = "" if self.splits is None else ", or use cv='gcv', which needs half as much"
            raise MemoryLimitError(
                f"choosing on {len(self)} rows needs {gigabytes(self._bytes)} but the limit is "
                f"{gigabytes(self.memory)}; raise memory= or use fewer rows{hint}"
            )
        return self.memory // self._bytes
