"""Kernel principal components."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from mercer.data.checks import as_matrix
from mercer.estimators.ridge import KernelRidge
from mercer.estimators.transformers.eigen import EigenFeatures
from mercer.kernels import Kernel
from mercer.kernels.kernel import After, Columns
from mercer.solvers import Components, Run

Array = NDArray[np.float64]


@dataclass(eq=False, repr=False)
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
    solver : {"auto", "dense", "iterative", "nystrom"} or solver
        ``"dense"`` is exact and holds the Gram matrix; ``"iterative"`` finds a few components by
        products with it, which need not fit into memory; ``"nystrom"`` takes them from a low-rank
        copy of it, made of landmarks. ``"auto"`` takes ``"nystrom"`` if `n_landmarks` or landmarks
        are given, else ``"iterative"`` for fewer than 10 components of more than 200 rows. Where
        that is counted to take more than a minute, or `time_limit`, it takes landmarks and warns.
    n_landmarks : int, optional
        How many landmarks ``"nystrom"`` has; by default ten times the root of the number of rows.
    landmarks : {"rpcholesky", "uniform", "kmeans"} or rows
        How they are chosen, as of `KernelRidge`.
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
    random_state : int, RandomState or None
        Where the first vector of ``"iterative"`` and the landmarks come from; None is
        always the same seed.
    memory, gamma, degree, coef0
        As of `KernelRidge`.

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
    approximation_ : Approximation or None
        What landmarks leave of the kernel.
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

    _: KW_ONLY
    fit_inverse_transform: bool = False
    alpha: float = 1.0

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

    def _keep(self, found: Components, X: Any, rows: Any, run: Run) -> None:
        super()._keep(found, X, rows, run)
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
