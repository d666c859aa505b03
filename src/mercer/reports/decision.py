"""The picture of a classifier of two columns: its regions, its margins and its support."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.svm import SVC, LinearSVC, NuSVC
from sklearn.utils.validation import check_is_fitted

from mercer.data.checks import as_matrix
from mercer.data.columns import column_names, is_table, like_rows, table_matrix
from mercer.estimators import KernelSVC
from mercer.kernels import Kernel
from mercer.reports.axes import COLOURS, axes_for, entitle, legend_beside
from mercer.reports.selection import called

Array = NDArray[np.float64]

# A mark for each colour.
MARKS = ("o", "s", "^", "D", "v", "P", "X")
MARGIN_MACHINES = (KernelSVC, SVC, NuSVC, LinearSVC)


@dataclass(frozen=True, eq=False)
class Surface:
    """The answers of a classifier on a grid, for every class positive where it is predicted.

    Parameters
    ----------
    x, z : array of shape (columns,), array of shape (rows,)
        The positions of the grid.
    leads : array of shape (classes, rows, columns)
        By how much every class leads.
    margin : float or None
        The lead at which a margin is drawn.
    """

    x: Array
    z: Array
    leads: Array
    margin: float | None


class DecisionDisplay:
    """The regions of a classifier of two columns, with its margins and support vectors.

    Two classes are divided by the line f = 0; of a support vector machine the margins f = -1 and
    f = 1 are dashed and the regions within them paler. Of more classes every region is that of the
    class predicted. Support vectors are ringed.

    Parameters
    ----------
    surface : Surface
        What the classifier says on a grid.
    points : array of shape (n, 2)
        Rows to draw.
    codes : array of shape (n,)
        Their classes by number.
    classes : list of str
        The names of the classes.
    support : array of shape (s, 2)
        The support vectors; none if there are none.
    names : tuple of str
        What the columns are called.
    title : str
        What the model is called.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes drawn on.
    figure_ : matplotlib Figure
        Their figure.
    regions_ : list of matplotlib ContourSet
        The region of every class.
    boundary_ : list of matplotlib ContourSet
        The lines between the regions, and the margins.
    points_ : list of matplotlib PathCollection
        The rows of every class.
    support_ : matplotlib PathCollection or None
        The rings.
    """

    # How much white is in the colour of a region, and of one within the margins.
    pale: ClassVar[float] = 0.62
    paler: ClassVar[float] = 0.82

    def __init__(
        self,
        surface: Surface,
        points: Array,
        codes: NDArray[np.intp],
        classes: list[str],
        support: Array,
        names: tuple[str, str],
        title: str,
    ) -> None:
        self.surface = surface
        self.points = points
        self.codes = codes
        self.classes = classes
        self.support = support
        self.names = names
        self.title = title

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        resolution: int = 200,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw a fitted classifier over the rows `X` with labels `y`.

        Parameters
        ----------
        estimator : classifier
            Fitted to two columns; a pipeline or a search will do.
        X : rows
            An array or a table of two columns. Support vectors are looked up among them.
        y : array of shape (n,)
            Their labels.
        resolution : int
            The number of positions of the grid along each axis.
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.
        **options
            Settings of the points for ``Axes.scatter``.
        """
        return cls.of(estimator, X, y, resolution).plot(ax, **options)

    @classmethod
    def of(cls, estimator: Any, X: Any, y: Any, resolution: int = 200) -> Self:
        """Return what `from_estimator` draws."""
        check_is_fitted(estimator)
        points = table_matrix(X, "X") if is_table(X) else np.asarray(as_matrix(X), np.float64)
        if points.shape[1] != 2:
            raise ValueError(
                f"a picture of regions needs two columns, got {points.shape[1]}; fit the model "
                "to two of them"
            )
        labels = np.asarray(y)
        if labels.shape != (len(points),):
            raise ValueError(
                f"X has {len(points)} rows but y has shape {labels.shape}; they must agree"
            )
        unknown = np.setdiff1d(labels, estimator.classes_)
        if len(unknown):
            raise ValueError(
                f"y holds {unknown.tolist()[0]!r}, which is none of the classes "
                f"{list(estimator.classes_)} that the model knows"
            )
        first, second = column_names(X) if is_table(X) else ("column 0", "column 1")
        return cls(
            _surface(estimator, X, points, resolution),
            points,
            np.searchsorted(estimator.classes_, labels),
            [str(c) for c in estimator.classes_],
            _support(estimator, points),
            (first, second),
            _title(estimator),
        )

    def plot(
        self, ax: Any = None, *, legend: bool = True, line_width: float = 1.4, **options: Any
    ) -> Self:
        """Draw it, on new axes or those given; the options go to ``Axes.scatter``."""
        ax = axes_for(ax, (6.8, 4.8))
        self.ax_, self.figure_ = ax, ax.figure
        self._draw_regions(ax, line_width)
        self._draw_points(ax, line_width, options)
        ax.set_xlim(self.surface.x[[0, -1]])
        ax.set_ylim(self.surface.z[[0, -1]])
        entitle(ax, self.title, *self.names)
        if legend:
            handles = self.handles()
            labels = [h.get_label() for h in handles]
            if self.support_ is not None:
                labels[handles.index(self.support_)] += f" ({len(self.support)})"
            legend_beside(ax, handles=handles, labels=labels)
        return self

    def handles(self) -> list[Any]:
        """Return what a legend of the picture names, once it is drawn."""
        from matplotlib.lines import Line2D

        lines = [Line2D([], [], color="black", label=self._line_name, linewidth=1.4)]
        if self.surface.margin is not None:
            dashed: dict[str, Any] = {"linestyle": "--", "linewidth": 1.0}
            lines.append(Line2D([], [], color="black", label="f = -1 and f = 1", **dashed))
        rings = [] if self.support_ is None else [self.support_]
        return [*self.points_, *rings, *lines]

    @property
    def _line_name(self) -> str:
        return "boundary" if self.surface.margin is None else "f = 0"

    def _draw_regions(self, ax: Any, line_width: float) -> None:
        s = self.surface
        self.regions_, self.boundary_ = [], []
        for code, lead in enumerate(s.leads):
            top = max(float(lead.max()), 0.0) + 1.0
            levels = [0.0, top] if s.margin is None else [0.0, s.margin, s.margin + top]
            shades = [self.pale] if s.margin is None else [self.paler, self.pale]
            colours = [_whitened(_colour(code), share) for share in shades]
            self.regions_.append(ax.contourf(s.x, s.z, lead, levels, colors=colours, zorder=0))
            lines = [(0.0, line_width, "-")]
            if s.margin is not None:
                lines.append((s.margin, 0.7 * line_width, "--"))
            for level, width, style in lines:
                # A line that is nowhere on the grid is no line.
                if lead.min() < level < lead.max():
                    line = {"linewidths": width, "linestyles": style, "colors": "black"}
                    self.boundary_.append(ax.contour(s.x, s.z, lead, [level], zorder=1, **line))

    def _draw_points(self, ax: Any, line_width: float, options: dict[str, Any]) -> None:
        style: dict[str, Any] = {"s": 26, "edgecolors": "white", "linewidths": 0.7, "zorder": 3}
        style |= options
        self.points_ = [
            ax.scatter(
                *self.points[self.codes == code].T,
                color=_colour(code),
                marker=MARKS[code % len(MARKS)],
                label=name,
                **style,
            )
            for code, name in enumerate(self.classes)
        ]
        self.support_ = None
        if len(self.support):
            self.support_ = ax.scatter(
                *self.support.T,
                s=2.8 * np.max(style["s"]),
                facecolors="none",
                edgecolors="black",
                linewidths=0.6 * line_width,
                zorder=4,
                label="support vectors",
            )


def _surface(estimator: Any, X: Any, points: Array, resolution: int) -> Surface:
    low, high = points.min(axis=0), points.max(axis=0)
    room = np.where(high > low, 0.08 * (high - low), 1.0)
    x, z = (np.linspace(a, b, resolution) for a, b in zip(low - room, high + room, strict=True))
    grid = np.stack(np.meshgrid(x, z), axis=-1)
    scores, margin = _scores(estimator, like_rows(X, grid.reshape(-1, 2)))
    leads = []
    for c in range(scores.shape[1]):
        others = np.delete(scores, c, axis=1).max(axis=1)
        leads.append((scores[:, c] - others).reshape(grid.shape[:2]))
    return Surface(x, z, np.stack(leads), margin)


def _scores(estimator: Any, rows: Any) -> tuple[Array, float | None]:
    """Return a score for every class, and the lead that is a margin if there is one."""
    k = len(estimator.classes_)
    if hasattr(estimator, "decision_function"):
        f = np.asarray(estimator.decision_function(rows))
        if f.ndim == 1:
            # Only the hinge loss makes -1 and 1 the ends of what a classifier is sure of.
            margin = 1.0 if isinstance(_model(estimator), MARGIN_MACHINES) else None
            return np.column_stack([-0.5 * f, 0.5 * f]), margin
        # What votes of pairs say is not one score for each class.
        if f.shape[1] == k and (estimator.classes_[f.argmax(1)] == estimator.predict(rows)).all():
            return f, None
    elif hasattr(estimator, "predict_proba"):
        return np.asarray(estimator.predict_proba(rows)), None
    predicted = estimator.predict(rows)
    return np.where(predicted[:, None] == estimator.classes_, 1.0, 0.0), None


def _model(estimator: Any) -> Any:
    """Return the classifier itself: the best of a search, the last step of a pipeline."""
    model = getattr(estimator, "best_estimator_", estimator)
    return model[-1] if hasattr(model, "steps") else model


def _title(estimator: Any) -> str:
    model = _model(estimator)
    kernel = getattr(model, "kernel_", None)
    name = type(model).__name__
    return f"{name}, {called(kernel)}" if isinstance(kernel, Kernel) else name


def _support(estimator: Any, points: Array) -> Array:
    """Return the rows that a model keeps, by their numbers."""
    support = getattr(_model(estimator), "support_", None)
    if support is None or np.size(support) == 0 or np.max(support) >= len(points):
        return np.empty((0, 2))
    return points[np.asarray(support, np.intp)]


def _colour(code: int) -> str:
    return COLOURS[code % len(COLOURS)]


def _whitened(colour: str, share: float) -> tuple[float, ...]:
    channels = np.array([int(colour[i : i + 2], 16) / 255.0 for i in (1, 3, 5)])
    return tuple(share + (1.0 - share) * channels)
