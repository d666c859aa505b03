"""What the automatic machines share: their parameters, and the model that they fit last."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from mercer.data.ranges import Levels, Ranges
from mercer.estimators.estimator import Arguments, tag_rows
from mercer.selection.automatic.ranges import warn_outside, warn_unknown, warn_unseen
from mercer.solvers import Approximation

Array = NDArray[np.float64]


@dataclass(eq=False, repr=False)
class AutomaticMachine(Arguments):
    """An estimator that chooses another one and predicts by it.

    The parameters are those of `KernelRegressor`.
    """

    _: KW_ONLY
    time_limit: float | None = None
    memory: Any = None
    random_state: Any = None
    keep: Any = ()

    estimator_: Any = field(init=False)
    ranges_: Ranges | None = field(init=False)
    levels_: Levels | None = field(init=False)

    @property
    def certificate_(self) -> Any:
        """What the solver proves of `estimator_`."""
        return self._fitted().certificate_

    @property
    def approximation_(self) -> Approximation | None:
        """What landmarks leave out of the matrix of `estimator_`; None of an exact fit."""
        found: Approximation | None = self._fitted().approximation_
        return found

    @property
    def function_(self) -> Any:
        """The fitted function, that of `estimator_`."""
        return self._fitted().function_

    def gradient(self, X: Any) -> Array:
        """Return the gradient of f by its input at the rows `X`, as that of `estimator_` does.

        Parameters
        ----------
        X : rows
            Where to differentiate.

        Returns
        -------
        array of shape (n, columns), or (n, columns, targets) if there are several
        """
        return np.asarray(self._fitted(X).gradient(X))

    def _fitted(self, X: Any = None) -> Any:
        """Return the model, after a look at rows that it is to predict."""
        check_is_fitted(self, "estimator_")
        warn_outside(self.ranges_, X)
        warn_unseen(self.levels_, X)
        warn_unknown(self.estimator_.function_, X)
        return self.estimator_

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tag_rows(tags, [])
        return tags
