"""A report: its parts put together to a page."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from datetime import date
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from mercer import __version__
from mercer.data.columns import n_rows, take_rows
from mercer.native import describe
from mercer.reports.page import sections
from mercer.reports.page.columns import columns, effects, texts
from mercer.reports.page.facts import Facts
from mercer.reports.page.performance import performance, summary
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
        Path(path).write_text(self.html, encoding="utf-8")

    def __repr__(self) -> str:
        return f"Report of {len(self.html)} characters; save(path) writes it, a notebook shows it"

    def _repr_html_(self) -> str:
        page = escape(self.html, quote=True)
        return f'<iframe srcdoc="{page}" style="width:100%;height:800px;border:0"></iframe>'


def report(model: Any, X: Any, y: Any, path: Any = None, *, command: str = "") -> Report:
    """Return a page about a fitted model and how it does on rows that it was not fitted to.

    Parameters
    ----------
    model : estimator
        A fitted regression or classification model.
    X, y : rows, array of shape (n,)
        Held-out rows and their targets.
    path : str or path, optional
        Where to write the page.
    command : str
        The command that made the model, if one did.
    """
    y = np.asarray(y.to_numpy() if hasattr(y, "to_numpy") else y)
    if y.ndim != 1 or len(y) != n_rows(X):
        raise ValueError(f"y must have one target for each of {n_rows(X)} rows, got {y.shape}")
    if not hasattr(model, "predict"):
        raise ValueError(f"{type(model).__name__} predicts nothing; give a fitted model")
    if hasattr(model, "classes_"):
        unknown = np.setdiff1d(y, model.classes_)
        if len(unknown):
            raise ValueError(
                f"y has the class {unknown.tolist()[0]!r}, which the model does not know; it knows "
                f"{model.classes_.tolist()}"
            )
    if n_rows(X) == 0:
        raise ValueError("a report needs rows to test the model on, and X has none")
    if np.ndim(model.predict(take_rows(X, slice(0, 1)))) != 1:
        raise ValueError("a report is about one target, and this model predicts several")
    facts = Facts(model, X, y)
    if facts.function is not None and facts.function.kernel.is_precomputed:
        raise ValueError(
            "a report is about rows and a kernel, and this model was fitted to a finished Gram "
            "matrix; fit it to rows"
        )
    page = Report(_page(facts, command))
    if path is not None:
        page.save(path)
    return page


def _page(facts: Facts, command: str) -> str:
    title = f"{type(facts.model).__name__}: report"
    engine = describe()
    foot = (
        f"mercer {__version__}, {engine['engine']} engine, Python {platform.python_version()}, "
        f"{date.today().isoformat()}"
    )
    parts = [
        summary(facts),
        warnings(facts),
        performance(facts),
        columns(facts),
        effects(facts),
        texts(facts),
        sections.kernel(facts),
        sections.selection(facts),
        sections.similarity(facts),
        sections.influential(facts),
        sections.certificate(facts),
        sections.reproduce(facts, command),
    ]
    style = files("mercer.reports.page").joinpath("style.css").read_text(encoding="utf-8")
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{style}</style></head><body><main>"
        f'{"".join(parts)}<footer class="muted">{escape(foot)}</footer></main></body></html>'
    )
