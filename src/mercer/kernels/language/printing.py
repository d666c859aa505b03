"""Kernels as text and as HTML.

The text is the expression language, which ``mercer.kernel`` reads back. Every kernel class has a
precedence; a kernel that binds less tightly than its place demands is put in brackets.
"""

from __future__ import annotations

import html as markup
import re
from dataclasses import fields
from typing import Any, Protocol

from mercer.kernels.params import Parametric
from mercer.kernels.validity.proof import Proof

SUM, PRODUCT, POWER, CALL = range(4)

WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Node(Protocol):
    """What this module needs to know of a kernel."""

    @property
    def precedence(self) -> int:
        """How tightly the text of this kernel binds."""

    @property
    def parts(self) -> tuple[Any, ...]:
        """The kernels this one is made of."""

    def rule(self) -> str | None:
        """Return the theorem that makes this kernel valid if its parts are."""

    def proof(self) -> Proof | None:
        """Return the proof that this kernel is valid."""


def snake_case(name: str) -> str:
    """Return the name of a class as the expression language spells it."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def call(value: Any) -> str:
    """Return a kernel or another dataclass as ``name(field=value, ...)``."""
    arguments = ", ".join(f"{name}={spell(v)}" for name, v in _parameters(value))
    return f"{snake_case(type(value).__name__)}({arguments})"


def changed(value: Any) -> str:
    """Return a dataclass as ``name(field=value, ...)``, with the fields that are no defaults."""
    given = [
        f"{f.name}={spell(getattr(value, f.name))}"
        for f in fields(value)
        if getattr(value, f.name) != f.default
    ]
    return f"{snake_case(type(value).__name__)}({', '.join(given)})"


def method(kernel: Node, name: str, *arguments: Any) -> str:
    """Return ``kernel.name(argument, ...)``."""
    return f"{inside(kernel, CALL)}.{name}({', '.join(spell(a) for a in arguments)})"


def infix(operator: str, terms: tuple[Node, ...], precedence: int) -> str:
    """Return ``a + b + c``; a single term has no operator to show and is written ``sum(a)``."""
    if len(terms) == 1:
        return f"{'sum' if operator == '+' else 'product'}({terms[0]})"
    return f" {operator} ".join(inside(term, precedence + 1) for term in terms)


def inside(kernel: Node, precedence: int) -> str:
    """Return the text of a kernel, in brackets where it binds less tightly than `precedence`."""
    return f"({kernel})" if kernel.precedence < precedence else str(kernel)


def on(kernel: Node, columns: tuple[str | int, ...]) -> str:
    """Return ``kernel.on(age, 'body mass', 0)``: only names that are no plain word are quoted."""
    plain = [str(c) if isinstance(c, int) or WORD.fullmatch(c) else spell(c) for c in columns]
    return f"{inside(kernel, CALL)}.on({', '.join(plain)})"


def spell(value: Any) -> str:
    """Return a parameter as text: numbers with all their digits, functions by their name."""
    if isinstance(value, tuple):
        return f"[{', '.join(spell(v) for v in value)}]"
    if callable(value) and not isinstance(value, Parametric):
        return f"<{getattr(value, '__name__', type(value).__name__).strip('<>')}>"
    return str.__repr__(value) if isinstance(value, str) else str(value)


def _is_kernel(value: Any) -> bool:
    # Not isinstance: the module of Kernel imports this one.
    return hasattr(value, "precedence")


def _parameters(value: Any) -> list[tuple[str, Any]]:
    return [(f.name, getattr(value, f.name)) for f in fields(value)]


# Grey, green and amber of middle lightness are legible on white and on black; everything else
# takes the colours of the page.
STYLE = """
.mercer-kernel ul {list-style: none; margin: 0 0 0 .6em; padding: 0 0 0 .9em;
  border-left: 1px solid rgba(128, 128, 128, .4)}
.mercer-kernel > ul {border: 0; margin: 0; padding: 0}
.mercer-kernel li {margin: .25em 0}
.mercer-kernel code {background: none; color: inherit; font-weight: 600}
.mercer-kernel small {opacity: .75}
.mercer-kernel .proved {color: #2e9e5b}
.mercer-kernel .open {color: #c77d0a}
"""


def html(kernel: Node) -> str:
    """Return the expression tree, with parameters and validity of every node, as HTML."""
    return (
        f'<div class="mercer-kernel"><style>{STYLE}</style>'
        f"<code>{_escaped(kernel)}</code><ul>{_item(kernel)}</ul></div>"
    )


def _item(kernel: Node) -> str:
    parts = kernel.parts
    own = [
        f"{_escaped(name)}&nbsp;=&nbsp;{_escaped(spell(value))}"
        for name, value in _parameters(kernel)
        if not any(_is_kernel(v) for v in (value if isinstance(value, tuple) else (value,)))
    ]
    lines = [f"<code>{snake_case(type(kernel).__name__)}</code>", ", ".join(own)]
    lines.append(_validity(kernel))
    about = (type(kernel).__doc__ or "").partition("\n")[0]
    # A dataclass without a docstring is given its signature for one, which says nothing new.
    if not about.startswith(f"{type(kernel).__name__}("):
        lines.append(f"<br><small>{_escaped(about)}</small>")
    below = "".join(_item(part) for part in parts)
    return f"<li>{' '.join(lines)}{f'<ul>{below}</ul>' if below else ''}</li>"


def _validity(kernel: Node) -> str:
    proof = kernel.proof()
    if proof is not None:
        return f'<span class="proved">PROVED: {_escaped(proof.rule)}</span>'
    reason = "no rule proves it" if kernel.rule() is None else "a part of it has no proof"
    return f'<span class="open">no proof: {reason}; run .check() to look for a witness</span>'


def _escaped(value: Any) -> str:
    text = str(value)
    shown_characters = 300
    # A matrix of parameters would bury the tree.
    return markup.escape(text if len(text) <= shown_characters else f"{text[:shown_characters]}…")
