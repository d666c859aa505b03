"""A fitted function as weights of explicit features."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mercer.data.blocks import row_blocks
from mercer.data.columns import n_rows, take_rows
from mercer.functions.dual import DualFunction
from mercer.functions.function import Array, Function
from mercer.gram import features_at, sparse_weights
from mercer.kernels import Kernel


@dataclass(frozen=True, eq=False)
class PrimalFunction(Function):
    """f(x) = c'phi(x) + b, with phi(x)'phi(z) = k(x, z): a value takes as long as to read the row.

    Parameters
    ----------
    kernel : Kernel
        k, whose feature map is phi.
    columns : array of shape (p,) or None
        Which features c belongs to, in ascending order, where phi has a column for all that might
        occur, such as every k-gram; the others have the weight zero. None is all of them.
    coefficients : array of shape (p, targets)
        c.
    intercept : array of shape (targets,)
        b.
    dual : DualFunction, optional
        The same function as a sum over training rows.
    """

    form: ClassVar[str] = "primal"
    # Of sparse features, some thousand each.
    rows_at_a_time: ClassVar[int] = 1 << 12

    kernel: Kernel
    columns: NDArray[np.int64] | None
    coefficients: Array
    intercept: Array
    dual: DualFunction | None = None

    def blocks(self, X: Any) -> Iterator[tuple[slice, Array]]:
        n, phi = n_rows(X), self.kernel.feature_map
        if phi is not None and self.columns is None:
            yield slice(0, n), phi.product(X, self.coefficients) + self.intercept
            return
        for rows in row_blocks((n, 1), self.rows_at_a_time):
            F = features_at(self.kernel, take_rows(X, rows), self.columns)
            yield rows, np.asarray(F @ self.coefficients) + self.intercept


def in_features(dual: DualFunction, memory: Any = None) -> Function:
    """Return a function by the weights of its features, where new rows are sooner read so.

    That is so for k-grams, of which only those that occur in the training rows count.

    Parameters
    ----------
    dual : DualFunction
        The function by training rows.
    memory : int or str, optional
        The limit for the features of these.
    """
    if len(dual.coefficients) == 0 or dual.kernel.feature_map is None:
        return dual
    found = sparse_weights(dual.kernel, dual.rows, dual.by_target, memory)
    return dual if found is None else PrimalFunction(dual.kernel, *found, dual.intercept, dual)


def weights_of(f: Function) -> Array | None:
    """Return the weights c of f(x) = c'phi(x) + b, of shape (p, targets), as nobody can change.

    None where the kernel has no finite features that are known, or too many.
    """
    if isinstance(f, PrimalFunction):
        return f.coefficients
    return f.feature_weights if isinstance(f, DualFunction) else None
