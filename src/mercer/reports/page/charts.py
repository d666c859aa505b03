"""The pictures of a report."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.calibration import calibration_curve
from sklearn.metrics import auc, precision_recall_curve, roc_curve

from mercer.data.columns import n_rows, take_rows
from mercer.explanation import effect_of
from mercer.explanation.subject import evenly
from mercer.gram import gram_of
from mercer.reports.effect import answer_name, answers, class_name
from mercer.reports.gram import by_cluster
from mercer.reports.page.facts import Facts
from mercer.reports.page.held_out import SHOWN, HeldOut
from mercer.reports.page.svg import Plot, around, heat_map
from mercer.reports.spectrum import Spectrum

Array = NDArray[Any]

# Training rows of the Gram matrix that is shown, and of which the spectrum is.
GRAM_ROWS, SPECTRUM_ROWS = 240, 500
# Points of a curve that are drawn.
CURVE_POINTS = 200


def against_truth(tests: HeldOut) -> Plot:
    """Draw predictions over true targets, with the line on which both are equal."""
    some = evenly(tests.n, SHOWN)
    y, predicted = np.asarray(tests.y, float)[some], tests.predicted[some]
    ends = around(y, predicted)
    plot = Plot(ends, ends, "true", "predicted", "predictions of held-out rows over their targets")
    return plot.line(ends, ends, "guide").points(y, predicted)


def residuals(tests: HeldOut) -> Plot:
    """Draw what predictions miss over the predictions."""
    some = evenly(tests.n, SHOWN)
    predicted = tests.predicted[some]
    missed = np.asarray(tests.y, float)[some] - predicted
    about = "residuals of held-out rows over their predictions"
    x, y = around(predicted), around(missed)
    plot = Plot(x, y, "predicted", "true − predicted", about)
    return plot.line(x, (0.0, 0.0), "guide").points(predicted, missed)


def intervals(tests: HeldOut) -> Plot | None:
    """Draw prediction intervals in the order of the predictions, with the true targets."""
    if tests.interval is None:
        return None
    _, some, low, high = tests.interval
    order = np.argsort(tests.predicted[some], kind="stable")
    # Rows whose intervals are drawn.
    drawn = 200
    order = order[evenly(len(order), drawn)]
    y, place = np.asarray(tests.y, float)[some[order]], np.arange(len(order))
    about = "prediction intervals and true targets of held-out rows"
    x, ends = (-1.0, float(len(order))), around(low[order], high[order], y)
    plot = Plot(x, ends, "rows in the order of predictions", "target", about)
    outside = (y < low[order]) | (y > high[order])
    plot.band(place, low[order], high[order]).points(place[~outside], y[~outside])
    return plot.points(place[outside], y[outside], "second")


def receiver(tests: HeldOut) -> list[tuple[Plot, str]]:
    """Draw the ROC curve of two classes, or of each against the rest, with what it shows."""
    scores = tests.probabilities
    if scores is None and hasattr(tests.model, "decision_function"):
        scores = np.asarray(tests.model.decision_function(tests.X))
        scores = np.column_stack([-scores, scores]) if scores.ndim == 1 else scores
    classes = tests.model.classes_
    if scores is None or scores.shape[1] != len(classes):
        return []
    counts = np.bincount(tests.codes, minlength=len(classes))
    # Classes with a curve of their own.
    most = 4
    wanted = [1] if len(classes) == 2 else np.argsort(-counts, kind="stable")[:most]
    plots = []
    for c in wanted:
        is_one = tests.codes == c
        if is_one.all() or not is_one.any():
            continue
        false, true, _ = roc_curve(is_one, scores[:, c])
        said = f"ROC curve of {class_name(classes[c])}: area {auc(false, true):.3f}"
        kept = evenly(len(false), CURVE_POINTS)
        plot = Plot((0.0, 1.0), (0.0, 1.0), "false positive rate", "true positive rate", said)
        plots.append((plot.line((0, 1), (0, 1), "guide").line(false[kept], true[kept]), said))
    return plots


def precision_recall(tests: HeldOut) -> tuple[Plot | None, str]:
    """Draw the precision over the recall of the rarer of two classes, with what it shows."""
    one = tests.rarer
    if one is None or tests.probabilities is None:
        return None, ""
    is_one = tests.codes == one
    precision, recall, _ = precision_recall_curve(is_one, tests.probabilities[:, one])
    found = next(score for score in tests.scores if score.name == "average precision")
    label = class_name(tests.model.classes_[one])
    said = f"precision over recall of {label}: average precision {found.value:.3f}"
    kept = evenly(len(recall), CURVE_POINTS)
    plot = Plot((0.0, 1.0), (0.0, 1.0), "recall", "precision", said)
    share = float(is_one.mean())
    plot.line((0, 1), (share, share), "guide").line(recall[kept][::-1], precision[kept][::-1])
    return plot, f"{said}; dashed: flagging rows at random"


def calibration(tests: HeldOut) -> Plot | None:
    """Draw how often the predicted class is right where it has some probability."""
    if tests.probabilities is None:
        return None
    best = tests.probabilities.argmax(axis=1)
    sure = np.clip(tests.probabilities[np.arange(tests.n), best], 0.0, 1.0)
    bins = int(np.clip(tests.n // 20, 2, 10))
    share, mean = calibration_curve(best == tests.codes, sure, n_bins=bins, strategy="quantile")
    x, y = "probability of the predicted class", "share that is right"
    plot = Plot((0.0, 1.0), (0.0, 1.0), x, y, "calibration of the probabilities")
    return plot.line((0, 1), (0, 1), "guide").line(mean, share).points(mean, share)


def effect(facts: Facts, column: Any) -> Plot | None:
    """Draw the mean prediction over the values of a column, see `EffectDisplay`."""
    name, label = facts.title(column), answer_name(facts.model)
    # Points at which an effect is found, and rows that it is averaged over: where no other column
    # has a say, all rows answer alike, and the curve may have every turn of f.
    points, most_rows = (24, 200) if len(facts.columns) > 1 else (200, 1)
    found = effect_of(
        lambda rows: answers(facts.model, rows),
        facts.rows,
        facts.place(facts.rows, column),
        name,
        points,
        most_rows,
    )
    if found is None:
        return None
    y, about = around(found.mean, found.low, found.high), f"{label} over {name}"
    if not found.is_ordered:
        # Names lie on the left, where there is room for them; the most frequent one is on top.
        names = tuple(str(value) for value in found.values)
        place = np.arange(len(names))
        plot = Plot(y, (len(names) - 0.5, -0.5), label, name, about, names)
        return plot.ranges(found.low, found.high, place).points(found.mean, place, "second")
    is_date = found.values.dtype.kind == "M"
    x = found.values.astype("M8[s]").astype(float) if is_date else found.values.astype(float)
    plot = Plot(around(x), y, name, label, about, is_date=is_date)
    return plot.band(x, found.low, found.high).line(x, found.mean)


def gram(facts: Facts, most: int) -> Array | None:
    """Return the Gram matrix of some of the rows that the model holds."""
    rows = facts.train_rows
    if rows is None or facts.function is None or n_rows(rows) < 3:
        return None
    some = take_rows(rows, evenly(n_rows(rows), most))
    return np.asarray(gram_of(facts.function.kernel, some).dense(), float)


def gram_picture(K: Array) -> str:
    """Return a Gram matrix as a picture, the rows that are alike beside each other."""
    K = K[np.ix_(*[evenly(len(K), GRAM_ROWS)] * 2)]
    order = by_cluster(K)
    about = f"Gram matrix of {len(K)} rows, those that are alike together"
    return heat_map(K[np.ix_(order, order)], about)


def spectrum(found: Spectrum) -> Plot | None:
    """Draw the eigenvalues of a Gram matrix, and the ridge beside them."""
    kept = found.eigenvalues[found.eigenvalues > 0.0]
    if len(kept) < 2:
        return None
    logs, alpha = np.log10(kept), found.alpha
    level = np.log10(alpha) if alpha is not None and alpha > 0.0 else None
    y = around(logs) if level is None else around(logs, level)
    x = (0.0, float(len(kept)))
    about = "eigenvalues of the Gram matrix, in descending order"
    plot = Plot(x, y, "number of the eigenvalue", "log10 of eigenvalue", about)
    if level is not None:
        plot.line(x, (level, level), "guide")
    return plot.line(np.arange(len(kept)), logs)


def selection(results: dict[str, Any]) -> Plot | None:
    """Draw the scores of the candidates over the ridge or C that was tried, a line per kernel."""
    name = "alpha" if "alpha" in results else "C"
    values, scores = np.asarray(results[name], float), np.asarray(results["mean_test_score"], float)
    usable = np.isfinite(scores) & (values > 0.0)
    if usable.sum() < 3:
        return None
    kernels = np.array([str(k) for k in results["kernel"]])
    x, y, best = np.log10(values), scores, int(np.argmax(np.where(usable, scores, -np.inf)))
    # Scores fall without limit where the penalty is far off; what matters is on top.
    top = float(y[best])
    spread = top - float(np.median(y[usable])) or np.inf
    low = max(float(y[usable].min()), top - 3.0 * spread)
    about = f"scores of the candidates over {name}; the chosen one is marked"
    shown = usable & (y >= low)
    plot = Plot(
        around(x[usable]), around(y[shown]), f"log10 of {name}", "score of rows left out", about
    )
    for kernel in dict.fromkeys(kernels[shown]):
        own = np.flatnonzero(shown & (kernels == kernel))
        own = own[np.argsort(x[own], kind="stable")]
        plot.line(x[own], y[own], "line" if kernel == kernels[best] else "faint")
    return plot.points(x[[best]], y[[best]], "second")


def leaderboard(errors: list[float], measure: str) -> Plot | None:
    """Draw the scores of the candidates, errors of some measure, in their order."""
    # Candidates that a table shows as well as a picture.
    few = 4
    if len(errors) < few:
        return None
    # One that is far off would leave no room to tell the others apart; the table has it.
    found, best = np.asarray(errors), min(errors)
    spread = float(np.median(found)) - best or np.inf
    shown = found <= max(float(errors[0]), best + 3.0 * spread)
    place = np.arange(1, len(errors) + 1)[shown]
    x, y = (0.5, len(errors) + 0.5), around(found[shown])
    plot = Plot(x, y, "rank", measure, "errors of the candidates by rank")
    return plot.points(place, found[shown]).points(place[:1], found[:1], "second")
