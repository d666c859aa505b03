"""An estimator that chooses another one and stands in for it."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from mercer.data.columns import is_matrix
from mercer.estimators.estimator import Arguments, beside
from mercer.estimators.fitted import warn_of_landmarks
from mercer.estimators.score import Classification
from mercer.estimators.validation import checked_landmarks, checked_seed
from mercer.kernels import Kernel
from mercer.planning import Plan, Settings
from mercer.selection.grid import candidates, tag_kernels
from mercer.selection.results import Candidates

Array = NDArray[np.float64]


@dataclass(eq=False, repr=False)
class Chosen(Arguments):
    """An estimator that delegates fitted attributes to the chosen estimator ``best_estimator_``.

    It takes the rows that its ``kernels`` take. To train the model further is not for whoever chose
    it: ``partial_fit`` would leave the choice behind.
    """

    # A solver that takes no landmarks, whatever the number of rows.
    exact: ClassVar[str]

    kernels: Any = None
    _: KW_ONLY
    fit_intercept: bool = True
    solver: Any = "auto"
    n_landmarks: int | None = None
    landmarks: Any = "rpcholesky"
    memory: Any = None
    time_limit: float | None = None
    random_state: Any = None
    gamma: float | str | None = None
    degree: int | None = None
    coef0: float | None = None

    best_estimator_: Any = field(init=False)
    cv_results_: dict[str, Any] = field(init=False)

    @property
    def candidates_(self) -> Candidates:
        """Every kernel with its best penalty, best first."""
        return Candidates.of(self.cv_results_)

    def __getattr__(self, name: str) -> Any:
        model = self.__dict__.get("best_estimator_")
        if model is None or name.startswith("__") or name == "partial_fit":
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(model, name)

    def plan(self, X: Any, y: Any = None) -> Plan:
        """Return what `fit` would do with the rows `X`: its last solver, memory, time, and why.

        Nothing of the size of a Gram matrix is allocated. The time is that of the search and of
        the fit of what it chooses. Print it to read it.

        Parameters
        ----------
        X : rows
            The training rows.
        y : array, optional
            Their targets or labels; without them there is one target, or there are two classes.
        """
        X, y, _ = self._opened(X, y)
        return clone(self)._planned(candidates(self.kernels, X, beside(self)), X, y)

    @abstractmethod
    def _planned(self, kernels: list[Kernel], X: Any, y: Any) -> Plan:
        """Return the plan of a search among kernels."""

    def _show_columns(self, model: Any) -> None:
        """Note on a model the columns that were seen in `fit`."""
        for name in ("n_features_in_", "feature_names_in_"):
            if name in vars(self):
                setattr(model, name, vars(self)[name])

    def _settings(self, reader: Kernel) -> Settings:
        """Return what was said about how to solve, with landmarks checked like training rows."""
        return Settings(
            self.solver,
            seed=checked_seed(self._seed),
            memory=self._room,
            n_landmarks=self.n_landmarks,
            landmarks=checked_landmarks(self, reader, self.landmarks),
            time_limit=self.time_limit,
        )

    @property
    def _seed(self) -> Any:
        """Where random numbers come from."""
        return self.random_state

    def _warn_of_landmarks(self, rows: int) -> None:
        """Warn if all rows were too many to choose on, and landmarks stand for them unasked."""
        model = self.best_estimator_
        given = Settings(
            self.solver,
            n_landmarks=self.n_landmarks,
            landmarks=self.landmarks,
            time_limit=self.time_limit,
        )
        is_named = isinstance(model.solver, str) and model.solver == "nystrom"
        is_taken = is_named and model.approximation_ is not None
        if given.is_open and not given.has_landmarks and is_taken:
            choosing = f"an exact choice on {rows} rows"
            warn_of_landmarks(choosing, given, model.approximation_, self.exact)

    def _expected(self, X: Any) -> Any:
        """Return rows to predict at, if they have the columns that this estimator was fitted to."""
        check_is_fitted(self)
        if not is_matrix(X):
            return X
        expected = getattr(self, "n_features_in_", X.shape[1])
        if X.shape[1] != expected:
            raise ValueError(
                f"X has {X.shape[1]} features, but {type(self).__name__} is expecting {expected} "
                "features as input"
            )
        if X.shape[0] == 0:
            raise ValueError(
                f"Found array with 0 sample(s) (shape={X.shape}) while a minimum of 1 is required "
                f"by {type(self).__name__}"
            )
        return X

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tag_kernels(tags, self.kernels)
        return tags


class ChosenClassifier(Classification, Chosen):
    """A classifier that chooses another one and predicts by it."""

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of every row of `X`, as the chosen estimator does."""
        X = self._expected(X)
        return np.asarray(self.best_estimator_.predict(X))

    def predict_proba(self, X: Any) -> Array:
        """Return the probabilities of the classes at the rows `X`, of shape (n, classes)."""
        X = self._expected(X)
        return np.asarray(self.best_estimator_.predict_proba(X))

    def decision_function(self, X: Any) -> Array:
        """Return f(x) + b at the rows `X`: shape (n,), or (n, classes) if there are more."""
        X = self._expected(X)
        return np.asarray(self.best_estimator_.decision_function(X))
