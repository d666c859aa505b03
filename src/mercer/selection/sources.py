"""Where the fits of a kernel come from: entries, few features, landmarks, or a chain of knots."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mercer.data.limits.memory import memory_limit, steady_limit
from mercer.data.stream import Stream
from mercer.estimators.refusals import refuse_by_landmarks, refuse_indefinite_kernel
from mercer.gram import ChainGram, DenseGram, FeatureGram, Gram, LandmarkGram, unheld_gram_of
from mercer.kernels import Kernel
from mercer.planning import Settings
from mercer.planning.entries import FEATURE_BYTES, few_features
from mercer.planning.held_out import (
    LandmarkErrors,
    chain_held_out,
    entries_held_out,
    features_held_out,
)
from mercer.planning.landmarks import landmark_count, landmarks_of_part, planned_landmarks
from mercer.selection.splits import Splits
from mercer.solvers import ChainPath, FeaturePath, RidgePath
from mercer.solvers.line.path import ChainFits
from mercer.solvers.lowrank.path import LandmarkPath
from mercer.solvers.smoother import RidgeFits
from mercer.tiles import Rows

Array = NDArray[np.float64]
Positions = NDArray[np.intp]

ENTRY_BYTES = 8


class Path(Protocol):
    """Ridge problems on the same rows that differ in alpha and targets only."""

    def at(self, y: Array, alphas: Array) -> RidgeFits:
        """Return the fits to targets of shape (n, targets) for every alpha."""


class Held(Protocol):
    """What fits to the rows, and to parts of them, are made from."""

    def path(self, weights: Array, fit_intercept: bool) -> Path:
        """Return the path of all rows; what is held may be overwritten."""

    def split(self, train: Positions, test: Positions) -> tuple[Held, Any]:
        """Return what is held of some rows, and what `RidgeFits.predicted` takes for others."""

    def by_identity(self, splits: Splits, alphas: int) -> bool:
        """Whether the errors of folds come from one path, which costs less than one for each."""


class Source(Protocol):
    """A kernel on rows before anything of their size is computed."""

    @property
    def bytes(self) -> int:
        """The memory it will take."""

    def held(self) -> Held:
        """Return what fits are made from."""


@dataclass(frozen=True, eq=False)
class Entries:
    """The entries of the Gram matrix K, of shape (n, n)."""

    K: Array

    def path(self, weights: Array, fit_intercept: bool) -> Path:
        return RidgePath(self.K, weights, fit_intercept)

    def split(self, train: Positions, test: Positions) -> tuple[Held, Any]:
        return Entries(self.K[np.ix_(train, train)]), self.K[np.ix_(test, train)]

    def by_identity(self, splits: Splits, alphas: int) -> bool:
        whole, parts = entries_held_out(len(self.K), splits, alphas)
        return whole <= parts


@dataclass(frozen=True, eq=False)
class EntrySource:
    """A kernel whose Gram matrix of n x n entries is reduced; an indefinite one is refused."""

    kernel: Kernel
    X: Any
    gram: Gram
    bytes: int

    def held(self) -> Held:
        K = self.gram.fresh()
        if not self.kernel.is_conditional and not self.gram.is_proved:
            gram = DenseGram(K, self.gram.memory, self.gram)
            refuse_indefinite_kernel(self.kernel, self.X, gram)
        return Entries(K)


@dataclass(frozen=True, eq=False)
class Features:
    """The explicit features F, of shape (n, p), and the limit in bytes for their decomposition."""

    F: Any
    memory: int

    def path(self, weights: Array, fit_intercept: bool) -> Path:
        return FeaturePath(self.F, weights, fit_intercept, self.memory)

    def split(self, train: Positions, test: Positions) -> tuple[Held, Any]:
        return Features(self.F[train], self.memory), self.F[test]

    def by_identity(self, splits: Splits, alphas: int) -> bool:
        whole, parts = features_held_out(self.F.shape, splits, alphas)
        return whole <= parts


@dataclass(frozen=True, eq=False)
class FeatureSource:
    """A kernel with few explicit features, whose singular values serve every alpha."""

    kernel: Kernel
    X: Any
    memory: int
    bytes: int
    work: float

    def held(self) -> Held:
        return Features(FeatureGram(self.kernel, self.X, self.memory).F, self.memory)


@dataclass(frozen=True, eq=False)
class Landmarks:
    """The features of landmarks on some rows, of which none are stored."""

    gram: LandmarkGram

    def path(self, weights: Array, fit_intercept: bool) -> Path:
        return LandmarkPath(self.gram, weights, fit_intercept)

    def split(self, train: Positions, test: Positions) -> tuple[Held, Any]:
        return Landmarks(self.gram.part(train)), self.gram.part(test)

    def by_identity(self, splits: Splits, alphas: int) -> bool:
        # The sums of a fold are taken from those of all rows.
        return splits.are_complements


@dataclass(frozen=True, eq=False)
class LandmarkSource:
    """A kernel by landmarks, chosen as a fit to the same rows chooses them."""

    kernel: Kernel
    X: Any
    settings: Settings
    bytes: int
    work: float
    at_once: int

    @classmethod
    def of(
        cls, kernel: Kernel, X: Any, settings: Settings, errors: LandmarkErrors
    ) -> LandmarkSource:
        """Return the source of errors, with no more landmarks than rows."""
        settings, memory = landmarks_of_part(settings, errors.n), steady_limit(settings.memory)
        m = landmark_count(settings, errors.n)
        found = (errors.bytes(m, memory), errors.work(m), errors.at_once(memory))
        return cls(kernel, X, settings, *found)

    def held(self) -> Held:
        refuse_by_landmarks(self.kernel, self.X, self.settings.memory)
        return Landmarks(planned_landmarks(self.settings, self.kernel, self.X))


@dataclass(frozen=True, eq=False)
class Chain:
    """Points on a line, whose fits take O(n) for every alpha; source and held in one."""

    gram: ChainGram
    bytes: int
    work: float

    def held(self) -> Held:
        return self

    def path(self, weights: Array, fit_intercept: bool) -> Path:
        return ChainPath(self.gram, weights, fit_intercept)

    def split(self, train: Positions, test: Positions) -> tuple[Held, Any]:
        return replace(self, gram=self.gram.part(train)), self.gram.at(test)

    def by_identity(self, splits: Splits, alphas: int) -> bool:
        return splits.are_complements


def structured_source(
    kernel: Kernel, X: Any, y: Array, splits: Splits | None, alphas: int, memory: int | None
) -> FeatureSource | Chain | None:
    """Return a source that needs no n x n entries and costs less, or None if there is none.

    Parameters
    ----------
    kernel : Kernel
        k, with numbers for parameters.
    X : rows or Rows
        An array, CSR matrix or table.
    y : array of shape (n, targets)
        The targets.
    splits : Splits, optional
        The folds; None is generalised cross-validation.
    alphas : int
        The number of ridges.
    memory : int, optional
        The limit in bytes, if one was given.
    """
    n, rows = len(y), Rows.of(X)
    if kernel.is_precomputed or isinstance(rows.X, Stream):
        return None
    if kernel.feature_map is not None:
        limit = memory_limit(memory)
        p = few_features(kernel, rows.X, n, limit)
        if p is not None:
            work = min(features_held_out((n, p), splits, alphas))
            return FeatureSource(kernel, rows.X, limit, FEATURE_BYTES * n * p, work)
    chain = unheld_gram_of(kernel, rows, memory).chain()
    if chain is None:
        return None
    work = chain_held_out(y.shape, splits, alphas)
    if work > min(entries_held_out(n, splits, alphas)) and chain.has_room(entry_bytes(n, splits)):
        return None
    return Chain(chain, _chain_bytes(y.shape, splits, alphas), work)


def _chain_bytes(shape: tuple[int, int], splits: Splits | None, alphas: int) -> int:
    """Return the memory for a chain, and for the functions and errors of one fold."""
    n, targets = shape
    # Arrays of n numbers that a chain takes, and each of its targets.
    chain_arrays, target_arrays = 10, 4
    numbers = n * (chain_arrays + target_arrays * targets)
    if splits is not None and not splits.are_single:
        numbers += 2 * targets * (ChainFits.together * n + alphas * int(splits.sizes.max()))
    return ENTRY_BYTES * numbers


def entry_bytes(n: int, splits: Splits | None) -> int:
    """Return the memory for a Gram matrix, and beside it Q or the rows of a fold."""
    return (1 if splits is None else 2) * ENTRY_BYTES * n**2
