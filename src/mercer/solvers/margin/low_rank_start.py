"""A Nystrom warm start of a margin problem of many rows: its solution for a low-rank copy of K."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy.linalg.lapack import dtrtri

from mercer.data.blocks import row_blocks
from mercer.gram import Gram
from mercer.native.smo import Effort, minimise
from mercer.native.threads import in_threads
from mercer.solvers.margin.problem import MarginProblem
from mercer.solvers.run import Run

Array = NDArray[np.float64]
Single = NDArray[np.float32]
Rows = NDArray[np.intp]

# What is added to the diagonal of a matrix that rounding may leave indefinite, beside its largest
# entry.
JITTER = 1e-6
# Rows of F that are summed at a time.
ROWS_AT_A_TIME = 1024
# Entries of blocks that a thread multiplies by a matrix, or by a vector, before it takes others.
MULTIPLIED, READ = 1 << 19, 1 << 22


@dataclass(frozen=True, eq=False)
class LowRankStart:
    """Feasible coefficients, and the rows at which they are next to a kink of the loss."""

    # What of a coefficient at its bound may be left to the diagonal, in units of the margin, by the
    # fewest rows that do; and the memory that the copy may take.
    left: ClassVar[float] = 0.03
    memory: ClassVar[int] = 256 << 20
    # The share of the rows that the way begins with, which stand for all.
    share: ClassVar[float] = 0.2
    # The widths of the kinks on the way, in units of the largest target: for these rows, for all.
    some_widths: ClassVar[tuple[float, ...]] = (3.0, 0.9, 0.3)
    all_widths: ClassVar[tuple[float, ...]] = (0.3, 0.06)
    # Rows of K that make a copy of it.
    ranks: ClassVar[tuple[int, ...]] = (128, 256, 512)
    # Rows that the way begins with, at least and at most.
    fewest: ClassVar[int] = 1024
    most: ClassVar[int] = 4096

    a: Array
    active: Rows


def are_bounded(
    gram: Gram, problem: MarginProblem, run: Run, sample: int = 512, share: float = 0.2
) -> bool:
    """Whether many coefficients are at their bounds, by the solution for a sample of the rows.

    A start finds these; coefficients that are free have to be solved for all the same.

    Parameters
    ----------
    gram : Gram
        K.
    problem : MarginProblem
        The problem.
    run : Run
        When to end.
    sample : int
        Rows of which the solution tells it.
    share : float
        How many of the coefficients are many. A start saved about a quarter of the time where the
        share was 0.3 to 0.5 (a9a, covtype) and cost time below 0.1 (cod-rna, letter); no set in
        between was tried.
    """
    some = np.linspace(0, len(gram) - 1, min(sample, len(gram))).astype(np.intp)
    part = problem.on(some)
    a, g, K = np.zeros(len(some)), -part.z, gram.part(some).dense()
    largest, threads = float(np.abs(K.diagonal()).max()), None if run.is_main else 1
    # Working sets after which the sample has told enough.
    rounds = 100
    effort = Effort(0.1, 0.0, largest, rounds, 2**62, run.seconds_left, threads, run.is_main)
    if minimise(K, part.box, a, g, effort, run.stop).reason == "interrupt":
        raise KeyboardInterrupt
    is_bound = (a != 0.0) & ((a == part.lower) | (a == part.upper))
    return bool(is_bound.mean() >= share)


def low_rank_start(
    gram: Gram, single: Gram, problem: MarginProblem, is_over: Callable[[], bool]
) -> LowRankStart | None:
    """Return the solution of a margin problem with K = F F' + diag(rest), F of few columns.

    In w and b, f = F w + b, its loss is that of f + rest * a, where a_i is minus the slope of the
    loss of row i: a kink of the loss becomes a ramp of the width rest_i (upper_i - lower_i), and
    where that is none at all of a small width of its own, which shrinks on the way.

    Parameters
    ----------
    gram, single : Gram
        K in float64 and in float32.
    problem : MarginProblem
        The problem.
    is_over : callable
        Asked before every step; True gives the start up.

    Returns None where there is no room, no time, or no definite copy of K in float32.

    References
    ----------
    C. Williams and M. Seeger (2001), Using the Nystrom method to speed up kernel machines;
    O. Chapelle (2007), Training a support vector machine in the primal.
    """
    n = len(gram)
    random = np.random.default_rng(0)
    start = LowRankStart
    room = min(start.memory, gram.memory // 4) // (4 * n)
    if room < start.ranks[0]:
        return None
    chosen = random.permutation(n)[: min(start.ranks[-1], n, room)]
    count = int(np.clip(start.share * n, start.fewest, start.most))
    some = np.sort(random.permutation(n)[:count])
    try:
        return _start_from(gram, single, problem, chosen, some, is_over)
    except np.linalg.LinAlgError:
        return None


def _start_from(
    gram: Gram,
    single: Gram,
    problem: MarginProblem,
    chosen: Rows,
    some: Rows,
    is_over: Callable[[], bool],
) -> LowRankStart | None:
    """Return the start by rows that K is copied from, and rows that the way begins with."""
    n = len(gram)
    diagonal = gram.diagonal().astype(np.float64)
    inverse = _inverse(gram.part(chosen).fresh())
    part = problem.on(some)
    F = _multiplied(single.between(some, chosen), inverse)
    rank = _rank(F, diagonal[some], part)
    F = np.ascontiguousarray(F[:, :rank])
    smooth = _Smooth.of(F, diagonal[some], part, n / len(some))
    unit = 0.5 * float(np.ptp(problem.z)) or 1.0
    w, b = np.zeros(rank), problem.offset(np.zeros(n))
    for width in LowRankStart.some_widths:
        w, b = _newton(replace(smooth, width=unit * width), w, b, is_over)
    if is_over():
        return None
    del smooth, F
    F = _multiplied(single.between(slice(None), chosen[:rank]), inverse[:rank, :rank])
    smooth = _Smooth.of(F, diagonal, problem, 1.0)
    for width in LowRankStart.all_widths:
        smooth = replace(smooth, width=unit * width)
        w, b = _newton(smooth, w, b, is_over)
    if is_over():
        return None
    r = smooth.residuals(w, b)
    a = smooth.balanced(r) if problem.fit_intercept else smooth.coefficients(r)
    if not np.isfinite(a).all():
        return None
    return LowRankStart(a, smooth.near(r + smooth.rest * a))


def _inverse(K: Array) -> Single:
    """Return L^-T of K = L L', with which the rows of K become those of F."""
    K[np.diag_indices_from(K)] += JITTER * float(K.diagonal().max())
    L = scipy.linalg.cholesky(K, lower=True, overwrite_a=True, check_finite=False)
    return np.asarray(dtrtri(L, lower=1)[0].T, np.float32)


def _multiplied(K: Single, A: Single) -> Single:
    """Return K A in place of K."""

    def run(rows: slice) -> None:
        K[rows] = K[rows] @ A

    in_threads(run, list(row_blocks(K.shape, MULTIPLIED)))
    return K


def _product(F: Single, w: Single) -> Single:
    """Return F w."""
    return np.concatenate(in_threads(lambda rows: F[rows] @ w, list(row_blocks(F.shape, READ))))


def _rank(F: Single, diagonal: Array, problem: MarginProblem) -> int:
    """Return how many columns of F are enough."""
    bounds = np.maximum(problem.upper, -problem.lower)
    squares = np.cumsum(np.einsum("ij,ij,i->j", F, F, bounds.astype(np.float32), dtype=np.float64))
    left = (float(bounds @ diagonal) - squares) / len(bounds)
    ranks, most = LowRankStart.ranks, LowRankStart.left
    return next((k for k in ranks if k <= F.shape[1] and left[k - 1] <= most), F.shape[1])


@dataclass(frozen=True, eq=False)
class _Smooth:
    """1/2 ||w||^2 + weight sum_i loss_i(F w + b - z) with even slopes across the kinks of the loss.

    Parameters
    ----------
    F : array of shape (m, k)
        The factor.
    rest : array of shape (m,)
        What F F' leaves of the diagonal of K.
    problem : MarginProblem
        The losses.
    weight : float
        Rows that each of the m stands for.
    width : float
        Half the least width of a ramp.
    """

    # Newton steps for a width, and what they may leave of the objective to gain.
    steps: ClassVar[int] = 8
    gain: ClassVar[float] = 3e-3

    F: Single
    rest: Array
    problem: MarginProblem
    weight: float
    width: float = 1.0

    @classmethod
    def of(cls, F: Single, diagonal: Array, problem: MarginProblem, weight: float) -> _Smooth:
        rest = diagonal - np.einsum("ij,ij->i", F, F)
        return cls(F, np.maximum(rest, 0.0), problem, weight)

    def residuals(self, w: Array, b: float) -> Array:
        return _product(self.F, w.astype(np.float32)).astype(np.float64) + b - self.problem.z

    def ramps(self, r: Array) -> tuple[Array, Array, Array, Array]:
        """Return how far up the two ramps every residual is, and how steep they are."""
        p, e = self.problem, self.problem.epsilon
        above = 1.0 / (2.0 * self.width + p.upper * self.rest)
        below = 1.0 / (2.0 * self.width - p.lower * self.rest)
        up = np.clip((self.width - e - r) * above, 0.0, 1.0)
        down = np.clip((self.width - e + r) * below, 0.0, 1.0)
        return up, down, above, below

    def coefficients(self, r: Array) -> Array:
        """Return a, minus the slope of the loss at every residual."""
        up, down, *_ = self.ramps(r)
        return np.asarray(self.problem.upper * up + self.problem.lower * down)

    def balanced(self, r: Array) -> Array:
        """Return a of sum zero by a shift of the residuals, with what is at a bound left there."""
        p = self.problem
        bounds = np.maximum(p.upper, -p.lower)
        high = float(np.abs(r).max() + (self.rest * bounds).max()) + p.epsilon + self.width
        low = -high
        for _ in range(60):
            shift = 0.5 * (low + high)
            low, high = (shift, high) if self.coefficients(r + shift).sum() > 0.0 else (low, shift)
        return p.feasible(self.coefficients(r + high))

    def curvature(self, r: Array) -> Array:
        """Return how fast a falls with the residual."""
        up, down, above, below = self.ramps(r)
        rising = np.where((up > 0.0) & (up < 1.0), self.problem.upper * above, 0.0)
        falling = np.where((down > 0.0) & (down < 1.0), self.problem.lower * below, 0.0)
        return np.asarray(rising - falling)

    def near(self, r: Array) -> Rows:
        """Return the rows whose residuals are next to a kink."""
        p, e = self.problem, self.problem.epsilon
        from_upper = np.where(p.upper > 0.0, np.abs(r + e), np.inf)
        from_lower = np.where(p.lower < 0.0, np.abs(r - e), np.inf)
        return np.flatnonzero(np.minimum(from_upper, from_lower) <= 1.5 * self.width)


def _newton(
    smooth: _Smooth, w: Array, b: float, is_over: Callable[[], bool]
) -> tuple[Array, float]:
    """Return w and b after Newton steps, each as long as the objective falls along it."""
    r = smooth.residuals(w, b)
    for _ in range(smooth.steps):
        if is_over():
            break
        a = smooth.coefficients(r)
        slope = w - smooth.weight * _sums(smooth.F, a)
        change, shift = _direction(smooth, r, slope, -smooth.weight * float(a.sum()))
        gain = -float(slope @ change) + smooth.weight * float(a.sum()) * shift
        along = smooth.residuals(change, shift) + smooth.problem.z
        t = _step(smooth, r, along, float(w @ change), float(change @ change))
        w, b, r = w + t * change, b + t * shift, r + t * along
        objective = 0.5 * float(w @ w) - smooth.weight * float(a @ r)
        if gain <= smooth.gain * abs(objective):
            break
    return w, b


def _direction(smooth: _Smooth, r: Array, slope: Array, slope_b: float) -> tuple[Array, float]:
    """Return the Newton step of w and b from their slopes."""
    D = smooth.weight * smooth.curvature(r)
    total = float(D.sum())
    if total == 0.0:
        return -slope, 0.0
    mean = np.zeros(len(slope))
    if smooth.problem.fit_intercept:
        # With b eliminated F is centred, before its squares are rounded.
        mean = _sums(smooth.F, D) / total
        slope = slope - slope_b * mean
    H = _squares(smooth.F, mean, D)
    ridge = 1.0
    H[np.diag_indices_from(H)] += ridge
    change = -np.linalg.solve(H, slope)
    while float(slope @ change) > 0.0:
        # float32 lost what made the squares positive.
        ridge = max(10.0 * ridge, JITTER * float(H.diagonal().max()))
        H[np.diag_indices_from(H)] += ridge
        change = -np.linalg.solve(H, slope)
    shift = -slope_b / total - float(mean @ change) if smooth.problem.fit_intercept else 0.0
    return np.asarray(change, np.float64), shift


def _sums(F: Single, v: Array) -> Array:
    """Return F'v from the rows at which v is not zero."""
    sums = np.zeros(F.shape[1])
    for rows, part in _taken(F, np.flatnonzero(v)):
        sums += v[rows].astype(np.float32) @ part
    return sums


def _squares(F: Single, mean: Array, D: Array) -> Array:
    """Return (F - mean)' diag(D) (F - mean), a fixed share of the rows on every thread."""
    centre = mean.astype(np.float32)

    def run(index: Rows) -> Array:
        H = np.zeros((F.shape[1], F.shape[1]))
        for rows, part in _taken(F, index):
            part -= centre
            part *= np.sqrt(D[rows]).astype(np.float32)[:, None]
            H += part.T @ part
        return H

    # Shares of the rows that are summed by themselves, on however many threads: the same sums in
    # the same order give the same bits.
    shares = 4
    return np.sum(in_threads(run, np.array_split(np.flatnonzero(D), shares)), axis=0)


def _taken(F: Single, index: Rows) -> Iterator[tuple[Rows, Single]]:
    """Yield copies of some rows of F at a time, in memory that stays in the cache."""
    room = np.empty((ROWS_AT_A_TIME, F.shape[1]), np.float32)
    for start in range(0, len(index), ROWS_AT_A_TIME):
        rows = index[start : start + ROWS_AT_A_TIME]
        yield rows, np.take(F, rows, axis=0, out=room[: len(rows)], mode="clip")


def _step(smooth: _Smooth, r: Array, along: Array, tilt: float, square: float) -> float:
    """Return the share of a step, at most 1, up to which the objective falls."""

    def rises(t: float) -> bool:
        a = smooth.coefficients(r + t * along)
        return tilt + t * square - smooth.weight * float(a @ along) > 0.0

    low, high = 0.0, 1.0
    if not rises(1.0):
        return 1.0
    # Halvings of a step that goes too far.
    halvings = 6
    for _ in range(halvings):
        t = 0.5 * (low + high)
        low, high = (low, t) if rises(t) else (t, high)
    return 0.5 * (low + high)
