"""A fitted kernel as a user would type it: to read, to edit and to give back."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from mercer.kernels.kernel import Kernel
from mercer.kernels.maps import InputMap, Standardize
from mercer.kernels.params import Parametric

# What maps take from the rows that they are fitted to, and would take again.
FROM_ROWS = ("mean", "scale", "indicators", "knots")


def editable(kernel: Kernel, digits: int | None = 4) -> Kernel:
    """Return a kernel without the numbers that a fit takes from the rows, the others rounded.

    Fitted to the same rows, it is the same kernel but for rounding.

    Parameters
    ----------
    kernel : Kernel
        A fitted one, whose maps hold means, scales and quantiles of columns.
    digits : int, optional
        Significant digits that are kept; all of them where it is None.
    """
    plain: Kernel = _plain(kernel, digits)
    return plain


def _plain(value: Any, digits: int | None) -> Any:
    if isinstance(value, Parametric):
        is_fitted = isinstance(value, InputMap) and not (
            isinstance(value, Standardize) and value.only_fills
        )
        parts = {f.name: getattr(value, f.name) for f in fields(value)}  # type: ignore[arg-type]
        own = {
            name: _default(value, name) if is_fitted and name in FROM_ROWS else _plain(part, digits)
            for name, part in parts.items()
        }
        return value.with_params(**{n: v for n, v in own.items() if v is not parts[n]})
    if isinstance(value, tuple):
        return tuple(_plain(part, digits) for part in value)
    if digits is None or not isinstance(value, float):
        return value
    return float(f"{value:.{digits}g}")


def _default(value: Any, name: str) -> Any:
    (field,) = (f for f in fields(value) if f.name == name)
    return field.default
