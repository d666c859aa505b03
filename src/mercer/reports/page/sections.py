"""The sections of a report, each as HTML, or nothing where there is nothing to say."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import ks_2samp

from mercer.data.columns import column_names, is_table, n_rows, table_column
from mercer.explanation import explain
from mercer.reports.page import charts
from mercer.reports.page.facts import COVERAGE, Facts

Array = NDArray[Any]

# Columns whose effects are drawn, rows of a leaderboard and of influential rows.
EFFECTS, CANDIDATES, INFLUENTIAL = 6, 10, 10
# Rows below which a score says little, and what a column that gives the target away predicts.
FEW_ROWS, LEAK = 100, 0.999
# The least chance, for all columns together, at which a difference of distributions is none.
DRIFT = 0.001


def _section(title: str, *parts: str) -> str:
    body = "".join(part for part in parts if part)
    return f"<section><h2>{escape(title)}</h2>{body}</section>" if body else ""


def _table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    def cell(value: Any, tag: str = "td") -> str:
        is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
        text = f"{value:.4g}" if is_number else escape(str(value))
        return f'<{tag} class="number">{text}</{tag}>' if is_number else f"<{tag}>{text}</{tag}>"

    head = "".join(f"<th>{escape(name)}</th>" for name in header)
    body = "".join(f"<tr>{''.join(map(cell, row))}</tr>" for row in rows)
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div class="scroll">{table}</div>'


def _plots(*plots: tuple[Any, str]) -> str:
    figures = [
        f"<figure>{plot}<figcaption>{escape(text)}</figcaption></figure>"
        for plot, text in plots
        if plot is not None
    ]
    return f'<div class="plots">{"".join(figures)}</div>' if figures else ""


def summary(facts: Facts) -> str:
    """Say in plain words what the model is and how good it is."""
    first = facts.scores[0]
    rows = facts.train_rows
    learnt = "" if rows is None else f", which holds {n_rows(rows)} training rows"
    verdict = "better" if first.beats_baseline else "not surely better"
    usual = "predicting the most frequent class" if facts.is_classes else "predicting the mean"
    cards = "".join(
        f'<div class="card"><b>{s.value:.4g}</b><span>{escape(s.name)}, 95 %: {s.low:.4g} to '
        f"{s.high:.4g}<br>baseline {s.baseline:.4g}</span></div>"
        for s in facts.scores
    )
    return (
        f"<h1>{escape(type(facts.inner).__name__)}</h1>"
        f"<p>A model{learnt}, tested on {facts.n} rows that it was not fitted to. It is "
        f'<b class="{"good" if first.beats_baseline else "bad"}">{verdict}</b> than {usual}.</p>'
        f'<div class="cards">{cards}</div>'
    )


def warnings(facts: Facts) -> str:
    """List what a colleague should read before the model is used."""
    found = []
    rows = facts.train_rows
    if rows is not None and facts.holds_all_rows and n_rows(rows) < FEW_ROWS:
        found.append(f"The model is made of {n_rows(rows)} rows only.")
    if facts.n < FEW_ROWS:
        found.append(f"It was tested on {facts.n} rows only: the scores are rough.")
    if not facts.scores[0].beats_baseline:
        found.append("Its score is not surely better than that of the baseline.")
    found += [
        f"The column {name!r} alone gives the target away; is it known in time?"
        for name in _leaks(facts)
    ]
    found += [
        f"The column {name!r} is distributed differently in the test rows."
        for name in _drifts(facts)
    ]
    if facts.interval is not None:
        held = _coverage(facts)
        if abs(held - COVERAGE) > 0.1:
            found.append(f"Intervals of {COVERAGE:.0%} hold {held:.0%} of the held-out targets.")
    certificate = getattr(facts.inner, "certificate_", None)
    if certificate is not None and not certificate.satisfied:
        found.append(f"The solver did not reach its tolerance: {certificate}.")
    items = "".join(f"<li>{escape(text)}</li>" for text in found)
    return _section("Before you use it", f'<ul class="warnings">{items}</ul>') if found else ""


def _leaks(facts: Facts) -> list[str]:
    """Return the columns of numbers that are the target but for a straight line."""
    if facts.is_classes or facts.n < 10:
        return []
    y = np.asarray(facts.y, float)
    found = []
    for name in facts.columns:
        values = facts.column(name)
        if values.dtype.kind not in "fiu":
            continue
        numbers = values.astype(float)
        is_usable = np.isfinite(numbers).all() and np.ptp(numbers) > 0.0
        if is_usable and abs(np.corrcoef(numbers, y)[0, 1]) > LEAK:
            found.append(name)
    return found


def _drifts(facts: Facts) -> list[str]:
    """Return the columns of numbers whose distributions differ between both sets of rows."""
    rows = facts.train_rows
    is_known = facts.holds_all_rows and bool(facts.columns)
    if rows is None or not is_known or facts.n < 20 or n_rows(rows) < 20:
        return []
    found = []
    for j, name in enumerate(facts.columns):
        if is_table(rows):
            if name not in column_names(rows):
                continue
            before = np.asarray(table_column(rows, name))
        elif isinstance(rows, np.ndarray) and rows.ndim == 2:
            before = rows[:, j]
        else:
            return []
        after = facts.column(name)
        if before.dtype.kind in "fiu" and after.dtype.kind in "fiu":
            before, after = (v[np.isfinite(v.astype(float))] for v in (before, after))
            chance = ks_2samp(before, after).pvalue if len(before) and len(after) else 1.0
            if chance < DRIFT / len(facts.columns):
                found.append(name)
    return found


def _coverage(facts: Facts) -> float:
    low, high = facts.interval  # type: ignore[misc]
    y = np.asarray(facts.y, float)
    return float(np.mean((low <= y) & (y <= high)))


def performance(facts: Facts) -> str:
    """Show predictions of held-out rows beside the truth."""
    if facts.is_classes:
        return _section(
            "On held-out rows",
            _confusion(facts),
            _plots(
                *((plot, "ROC curve") for plot in charts.receiver(facts)),
                (charts.calibration(facts), "how often the predicted class is right"),
            ),
        )
    covered = ""
    if facts.interval is not None:
        covered = (
            f"jackknife+ intervals of {COVERAGE:.0%} hold {_coverage(facts):.1%} of the targets"
        )
    return _section(
        "On held-out rows",
        _plots(
            (charts.against_truth(facts), "predictions over true targets"),
            (charts.residuals(facts), "what the predictions miss"),
            (charts.intervals(facts), covered),
        ),
    )


def _confusion(facts: Facts) -> str:
    classes = [str(c) for c in facts.model.classes_]
    labels = np.searchsorted(facts.model.classes_, facts.predicted)
    counts = np.zeros((len(classes), len(classes)), int)
    np.add.at(counts, (facts.codes, labels), 1)
    rows = [(f"is {name}", *map(int, row)) for name, row in zip(classes, counts, strict=True)]
    return "<h3>Confusion matrix</h3>" + _table(["", *(f"taken for {c}" for c in classes)], rows)


def columns(facts: Facts) -> str:
    """List the columns by how much the score depends on them."""
    listed = facts.importance
    if not listed:
        return ""
    most = max(max(mean for _, mean, _ in listed), 1e-12)

    def bar(share: float) -> str:
        return f'<span class="share" style="width:{max(share, 0.0) * 160:.0f}px"></span>'

    bars = "".join(
        f'<tr><td>{escape(name)}</td><td class="number">{mean:.4f}</td>'
        f'<td class="number">{std:.4f}</td><td>{bar(mean / most)}</td></tr>'
        for name, mean, std in listed
    )
    what = "accuracy" if facts.is_classes else "R2"
    text = f"How much {what} is lost on held-out rows where a column is shuffled."
    head = "<tr><th>column</th><th>loss</th><th>deviation</th><th></th></tr>"
    return _section(
        "Columns", f"<p>{text}</p>", f'<div class="scroll"><table>{head}{bars}</table></div>'
    )


def effects(facts: Facts) -> str:
    """Draw how the prediction depends on the most important columns."""
    names = [name for name, mean, _ in facts.importance[:EFFECTS] if mean > 0.0]
    plots = [
        (charts.effect(facts, name), f"{name}: mean and quartiles over rows") for name in names
    ]
    return _section("Effects", _plots(*plots))


def kernel(facts: Facts) -> str:
    """Show the kernel as a formula and a tree, with what is proved of it."""
    k = getattr(facts.inner, "kernel_", None)
    if k is None:
        return ""
    settings = ", ".join(
        f"{name} = {getattr(facts.inner, name)}"
        for name in ("alpha", "C", "epsilon")
        if isinstance(getattr(facts.inner, name, None), int | float)
    )
    return _section(
        "Kernel",
        f"<p>{escape(settings)}</p>" if settings else "",
        k._repr_html_(),
    )


def selection(facts: Facts) -> str:
    """Show what was chosen from."""
    candidates = getattr(facts.model, "candidates_", None)
    if candidates is not None:
        text = "The kernels that were tried, by their errors on rows left out."
        return _section("Leaderboard", f"<p>{text}</p>", candidates._repr_html_())
    results = getattr(facts.model, "cv_results_", None)
    if results is None or "kernel" not in results:
        return ""
    order = np.argsort(results["rank_test_score"])[:CANDIDATES]
    name = "alpha" if "alpha" in results else "C"
    rows = [
        (i + 1, repr(results["kernel"][k]), results[name][k], results["mean_test_score"][k])
        for i, k in enumerate(order)
    ]
    said = getattr(facts.model, "search_", "")
    return _section(
        "Selection",
        f"<p>{escape(str(said))}</p>",
        _table(["rank", "kernel", name, "score"], rows),
        _plots((charts.selection(results), "scores of the candidates")),
    )


def similarity(facts: Facts, K: Array | None) -> str:
    """Show the Gram matrix and its spectrum."""
    if K is None:
        return ""
    n = n_rows(facts.train_rows)
    penalty = getattr(facts.inner, "alpha", None)
    alpha = float(penalty) if isinstance(penalty, int | float) else 1.0
    plot, dimension = charts.spectrum(K, alpha * len(K) / n)
    return _section(
        "Similarity of the training rows",
        _plots(
            (charts.gram_picture(K), f"k(x, z) of {len(K)} rows, those that are alike together"),
            (plot, f"eigenvalues; effective dimension about {dimension:.0f}"),
        ),
    )


def influential(facts: Facts) -> str:
    """List the training rows whose coefficients are the largest."""
    f, rows = getattr(facts.inner, "function_", None), facts.train_rows
    dual = getattr(f, "dual", None)
    if (
        rows is None
        or dual is None
        or (not is_table(rows) and not isinstance(rows, np.ndarray | list))
    ):
        return ""
    size = np.abs(dual.coefficients).sum(axis=1)
    if len(size) != n_rows(rows) or (np.ndim(rows) == 1 and not isinstance(rows, list)):
        return ""
    order = np.argsort(-size)[:INFLUENTIAL]
    if is_table(rows):
        header = column_names(rows)
        values = [[table_column(rows, name)[i] for name in header] for i in order]
    else:
        header = facts.columns or ["row"]
        values = [list(rows[i]) if facts.columns else [str(rows[i])[:80]] for i in order]
    listed = [(int(i), float(size[i]), *row[:8]) for i, row in zip(order, values, strict=True)]
    text = "The rows with the largest coefficients: the fit differs most from the others there."
    return _section(
        "Influential rows", f"<p>{text}</p>", _table(["row", "|a|", *header[:8]], listed)
    )


def words(facts: Facts) -> str:
    """List the k-grams and words that matter, where there is text."""
    try:
        found = explain(facts.inner)
    except (ValueError, TypeError, AttributeError, NotImplementedError):
        return ""
    return _section("Text", found._repr_html_())


def certificate(facts: Facts) -> str:
    """Say what the solver proves, and what the fit took."""
    said = getattr(facts.inner, "certificate_", None)
    lines = [] if said is None else [("certificate", said)]
    solution = getattr(facts.inner, "solution_", None)
    if solution is not None:
        lines += [("solver", solution.solver), ("seconds to solve", f"{solution.seconds:.3f}")]
    approximation = getattr(facts.inner, "approximation_", None)
    if approximation is not None:
        lines.append(("approximation", approximation))
    return _section("What is proved", _table(["", ""], lines)) if lines else ""


def reproduce(facts: Facts, command: str) -> str:
    """Show the command and the code that make the same model."""
    k = getattr(facts.inner, "kernel_", None)
    settings = [
        f"{name}={getattr(facts.inner, name)!r}"
        for name in ("alpha", "C", "epsilon")
        if isinstance(getattr(facts.inner, name, None), int | float)
    ]
    kernel_text = "" if k is None else f"{str(k)!r}, "
    code = (
        f"import mercer\n\nmodel = mercer.{type(facts.inner).__name__}({kernel_text}"
        f"{', '.join(settings)})\nmodel.fit(X, y)\nmercer.report(model, X_test, y_test)"
    )
    parts = [f"<h3>Command</h3><pre>{escape(command)}</pre>"] if command else []
    return _section("Again", *parts, f"<h3>Python</h3><pre>{escape(code)}</pre>")
