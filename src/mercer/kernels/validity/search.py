"""The search for a witness: points and coefficients that show a kernel to be none."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from mercer.data.columns import n_rows, take_rows
from mercer.kernels.validity.designs import Demands, demands_of, designs
from mercer.kernels.validity.negative import (
    both_ways,
    negative_form,
    promising,
    room_for,
    shrunk,
    unequal_pair,
)
from mercer.kernels.validity.proof import Asymmetry, Status, Validity, Witness
from mercer.kernels.validity.rounding import SINGLE, entry_errors
from mercer.kernels.validity.texts import Column, domains_read, text_designs
from mercer.tiles.evaluate import ASYMMETRY

if TYPE_CHECKING:
    from mercer.kernels.kernel import Kernel

Array = NDArray[np.float64]

# Rows of one eigenproblem of a matrix that the user brings.
MATRIX_ROWS = 3000


@dataclass
class Tally:
    """How hard the search looked."""

    designs: int = 0
    points: int = 0
    smallest: float = np.inf

    def count(self, K: Array) -> None:
        """Add a design with this Gram matrix."""
        self.designs += 1
        self.points += len(K)
        ends = scipy.linalg.eigvalsh(K)[[0, -1]]
        if ends[1] > 0.0:
            self.smallest = min(self.smallest, float(ends[0] / ends[1]))

    def __str__(self) -> str:
        sets = f"{self.designs} set{'s' if self.designs != 1 else ''} of points"
        spectrum = f", smallest eigenvalue {self.smallest:.1e} of the largest"
        return f"{sets} ({self.points} in all{spectrum if self.smallest < np.inf else ''})"


def check_validity(kernel: Kernel, X: Any, trials: int, random_state: int) -> Validity:
    """Return whether a kernel is PROVED, REFUTED by a witness, or CONSISTENT with being one."""
    if isinstance(trials, bool) or not isinstance(trials, int) or trials < 1:
        raise ValueError(f"trials must be a whole number of at least 1, got {trials!r}")
    proof = kernel.proof()
    if proof is not None:
        return Validity(str(kernel), Status.PROVED, proof=proof)
    if X is not None and n_rows(X) == 0:
        raise ValueError("X has 0 rows; give at least one row, or leave X out")
    tally = Tally()
    witness = _search(kernel, X, trials, np.random.default_rng(random_state), tally)
    if witness is not None:
        return Validity(str(kernel), Status.REFUTED, witness=witness)
    return Validity(str(kernel), Status.CONSISTENT, searched=str(tally))


def _search(
    kernel: Kernel, X: Any, trials: int, rng: np.random.Generator, tally: Tally
) -> Witness | Asymmetry | None:
    demands = demands_of(kernel)
    if demands.is_finished:
        return _judge(kernel, X, rng, tally)
    reads = domains_read(kernel)
    if "sequences" in reads.values():
        return _search_texts(kernel, reads, X, trials, rng, tally)
    if X is None:
        return _search_designs(kernel, demands, trials, rng, tally)
    if getattr(X, "dtype", None) == np.float32:
        X = X.astype(np.float64)  # the same points, compared with all digits
    found = _search_rows(kernel, X, trials, rng, tally)
    if found is not None:
        return found
    try:
        demands = demands.like(X)
    except ValueError:  # these rows are not numbers, and no others can be made up
        return None
    return _search_designs(kernel, demands, trials, rng, tally)


def _search_rows(
    kernel: Kernel, X: Any, trials: int, rng: np.random.Generator, tally: Tally
) -> Witness | Asymmetry | None:
    """Return what the user's rows say against the kernel."""
    for rows in _samples(kernel, X, trials, rng):
        found = _refute(kernel, rows, _gram(kernel, rows), tally)
        if found is not None:
            return found
    return None


def _search_texts(
    kernel: Kernel,
    reads: dict[Column, str],
    X: Any,
    trials: int,
    rng: np.random.Generator,
    tally: Tally,
) -> Witness | Asymmetry | None:
    """Return what the user's rows, then made-up words say against a kernel of sequences."""
    found = None if X is None else _search_rows(kernel, X, trials, rng, tally)
    return found or _tried(kernel, text_designs(reads, trials, rng), tally)


def _search_designs(
    kernel: Kernel, demands: Demands, trials: int, rng: np.random.Generator, tally: Tally
) -> Witness | Asymmetry | None:
    sets = designs(kernel, demands, _accepted(kernel, demands), trials, rng)
    return _tried(kernel, sets, tally)


def _tried(kernel: Kernel, sets: Iterator[Any], tally: Tally) -> Witness | Asymmetry | None:
    """Return what the first of these sets of points that does says against the kernel."""
    refusal: Exception | None = None
    for points in sets:
        try:
            K = _gram(kernel, points)
        except Exception as error:  # a user's function may fail in any way on foreign points
            refusal = error
            continue
        found = _refute(kernel, points, K, tally)
        if found is not None:
            return found
    if tally.designs == 0:
        reason = " ".join(str(refusal).split())
        raise ValueError(
            f"no made-up points suit this kernel ({type(refusal).__name__}: {reason}); "
            "give rows that do as check(X=...)"
        )
    return None


def _accepted(kernel: Kernel, demands: Demands) -> tuple[int, ...]:
    """Return the numbers of columns to try, of which a user's function may take only some."""
    usual = demands.widths()
    if demands.exactly is not None or not demands.has_functions:
        return usual

    def accepts(width: int) -> bool:
        probe = np.linspace(0.5, 1.5, 2 * width).reshape(2, width)
        try:
            _gram(kernel, demands.rows(probe))
        except Exception:  # as above
            return False
        return True

    # Columns up to which a user's function is asked whether it takes them.
    most_columns_tried = 64
    others = (w for w in range(usual[0], most_columns_tried + 1) if accepts(w))
    return tuple(w for w in usual if accepts(w)) or (next(others, usual[0]),)


def _gram(kernel: Kernel, points: Any) -> Array:
    """Return the Gram matrix with both halves computed, so that they can be compared."""
    everything = take_rows(points, np.arange(n_rows(points)))
    with np.errstate(all="ignore"):
        K = np.asarray(kernel(points, everything), dtype=np.float64)
    if not np.isfinite(K).all():
        raise ValueError("the values of the kernel are too large on these rows")
    return K


def _samples(
    kernel: Kernel, X: Any, trials: int, rng: np.random.Generator, group: int = 256
) -> Iterator[Any]:
    """Yield groups of the user's rows: the one with the lowest k(x, x), then all or at random.

    A `group` at random has so many, of one eigenproblem.
    """
    n = n_rows(X)
    if n > MATRIX_ROWS and demands_of(kernel).has_functions:
        X = take_rows(X, rng.choice(n, MATRIX_ROWS, replace=False))
        n = MATRIX_ROWS
    yield take_rows(X, np.array([np.argmin(kernel.diagonal(X))]))
    for _ in range(1 + trials // 10 if n > group else 1):
        yield take_rows(X, np.sort(rng.choice(n, min(n, group), replace=False)))


def _refute(kernel: Kernel, points: Any, K: Array, tally: Tally) -> Witness | Asymmetry | None:
    """Return what these points say against the kernel, if they do."""
    program = kernel.resolved(points).program
    room = room_for(K)
    scaled = room * K
    pair = unequal_pair(scaled, ASYMMETRY)
    if pair is not None and program.is_arithmetic:
        # The engine's own entries differ by rounding, where large terms cancel.
        pair = unequal_pair(scaled, ASYMMETRY, room * entry_errors(program, points))
    if pair is not None:
        return Asymmetry(take_rows(points, pair), both_ways(K, pair))
    K = 0.5 * (scaled + scaled.T)
    tally.count(K)
    for index in promising(K, np.arange(len(K))):
        errors = room * entry_errors(program, points)
        # A parameter such as "median" changes with the points, so that fewer may not do.
        for rows in (shrunk(K, errors, index), index):
            witness = _witness(kernel, take_rows(points, rows))
            if witness is not None:
                return witness
    return None


def _witness(kernel: Kernel, points: Any) -> Witness | None:
    """Return the witness on these points, found just as anyone would check it again."""
    errors = entry_errors(kernel.resolved(points).program, points)
    found = negative_form(np.asarray(kernel(points), dtype=np.float64), errors)
    return None if found is None else Witness(points, *found)


def _judge(
    kernel: Kernel, X: Any, rng: np.random.Generator, tally: Tally
) -> Witness | Asymmetry | None:
    """Return what the precomputed matrix `X` itself says against the kernel."""
    if X is None:
        raise ValueError("a precomputed kernel is its matrix: give the matrix as check(X=K)")
    K = kernel(X)
    single = K.dtype == np.float32 or getattr(X, "dtype", None) == np.float32
    K = K.astype(np.float64, copy=False)
    room = room_for(K)
    scaled = K if room == 1.0 else room * K
    pair = unequal_pair(scaled, SINGLE if single else ASYMMETRY)
    if pair is not None:
        return Asymmetry(pair, both_ways(K, pair))
    K = 0.5 * (scaled + scaled.T)
    errors = room * entry_errors(kernel.resolved(X).program, X)
    n = len(K)
    block = np.sort(rng.choice(n, MATRIX_ROWS, replace=False)) if n > MATRIX_ROWS else np.arange(n)
    tally.count(K[np.ix_(block, block)])
    for index in promising(K, block):
        rows = shrunk(K, errors, index)
        part = np.ix_(rows, rows)
        found = negative_form(K[part] / room, errors[part] / room)
        if found is not None:
            return Witness(rows, *found)
    return None
