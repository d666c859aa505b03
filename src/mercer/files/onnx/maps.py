"""Maps of rows as graphs: what a kernel sees of a row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mercer.files.onnx.graph import Graph
from mercer.kernels import NormalScores, Project, Standardize
from mercer.kernels.families.dot import MatrixMap
from mercer.kernels.maps import AsNumbers
from mercer.kernels.recentred import Swapped
from mercer.kernels.scores import score_lines


def selected(graph: Graph, x: str, columns: Sequence[str | int], names: Sequence[Any]) -> str:
    """Return some columns of rows, by their names or positions.

    Parameters
    ----------
    graph : Graph
        Where it is computed.
    x : str
        The rows.
    columns : sequence of str or int
        Which.
    names : sequence
        Of all columns, or empty where they have none.
    """
    places = [list(names).index(c) if isinstance(c, str) else int(c) for c in columns]
    return graph.apply("Gather", x, graph.constant(places, np.int64), axis=1)


def mapped(graph: Graph, x: str, g: Any) -> str:
    """Return rows behind a map of rows, or say why there is no graph of it."""
    written = MAPS.get(type(g))
    if written is None:
        name = getattr(g, "__name__", type(g).__name__)
        # A map says which rows it reads.
        reads = {"sequences": "reads text", "dates": "reads dates"}.get(getattr(g, "domain", ""))
        why = f"the kernel {reads}" if reads else f"{name} has no graph of primitives on numbers"
        raise ValueError(
            f"{why}, so that the model cannot be exported to ONNX; keep it with mercer.save, or "
            "fit it without such columns"
        )
    return written(graph, x, g)


def _standardize(graph: Graph, x: str, g: Standardize) -> str:
    mean, scale = np.array(g.mean), np.array(g.scale)
    centred = graph.apply("Sub", x, graph.constant(mean)) if g.with_mean else x
    rows = graph.apply("Div", centred, graph.constant(scale))
    if g.missing == "refuse":
        return rows
    is_gap = graph.apply("IsNaN", x)
    there = graph.constant(np.zeros_like(mean) if g.with_mean else mean / scale)
    rows = graph.apply("Where", is_gap, there, rows)
    if not g.indicators:
        return rows
    gaps = graph.apply("Where", is_gap, 1.0, 0.0)
    further = graph.apply("Gather", gaps, graph.constant(g.indicators, np.int64), axis=1)
    return graph.apply("Concat", rows, further, axis=1)


def _as_numbers(graph: Graph, x: str, g: AsNumbers) -> str:
    return graph.apply("Where", graph.apply("IsNaN", x), 0.0, x)


def _project(graph: Graph, x: str, g: Project) -> str:
    return graph.product(x, np.array(g.R).T)


def _matrix_map(graph: Graph, x: str, g: MatrixMap) -> str:
    return graph.product(x, np.array(g.A).T)


def _swapped(graph: Graph, x: str, g: Swapped) -> str:
    return graph.apply("Gather", x, graph.constant([1, 0], np.int64), axis=1)


def _normal_scores(graph: Graph, x: str, g: NormalScores) -> str:
    # A line through knots is the sum of its pieces: each rises from its first knot to its second,
    # and stays there.
    lines = score_lines(g)
    pieces = max(1, max(len(knots) for knots, _ in lines) - 1)
    starts, widths, slopes = np.zeros((3, len(lines), pieces))
    for j, (knots, scores) in enumerate(lines):
        n = len(knots) - 1
        starts[j, :n], widths[j, :n] = knots[:-1], np.diff(knots)
        slopes[j, :n] = np.diff(scores) / np.diff(knots)
    from_start = graph.apply(
        "Sub", graph.apply("Unsqueeze", x, graph.constant([2], np.int64)), graph.constant(starts)
    )
    within = graph.apply("Max", graph.apply("Min", from_start, graph.constant(widths)), 0.0)
    rises = graph.sum(graph.apply("Mul", within, graph.constant(slopes)), 2)
    return graph.apply("Add", rises, graph.constant([scores[0] for _, scores in lines]))


MAPS: dict[type[Any], Callable[[Graph, str, Any], str]] = {
    AsNumbers: _as_numbers,
    MatrixMap: _matrix_map,
    NormalScores: _normal_scores,
    Project: _project,
    Standardize: _standardize,
    Swapped: _swapped,
}
