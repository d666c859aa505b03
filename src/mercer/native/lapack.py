"""Factorisations by SciPy's LAPACK, which clock and Ctrl-C can end, and the threads of its BLAS."""

from __future__ import annotations

import ctypes
import functools
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from mercer.data.limits.deadline import check, shielded
from mercer.native.threads import left_behind

Array = NDArray[np.float64]

# The order below which eigenvalues take a moment; factors do up to twice as large a one.
SMALL = 1000


class _OneBlasThread:
    """A limit on the BLAS of the process, kept while any thread asks for it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._askers = 0
        self._limit: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if self._askers == 0:
                self._limit = _libraries().limit(limits=1, user_api="blas")
            self._askers += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._askers -= 1
            if self._askers == 0:
                self._limit.restore_original_limits()


_ONE_BLAS_THREAD = _OneBlasThread()


def one_blas_thread() -> AbstractContextManager[None]:
    """Return a context in which the BLAS has one thread, for work that is not worth more.

    Its threads wait for more work by spinning, which takes time from those of the engine.
    """
    return _ONE_BLAS_THREAD


@functools.cache
def _libraries() -> ThreadpoolController:
    # To find the libraries takes milliseconds, longer than what is to run on one thread. They are
    # found by a function that C calls, in which Ctrl-C would be lost; other threads hear none.
    # Whoever enters a context does not expect that the time is up there.
    with shielded():
        return left_behind(ThreadpoolController)


@functools.cache
def _routine(name: str, arguments: int) -> Any:
    """Return a routine of SciPy's LAPACK or BLAS as a C function, or None without C integers."""
    from scipy.linalg import cython_blas, cython_lapack

    published = {**cython_blas.__pyx_capi__, **cython_lapack.__pyx_capi__}
    capsule, api = published[name], ctypes.pythonapi
    # A capsule carries its signature.
    if "int *" not in repr(capsule):
        return None
    api.PyCapsule_GetName.restype, api.PyCapsule_GetName.argtypes = (
        ctypes.c_char_p,
        [ctypes.py_object],
    )
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    pointer = api.PyCapsule_GetPointer(capsule, api.PyCapsule_GetName(capsule))
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * arguments)(pointer)


def _call(name: str, *arguments: Any) -> None:
    """Call a routine with characters, whole numbers, arrays, or addresses as `_At` has them."""
    kept = [_passed(a) for a in arguments]
    _routine(name, len(kept))(*(p if isinstance(p, _At) else ctypes.addressof(p) for p in kept))


class _At(int):
    """An address."""

    @classmethod
    def of(cls, A: NDArray[Any], i: int, j: int) -> _At:
        """Return where entry (i, j) of a square matrix is that is counted along columns."""
        return cls(A.ctypes.data + (i + j * len(A)) * A.itemsize)


def _passed(argument: Any) -> Any:
    if isinstance(argument, _At):
        return argument
    if isinstance(argument, np.ndarray):
        return _At(argument.ctypes.data)
    if isinstance(argument, str):
        return ctypes.c_char(argument.encode())
    return ctypes.c_int(argument)


def threads_for(A: NDArray[Any]) -> AbstractContextManager[None]:
    """Return a context in which the BLAS has one thread for a factor of small order.

    Its threads wait for each other at every block, which on a processor that others use takes many
    times as long as the work, and spin after it on cores that others want. The order alone decides,
    so that no bit depends on the load.
    """
    return one_blas_thread() if len(A) < 2 * SMALL else nullcontext()


def cholesky(A: NDArray[Any], lower: bool, panel: int = 512, work: float = 4e9) -> int:
    """Put the Cholesky factor of A into its lower or upper triangle, panel by panel.

    Return 0, or the order of the first leading minor that is not positive. The other triangle is
    neither read nor written.

    Parameters
    ----------
    A : array of shape (n, n)
        Symmetric, counted along columns, in float64 or float32.
    lower : bool
        Which triangle.
    panel : int
        Columns that are factored before all others are told, as many as keep products at full
        speed.
    work : float
        Multiplications of a product between two looks at the clock: about a tenth of a second.

    References
    ----------
    E. Anderson et al. (1999), LAPACK users' guide, section 3.4 on blocked algorithms.
    """
    prefix = "d" if A.dtype == np.float64 else "s"
    if _routine(prefix + "potrf", 5) is None:
        potrf = scipy.linalg.lapack.dpotrf if prefix == "d" else scipy.linalg.lapack.spotrf
        with threads_for(A):
            return int(potrf(A, lower=lower, clean=False, overwrite_a=True)[1])
    n, one, minus = len(A), np.ones(1, A.dtype), -np.ones(1, A.dtype)
    side, uplo, trans = ("R", "L", "N") if lower else ("L", "U", "T")
    info = np.zeros(1, np.intc)
    if n < 2 * SMALL:
        with threads_for(A):
            _call(prefix + "potrf", uplo, n, A, max(n, 1), info)
        return int(info[0])

    def beside(i: int, j: int) -> _At:
        """Return the block of a panel, column j in the lower triangle or row j in the upper."""
        return _At.of(A, i, j) if lower else _At.of(A, j, i)

    for j in range(0, n, panel):
        check()
        width, below = min(panel, n - j), j + min(panel, n - j)
        _call(prefix + "potrf", uplo, width, _At.of(A, j, j), n, info)
        if info[0]:
            return j + int(info[0])
        left = n - below
        if not left:
            break
        shape = (left, width) if lower else (width, left)
        solved = (_At.of(A, j, j), n, beside(below, j), n)
        _call(prefix + "trsm", side, uplo, "T", "N", *shape, one, *solved)
        # What is left of A, some columns of the lower triangle or rows of the upper at a time.
        step = int(np.clip(work / (left * width), panel, left))
        for i in range(below, n, step):
            check()
            some, rest = min(step, n - i), n - i - min(step, n - i)
            here = (beside(i, j), n)
            _call(prefix + "syrk", uplo, trans, some, width, minus, *here, one, _At.of(A, i, i), n)
            if rest:
                other = (beside(i + some, j), n)
                sides = (*other, *here) if lower else (*here, *other)
                size = (rest, some, width) if lower else (some, rest, width)
                factors, out = (minus, *sides, one), (beside(i + some, i), n)
                _call(prefix + "gemm", trans, "T" if lower else "N", *size, *factors, *out)
    return 0


def pivoted_cholesky(A: Array, least: float) -> NDArray[np.intp]:
    """Put the factor of A with its rows and columns in another order into its lower triangle.

    Return that order, as far as the factor goes: next comes the one whose entry on the diagonal is
    the largest that those before leave, until none is above `least`. A is counted along columns.
    The clock and Ctrl-C are answered at once; LAPACK then goes on unseen to its end.
    """
    n, count = len(A), np.zeros(1, np.intc)
    if _routine("dpstrf", 9) is None:
        _, order, rank, _ = scipy.linalg.lapack.dpstrf(A, lower=True, tol=least, overwrite_a=True)
    else:
        order = np.empty(n, np.intc)
        _overwritten("dpstrf", A, order, count, np.full(1, least), np.empty(2 * n))
        rank = int(count[0])
    return np.asarray(order[:rank], np.intp) - 1


def inverse_of_factor(A: Array) -> int:
    """Put the inverse of L L' into the lower triangle of A, which holds L counted along columns.

    Return 0, or the order of the first pivot of L that is zero. The clock and Ctrl-C are answered
    at once; LAPACK then goes on unseen to its end.
    """
    return inverse_of_triangle(A) or _in_place("dlauum", A)


def inverse_of_triangle(A: Array) -> int:
    """Put the inverse of the lower triangle L of A, counted along columns, into its place.

    By halves: [[P, 0], [Q, R]] has the inverse [[P^-1, 0], [-R^-1 Q P^-1, R^-1]], so that nearly
    all of it are products of matrices; LAPACK's own takes up to twice as long. It returns, and
    answers, as `inverse_of_factor` does.

    References
    ----------
    E. Elmroth, F. Gustavson, I. Jonsson, B. Kagstrom (2004), Recursive blocked algorithms and
    hybrid data structures for dense matrix library software.
    """
    if _routine("dtrtri", 6) is None:
        with threads_for(A):
            return int(scipy.linalg.lapack.dtrtri(A, lower=True, overwrite_c=True)[1])
    return _unseen(A, lambda: _invert(A, 0, len(A)))


# A function within the one above that calls itself would keep A until the next search for cycles.
def _invert(A: Array, start: int, size: int) -> int:
    """Invert the triangle of this size that begins at an entry on the diagonal of A."""
    # Columns of which LAPACK inverts the triangle at once.
    least, n = 96, max(len(A), 1)
    if size <= least:
        info = np.zeros(1, np.intc)
        _call("dtrtri", "L", "N", size, _At.of(A, start, start), n, info)
        return start + int(info[0]) if info[0] else 0
    # Of whole cache lines.
    first = size // 16 * 8
    middle, rest = start + first, size - first
    order = _invert(A, start, first) or _invert(A, middle, rest)
    if not order:
        one, here = np.ones(1), _At.of(A, middle, start)
        left, right = _At.of(A, middle, middle), _At.of(A, start, start)
        _call("dtrmm", "L", "L", "N", "N", rest, first, -one, left, n, here, n)
        _call("dtrmm", "R", "L", "N", "N", rest, first, one, right, n, here, n)
    return order


def square_of_factor(A: NDArray[np.float32]) -> None:
    """Put L'L into the lower triangle of A, which holds L, as `inverse_of_factor` does."""
    _in_place("slauum", A)


def _in_place(name: str, A: NDArray[Any]) -> int:
    """Return what a routine says that overwrites the lower triangle of A, in C or by SciPy."""
    if _routine(name, 5) is None:
        with threads_for(A):
            return int(getattr(scipy.linalg.lapack, name)(A, lower=True, overwrite_c=True)[1])
    return _overwritten(name, A)


def _overwritten(name: str, A: NDArray[Any], *more: NDArray[Any]) -> int:
    """Return what a C routine says that overwrites the lower triangle of A, and more arrays."""
    info = np.zeros(1, np.intc)

    def run() -> int:
        _call(name, "L", len(A), A, max(len(A), 1), *more, info)
        return int(info[0])

    return _unseen(A, run)


def _unseen(A: NDArray[Any], work: Callable[[], int]) -> int:
    """Return what comes of work on a matrix, which of a large one goes on unseen if broken off."""
    if len(A) >= 2 * SMALL:
        return left_behind(work)
    with threads_for(A):
        return work()


def eigh(A: Array, lower: bool = True, most: int | None = None) -> tuple[Array, Array]:
    """Return ascending eigenvalues and eigenvectors of a symmetric matrix, or its largest `most`.

    The clock and Ctrl-C are answered at once; LAPACK then goes on unseen to its end.

    Parameters
    ----------
    A : array of shape (n, n)
        Symmetric, counted along columns; overwritten.
    lower : bool
        The triangle that is read; the other one has to be there as well for `most`.
    most : int, optional
        How many eigenvalues; all by default.
    """
    if most is None or most >= len(A):
        return _all_eigen(A, lower)
    diagonal = A.diagonal().copy()
    s, V = _some_eigen(A, lower, most)
    if len(s) == most:
        return s, V
    # Of eigenvalues that are all equal LAPACK finds none. The other triangle was left alone.
    np.fill_diagonal(A, diagonal)
    s, V = _all_eigen(A, not lower)
    return s[-most:], V[:, -most:]


def _all_eigen(A: Array, lower: bool) -> tuple[Array, Array]:
    if _is_ours(A):
        return left_behind(lambda: _evd(A, lower))
    s, V = scipy.linalg.eigh(A, lower=lower, overwrite_a=True, check_finite=False, driver="evd")
    return np.asarray(s), np.asarray(V)


def _some_eigen(A: Array, lower: bool, most: int) -> tuple[Array, Array]:
    """Return the largest eigenvalues and their vectors, or fewer, of one triangle of A."""
    if _is_ours(A):
        return left_behind(lambda: _evr(A, lower, most))
    some = (len(A) - most, len(A) - 1)
    s, V = scipy.linalg.eigh(
        A, lower=lower, overwrite_a=True, check_finite=False, driver="evr", subset_by_index=some
    )
    return np.asarray(s), np.asarray(V)


def _is_ours(A: Array) -> bool:
    """Whether eigenvalues take long enough to be left behind, and LAPACK can be called for them."""
    n = len(A)
    work = 2 * n * n + 6 * n + 1
    is_free = n >= SMALL and work < 2**31 and A.flags.f_contiguous
    return is_free and _routine("dsyevd", 11) is not None


def _evd(A: Array, lower: bool) -> tuple[Array, Array]:
    n = len(A)
    s, info = np.empty(n), np.zeros(1, np.intc)
    work, whole = np.empty(2 * n * n + 6 * n + 1), np.empty(5 * n + 3, np.intc)
    uplo = "L" if lower else "U"
    _call("dsyevd", "V", uplo, n, A, n, s, work, len(work), whole, len(whole), info)
    if info[0]:
        raise np.linalg.LinAlgError("the eigenvalues did not converge")
    return s, A


def _evr(A: Array, lower: bool, most: int) -> tuple[Array, Array]:
    n = len(A)
    s, V = np.empty(n), np.empty((n, most), order="F")
    info, found = np.zeros(1, np.intc), np.zeros(1, np.intc)
    work, whole, which = np.empty(32 * n), np.empty(10 * n, np.intc), np.empty(2 * n, np.intc)
    nothing = np.zeros(1)
    _call(
        "dsyevr",
        "V",
        "I",
        "L" if lower else "U",
        n,
        A,
        n,
        nothing,
        nothing,
        n - most + 1,
        n,
        nothing,
        found,
        s,
        V,
        n,
        which,
        work,
        len(work),
        whole,
        len(whole),
        info,
    )
    if info[0]:
        raise np.linalg.LinAlgError("the eigenvalues did not converge")
    return s[: found[0]], V[:, : found[0]]


def svd(A: Array) -> tuple[Array, Array, Array]:
    """Return U, s and V' of A = U diag(s) V', with as many columns of U as A has, or rows.

    The clock and Ctrl-C are answered at once; LAPACK then goes on unseen to its end.
    """
    if min(A.shape) < SMALL // 4:
        return scipy.linalg.svd(A, full_matrices=False, overwrite_a=True, check_finite=False)
    # NumPy calls LAPACK without the GIL.
    U, s, Vt = left_behind(lambda: np.linalg.svd(A, full_matrices=False))
    return U, s, Vt
