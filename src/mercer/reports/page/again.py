"""The command and the Python code that make a model again."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from mercer.reports.page.facts import Facts
from mercer.reports.page.html import section
from mercer.reports.page.source import Source
from mercer.reports.recipe import Part, recipe_of

# Where it is not known how rows were read.
UNKNOWN = (
    "import mercer\n\n# X and y are the rows that were learned from, the others those held out."
)
NEARLY = (
    "# Its maps took some numbers from a part of these rows, and here they take them from all:\n"
    "# predictions differ by a little.\n"
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
    parts = () if facts.function is None else recipe_of(model, digits=None)
    spelled = [_spelled(facts, part) for part in parts]
    given = [*(_kernels(parts, spelled) if parts else []), *_changed(model)]
    arguments = "".join(f"    {argument},\n" for argument in given)
    found = ""
    if chooser is not model:
        searched = ", ".join(_changed(chooser))
        found = f"# What mercer.{type(chooser).__name__}({searched}) chose of these rows.\n"
    both = zip(parts, spelled, strict=True)
    if any(text != str(part.exact) and not _is_taken_again(facts, part) for part, text in both):
        found += NEARLY
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


def _kernels(parts: Sequence[Part], texts: Sequence[str]) -> list[str]:
    """Return the kernel and its penalty as arguments; of a mean those of every fit."""
    spelled = list(map(repr, texts))
    if parts[0].share is None:
        return [*spelled, *(f"{name}={value!r}" for name, value in parts[0].penalties.items())]
    kernels = "".join(f"        {text},\n" for text in spelled)
    alphas, weights = [part.penalties["alpha"] for part in parts], [part.share for part in parts]
    return [f"[\n{kernels}    ]", f"alphas={alphas}", f"weights={weights}"]


def _spelled(facts: Facts, part: Part) -> str:
    """Return a kernel without the numbers that its maps take again from the training rows.

    A search may have taken them from some of these rows: then they stand in the text, unless there
    are too many to be read.
    """
    short = str(part.kernel)
    # Characters of a kernel that a reader passes over.
    most, long = 10_000, str(part.exact)
    return short if _is_taken_again(facts, part) or len(long) > most else long


def _is_taken_again(facts: Facts, part: Part) -> bool:
    """Whether the maps of a kernel have the numbers of the training rows, as far as is known."""
    if not facts.holds_all_rows:
        return True
    return part.kernel.resolved(facts.train_rows, facts.problem.weights) == part.exact


def _changed(model: Any) -> list[str]:
    """Return the settings of a model that are not what they are by default, as arguments."""
    values = {name: getattr(model, name, None) for name in SETTINGS}
    return [
        f"{name}={value!r}"
        for name, value in values.items()
        if isinstance(value, int | str) and value is not True and value != "auto"
    ]
