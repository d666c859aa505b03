"""The plan of a model by landmarks: when they are taken, how many, and how they are chosen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from mercer.data.blocks import LARGE
from mercer.data.columns import n_rows
from mercer.data.limits.memory import memory_limit, steady_limit
from mercer.data.listing import in_four_digits
from mercer.data.stream import Stream
from mercer.gram import Gram, LandmarkGram, landmark_gram, unheld_gram_of
from mercer.gram.landmarks import block_entries
from mercer.gram.pivots import checked_landmark_count
from mercer.kernels import Kernel
from mercer.planning.forecast import SAMPLE, trace_at
from mercer.planning.plan import Least, Plan, Settings, check_room
from mercer.planning.rates import Work
from mercer.solvers.lowrank.hessian import FEW_COLUMNS

# Arrays of m x m numbers that are there at the same time: the factor of the landmarks, the sums of
# all rows or a sketch, those of a block in either precision, a factor of them and what it is of.
SQUARES = 6
# Blocks of rows that are there at the same time.
BLOCKS = 2
# Rows up to which a fit is exact: nothing would be saved. Fewer landmarks than this know little.
FEW, LEAST = 2000, 50
# Landmarks of a stream that is learnt from, unless a number is given.
LEARNT = 1000


@dataclass(frozen=True)
class ByLandmarks:
    """What a problem takes by m landmarks.

    Parameters
    ----------
    rows : int
        n.
    work : function of m
        The work.
    bytes : function of m
        The memory beside the data.
    """

    # The share of a time limit that may be counted: the rest is for what counts and the rates of a
    # processor do not know. An exact fit that is broken off is worse than one by landmarks.
    counted: ClassVar[float] = 0.5
    # Seconds on one thread up to which a fit is exact where no limit is given, a minute on two, and
    # those that landmarks are taken for. One thread, so that their number changes no bit.
    exact_seconds: ClassVar[float] = 120.0
    approximate_seconds: ClassVar[float] = 60.0

    rows: int
    work: Callable[[int], Work]
    bytes: Callable[[int], int]

    def most(self, settings: Settings) -> int:
        """Return how many landmarks time and memory allow, at most n; zero if none.

        The memory is the limit that was given, or a share of all that the machine has: what is
        free changes from call to call, and the number of landmarks must not.
        """
        limit, memory = settings.time_limit, steady_limit(settings.memory)
        seconds = self.approximate_seconds if limit is None else self.counted * limit
        most = 0
        for m in _steps(self.rows):
            if self.bytes(m) > memory or self.work(m).cost > seconds:
                break
            most = m
        return most

    def chosen(self, settings: Settings, kernel: Kernel, exact: Work) -> Settings:
        """Return the settings of a fit by landmarks where the exact one takes too long.

        They are taken as well where they are given. A fit that is neither to be had in time stays
        what it was.

        Parameters
        ----------
        settings : Settings
            What the estimator was told, the solver left to the plan.
        kernel : Kernel
            k.
        exact : Work
            What the exact fit takes.
        """
        if settings.has_landmarks:
            return replace(settings, solver="nystrom")
        if not may_have_landmarks(settings, kernel):
            return settings
        limit = settings.time_limit
        allowed = self.exact_seconds if limit is None else self.counted * limit
        if self.rows <= FEW or exact.cost <= allowed:
            return settings
        m = self.most(settings)
        if m < LEAST:
            return settings
        return replace(settings, solver="nystrom", n_landmarks=m)

    def least(self, settings: Settings, kernel: Kernel) -> Least | None:
        """Return the fewest landmarks that the plan may take, or None if it may take none."""
        if not settings.is_open or self.rows <= FEW or not may_have_landmarks(settings, kernel):
            return None
        # The first of the steps that are enough.
        m = next(m for m in _steps(self.rows) if m >= LEAST)
        return Least(m, self.bytes(m))

    def limited(self, settings: Settings) -> Settings:
        """Return the settings with as many landmarks as are due and as time and memory allow.

        This is for a solver of landmarks that was named without their number, or that is the only
        one for the rows.
        """
        if settings.has_landmarks:
            return settings
        m = landmark_count(settings, self.rows)
        if settings.time_limit is not None or self.bytes(m) > steady_limit(settings.memory):
            m = min(m, max(self.most(settings), min(LEAST, self.rows)))
        return replace(settings, n_landmarks=m)

    def within_memory(self, settings: Settings) -> Settings:
        """Return the settings as they are, or `limited` where the memory allows fewer landmarks.

        Some of the rows, on which a search begins, are then not due fewer than these.
        """
        if settings.has_landmarks:
            return settings
        has_room = self.bytes(landmark_count(settings, self.rows)) <= steady_limit(settings.memory)
        return settings if has_room else self.limited(settings)

    def plan(self, settings: Settings, gram: Gram) -> Plan | None:
        """Return what landmarks take, or None where all rows would be some."""
        m = most = self.most(settings)
        if settings.has_landmarks or settings.solver == "nystrom":
            m = landmark_count(settings, self.rows)
        elif m == self.rows or m < LEAST:
            return None
        limited = self._limited_by(settings, m) if m == most < self.rows else ""
        reason = f"{m} landmarks stand for {self.rows} rows, in time linear in these{limited}"
        taken = ("nystrom", "features of landmarks", self.bytes(m), self.work(m).seconds, reason)
        return Plan(*taken, residual=expected_residual(gram, m))

    def _limited_by(self, settings: Settings, m: int) -> str:
        """Return what allows no more than m landmarks, in words."""
        if self.bytes(m + m // 8) > steady_limit(settings.memory):
            if settings.memory is None:
                return ", as many as fit into half of the memory of the machine, free or not"
            asked = getattr(settings.memory, "asked", settings.memory)
            return f", as many as fit into memory={asked!r}"
        if settings.time_limit is None:
            return ""
        # Inside another fit, or after reading, this is less than what a user has given.
        left = in_four_digits(settings.time_limit)
        return f", as many as half of the {left} s that time_limit leaves is counted to allow"


def streamed_plan(
    by_landmarks: ByLandmarks, settings: Settings, kernel: Kernel, X: Stream, columns: int
) -> Plan:
    """Return what landmarks take of rows that are read block by block, for which all else fails.

    Parameters
    ----------
    by_landmarks : ByLandmarks
        What they take.
    settings : Settings
        What the estimator was told.
    kernel : Kernel
        k, with numbers for parameters.
    X : Stream
        The rows.
    columns : int
        Targets, or columns of scores.
    """
    check_landmarks(settings, kernel)
    memory, n, name = memory_limit(settings.memory), by_landmarks.rows, "nystrom"
    reason = "landmarks stand for {n} rows, which are read block by block"
    if settings.solver == "sgd":
        name, reason = "sgd", "landmarks learn from {n} rows, block by block in one pass"
        if settings.n_landmarks is None:
            settings = replace(settings, n_landmarks=min(n, LEARNT))
    m = landmark_count(by_landmarks.limited(settings), n)
    needed = stream_bytes(m, columns) if name == "sgd" else by_landmarks.bytes(m)
    check_room(name, needed, memory, name)
    told = f"{m} {reason.format(n=n)}"
    taken = (name, "features of landmarks", needed, by_landmarks.work(m).seconds, told)
    left = expected_residual(unheld_gram_of(kernel, X.sample, memory), m)
    return Plan(*taken, time_limit=settings.time_limit, residual=left)


def may_have_landmarks(settings: Settings, kernel: Kernel) -> bool:
    """Whether a fit by landmarks is possible at all."""
    return settings.repair is None and not kernel.is_precomputed and not kernel.is_conditional


def expected_residual(gram: Gram, m: int) -> float:
    """Return about the share of tr K that m landmarks leave, from pivots of some rows of it."""
    n = len(gram)
    some = gram.part(np.linspace(0, n - 1, min(n, SAMPLE)).astype(np.intp))
    whole = float(some.diagonal().sum())
    return trace_at(m, some) / whole if whole > 0.0 else 0.0


def _steps(n: int) -> list[int]:
    """Return numbers of landmarks to choose from, up to n in even ratios."""
    # Steps of the number of landmarks between two powers of two: more would tell nothing apart.
    steps = 8
    count = int(steps * np.log2(n)) + 1
    return sorted({*np.round(2.0 ** (np.arange(count) / steps)).astype(int).tolist(), n})


def planned_landmarks(settings: Settings, kernel: Kernel, rows: Any) -> LandmarkGram:
    """Return the Gram matrix by the landmarks that were asked for, or by as many as are due.

    Parameters
    ----------
    settings : Settings
        What the estimator was told.
    kernel : Kernel
        k, with numbers for parameters.
    rows : rows
        The training rows.
    """
    check_landmarks(settings, kernel)
    m = settings.n_landmarks
    if m is None and isinstance(settings.landmarks, str):
        m = landmark_count(settings, n_rows(rows))
    return landmark_gram(kernel, rows, m, settings.landmarks, settings.seed or 0, settings.memory)


def check_landmarks(settings: Settings, kernel: Kernel) -> None:
    """Refuse a kernel, or a repair, that landmarks cannot serve."""
    if kernel.is_precomputed:
        raise ValueError(
            "landmarks are chosen among rows, and a precomputed Gram matrix has none; give rows "
            "and a kernel, or use another solver"
        )
    if kernel.is_conditional:
        raise ValueError(
            f"landmarks need a positive semi-definite kernel, and {kernel!r} is so on coefficients "
            "of sum zero only; use fit_intercept=True"
        )
    if settings.repair is not None:
        raise ValueError(
            f"repair={settings.repair!r} works on the eigenvalues of the whole Gram matrix, which "
            "landmarks spare; use solver='cholesky', or a positive semi-definite kernel"
        )


def landmark_count(settings: Settings, n: int) -> int:
    """Return how many landmarks there will be for n rows, at most."""
    if not isinstance(settings.landmarks, str):
        return n_rows(settings.landmarks)
    if settings.n_landmarks is not None:
        return checked_landmark_count(settings.n_landmarks, n)
    # Landmarks for the root of the number of rows: with so many the error of a landmark model is
    # about that of the exact one, up to logarithms (A. Rudi, R. Camoriano and L. Rosasco (2015),
    # Less is more: Nystrom computational regularization).
    for_root_of_rows = 10
    return min(n, int(for_root_of_rows * n**0.5))


def landmarks_of_part(settings: Settings, n: int) -> Settings:
    """Return the settings for n rows, which may be some of all: no more landmarks than rows."""
    if settings.n_landmarks is None or not isinstance(settings.landmarks, str):
        return settings
    return replace(settings, n_landmarks=min(checked_landmark_count(settings.n_landmarks), n))


def landmark_bytes(n: int, m: int, targets: int, memory: int) -> int:
    """Return the memory that m landmarks take beside n rows: m x m arrays, blocks, columns."""
    block = min(block_entries(memory), n * m)
    # Columns of all rows: targets from their means, residuals of two points, coefficients, weights.
    columns = 5
    return 8 * (SQUARES * m**2 + BLOCKS * block + columns * n * targets)


def landmark_feature_bytes(n: int, m: int, memory: int, itemsize: int = 4) -> int:
    """Return the memory of stored features of so many bytes, the factor of landmarks, and a block.

    Features are in float32, unless a tolerance is so small that only float64 tells it.
    """
    block = min(block_entries(memory), n * m)
    return itemsize * n * m + 8 * (SQUARES * m**2 + BLOCKS * block)


def landmark_newton_bytes(n: int, m: int, columns: int, memory: int) -> int:
    """Return the memory of Newton's method by stored entries, for so many columns of scores."""
    return landmark_feature_bytes(n, m, memory) + newton_step_bytes(n, m, columns)


def newton_step_bytes(n: int, m: int, columns: int) -> int:
    """Return the memory of a Newton step beside features: scores of all rows, preconditioners."""
    # Sums and a factor for every column of scores, or for all together.
    made = columns if columns <= FEW_COLUMNS else 1
    # Arrays of scores of all rows that are there at the same time in a Newton step: those of the
    # point and of the one before, the root of the curvature, a direction, and what a product makes
    # of it.
    scores = 14
    return 8 * (scores * n * columns + 2 * made * m**2)


def stream_bytes(m: int, columns: int) -> int:
    """Return the memory of m landmarks on a stream: a curvature for every column, and blocks."""
    return 8 * ((SQUARES + columns) * m**2 + BLOCKS * LARGE // 16)
