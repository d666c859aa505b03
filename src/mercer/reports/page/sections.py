"""What the model is: its kernel, how it was chosen, its rows, what is proved, how to make it."""

from __future__ import annotations

import sys
from html import escape
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.data.columns import column_names, is_table, n_rows, take_rows
from mercer.data.kept import rows_state
from mercer.kernels import Kernel, Scaled, Sum
from mercer.kernels.language.outline import outline
from mercer.reports.page import charts
from mercer.reports.page.facts import Facts, cells_of, has_columns
from mercer.reports.page.html import figures, paragraph, section, table
from mercer.reports.page.mathml import in_factors
from mercer.reports.recipe import Part, recipe_of
from mercer.reports.spectrum import eigenvalues_of, ridge_of
from mercer.selection.automatic.board import Leaderboard

# Rows of a leaderboard.
CANDIDATES = 12


def kernel(facts: Facts) -> str:
    """Show the kernel in words, as a formula and a tree, with what is proved of it."""
    if facts.function is None:
        return ""
    parts = recipe_of(facts.inner)
    k = parts[0].kernel
    if len(parts) > 1:
        k = Sum(tuple(part.share * part.kernel for part in parts if part.share))
    settings = ", ".join(f"{name} = {value:g}" for name, value in parts[0].penalties.items())
    # Nodes up to which the tree is shown at once.
    few = 12
    # A tree of pages is for whoever asks for it.
    state = " open" if _nodes(k) <= few else ""
    return section(
        "Kernel",
        _in_words(parts, k),
        _formula(k),
        paragraph(settings if parts[0].share is None else ""),
        f"<details{state}><summary>Tree, with the proof of every node</summary>"
        f"{k._repr_html_()}</details>",
    )


def _in_words(parts: tuple[Part, ...], k: Kernel) -> str:
    """Return what a kernel compares; of a mean what each of its fits does, with its weight."""
    if parts[0].share is None:
        return paragraph(f"Rows are compared by {outline(k)}.")
    rows = [(part.share, outline(part.kernel), part.penalties["alpha"]) for part in parts]
    text = "A mean of several fits, each with a kernel and a ridge alpha of its own:"
    return paragraph(text) + table(["weight", "rows are compared by", "alpha"], rows)


def _nodes(k: Kernel) -> int:
    return 1 + sum(map(_nodes, k.parts))


def _formula(k: Kernel) -> str:
    """Return k(x, z) = ... with a line for every term of a sum."""
    terms, lines = _terms(k), []
    # Characters of a term that is set: longer ones are read better as an expression.
    longest = 3000
    # Terms that are set.
    most = 12
    for i, term in enumerate(terms[:most]):
        if isinstance(term, Scaled):
            # The product of factors that are in four digits has more.
            term = float(f"{term.factor:.4g}") * term.kernel
        latex = term.latex()
        if len(latex) > longest:
            lines.append(f"<code>{escape(repr(term))}</code>")
        else:
            lines.append(("+ " if i else "") + in_factors(("k(x, z) = " if i == 0 else "") + latex))
    if len(terms) > most:
        lines.append(f"+ … {len(terms) - most} terms more, which are in the tree")
    return f'<div class="formula">{"".join(f"<div>{line}</div>" for line in lines)}</div>'


def _terms(k: Kernel) -> list[Kernel]:
    """Return the terms of a sum, with the factors before sums among them multiplied out."""
    if isinstance(k, Sum):
        return [term for each in k.terms for term in _terms(each)]
    if isinstance(k, Scaled) and isinstance(k.kernel, Sum):
        return [k.factor * term for term in _terms(k.kernel)]
    return [k]


def selection(facts: Facts) -> str:
    """Show what was chosen from."""
    results = getattr(facts.model, "cv_results_", None)
    candidates = getattr(facts.model, "candidates_", None)
    if results is None and candidates is not None:
        return _leaderboard(candidates, facts.is_classes)
    if results is None or "kernel" not in results:
        return ""
    order = np.argsort(results["rank_test_score"], kind="stable")[:CANDIDATES]
    name = "alpha" if "alpha" in results else "C"
    rows = [
        (i + 1, repr(results["kernel"][k]), results[name][k], results["mean_test_score"][k])
        for i, k in enumerate(order)
    ]
    return section(
        "Selection",
        paragraph(str(getattr(facts.model, "search_", ""))),
        table(["rank", "kernel", name, "score"], rows),
        figures((charts.selection(results), "scores of the candidates, the chosen one marked")),
    )


def _leaderboard(candidates: Leaderboard, is_classes: bool) -> str:
    by = "the root of their mean squared error on rows left out, in units of the target"
    if is_classes:
        by = (
            "the share of rows left out that they put into a wrong class; it is chosen by "
            "squared errors of its scores, which tell more than counts"
        )
    text = (
        f"The kernels that were tried, the chosen one first, the others by {by}. Rows that equal "
        "each other count once."
    )
    notes = "".join(f"{remark[0].upper()}{remark[1:]}. " for remark in candidates.remarks)
    rows = [
        (rank, c.name, c.scored_by, c.rows, float(c.score), round(float(c.seconds), 1))
        for rank, c in enumerate(candidates, 1)
    ]
    header = candidates.header
    rest = ""
    if len(rows) > CANDIDATES:
        more = len(rows) - CANDIDATES
        rest = (
            f"<details><summary>{more} more</summary>{table(header, rows[CANDIDATES:])}</details>"
        )
    plot = charts.leaderboard([float(entry.score) for entry in candidates], candidates.measure)
    said = f"{candidates.measure} on rows left out; the chosen one is marked"
    return section(
        "Leaderboard",
        paragraph(text),
        table(header, rows[:CANDIDATES]),
        rest,
        paragraph(notes.strip()),
        figures((plot, said)),
    )


def similarity(facts: Facts) -> str:
    """Show the Gram matrix and its spectrum."""
    K = charts.gram(facts, charts.SPECTRUM_ROWS)
    if K is None:
        return ""
    n = facts.n_train or n_rows(facts.train_rows)
    found = eigenvalues_of(K, n, ridge_of(facts.inner))
    told = "eigenvalues of K"
    if found.effective_dimension is not None:
        # Of some rows no more eigenvalues are known.
        least = "at least " if len(K) < n else ""
        told += (
            f"; dashed: alpha. Effective dimension {least}{found.effective_dimension:.1f}: so many "
            f"numbers the fit to {n:,} rows is free to choose"
        )
    shown = (
        f"k(x, z) of {min(len(K), charts.GRAM_ROWS)} rows, ordered by cluster: the more alike, the "
        "stronger the colour, by rank among all pairs"
    )
    return section(
        "Similarity of the training rows",
        figures(
            (charts.gram_picture(K), shown),
            (charts.spectrum(found), told),
        ),
    )


def influential(facts: Facts, numbers: Any = None) -> str:
    """List the training rows whose coefficients are the largest.

    Parameters
    ----------
    facts : Facts
        The model.
    numbers : array of shape (n,), optional
        Which rows of a file the training rows are, from 1 on.
    """
    rows = facts.train_rows
    if rows is None or sp.issparse(rows) or facts.function is None:
        return ""
    try:
        size = facts.function.row_norms()
    except ValueError:
        # The parts of a mean by landmarks have rows of their own each.
        return ""
    # A row has a coefficient for every target, and in a mean of functions for every one of them.
    a = getattr(facts.function.dual, "by_target", None)
    own = a[:, 0].tolist() if a is not None and a.shape[1] == 1 else None
    # Rows that are shown.
    most = 10
    order = np.argsort(-size, kind="stable")[:most]
    header, cells = _shown_rows(facts, take_rows(rows, order))
    is_of_file = numbers is not None and len(numbers) == n_rows(rows)
    own_number = numbers if is_of_file else np.arange(n_rows(rows))
    listed = [
        (int(own_number[i]), float(size[i]), *([] if own is None else [own[i]]), *row)
        for i, row in zip(order, cells, strict=True)
    ]
    text = (
        "The rows with the largest part in f, ‖a k(x, ·)‖: the fit leans on them, and they are "
        "the first to check for errors in the data. "
    )
    text += (
        "Rows are counted as in the file, the first below the header is 1."
        if is_of_file
        else "Training rows are counted from 0."
    )
    first = ["row", "size"] + ([] if own is None else ["a"])
    return section("Influential rows", paragraph(text), table([*first, *header], listed))


def _shown_rows(facts: Facts, rows: Any) -> tuple[list[str], list[list[Any]]]:
    """Return the most important columns of rows, by name, and their cells."""
    if not has_columns(rows):
        return ["text"], [[str(rows[i])] for i in range(n_rows(rows))]
    if is_table(rows):
        names = [str(name) for name in column_names(rows)]
    else:
        names = [str(name) for name in getattr(facts.inner, "feature_names_in_", ())]
    titles: list[Any] = names or list(range(rows.shape[1]))
    known = [titles.index(column) for column in facts.columns if column in titles]
    # Columns that are shown.
    most = 8
    places = (known or list(range(len(titles))))[:most]
    cells = [cells_of(rows, place) for place in places]
    header = [facts.title(titles[place]) for place in places]
    return header, [[_plain(column[i]) for column in cells] for i in range(n_rows(rows))]


def _plain(value: Any) -> Any:
    if value is None:
        return ""
    return str(value)[:10] if isinstance(value, np.datetime64) else value


def certificate(facts: Facts) -> str:
    """Say what the solver proves, and what the fit took in time and memory."""
    model = getattr(facts.inner, "estimator_", facts.inner)
    lines: list[tuple[str, Any]] = []
    said = getattr(model, "certificate_", None)
    if said is not None:
        lines.append(("certificate", said))
    if facts.function is not None:
        lines.append(("kernel", str(facts.function.kernel.check()).splitlines()[0].split(":")[0]))
    approximation = getattr(model, "approximation_", None)
    if approximation is not None:
        lines.append(("approximation", approximation))
    solution = getattr(model, "solution_", None)
    if solution is not None:
        lines += [("solver", solution.solver), ("time to solve", _seconds(solution.seconds))]
    elif getattr(model, "solver_", None) is not None:
        lines.append(("solver", type(model.solver_).__name__))
    if facts.rows_per_second is not None:
        lines.append(("speed of predictions", f"{facts.rows_per_second:,.0f} rows a second"))
    if facts.function is not None:
        lines.append(("memory of the model", _bytes(_size(facts))))
    if facts.holds_all_rows:
        n = facts.n_train or 0
        lines.append(("memory of a stored Gram matrix", _bytes(8 * n * n)))
    peak = _peak_memory()
    if peak is not None:
        lines.append(("peak memory of this process so far", _bytes(peak)))
    return section("Certificate and cost", table(["", ""], lines))


def _seconds(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1.0 else f"{1e3 * seconds:.3g} ms"


def _bytes(count: float) -> str:
    for unit in ("B", "kB", "MB"):
        if count < 1000.0:
            return f"{count:.3g} {unit}"
        count /= 1000.0
    return f"{count:.3g} GB"


def _size(facts: Facts) -> int:
    """Return the bytes of the rows and coefficients that a model holds."""
    f, rows = facts.function, facts.train_rows
    # The parts of a mean share their rows.
    parts: Any = getattr(f, "parts", (f,))
    held = [] if f is None else [f.intercept, *(p.coefficients for p in parts)]
    held += [] if rows is None else list(rows_state(rows).values())
    return sum(int(getattr(value, "nbytes", sys.getsizeof(value))) for value in held)


def _peak_memory() -> int | None:
    """Return the most memory that this process has held, where the system tells."""
    try:
        from resource import RUSAGE_SELF, getrusage
    except ImportError:
        # Windows has no such module.
        return None
    unit = 1 if sys.platform == "darwin" else 1024
    return getrusage(RUSAGE_SELF).ru_maxrss * unit
