"""What learning returns: a kernel, and how it was found."""

from __future__ import annotations

from dataclasses import dataclass, field

from mercer.kernels import Kernel


@dataclass(frozen=True)
class Step:
    """One iteration of learning.

    Parameters
    ----------
    value : float
        The criterion, see `Learned`.
    alpha : float
        The ridge.
    kernel : Kernel
        The kernel.
    seconds : float
        When it was found, since the beginning.
    """

    value: float
    alpha: float
    kernel: Kernel
    seconds: float


@dataclass(frozen=True)
class Learned:
    """A kernel with learned parameters, and how they were found.

    Parameters
    ----------
    kernel : Kernel
        The kernel, a value like any other.
    alpha : float
        The ridge that belongs to it, for any number of rows like those learned from.
    value : float
        The criterion: minus the log restricted likelihood of the targets, or for ``"loo"`` half
        their number times the log of the mean squared error on rows left out.
    criterion : str
        Its name.
    history : tuple of Step
        The beginning, and every iteration.
    rows : int
        How many rows were learned from.
    ended_by : str
        What ended it: "convergence", "iterations", "time", "targets" that need no kernel, or "rows
        held out", which earlier iterations predict better.
    """

    kernel: Kernel
    alpha: float
    value: float
    criterion: str
    history: tuple[Step, ...] = field(repr=False)
    rows: int
    ended_by: str

    def __str__(self) -> str:
        first = self.history[0].value if self.history else self.value
        seconds = self.history[-1].seconds if self.history else 0.0
        return (
            f"{self.kernel}\n"
            f"alpha = {self.alpha:.4g}\n"
            f"{self.criterion}: {first:.6g} -> {self.value:.6g} in "
            f"{max(len(self.history) - 1, 0)} iterations on {self.rows} rows, {seconds:.1f} s; "
            f"ended by {self.ended_by}"
        )
