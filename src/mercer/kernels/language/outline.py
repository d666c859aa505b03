"""What a kernel compares, in the words of a sentence, or its expression term by term."""

from __future__ import annotations

from typing import Any

from mercer.kernels.kernel import (
    After,
    Columns,
    Constant,
    Kernel,
    Normalized,
    Power,
    Product,
    Scaled,
    Sum,
)
from mercer.kernels.language.brief import in_lines, without_lists
from mercer.kernels.language.printing import snake_case


def outline(kernel: Kernel) -> str:
    """Return which families a kernel is made of and which columns they read, without its numbers.

    ``gaussian of age, dose and 4 more × match of site + words of note``: what ``str(k)`` writes out
    over a page, to be read at a glance. Terms that differ in their numbers alone are named once,
    and so are the columns that several terms read.
    """
    found: dict[Any, dict[str, None]] = {}
    for term in _terms(kernel):
        if isinstance(term, Columns):
            found.setdefault(term.columns, {}).setdefault(_bracketed(term.kernel))
        else:
            found.setdefault(_term(term), {})
    texts = []
    for key, families in found.items():
        if isinstance(key, str):
            texts.append(key)
            continue
        joined = " + ".join(families)
        texts.append(f"{joined if len(families) == 1 else f'({joined})'} of {_listed(key)}")
    return " + ".join(texts)


def by_terms(kernel: Kernel) -> str:
    """Return the expression of a kernel to be read: a long one has lines for each term of a sum.

    In a long term the lists of many numbers or columns are counted.
    """
    # Characters of a line, with room for a label before it, and those that a few lines hold.
    line, most = 64, 128
    if len(str(kernel)) <= line:
        return str(kernel)
    terms = map(str, kernel.terms if isinstance(kernel, Sum) else (kernel,))
    some = (term if len(term) <= most else without_lists(term) for term in terms)
    return "\n+ ".join("\n".join(in_lines(term, line)) for term in some)


def _terms(kernel: Kernel) -> list[Kernel]:
    """Return the terms of a sum without their factors, but for constants beside others."""
    if isinstance(kernel, Scaled):
        return _terms(kernel.kernel)
    if isinstance(kernel, Sum):
        terms = [term for each in kernel.terms for term in _terms(each)]
        return [t for t in terms if not isinstance(t, Constant)] or terms
    return [kernel]


def _term(kernel: Kernel) -> str:
    if isinstance(kernel, Product):
        factors = [factor for factor in kernel.terms if not isinstance(factor, Constant)]
        return " × ".join(_factor(factor) for factor in factors)
    if isinstance(kernel, Columns):
        return f"{_bracketed(kernel.kernel)} of {_listed(kernel.columns)}"
    if isinstance(kernel, After):
        return f"{_bracketed(kernel.kernel)}{_mapped(kernel.g)}"
    if isinstance(kernel, Power | Normalized):
        word = "a power of" if isinstance(kernel, Power) else "normalized"
        return f"{word} {_bracketed(kernel.parts[0])}"
    inner = kernel.parts
    name = snake_case(type(kernel).__name__)
    return f"{name}({', '.join(map(outline, inner))})" if inner else name


def _factor(kernel: Kernel) -> str:
    terms = _terms(kernel)
    return _term(terms[0]) if len(terms) == 1 else f"({outline(kernel)})"


def _bracketed(kernel: Kernel) -> str:
    text = outline(kernel)
    return f"({text})" if " + " in text or " × " in text else text


def _mapped(g: Any) -> str:
    """Return what a map makes of rows, where that changes which rows are alike."""
    words = {"normal_scores": " of ranks", "calendar": " of the calendar"}
    return words.get(snake_case(type(g).__name__), "")


def _listed(columns: tuple[Any, ...]) -> str:
    """Return columns by name, the first ones where they are many."""
    most = 3
    names = [str(column) for column in columns]
    if len(names) > most + 1:
        names = [*names[:most], f"{len(names) - most} more"]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
