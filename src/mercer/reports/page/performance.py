"""How good the model is: in plain words, and in pictures of held-out rows."""

from __future__ import annotations

from html import escape

import numpy as np

from mercer.data.columns import n_rows
from mercer.data.listing import in_four_digits
from mercer.reports.effect import class_name
from mercer.reports.held_out import Score
from mercer.reports.page import charts
from mercer.reports.page.facts import Facts
from mercer.reports.page.held_out import COVERAGE, TEST_COMMAND, HeldOut
from mercer.reports.page.html import figures, number, paragraph, section, table

# Classes of a confusion matrix, and rows of a table of classes.
CLASSES = 30


def summary(facts: Facts, target: str = "", held_out: str = "") -> str:
    """Say in plain words what the model is and how good it is.

    Parameters
    ----------
    facts : Facts
        The model.
    target : str
        What it predicts, where that has a name.
    held_out : str
        Which rows it was tested on, where that is known.
    """
    kind = type(facts.model).__name__
    name = f"{target}, by {kind}" if target else kind
    told = (
        _made_of(facts),
        _tested_on(facts.tests, held_out),
        _verdict(facts.tests),
        _mattering(facts),
    )
    text = " ".join(said for said in told if said)
    header = f"<header><h1>{escape(name)}</h1>{paragraph(text)}</header>"
    return header if facts.tests is None else header + _cards(facts.tests)


def _cards(tests: HeldOut) -> str:
    cards = "".join(map(_card, tests.scores))
    return f'<div class="cards">{cards}{_interval_card(tests)}</div>'


def _card(score: Score) -> str:
    kind = "good" if score.beats_baseline else "bad"
    # Of R2 it is zero but for the mean of other rows.
    baseline = round(score.baseline, 3) + 0.0 if score.name == "R2" else score.baseline
    return (
        f'<div class="card"><span>{escape(score.name)}</span><b>{number(score.value)}</b>'
        f"<span>95%: {number(score.low)} to {number(score.high)}</span>"
        f'<span class="{kind}">{score.verdict} than the baseline, {number(baseline)}</span></div>'
    )


def _interval_card(tests: HeldOut) -> str:
    if tests.interval is None or tests.coverage is None:
        return ""
    low, high = tests.interval.low, tests.interval.high
    return (
        f'<div class="card"><span>intervals of {COVERAGE:.0%}</span><b>{tests.coverage:.1%}</b>'
        f"<span>of held-out targets are inside</span>"
        f"<span>median width {in_four_digits(float(np.median(high - low)))}</span></div>"
    )


def _made_of(facts: Facts) -> str:
    rows, n = facts.train_rows, facts.n_train
    if n is None:
        return "" if rows is None else f"A model that is a sum over {n_rows(rows):,} rows."
    if rows is None or n_rows(rows) == n:
        return f"A model that was fitted to {n:,} rows."
    return f"A model that was fitted to {n:,} rows, {n_rows(rows):,} landmarks standing for them."


def _tested_on(tests: HeldOut | None, held_out: str) -> str:
    if tests is None:
        return f"It was not tested on held-out rows; {TEST_COMMAND} does that."
    which = f": {held_out}" if held_out else ""
    return f"It was tested on {tests.n:,} rows that it was not fitted to{which}."


def _verdict(tests: HeldOut | None) -> str:
    if tests is None:
        return ""
    first = tests.scores[0]
    if tests.machine.is_classes:
        return (
            f"It names the right class for {first.value:.1%} of them (with 95% confidence "
            f"{first.low:.1%} to {first.high:.1%}); naming the most frequent class always would be "
            f"right for {first.baseline:.1%}."
        )
    error = next(score for score in tests.scores if score.name == "MAE")
    if first.value <= 0.0 and not first.beats_baseline:
        return "It predicts no better than the mean of the training targets does."
    less = 1.0 - error.value / error.baseline if error.baseline > 0.0 else 0.0
    more = "less" if less >= 0.0 else "more"
    missed = (
        f"by {in_four_digits(error.value)} on average, {abs(less):.0%} {more} than predicting the "
        "mean of the training targets would"
    )
    if first.value <= 0.0:
        # New targets lie elsewhere than those of training, such as later ones of a trend.
        own = "the mean of the held-out targets would miss it by less"
        return f"It misses the target {missed}; {own}."
    return f"It explains {first.value:.1%} of the variance of the target, and misses it {missed}."


def _mattering(facts: Facts) -> str:
    if len(facts.columns) < 2 or facts.explanation is None:
        return ""
    rows = facts.explanation.columns
    # Columns that the summary names.
    most = 4
    named = [row for row in rows[:most] if row.importance >= 0.05 * rows[0].importance]
    titles = [facts.title(row.column) for row in named]
    listed = ", ".join(titles[:-1]) + " and " * (len(titles) > 1) + titles[-1]
    verb = "matters" if len(named) == 1 else "matter"
    is_any = rows[0].importance > 0.0
    return f"Of its {len(rows)} columns, {listed} {verb} most." if is_any else ""


def performance(facts: Facts) -> str:
    """Show predictions of held-out rows beside the truth, where there are some."""
    tests = facts.tests
    if tests is None:
        return ""
    if facts.is_classes:
        says = "how often the predicted class is right, over its probability"
        return section(
            "On held-out rows",
            _confusion(tests),
            _by_class(tests),
            _by_threshold(tests),
            figures(
                *charts.receiver(tests),
                charts.precision_recall(tests),
                (charts.calibration(tests), says),
            ),
        )
    kind = "" if tests.interval is None else tests.interval.kind
    covered = f"{kind} intervals of {COVERAGE:.0%}; targets outside are marked"
    return section(
        "On held-out rows",
        figures(
            (charts.against_truth(tests), "predictions over true targets"),
            (charts.residuals(tests), "residuals: what the predictions miss"),
            (charts.intervals(tests), covered),
        ),
    )


def _confusion(tests: HeldOut) -> str:
    """Return how often each class was taken for which, the darker the more often."""
    classes = [str(c) for c in tests.model.classes_]
    if len(classes) > CLASSES:
        return ""
    counts = np.zeros((len(classes), len(classes)), int)
    np.add.at(counts, (tests.codes, tests.labels), 1)
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)

    def cell(i: int, j: int) -> str:
        kind, depth = ("right" if i == j else "wrong"), 0.85 * shares[i, j]
        return (
            f'<td><span class="{kind}" style="opacity:{depth:.2f}"></span>'
            f"<b>{counts[i, j] or ''}</b></td>"
        )

    # Names of more classes and more characters stand upright, so that the matrix has room.
    few, short = 4, 3
    kind = "confusion many" if len(classes) > few else "confusion"
    kind += " upright" if len(classes) > few and max(map(len, classes)) > short else ""
    head = "".join(f"<th><span>{escape(c)}</span></th>" for c in classes)
    body = "".join(
        f"<tr><th>{escape(name)}</th>{''.join(cell(i, j) for j in range(len(classes)))}</tr>"
        for i, name in enumerate(classes)
    )
    return (
        "<h3>Confusion matrix</h3>"
        f"{paragraph('A line for every class, and in it what its rows were taken for.')}"
        f'<div class="scroll"><table class="{kind}"><thead><tr><th></th>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _by_class(tests: HeldOut) -> str:
    """Return how well every class is found, the rarest first."""
    found = tests.class_scores
    header = ["class", "rows", "named", "recall", "precision", "F1"]
    rows = [(*each[:3], *(round(share, 3) for share in each[3:])) for each in found]
    text = (
        "Recall is the share of the rows of a class that are named so, precision the share of "
        "those named so that are of it, F1 their harmonic mean. "
    )
    if tests.probabilities is not None:
        text += (
            "The class of the largest probability is named, of two classes that above 0.5: naming "
            "a class from a lower probability on raises its recall and lowers its precision."
        )
    more = table(header, rows[CLASSES:])
    rest = f"<details><summary>{len(rows) - CLASSES} more</summary>{more}</details>"
    return (
        f"<h3>Class by class</h3>{paragraph(text)}{table(header, rows[:CLASSES])}"
        f"{rest if len(rows) > CLASSES else ''}"
    )


def _by_threshold(tests: HeldOut) -> str:
    """Return what comes of naming the rarer of two classes from a lower probability on or not."""
    found, one = tests.thresholds, tests.rarer
    if not found or one is None:
        return ""
    label, name = tests.model.classes_[one], class_name(tests.model.classes_[one])
    # Of two classes of as many rows neither is.
    which = ", the rarer one," if tests.class_shares[one] < 0.5 else ""
    text = (
        f"What comes of flagging every row whose probability of {name}{which} is at "
        f"least so large (mercer predict --proba has it in the column proba_{label}). Choose by "
        "what it costs to miss a row of the class, and to look at one that is none."
    )
    header = ["threshold", "share flagged", "precision", "recall"]
    rows = [(each.threshold, *(round(share, 3) for share in each[1:])) for each in found]
    return f"<h3>Thresholds of {escape(name)}</h3>{paragraph(text)}{table(header, rows)}"
