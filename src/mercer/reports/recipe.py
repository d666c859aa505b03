"""What makes a fitted model again on the same rows: its kernels and their penalties."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mercer.estimators import KernelRidgeMean
from mercer.kernels import Kernel, Scaled, Sum
from mercer.kernels.language.editable import editable


@dataclass(frozen=True)
class Part:
    """A kernel with its penalty, all of a model or one of the fits that a mean is of.

    Parameters
    ----------
    kernel : Kernel
        k, without the numbers that a fit takes from the rows.
    penalties : dict
        alpha, or C, or C and epsilon, by name.
    exact : Kernel
        k, with these numbers and all digits.
    share : float, optional
        The weight of the fit in a mean.
    """

    kernel: Kernel
    penalties: dict[str, float]
    exact: Kernel
    share: float | None = None


def recipe_of(model: Any, digits: int | None = 4) -> tuple[Part, ...]:
    """Return what a fitted model is made of, with so many digits, or all.

    Parameters
    ----------
    model : estimator
        A fitted kernel machine that chose nothing by itself.
    digits : int, optional
        Significant digits; all of them where it is None.
    """
    mean = getattr(model, "estimator_", model)
    if not isinstance(mean, KernelRidgeMean):
        return (_part(model, None, digits),)
    parts = zip(mean.estimators_, mean.function_.weights, strict=True)
    return tuple(_part(fit, float(share), digits) for fit, share in parts)


def _part(model: Any, share: float | None, digits: int | None) -> Part:
    kernel, factor = _in_plain_units(model.kernel_)
    # f is the same for c k with alpha and k with alpha / c, or c C.
    found = {"alpha": 1.0 / factor, "C": factor, "epsilon": 1.0}
    penalties = {
        name: _rounded(float(getattr(model, name)) * unit, digits)
        for name, unit in found.items()
        if isinstance(getattr(model, name, None), int | float)
    }
    weight = None if share is None else _rounded(share, digits)
    return Part(editable(kernel, digits), penalties, kernel, weight)


def _in_plain_units(kernel: Kernel) -> tuple[Kernel, float]:
    """Return a kernel and the factor taken out of it, 1 unless its weights are hard to read."""
    terms = kernel.terms if isinstance(kernel, Sum) else (kernel,)
    weights = [term.factor if isinstance(term, Scaled) else 1.0 for term in terms]
    unit = sum(weights)
    # Weights that are read as they stand.
    if unit == 0.0 or 1e-3 <= unit <= 1e3:
        return kernel, 1.0
    inner = [term.kernel if isinstance(term, Scaled) else term for term in terms]
    scaled = [w / unit * k for w, k in zip(weights, inner, strict=True)]
    return (Sum(tuple(scaled)) if len(scaled) > 1 else inner[0]), unit


def _rounded(value: float, digits: int | None) -> float:
    return value if digits is None else float(f"{value:.{digits}g}")
