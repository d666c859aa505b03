"""What a model has learned, put together to one table."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from mercer.data.columns import n_rows
from mercer.explanation.effects import level_effects
from mercer.explanation.importance import Importance, deviations
from mercer.explanation.kgrams import kgram_weights
from mercer.explanation.scales import learned_scales
from mercer.explanation.subject import Subject
from mercer.explanation.table import Explanation, Row, column_title

Array = NDArray[np.float64]

NOTHING = float("nan")


def explain(model: Any, X: Any = None, *, target: int | None = None) -> Explanation:
    """Return what a fitted model has learned: columns, directions, categories and k-grams.

    Print it to read it. Columns come first, the most important one on top: by how far f moves where
    the cell of the column is that of another row, which for f(x) = w'x is |w_j| times the deviation
    of the column. Directions are those of the gradients of f.

    Parameters
    ----------
    model : estimator
        A kernel machine with a function, or a search over some, fitted.
    X : rows, optional
        Where to look at f; by default the rows that the model holds: those of training, the
        support vectors, or the landmarks.
    target : int, optional
        Which target, or which function of a classifier, if there are several: those of pairs of
        classes are in the order of scikit-learn, (0, 1), (0, 2), ..., and large for the first. By
        default importances are those for all together, without a sign.
    """
    subject = Subject.of(model, X, target)
    kgrams, notes = kgram_weights(subject)
    if not subject.has_columns:
        return Explanation((), (), (), np.empty((0, 0)), kgrams, notes)
    importance = Importance(subject)
    order = np.argsort(-importance.sizes, kind="stable")
    units = deviations(subject.rows)
    scales = learned_scales(subject.kernel, subject.rows, units)
    columns = tuple(_column(importance, int(j), float(scales[j])) for j in order)
    shares, vectors = importance.directions()
    directions = tuple(
        _direction(subject, float(share), vector)
        for share, vector in zip(shares, vectors.T, strict=True)
    )
    if len(subject.targets) > 1:
        notes = (f"importances are those for all of {len(subject.targets)} functions", *notes)
    elif is_classifier(model):
        notes = (f"the larger f is, the likelier is {subject.targets[0]}", *notes)
    seen = "that the model keeps" if X is None else "that were given"
    notes = (f"seen from the {n_rows(subject.rows)} rows {seen}", *notes)
    categories = _categories(subject, importance, order)
    return Explanation(columns, directions, categories, vectors, kgrams, notes)


def _column(importance: Importance, j: int, scale: float) -> Row:
    subject = importance.subject
    name, size = subject.columns[j], float(importance.sizes[j])
    if len(subject.targets) > 1 or not importance.is_slope(j):
        target = None if len(subject.targets) > 1 else subject.targets[0]
        return Row("column", name, None, size, NOTHING, NOTHING, NOTHING, scale, target)
    return Row(
        "column", name, None, size, *importance.changes[j].effect(), scale, subject.targets[0]
    )


def _direction(subject: Subject, share: float, vector: Array) -> Row:
    # Columns of a direction that are named, and the share of the largest below which none is.
    named, least = 5, 0.15
    order = np.argsort(-np.abs(vector))[:named]
    kept = [j for j in order if abs(vector[j]) >= least * abs(vector[order[0]])]
    titles = [column_title(column) for column in subject.columns]
    text = " ".join(
        f"{'+' if vector[j] >= 0.0 else '-'} {abs(vector[j]):.2f} {titles[j]}" for j in kept
    )
    target = subject.targets[0] if len(subject.targets) == 1 else None
    said = text.removeprefix("+ ")
    return Row("direction", None, said, share, NOTHING, NOTHING, NOTHING, NOTHING, target)


def _categories(
    subject: Subject, importance: Importance, order: NDArray[np.intp]
) -> tuple[Row, ...]:
    """Return the effects of categories, of the most important columns that hold some."""
    slopes = importance.slopes
    if slopes is None:
        return ()
    without = [int(j) for j in order if importance.sizes[j] > 0.0 and not importance.is_slope(j)]
    # Columns whose categories are looked at, the most important first.
    with_categories = 20
    names = {j: str(subject.columns[j]) for j in without[:with_categories]}
    return tuple(
        Row("category", subject.columns[j], level, abs(mean), mean, low, high, NOTHING, target)
        for j, each in level_effects(subject.values, subject.rows, names).items()
        for target, effect in zip(subject.targets, each, strict=True)
        for level, mean, low, high in zip(
            effect.values,
            effect.mean.tolist(),
            effect.low.tolist(),
            effect.high.tolist(),
            strict=True,
        )
    )
