"""The command and the Python code that make a model again."""

from __future__ import annotations

from html import escape
from typing import Any

from mercer.estimators import KernelRidgeMean
from mercer.kernels import Kernel
from mercer.kernels.language.editable import editable
from mercer.reports.page.facts import Facts
from mercer.reports.page.html import section

PENALTIES = ("alpha", "C", "epsilon")
SETTINGS = ("fit_intercept", "class_weight", "solver", "n_landmarks", "random_state")


def again(facts: Facts, command: str) -> str:
    """Show the command and the code that make the same model."""
    parts = [f"<h3>Command</h3><pre>{escape(command)}</pre>"] if command else []
    return section("Again", *parts, f"<h3>Python</h3><pre>{escape(code(facts))}</pre>")


def code(facts: Facts) -> str:
    """Return Python code that makes the same model of the same rows."""
    model, chooser = facts.inner, facts.model
    given = [*_kernels(facts), *_changed(model)]
    arguments = "".join(f"    {argument},\n" for argument in given)
    found = ""
    if chooser is not model:
        searched = ", ".join(_changed(chooser))
        found = f"# What mercer.{type(chooser).__name__}({searched}) chose of these rows.\n"
    return (
        f"import mercer\n\n{found}model = mercer.{type(model).__name__}(\n{arguments})\n"
        "model.fit(X, y)\nmercer.report(model, X_test, y_test, 'report.html')"
    )


def penalties(model: Any) -> dict[str, float]:
    """Return alpha, C and epsilon of a model, those that it has."""
    found = {name: getattr(model, name, None) for name in PENALTIES}
    return {
        k: v for k, v in found.items() if isinstance(v, int | float) and not isinstance(v, bool)
    }


def _kernels(facts: Facts) -> list[str]:
    """Return the kernel and its penalty as arguments; of a mean those of every fit."""
    mean = getattr(facts.inner, "estimator_", facts.inner)
    if isinstance(mean, KernelRidgeMean):
        kernels = "".join(f"        {_spelled(m.kernel_)},\n" for m in mean.estimators_)
        alphas = [float(m.alpha) for m in mean.estimators_]
        weights = [float(v) for v in mean.function_.weights]
        return [f"[\n{kernels}    ]", f"alphas={alphas}", f"weights={weights}"]
    named = [f"{name}={value!r}" for name, value in penalties(facts.inner).items()]
    return named if facts.function is None else [_spelled(facts.function.kernel), *named]


def _spelled(kernel: Kernel) -> str:
    # What maps take from the rows they take again from the same ones, to the same numbers.
    return repr(str(editable(kernel, digits=None)))


def _changed(model: Any) -> list[str]:
    """Return the settings of a model that are not what they are by default, as arguments."""
    values = {name: getattr(model, name, None) for name in SETTINGS}
    return [
        f"{name}={value!r}"
        for name, value in values.items()
        if isinstance(value, int | str) and value is not True and value != "auto"
    ]
