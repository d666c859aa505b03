"""The contract of a kernel, as a test that users can run on their own."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer.data.columns import n_rows, take_rows
from mercer.kernels.kernel import Kernel
from mercer.kernels.validity.designs import demands_of
from mercer.tiles import apply

Array = NDArray[Any]

# Rounding allowed beside the largest entry, by the precision of the matrix.
TOLERANCE = {np.dtype(np.float64): 1e-10, np.dtype(np.float32): 1e-5}


def check_kernel(k: Kernel, X: Any, Z: Any) -> None:
    """Check that a kernel keeps its contract on the rows `X` and `Z`.

    The claims: shapes and dtypes, symmetry, the diagonal, blocks that agree with the whole,
    products that agree with the matrix, feature-space distances, positive semi-definiteness if
    the kernel claims a proof, explicit features if it has any, and the manners of a value
    (equality, hash, pickle, parameters, untouched input).

    Parameters
    ----------
    k : Kernel
        The kernel to check.
    X, Z : rows
        Two different sets of at least two rows each, in any form the kernel takes.

    Raises
    ------
    AssertionError
        If a claim is violated; the message names the claim.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Gaussian
    >>> from mercer.testing import check_kernel
    >>> rng = np.random.default_rng(0)
    >>> check_kernel(Gaussian(), rng.normal(size=(9, 3)), rng.normal(size=(7, 3)))
    """
    if n_rows(X) < 2 or n_rows(Z) < 2:
        raise ValueError(
            f"check_kernel needs at least two rows on both sides, got {n_rows(X)} and {n_rows(Z)}"
        )
    # Numbers that follow from data are settled first, or every block would have its own.
    settled = k.resolved(X)
    copied = take_rows(X, np.arange(n_rows(X)))
    case = Case(settled, X, Z, settled(X, copied), settled(X, Z))
    for check in (*VALUE_CHECKS, *MATRIX_CHECKS):
        check(case)


@dataclass(frozen=True, eq=False)
class Case:
    """A kernel, rows for both sides, and its matrices K = k(X, copy of X) and B = k(X, Z)."""

    k: Kernel
    X: Any
    Z: Any
    K: Array
    B: Array

    def claim(self, text: str, holds: bool) -> None:
        """Raise an AssertionError that names the claim unless it holds."""
        if not holds:
            raise AssertionError(f"{self.k!r} breaks its contract: {text}")

    @property
    def scale(self) -> float:
        """The size of the entries, to which rounding is relative."""
        return float(max(np.abs(self.K).max(), np.abs(self.B).max(), np.finfo(float).tiny))

    @property
    def rounding(self) -> float:
        """The difference between entries that counts as rounding."""
        return TOLERANCE[self.B.dtype] * self.scale

    def near(self, a: Array, b: Array, steps: int = 1) -> bool:
        """Whether two blocks agree but for the rounding of some steps."""
        if a.shape != b.shape:
            return False
        return bool(np.abs(a - b).max(initial=0.0) <= steps * self.rounding)


def _equality(case: Case) -> None:
    twin = copy.deepcopy(case.k)
    case.claim("a copy equals the kernel", twin == case.k)
    case.claim("equal kernels have the same hash", hash(twin) == hash(case.k))
    stranger: object = str(case.k)
    case.claim("a kernel differs from what is not a kernel", case.k != stranger)


def _pickling(case: Case) -> None:
    if all(_pickles(v) for v in case.k.get_params().values() if not isinstance(v, Kernel)):
        case.claim(
            "a pickled kernel comes back equal", pickle.loads(pickle.dumps(case.k)) == case.k
        )


def _pickles(value: Any) -> bool:
    """Whether a parameter can be pickled at all; a local function cannot."""
    try:
        pickle.dumps(value)
    except (pickle.PicklingError, AttributeError, TypeError):
        return False
    return True


def _parameters(case: Case) -> None:
    shallow = case.k.get_params(deep=False)
    case.claim(
        "with_params(**get_params(deep=False)) is the kernel",
        case.k.with_params(**shallow) == case.k,
    )
    for name, value in case.k.get_params().items():
        case.claim(
            f"with_params({name}=...) takes back what get_params gave",
            case.k.with_params(**{name: value}) == case.k,
        )


def _spelling(case: Case) -> None:
    case.claim("str(k) is a line of text", bool(str(case.k)) and "\n" not in str(case.k))


def _shapes(case: Case) -> None:
    n, m = n_rows(case.X), n_rows(case.Z)
    case.claim(f"k(X) has shape ({n}, {n}), got {case.K.shape}", case.K.shape == (n, n))
    case.claim(f"k(X, Z) has shape ({n}, {m}), got {case.B.shape}", case.B.shape == (n, m))
    case.claim(f"k(X, Z) holds floats, got {case.B.dtype}", case.B.dtype in TOLERANCE)
    case.claim("k(X) is finite", bool(np.isfinite(case.K).all()))
    case.claim("k(X, Z) is finite", bool(np.isfinite(case.B).all()))
    diagonal = case.k.diagonal(case.X)
    case.claim(f"k.diagonal(X) has shape ({n},), got {diagonal.shape}", diagonal.shape == (n,))


def _dtypes(case: Case) -> None:
    if not (_numeric(case.X) and _numeric(case.Z)):
        return
    X, Z = case.X.astype(np.float64), case.Z.astype(np.float64)
    case.claim("float64 in, float64 out", case.k(X, Z).dtype == np.float64)
    single = case.k(X.astype(np.float32), Z.astype(np.float32))
    # What a user's function returns is taken as it is.
    kept = single.dtype == np.float32 or demands_of(case.k).has_functions
    case.claim(f"float32 in, float32 out, got {single.dtype}", kept)
    diagonal = case.k.diagonal(X.astype(np.float32)).dtype
    case.claim(f"k.diagonal(X) has the dtype of k(X), got {diagonal}", diagonal == single.dtype)
    mixed = case.k(X, Z.astype(np.float32)).dtype
    case.claim(f"float32 on one side only gives float64, got {mixed}", mixed == np.float64)


def _numeric(X: Any) -> bool:
    return (isinstance(X, np.ndarray) or sp.issparse(X)) and X.dtype.kind in "fiub"


def _symmetry(case: Case) -> None:
    # Both halves of K were computed; an engine that mirrors one would hide a difference.
    case.claim("k(x, z) equals k(z, x)", case.near(case.K, case.K.T))
    case.claim("k(X) equals k(X, copy of X)", case.near(case.k(case.X), case.K))
    case.claim("k(X, Z) is the transpose of k(Z, X)", case.near(case.B, case.k(case.Z, case.X).T))


def _diagonal(case: Case) -> None:
    diagonal = case.k.diagonal(case.X)
    case.claim("k.diagonal(X) is the diagonal of k(X)", case.near(diagonal, np.diagonal(case.K)))


def _blocks(case: Case) -> None:
    rows, columns = np.array([1, 0]), np.array([n_rows(case.Z) - 1])
    block = case.k(take_rows(case.X, rows), take_rows(case.Z, columns))
    case.claim(
        "a block equals the part of the whole matrix",
        case.near(block, case.B[np.ix_(rows, columns)]),
    )
    half = n_rows(case.X) // 2
    top, bottom = take_rows(case.X, slice(0, half)), take_rows(case.X, slice(half, None))
    stacked = np.vstack([case.k(top, case.Z), case.k(bottom, case.Z)])
    case.claim(
        "halves of X, one after the other, give the whole matrix", case.near(stacked, case.B)
    )


def _zero_rows(case: Case) -> None:
    nothing = take_rows(case.X, slice(0, 0))
    m = n_rows(case.Z)
    case.claim("no rows give a (0, 0) matrix", case.k(nothing).shape == (0, 0))
    case.claim(f"no rows against Z give a (0, {m}) matrix", case.k(nothing, case.Z).shape == (0, m))
    case.claim(
        f"Z against no rows gives a ({m}, 0) matrix", case.k(case.Z, nothing).shape == (m, 0)
    )
    case.claim("no rows have an empty diagonal", case.k.diagonal(nothing).shape == (0,))


def _untouched(case: Case) -> None:
    if not isinstance(case.X, np.ndarray):
        return
    rows = case.X.copy()
    case.k(rows)
    # Byte by byte, since a missing number differs from itself.
    case.claim("the rows are left as they were", rows.tobytes() == case.X.tobytes())
    rows.flags.writeable = False
    case.claim("read-only rows give the same matrix", case.near(case.k(rows), case.K))


def _products(case: Case) -> None:
    program = case.k.program
    rng = np.random.default_rng(0)
    V = rng.standard_normal((n_rows(case.Z), 3))
    case.claim(
        "apply(k, X, Z, V) equals k(X, Z) @ V",
        case.near(apply(program, case.X, case.Z, V), case.B @ V, len(V)),
    )
    v = rng.standard_normal(n_rows(case.X))
    case.claim(
        "apply(k, X, None, v) equals k(X) @ v",
        case.near(apply(program, case.X, None, v), case.K @ v, len(v)),
    )


def _distances(case: Case) -> None:
    D, E = case.k.distance(case.X), case.k.distance(case.X, case.Z)
    case.claim(
        "feature-space distances are finite and not negative",
        bool(np.isfinite(D).all() and np.isfinite(E).all() and (D >= 0).all() and (E >= 0).all()),
    )
    case.claim("a row has feature-space distance 0 from itself", not np.diagonal(D).any())
    case.claim("feature-space distances are symmetric", case.near(D**2, D.T**2, steps=10))
    squared = case.k.diagonal(case.X)[:, None] - 2.0 * case.B + case.k.diagonal(case.Z)[None, :]
    case.claim(
        "distance(X, Z)^2 is k(x, x) - 2 k(x, z) + k(z, z), or 0",
        case.near(E**2, np.maximum(squared, 0.0), steps=10),
    )
    if case.k.proof() is not None:
        # Through every z: |D_xy| <= E_xz + E_yz, with the root of rounding allowed.
        slack = 3.0 * np.sqrt(case.rounding)
        detour = (E[:, None, :] + E[None, :, :]).min(axis=2)
        case.claim(
            "feature-space distances keep the triangle inequality",
            bool((detour + slack >= D).all()),
        )


def _positive(case: Case) -> None:
    if case.k.proof() is None:
        return
    K = case.K.astype(np.float64)
    rounding = len(K) * case.rounding
    lowest = float(np.linalg.eigvalsh(0.5 * (K + K.T))[0])
    case.claim(
        f"k(X) is positive semi-definite, as its proof says, got the eigenvalue {lowest:.3g}",
        lowest >= -rounding,
    )
    bound = np.sqrt(np.maximum(case.k.diagonal(case.X)[:, None] * case.k.diagonal(case.Z), 0.0))
    case.claim(
        "k(x, z)^2 <= k(x, x) k(z, z), as its proof says",
        bool((np.abs(case.B) <= bound + rounding).all()),
    )


def _features(case: Case) -> None:
    count = case.k.n_features(case.X)
    # Explicit features that are not computed for a check.
    many = 2000
    if count is None or count > many:
        return
    F, G = case.k.features(case.X), case.k.features(case.Z, of=case.X)
    case.claim("n_features(X) is the number of columns of features(X)", F.shape[1] == count)
    products: Any = F @ G.T
    block = products.toarray() if sp.issparse(products) else products
    case.claim("inner products of features are k(x, z)", case.near(block, case.B, steps=10))


Check = Callable[[Case], None]
VALUE_CHECKS: tuple[Check, ...] = (_equality, _pickling, _parameters, _spelling)
MATRIX_CHECKS: tuple[Check, ...] = (
    _shapes,
    _symmetry,
    _dtypes,
    _diagonal,
    _blocks,
    _zero_rows,
    _untouched,
    _products,
    _distances,
    _positive,
    _features,
)
