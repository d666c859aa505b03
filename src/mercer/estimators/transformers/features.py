"""Features by which a linear model is about a kernel machine: of landmarks, and of random waves."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags

from mercer.data.columns import column_values, is_table, n_rows
from mercer.data.limits.memory import lacking, memory_limit
from mercer.data.stream import some_rows, stream_of
from mercer.errors import MemoryLimitError
from mercer.estimators.estimator import KernelEstimator
from mercer.estimators.refusals import refuse_indefinite_kernel
from mercer.estimators.validation import (
    checked_landmarks,
    checked_rows,
    checked_seed,
    checked_unlabelled,
)
from mercer.features import FeatureMap, LandmarkMap, fourier_map, landmark_map
from mercer.gram import LandmarkGram, unheld_gram_of
from mercer.gram.gram import check_fits
from mercer.gram.landmarks import SAMPLE
from mercer.gram.pivots import chosen_landmarks
from mercer.solvers import Approximation, Run

Array = NDArray[Any]


class MappedFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelEstimator):
    """Features of rows by a feature map that was fitted to others."""

    map_: FeatureMap

    def transform(self, X: Any) -> Array:
        """Return the features of the rows `X`, of shape (n, features); float32 where `X` is."""
        dtype = np.float32 if _is_single(X) else np.float64
        X = checked_rows(self, X)
        check_fits((n_rows(X), self.map_.n_features), dtype, memory_limit(self._room))
        return np.asarray(self.map_(X, dtype))

    @property
    def _n_features_out(self) -> int:
        return self.map_.n_features

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


@dataclass(eq=False, repr=False)
class Nystroem(MappedFeatures):
    """Features phi(x) = L^-1 k(Z, x) of landmarks Z, with L L' = k(Z, Z), for any kernel.

    Their inner products phi(x)'phi(z) = k(x, Z) k(Z, Z)^-1 k(Z, z) are k(x, z) at the landmarks and
    about that elsewhere; `approximation_` says how nearly. A linear model of them is a kernel
    machine by landmarks.

    Parameters
    ----------
    kernel : Kernel, str or callable
        k: a kernel of any domain, an expression, a name of scikit-learn, or a function.
        ``"auto"`` is the `mercer.default_kernel` of the training rows.
    n_components : int
        How many landmarks are chosen, at most as many as there are rows. There are fewer features,
        `n_components_` of them, where landmarks are superfluous to rounding: copies of others, or
        more than the numerical rank of the kernel on the rows. scikit-learn's transformer has as
        many columns as are asked for, of which some then are combinations of others.
    landmarks : {"rpcholesky", "uniform", "kmeans"} or rows
        How they are chosen: by randomly pivoted Cholesky, all rows alike, or the centres of
        clusters; or the landmarks themselves, all of them whatever `n_components` is.
    memory : int or str, optional
        The limit for the features, in bytes or as ``"4GB"``; a share of the free memory by default.
    random_state, gamma, degree, coef0
        As of `KernelRidge`.

    Attributes
    ----------
    map_ : LandmarkMap
        phi.
    n_components_ : int
        How many features there are.
    components_ : rows
        The landmarks, those that are superfluous left out.
    approximation_ : Approximation
        The share of the trace of K that the landmarks leave.
    kernel_ : Kernel
        k with numbers for parameters.
    n_features_in_, feature_names_in_
        The columns seen in `fit`.

    References
    ----------
    C. Williams and M. Seeger (2001), Using the Nystrom method to speed up kernel machines.
    Y. Chen, E. Epperly, J. Tropp and R. Webber (2023), Randomly pivoted Cholesky.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Nystroem
    >>> X = np.linspace(0.0, 1.0, 50)[:, None]
    >>> Nystroem("gaussian", n_components=4).fit_transform(X).shape
    (50, 4)
    """

    kernel: Any = "gaussian"
    n_components: int = 100
    _: KW_ONLY
    landmarks: Any = "rpcholesky"
    memory: Any = None
    random_state: Any = None
    gamma: float | str | None = None
    degree: int | None = None
    coef0: float | None = None

    map_: LandmarkMap = field(init=False)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Choose landmarks among the rows `X`; targets are ignored.

        Parameters
        ----------
        X : rows
            An array, CSR matrix, table or list of sequences; the path of a file, or a function that
            returns an iterator of blocks.
        y : None
            Ignored.
        """
        self._tell_of_memory()
        X = stream_of(X)
        kernel = self._kernel_for(X)
        if kernel.is_precomputed:
            raise ValueError(
                "Nystroem compares rows with landmarks, and kernel='precomputed' has no rows; use "
                "MercerMap or KernelPCA with solver='nystrom'"
            )
        checked = checked_unlabelled(self, kernel, X)
        X, self.kernel_ = checked.X, kernel.resolved(checked)
        # No products with the Gram matrix of all rows, which is not read either.
        some = some_rows(X)
        refuse_indefinite_kernel(self.kernel_, some, unheld_gram_of(self.kernel_, some), products=0)
        run = Run()
        run.enter(f"Nystroem: choosing landmarks among {n_rows(X)} rows")
        rows = self._chosen(X)
        run.enter(f"factor of {n_rows(rows)} landmarks")
        needed, limit = 8 * n_rows(rows) ** 2, memory_limit(self._room)
        if needed > limit:
            raise MemoryLimitError(
                f"the factor of {n_rows(rows)} landmarks needs {lacking(needed, limit)}; raise "
                "memory=, or use fewer landmarks"
            )
        self.map_, _ = landmark_map(self.kernel_, rows)
        m, kept = n_rows(rows), self.n_components_
        said = f"{m} landmarks" if kept == m else f"{kept} of {m} landmarks, as others add nothing,"
        run.enter(f"what {said} leave of the kernel")
        left = LandmarkGram(self.map_, X, self._room).trace_residual()
        self.approximation_ = Approximation(left, self.map_.n_features, min(n_rows(X), SAMPLE))
        return self

    def _chosen(self, X: Any) -> Any:
        """Return the landmarks that are given, or chosen among checked rows."""
        if not isinstance(self.landmarks, str):
            return checked_landmarks(self, self.kernel_, self.landmarks)
        m = _whole(self.n_components)
        seed = checked_seed(self.random_state) or 0
        count = min(m, n_rows(X))
        return chosen_landmarks(self.kernel_, X, count, self.landmarks, seed, self._room)

    @property
    def n_components_(self) -> int:
        """How many features there are."""
        return self.map_.n_features

    @property
    def components_(self) -> Any:
        """The landmarks."""
        return self.map_.rows


@dataclass(eq=False, repr=False)
class RandomFourier(MappedFeatures):
    """Cosines and sines of random frequencies, for stationary kernels: k(x, z) on average.

    By Bochner's theorem k(x, z) = k(x, x) E cos(w'(x - z)) over the spectral density of k. With p
    frequencies w_j the features sqrt(k(x, x) / p) (cos w_j'x, sin w_j'x) have inner products of
    that mean, and an error of about 1 / sqrt(p). The frequencies are orthogonal to each other, as
    many at a time as there are columns, which makes it smaller.

    Sums, products, powers and multiples of stationary kernels are taken, on any columns and after
    any map; what has no spectral density is refused, and has landmarks by `Nystroem`.

    Parameters
    ----------
    kernel : Kernel, str or callable
        k, made of Gaussian, exponential, Laplacian, Matern, rational quadratic, inverse
        multiquadric and periodic kernels and constants.
    n_components : int
        How many features: a cosine and a sine for every frequency, and a shifted cosine for the
        last one of an odd number.
    memory : int or str, optional
        The limit for the features, in bytes or as ``"4GB"``; a share of the free memory by default.
    random_state, gamma, degree, coef0
        As of `KernelRidge`.

    Attributes
    ----------
    map_ : FourierMap
        The map of rows to features.
    kernel_ : Kernel
        k with numbers for parameters.
    n_features_in_, feature_names_in_
        The columns seen in `fit`.

    References
    ----------
    A. Rahimi and B. Recht (2007), Random features for large-scale kernel machines.
    F. Yu, A. Suresh, K. Choromanski, D. Holtmann-Rice and S. Kumar (2016), Orthogonal random
    features.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Gaussian, RandomFourier
    >>> X = np.array([[0.0], [1.0]])
    >>> F = RandomFourier(Gaussian(1.0), n_components=2000).fit_transform(X)
    >>> print((F @ F.T)[0, 1].round(1), Gaussian(1.0)(X)[0, 1].round(1))
    0.6 0.6
    """

    kernel: Any = "gaussian"
    n_components: int = 100
    _: KW_ONLY
    memory: Any = None
    random_state: Any = None
    gamma: float | str | None = None
    degree: int | None = None
    coef0: float | None = None

    def fit(self, X: Any, y: Any = None) -> Self:
        """Draw frequencies for rows such as `X`; targets are ignored.

        Parameters
        ----------
        X : rows
            An array, CSR matrix or table; the path of a file, or a function that returns an
            iterator of blocks.
        y : None
            Ignored.
        """
        self._tell_of_memory()
        X = stream_of(X)
        kernel = self._kernel_for(X)
        rows = checked_unlabelled(self, kernel, X)
        self.kernel_ = kernel.resolved(rows)
        seed, count = checked_seed(self.random_state) or 0, _whole(self.n_components)
        Run().enter(f"RandomFourier: drawing frequencies of {count} features")
        # Texts have no columns, and no frequencies either.
        columns = getattr(self, "n_features_in_", 1)
        check_fits((count, columns), np.float64, memory_limit(self._room))
        self.map_ = fourier_map(self.kernel_, some_rows(rows.X), count, seed)
        return self


def _is_single(X: Any) -> bool:
    """Whether rows are numbers in float32, all of them."""
    if is_table(X):
        return all(np.asarray(column).dtype == np.float32 for _, column in column_values(X))
    return getattr(X, "dtype", None) == np.float32


def _whole(n_components: Any) -> int:
    is_whole = isinstance(n_components, int | np.integer) and not isinstance(n_components, bool)
    if not is_whole or n_components < 1:
        raise ValueError(f"n_components must be a whole number of at least 1, got {n_components!r}")
    return int(n_components)
