"""The base of every estimator: its kernel's parameters by name, its tags, its function."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Tags

from mercer.data.columns import take_rows
from mercer.estimators.arguments import Arguments, beside
from mercer.estimators.columns import has_place_for_missing, takes_text
from mercer.estimators.streams import opened_for
from mercer.estimators.validation import (
    checked_landmarks,
    checked_rows,
    checked_seed,
    kernel_for,
)
from mercer.functions import Function, PrimalFunction
from mercer.gram import Gram
from mercer.kernels import Kernel, as_kernel, recentred
from mercer.planning import Settings
from mercer.solvers import Run
from mercer.solvers.checkpoint import Checkpoint, digest

Array = NDArray[np.float64]

# Rows that tell the problem of a checkpoint from others.
COMPARED_ROWS = 200


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
            return self._named_kernel().is_precomputed
        except (TypeError, ValueError):
            # What means nothing is refused by fit, not when an estimator is printed; what the
            # rows decide is no finished matrix.
            return False


class KernelMachine(KernelEstimator):
    """An estimator that predicts by its function, of which it shows the parts by their names.

    A function of several targets has a row of `dual_coef_` and `coef_` for each.
    """

    fit_intercept: Any
    solver: Any
    tol: Any
    max_iter: Any
    random_state: Any
    memory: Any
    repair: Any
    n_landmarks: Any = None
    landmarks: Any = "rpcholesky"
    time_limit: Any = None
    checkpoint: Any = None
    function_: Function

    def _settings(self) -> Settings:
        """Return what the estimator was told about how to solve."""
        seed = checked_seed(self.random_state)
        given = (self.solver, self.tol, self.max_iter, seed, self.memory, self.repair)
        return Settings(*given, self.n_landmarks, self.landmarks, self.time_limit)

    def _fit_settings(self, kernel: Kernel) -> Settings:
        """Return the same, with landmarks that are given as rows checked like training rows."""
        landmarks = checked_landmarks(self, kernel, self.landmarks)
        return replace(self._settings(), landmarks=landmarks)

    def _opened(self, X: Any, y: Any = None, sample_weight: Any = None) -> tuple[Any, Any, Any]:
        """Return rows, targets and weights of a fit, with rows on a disk as a stream."""
        return opened_for(self.solver, self.memory, X, y, sample_weight)

    def _keep_states(
        self, run: Run, solver: Any, gram: Gram, kernel: Kernel, rows: Any, *given: Any
    ) -> None:
        """Let a run keep its states in the checkpoint, and go on from those of the same fit.

        Parameters
        ----------
        run, solver, gram
            What is going to be solved, and by what.
        kernel, rows
            k, and the rows, of which a sample tells them from others.
        given : arrays and numbers
            Whatever else the answer depends on: targets, weights, penalties.
        """
        if self.checkpoint is None:
            return
        landmarks = None if gram.landmarks is None else gram.landmarks.rows
        index = np.linspace(0, len(gram) - 1, min(len(gram), COMPARED_ROWS)).astype(np.intp)
        settings = (type(self).__name__, str(kernel), repr(solver), len(gram))
        key = digest(*settings, take_rows(rows, index), landmarks, *given)
        run.checkpoint = Checkpoint(self.checkpoint, key)

    def _resolved(self, kernel: Kernel, rows: Any, weights: Any = None) -> Kernel:
        """Return the kernel with numbers for parameters that is fitted to weighted rows.

        An offset keeps the sum of the coefficients at zero: a kernel that is valid on these alone
        is replaced by one that is valid on all and gives the same function.
        """
        kernel = kernel.resolved(rows, weights)
        is_free = self.fit_intercept and self.repair is None
        return recentred(kernel, rows) if is_free and kernel.is_conditional else kernel

    def gradient(self, X: Any) -> Array:
        """Return the gradient of f by its input at the rows `X`, see `Function.gradient`.

        The columns are those that `fit` noted; its shape is (n, columns), or (n, columns,
        functions) if there are several.
        """
        found = self.function_.gradient(checked_rows(self, X))
        return found[:, :, 0] if found.shape[2] == 1 else found

    @property
    def dual_coef_(self) -> Array:
        """The a_i of f(x) = sum_i a_i k(x_i, x), of shape (functions, n)."""
        return np.asarray(self.function_.dual.coefficients.T)

    @property
    def coef_(self) -> Array:
        """The weights c of explicit features, f(x) = c'phi(x), of shape (functions, p).

        There are some where ``"primal"`` found them, where the kernel has few features, and where
        it counts k-grams; ``function_.columns`` says which features these are, if not all.
        """
        if not isinstance(self.function_, PrimalFunction):
            raise AttributeError(
                f"{type(self).__name__} has no coef_: {self.function_.kernel!r:.100} is not "
                "evaluated by explicit features; use dual_coef_"
            )
        return np.asarray(self.function_.coefficients.T)

    @property
    def intercept_(self) -> Any:
        """b, of shape (functions,)."""
        return self.function_.intercept
