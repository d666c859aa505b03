"""The kernel that is meant by a name, an expression, a function, or a name of scikit-learn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from numbers import Real
from typing import Any

from mercer.kernels.families.custom import FromFunction, Precomputed
from mercer.kernels.families.dot import Cosine, Linear, Polynomial, Sigmoid
from mercer.kernels.families.histogram import AdditiveChi2, Chi2
from mercer.kernels.families.stationary import Gaussian, Laplacian
from mercer.kernels.kernel import Kernel
from mercer.kernels.language.expression import kernel_of_rows
from mercer.kernels.language.tokens import suggestion

# The kernel that the rows decide, by `default_kernel`.
AUTO = "auto"
# The names that are scikit-learn's when they stand alone. "polynomial" is ours, theirs is "poly".
PEER_NAMES = (
    "additive_chi2",
    "chi2",
    "cosine",
    "laplacian",
    "linear",
    "poly",
    "precomputed",
    "rbf",
    "sigmoid",
)
# Those of them that scikit-learn's support vector machines have.
MACHINE_NAMES = ("linear", "poly", "precomputed", "rbf", "sigmoid")
# What a gamma by its name in scikit-learn is among our rules.
GAMMAS = {"scale": "variance", "auto": "columns"}


@dataclass(frozen=True)
class PeerParameters:
    """What scikit-learn's estimators take beside the name of a kernel; None is their default.

    Parameters
    ----------
    gamma : float, "scale" or "auto", optional
        ``"scale"`` is one over the number of columns times the variance of all entries, ``"auto"``
        one over the number of columns.
    degree : int, optional
        Degree of ``"poly"``.
    coef0 : float, optional
        Offset of ``"poly"`` and ``"sigmoid"``.
    """

    gamma: float | str | None = None
    degree: int | None = None
    coef0: float | None = None

    @property
    def given(self) -> str:
        """The parameters that are not left to their defaults, as they are written."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return ", ".join(f"{name}={value!r}" for name, value in values.items() if value is not None)


UNNAMED = PeerParameters()


def is_auto(value: Any) -> bool:
    """Whether an estimator's ``kernel=`` is left to the rows."""
    return isinstance(value, str) and value.strip() == AUTO


def as_kernel(
    value: Any,
    beside: PeerParameters = UNNAMED,
    is_machine: bool = False,
    called: str = "kernel",
) -> Kernel:
    """Return the kernel that an estimator's ``kernel=`` means.

    Parameters
    ----------
    value : Kernel, str or callable
        A kernel; a name of ours such as ``"gaussian"``, which stands for ``Gaussian("median")``,
        alone and without brackets in an expression; a name of scikit-learn such as ``"rbf"``,
        which means what it means there if it stands alone; an expression; or a function
        f(X, Z) -> (n, m).
    beside : PeerParameters
        What was given beside a name.
    is_machine : bool
        Whether defaults are those of scikit-learn's support vector machines (gamma="scale",
        degree=3, coef0=0), else those of its other estimators (gamma=None, degree=3, coef0=1).
    called : str
        What errors call the value.
    """
    name = value.strip() if isinstance(value, str) else ""
    is_gaussian, given = name == "gaussian", beside.given
    if is_gaussian and given:
        _refuse_unused(name, beside, called)
    # A Gaussian with a gamma is the same whatever it is called.
    if name in PEER_NAMES or (is_gaussian and beside.gamma is not None):
        return _of_peer("rbf" if is_gaussian else name, beside, is_machine)
    if given:
        raise ValueError(
            f"{given} belongs beside a name of scikit-learn such as 'rbf' or 'poly', but "
            f"{called} is {value!r}; write the numbers into the kernel, as in "
            "'gaussian(gamma=0.1)' or 'polynomial(degree=3, offset=1.0)'"
        )
    if isinstance(value, str):
        if is_auto(value):
            raise ValueError(
                "'auto' is the kernel that the rows of fit suggest; without them use "
                "default_kernel(X)"
            )
        return kernel_of_rows(value)
    if isinstance(value, Kernel):
        return value
    if isinstance(value, type) and issubclass(value, Kernel):
        raise TypeError(f"{called} is the class {value.__name__}; pass {value.__name__}(...)")
    if callable(value):
        return FromFunction(value)
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    hint = (
        f"; a number is given by its name, such as alpha={value!r} or C={value!r}"
        if is_number
        else ""
    )
    raise TypeError(
        f"{called} must be a Kernel, a name, an expression or a function f(X, Z) -> (n, m), "
        f"got {type(value).__name__}: {value!r}{hint}"
    )


def _refuse_unused(name: str, beside: PeerParameters, called: str) -> None:
    """Refuse beside a name of ours what its kernel does not have."""
    unused = replace(beside, gamma=None).given
    if unused:
        raise ValueError(
            f"{unused} has no meaning where {called} is {name!r}, which has a gamma alone; leave "
            "it out, or give a kernel that has it, such as 'poly' or 'sigmoid'"
        )


def _of_peer(name: str, beside: PeerParameters, is_machine: bool) -> Kernel:
    """Return the kernel of a name of scikit-learn, with the defaults of the estimator there."""
    is_theirs = is_machine and name in MACHINE_NAMES
    gamma, degree, coef0 = beside.gamma, beside.degree, beside.coef0
    if gamma is None and is_theirs:
        gamma = "scale"
    if coef0 is None:
        coef0 = 0.0 if is_theirs else 1.0
    return from_sklearn(name, gamma, 3 if degree is None else degree, coef0)


def from_sklearn(
    name: str, gamma: float | str | None = None, degree: int = 3, coef0: float = 1
) -> Kernel:
    """Return the kernel that a name of ``sklearn.metrics.pairwise`` means.

    Parameters
    ----------
    name : str
        ``"additive_chi2"``, ``"chi2"``, ``"linear"``, ``"poly"``, ``"polynomial"``, ``"rbf"``,
        ``"laplacian"``, ``"sigmoid"``, ``"cosine"`` or ``"precomputed"``.
    gamma : float, "scale" or "auto", optional
        If not given, one over the number of columns, decided by the data; 1 for ``"chi2"``.
        ``"auto"`` and ``"scale"`` mean what they mean to `sklearn.svm.SVC`.
    degree : int
        Degree of ``"polynomial"``.
    coef0 : float
        Offset of ``"polynomial"`` and ``"sigmoid"``.

    Notes
    -----
    Parameters that a kernel does not have are ignored, as scikit-learn's estimators do.
    """
    if isinstance(gamma, str) and gamma not in GAMMAS:
        raise ValueError(f"gamma must be a number, 'scale' or 'auto', got {gamma!r}")
    # A rule is resolved on the rows.
    slope = "columns" if gamma is None else GAMMAS[gamma] if isinstance(gamma, str) else gamma
    makers: dict[str, Callable[[], Kernel]] = {
        "additive_chi2": AdditiveChi2,
        "chi2": lambda: Chi2(1.0 if gamma is None else _number(gamma)),
        "cosine": Cosine,
        "laplacian": lambda: _with_gamma(Laplacian, slope),
        "linear": Linear,
        "poly": lambda: Polynomial(degree, coef0, slope),
        "polynomial": lambda: Polynomial(degree, coef0, slope),
        "precomputed": Precomputed,
        "rbf": lambda: _with_gamma(Gaussian, slope),
        "sigmoid": lambda: Sigmoid(slope, coef0),
    }
    if name not in makers:
        raise ValueError(
            f"scikit-learn has no kernel called {name!r}; {suggestion(str(name), makers)}"
        )
    return makers[name]()


def _with_gamma(kind: type[Gaussian] | type[Laplacian], slope: float | str) -> Kernel:
    return kind(slope) if isinstance(slope, str) else kind.from_gamma(slope)


def _number(gamma: float | str) -> float:
    if isinstance(gamma, str):
        raise ValueError(f"gamma of 'chi2' must be a number, got {gamma!r}; its default is 1.0")
    return gamma
