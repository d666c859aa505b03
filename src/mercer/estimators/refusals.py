"""The refusal of an indefinite kernel, the same words and witness for every estimator."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.data.stream import some_rows
from mercer.errors import IndefiniteKernelError
from mercer.estimators.validation import training_subset
from mercer.gram import Gram, unheld_gram_of
from mercer.kernels import Kernel, Witness
from mercer.solvers import refuse_indefinite
from mercer.solvers.definite import PRODUCTS

# What an estimator that has repair= says beside another kernel, and what the others say.
REPAIR = "repair='clip', 'flip' or 'shift'"
ELSEWHERE = "repair= of an estimator that has it, such as KernelRidge"
# What a model of a stream says where all training rows would be needed.
STREAMED = (
    "a model that learnt block by block keeps no training rows to work out held-out predictions, "
    "intervals and deviations from; use fit, of rows in memory or with solver='nystrom'"
)
# What a model of a few rows says there, for the time was up before it was one of all.
OF_FEW_ROWS = (
    "the time was up before the fit to all rows, and the model is that of a few of them, of which "
    "no held-out predictions, intervals and deviations are known; raise time_limit"
)


def refuse_indefinite_kernel(
    kernel: Kernel,
    rows: Any,
    gram: Gram,
    on_sum_zero: bool = False,
    products: int = PRODUCTS,
    remedy: str = ELSEWHERE,
) -> None:
    """Refuse a kernel whose Gram matrix is found to be indefinite, with the rows that show it.

    A kernel that is proved to be positive semi-definite is not looked at. What is found depends on
    the Gram matrix alone, not on the estimator, its solver or its penalty.

    Parameters
    ----------
    kernel : Kernel
        k.
    rows : rows
        The training rows.
    gram : Gram
        Their Gram matrix.
    on_sum_zero : bool
        Whether only coefficients of sum zero count.
    products : int
        Products with a large Gram matrix; none where the fit itself does not read it all.
    remedy : str
        What to do beside using another kernel.
    """
    try:
        refuse_indefinite(gram, on_sum_zero, products)
    except IndefiniteKernelError as error:
        raise with_points(error, kernel, rows, remedy) from None


def refuse_by_landmarks(kernel: Kernel, rows: Any, memory: Any) -> None:
    """Refuse a kernel without a proof that some of the rows show to be indefinite.

    A model by landmarks does not read the whole Gram matrix, and neither does this.
    """
    if not kernel.is_proved:
        rows = some_rows(rows)
        gram = unheld_gram_of(kernel, rows, memory)
        refuse_indefinite_kernel(kernel, rows, gram, kernel.is_conditional, products=0)


def refuse_unproved(kernel: Kernel, rows: Any, gram: Gram, on_sum_zero: bool = False) -> None:
    """Refuse an indefinite kernel in an estimator that could repair it.

    The parameters are those of `refuse_indefinite_kernel`.
    """
    if gram.landmarks is not None:
        refuse_by_landmarks(kernel, rows, gram.memory)
    else:
        refuse_indefinite_kernel(kernel, rows, gram, on_sum_zero, remedy=REPAIR)


def with_points(
    error: IndefiniteKernelError, kernel: Kernel, X: Any, remedy: str = ELSEWHERE
) -> IndefiniteKernelError:
    """Return a solver's refusal with the rows that its coefficients belong to."""
    form = error.witness
    used = np.flatnonzero(form.coefficients)
    points = training_subset(kernel, X, used)
    witness = Witness(points, form.coefficients[used], form.value, form.rounding_bound)
    return IndefiniteKernelError(
        f"{kernel!r} is not positive semi-definite: c'Kc = {form.value:.3g} on {len(used)} of the "
        f"training rows, beyond rounding ({form.rounding_bound:.1g}); use another kernel, or "
        f"{remedy} (the rows and c are in error.witness)",
        witness,
    )
