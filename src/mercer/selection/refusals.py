"""Why candidates of a search cannot be fitted, and what is said of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mercer.errors import ConvergenceWarning, warn_caller
from mercer.estimators import KernelRidge
from mercer.kernels import Kernel


def singular_reason(
    kernel: Kernel, alpha: float, rows: tuple[Any, ...], fit_intercept: bool, memory: int | None
) -> Exception:
    """Return why K + alpha W^-1 could not be inverted, as the exact solver words it.

    Parameters
    ----------
    kernel, alpha
        The candidate.
    rows : tuple of X, y and weights
        What it was tried on.
    fit_intercept : bool
        Whether there is an offset.
    memory : int, optional
        What a limit leaves, in bytes.
    """
    if kernel.is_conditional and not fit_intercept:
        return ValueError(
            f"{kernel!r} is positive semi-definite on coefficients of sum zero only, and "
            f"alpha = {alpha:g} does not outweigh it; choose with fit_intercept=True"
        )
    try:
        KernelRidge(kernel, alpha, fit_intercept=fit_intercept, memory=memory).fit(*rows)
    except ValueError as error:
        return error
    return ValueError(
        f"{kernel!r} with alpha = {alpha:g} is singular to working precision when rows are held "
        "out; raise the smallest of alphas"
    )


def warn_of_unusable(unusable: Mapping[tuple[Kernel, float], str], candidates: int) -> None:
    """Name the candidates that cannot be fitted, or refuse to choose where none can.

    Parameters
    ----------
    unusable : dict
        Why they cannot, by kernel and ridge; there is one at least.
    candidates : int
        How many there are in all.
    """
    (kernel, alpha), reason = next(iter(unusable.items()))
    if len(unusable) == candidates:
        raise ValueError(f"no candidate can be fitted, such as alpha = {alpha:g}: {reason}")
    more = len(unusable) - 1
    warn_caller(
        f"{kernel!r} with alpha = {alpha:g}{f' and {more} more candidates' if more else ''} "
        f"cannot be fitted, and the choice is among the others: {reason}",
        ConvergenceWarning,
    )
