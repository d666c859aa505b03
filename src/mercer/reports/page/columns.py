"""What the model makes of the columns: their importance, effects, directions and k-grams."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from mercer.explanation import Row
from mercer.reports.effect import class_name
from mercer.reports.page import charts
from mercer.reports.page.facts import Facts, has_columns
from mercer.reports.page.html import (
    Markup,
    bar,
    beside,
    figures,
    number,
    paragraph,
    prose,
    section,
    table,
)


def columns(facts: Facts, remarks: Sequence[str] = ()) -> str:
    """List the columns by how far f moves with them, and what was remarked of their cells."""
    found = facts.explanation
    if found is None or not found.columns:
        return ""
    most = max(found.columns[0].importance, 1e-300)
    shuffled = facts.shuffled
    has_scales = any(not np.isnan(row.length_scale) for row in found.columns)
    has_signs = any(not np.isnan(row.effect) for row in found.columns)
    header = ["column", "importance", ""]
    has_ends = any(not np.isnan(row.low) for row in found.columns)
    header += ["effect"] * has_signs + ["in 80% of rows"] * has_ends
    header += ["length scale"] if has_scales else []
    if facts.tests is not None and shuffled:
        header.append(f"{facts.tests.measure} when shuffled")
    rows = []
    # Columns that are listed.
    listed = 30
    for row in found.columns[:listed]:
        cells: list[Any] = [facts.title(row.column), row.importance, bar(row.importance / most)]
        cells += [row.effect] if has_signs else []
        cells += [Markup("" if np.isnan(row.low) else _spread(row))] if has_ends else []
        cells += [row.length_scale] if has_scales else []
        cells += [shuffled.get(row.column, float("nan"))] if shuffled else []
        rows.append(cells)
    text = (
        "Importance is how far the model's function f moves where a cell is replaced by that of "
        "another row. "
    )
    if has_signs:
        text += "Effect is the change of f with one standard deviation of a number. "
    text += "Seen from the "
    text += (
        "rows that the model keeps, as mercer explain sees it."
        if facts.X is None
        else "held-out rows; mercer explain looks from those that the model keeps."
    )
    left = len(found.columns) - listed
    return section(
        "Columns",
        paragraph(text),
        table(header, rows),
        paragraph(f"and {left} more, of less importance") if left > 0 else "",
        _remarks(remarks),
        _directions(facts),
    )


def _remarks(remarks: Sequence[str]) -> str:
    """Say how the cells of the file were read, where that was not plain."""
    if not remarks:
        return ""
    items = "".join(f"<li>{prose(text)}</li>" for text in remarks)
    return f"<h3>How the file of the training rows was read</h3><ul>{items}</ul>"


def _spread(row: Row) -> str:
    return f'<span class="line">{number(row.low)} to {number(row.high)}</span>'


def _directions(facts: Facts) -> str:
    found = facts.explanation
    if found is None or len(found.columns) < 2 or not found.directions:
        return ""
    rows = [
        (str(row.part).replace("-", "−"), row.importance, bar(row.importance))
        for row in found.directions
    ]
    text = "Directions in which f moves, in deviations of the columns: share of squared gradient."
    return "<h3>Directions</h3>" + paragraph(text) + table(["direction", "share", ""], rows)


def effects(facts: Facts) -> str:
    """Draw how the prediction depends on the most important columns."""
    found = facts.explanation
    if found is None or not has_columns(facts.rows):
        return ""
    # The share of the largest importance below which a curve is as good as flat.
    least = 0.01
    most = max((row.importance for row in found.columns), default=0.0)
    names = [row.column for row in found.columns if row.importance > least * most]
    plots = []
    # Columns whose effects are drawn.
    drawn = 6
    for name in names:
        plot = charts.effect(facts, name)
        if plot is not None:
            plots.append((plot, f"effect of {facts.title(name)}"))
        if len(plots) == drawn:
            break
    said = "What the model answers on average where a column has one value for all rows"
    # The answers of rows that differ in no other column are one line.
    said += ", and between which it is for 80% of them." if len(facts.columns) > 1 else "."
    labels = [class_name(label) for label in getattr(facts.model, "classes_", [])]
    said += (
        f" Of {len(labels)} classes, these are the curves of {labels[-1]}." if labels[2:] else ""
    )
    return section("Effects", paragraph(said), figures(*plots)) if plots else ""


def texts(facts: Facts) -> str:
    """List the k-grams and words that matter, where there is text."""
    found = facts.explanation
    if found is None or found.kgrams is None:
        return ""
    # k-grams of either sign.
    of_each = 12
    weights = found.kgrams.strongest(of_each)
    most = max((abs(weight.weight) for weight in weights), default=1.0)
    has_columns = len({weight.column for weight in weights}) > 1
    has_targets = len(found.kgrams.targets) > 1
    labels = [class_name(label) for label in getattr(facts.model, "classes_", [])]
    header = ["column"] * has_columns + ["k-gram", "weight", ""]
    header += ["class" if labels else "target"] * has_targets
    titles = (
        ("for a class", "against a class")
        if has_targets
        else (f"for {labels[1]}", f"for {labels[0]}")
        if labels
        else ("for larger predictions", "for smaller ones")
    )

    def listed(is_more: bool) -> str:
        rows = []
        for weight in weights:
            if (weight.weight > 0.0) == is_more:
                cells: list[Any] = [facts.title(weight.column)] if has_columns else []
                cells += [repr(weight.gram), weight.weight, bar(weight.weight / most)]
                rows.append([*cells, weight.target] if has_targets else cells)
        title = escape(titles[0 if is_more else 1])
        return f"<h3>{title}</h3>{table(header, rows)}" if rows else ""

    text = f"The strongest of the weights in f of {len(found.kgrams):,} k-grams and words."
    notes = "".join(paragraph(note) for note in found.notes if note.startswith("k-grams"))
    return section("Text", paragraph(text), notes, beside(listed(True), listed(False)))
