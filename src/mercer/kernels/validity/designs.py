"""Designs: sets of points on which a kernel that is no kernel tends to show it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer.data.checks import as_matrix
from mercer.data.columns import column_names, is_table
from mercer.tiles.rows import NON_NEGATIVE
from mercer.tiles.tile import Leaf, Opaque, ScaleRows, Transform, View

if TYPE_CHECKING:
    from mercer.kernels.kernel import Kernel

Points = NDArray[np.float64] | dict[str, NDArray[np.float64]]

SIZES = (1, 2, 3, 5, 8, 16, 32, 64)


@dataclass(frozen=True)
class Demands:
    """What a kernel asks of its rows: names of columns, how many columns, no negative entries.

    ``has_functions`` says that a user's function is involved, which may ask for more than can be
    known here; ``is_finished`` that the rows must be those of a precomputed matrix.
    """

    # Numbers of columns that are tried where any will do.
    usual_widths: ClassVar[tuple[int, ...]] = (1, 2, 3, 5, 8)

    names: tuple[str, ...] = ()
    at_least: int = 1
    exactly: int | None = None
    non_negative: bool = False
    has_functions: bool = False
    is_finished: bool = False

    def like(self, X: Any) -> Demands:
        """Return the demands on points that look like the numeric rows `X`."""
        matrix = as_matrix(X)
        values = matrix.data if sp.issparse(matrix) else matrix
        names = tuple(column_names(X)) if is_table(X) else ()
        low = float(values.min(initial=0.0))
        return replace(
            self,
            names=names,
            exactly=matrix.shape[1],
            non_negative=self.non_negative or low >= 0.0,
        )

    def rows(self, matrix: NDArray[np.float64]) -> Points:
        """Return the points as a matrix, or as a table if the kernel asks for names."""
        if not self.names:
            return matrix
        unnamed = (f"column {i}" for i in range(matrix.shape[1]))
        names = [*self.names, *unnamed][: matrix.shape[1]]
        return dict(zip(names, matrix.T.copy(), strict=True))

    def widths(self) -> tuple[int, ...]:
        """Return the numbers of columns to try."""
        if self.exactly is not None:
            return (self.exactly,)
        least = max(self.at_least, len(self.names))
        return tuple(w for w in self.usual_widths if w >= least) or (least,)


def demands_of(kernel: Kernel) -> Demands:
    """Return what the formula of a kernel asks of its rows."""
    program = kernel.without_rules().program
    demands = Demands(
        is_finished=any(isinstance(i, Opaque) and i.whole for i in program.inputs),
        has_functions=not program.is_arithmetic,
    )
    for source in program.inputs:
        if not isinstance(source, Leaf):
            demands = _seen_through(source.view, demands)
            continue
        for view in (source.left, source.right):
            demands = _seen_through(view, demands)
        if source.kind in NON_NEGATIVE and not any(isinstance(s, Transform) for s in source.left):
            demands = replace(demands, non_negative=True)
        if source.weights is not None and not source.left:
            demands = replace(demands, exactly=len(source.weights))
    for factor in program.factors:
        if isinstance(factor, ScaleRows):
            demands = replace(_seen_through(factor.view, demands), has_functions=True)
    return demands


def _seen_through(view: View, demands: Demands) -> Demands:
    """Return the demands with those of a view, up to its first map: what follows is hidden."""
    for depth, step in enumerate(view):
        if isinstance(step, Transform):
            # A map that knows how many columns it takes says so.
            exactly = demands.exactly if depth else getattr(step.g, "n_columns", demands.exactly)
            return replace(demands, has_functions=True, exactly=exactly)
        names = [c for c in step.columns if isinstance(c, str)]
        # Positions count the columns as given only before any were selected.
        positions = [] if depth else [c for c in step.columns if not isinstance(c, str)]
        needed = [c + 1 if c >= 0 else -c for c in positions]
        demands = replace(
            demands,
            names=tuple(dict.fromkeys((*demands.names, *names))),
            at_least=max(demands.at_least, *needed, 1),
        )
    return demands


def designs(
    kernel: Kernel,
    demands: Demands,
    widths: tuple[int, ...],
    trials: int,
    rng: np.random.Generator,
) -> Iterator[Points]:
    """Yield point sets that fit the demands: the kernel's own suspects first, then every shape."""
    yield from _suspected(kernel, demands, max(widths))
    for trial in range(trials):
        shape = SHAPES[trial % len(SHAPES)]
        if trial < len(SHAPES):
            # Few, small, rounded points first: most witnesses are found there, and read well.
            matrix = np.round(shape(rng, 8, min(widths)), 2)
        else:
            n, width = int(rng.choice(SIZES)), int(rng.choice(widths))
            # A user's function is not asked for digits that it may not have.
            reach = 1.0 if demands.has_functions else 3.0
            matrix = 10.0 ** rng.uniform(-reach, reach) * shape(rng, n, width)
        folded = demands.non_negative or (demands.has_functions and rng.random() < 0.5)
        yield demands.rows(np.abs(matrix) if folded else matrix)


def _suspected(kernel: Kernel, demands: Demands, width: int) -> Iterator[Points]:
    points = np.zeros((0, width))
    for suspect in kernel.suspects():
        row = np.zeros(width)
        for column, value in suspect.items():
            row[demands.names.index(column) if isinstance(column, str) else column] = value
        points = np.vstack([points, row])
    if demands.non_negative:
        points = np.abs(points)
    if len(points):
        yield demands.rows(points)
    if len(points) > 1:
        first, second = np.triu_indices(len(points), 1)
        yield demands.rows(
            np.vstack([points[first] + points[second], points[first] - points[second]])
        )


def _cloud(rng: np.random.Generator, n: int, width: int) -> NDArray[np.float64]:
    return rng.standard_normal((n, width))


def _box(rng: np.random.Generator, n: int, width: int) -> NDArray[np.float64]:
    return rng.uniform(-1.0, 1.0, (n, width))


def _line(rng: np.random.Generator, n: int, width: int) -> NDArray[np.float64]:
    """Return points on a line through the origin, evenly spaced or not."""
    steps = np.linspace(-1.0, 1.0, n) if rng.random() < 0.5 else rng.standard_normal(n)
    return np.outer(steps, rng.standard_normal(width))


def _ray(rng: np.random.Generator, n: int, width: int) -> NDArray[np.float64]:
    """Return points on a half-line, at distances from 0.01 to 100."""
    return np.outer(np.geomspace(1e-2, 1e2, n), np.abs(rng.standard_normal(width)))


def _twins(rng: np.random.Generator, n: int, width: int) -> NDArray[np.float64]:
    """Return pairs of points that nearly agree."""
    centres = np.repeat(rng.standard_normal((n // 2 + 1, width)), 2, axis=0)[:n]
    return centres + 10.0 ** rng.uniform(-6.0, -1.0) * rng.standard_normal((n, width))


def _simplex(rng: np.random.Generator, n: int, width: int) -> NDArray[np.float64]:
    """Return the origin, the corners of the simplex, their opposites and their sum."""
    corners = np.eye(width)
    points = np.vstack([np.zeros(width), corners, -corners, np.ones(width)])
    return points[: max(n, 2)]


def _lattice(rng: np.random.Generator, n: int, width: int) -> NDArray[np.float64]:
    """Return distinct points with coordinates -2, -1, 0, 1 or 2."""
    return np.unique(rng.integers(-2, 3, (n, width)), axis=0).astype(np.float64)


def _far(rng: np.random.Generator, n: int, width: int) -> NDArray[np.float64]:
    """Return a cloud far from the origin."""
    return rng.standard_normal((n, width)) + 10.0 * rng.standard_normal(width)


Shape = Callable[[np.random.Generator, int, int], NDArray[np.float64]]
SHAPES: tuple[Shape, ...] = (_simplex, _line, _cloud, _ray, _lattice, _twins, _box, _far)
