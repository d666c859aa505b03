"""Where the rows of a model came from, which a page tells its reader."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Source:
    """What is known of a model beside the model.

    Parameters
    ----------
    target : str
        What it predicts.
    command : str
        The command that made it or the page.
    remarks : tuple of str
        What a reader should know of how the training rows were read from their file.
    rows : array of shape (n,), optional
        Which rows of that file the training rows are, from 1 on.
    held_out : str
        Which rows were held out.
    cautions : tuple of str
        What a reader should know of that.
    script : str
        Python code that makes X, y, X_test and y_test, and `weights` of both where rows have some.
    """

    target: str = ""
    command: str = ""
    remarks: tuple[str, ...] = ()
    rows: NDArray[Any] | None = None
    held_out: str = ""
    cautions: tuple[str, ...] = ()
    script: str = ""
