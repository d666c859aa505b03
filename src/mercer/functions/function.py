"""The contract of a fitted function: a value that is called on rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import fields
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mercer.data.columns import n_rows
from mercer.data.kept import State, rows_state, same_rows
from mercer.kernels import Kernel
from mercer.kernels.language.expression import kernel as kernel_of_text

Array = NDArray[np.float64]


class Function(ABC):
    """What comes out of a fit: f(x) + b for every target, in one of several forms.

    It is a frozen dataclass of a kernel, arrays and rows, so that it is pickled and compared by
    what it holds. Calling it gives the values at new rows, some of these at a time, so that
    nothing of the size of rows times training rows is stored.
    """

    # How `state` calls this form.
    form: ClassVar[str]
    # New rows that are read into numbers and valued at a time.
    rows_at_a_time: ClassVar[int]

    kernel: Kernel
    coefficients: Array
    intercept: Array

    def __post_init__(self) -> None:
        # Whoever writes into what a model returns would change the model, and not its certificate.
        for name in ("coefficients", "intercept"):
            numbers = np.asarray(getattr(self, name)).view()
            numbers.flags.writeable = False
            object.__setattr__(self, name, numbers)

    @property
    def n_targets(self) -> int:
        """How many values there are at every row."""
        return len(self.intercept)

    @property
    @abstractmethod
    def dual(self) -> Any:
        """The same function as a sum over training rows, or None where these are not kept."""

    @abstractmethod
    def blocks(self, X: Any) -> Iterator[tuple[slice, Array]]:
        """Yield f(x) + b of shape (some rows, targets) for some of the rows `X` at a time."""

    def __call__(self, X: Any) -> Array:
        """Return f(x) + b at the rows `X`, of shape (n, targets)."""
        values = None
        for rows, some in self.blocks(X):
            if values is None and rows.stop - rows.start == n_rows(X):
                return some
            values = np.empty((n_rows(X), self.n_targets)) if values is None else values
            values[rows] = some
        return np.empty((0, self.n_targets)) if values is None else values

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Function) or type(self) is not type(other):
            return NotImplemented
        pairs = zip(self.__getstate__().values(), other.__getstate__().values(), strict=True)
        return all(ours is theirs or same_rows(ours, theirs) for ours, theirs in pairs)

    __hash__ = None  # type: ignore[assignment]

    def __getstate__(self) -> State:
        # What is worked out when it is first asked for is no part of the value.
        names = [field.name for field in fields(self)]  # type: ignore[arg-type]
        return {name: getattr(self, name) for name in names}

    def state(self) -> State:
        """Return what the function is made of by name, as arrays and plain values alone.

        The kernel is its text in the expression language. `function_from_state` reads it back.
        """
        state: State = {"form": self.form}
        for name, value in self.__getstate__().items():
            if isinstance(value, Kernel):
                state[name] = exact_text(value)
            elif isinstance(value, Function):
                state |= {f"{name}.{key}": part for key, part in value.state().items()}
            elif name == "rows":
                state |= {f"rows.{key}": part for key, part in rows_state(value).items()}
            elif value is not None:
                state[name] = value
        return state


def exact_text(kernel: Kernel) -> str:
    """Return a kernel as text that gives the same kernel back, or refuse one that has none."""
    text = str(kernel)
    try:
        is_exact = kernel_of_text(text) == kernel
    except ValueError as error:
        raise ValueError(f"{kernel!r:.200} cannot be written as text: {error}") from None
    if not is_exact:
        raise ValueError(
            f"{kernel!r:.200} cannot be written as text: what {text!r:.200} means is another "
            "kernel; use a kernel of the expression language"
        )
    return text
