"""Classification by the mean of several kernel ridges."""

from __future__ import annotations

from typing import Any, Self

from mercer.estimators import KernelRidgeMean
from mercer.estimators.estimator import KernelEstimator, like
from mercer.kernels import Kernel
from mercer.selection.classifiers.ridge import KernelRidgeClassifier
from mercer.selection.grid import reader_of


class KernelRidgeMeanClassifier(KernelRidgeClassifier):
    """Least squares on targets of 1 for a class and -1 for the rest, by a mean of kernel ridges.

    The scores of every class are f = sum_c v_c f_c, with one v for all classes that
    `KernelRidgeMean` finds; classes and probabilities follow as of `KernelRidgeClassifier`.

    Parameters
    ----------
    kernels, alphas, weights
        As of `KernelRidgeMean`.
    class_weight : None, dict or "balanced"
        Factors of the weights of each class.
    fit_intercept, solver, n_landmarks, landmarks, tol, memory, max_iter, time_limit, random_state
        As of `KernelRidgeMean`.

    Attributes
    ----------
    classes_ : array
        The classes of the rows of positive weight, in order.
    kernel_ : Kernel
        sum_c v_c k_c.
    function_ : MeanFunction
        f + b as a value.
    certificate_, approximation_
        As of `KernelRidgeMean`.
    estimator_ : KernelRidgeMean
        The regression on the targets.
    n_features_in_, feature_names_in_
        The columns seen in `fit`.
    """

    def __init__(
        self,
        kernels: Any = ("gaussian", "laplacian"),
        alphas: Any = 1.0,
        weights: Any = None,
        *,
        fit_intercept: bool = True,
        class_weight: Any = None,
        solver: Any = "auto",
        n_landmarks: int | None = None,
        landmarks: Any = "rpcholesky",
        tol: float | None = None,
        memory: Any = None,
        max_iter: int | None = None,
        time_limit: float | None = None,
        random_state: Any = None,
    ) -> None:
        self.kernels = kernels
        self.alphas = alphas
        self.weights = weights
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.solver = solver
        self.n_landmarks = n_landmarks
        self.landmarks = landmarks
        self.tol = tol
        self.memory = memory
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.random_state = random_state

    def _regression(self, kernel: Kernel) -> KernelRidgeMean:
        return like(self, KernelRidgeMean)

    def _kernel_for(self, X: Any) -> Kernel:
        return reader_of(KernelRidgeMean(self.kernels).placed(X))

    def _tagged_kernels(self) -> list[Kernel]:
        return KernelRidgeMean(self.kernels)._tagged_kernels()

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name; kernels are values, and are replaced as a whole."""
        return super(KernelEstimator, self).set_params(**params)

    def _refuse_several(self) -> None:
        """Take several kernels."""
