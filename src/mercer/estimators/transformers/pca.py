"""Kernel principal components."""

from __future__ import annotations

from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from mercer.data.checks import as_matrix
from mercer.data.columns import n_rows, take_rows
from mercer.errors import ConvergenceWarning, IndefiniteKernelError, warn_caller
from mercer.estimators.estimator import KernelEstimator
from mercer.estimators.refusals import refuse_indefinite_kernel, with_points
from mercer.estimators.ridge import KernelRidge
from mercer.estimators.validation import checked_rows, checked_seed, checked_unlabelled
from mercer.functions import DualFunction
from mercer.gram import Gram, gram_of, unheld_gram_of
from mercer.kernels import Kernel, recentred
from mercer.kernels.kernel import After, Columns
from mercer.solvers import ComponentProblem, Components, Run, component_solver
from mercer.solvers.definite import PRODUCTS
from mercer.solvers.spectral.components import ComponentSolver, PivotedComponents

Array = NDArray[np.float64]

# The share of a time limit after which the components of a few rows are found instead, and how many
# rows these are.
SHARE_OF_ALL, LANDMARKS = 0.7, 256


class EigenFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelEstimator):
    """Features of rows from the eigenvectors of their Gram matrix, extended to new rows."""

    is_centred: ClassVar[bool]

    function_: DualFunction

    def __init__(
        self,
        kernel: Any = "gaussian",
        n_components: int | None = None,
        *,
        solver: Any = "auto",
        n_landmarks: int | None = None,
        tol: float | None = None,
        max_iter: int | None = None,
        time_limit: float | None = None,
        memory: Any = None,
        random_state: Any = None,
        gamma: float | str | None = None,
        degree: int | None = None,
        coef0: float | None = None,
    ) -> None:
        self.kernel = kernel
        self.n_components = n_components
        self.solver = solver
        self.n_landmarks = n_landmarks
        self.tol = tol
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.memory = memory
        self.random_state = random_state
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0

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
        _refuse_number(self.kernel)
        run, kernel = Run(self.time_limit), self._kernel_for(X)
        X = checked_unlabelled(self, kernel, X)
        kernel = kernel.resolved(X)
        kernel = recentred(kernel, X) if self.is_centred else kernel
        most = _whole("n_components", self.n_components)
        most = None if most is None else min(most, n_rows(X))
        unheld = unheld_gram_of(kernel, X, self.memory)
        solver = component_solver(
            self.solver,
            unheld,
            most,
            _whole("n_landmarks", self.n_landmarks),
            _tolerance(self.tol),
            _whole("max_iter", self.max_iter),
            checked_seed(self.random_state) or 0,
        )
        problem = ComponentProblem(len(unheld), most, self.is_centred)
        # What is left of the time is for the components of a few rows.
        first = run.share(SHARE_OF_ALL)
        gram = first.attempt(partial(self._looked_at, kernel, X, unheld, solver), lambda: None)
        try:
            found = None if gram is None else solver.solve(gram, problem, first)
            if found is None or first.ended_by == "time":
                found = self._of_few_rows(unheld, problem, run)
        except IndefiniteKernelError as error:
            raise with_points(error, kernel, X) from None
        self.kernel_, self.solver_ = kernel, solver
        self._keep(found, X, run)
        return found

    def _of_few_rows(self, gram: Gram, problem: ComponentProblem, run: Run) -> Components:
        """Return the components that there is time for, and warn."""
        seed = checked_seed(self.random_state) or 0
        found = PivotedComponents(min(len(gram), LANDMARKS), seed).solve(gram, problem, run)
        warn_caller(
            f"the time limit of {self.time_limit:g} s was up; the components are those of "
            f"{found.n_landmarks} rows; raise time_limit, or give n_landmarks",
            ConvergenceWarning,
        )
        return found

    def _looked_at(self, kernel: Kernel, X: Any, gram: Gram, solver: ComponentSolver) -> Gram:
        """Return the Gram matrix as a solver takes it, after the look for a witness."""
        is_again = solver.reads_all and not (gram.is_proved or kernel.is_quick)
        if solver.iterates or is_again:
            gram = gram_of(kernel, X, gram.memory)
        products = PRODUCTS if solver.reads_all else 0
        refuse_indefinite_kernel(kernel, X, gram, self.is_centred, products)
        return gram

    def fit_transform(self, X: Any, y: Any = None) -> Array:
        """Return the features of the rows `X` that they are fitted to; targets are ignored."""
        return self._found(X).scores

    def transform(self, X: Any) -> Array:
        """Return the features of the rows `X`, of shape (n, components)."""
        X = checked_rows(self, X)
        return self.function_(X)

    def _keep(self, found: Components, X: Any, run: Run) -> None:
        rows, A = X, found.coefficients
        if self.kernel_.is_precomputed:
            # Every column of the matrix belongs to a training row, used or not.
            A = found.dense_coefficients
        elif found.index is not None:
            rows = take_rows(X, found.index)
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


class KernelPCA(EigenFeatures):
    """Principal components of the features of a kernel: CKC = V diag(s) V', C = I - 11'/n.

    The component j of a row x is sum_i A_ij (k(x, x_i) - mean_l k(x_l, x_i)) with A = V / sqrt(s),
    which is sqrt(s_j) V_ij at the training row i. Each column of V has its largest entry positive.

    Parameters
    ----------
    kernel : Kernel, str or callable
        k: a kernel of any domain, an expression, a name of scikit-learn, or a function.
        ``"auto"`` is the `mercer.default_kernel` of the training rows.
    n_components : int, optional
        How many components; by default all whose eigenvalue is not zero.
    solver : {"auto", "dense", "iterative", "pivots"} or solver
        ``"dense"`` is exact and holds the Gram matrix; ``"iterative"`` finds a few components by
        products with it, which need not fit into memory; ``"pivots"`` takes them from a low-rank
        copy of it, made of `n_landmarks` rows. ``"auto"`` takes ``"pivots"`` if `n_landmarks` is
        given, else ``"iterative"`` for fewer than 10 components of more than 200 rows.
    n_landmarks : int, optional
        Rows chosen for ``"pivots"``.
    fit_inverse_transform : bool
        Whether `fit` learns the way back that `inverse_transform` takes.
    alpha : float
        The ridge of the way back.
    tol : float, optional
        Relative accuracy of eigenvalues that are iterated for, that of float64 by default.
    max_iter : int, optional
        Restarts allowed for ``"iterative"``.
    time_limit : float, optional
        Seconds after which the components of a few rows chosen at random stand in for those of
        all, with a warning.
    memory : int or str, optional
        The limit for the Gram matrix, in bytes or as ``"4GB"``; a share of the free memory by
        default.
    random_state : int, RandomState or None
        Where the first vector of ``"iterative"`` and the rows of ``"pivots"`` come from; None is
        always the same seed.
    gamma, degree, coef0 : optional
        Parameters of a kernel given by a name of scikit-learn, with the meaning and the defaults
        that they have there.

    Attributes
    ----------
    eigenvalues_ : array of shape (components,)
        s in descending order.
    eigenvectors_ : array of shape (n, components)
        V.
    kernel_ : Kernel
        k with numbers for parameters.
    function_ : Function
        The components as functions of a row; `X_fit_` is a part of it.
    X_fit_ : rows
        The training rows that new rows are compared with.
    solver_ : solver
        What ran.
    n_iter_ : int
        Its products with the Gram matrix, 1 for a solver that does not iterate.
    inverse_ : KernelRidge
        The way back, if it was asked for.
    n_features_in_, feature_names_in_
        The columns seen in `fit`.

    Notes
    -----
    Of a kernel that is not proved to be positive semi-definite the Gram matrix is looked at, and
    refused with a witness if CKC has a negative eigenvalue beyond rounding.

    The way back is kernel ridge regression of the rows on their components, without an offset, by
    the same kernel; a length scale ``"median"`` is the median distance of the components.

    References
    ----------
    G. H. Bakir, J. Weston, B. Schoelkopf (2004), Learning to find pre-images.
    """

    is_centred: ClassVar[bool] = True

    def __init__(
        self,
        kernel: Any = "gaussian",
        n_components: int | None = None,
        *,
        solver: Any = "auto",
        n_landmarks: int | None = None,
        fit_inverse_transform: bool = False,
        alpha: float = 1.0,
        tol: float | None = None,
        max_iter: int | None = None,
        time_limit: float | None = None,
        memory: Any = None,
        random_state: Any = None,
        gamma: float | str | None = None,
        degree: int | None = None,
        coef0: float | None = None,
    ) -> None:
        super().__init__(
            kernel,
            n_components,
            solver=solver,
            n_landmarks=n_landmarks,
            tol=tol,
            max_iter=max_iter,
            time_limit=time_limit,
            memory=memory,
            random_state=random_state,
            gamma=gamma,
            degree=degree,
            coef0=coef0,
        )
        self.fit_inverse_transform = fit_inverse_transform
        self.alpha = alpha

    def inverse_transform(self, X: Any) -> Array:
        """Return about the rows that have the components `X`, of shape (n, columns).

        Parameters
        ----------
        X : array of shape (n, components)
            Components, as `transform` returns them.
        """
        check_is_fitted(self)
        if not hasattr(self, "inverse_"):
            raise NotFittedError(
                "inverse_transform needs what fit learns with fit_inverse_transform=True; set it "
                "and fit again"
            )
        return np.asarray(self.inverse_.predict(X))

    def _keep(self, found: Components, X: Any, run: Run) -> None:
        super()._keep(found, X, run)
        self.eigenvalues_ = found.values
        self.__dict__.pop("inverse_", None)
        if self.fit_inverse_transform:
            _refuse_no_components(found, self.kernel_)
            kernel = _on_components(self._kernel_for(X), self.kernel_)
            model = KernelRidge(
                kernel,
                self.alpha,
                fit_intercept=False,
                time_limit=self.time_limit,
                memory=self.memory,
            )
            self.inverse_ = model.fit_within(run, found.scores, _numbers(X))


def _refuse_no_components(found: Components, kernel: Kernel) -> None:
    """Refuse rows without components, from which nothing could be predicted."""
    if not found.values.size:
        raise ValueError(
            "fit_inverse_transform predicts the rows from their components, and these rows have "
            f"none, since they are all the same to {kernel!r}; leave it out, or give rows that "
            "differ"
        )


def _on_components(given: Kernel, kernel: Kernel) -> Kernel:
    """Return the kernel that compares components: the same, a median distance that of these."""
    if kernel.is_precomputed or _reads_columns(kernel):
        raise ValueError(
            "fit_inverse_transform compares components by the same kernel, and "
            f"{kernel!r} is made for the columns of the rows or for a Gram matrix; give rows of "
            "numbers, scaled before, and a kernel of all their columns"
        )
    rules = [name for name, value in given.get_params().items() if value == "median"]
    return kernel.with_params(**dict.fromkeys(rules, "median"))


def _reads_columns(kernel: Kernel) -> bool:
    """Whether some part of a kernel knows which columns it reads, or how they are scaled."""
    return isinstance(kernel, Columns | After) or any(map(_reads_columns, kernel.parts))


def _numbers(X: Any) -> Array:
    """Return rows as the targets of a regression, or refuse what is no array of numbers."""
    try:
        matrix = as_matrix(X)
    except (TypeError, ValueError):
        raise ValueError(
            "fit_inverse_transform predicts the rows from their components, which is possible for "
            "rows of numbers only, not for texts, sequences or categories; leave it out"
        ) from None
    return np.asarray(matrix if isinstance(matrix, np.ndarray) else matrix.toarray())


def _refuse_number(kernel: Any) -> None:
    """Refuse what was meant as the number of components: the first argument is the kernel."""
    if isinstance(kernel, Real) and not isinstance(kernel, bool):
        raise TypeError(
            f"kernel must be a Kernel, a name, an expression or a function, got {kernel!r}; the "
            f"number of components is given by its name, n_components={kernel!r}"
        )


def _whole(name: str, value: Any) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        raise ValueError(f"{name} must be a whole number of at least 1 or None, got {value!r}")
    return int(value)


def _tolerance(tol: Any) -> float:
    if tol is None:
        return 0.0
    if isinstance(tol, bool) or not isinstance(tol, Real) or not 0.0 <= float(tol) < 1.0:
        raise ValueError(f"tol must be a number from 0 to below 1, got {tol!r}")
    return float(tol)
