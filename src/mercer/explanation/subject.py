"""The function inside a fitted model, the rows to look at it from, and the names of its parts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from mercer.data.columns import column_names, is_matrix, is_table, n_rows, take_rows
from mercer.estimators.validation import checked_rows
from mercer.functions import Function, PairFunction
from mercer.kernels import Kernel

Array = NDArray[np.float64]


def chosen_model(model: Any) -> Any:
    """Return the kernel machine itself, which a search or a classifier may wrap."""
    check_is_fitted(model)
    for name in ("best_estimator_", "estimator_"):
        # A classifier by least squares keeps the function of its regression beside the names.
        if "function_" not in vars(model):
            model = getattr(model, name, model)
    if not isinstance(getattr(model, "function_", None), Function):
        raise ValueError(
            f"{type(model).__name__} has no fitted function to explain; give a kernel machine of "
            "mercer, such as KernelRidge, or a search over some"
        )
    return model


def evenly(n: int, most: int) -> NDArray[np.intp]:
    """Return at most so many of the numbers below `n`, at equal distances."""
    return np.linspace(0, n - 1, min(n, most)).astype(np.intp)


@dataclass(frozen=True, eq=False)
class Subject:
    """A fitted function f, with rows that it is looked at from.

    Parameters
    ----------
    model : estimator
        The kernel machine itself.
    rows : rows
        As the function reads them.
    targets : tuple
        What the values of f speak for: numbers of targets, classes, or pairs of these.
    places : array of shape (targets,)
        Which of all values of f these are.
    """

    model: Any
    rows: Any
    targets: tuple[Any, ...]
    places: NDArray[np.intp]

    @classmethod
    def of(cls, model: Any, X: Any = None, target: int | None = None) -> Subject:
        """Return what is explained of a model: at the rows `X`, or at those that it holds.

        Parameters
        ----------
        model : estimator
            Fitted.
        X : rows, optional
            Where to look; by default the rows that the function is a sum over.
        target : int, optional
            Which value of f; all of them by default.
        """
        classes = _classes(model)
        machine = chosen_model(model)
        f = machine.function_
        if f.kernel.is_precomputed:
            raise ValueError(
                "a model of a finished Gram matrix has no columns to explain: fit it to rows and "
                "a kernel"
            )
        if X is None and f.dual is None:
            raise ValueError(
                "this model keeps no training rows; give rows to look at, explain(model, X)"
            )
        rows = f.dual.rows if X is None else checked_rows(machine, X)
        targets = _targets(classes, f.n_targets, isinstance(f.dual, PairFunction))
        places = np.arange(len(targets))
        if target is not None:
            if target not in range(len(targets)):
                raise ValueError(f"target must be one of 0 to {len(targets) - 1}, got {target!r}")
            places, targets = places[[target]], (targets[target],)
        return cls(machine, rows, targets, places)

    @property
    def function(self) -> Function:
        """f, with all its targets."""
        function: Function = self.model.function_
        return function

    @property
    def kernel(self) -> Kernel:
        """The kernel of f, with numbers for parameters."""
        return self.function.kernel

    @property
    def has_columns(self) -> bool:
        """Whether rows have columns, and are not texts themselves."""
        return is_table(self.rows) or is_matrix(self.rows)

    @cached_property
    def columns(self) -> list[Any]:
        """The columns by name, or by position where they have none."""
        if is_table(self.rows):
            return column_names(self.rows)
        count = self.rows.shape[1] if is_matrix(self.rows) else 0
        names = getattr(self.model, "feature_names_in_", ())
        return [str(name) for name in names] if len(names) == count else list(range(count))

    def sample(self, most: int) -> Any:
        """Return at most so many of the rows, at equal distances."""
        n = n_rows(self.rows)
        return self.rows if n <= most else take_rows(self.rows, evenly(n, most))

    def values(self, rows: Any) -> Array:
        """Return f at rows, of shape (n, targets)."""
        return self.function(rows)[:, self.places]

    def gradient(self, rows: Any) -> Array:
        """Return the gradient of f at rows, of shape (n, columns, targets)."""
        return self.function.gradient(rows)[:, :, self.places]


def _classes(model: Any) -> Any:
    """Return the classes that a classifier, or what it wraps, was fitted to, or None."""
    classes = getattr(model, "classes_", None)
    for name in ("best_estimator_", "estimator_"):
        if classes is None and hasattr(model, name):
            return _classes(getattr(model, name))
    return classes


def _targets(classes: Any, functions: int, is_by_pairs: bool) -> tuple[Any, ...]:
    """Return what each function speaks for: a class, a pair of classes, or a number."""
    if classes is None:
        return tuple(range(functions))
    labels = np.asarray(classes).tolist()
    if is_by_pairs:
        return tuple(f"{a} over {b}" for a, b in combinations(labels, 2))
    return tuple(labels) if functions > 1 else (labels[-1],)
