r"""Conversions between the penalties of mercer and the lambda of the literature.

Estimators take ``alpha`` (squared loss) or ``C`` (SVM, logistic):

.. math::

    \sum_i \ell_i + \alpha \|f\|^2, \qquad C \sum_i \ell_i + \tfrac12 \|f\|^2,

so that :math:`C = 1 / (2 \alpha)`. Books and notes write the same problems in one of these forms:

========  ===============================================  ========  ================
form      minimised                                        alpha     C
========  ===============================================  ========  ================
"sum"     sum of losses + lambda ``||f||^2``               lambda    1 / (2 lambda)
"mean"    mean of losses + lambda ``||f||^2``              n lambda  1 / (2 n lambda)
"half"    half the sum of losses + lambda/2 ``||f||^2``    lambda    1 / (2 lambda)
========  ===============================================  ========  ================

The coefficients of notes that solve ``a = y - K a / lambda`` are ``alpha * dual_coef_``.
"""

import math
from numbers import Integral, Real
from typing import Literal, TypeAlias

__all__ = ["C", "Form", "alpha", "lam"]

Form: TypeAlias = Literal["sum", "mean", "half"]


def alpha(lam: float, form: Form, n: int | None = None) -> float:
    """Convert lambda to the ridge ``alpha`` that mercer takes.

    Parameters
    ----------
    lam : float
        The lambda of the source, at least 0.
    form : {"sum", "mean", "half"}
        How the source writes the problem, see the table of this module.
    n : int, optional
        Number of training rows, needed for ``form="mean"``.

    Returns
    -------
    float
        The ridge.

    Examples
    --------
    >>> alpha(0.01, "mean", n=200)
    2.0
    """
    return _finite(_at_least_zero("lam", lam) * _rows_in_lambda(form, n), "alpha", lam)


def C(lam: float, form: Form, n: int | None = None) -> float:
    """Convert lambda to the weight ``C`` of the losses that mercer takes.

    Parameters
    ----------
    lam : float
        The lambda of the source, above 0.
    form : {"sum", "mean", "half"}
        How the source writes the problem, see the table of this module.
    n : int, optional
        Number of training rows, needed for ``form="mean"``.

    Returns
    -------
    float
        The weight of the losses.

    Examples
    --------
    >>> C(0.25, "sum")
    2.0
    """
    return _finite(0.5 / (_above_zero("lam", lam) * _rows_in_lambda(form, n)), "C", lam)


def lam(
    *, alpha: float | None = None, C: float | None = None, form: Form, n: int | None = None
) -> float:
    """Convert ``alpha`` or ``C`` back to the lambda of the literature.

    Parameters
    ----------
    alpha : float, optional
        The ridge, at least 0. Give either this or `C`.
    C : float, optional
        The weight of the losses, above 0.
    form : {"sum", "mean", "half"}
        How the literature writes the problem, see the table of this module.
    n : int, optional
        Number of training rows, needed for ``form="mean"``.

    Returns
    -------
    float
        The lambda.

    Examples
    --------
    >>> lam(C=2.0, form="sum")
    0.25
    """
    rows = _rows_in_lambda(form, n)
    if alpha is not None and C is None:
        return _at_least_zero("alpha", alpha) / rows
    if C is not None and alpha is None:
        return _finite(0.5 / (_above_zero("C", C) * rows), "lam", C)
    raise ValueError(f"Give exactly one of alpha and C; got alpha={alpha!r} and C={C!r}.")


def _rows_in_lambda(form: Form, n: int | None) -> int:
    """How many rows one unit of this lambda stands for: n for a mean of losses, else 1."""
    if form not in ("sum", "mean", "half"):
        raise ValueError(f"form must be 'sum', 'mean' or 'half'; got {form!r}.")
    if n is None:
        if form == "mean":
            raise ValueError("form='mean' divides by the number of rows; pass it as n.")
        return 1
    if isinstance(n, bool) or not isinstance(n, Integral) or n < 1:
        raise ValueError(f"n is the number of training rows, an integer of at least 1; got {n!r}.")
    return int(n) if form == "mean" else 1


def _at_least_zero(name: str, value: float) -> float:
    number = _number(name, value)
    if not 0.0 <= number < math.inf:
        raise ValueError(f"{name} must be finite and at least 0; got {value!r}.")
    return number


def _above_zero(name: str, value: float) -> float:
    number = _number(name, value)
    if not 0.0 < number < math.inf:
        raise ValueError(f"{name} must be finite and above 0; got {value!r}.")
    return number


def _number(name: str, value: float) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number; got {value!r} of type {type(value).__name__}.")
    return float(value)


def _finite(result: float, name: str, given: float) -> float:
    if math.isinf(result):
        raise ValueError(f"{name} overflows for the value {given!r}; use one closer to 1.")
    return result
