"""scikit-learn's callbacks, such as its progress bar, where there are any (1.9 and later)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from mercer.solvers import Run

__all__ = ["CallbackSupportMixin", "run_as_task"]

Result = TypeVar("Result")

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Nothing: this scikit-learn has no callbacks."""

    def with_callbacks(method: Any) -> Any:
        """Return the method as it is."""
        return method


@with_callbacks
def run_as_task(
    estimator: Any, solve: Callable[[Run], Result], run: Run, X: Any, y: Any, iterates: bool
) -> Result:
    """Return ``solve(run)`` as a task that the estimator's callbacks see.

    Every step that a solver reports to the run is a subtask.
    """
    task = estimator._init_callback_context(max_subtasks=None if iterates else 0)
    task.call_on_fit_task_begin(estimator=estimator, X=X, y=y)

    def progress(iteration: int, residual: float) -> bool:
        step = task.subcontext(task_name="iteration")
        step.call_on_fit_task_begin(estimator=estimator, X=X, y=y)
        return bool(step.call_on_fit_task_end(estimator=estimator, X=X, y=y))

    if iterates:
        run.progress = progress
    result = solve(run)
    task.call_on_fit_task_end(estimator=estimator, X=X, y=y)
    return result
