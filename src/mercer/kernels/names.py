"""The kernel that is meant by a name, an expression, a function, or a name of scikit-learn."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any

from mercer.kernels.custom import FromFunction, Precomputed
from mercer.kernels.dot import Cosine, Linear, Polynomial, Sigmoid
from mercer.kernels.expression import kernel
from mercer.kernels.histogram import AdditiveChi2, Chi2
from mercer.kernels.kernel import Kernel
from mercer.kernels.stationary import Gaussian, Laplacian
from mercer.kernels.tokens import suggestion

# A bare name leaves the parameters open. Only a length scale needs the data to be any good; the
# other kernels take their defaults, which is what the expression language makes of their names.
BARE: dict[str, Kernel] = {"gaussian": Gaussian("median"), "rbf": Gaussian("median")}


def as_kernel(value: Any) -> Kernel:
    """Return the kernel that an estimator's ``kernel=`` means.

    Parameters
    ----------
    value : Kernel, str or callable
        A kernel; a name such as ``"gaussian"`` (or ``"rbf"``), which stands for
        ``Gaussian("median")``; an expression; or a function f(X, Z) -> (n, m).
    """
    if isinstance(value, str):
        return BARE.get(value.strip()) or kernel(value)
    if isinstance(value, Kernel):
        return value
    if isinstance(value, type) and issubclass(value, Kernel):
        raise TypeError(f"kernel is the class {value.__name__}; pass {value.__name__}(...)")
    if callable(value):
        return FromFunction(value)
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    hint = f"; a number is given by its name, such as alpha={value!r}" if is_number else ""
    raise TypeError(
        "kernel must be a Kernel, a name, an expression or a function f(X, Z) -> (n, m), "
        f"got {type(value).__name__}: {value!r}{hint}"
    )


def from_sklearn(
    name: str, gamma: float | None = None, degree: int = 3, coef0: float = 1
) -> Kernel:
    """Return the kernel that a name of ``sklearn.metrics.pairwise`` means.

    Parameters
    ----------
    name : str
        ``"additive_chi2"``, ``"chi2"``, ``"linear"``, ``"poly"``, ``"polynomial"``, ``"rbf"``,
        ``"laplacian"``, ``"sigmoid"``, ``"cosine"`` or ``"precomputed"``.
    gamma : float, optional
        If not given, one over the number of columns, decided by the data; 1 for ``"chi2"``.
    degree : int
        Degree of ``"polynomial"``.
    coef0 : float
        Offset of ``"polynomial"`` and ``"sigmoid"``.

    Notes
    -----
    Parameters that a kernel does not have are ignored, as scikit-learn's estimators do.
    """
    scale = "columns" if gamma is None else gamma
    makers: dict[str, Callable[[], Kernel]] = {
        "additive_chi2": AdditiveChi2,
        "chi2": lambda: Chi2(1.0 if gamma is None else gamma),
        "cosine": Cosine,
        "laplacian": lambda: _with_gamma(Laplacian, gamma),
        "linear": Linear,
        "poly": lambda: Polynomial(degree, coef0, scale),
        "polynomial": lambda: Polynomial(degree, coef0, scale),
        "precomputed": Precomputed,
        "rbf": lambda: _with_gamma(Gaussian, gamma),
        "sigmoid": lambda: Sigmoid(scale, coef0),
    }
    if name not in makers:
        raise ValueError(
            f"scikit-learn has no kernel called {name!r}; {suggestion(str(name), makers)}"
        )
    return makers[name]()


def _with_gamma(kind: type[Gaussian] | type[Laplacian], gamma: float | None) -> Kernel:
    return kind("columns") if gamma is None else kind.from_gamma(gamma)
