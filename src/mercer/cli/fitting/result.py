"""What `mercer fit` found, as values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from mercer.cli.fitting.data import MOST_TESTED, Job
from mercer.cli.fitting.split import Split
from mercer.cli.spelling import in_options
from mercer.data.stream import Stream, some_rows
from mercer.kernels import describe_columns
from mercer.kernels.language.editable import editable
from mercer.kernels.language.outline import outline
from mercer.reports.held_out import Score, inside
from mercer.reports.page.facts import Facts
from mercer.reports.page.held_out import HeldOut
from mercer.reports.recipe import recipe_of
from mercer.selection.automatic.board import Leaderboard


def result_of(facts: Facts, judge: Any, found: Split, is_given: bool) -> dict[str, Any]:
    """Return what a model is and how good it is on held-out rows, as values of JSON.

    Parameters
    ----------
    facts : Facts
        The model with held-out rows.
    judge : estimator
        The one that chose its kernel.
    found : Split
        The rows that it learnt from, and those held out.
    is_given : bool
        Whether the user has given the kernel: what its terms say of columns is then in his words.
    """
    inner, tests, train = facts.inner, facts.tests, found.train
    assert tests is not None
    kind = "classification" if train.is_classes else "regression"
    return {
        "data": {"file": train.path, "target": train.target, "kind": kind, "task": train.task},
        "rows": {"train": len(train), "test": tests.n},
        "held_out": {"by": found.by, "rows": found.words},
        "columns": _columns(train, judge, is_given),
        "leaderboard": _leaderboard(judge),
        "notes": getattr(getattr(judge, "candidates_", None), "remarks", []),
        "model": type(inner).__name__,
        "outline": outline(inner.kernel_),
        **_recipe(inner),
        "plan": _plan(inner, train, facts.n_train or len(train)),
        **tests_of(tests),
        "certificate": str(inner.certificate_),
        "predicted_rows_per_second": round(tests.rows_per_second),
    }


def tests_of(tests: HeldOut) -> dict[str, Any]:
    """Return how good a model is on held-out rows, as values of JSON."""
    is_classes = tests.machine.is_classes
    return {
        "scores": {score.name: _entry(score) for score in tests.scores},
        **({"classes": _without_nan(tests.class_scores)} if is_classes else {}),
        **_thresholds(tests),
        "baseline": "the shares of the classes" if is_classes else "the mean",
    }


def _recipe(model: Any) -> dict[str, Any]:
    """Return the kernel with C or alpha; of a mean what each of its fits is, and its weight."""
    parts = recipe_of(model)
    if parts[0].share is None:
        return {"kernel": str(parts[0].kernel), **parts[0].penalties}
    each = [
        {
            "weight": part.share,
            "kernel": str(part.kernel),
            "outline": outline(part.kernel),
            **part.penalties,
        }
        for part in parts
    ]
    return {"kernel": str(editable(model.kernel_)), "mean": each}


def _plan(model: Any, train: Job, fitted: int) -> dict[str, Any]:
    """Return how the model was computed from so many rows, and why so."""
    n = len(train) if train.weights is None else int((train.weights > 0.0).sum())
    # A plan looks at all rows, which takes long and memory where they are many, and that of all is
    # another one where there was no time for them.
    if fitted == n <= MOST_TESTED and not isinstance(train.X, Stream):
        plan = model.plan(train.X, train.y)
        return {
            "solver": plan.solver,
            "gram": plan.gram,
            "memory": plan.memory,
            "because": in_options(plan.reason),
        }
    if model.approximation_ is None:
        some = f"{fitted} of {n} rows" if fitted < n else f"{n} rows"
        why = "there was no time for more" if fitted < n else "these are solved exactly"
        return {"solver": model.certificate_.method, "gram": some, "because": why}
    read = ", which are read block by block" if isinstance(train.X, Stream) else ""
    landmarks = f"{model.approximation_.n_landmarks} landmarks"
    return {
        "solver": "nystrom",
        "gram": "features of landmarks",
        "because": f"{landmarks} stand for {fitted} rows{read}",
    }


def _columns(train: Job, judge: Any, is_given: bool) -> list[dict[str, Any]]:
    """Return every column, what it holds and what became of it."""
    X = some_rows(train.X)
    kernel = inside(judge).kernel_
    if not hasattr(X, "columns"):
        return [{"column": f"1 to {X.shape[1]}", "holds": "sparse numbers", "becomes": "number"}]
    read = {use.column: use.is_used for use in describe_columns(X, kernel)}
    uses = describe_columns(X, editable(kernel)) if is_given else describe_columns(X)
    unread = "left out: the chosen kernel does not read it"
    return [
        {
            "column": str(use.column),
            "holds": str(use.holds),
            "missing": int(use.missing),
            "distinct": None if use.distinct is None else int(use.distinct),
            "becomes": use.becomes if read[use.column] or use.reason else unread,
            "used": bool(read[use.column]),
        }
        for use in uses
    ]


def _leaderboard(judge: Any) -> list[dict[str, Any]]:
    """Return what was tried, best first; of candidates of several rounds their last one."""
    tried = getattr(judge, "cv_results_", None)
    if tried is None:
        board = getattr(judge, "candidates_", None)
        return [] if board is None else _entries(board)
    order = np.argsort(tried["rank_test_score"], kind="stable")
    name, loss = ("alpha", "MSE") if "alpha" in tried else ("C", "log loss")
    # In units of the target, as elsewhere; GCV is a number of its own.
    is_squared = loss == "MSE" and judge.cv != "gcv"
    loss = "RMSE" if is_squared else "GCV" if judge.cv == "gcv" else loss
    has_rounds = len(np.unique(tried["n_resources"])) > 1
    entries: dict[tuple[str, float], dict[str, Any]] = {}
    # The ranks are by round from the last to the first, so the first of a candidate is its last.
    for i in order:
        kernel, penalty = str(editable(tried["kernel"][i])), float(f"{tried[name][i]:.4g}")
        if (kernel, penalty) not in entries:
            entries[kernel, penalty] = {
                "rank": len(entries) + 1,
                "kernel": kernel,
                name: penalty,
                **({"rows": int(tried["n_resources"][i])} if has_rounds else {}),
                loss: float(f"{_error(-tried['mean_test_score'][i], is_squared):.4g}"),
            }
    return list(entries.values())


def _error(loss: float, is_squared: bool) -> float:
    return math.sqrt(loss) if is_squared else loss


def _entries(board: Leaderboard) -> list[dict[str, Any]]:
    return [
        {
            "rank": rank,
            "kernel": candidate.name,
            "scored_by": candidate.scored_by,
            "rows": candidate.rows,
            board.measure: float(f"{candidate.score:.4g}"),
            "seconds": round(float(candidate.seconds), 1),
        }
        for rank, candidate in enumerate(board, 1)
    ]


def _entry(score: Score) -> dict[str, Any]:
    return {**asdict(score), "beats_baseline": score.beats_baseline, "verdict": score.verdict}


def check_classes(model: Any, test: Job) -> None:
    """Refuse held-out rows of a class that no row to learn from has."""
    unknown = np.setdiff1d(test.y, getattr(model, "classes_", test.y))
    if len(unknown):
        raise ValueError(
            f"{test.path}: held-out rows have the class {unknown.tolist()[0]!r} of the target "
            f"{test.target!r}, which no row to learn from has; give more rows, or another --seed"
        )


def _thresholds(tests: HeldOut) -> dict[str, Any]:
    """Return what comes of naming the rarer of two classes from some probability on."""
    if tests.rarer is None:
        return {}
    each = _without_nan(tests.thresholds)
    return {"thresholds": {"class": str(tests.model.classes_[tests.rarer]), "each": each}}


def _without_nan(found: Sequence[Any]) -> list[dict[str, Any]]:
    """Return named tuples by their names, with None for a share of no rows."""
    return [{k: None if v != v else v for k, v in each._asdict().items()} for each in found]
