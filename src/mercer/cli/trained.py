"""The model that a command fits, and what it says of it."""

from __future__ import annotations

from dataclasses import asdict
from time import perf_counter
from typing import Any

import numpy as np

from mercer.cli.data import Job
from mercer.estimators import KernelLogisticRegression, KernelRidge
from mercer.kernels import describe_columns
from mercer.reports.held_out import Score, classification_scores, inside, regression_scores
from mercer.selection import (
    KernelClassifier,
    KernelLogisticRegressionCV,
    KernelRegressor,
    KernelRidgeCV,
)


def trained(job: Job, options: dict[str, Any]) -> Any:
    """Return a model that is fitted to a job.

    Parameters
    ----------
    job : Job
        What to learn.
    options : dict
        Those of the command.
    """
    limits = {"memory": options["memory"], "time_limit": options["time_limit"]}
    kernel = options["kernel"] or "auto"
    name = "C" if job.is_classes else "alpha"
    _check_other(options, job.is_classes)
    if options["kernel"] is None and options[name] is None:
        kind: Any = KernelClassifier if job.is_classes else KernelRegressor
        model = kind(random_state=options["seed"], **limits)
    elif options[name] is not None:
        kind = KernelLogisticRegression if job.is_classes else KernelRidge
        model = kind(kernel, options[name], **limits)
    else:
        kind = KernelLogisticRegressionCV if job.is_classes else KernelRidgeCV
        model = kind(kernel, cv=_held_out(options["select"]), **limits)
    return model.fit(job.X, job.y, sample_weight=job.weights)


def _check_other(options: dict[str, Any], is_classes: bool) -> None:
    other, task, own = (
        ("alpha", "classification", "C") if is_classes else ("C", "regression", "alpha")
    )
    if options[other] is not None:
        flag = "--C" if own == "C" else "--alpha"
        raise ValueError(f"--{other} is not for a {task}; use {flag}")


def _held_out(select: str) -> Any:
    if select in ("loo", "gcv"):
        return select
    if select.isdecimal() and int(select) >= 2:
        return int(select)
    raise ValueError(
        f"--select must be loo, gcv or a number of folds of at least 2, got {select!r}"
    )


def tested(model: Any, train: Job, test: Job) -> dict[str, Any]:
    """Return what a model is and how good it is on held-out rows, by labels."""
    began = perf_counter()
    scores = _class_scores(model, train, test) if train.is_classes else _scores(model, train, test)
    seconds = perf_counter() - began
    inner = inside(model)
    result: dict[str, Any] = {
        "rows": f"{len(train.y)} to learn from, {len(test.y)} held out",
        "columns": str(describe_columns(train.X, inner.kernel_)),
    }
    if hasattr(model, "candidates_"):
        result["candidates"] = str(model.candidates_)
    result |= {"model": type(inner).__name__, "kernel": str(inner.kernel_)}
    for name in ("alpha", "C"):
        if hasattr(inner, name):
            result[name] = getattr(inner, name)
    result |= {score.name: _entry(score) for score in scores}
    result["certificate"] = str(inner.certificate_)
    result["predict"] = f"{len(test.y) / max(seconds, 1e-9):.0f} rows a second"
    return result


def _entry(score: Score) -> dict[str, Any]:
    return {**asdict(score), "beats_baseline": score.beats_baseline}


def _scores(model: Any, train: Job, test: Job) -> list[Score]:
    mean = float(np.average(train.y, weights=train.weights))
    weights = np.ones(len(test.y)) if test.weights is None else test.weights
    return regression_scores(np.asarray(test.y, float), model.predict(test.X), mean, weights)


def _class_scores(model: Any, train: Job, test: Job) -> list[Score]:
    classes = model.classes_
    unknown = np.setdiff1d(test.y, classes)
    if len(unknown):
        raise ValueError(
            f"the held-out rows have the class {unknown.tolist()[0]!r}, which no row to learn "
            "from has; give more rows, or another --seed"
        )
    codes, labels = (np.searchsorted(classes, y) for y in (test.y, model.predict(test.X)))
    w = np.ones(len(train.y)) if train.weights is None else train.weights
    shares = np.bincount(np.searchsorted(classes, train.y), w, len(classes)) / w.sum()
    probabilities = model.predict_proba(test.X) if hasattr(model, "predict_proba") else None
    weights = np.ones(len(test.y)) if test.weights is None else test.weights
    return classification_scores(codes, labels, probabilities, shares, weights)
