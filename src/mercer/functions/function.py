"""The contract of a fitted function: a value that is called on rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import fields
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer.data.blocks import blocks_of
from mercer.data.columns import is_matrix, n_rows
from mercer.data.kept import State, rows_state, same_rows
from mercer.data.stream import Stream
from mercer.kernels import Kernel
from mercer.kernels.language.spec import kernel_state

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
    intercept: Array

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        # A dataclass leaves alone what its body defines, and overwrites what it inherits.
        cls.__repr__ = cls.__repr__  # type: ignore[method-assign]

    def __post_init__(self) -> None:
        # Whoever writes into what a model returns would change the model, and not its certificate.
        for name, value in self.__getstate__().items():
            object.__setattr__(self, name, read_only(value))

    def __repr__(self) -> str:
        targets = f"{self.n_targets} target" + ("" if self.n_targets == 1 else "s")
        rows = "" if self.dual is None else f", {n_rows(self.dual.rows)} rows"
        return f"<{type(self).__name__} of {self.kernel!r}: {targets}{rows}>"

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
        if isinstance(X, Stream):
            return self._of_stream(X)
        self._check_columns(X)
        values = None
        for rows, some in self.blocks(X):
            if values is None and rows.stop - rows.start == n_rows(X):
                return some
            values = np.empty((n_rows(X), self.n_targets)) if values is None else values
            values[rows] = some
        return np.empty((0, self.n_targets)) if values is None else values

    def _check_columns(self, X: Any) -> None:
        """Refuse a matrix with other columns than the training rows have."""
        rows: Any = None if self.dual is None else self.dual.rows
        if not (is_matrix(rows) and is_matrix(X)) or self.kernel.is_precomputed:
            return
        if X.shape[1] != rows.shape[1]:
            raise ValueError(
                f"X has {X.shape[1]} columns, and the function was fitted to rows of "
                f"{rows.shape[1]}; give rows with the same columns"
            )

    def gradient(self, X: Any) -> Array:
        """Return the gradient of f by its input at the rows `X`, of shape (n, columns, targets).

        Columns that f does not read as numbers have the gradient zero. Where f has no gradient,
        such as that of `Laplacian` where a row has a number of a training row, it is the mean of
        those on both sides.
        """
        if self.dual is None:
            raise ValueError(
                f"the training rows of f are not kept, so that the gradient of {self.kernel!r:.100}"
                " is not known; fit with a solver that keeps them, such as 'cholesky'"
            )
        gradient: Array = self.dual.gradient(X)
        return gradient

    def row_norms(self) -> Array:
        """Return for every training row the norm of its part in f, over all targets.

        It is ||a_i k(x_i, .)|| in a sum over rows; of a mean the root of the mean square, which
        bounds the norm of what a row adds to all parts.
        """
        if self.dual is None:
            raise ValueError(
                "the training rows of f are not kept, so that none has a part in it; fit with a "
                "solver that keeps them, such as 'cholesky'"
            )
        norms: Array = self.dual.row_norms()
        return norms

    def _of_stream(self, X: Stream) -> Array:
        values = np.empty((len(X), self.n_targets))
        for rows, some in blocks_of(X, 1, self.rows_at_a_time):
            values[rows] = self(some)
        return values

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

    def __setstate__(self, state: State) -> None:
        for name, value in state.items():
            object.__setattr__(self, name, read_only(value))

    def state(self) -> State:
        """Return what the function is made of by name, as arrays and plain values alone.

        The arrays are those of the function, and cannot be written to. What belongs to the kernel,
        to the rows, to the dual form and to the parts of a mean goes by ``kernel.``, ``rows.``,
        ``dual.`` and ``parts.0.`` before its name. `mercer.functions.function_from_state` reads it
        back.
        """
        state: State = {"form": self.form}
        for name, value in self.__getstate__().items():
            if isinstance(value, Kernel):
                state |= {f"{name}.{key}": part for key, part in kernel_state(value).items()}
            elif isinstance(value, Function):
                state |= {f"{name}.{key}": part for key, part in value.state().items()}
            elif name == "parts":
                for i, function in enumerate(value):
                    state |= {f"parts.{i}.{key}": v for key, v in function.state().items()}
            elif name == "rows":
                state |= {f"rows.{key}": part for key, part in rows_state(value).items()}
            elif value is not None:
                state[name] = value
        return state


def read_only(X: Any) -> Any:
    """Return arrays and compressed sparse matrices as views that cannot be written to."""
    if isinstance(X, np.ndarray):
        if not X.flags.writeable:
            return X
        view = X.view()
        view.flags.writeable = False
        return view
    if sp.issparse(X) and X.format in ("csr", "csc"):
        parts = (read_only(X.data), read_only(X.indices), read_only(X.indptr))
        return type(X)(parts, shape=X.shape)
    return X
