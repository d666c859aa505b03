"""The base of every estimator: its kernel's parameters by name, and its tags."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from sklearn.utils import Tags

from mercer.estimators.arguments import Arguments, beside
from mercer.estimators.columns import has_place_for_missing, takes_text
from mercer.estimators.validation import kernel_for
from mercer.gram import is_precomputed
from mercer.kernels import Kernel, as_kernel


class KernelEstimator(Arguments):
    """An estimator with a parameter ``kernel``: a Kernel, an expression, a name or a function."""

    # Whether the estimator of scikit-learn that it stands in for is a support vector machine,
    # whose defaults of gamma and coef0 are others.
    is_machine: ClassVar[bool] = False

    kernel: Any
    gamma: Any = None
    degree: Any = None
    coef0: Any = None

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name; those of the kernel are named ``kernel__length_scale``.

        A kernel is a value, so its parameters are replaced by binding a new kernel.
        """
        nested = {name: value for name, value in params.items() if name.startswith("kernel__")}
        super().set_params(**{k: v for k, v in params.items() if k not in nested})
        if nested:
            changes = {name.removeprefix("kernel__"): value for name, value in nested.items()}
            self.kernel = self._named_kernel().with_params(**changes)
            # The new kernel holds the numbers that stood beside the name of the old one.
            self.gamma = self.degree = self.coef0 = None
        return self

    def _kernel_for(self, X: Any) -> Kernel:
        """Return the kernel that is meant, for training rows."""
        return kernel_for(self.kernel, X, beside(self), self.is_machine)

    def _named_kernel(self) -> Kernel:
        return as_kernel(self.kernel, beside(self), self.is_machine)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = has_place_for_missing(self.kernel)
        tags.input_tags.string = takes_text(self.kernel)
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self._is_pairwise()
        return tags

    def _is_pairwise(self) -> bool:
        try:
            return is_precomputed(self._named_kernel())
        except (TypeError, ValueError):
            # What means nothing is refused by fit, not when an estimator is printed; what the
            # rows decide is no finished matrix.
            return False
