"""How good a model is on rows that it was not fitted to, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mercer.data.listing import in_four_digits
from mercer.reports.thresholds import average_precision, rarer
from mercer.solvers.rounding import usual_unit

Array = NDArray[Any]

# Probabilities are at least so large, as scikit-learn has it.
LEAST = float(np.finfo(np.float64).eps)
# The chance that a score lies below the interval of 95 %, and that it lies above.
TAIL = 0.025


@dataclass(frozen=True)
class Score:
    """A score of held-out rows with an interval by the bootstrap.

    Parameters
    ----------
    name : str
        What is measured.
    value, low, high : float
        The score, and the ends of the interval of 95 %.
    baseline : float
        The score of the mean, or of the shares of the classes.
    higher_is_better : bool
        Which way is better.
    """

    name: str
    value: float
    low: float
    high: float
    baseline: float
    higher_is_better: bool

    @property
    def beats_baseline(self) -> bool:
        """Whether the whole interval is better than the baseline."""
        return self.low > self.baseline if self.higher_is_better else self.high < self.baseline

    @property
    def verdict(self) -> str:
        """What the score is than the baseline, by where its interval lies."""
        if self.beats_baseline:
            return "better"
        is_worse = self.high < self.baseline if self.higher_is_better else self.low > self.baseline
        return "surely worse" if is_worse else "not surely better"

    def __str__(self) -> str:
        value, low, high, baseline = map(
            in_four_digits, (self.value, self.low, self.high, self.baseline)
        )
        return f"{value} ({low} to {high}), baseline {baseline}"


def inside(model: Any) -> Any:
    """Return the model that another one has chosen, or itself."""
    if hasattr(model, "best_estimator_"):
        return model.best_estimator_
    return model.estimator_ if hasattr(model, "candidates_") else model


def regression_scores(y: Array, predicted: Array, mean: float, weights: Array) -> list[Score]:
    """Return R2, the root mean squared error and the mean absolute error.

    Parameters
    ----------
    y, predicted : arrays of shape (n,)
        Targets and predictions of held-out rows.
    mean : float
        The mean of the training targets, which the baseline predicts.
    weights : array of shape (n,)
        The weights of the rows.
    """
    used = _used(weights)
    # In these units squares are numbers.
    unit = usual_unit(float(np.abs(y[used]).max(initial=0.0)))
    y, predicted, weights, mean = y[used] / unit, predicted[used] / unit, weights[used], mean / unit
    squares, flat = (y - predicted) ** 2, (y - mean) ** 2
    absolute, flat_absolute = np.abs(y - predicted), np.abs(y - mean)

    def r2(errors: Array, w: Array) -> float:
        missed, spread = np.sum(w * errors), np.sum(w * (y - np.average(y, weights=w)) ** 2)
        # Of targets that are all the same there is no variance to explain, as scikit-learn has it.
        return float(1.0 - missed / spread) if spread > 0.0 else float(missed == 0.0)

    def rmse(errors: Array, w: Array) -> float:
        return unit * float(np.sqrt(np.average(errors, weights=w)))

    def mae(errors: Array, w: Array) -> float:
        return unit * float(np.average(errors, weights=w))

    return [
        _scored("R2", r2, squares, flat, weights, True),
        _scored("RMSE", rmse, squares, flat, weights, False),
        _scored("MAE", mae, absolute, flat_absolute, weights, False),
    ]


def classification_scores(
    codes: Array, labels: Array, probabilities: Array | None, shares: Array, weights: Array
) -> list[Score]:
    """Return the accuracy, also balanced, and, where there are probabilities, the log loss.

    The balanced accuracy is the mean of the recalls of the classes, however few rows each has. Of
    two classes the area under the ROC curve is there too: how often a row of the second class has a
    larger probability of it than one of the first; and the average precision of the rarer one, the
    mean share of its rows among those that are flagged, over all thresholds. All of them tell of
    rare classes, of which the accuracy says little.

    Parameters
    ----------
    codes, labels : arrays of shape (n,)
        The classes of held-out rows by number, and those predicted.
    probabilities : array of shape (n, classes), optional
        Their probabilities.
    shares : array of shape (classes,)
        The shares of the classes among the training rows, which the baseline predicts.
    weights : array of shape (n,)
        The weights of the rows.
    """

    def mean(values: Array, w: Array) -> float:
        return float(np.average(values, weights=w))

    used = _used(weights)
    codes, labels, weights = codes[used], labels[used], weights[used]
    right, usual = codes == labels, codes == int(np.argmax(shares))
    accuracy = _scored("accuracy", mean, right, usual, weights, True)

    def balanced(right: Array, w: Array) -> float:
        rows, hits = np.bincount(codes, w), np.bincount(codes, w * right)
        return float(np.mean(hits[rows > 0.0] / rows[rows > 0.0]))

    found = _scored("balanced accuracy", balanced, right, usual, weights, True)
    rarest = min(_rows_of(weights[codes == c]) for c in np.unique(codes))
    scores = [_with_width(accuracy, _rows_of(weights)), _with_width(found, rarest)]
    if probabilities is None:
        return scores
    probabilities = probabilities[used]
    own = np.maximum(probabilities[np.arange(len(codes)), codes], LEAST)
    flat = np.maximum(shares[codes], LEAST)
    scores.append(_scored("log loss", mean, -np.log(own), -np.log(flat), weights, False))
    if len(shares) == 2 and len(np.unique(codes)) == 2:
        ranks = np.unique(probabilities[:, 1], return_inverse=True)[1]

        def area(ranks: Array, w: Array) -> float:
            return _area_under_roc(ranks, codes == 1, w)

        score = _scored("ROC AUC", area, ranks, np.zeros_like(ranks), weights, True)
        # Pairs of a row of either class, no two with a row in common: each is right as often.
        pairs = min(_rows_of(weights[codes == 0]), _rows_of(weights[codes == 1]))
        scores.append(_with_width(score, pairs))
        scores.append(_average_precision(codes, probabilities, rarer(shares), weights))
    return scores


def _average_precision(codes: Array, probabilities: Array, one: int, weights: Array) -> Score:
    """Return the average precision of a class; the baseline flags rows at random."""
    is_one = codes == one
    ranks = np.unique(probabilities[:, one], return_inverse=True)[1]

    def average(ranks: Array, w: Array) -> float:
        return average_precision(ranks, is_one, w)

    score = _scored("average precision", average, ranks, np.zeros_like(ranks), weights, True)
    return _with_width(score, _rows_of(weights[is_one]))


class ClassScore(NamedTuple):
    """How well a class is found among held-out rows.

    `rows` are of the class and `named` are predicted to be. The recall is the share of the first
    that are named, the precision the share of the second that are of the class, and F1 is their
    harmonic mean, 2 hits / (rows + named). What is a share of no rows is not a number.
    """

    label: str
    rows: int
    named: int
    recall: float
    precision: float
    f1: float


def class_scores(classes: Array, codes: Array, labels: Array) -> list[ClassScore]:
    """Return how well every class is found.

    Parameters
    ----------
    classes : array
        The labels.
    codes, labels : arrays of shape (n,)
        The classes of held-out rows by number, and those predicted.
    """
    rows, named, hits = (
        np.bincount(of, minlength=len(classes)) for of in (codes, labels, codes[codes == labels])
    )

    def share(of: int, whole: int) -> float:
        return float(of / whole) if whole else float("nan")

    return [
        ClassScore(str(c), int(n), int(m), share(h, n), share(h, m), share(2 * h, n + m))
        for c, n, m, h in zip(classes, rows, named, hits, strict=True)
    ]


def _area_under_roc(ranks: Array, is_second: Array, w: Array) -> float:
    """Return how often a row of the second class has a higher rank than one of the first.

    Ties count half. Where a sample has one class alone it is not a number.
    """
    second, first = (np.bincount(ranks, w * of) for of in (is_second, ~is_second))
    pairs = second.sum() * first.sum()
    below = np.cumsum(first) - 0.5 * first
    return float(second @ below / pairs) if pairs > 0.0 else float("nan")


def _used(weights: Array) -> Array:
    """Return which held-out rows have a weight."""
    used = weights > 0.0
    if not used.any():
        raise ValueError("the weights of all held-out rows are zero; nothing can be tested")
    return used


def _rows_of(weights: Array) -> float:
    """Return the number of rows of one weight that tell as much: (sum w)^2 / sum w^2."""
    return float(np.sum(weights) ** 2 / np.sum(weights**2))


def _with_width(score: Score, n: float) -> Score:
    """Return a share of `n` rows, or pairs, whose interval has a width even if all are alike.

    Samples of rows that are all right are all right too. With n of n right the share is at least
    tail^(1/n) with confidence 1 - tail (C. Clopper and E. Pearson, 1934, The use of confidence or
    fiducial limits).
    """
    if score.low < score.high or score.value not in (0.0, 1.0):
        return score
    bound = TAIL ** (1.0 / n)
    return replace(score, low=bound) if score.value else replace(score, high=1.0 - bound)


def _scored(
    name: str, score: Any, values: Array, flat: Array, weights: Array, higher_is_better: bool
) -> Score:
    """Return a score of values with its interval, and that of the baseline."""
    random, n = np.random.default_rng(0), len(values)
    # Samples of the held-out rows, drawn with replacement: of very many rows fewer, each of which
    # takes long, as intervals are narrow there.
    samples = int(np.clip(2e7 / max(n, 1), 200, 1000))
    drawn = (
        [
            score(values, weights * np.bincount(random.integers(n, size=n), minlength=n))
            for _ in range(samples)
        ]
        if n > 1
        else [score(values, weights)]
    )
    low, high = np.nanquantile(drawn, [TAIL, 1.0 - TAIL])
    found, base = score(values, weights), score(flat, weights)
    return Score(name, found, float(low), float(high), base, higher_is_better)
