"""The Nystrom method: features of rows by their similarity to a few landmarks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy.linalg.blas import dgemm, dtrsm, dtrsv, strsm, strsv

from mercer.data.blocks import CACHE, row_blocks
from mercer.data.checks import fits_single
from mercer.data.columns import n_rows, take_rows
from mercer.data.distinct import distinct_sample
from mercer.errors import KernelOverflowError
from mercer.features.map import FeatureMap
from mercer.kernels import Kernel
from mercer.native.lapack import cholesky, pivoted_cholesky
from mercer.native.threads import in_threads
from mercer.tiles import evaluate

Array = NDArray[np.float64]

# The least pivot beside the largest with which a factor without pivoting, in half the time, has as
# many digits: errors of features are those of entries, divided by its root.
PIVOT = 1e-8
# What is nothing beside 1, in units of rounding: its square is far above subnormal numbers.
NOTHING = 1e-6
# Rows that tell whether entries in float32 are right.
TRIED = 64


@dataclass(frozen=True, eq=False)
class LandmarkMap(FeatureMap):
    """phi(x) = L^-1 k(Z, x) with L L' = k(Z, Z) for landmarks Z.

    So phi(x)'phi(z) = k(x, Z) k(Z, Z)^-1 k(Z, z), the inner product of the projections of k(x, .)
    and k(z, .) on the span of the landmarks. It is exact at these, and elsewhere
    k(x, x) - ||phi(x)||^2 >= 0 is what is lost. Rows that are chosen as landmarks are rounded to
    float32 where the kernel does not tell the difference.

    Parameters
    ----------
    kernel : Kernel
        k, with numbers for parameters.
    rows : rows
        Z, of which k(Z, Z) is invertible; `landmark_map` leaves out what is not.
    factor : array of shape (m, m)
        L, lower triangular.

    References
    ----------
    C. Williams and M. Seeger (2001), Using the Nystrom method to speed up kernel machines.
    """

    kernel: Kernel
    rows: Any
    factor: Array

    @property
    def n_features(self) -> int:
        return len(self.factor)

    @property
    def is_exact(self) -> bool:
        return False

    @cached_property
    def core(self) -> Array:
        """k(Z, Z) = L L'."""
        return np.asarray(self.factor @ self.factor.T)

    @property
    def diagonal(self) -> Array:
        """k(z, z) at the landmarks."""
        return np.asarray(np.einsum("ij,ij->i", self.factor, self.factor))

    def entries(self, X: Any, dtype: Any = np.float64) -> Array:
        """Return k(X, Z), of shape (n, m), computed in float64."""
        return evaluate(self.kernel.program, X, self.rows).astype(dtype, copy=False)

    def of_block(self, X: Any, dtype: Any = np.float64) -> Array:
        return self.features_of(self.entries(X, dtype))

    def features_of(self, K: NDArray[Any]) -> Array:
        """Return `whitened` entries, without those that are nothing beside k(z, z)."""
        clear(K, self.least_root**2)
        return self.whitened(K)

    def whitened(self, K: NDArray[Any]) -> Array:
        """Return K L^-T for rows K = k(X, Z), in the precision of K; K itself is overwritten."""
        L = self._single if K.dtype == np.float32 else self.factor
        if len(K) == 1:
            # BLAS has a faster routine for one row.
            trsv = strsv if K.dtype == np.float32 else dtrsv
            return np.asarray(trsv(L, K[0], lower=1, overwrite_x=1))[None]
        # BLAS counts along columns: it finds the transpose, and solves L F' = K'.
        trsm = strsm if K.dtype == np.float32 else dtrsm
        return np.asarray(trsm(1.0, L, K.T, lower=1, overwrite_b=1).T)

    @property
    def single_error(self) -> float:
        """About how far features in float32 are off, beside the root of the largest k(z, z).

        An entry of K is off by a unit of rounding, and L^-1 makes that larger by 1 / L_jj.
        """
        pivots = np.abs(self.factor.diagonal())
        return float(np.finfo(np.float32).eps * pivots.max() / pivots.min())

    @property
    def is_in_single(self) -> bool:
        """Whether entries, and sums of some, are far from both ends of the numbers of float32."""
        least, most = 1e-30, 1e30
        return bool(least < self.diagonal.max() < most)

    @cached_property
    def _single(self) -> NDArray[np.float32]:
        L = np.array(self.factor, np.float32, order="F")
        clear(L.T, self.least_root)
        return L

    @cached_property
    def least_root(self) -> float:
        """The least root of k(z, z) at the landmarks."""
        return float(np.sqrt(self.diagonal.min()))

    def coefficients(self, theta: Array) -> Array:
        """Return a with theta'phi(x) = sum_j a_j k(z_j, x): L' a = theta."""
        if theta.size == len(theta):
            a = dtrsv(self.factor, theta.reshape(-1), lower=1, trans=1)
            return np.asarray(a.reshape(theta.shape))
        columns = np.array(theta.reshape(len(theta), -1), np.float64, order="F")
        a = dtrsm(1.0, self.factor, columns, lower=1, trans_a=1, overwrite_b=1)
        return np.asarray(a.reshape(theta.shape))


def landmark_map(kernel: Kernel, rows: Any) -> tuple[LandmarkMap, NDArray[np.intp]]:
    """Return the features of landmarks, and which of the rows given these are.

    Landmarks that others make superfluous to rounding, such as copies, are left out.

    Parameters
    ----------
    kernel : Kernel
        k, with numbers for parameters.
    rows : rows
        The landmarks.
    """
    found = factored_landmark_map(kernel, rows)
    if found is not None:
        pivots = found[0].factor.diagonal() ** 2
        if pivots.min() > PIVOT * pivots.max():
            return found
    return pivoted_landmark_map(kernel, rows)


def factored_landmark_map(kernel: Kernel, rows: Any) -> tuple[LandmarkMap, NDArray[np.intp]] | None:
    """Return the features of all landmarks but copies, or None where some depend on others.

    Dependent or not is told by a Cholesky factor without pivots, which may be of few digits where
    it succeeds. The parameters are those of `landmark_map`.
    """
    first = np.sort(distinct_sample(rows, n_rows(rows)))
    given = rows if len(first) == n_rows(rows) else take_rows(rows, first)
    K = _core(kernel, given)
    if cholesky(K, lower=True):
        return None
    # Columns that are cleared above the diagonal at a time.
    some = 512
    for start in range(0, len(K), some):
        columns = slice(start, start + some)
        K[:start, columns] = 0.0
        K[columns, columns] = np.tril(K[columns, columns])
    return LandmarkMap(kernel, given, K), first


def pivoted_landmark_map(kernel: Kernel, rows: Any) -> tuple[LandmarkMap, NDArray[np.intp]]:
    """Return the features of landmarks in descending order of what they add to those before.

    A Cholesky factor with pivots takes the one that is worst represented next, until rounding is
    all that is left. The parameters are those of `landmark_map`.
    """
    K = _core(kernel, rows)
    # A pivot of so many units of rounding of the largest diagonal entry, for every row, is zero.
    units = 4.0
    least = units * len(K) * float(np.finfo(np.float64).eps) * float(K.diagonal().max())
    taken = pivoted_cholesky(K, least)
    L = np.asfortranarray(np.tril(K[: len(taken), : len(taken)]))
    return LandmarkMap(kernel, take_rows(rows, taken), L), taken


def clear(A: NDArray[Any], size: float) -> None:
    """Put zeros in the place of numbers that are nothing beside this size, and of subnormal ones.

    Where a kernel decays it leaves such numbers by the thousand, of which products are subnormal:
    these take a processor a hundred times as long as others.
    """
    limits = np.finfo(A.dtype)
    bound = A.dtype.type(max(NOTHING * float(limits.eps) * size, float(limits.tiny)))

    def run(rows: slice) -> None:
        for some in row_blocks(A[rows].shape, CACHE):
            part = A[rows][some]
            np.copyto(part, A.dtype.type(0.0), where=np.abs(part) < bound)

    in_threads(run, list(row_blocks(A.shape)))


def held_by_single(kernel: Kernel, Z: Any) -> Any:
    """Return landmarks that float32 holds, where the kernel does not tell the difference, or Z.

    Entries in float32 are then those of the same landmarks, and each is off by itself. Landmarks
    that were rounded for these entries alone would be off for all rows alike, which no sum makes
    smaller and small pivots make larger.
    """
    if not is_right_in_single(kernel, take_rows(Z, slice(0, TRIED)), Z):
        return Z
    rounded = Z.astype(np.float32).astype(np.float64)
    # Each is compared with itself, where kernels of equality and short ones differ most.
    for first in range(0, n_rows(Z), TRIED):
        exact, single = (take_rows(rows, slice(first, first + TRIED)) for rows in (Z, rounded))
        if not _agree(kernel, (exact, single), (exact, exact)):
            return Z
    return rounded


def is_right_in_single(kernel: Kernel, some: Any, Z: Any) -> bool:
    """Whether entries between rows and landmarks are right if both are rounded to float32."""
    if not all(getattr(rows, "dtype", None) == np.float64 for rows in (some, Z)):
        return False
    if not (fits_single(some) and fits_single(Z)):
        return False
    with np.errstate(over="ignore", invalid="ignore"):
        return _agree(kernel, (some.astype(np.float32), Z.astype(np.float32)), (some, Z))


def _agree(kernel: Kernel, rounded: tuple[Any, Any], exact: tuple[Any, Any]) -> bool:
    """Whether entries of rounded rows are those of exact ones, beside the largest."""
    # The error up to which they are taken.
    taken = 1e-5
    K = evaluate(kernel.program, *exact)
    off = np.abs(evaluate(kernel.program, *rounded) - K)
    return bool(off.max() <= taken * np.abs(K).max())


def factor_without(L: Array, index: NDArray[np.intp]) -> Array:
    """Return the factor of landmarks but some, in far less time than from their rows.

    With the rows A and B of L for the others, its columns cut at these and at those left out,
    k(Z, Z) = A A' + B B' of the others. Reflections Q from the right, [A B] Q = [L 0], some
    columns at a time, leave the new factor: a few m^2 multiplications for every landmark left out.

    Parameters
    ----------
    L : array of shape (m, m)
        The factor of all, counted along columns, of a caller who needs it no more: its memory
        becomes that of the new one.
    index : array of shape (r,)
        Which landmarks are left out, by their positions, in ascending order.

    References
    ----------
    P. Gill, G. Golub, W. Murray and M. Saunders (1974), Methods for modifying matrix
    factorizations.
    """
    kept = np.delete(np.arange(len(L)), index)
    B = np.asfortranarray(L[:, index][kept])
    # Memory that is not yet in use takes longer to be had than all of this: columns move to the
    # front, where none is overwritten before it is read.
    flat, k = L.reshape(-1, order="F"), len(kept)
    for j, column in enumerate(kept):
        flat[j * k + j : (j + 1) * k] = L[kept[j:], column]
        flat[j * k : j * k + j] = 0.0
    fewer = flat[: k * k].reshape((k, k), order="F")
    # Columns that are turned together: as many as are left out take the fewest multiplications,
    # and very few are turned slowly.
    some = max(32, len(index))
    for start in range(int(index[0]), k, some):
        columns, p = slice(start, start + some), min(some, k - start)
        both = np.empty((k - start, p + len(index)), order="F")
        both[:, :p], both[:, p:] = fewer[start:, columns], B[start:]
        Q, R = scipy.linalg.qr(both[:p].T)
        # Cholesky factors have a positive diagonal.
        Q[:, :p] *= np.where(R.diagonal() < 0.0, -1.0, 1.0)
        turned = dgemm(1.0, both, Q)
        fewer[start:, columns], B[start:] = turned[:, :p], turned[:, p:]
        fewer[columns, columns] = np.tril(fewer[columns, columns])
    return fewer


def _core(kernel: Kernel, rows: Any) -> Array:
    """Return k(Z, Z) to be overwritten, counted along columns, which it is symmetric for."""
    K = np.asarray(evaluate(kernel.program, rows), np.float64).T
    if not np.isfinite(K.diagonal()).all():
        raise KernelOverflowError(
            f"k(z, z) overflows at landmarks by {kernel!r:.100}; scale the columns"
        )
    if not K.diagonal().any():
        raise ValueError(
            f"k(z, z) is zero at all landmarks by {kernel!r:.100}; choose others, or another kernel"
        )
    clear(K.T, float(K.diagonal().min()))
    return K
