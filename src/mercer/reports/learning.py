"""The picture of a learned kernel: the criterion and the parameters, iteration by iteration."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from mercer.kernels.params import real_parameters
from mercer.learning import Learned
from mercer.reports.axes import dress, legend_beside

NAMES = {"likelihood": "minus log likelihood", "loo": "leave-one-out error, as a log likelihood"}


class LearningDisplay:
    """How a kernel was learned: its criterion above, below it the parameters by iteration.

    A length scale that grows belongs to a column that says little, one that shrinks to a column
    that matters. Named are single numbers and, of several, those that end the lowest.

    Parameters
    ----------
    learned : Learned
        What `mercer.learn` returned.

    Attributes
    ----------
    axes_ : array of two matplotlib Axes
        The axes drawn on.
    figure_ : matplotlib Figure
        Their figure.
    lines_ : list of matplotlib Line2D
        The curve of the criterion, then those of the parameters.
    """

    # Curves that are named: single numbers first, then the shortest of the length scales.
    named: ClassVar[int] = 8

    def __init__(self, learned: Learned) -> None:
        self.learned = learned

    @classmethod
    def from_learned(cls, learned: Learned, *, axes: Any = None, **options: Any) -> Self:
        """Draw how a kernel was learned.

        Parameters
        ----------
        learned : Learned
            What `mercer.learn` returned.
        axes : two matplotlib Axes, optional
            Where to draw; by default a new figure.
        **options
            Settings of the curves for ``Axes.plot``.
        """
        return cls(learned).plot(axes, **options)

    def plot(self, axes: Any = None, **options: Any) -> Self:
        """Draw the curves, on new axes or those given; the options go to ``Axes.plot``."""
        import matplotlib.pyplot as plt

        history = self.learned.history
        if not history:
            raise ValueError("nothing was learned, so that there is nothing to draw")
        if axes is None:
            size: dict[str, Any] = {"figsize": (7.2, 6.0), "layout": "constrained"}
            _, axes = plt.subplots(2, 1, sharex=True, height_ratios=[1, 1.6], **size)
        self.axes_, self.figure_ = axes, axes[0].figure
        iterations = np.arange(len(history))
        values = [step.value for step in history]
        self.lines_ = axes[0].plot(iterations, values, **({"color": "#d1495b"} | options))
        numbers = self._numbers()
        order = sorted(numbers, key=lambda name: (name.endswith("]"), numbers[name][-1]))
        shades = plt.get_cmap("viridis")(np.linspace(0.05, 0.92, min(len(order), self.named)))
        for i, name in enumerate(order):
            is_named = i < self.named
            style = {
                "color": shades[i] if is_named else "0.8",
                "linewidth": 1.6 if is_named else 0.8,
                "zorder": 3 if is_named else 2,
                "label": name if is_named else None,
            }
            self.lines_ += axes[1].plot(iterations, numbers[name], **(style | options))
        self._dress(axes)
        return self

    def _numbers(self) -> dict[str, Any]:
        """Return every positive number that was learned, by iteration."""
        steps = self.learned.history
        found = {"alpha": np.array([step.alpha for step in steps])}
        each = [real_parameters(step.kernel) for step in steps]
        for name in each[0]:
            values = np.array([np.ravel(parameters[name]) for parameters in each])
            count = values.shape[1]
            titles = [name] if count == 1 else [f"{name}[{k}]" for k in range(count)]
            found |= dict(zip(titles, values.T, strict=True))
        return {name: values for name, values in found.items() if (values > 0.0).all()}

    def _dress(self, axes: Any) -> None:
        axes[1].set_yscale("log")
        title = f"learned from {self.learned.rows} rows"
        dress(axes[0], title, "", NAMES[self.learned.criterion])
        dress(axes[1], "", "iteration", "parameter")
        legend_beside(axes[1])
