"""The base of every estimator: its kernel's parameters by name, and its tags."""

from __future__ import annotations

from typing import Any, Self

from sklearn.base import BaseEstimator
from sklearn.utils import Tags

from mercer.estimators.columns import has_place_for_missing
from mercer.gram import is_precomputed
from mercer.kernels import as_kernel


class KernelEstimator(BaseEstimator):
    """An estimator with a parameter ``kernel``: a Kernel, an expression, a name or a function."""

    kernel: Any

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name; those of the kernel are named ``kernel__length_scale``.

        A kernel is a value, so its parameters are replaced by binding a new kernel.
        """
        nested = {name: value for name, value in params.items() if name.startswith("kernel__")}
        super().set_params(**{k: v for k, v in params.items() if k not in nested})
        if nested:
            changes = {name.removeprefix("kernel__"): value for name, value in nested.items()}
            self.kernel = as_kernel(self.kernel).with_params(**changes)
        return self

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = has_place_for_missing(self.kernel)
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = _is_pairwise(self.kernel)
        return tags


def _is_pairwise(kernel: Any) -> bool:
    try:
        return is_precomputed(as_kernel(kernel))
    except (TypeError, ValueError):
        # A kernel that means nothing is refused by fit, not when an estimator is printed.
        return False
