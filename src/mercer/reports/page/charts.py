"""The pictures of a report."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import leaves_list, linkage
from sklearn.calibration import calibration_curve
from sklearn.metrics import auc, roc_curve

from mercer.data.columns import n_rows, take_rows
from mercer.gram import gram_of
from mercer.reports.page.facts import SHOWN, Facts
from mercer.reports.page.svg import Plot, around, heat_map

Array = NDArray[Any]

# Training rows of the Gram matrix that is shown, and of which the spectrum is.
GRAM_ROWS = 160
# Points of an effect curve, and rows that it is averaged over.
EFFECT_POINTS, EFFECT_ROWS = 24, 200


def _few(n: int, most: int) -> Array:
    return np.linspace(0, n - 1, min(n, most)).astype(np.intp)


def against_truth(facts: Facts) -> Plot:
    """Draw predictions over true targets, with the line on which both are equal."""
    some = _few(facts.n, SHOWN)
    y, predicted = np.asarray(facts.y, float)[some], facts.predicted[some]
    ends = around(y, predicted)
    plot = Plot(ends, ends, "true", "predicted", "predictions of held-out rows over their targets")
    return plot.line(ends, ends, "guide").points(y, predicted)


def residuals(facts: Facts) -> Plot:
    """Draw what predictions miss over the predictions."""
    some = _few(facts.n, SHOWN)
    predicted = facts.predicted[some]
    missed = np.asarray(facts.y, float)[some] - predicted
    plot = Plot(
        around(predicted),
        around(missed),
        "predicted",
        "true - predicted",
        "residuals of held-out rows over their predictions",
    )
    return plot.line(around(predicted), (0.0, 0.0), "guide").points(predicted, missed)


def intervals(facts: Facts) -> Plot | None:
    """Draw prediction intervals in the order of the predictions, with the true targets."""
    if facts.interval is None or not np.isfinite(facts.interval).all():
        return None
    order = np.argsort(facts.predicted)[_few(facts.n, 300)]
    low, high = (end[order] for end in facts.interval)
    y, place = np.asarray(facts.y, float)[order], np.arange(len(order))
    plot = Plot(
        (0.0, float(len(order))),
        around(low, high, y),
        "rows by prediction",
        "target",
        "prediction intervals and true targets of held-out rows",
    )
    return plot.band(place, low, high).points(place, y)


def receiver(facts: Facts) -> list[Plot]:
    """Draw the ROC curve of two classes, or of each against the rest."""
    if facts.probabilities is None:
        return []
    classes = facts.model.classes_
    wanted = [1] if len(classes) == 2 else range(min(len(classes), 4))
    plots = []
    for c in wanted:
        is_one = facts.codes == c
        if is_one.all() or not is_one.any():
            continue
        false, true, _ = roc_curve(is_one, facts.probabilities[:, c])
        about = f"class {classes[c]}: area {auc(false, true):.3f}"
        plot = Plot(
            (0.0, 1.0),
            (0.0, 1.0),
            f"false positive rate ({about})",
            "true positive rate",
            f"ROC curve of {about}",
        )
        plots.append(plot.line((0, 1), (0, 1), "guide").line(false, true))
    return plots


def calibration(facts: Facts) -> Plot | None:
    """Draw how often a class occurs where it has some probability."""
    if facts.probabilities is None:
        return None
    best = facts.probabilities.argmax(axis=1)
    sure = facts.probabilities[np.arange(facts.n), best]
    bins = int(np.clip(facts.n // 20, 2, 10))
    share, mean = calibration_curve(best == facts.codes, sure, n_bins=bins, strategy="quantile")
    plot = Plot(
        (0.0, 1.0),
        (0.0, 1.0),
        "probability of the predicted class",
        "share that is right",
        "calibration of the probabilities",
    )
    return plot.line((0, 1), (0, 1), "guide").line(mean, share).points(mean, share)


def effect(facts: Facts, name: str) -> Plot | None:
    """Draw the mean prediction where a column is set to one value for all rows.

    References
    ----------
    J. Friedman (2001), Greedy function approximation: a gradient boosting machine.
    """
    values = facts.column(name)
    is_number = values.dtype.kind in "fiu"
    known = values[np.isfinite(values)] if is_number else values
    if len(known) == 0:
        return None
    if is_number:
        grid: Any = np.unique(np.quantile(known, np.linspace(0.01, 0.99, EFFECT_POINTS)))
        names: tuple[str, ...] = ()
    else:
        texts, counts = np.unique(known.astype(str), return_counts=True)
        grid = texts[np.argsort(-counts)[:8]]
        names = tuple(map(str, grid))
    if len(grid) < 2:
        return None
    rows = take_rows(facts.X, _few(facts.n, EFFECT_ROWS))
    try:
        answers = [_answer(facts, facts.with_column(rows, name, value)) for value in grid]
    except (ValueError, TypeError):
        return None
    mean = np.array([a.mean() for a in answers])
    spread = np.array([np.quantile(a, [0.25, 0.75]) for a in answers]).T
    label = (
        "mean prediction" if not facts.is_classes else f"probability of {facts.model.classes_[-1]}"
    )
    place = np.arange(len(grid)) if names else np.asarray(grid, float)
    x = (-0.5, len(grid) - 0.5) if names else around(place)
    plot = Plot(x, around(mean, *spread), name, label, f"{label} over {name}", names)
    if names:
        return plot.ranges(place, *spread).points(place, mean, "second")
    return plot.band(place, *spread).line(place, mean)


def _answer(facts: Facts, rows: Any) -> Array:
    if not facts.is_classes:
        return np.asarray(facts.model.predict(rows), float)
    if facts.probabilities is None:
        return np.asarray(facts.model.predict(rows) == facts.model.classes_[-1], float)
    return np.asarray(facts.model.predict_proba(rows)[:, -1])


def gram(facts: Facts) -> Array | None:
    """Return the Gram matrix of some training rows, those that are alike beside each other."""
    rows, kernel = facts.train_rows, getattr(facts.inner, "kernel_", None)
    if rows is None or kernel is None or kernel.is_precomputed or n_rows(rows) < 3:
        return None
    K = np.asarray(gram_of(kernel, take_rows(rows, _few(n_rows(rows), GRAM_ROWS))).dense(), float)
    order = leaves_list(linkage(K, "average"))
    return K[np.ix_(order, order)]


def gram_picture(K: Array) -> str:
    """Return a Gram matrix as a picture."""
    return heat_map(K, f"Gram matrix of {len(K)} training rows, those that are alike together")


def spectrum(K: Array, scale: float) -> tuple[Plot, float]:
    """Draw the eigenvalues of a Gram matrix, and return the effective dimension.

    That is sum_j s_j / (s_j + alpha), with eigenvalues in units of all rows.
    """
    s = np.maximum(np.linalg.eigvalsh(K)[::-1], 0.0)
    kept = s[s > 1e-12 * s[0]]
    logs = np.log10(kept / s[0])
    plot = Plot(
        (0.0, float(len(s))),
        around(logs),
        "number",
        "log10 of eigenvalue / largest",
        "eigenvalues of the Gram matrix",
    )
    return plot.line(np.arange(len(kept)), logs), float(np.sum(s / (s + scale)))


def selection(results: dict[str, Any]) -> Plot | None:
    """Draw the best score over the ridge or C that was tried."""
    name = "alpha" if "alpha" in results else "C" if "C" in results else None
    if name is None:
        return None
    values, scores = np.asarray(results[name], float), np.asarray(results["mean_test_score"], float)
    usable = np.isfinite(scores) & (values > 0.0)
    if usable.sum() < 3:
        return None
    x, y = np.log10(values[usable]), scores[usable]
    low = np.quantile(y, 0.25)
    shown = y >= low
    plot = Plot(
        around(x[shown]),
        around(y[shown]),
        f"log10 of {name}",
        "score of held-out rows",
        f"scores of the candidates over {name}",
    )
    best = int(np.argmax(y))
    return plot.points(x[shown], y[shown]).points(x[[best]], y[[best]], "second")
