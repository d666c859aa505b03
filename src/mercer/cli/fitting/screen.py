"""What `mercer fit` found, as a text for people."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from typing import Any

from mercer.cli.talk import heading, indented, pairs, quoted, wrapped
from mercer.data.limits.memory import gigabytes
from mercer.data.listing import as_text, in_four_digits, in_room
from mercer.kernels.language.brief import brief


def shown(result: dict[str, Any]) -> str:
    """Return a result as a text for people, with the headings bold on a terminal."""
    data, rows, plan = result["data"], result["rows"], result["plan"]
    top = {
        "data": f"{data['file']}, {rows['train']} rows to learn from and {rows['test']} held out: "
        f"{result['held_out']['rows']}",
        "target": f"{data['target']}, {data['task']}",
    }
    room = f", {gigabytes(plan['memory'])}" if "memory" in plan else ""
    by = f"{result['model']} by {plan['solver']} on {plan['gram']}{room}"
    how = f"{by}: {plan['because']}"
    bottom = {"certificate": result["certificate"]}
    for label in ("model file", "report"):
        if label in result:
            bottom[label] = result[label]
    parts = [
        pairs(top),
        _shown_columns(result["columns"]),
        _shown_leaderboard(result["leaderboard"], data["target"], result["notes"]),
        _shown_kernel(result),
        f"{heading('plan')}\n  " + wrapped(how, 2),
        shown_tests(result),
        pairs(bottom),
    ]
    return "\n\n".join(part for part in parts if part)


def _shown_kernel(result: dict[str, Any]) -> str:
    parts = result.get("mean", [])
    if parts:
        title = f"{heading('kernel')}, a mean of {len(parts)} fits that compare rows by"
        lines = [f"  {part['weight']:.2f} of {wrapped(part['outline'], 10)}" for part in parts]
        return "\n".join([title, *lines, f"  {wrapped(_in_a_file(result), 2)}"])
    # Characters of an expression from which on it is better to know first what it says, and up to
    # which a terminal shows it in a few lines.
    long, most = 200, 400
    kernel = result["kernel"]
    words = f"\n  {wrapped(result['outline'], 2)}\n  " if len(kernel) > long else ", "
    if len(kernel) > most:
        return f"{heading('kernel')}{words}{wrapped(_in_a_file(result), 2)}"
    penalty = "".join(f"--{name} {result[name]:g} " for name in ("alpha", "C") if name in result)
    said = f"to edit and to give back: {penalty}--kernel"
    return f"{heading('kernel')}{words}{said}\n  {quoted(kernel)}"


def _in_a_file(result: dict[str, Any]) -> str:
    """Return how a kernel that fills a page is edited and given back."""
    model = result.get("model file", "MODEL")
    saved = "" if "model file" in result else "save it by -o MODEL, then "
    return (
        f"to edit and to give back: {saved}mercer info {model} --options > options.toml, and "
        f"mercer fit {result['data']['file']} --config options.toml"
    )


def _shown_columns(columns: list[dict[str, Any]]) -> str:
    used = sum(c.get("used", True) for c in columns)
    title = f"{heading('columns')}, {used} of {len(columns)} are used"
    if len(columns) == 1 and "used" not in columns[0]:
        return f"{heading('columns')}, {columns[0]['column']}: {columns[0]['holds']}"
    some = columns
    # Columns that are listed one by one.
    most = 40
    if len(columns) > most:
        telling = [c for c in columns if not c["used"] or c["missing"]]
        some = (telling or columns)[:most]
        title += f", here are {len(some)} of them"
        title += ", left out or with missing cells" if telling else ""
    header = ("column", "holds", "missing", "distinct", "becomes")
    # Characters of a kernel that was given: what tells its numbers apart is shown below.
    length = 40
    cells = [["" if c[name] is None else c[name] for name in header] for c in some]
    for use, cell in zip(some, cells, strict=True):
        cell[-1] = brief(cell[-1], length) if use["used"] else cell[-1]
    return f"{title}\n{_listed(header, cells)}"


def _shown_leaderboard(board: list[dict[str, Any]], target: str, notes: list[str]) -> str:
    if not board:
        return ""
    header = list(board[0])
    said = {
        "RMSE": f"chosen first, by RMSE on rows left out, in units of {target}",
        "error": "chosen first, by the share of rows left out that are misclassified",
    }
    measure = next(
        (said[name] for name in header if name in said),
        f"best first, by rows left out: {header[-1]}",
    )
    if len({entry.get("rows") for entry in board}) > 1 and header[-1] != "seconds":
        measure += ", those that were tried on the most rows before the others"
    if header[-1] == "seconds":
        measure += "; rows are distinct ones"
    # Candidates that are listed.
    most = 10
    # A kernel that all of them have does not tell them apart.
    if "kernel" in header and len(board) > 1 and len({entry["kernel"] for entry in board}) == 1:
        header.remove("kernel")
    cells = [[entry[name] for name in header] for entry in board[:most]]
    more = len(board) - most
    rest = [f"and {more} more"] if more > 0 else []
    below = "".join(f"\n  {wrapped(line, 2)}" for line in [*rest, *notes])
    titles = [name.replace("_", " ") for name in header]
    title = wrapped(f"{heading('leaderboard')}, {measure}", 2)
    return f"{title}\n{_listed(titles, cells)}{below}"


def _listed(header: Sequence[str], cells: Sequence[Sequence[Any]]) -> str:
    """Return a table, indented, whose longest cells are cut where a terminal has no room."""
    if not sys.stdout.isatty():
        return indented(as_text(header, cells))
    return indented(in_room(header, cells, shutil.get_terminal_size().columns - 2))


def shown_tests(tests: dict[str, Any]) -> str:
    """Return what a test of a model has found as a text for people, see `tests_of`."""
    parts = (
        _shown_scores(tests),
        _shown_classes(tests.get("classes", [])),
        _shown_warnings(tests["warnings"]),
    )
    return "\n\n".join(part for part in parts if part)


def _shown_scores(result: dict[str, Any]) -> str:
    header = ("score", "value", "95% interval", "baseline", "than the baseline")
    one = result.get("thresholds", {}).get("class")
    cells = [
        (
            f"{name} of {one!r:.20}" if name == "average precision" else name,
            in_four_digits(s["value"]),
            f"{in_four_digits(s['low'])} to {in_four_digits(s['high'])}",
            in_four_digits(s["baseline"]),
            s["verdict"],
        )
        for name, s in result["scores"].items()
    ]
    title = f"{heading('held-out rows')}, against {result['baseline']} as baseline"
    return f"{title}\n{indented(as_text(header, cells))}"


def _shown_classes(classes: list[dict[str, Any]]) -> str:
    if not classes:
        return ""
    header = ("class", "rows", "named", "recall", "precision", "F1")
    # Classes that are listed.
    most = 12
    cells = [
        ["-" if value is None else value for value in each.values()] for each in classes[:most]
    ]
    more = len(classes) - most
    rest = f"\n  and {more} more, which --json and the report have" if more > 0 else ""
    legend = "recall: of the rows of a class, how many are named so; precision: of those named so"
    title = f"{heading('class by class')}, the rarest first ({legend}, how many are of it)"
    return f"{wrapped(title, 2)}\n{_listed(header, cells)}{rest}"


def _shown_warnings(found: list[str]) -> str:
    lines = "".join(f"\n  - {wrapped(text, 4)}" for text in found)
    return f"{heading('before you use it')}{lines}" if found else ""
