"""Rows that stand for all: randomly pivoted Cholesky, and the choice of landmarks by it."""

from __future__ import annotations

from time import perf_counter
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dgemm, dtrsm

from mercer.data.columns import n_rows, take_rows
from mercer.data.limits.memory import steady_limit
from mercer.data.stream import Stream
from mercer.gram.gram import Gram
from mercer.gram.streamed import StreamedGram
from mercer.kernels import Kernel
from mercer.native.lapack import one_blas_thread

Array = NDArray[np.float64]

# How landmarks can be chosen by name.
RULES = ("rpcholesky", "uniform", "kmeans")
# Rows for every landmark among which these are looked for: more tell little, and each costs as much
# as the last.
POOL = 5
# Landmarks up to which every one is chosen after all that came before it. The work grows with the
# square of their number; further ones are drawn together by what these leave.
MOST_PIVOTS = 500


class Pivots:
    """K = F'F + E with F of shape (k, n) from k rows of K, and E positive semi-definite.

    A row is taken with a probability proportional to its diagonal entry of E, which is known for
    all rows: d_i = K_ii - ||F e_i||^2. Blocks of rows are proposed together, and those that their
    predecessors in the block made superfluous are rejected, so that the rows have the distribution
    of one-by-one sampling at the price of matrix products. It takes k n entries of K and about
    2 k^2 n multiplications.

    Parameters
    ----------
    gram : Gram
        K, of which the diagonal and single rows are read.
    random_state : None, int or numpy.random.Generator
        Where the random numbers come from.

    Attributes
    ----------
    index : array of shape (k,)
        The rows taken, in their order.
    residual : array of shape (n,)
        d, the diagonal of E.
    history : list of (int, float)
        k and the trace of E after every block.

    References
    ----------
    Y. Chen, E. Epperly, J. Tropp and R. Webber (2022), Randomly pivoted Cholesky; E. Epperly,
    J. Tropp and R. Webber (2024), Embrace rejection: kernel matrix approximation by accelerated
    randomly pivoted Cholesky.
    """

    # A residual of so many units of rounding of its diagonal entry is zero.
    units: ClassVar[float] = 64.0
    # Rows proposed at a time, as a share of those wanted, and the limits of it. A larger block
    # makes larger matrix products but is sampled from an older residual, so that more of it is
    # rejected.
    share: ClassVar[float] = 0.1
    smallest: ClassVar[int] = 16
    largest: ClassVar[int] = 256

    def __init__(self, gram: Gram, random_state: Any = None) -> None:
        self._gram = gram
        self._random = np.random.default_rng(random_state)
        self._F = np.empty((0, len(gram)))
        self.index = np.empty(0, np.intp)
        diagonal = gram.diagonal().astype(np.float64)
        self._noise = self.units * float(np.finfo(gram.dtype).eps) * np.abs(diagonal)
        self.residual = np.where(diagonal > self._noise, diagonal, 0.0)
        self.history = [(0, self.trace)]

    @property
    def F(self) -> Array:
        """The factor, of shape (k, n), one contiguous row for every row of K that was taken."""
        return self._F[: len(self.index)]

    @property
    def trace(self) -> float:
        """The trace of E: a bound on its norm, zero once K is reproduced."""
        return float(self.residual.sum())

    def grow(self, k: int, until: float = 0.0, deadline: float = np.inf) -> None:
        """Take rows until there are `k`, or the trace of E is at most `until`.

        No block but the first is begun after the `deadline`, a reading of ``time.perf_counter``.
        """
        k = min(k, len(self.residual))
        size = int(np.clip(self.share * k, self.smallest, self.largest))
        is_first = True
        while len(self.index) < k and self.trace > until:
            if not is_first and perf_counter() > deadline:
                break
            is_first = False
            self._reserve(k)
            self._take_block(size, k - len(self.index))
            self.history.append((len(self.index), self.trace))

    def _reserve(self, k: int) -> None:
        if len(self._F) < k:
            wider = np.empty((k, self._F.shape[1]))
            wider[: len(self.index)] = self.F
            self._F = wider

    def _take_block(self, size: int, most: int) -> None:
        """Propose rows, keep at most so many of those that pass, and extend F by them."""
        chance = self.residual / self.residual.sum()
        proposed = self._random.choice(len(chance), size, p=chance)
        distinct, which = np.unique(proposed, return_inverse=True)
        K = self._gram.rows(distinct).astype(np.float64, copy=False)

        known = self.F[:, proposed]
        # The products of SciPy, as below: the threads of two libraries hinder each other.
        H = K[np.ix_(which, proposed)]
        H = H if len(known) == 0 else H - dgemm(1.0, known, known, trans_a=True)
        kept, L = rejection_cholesky(H, self._random.random(size), self._noise[proposed])
        if len(kept) == 0:
            # Only rows whose residual is rounding are all rejected.
            self.residual[proposed] = 0.0
            return
        kept, L = kept[:most], L[:most, :most]

        taken = proposed[kept]
        rows = self._F[len(self.index) : len(self.index) + len(taken)]
        rows[:] = K[which[kept]]
        # In place: BLAS counts along columns and finds the rows transposed.
        dgemm(-1.0, self.F.T, known[:, kept], 1.0, rows.T, overwrite_c=True)
        dtrsm(1.0, L, rows.T, side=1, lower=1, trans_a=1, overwrite_b=1)
        self.index = np.concatenate([self.index, taken])

        left = self.residual - np.einsum("ij,ij->j", rows, rows)
        # What is left of a row once taken, or of its copies, is rounding: it is not taken again.
        left[taken] = 0.0
        self.residual = np.where(left > self._noise, left, 0.0)


def rejection_cholesky(H: Array, uniforms: Array, noise: Array) -> tuple[NDArray[np.intp], Array]:
    """Return the rows of H that pass, and the Cholesky factor of H on them.

    Row j passes with probability H_jj after / H_jj before the elimination of the rows that passed
    ahead of it.

    Parameters
    ----------
    H : array of shape (b, b)
        Residual entries of the proposed rows, which may repeat each other.
    uniforms : array of shape (b,)
        Random numbers in [0, 1).
    noise : array of shape (b,)
        Diagonal entries up to these are zero.
    """
    before = H.diagonal()
    after = before.copy()
    L = np.zeros_like(H)
    kept: list[int] = []
    for j in range(len(H)):
        if after[j] <= noise[j] or after[j] <= uniforms[j] * before[j]:
            continue
        k = len(kept)
        column = (H[j:, j] - L[j:, :k] @ L[j, :k]) / np.sqrt(after[j])
        after[j:] -= column * column
        L[j:, k] = column
        kept.append(j)
    return np.array(kept, np.intp), L[kept, : len(kept)]


def pivot_rows(gram: Gram, m: int, most: int, random: np.random.Generator) -> NDArray[np.intp]:
    """Return m rows of a Gram matrix by randomly pivoted Cholesky, in ascending order.

    Those beyond `most` are drawn together, by what the first ones leave of the diagonal.
    """
    pivots = Pivots(gram, random)
    # Threads of the BLAS would take longer to wait for each other than such products take.
    with one_blas_thread():
        pivots.grow(min(m, most))
    more = m - len(pivots.index)
    left = np.flatnonzero(pivots.residual)
    if more > 0 and len(left):
        chance = pivots.residual[left] / pivots.residual[left].sum()
        drawn = random.choice(left, min(more, len(left)), replace=False, p=chance)
        return np.sort(np.concatenate([pivots.index, drawn]))
    return np.sort(pivots.index)


def chosen_landmarks(
    kernel: Kernel, X: Any, m: int, how: str, seed: int = 0, memory: Any = None
) -> Any:
    """Return m landmarks for the rows `X`.

    ``"rpcholesky"`` takes rows at random by what earlier ones leave of k(x, x), among a sample of
    the rows where these are many; ``"uniform"`` takes them all alike; ``"kmeans"`` takes the
    centres of clusters of rows of numbers. The other parameters are those of `landmark_gram`.
    """
    return chosen_rows(kernel, X, m, how, seed, memory)[0]


def unknown_rule(how: str) -> ValueError:
    """Return what to say of a name by which no landmarks are chosen."""
    names = ", ".join(map(repr, RULES))
    return ValueError(f"landmarks must be one of {names} or rows, got {how!r}")


def chosen_rows(
    kernel: Kernel, X: Any, m: int, how: str, seed: int, memory: Any
) -> tuple[Any, NDArray[np.intp] | None]:
    """Return landmarks, and which rows they are if they are rows."""
    if how not in RULES:
        raise unknown_rule(how)
    n, random = n_rows(X), np.random.default_rng(seed)
    is_stream = isinstance(X, Stream)
    if how == "kmeans" and not is_stream:
        return _centres(X, m, seed), None
    if how == "uniform" or m == n:
        index = np.sort(random.choice(n, m, replace=False))
        return take_rows(X, index), index
    # The share of the memory that the rows take among which landmarks are looked for.
    pool_share = 1 / 4
    # Each row of the pool has a number for every pivot.
    room = int(pool_share * steady_limit(memory) / (8 * min(m, MOST_PIVOTS)))
    # Rows among which landmarks are looked for, at least: they take a moment.
    least = 5000
    size = min(n, max(POOL * m, least), max(m, room))
    pool = np.sort(random.choice(n, size, replace=False))
    rows = X if len(pool) == n and not is_stream else take_rows(X, pool)
    if how == "kmeans":
        return _centres(rows, m, seed), None
    taken = pivot_rows(StreamedGram(kernel, rows), m, MOST_PIVOTS, random)
    return take_rows(rows, taken), pool[taken]


def _centres(X: Any, m: int, seed: int) -> Array:
    """Return the centres of m clusters of rows of numbers."""
    if not isinstance(X, np.ndarray):
        raise ValueError(
            f"landmarks='kmeans' takes means of rows of numbers, got {type(X).__name__}; use "
            "landmarks='rpcholesky'"
        )
    # Imported here: scikit-learn's clusters are slow to import and seldom asked for.
    from sklearn.cluster import MiniBatchKMeans

    found = MiniBatchKMeans(m, random_state=seed, n_init=1, batch_size=max(1024, m)).fit(X)
    return np.asarray(found.cluster_centers_, X.dtype)


def checked_landmark_count(m: int | None, n: int | None = None) -> int:
    """Return a number of landmarks, among n rows where these are known, or refuse what is none."""
    if m is None:
        raise ValueError("n_landmarks is needed where landmarks are chosen; give a number of rows")
    is_whole = isinstance(m, int | np.integer) and not isinstance(m, bool)
    if not is_whole or not 1 <= m <= (m if n is None else n):
        wanted = "of at least 1" if n is None else f"from 1 to the number of rows, {n}"
        raise ValueError(f"n_landmarks must be a whole number {wanted}, got {m!r}")
    return int(m)
