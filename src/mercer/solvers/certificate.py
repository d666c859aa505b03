"""What a solver proves about its answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False, repr=False)
class Certificate:
    """A measured distance from the exact answer, and what follows from it.

    The fitted f and the exact f* of the same problem obey ||f - f*|| <= radius in the norm of the
    kernel's function space, so that |f(x) - f*(x)| <= radius sqrt(k(x, x)) at every x. The bound
    is for f without the offset b and for a positive semi-definite kernel. What rounding may hide
    of K a counts in the value and in the radius; the rounding of targets and offset does not.

    Parameters
    ----------
    kind : str
        What was measured, such as ``"relative residual"``.
    value : float
        The measured number, the worst of all targets.
    tolerance : float
        What it should not exceed.
    radius : float or array of shape (targets,)
        Bound on ||f - f*||, infinite where nothing is proved.
    diagonal : callable
        diagonal(X) -> k(x, x) for every row.
    method : str
        What ran.
    is_proved : bool
        Whether the kernel is known to be positive semi-definite; if not, the text says that the
        bound assumes it.
    """

    kind: str
    value: float
    tolerance: float
    radius: float | NDArray[np.float64]
    diagonal: Callable[[Any], NDArray[Any]]
    method: str = ""
    is_proved: bool = True

    @property
    def satisfied(self) -> bool:
        """Whether the value is within the tolerance."""
        return self.value <= self.tolerance

    def bound(self, X: Any) -> NDArray[np.float64]:
        """Return radius sqrt(k(x, x)) at the rows of `X`: shape (n,), or (n, targets)."""
        norms = np.sqrt(np.maximum(self.diagonal(X), 0.0))
        # An infinite radius proves nothing, also where k(x, x) is zero.
        proved = np.isfinite(self.radius)
        bounds = np.multiply.outer(norms, np.where(proved, self.radius, 0.0))
        return np.where(proved, bounds, np.inf)

    def __str__(self) -> str:
        verdict = "within" if self.satisfied else "NOT within"
        worst = float(np.max(self.radius))
        promise = f"|f - f*|(x) <= {worst:.1e} sqrt(k(x, x))" if np.isfinite(worst) else "no bound"
        if np.isfinite(worst) and not self.is_proved:
            promise += " if the kernel is positive semi-definite"
        by = f" by {self.method}" if self.method else ""
        return f"{self.kind} {self.value:.1e}{by}, {verdict} {self.tolerance:.1e}; {promise}"

    __repr__ = __str__


@dataclass(frozen=True)
class Approximation:
    """What landmarks leave of a kernel: the certificate of a model is for their kernel alone.

    Parameters
    ----------
    value : float
        The trace residual tr(K - K_nm K_mm^-1 K_mn) / tr K, from 0 to 1.
    n_landmarks : int
        m, those that others make superfluous not counted.
    rows : int
        The training rows that the value is estimated from.
    """

    value: float
    n_landmarks: int
    rows: int

    def __str__(self) -> str:
        return (
            f"{self.n_landmarks} landmarks leave {self.value:.1e} of the trace of K, estimated "
            f"from {self.rows} rows"
        )
