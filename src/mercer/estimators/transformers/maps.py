"""Feature maps: the eigenfunctions of a kernel, and the monomials of the polynomial kernel."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data

from mercer.data.checks import Matrix
from mercer.data.layout import check_entries
from mercer.data.limits.memory import memory_limit
from mercer.estimators.estimator import Arguments
from mercer.estimators.transformers.eigen import EigenFeatures
from mercer.gram.gram import check_fits
from mercer.kernels import Polynomial
from mercer.kernels.monomials import Expansion
from mercer.solvers import Components, Run

Array = NDArray[np.float64]


class MercerMap(EigenFeatures):
    """The features sqrt(s_j) v_j of a kernel by its eigenvectors K v_j = s_j v_j, for any row.

    Mercer writes k(x, z) = sum_j l_j e_j(x) e_j(z) with the eigenvalues l_j and eigenfunctions e_j
    of the integral operator f -> E[k(., X) f(X)]. With n rows drawn like X, l_j is about s_j / n
    and e_j(x) about sqrt(n) / s_j sum_i k(x, x_i) v_ij (Nystrom). The features are
    sqrt(l_j) e_j(x); with all components their inner products on the training rows are K.

    Parameters
    ----------
    kernel : Kernel, str or callable
        k: a kernel of any domain, an expression, a name of scikit-learn, or a function.
        ``"auto"`` is the `mercer.default_kernel` of the training rows.
    n_components : int, optional
        How many features; by default all whose eigenvalue is not zero.
    solver, n_landmarks, landmarks, tol, max_iter, time_limit, memory, random_state
        As of `KernelPCA`.
    gamma, degree, coef0 : optional
        As of `KernelRidge`.

    Attributes
    ----------
    eigenvalues_ : array of shape (components,)
        l = s / n in descending order: those of the integral operator.
    eigenvectors_ : array of shape (n, components)
        V, each column with its largest entry positive.
    kernel_ : Kernel
        k with numbers for parameters.
    function_ : Function
        The features as functions of a row; `X_fit_` is a part of it.
    X_fit_, approximation_, solver_, n_iter_
        As of `KernelPCA`.
    n_features_in_, feature_names_in_
        The columns seen in `fit`.

    Notes
    -----
    Of a kernel that is not proved to be positive semi-definite the Gram matrix is looked at, and
    refused with a witness if it has a negative eigenvalue beyond rounding.

    Eigenvalues and eigenfunctions are those of the rows given, and come as near to those of the
    operator as the mean over the rows to the expectation. Rows drawn at random err by about
    1 / sqrt(n): with min(x, z) and n = 2000 uniform random numbers in [0, 1] the first five
    eigenvalues are right within two per cent in about four samples of ten, and within six in all,
    the eigenfunctions within 10 to 20 per cent. Evenly spaced rows (i - 1/2) / n, of which the
    mean is the midpoint rule, give both to five digits.
    """

    is_centred: ClassVar[bool] = False

    def eigenfunction(self, j: int, X: Any) -> Array:
        """Return e_j(x) at the rows `X`, for j = 0, 1, ...; its mean square over X_fit_ is 1.

        Parameters
        ----------
        j : int
            Which one, that of the largest eigenvalue first.
        X : rows
            Where.
        """
        check_is_fitted(self)
        m = len(self.eigenvalues_)
        if isinstance(j, bool) or not isinstance(j, int | np.integer) or not 0 <= j < m:
            raise ValueError(f"j must be a whole number from 0 to {m - 1}, got {j!r}")
        if self.eigenvalues_[j] == 0.0:
            raise ValueError(f"eigenvalue {j} is zero, so that its eigenfunction is not known")
        return np.asarray(self.transform(X)[:, j] / np.sqrt(self.eigenvalues_[j]))

    def _keep(self, found: Components, X: Any, rows: Any, run: Run) -> None:
        super()._keep(found, X, rows, run)
        self.eigenvalues_ = found.values / len(found.vectors)


@dataclass(eq=False, repr=False)
class Monomials(TransformerMixin, Arguments):
    """The monomials x_1^e_1 ... x_d^e_d up to a degree p: the features of (x'z + c)^p.

    Scaled by sqrt(p! c^e_0 / (e_0! e_1! ... e_d!)) with e_0 = p - e_1 - ... - e_d, their inner
    products are the kernel `Polynomial` (p, c). There are C(d + p, p) of them, or those of degree
    p alone, C(d + p - 1, p), if c is zero.

    Parameters
    ----------
    degree : int
        p, at least one.
    offset : float
        c, at least zero.
    scaled : bool
        Whether the monomials are scaled to make the kernel; else they are plain products.
    memory : int or str, optional
        The limit for dense features, in bytes or as ``"4GB"``; a share of the free memory by
        default.

    Attributes
    ----------
    n_output_features_ : int
        The number of monomials.
    n_features_in_, feature_names_in_
        The columns seen in `fit`.

    Notes
    -----
    Sparse rows have sparse features: a monomial is zero where one of its columns is.
    """

    degree: int = 2
    offset: float = 1.0
    scaled: bool = True
    _: KW_ONLY
    memory: Any = None

    def fit(self, X: Any, y: Any = None) -> Self:
        """Note the columns of the rows `X`; targets are ignored.

        Parameters
        ----------
        X : rows
            An array, CSR matrix or table of numbers.
        y : None
            Ignored.
        """
        self._tell_of_memory()
        kernel = Polynomial(self.degree, self.offset)
        if kernel.rule() is None:
            raise ValueError(f"offset must not be negative, got {self.offset!r}")
        check_entries(X, "X")
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32])
        self._expansion_ = Expansion.of(kernel.degree, kernel.offset, bool(self.scaled))
        self.n_output_features_ = self._expansion_.count(X.shape[1])
        return self

    def transform(self, X: Any) -> Matrix:
        """Return the monomials of the rows `X`, of shape (n, monomials), sparse if `X` is."""
        check_is_fitted(self)
        check_entries(X, "X")
        X = validate_data(self, X, reset=False, accept_sparse="csr", dtype=[np.float64, np.float32])
        if isinstance(X, np.ndarray):
            check_fits((len(X), self.n_output_features_), X.dtype, memory_limit(self._room))
        return self._expansion_(X)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the monomials as text, such as ``1``, ``age``, ``age^2``, ``age bmi``.

        Parameters
        ----------
        input_features : sequence of str, optional
            The names of the columns, by default those seen in `fit`, or x0, x1, ...
        """
        check_is_fitted(self, "n_output_features_")
        names = _check_feature_names_in(self, input_features)
        return np.array(self._expansion_.names(list(names)), dtype=object)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
