"""Why a candidate of a search cannot be fitted."""

from __future__ import annotations

from typing import Any

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
