"""Features from the eigenvectors of a Gram matrix, extended to new rows."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone

from mercer.data.columns import n_rows, take_rows
from mercer.errors import (
    ApproximationWarning,
    ConvergenceWarning,
    IndefiniteKernelError,
    warn_caller,
)
from mercer.estimators.estimator import KernelEstimator
from mercer.estimators.refusals import refuse_indefinite_kernel, with_points
from mercer.estimators.streams import rows_in_memory
from mercer.estimators.validation import (
    checked_landmarks,
    checked_rows,
    checked_seed,
    checked_unlabelled,
)
from mercer.functions import DualFunction
from mercer.gram import Gram, LandmarkGram, gram_of, unheld_gram_of
from mercer.gram.pivots import checked_landmark_count
from mercer.kernels import Kernel, recentred
from mercer.native.lapack import one_blas_thread
from mercer.planning import Plan, Settings, components_plan, planned_components
from mercer.planning.landmarks import landmark_count, planned_landmarks
from mercer.solvers import (
    Approximation,
    ComponentProblem,
    Components,
    Run,
    component_solver,
)
from mercer.solvers.contract import whole_or_none
from mercer.solvers.definite import PRODUCTS
from mercer.solvers.spectral.components import NystromComponents
from mercer.solvers.spectral.problem import ComponentSolver

Array = NDArray[np.float64]


@dataclass(eq=False, repr=False)
class EigenFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelEstimator):
    """Features of rows from the eigenvectors of their Gram matrix, extended to new rows."""

    is_centred: ClassVar[bool]
    # The share of a time limit after which the components of a few rows are found instead, and how
    # many rows these are.
    share_of_all: ClassVar[float] = 0.7
    few_rows: ClassVar[int] = 256

    kernel: Any = "gaussian"
    n_components: int | None = None
    _: KW_ONLY
    solver: Any = "auto"
    n_landmarks: int | None = None
    landmarks: Any = "rpcholesky"
    tol: float | None = None
    max_iter: int | None = None
    time_limit: float | None = None
    memory: Any = None
    random_state: Any = None
    gamma: float | str | None = None
    degree: int | None = None
    coef0: float | None = None

    function_: DualFunction = field(init=False)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the components of the rows `X`; targets are ignored.

        Parameters
        ----------
        X : rows
            An array, CSR matrix or table; for a precomputed kernel the Gram matrix.
        y : None
            Ignored.
        """
        self._found(X)
        return self

    def _found(self, X: Any) -> Components:
        """Fit, and return the components of the training rows."""
        self._tell_of_memory()
        _refuse_number(self.kernel)
        run, X = Run(self.time_limit), rows_in_memory(X, self._room, type(self).__name__)
        kernel = self._kernel_for(X)
        rows = checked_unlabelled(self, kernel, X)
        X, kernel = rows.X, kernel.resolved(rows)
        kernel = recentred(kernel, X) if self.is_centred else kernel
        most = whole_or_none("n_components", self.n_components)
        most = None if most is None else min(most, n_rows(X))
        unheld = unheld_gram_of(kernel, X, self._room)
        settings = self._by_landmarks(kernel, X, unheld, most)
        solver = component_solver(
            self.solver,
            unheld,
            most,
            None if settings is None else landmark_count(settings, len(unheld)),
            _tolerance(self.tol),
            whole_or_none("max_iter", self.max_iter),
            checked_seed(self.random_state) or 0,
        )
        problem = ComponentProblem(len(unheld), most, self.is_centred)
        # What is left of the time is for the components of a few rows.
        first = run.share(self.share_of_all)
        looked_at = partial(self._looked_at, kernel, X, unheld, solver, settings)
        gram = first.attempt(looked_at, lambda: None)
        try:
            run.enter(f"{type(self).__name__}: components of {n_rows(X)} rows")
            found = None if gram is None else solver.solve(gram, problem, first)
            if found is None or first.ended_by == "time":
                gram, found = None, self._of_few_rows(unheld, problem, run)
        except IndefiniteKernelError as error:
            raise with_points(error, kernel, X) from None
        self.kernel_, self.solver_ = kernel, solver
        landmarks = None if gram is None else gram.landmarks
        self.approximation_ = None
        if landmarks is not None:
            left, count = LandmarkGram(landmarks, X).approximation_error()
            self.approximation_ = Approximation(left, landmarks.n_features, count)
        elif found.index is not None:
            self.approximation_ = Approximation(found.residual, found.n_landmarks, len(unheld))
        given = self._settings(kernel, len(unheld))
        is_asked = settings is None or not given.is_open or given.has_landmarks
        # Components of few rows have a warning of their own.
        if not is_asked and gram is not None:
            warn_caller(
                f"the components of {len(unheld)} rows are counted to take too much time or "
                f"memory, so that landmarks stand for them: {self.approximation_}; use "
                "solver='iterative' for a few exact ones, or choose n_landmarks",
                ApproximationWarning,
            )
        self._keep(found, X, X if landmarks is None else landmarks.rows, run)
        return found

    def plan(self, X: Any, y: Any = None) -> Plan:
        """Return what `fit` would do with the rows `X`: solver, memory, time, and why.

        Nothing of the size of the Gram matrix is allocated. Print it to read it.

        Parameters
        ----------
        X : rows
            The training rows.
        y : ignored
            As in `fit`.
        """
        X = rows_in_memory(X, self._room, type(self).__name__)
        kernel, model = self._kernel_for(X), clone(self)
        rows = checked_unlabelled(model, kernel, X)
        X, kernel = rows.X, kernel.resolved(rows)
        most = whole_or_none("n_components", self.n_components)
        gram = unheld_gram_of(kernel, X, self._room)
        return components_plan(model._settings(kernel, len(gram)), kernel, X, gram, most)

    def _by_landmarks(
        self, kernel: Kernel, X: Any, gram: Gram, most: int | None
    ) -> Settings | None:
        """Return how landmarks are chosen, or None if there are none."""
        settings = planned_components(self._settings(kernel, len(gram)), kernel, X, gram, most)
        return settings if settings.solver == "nystrom" else None

    def _settings(self, kernel: Kernel, n: int) -> Settings:
        """Return what the estimator was told about how to solve for n rows."""
        if self.n_landmarks is not None:
            checked_landmark_count(self.n_landmarks, n)
        return Settings(
            self.solver,
            seed=checked_seed(self.random_state),
            memory=self._room,
            n_landmarks=self.n_landmarks,
            landmarks=checked_landmarks(self, kernel, self.landmarks),
            time_limit=self.time_limit,
        )

    def _of_few_rows(self, gram: Gram, problem: ComponentProblem, run: Run) -> Components:
        """Return the components that there is time for, and warn."""
        seed = checked_seed(self.random_state) or 0
        solver = NystromComponents(min(len(gram), self.few_rows), seed)
        # Threads of a BLAS that wait for each other on a busy machine take longer than one.
        with one_blas_thread():
            found = solver.solve(gram, problem, run)
        warn_caller(
            f"the time limit of {self.time_limit:g} s was up; the components are those of "
            f"{found.n_landmarks} rows; raise time_limit, or give n_landmarks",
            ConvergenceWarning,
        )
        return found

    def _looked_at(
        self,
        kernel: Kernel,
        X: Any,
        gram: Gram,
        solver: ComponentSolver,
        settings: Settings | None,
    ) -> Gram:
        """Return the Gram matrix as a solver takes it, after the look for a witness.

        Random pivots are chosen among all rows by the solver itself, other landmarks are not.
        """
        is_again = solver.reads_all and not (gram.is_proved or kernel.is_quick)
        if solver.iterates or is_again:
            gram = gram_of(kernel, X, gram.memory)
        products = PRODUCTS if solver.reads_all else 0
        refuse_indefinite_kernel(kernel, X, gram, self.is_centred, products)
        if settings is None or (
            isinstance(settings.landmarks, str) and settings.landmarks == "rpcholesky"
        ):
            return gram
        return planned_landmarks(settings, kernel, X)

    def fit_transform(self, X: Any, y: Any = None) -> Array:
        """Return the features of the rows `X` that they are fitted to; targets are ignored."""
        return self._found(X).scores

    def transform(self, X: Any) -> Array:
        """Return the features of the rows `X`, of shape (n, components)."""
        X = checked_rows(self, X)
        return self.function_(X)

    def _keep(self, found: Components, X: Any, rows: Any, run: Run) -> None:
        """Store the components as functions of new rows, which are compared with `rows`."""
        A = found.coefficients
        if self.kernel_.is_precomputed:
            # Every column of the matrix belongs to a training row, used or not.
            A = found.dense_coefficients
        elif found.index is not None:
            rows = take_rows(rows, found.index)
        self.function_ = DualFunction(self.kernel_, rows, A, -found.offset)
        self.eigenvectors_ = found.vectors
        self.n_iter_ = found.iterations

    @property
    def _n_features_out(self) -> int:
        return self.function_.n_targets

    @property
    def X_fit_(self) -> Any:
        """The training rows that new rows are compared with."""
        return self.function_.rows


def _refuse_number(kernel: Any) -> None:
    """Refuse what was meant as the number of components: the first argument is the kernel."""
    if isinstance(kernel, Real) and not isinstance(kernel, bool):
        raise TypeError(
            f"kernel must be a Kernel, a name, an expression or a function, got {kernel!r}; the "
            f"number of components is given by its name, n_components={kernel!r}"
        )


def _tolerance(tol: Any) -> float:
    if tol is None:
        return 0.0
    if isinstance(tol, bool) or not isinstance(tol, Real) or not 0.0 <= float(tol) < 1.0:
        raise ValueError(f"tol must be a number from 0 to below 1, got {tol!r}")
    return float(tol)
