"""The contract of a Gram matrix, as a test that users can run on their own."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer.errors import MemoryLimitError
from mercer.gram import Gram

Array = NDArray[Any]

# Rounding allowed beside the largest entry, by the precision of the matrix.
TOLERANCE = {np.dtype(np.float64): 1e-10, np.dtype(np.float32): 1e-5}


def check_gram(gram: Gram, K: Any = None) -> None:
    """Check that a Gram matrix keeps its contract: every method agrees with the entries.

    The claims: shape and dtype, symmetry, products with vectors and matrices from both sides, rows
    by any index, blocks and partial sums, the diagonal, parts and parts of parts, the form in
    float32 and its error, copies that belong to the caller, shifts, the features, entries in
    memory and points on a line if there are any, positive eigenvalues if they are proved, the
    memory limit, and errors that name what is wrong.

    Parameters
    ----------
    gram : Gram
        The Gram matrix to check, of at least two rows.
    K : array of shape (n, n), optional
        Its entries, found in another way; by default those of `gram.dense`.

    Raises
    ------
    AssertionError
        If a claim is violated; the message names the claim.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Gaussian
    >>> from mercer.gram import gram_of
    >>> from mercer.testing import check_gram
    >>> X = np.random.default_rng(0).normal(size=(9, 3))
    >>> check_gram(gram_of(Gaussian(), X), Gaussian()(X))
    """
    if len(gram) < 2:
        raise ValueError(f"check_gram needs at least two rows, got {len(gram)}")
    matrix = np.asarray(gram.dense() if K is None else K, np.float64).copy()
    case = Case(gram, matrix)
    for check in CHECKS:
        check(case)


@dataclass(frozen=True, eq=False)
class Case:
    """A Gram matrix and its entries in float64."""

    gram: Gram
    K: Array

    def claim(self, text: str, holds: bool) -> None:
        """Raise an AssertionError that names the claim unless it holds."""
        if not holds:
            raise AssertionError(f"{self.gram!r} breaks its contract: {text}")

    @property
    def scale(self) -> float:
        """The size of the entries, to which rounding is relative."""
        return float(max(np.abs(self.K).max(), np.finfo(float).tiny))

    def near(self, text: str, found: Any, expected: Array, steps: int = 1) -> None:
        """Claim that a block has these entries but for the rounding of some steps."""
        self.claim(
            f"{text}: it has shape {expected.shape}, got {np.shape(found)}",
            np.shape(found) == expected.shape,
        )
        gap = float(np.abs(np.asarray(found, np.float64) - expected).max(initial=0.0))
        allowed = steps * TOLERANCE[self.gram.dtype] * self.scale
        self.claim(f"{text}, got a difference of {gap:.3g}", gap <= allowed)

    def refuses(
        self, text: str, call: Callable[[], Any], error: type[Exception], said: str
    ) -> None:
        """Claim that a call raises an error whose message has a word."""
        message = ""
        try:
            call()
        except error as reason:
            message = str(reason)
        self.claim(f"{text} is refused with {error.__name__} that says {said!r}", said in message)


def _shapes(case: Case) -> None:
    gram, n = case.gram, len(case.K)
    case.claim(f"shape is ({n}, {n}), got {gram.shape}", gram.shape == (n, n))
    case.claim(f"dtype is float64 or float32, got {gram.dtype}", gram.dtype in TOLERANCE)
    case.claim(f"memory is a number of bytes, got {gram.memory!r}", gram.memory > 0)
    case.claim("held_bytes is not negative", gram.held_bytes >= 0)
    case.claim("the transpose is the matrix itself", gram.T.shape == gram.shape)
    case.near("K is symmetric", case.K.T, case.K)


def _entries(case: Case) -> None:
    dense = case.gram.dense()
    case.claim(f"dense() has the dtype of the matrix, got {dense.dtype}", _has_dtype(case, dense))
    case.near("dense() gives all entries", dense, case.K)
    case.near("diagonal() is the diagonal of K", case.gram.diagonal(), case.K.diagonal())
    case.near("entries() gives the same matrix", case.gram.entries().dense(), case.K)
    fresh = case.gram.fresh()
    case.claim(
        "fresh() is float64, in rows", fresh.dtype == np.float64 and fresh.flags.c_contiguous
    )
    fresh[...] = np.nan
    case.near("fresh() belongs to the caller", case.gram.fresh(), case.K)
    for dtype in TOLERANCE:
        lower = case.gram.lower(dtype)
        case.claim(f"lower({dtype}) has that dtype", lower.dtype == dtype)
        gap = np.abs(np.tril(lower) - np.tril(case.K)).max()
        allowed = max(TOLERANCE[dtype], TOLERANCE[case.gram.dtype]) * case.scale
        case.claim(f"lower({dtype}) holds the lower triangle, off by {gap:.3g}", gap <= allowed)


def _has_dtype(case: Case, block: Array) -> bool:
    return block.dtype == case.gram.dtype


def _products(case: Case) -> None:
    n, rng = len(case.K), np.random.default_rng(0)
    for V in (rng.normal(size=n), rng.normal(size=(n, 3)), np.empty((n, 0))):
        case.near(f"gram @ V is K V for V of shape {V.shape}", case.gram @ V, case.K @ V, n)
    case.claim("a product with float64 is float64", (case.gram @ np.ones(n)).dtype == np.float64)
    V = rng.normal(size=(3, n))
    case.near("V @ gram is V K", V @ case.gram, V @ case.K, n)


def _rows(case: Case) -> None:
    n = len(case.K)
    every_other = np.arange(n) % 2 == 0
    for index in ([n - 1, 0, n - 1], slice(0, n, 2), every_other, -1, np.empty(0, np.intp)):
        block = case.gram.rows(index)
        case.near(f"rows({index!r}) are those of K", block, np.atleast_2d(case.K[index]))
        case.claim("rows have the dtype of the matrix", _has_dtype(case, block))


def _blocks(case: Case) -> None:
    n, gram = len(case.K), case.gram
    many, few = np.arange(n)[::-1], np.array([1, 0])
    for rows, columns in ((many, few), (few, many), (few, few), (slice(0, 2), slice(1, n))):
        block = case.K[rows][:, columns]
        case.near("between(rows, columns) are entries of K", gram.between(rows, columns), block)
        V = np.random.default_rng(1).normal(size=(block.shape[1], 2))
        for right in (V, V[:, 0]):
            sums = gram.partial_product(rows, columns, right)
            case.near("partial_product(rows, columns, V) sums them", sums, block @ right, n)
        sums = gram.partial_product(None, columns, V)
        case.near("partial_product(None, ...) is for all rows", sums, case.K[:, columns] @ V, n)


def _parts(case: Case) -> None:
    every = np.arange(len(case.K))[::-1]
    index = every[: len(every) // 2 + 1]
    part = case.gram.part(index)
    _agrees(case, "a part", part, case.K[np.ix_(index, index)])
    again = part.part([1, 0])
    _agrees(case, "a part of a part", again, case.K[np.ix_(index[[1, 0]], index[[1, 0]])])
    whole = case.gram.part(every)
    _agrees(case, "a part of all rows in another order", whole, case.K[np.ix_(every, every)])
    for some, rows in ((part, index), (whole, every)):
        _features(Case(some, case.K[np.ix_(rows, rows)]))
    case.claim("a part of a proved matrix is proved", part.is_proved or not case.gram.is_proved)


def _agrees(case: Case, what: str, gram: Gram, K: Array, steps: int = 1) -> None:
    """Claim that a matrix that was made of another one has these entries."""
    v = np.random.default_rng(2).normal(size=len(K))
    case.claim(f"{what} has shape {K.shape}, got {gram.shape}", gram.shape == K.shape)
    case.near(f"{what} has the entries", gram.dense(), K, steps)
    case.near(f"{what} has the rows", gram.rows([1]), K[[1]], steps)
    case.near(f"{what} has the diagonal", gram.diagonal(), K.diagonal(), steps)
    case.near(f"{what} multiplies", gram @ v, K @ v, steps * len(K))


def _single(case: Case) -> None:
    single = case.gram.single()
    case.claim("single() is float32", single.dtype == single.dense().dtype == np.float32)
    case.claim("single() of float32 is the matrix itself", single.single() is single)
    allowed = max(case.gram.single_error, TOLERANCE[case.gram.dtype]) * case.scale
    for text, block, K in (
        ("dense()", single.dense(), case.K),
        ("rows()", single.rows([1, 0]), case.K[[1, 0]]),
        ("diagonal()", single.diagonal(), case.K.diagonal()),
        ("part().dense()", single.part([1, 0]).dense(), case.K[np.ix_([1, 0], [1, 0])]),
    ):
        gap = float(np.abs(block - K).max())
        case.claim(f"single().{text} is within single_error, off by {gap:.3g}", gap <= allowed)
    v = np.ones(len(case.K))
    gap = float(np.abs(single @ v - case.K @ v).max())
    case.claim(f"single() multiplies, off by {gap:.3g}", gap <= len(v) * allowed)


def _shift(case: Case) -> None:
    d = np.linspace(0.5, 2.0, len(case.K)) * case.scale
    _agrees(case, "a shifted matrix", case.gram.shifted(d), case.K + np.diag(d), steps=3)


def _errors(case: Case) -> None:
    errors = case.gram.errors([1, 0])
    case.claim("errors(index) has a bound for every entry", errors.shape == (2, 2))
    case.claim("errors(index) are not negative", bool((errors >= 0.0).all()))
    case.claim("entry_error is below 1", 0.0 < case.gram.entry_error < 1.0)


def _features(case: Case) -> None:
    F = case.gram.features()
    if F is None:
        return
    products: Any = F @ F.T
    block = products.toarray() if sp.issparse(products) else products
    case.near("inner products of features() are K", block, case.K, 10)
    columns = case.gram.feature_columns
    if columns is not None:
        case.claim("feature_columns has one for every feature", len(columns) == F.shape[1])


def _structure(case: Case) -> None:
    chain, stored = case.gram.chain(), case.gram.stored
    if chain is not None:
        _agrees(case, "chain()", chain, case.K)
    if stored is not None:
        matrix, index = stored
        case.near("stored has the entries", matrix if index is None else _at(matrix, index), case.K)


def _at(matrix: Array, index: Array) -> Array:
    return matrix[np.ix_(index, index)]


def _positive(case: Case) -> None:
    if not case.gram.is_proved:
        return
    lowest = float(np.linalg.eigvalsh(0.5 * (case.K + case.K.T))[0])
    case.claim(
        f"K is positive semi-definite, as is_proved says, got the eigenvalue {lowest:.3g}",
        lowest >= -len(case.K) * TOLERANCE[case.gram.dtype] * case.scale,
    )


def _refusals(case: Case) -> None:
    n = len(case.K)
    case.refuses("a vector of another length", lambda: case.gram @ np.ones(n + 1), ValueError, "V")
    case.refuses("a row beyond the end", lambda: case.gram.rows([n]), IndexError, str(n))
    small = copy(case.gram)
    small.memory = 4 * n * n - 1
    for text, call in (
        ("fresh() beyond the memory", small.fresh),
        ("lower() beyond the memory", lambda: small.lower(np.float32)),
    ):
        case.refuses(text, call, MemoryLimitError, "memory=")


Check = Callable[[Case], None]
CHECKS: tuple[Check, ...] = (
    _shapes,
    _entries,
    _products,
    _rows,
    _blocks,
    _parts,
    _single,
    _shift,
    _errors,
    _features,
    _structure,
    _positive,
    _refusals,
)
