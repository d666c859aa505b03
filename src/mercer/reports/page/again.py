"""The command and the Python code that make a model again."""

from __future__ import annotations

from html import escape
from typing import Any

from mercer.reports.page.facts import Facts
from mercer.reports.page.html import section
from mercer.reports.page.source import Source
from mercer.reports.recipe import recipe_of

# Where it is not known how rows were read.
UNKNOWN = (
    "import mercer\n\n# X and y are the rows that were learned from, the others those held out."
)
SETTINGS = ("fit_intercept", "class_weight", "solver", "n_landmarks", "random_state")


def again(facts: Facts, source: Source) -> str:
    """Show the command and the code that make the same model."""
    command, python = escape(source.command), escape(code(facts, source))
    parts = [f"<h3>Command</h3><pre>{command}</pre>"] if command else []
    return section("Make it again", *parts, f"<h3>Python</h3><pre>{python}</pre>")


def code(facts: Facts, source: Source | None = None) -> str:
    """Return Python code that makes the same model of the same rows.

    Where nothing tells how these were read, X and y are for the reader to fill in.
    """
    script = "" if source is None else source.script
    is_weighted = "weights_test" in script
    model, chooser = facts.inner, facts.model
    given = [*([] if facts.function is None else _kernels(facts)), *_changed(model)]
    arguments = "".join(f"    {argument},\n" for argument in given)
    found = ""
    if chooser is not model:
        searched = ", ".join(_changed(chooser))
        found = f"# What mercer.{type(chooser).__name__}({searched}) chose of these rows.\n"
    return (
        f"{script or UNKNOWN}\n\n{found}model = mercer.{type(model).__name__}(\n{arguments})\n"
        f"model.fit(X, y{', weights' * is_weighted})\n{_temperature(model)}"
        f"mercer.report(model, X_test, y_test, 'report.html'"
        f"{', sample_weight=weights_test' * is_weighted})"
    )


def _temperature(model: Any) -> str:
    """Return the line that gives probabilities the calibration that a search has found."""
    known = getattr(getattr(model, "_calibration_", None), "known", None)
    return "" if known is None else f"model.set_temperature({known!r})\n"


def _kernels(facts: Facts) -> list[str]:
    """Return the kernel and its penalty as arguments; of a mean those of every fit."""
    # What maps take from the rows they take again from the same ones, to the same numbers.
    parts = recipe_of(facts.inner, digits=None)
    spelled = [repr(str(part.kernel)) for part in parts]
    if parts[0].share is None:
        return [*spelled, *(f"{name}={value!r}" for name, value in parts[0].penalties.items())]
    kernels = "".join(f"        {text},\n" for text in spelled)
    alphas, weights = [part.penalties["alpha"] for part in parts], [part.share for part in parts]
    return [f"[\n{kernels}    ]", f"alphas={alphas}", f"weights={weights}"]


def _changed(model: Any) -> list[str]:
    """Return the settings of a model that are not what they are by default, as arguments."""
    values = {name: getattr(model, name, None) for name in SETTINGS}
    return [
        f"{name}={value!r}"
        for name, value in values.items()
        if isinstance(value, int | str) and value is not True and value != "auto"
    ]
