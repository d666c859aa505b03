"""An estimator that chooses another one and stands in for it."""

from __future__ import annotations

from typing import Any

from sklearn.utils import Tags

from mercer.estimators.arguments import Arguments
from mercer.selection.grid import tag_rows


class Chosen(Arguments):
    """An estimator that delegates fitted attributes to the chosen estimator ``best_estimator_``.

    It takes the rows that its ``kernels`` take.
    """

    kernels: Any

    def __getattr__(self, name: str) -> Any:
        model = self.__dict__.get("best_estimator_")
        if model is None or name.startswith("__"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(model, name)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tag_rows(tags, self.kernels)
        return tags
