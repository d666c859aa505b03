"""A report: its parts put together to a page."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any
from warnings import catch_warnings, filterwarnings

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from mercer import __version__
from mercer.data.columns import n_rows, take_rows
from mercer.data.replaced import replace_file, unwritten
from mercer.errors import DataFileError
from mercer.estimators.validation import checked_weights
from mercer.native import describe
from mercer.native.lapack import one_blas_thread
from mercer.reports.page import sections
from mercer.reports.page.again import again
from mercer.reports.page.columns import columns, effects, texts
from mercer.reports.page.facts import Facts
from mercer.reports.page.performance import performance, summary
from mercer.reports.page.source import Source
from mercer.reports.page.warnings import warnings


@dataclass(frozen=True, eq=False, repr=False)
class Report:
    """A page about a model, which notebooks show and `save` writes.

    Parameters
    ----------
    html : str
        The page; it asks for nothing outside of itself.
    """

    html: str

    def save(self, path: Any) -> None:
        """Write the page to a file."""
        folder = Path(path).resolve().parent
        if not folder.is_dir():
            raise DataFileError(
                f"{path} cannot be written: there is no folder {folder}; make it first"
            )
        try:
            replace_file(Path(path), [self.html.encode()])
        except OSError as error:
            raise DataFileError(unwritten(Path(path), error)) from None

    def __repr__(self) -> str:
        return f"Report of {len(self.html)} characters; save(path) writes it, a notebook shows it"

    def _repr_html_(self) -> str:
        page = escape(self.html, quote=True)
        return f'<iframe srcdoc="{page}" style="width:100%;height:800px;border:0"></iframe>'


def report(
    model: Any, X: Any = None, y: Any = None, path: Any = None, *, sample_weight: Any = None
) -> Report:
    """Return a page about a fitted model and how it does on rows that it was not fitted to.

    Without targets nothing is tested, and without rows the model is looked at from those that it
    keeps, where it keeps some: training rows, support vectors or landmarks.

    Parameters
    ----------
    model : estimator
        A fitted regression or classification model.
    X, y : rows, array of shape (n,), optional
        Held-out rows and their targets.
    path : str or path, optional
        Where to write the page.
    sample_weight : array of shape (n,), optional
        The weights of the held-out rows in the scores.
    """
    name = getattr(y, "name", None)
    page = page_of(facts_of(model, X, y, sample_weight), Source("" if name is None else str(name)))
    if path is not None:
        page.save(path)
    return page


def facts_of(model: Any, X: Any = None, y: Any = None, sample_weight: Any = None) -> Facts:
    """Return what a page is made of, and refuse what none can be about; see `report`."""
    if not hasattr(model, "predict"):
        raise ValueError(f"{type(model).__name__} predicts nothing; give a fitted model")
    targets = None if y is None else _targets(model, X, y)
    weights = None if sample_weight is None else checked_weights(sample_weight, n_rows(X))
    facts = Facts(model, X, targets, weights)
    _check(facts)
    return facts


def page_of(facts: Facts, source: Source) -> Report:
    """Return the page about a model.

    Parameters
    ----------
    facts : Facts
        The model, and what is found out about it.
    source : Source
        Where its rows came from.
    """
    with looking():
        return Report(_page(facts, source))


@contextmanager
def looking() -> Iterator[None]:
    """Have a model looked at by one thread and without warnings that say nothing here."""
    # Matrices of few thousand rows gain little by threads, which on a busy machine wait for each
    # other for many times as long as they compute.
    with one_blas_thread(), catch_warnings():
        # A matrix of training rows has no names, and its columns are those that the model knows.
        filterwarnings("ignore", "X does not have valid feature names")
        yield


def _targets(model: Any, X: Any, y: Any) -> NDArray[Any]:
    """Return the targets of held-out rows, one for each."""
    if X is None:
        raise ValueError("y are the targets of held-out rows X, and there are none; give both")
    y = np.asarray(y.to_numpy() if hasattr(y, "to_numpy") else y)
    if y.ndim != 1 or len(y) != n_rows(X):
        raise ValueError(f"y must have one target for each of {n_rows(X)} rows, got {y.shape}")
    if hasattr(model, "classes_"):
        unknown = np.setdiff1d(y, model.classes_)
        if len(unknown):
            raise ValueError(
                f"y has the class {unknown.tolist()[0]!r}, which the model does not know; it knows "
                f"{model.classes_.tolist()}"
            )
    return y


def _check(facts: Facts) -> None:
    """Refuse what a page cannot be about."""
    if facts.X is not None and n_rows(facts.X) == 0:
        raise ValueError("a report needs rows to test the model on, and X has none")
    if facts.rows is None:
        check_is_fitted(facts.model)
    f = facts.function
    if f is not None and f.kernel.is_precomputed:
        raise ValueError(
            "a report is about rows and a kernel, and this model was fitted to a finished Gram "
            "matrix; fit it to rows"
        )
    if _has_several_targets(facts):
        raise ValueError("a report is about one target, and this model predicts several")


def _has_several_targets(facts: Facts) -> bool:
    if facts.X is not None:
        return np.ndim(facts.model.predict(take_rows(facts.X, slice(0, 1)))) != 1
    return not facts.is_classes and facts.function is not None and facts.function.n_targets > 1


def _page(facts: Facts, source: Source) -> str:
    title = f"{source.target or type(facts.model).__name__}: report"
    engine = describe()
    foot = (
        f"mercer {__version__}, {engine['engine']} engine, Python {platform.python_version()}, "
        f"{date.today().isoformat()}"
    )
    parts = [
        summary(facts, source.target, source.held_out),
        warnings(facts, source.cautions),
        performance(facts),
        columns(facts, source.remarks),
        effects(facts),
        texts(facts),
        sections.kernel(facts),
        sections.selection(facts),
        sections.similarity(facts),
        sections.influential(facts, source.rows),
        sections.certificate(facts),
        again(facts, source),
    ]
    style = files("mercer.reports.page").joinpath("style.css").read_text(encoding="utf-8")
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        # Without an icon of its own a browser asks for one where the page came from.
        '<link rel="icon" href="data:,">'
        f"<title>{escape(title)}</title><style>{style}</style></head><body><main>"
        f'{"".join(parts)}<footer class="muted">{escape(foot)}</footer></main></body></html>'
    )
