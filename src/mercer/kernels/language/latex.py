"""The formula of a kernel in LaTeX, derived from what ``lower`` returns.

The expression is read as a sum of products in which numbers are folded: a squared distance is a
squared norm, so that its root is the norm; exp(-m log(1 + u)) is a power of 1 + u; what a
normalisation leaves as it is, it is not written around. Columns are counted from 0, as in ``on``.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, fields
from itertools import accumulate
from typing import Any

from mercer.data.categories import AsCategories
from mercer.kernels.formula import Formula
from mercer.kernels.heuristics import RULES
from mercer.kernels.language.notation import (
    PRODUCT,
    SIGN,
    SUM,
    Factor,
    Terms,
    number,
    plus,
    power,
    root,
    times,
    written,
)
from mercer.tiles import Expression, Tile
from mercer.tiles.tile import (
    Add,
    Leaf,
    Map,
    Multiply,
    Normalize,
    Number,
    Opaque,
    Polynomial,
    Power,
    ScaleRows,
    Select,
    View,
)

SPECIAL = {c: f"\\{c}" for c in "&%$#_{}"} | {"\\": r"\textbackslash{}", "^": r"\^{}", "~": r"\~{}"}


def latex(expression: Expression) -> str:
    """Return the formula in LaTeX."""
    return written(_Reader("x", "z").read(expression))


@dataclass(frozen=True, slots=True)
class Symbol(Expression):
    """A positive number that has a name instead of a value."""

    text: str


class SymbolTile(Tile):
    """The tile on which length scales may be symbols."""

    __slots__ = ()

    def squared_distance(self, length_scale: Any = 1.0) -> Expression:
        if not isinstance(length_scale, Expression):
            return super().squared_distance(length_scale)
        return self.reciprocal(length_scale**2) * super().squared_distance()

    def manhattan(self, length_scale: Any = 1.0) -> Expression:
        if not isinstance(length_scale, Expression):
            return super().manhattan(length_scale)
        return self.reciprocal(length_scale) * super().manhattan()


def symbolic(kernel: Formula) -> Expression:
    """Return the expression of a kernel, with symbols for parameters that data will decide."""
    return _with_symbols(kernel).lower(SymbolTile())


def _with_symbols(kernel: Formula) -> Formula:
    if kernel.is_resolved:
        return kernel
    # The domain of a parameter refuses a symbol, so the copy is filled behind its back.
    twin = copy.copy(kernel)
    for f in fields(kernel):
        value = getattr(kernel, f.name)
        if isinstance(value, Formula):
            value = _with_symbols(value)
        elif isinstance(value, tuple):
            value = tuple(_with_symbols(v) if isinstance(v, Formula) else v for v in value)
        elif "domain" in f.metadata and value in RULES:
            value = _symbol(value, f.name, kernel.metric)
        object.__setattr__(twin, f.name, value)
    return twin


def _symbol(rule: str, parameter: str, metric: str) -> Expression:
    """Return what :func:`mercer.kernels.heuristics.resolve` computes, for d columns."""
    if rule == "median":
        return Symbol(r"\ell_{\mathrm{median}}")
    size: Expression = Symbol("d")
    if rule == "variance":
        size = size * Symbol(r"\operatorname{var}(X)")
    if parameter != "length_scale":
        return Tile.reciprocal(size)
    return size if metric == "manhattan" else Tile.sqrt(0.5 * size)


@dataclass(frozen=True)
class _Reader:
    """Reads expressions in the pair of rows called `left` and `right`."""

    left: str
    right: str

    def read(self, e: Expression) -> Terms:
        match e:
            case Number(value):
                return Terms.constant(value)
            case Symbol(text):
                return Terms.factor(Factor(text, short=True, positive=True))
            case Leaf():
                return _compared(e, _row(self.left, e.left), _row(self.right, e.right))
            case Opaque(fill, view):
                return _called(fill, "k", _row(self.left, view), _row(self.right, view))
            case Add():
                return plus(self.read(t) for t in _flat(e))
            case Multiply():
                product = Terms.constant(1.0)
                for t in _flat(e):
                    product = times(product, self.read(t))
                return product
            case Power(base, exponent):
                return power(self.read(base), exponent)
            case Polynomial(argument, coefficients):
                powers = [(c, j) for j, c in enumerate(coefficients) if c or len(coefficients) == 1]
                return plus(
                    self.read(c * argument**j if j else Number(c)) for c, j in reversed(powers)
                )
            case Map(function, argument):
                return _mapped(function, self.read(argument))
            case ScaleRows(argument, f, view):
                left, right = (_called(f, "f", _row(v, view)) for v in (self.left, self.right))
                return times(times(left, self.read(argument)), right)
            case Normalize(argument):
                return self.normalized(argument)
        raise TypeError(f"lower() returned {e!r}; build it from the methods of the tile t")

    def normalized(self, e: Expression) -> Terms:
        if self.left == self.right:
            return Terms.constant(1.0)
        diagonals = [_Reader(v, v).read(e) for v in (self.left, self.right)]
        below = root(times(*diagonals))
        return times(self.read(e), power(below, -1)) if below else below


def _flat(e: Add | Multiply) -> list[Expression]:
    """Return the terms of ((a + b) + c) + d without recursion, as a sum may be long."""
    first: Expression = e
    others: list[Expression] = []
    while isinstance(first, type(e)):
        others.extend(reversed(first.terms[1:]))
        first = first.terms[0]
    return [first, *reversed(others)]


def _mapped(function: str, argument: Terms) -> Terms:
    if function == "sqrt":
        return root(argument)
    if function == "reciprocal":
        return power(argument, -1)
    if not argument:
        return Terms.constant(1.0 if function == "exp" else 0.0)
    if function == "log1p":
        inside = plus([Terms.constant(1.0), argument])
        text = rf"\log\left({written(inside)}\right)"
        return Terms.factor(Factor(text, logarithm_of=inside.as_factor()))
    if function == "exp" and (logarithm := argument.as_logarithm()):
        exponent, base = logarithm
        return power(Terms.factor(base), exponent)
    text = rf"\{function}\left({written(argument)}\right)"
    return Terms.factor(Factor(text, positive=function == "exp"))


@dataclass(frozen=True)
class _Row:
    """A row seen through a view: its text, and the columns selected last."""

    base: str
    columns: tuple[str | int, ...] | None = None

    @property
    def listed(self) -> str:
        columns = self.columns or ()
        # As many as make a short index, the first one in any case.
        letters = accumulate(len(str(c)) + 2 for c in columns[:5])
        n = max(1, sum(count <= 24 for count in letters))
        shown = [_label(c) for c in columns[:n]] + [r"\dots"] * (len(columns) > n)
        return r",\, ".join(shown)

    @property
    def text(self) -> str:
        return self.base if self.columns is None else self.component(self.listed)

    @property
    def index(self) -> str:
        """The index of the columns under a sign."""
        return "j" if self.columns is None else rf"{{j \in \{{{self.listed}\}}}}"

    def component(self, label: str) -> str:
        bare = len(self.base) == 1 or self.base.endswith(")")
        base = self.base if bare else rf"\left({self.base}\right)"
        return f"{base}_{{{label}}}" if len(label) > 1 else f"{base}_{label}"


def _row(variable: str, view: View) -> _Row:
    row = _Row(variable)
    for step in view:
        if isinstance(step, Select):
            row = _Row(row.base, tuple(_chosen(c, row.columns) for c in step.columns))
        elif not isinstance(step.g, AsCategories):
            ((product, _),) = _called(step.g, "g", row).coefficients.items()
            row = _Row(product[0][0].text)
    return row


def _chosen(column: str | int, among: tuple[str | int, ...] | None) -> str | int:
    """Return the column of the first table that `column` means in a selection `among` it."""
    if among is None or isinstance(column, str) or not -len(among) <= column < len(among):
        return column
    return among[column]


def _label(column: str | int) -> str:
    return str(column) if isinstance(column, int) else rf"\text{{{_escaped(column)}}}"


def _escaped(text: str) -> str:
    return "".join(SPECIAL.get(c, c) for c in " ".join(text.split()))


def _called(function: Any, letter: str, *rows: _Row) -> Terms:
    """Return a function of rows, by its own ``as_latex``, by its name or by a letter."""
    texts = [r.text for r in rows]
    if hasattr(function, "as_latex"):
        return Terms.factor(Factor(function.as_latex(*texts), PRODUCT))
    name = getattr(function, "__name__", "")
    if name.isidentifier() and not name.startswith("_"):
        letter = rf"\operatorname{{{_escaped(name)}}}"
    return Terms.factor(Factor(f"{letter}({', '.join(texts)})"))


def _compared(leaf: Leaf, x: _Row, z: _Row) -> Terms:
    if x == z:
        return _compared_with_itself(leaf.kind, x)
    if leaf.weights is not None:
        return _weighted(leaf.kind, leaf.weights, x, z)
    one, other = x.component("j"), z.component("j")
    match leaf.kind:
        case "dot":
            transposed = f"{{{x.text}}}" if "^" in x.text else x.text
            return Terms.factor(Factor(rf"{transposed}^\top {z.text}", PRODUCT, short=True))
        case "minimum":
            text = rf"\prod_{x.index} \min({one}, {other})"
            return Terms.factor(Factor(text, SIGN))
        case "match":
            return _matched(x, z)
        case "chi2":
            text = rf"\sum_{x.index} \frac{{({one} - {other})^2}}{{{one} + {other}}}"
            return Terms.factor(Factor(text, SIGN, positive=True))
        case "sine":
            over = "" if leaf.period == 1.0 else f" / {number(leaf.period)}"
            text = rf"\sum_{x.index} \sin^2(\pi ({one} - {other}){over})"
            return Terms.factor(Factor(text, SIGN, positive=True))
    distance = rf"\lVert {x.text} - {z.text}\rVert"
    if leaf.kind == "manhattan":
        return Terms.factor(Factor(distance + "_1", short=True, positive=True))
    return power(Terms.factor(Factor(distance, short=True, positive=True)), 2)


def _compared_with_itself(kind: str, x: _Row) -> Terms:
    if kind == "dot":
        return power(Terms.factor(Factor(rf"\lVert {x.text}\rVert", short=True, positive=True)), 2)
    if kind == "match":
        return Terms.constant(1.0)
    if kind == "minimum":
        text = rf"\prod_{x.index} {x.component('j')}"
        return Terms.factor(Factor(text, SIGN, positive=True))
    return Terms.constant(0.0)


def _matched(x: _Row, z: _Row) -> Terms:
    """Return the mean of the indicators of equal columns."""
    if x.columns is not None and len(x.columns) == 1:
        text = rf"\mathbf{{1}}[{x.text} = {z.text}]"
        return Terms.factor(Factor(text, positive=True))
    count = "d" if x.columns is None else str(len(x.columns))
    equal = rf"\mathbf{{1}}[{x.component('j')} = {z.component('j')}]"
    text = rf"\frac{{1}}{{{count}}} \sum_{x.index} {equal}"
    return Terms.factor(Factor(text, SIGN, positive=True))


def _weighted(kind: str, weights: tuple[float, ...], x: _Row, z: _Row, expanded: int = 4) -> Terms:
    """Return a distance with a length scale for each column.

    So many columns are `expanded`, written one by one; more are under a summation sign, and so are
    those of a row with a long name, which would be wider than a page.
    """
    # Letters of the row in all its columns that fit into a line.
    letters = 120
    if len(weights) > expanded or len(weights) * len(x.base) > letters:
        one, other, scale = x.component("j"), z.component("j"), r"\ell_j"
        if kind == "manhattan":
            text = rf"\sum_{x.index} \frac{{\lvert {one} - {other}\rvert}}{{{scale}}}"
        else:
            text = rf"\sum_{x.index} \frac{{({one} - {other})^2}}{{{scale}^2}}"
        return Terms.factor(Factor(text, SIGN, positive=True))
    known = x.columns is not None and len(x.columns) == len(weights)
    labels = [_label(c) for c in (x.columns or () if known else range(len(weights)))]
    summands = []
    for label, weight in zip(labels, weights, strict=True):
        one, other = x.component(label), z.component(label)
        if kind == "manhattan":
            part = Terms.factor(Factor(rf"\lvert {one} - {other}\rvert", short=True, positive=True))
        else:
            part = power(Terms.factor(Factor(f"{one} - {other}", SUM, short=True)), 2)
        summands.append(times(Terms.constant(weight), part))
    return plus(summands)
