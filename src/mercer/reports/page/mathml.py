"""The formula of a kernel as MathML, which browsers set without any help.

It reads the LaTeX that kernels write, and no other: letters, numbers, fractions, roots, scripts,
names and delimiters. What it does not know it shows as it is written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape

TOKEN = re.compile(r"\\[A-Za-z]+|\\.|\d+(?:\.\d+)?|[A-Za-z]|\S", re.DOTALL)
SYMBOLS = {
    r"\pi": "π", r"\ell": "ℓ", r"\phi": "φ", r"\Phi": "Φ", r"\infty": "∞", r"\top": "⊤",
    r"\dots": "…",
}  # fmt: skip
OPERATORS = {
    r"\cdot": "·", r"\in": "∈", r"\sum": "∑", r"\prod": "∏", r"\lVert": "‖", r"\rVert": "‖",
    r"\lvert": "|", r"\rvert": "|", r"\{": "{", r"\}": "}", "-": "−",
}  # fmt: skip
FUNCTIONS = {rf"\{name}": name for name in ("exp", "log", "sin", "cos", "min", "max", "tanh")}
IGNORED = {r"\;", r"\ "}
# What stands between the factors of a product.
THIN = '<mspace width="0.17em"/>'
# What a name in the text of a formula stands for.
WRITTEN = {r"\textbackslash": "\\", r"\^": "^", r"\~": "~"}


def mathml(latex: str) -> str:
    """Return a formula in LaTeX as a MathML element."""
    return _math(_Reader(latex).items(None))


def in_factors(latex: str) -> str:
    """Return a product with an element for every factor, between which a line may end."""
    factors: list[list[str]] = [[]]
    for item in _Reader(latex).items(None):
        if item == THIN:
            factors.append([])
        else:
            factors[-1].append(item)
    return " ".join(_math(factor) for factor in factors)


def _math(items: list[str]) -> str:
    return f'<math displaystyle="true">{_row(items)}</math>'


def _row(items: list[str]) -> str:
    return items[0] if len(items) == 1 else f"<mrow>{''.join(items)}</mrow>"


def _sign(text: str) -> str:
    """Return an operator; brackets and bars stand as high as letters."""
    low = ' stretchy="false"' if text in "()[]{}|‖" else ""
    return f"<mo{low}>{escape(text)}</mo>"


class _Reader:
    """A formula, read from left to right."""

    def __init__(self, latex: str) -> None:
        self.latex = latex
        self.tokens = [(m.group(), m.end()) for m in TOKEN.finditer(latex)]
        self.place = 0

    def items(self, end: str | None) -> list[str]:
        """Return the elements up to a token that ends them, which is taken too."""
        found: list[str] = []
        for token in self._until(end):
            if token in ("^", "_") and found:
                self._script(token, found)
            else:
                found += self._element(token)
        return found

    def _until(self, end: str | None) -> Iterator[str]:
        while self.place < len(self.tokens):
            token = self._next()
            if token == end:
                return
            yield token

    def _next(self) -> str:
        self.place += 1
        return self.tokens[self.place - 1][0]

    def _peek(self) -> str:
        return self.tokens[self.place][0] if self.place < len(self.tokens) else ""

    def _argument(self) -> str:
        """Return what stands in braces, or the next element."""
        if self.place >= len(self.tokens):
            return "<mrow></mrow>"
        token = self._next()
        return _row(self.items("}") if token == "{" else self._element(token)) or "<mrow></mrow>"

    def _script(self, token: str, found: list[str]) -> None:
        """Put a script to the last element, and the other one if it follows."""
        base, first = found.pop(), self._argument()
        other = "_" if token == "^" else "^"
        if self._peek() != other:
            tag = "msup" if token == "^" else "msub"
            if tag == "msub" and base in ("<mo>∑</mo>", "<mo>∏</mo>"):
                tag = "munder"
            found.append(f"<{tag}>{base}{first}</{tag}>")
            return
        self._next()
        second = self._argument()
        low, high = (second, first) if token == "^" else (first, second)
        found.append(f"<msubsup>{base}{low}{high}</msubsup>")

    def _element(self, token: str) -> list[str]:
        match token:
            case "{":
                return [_row(self.items("}"))]
            case r"\frac":
                return [f"<mfrac>{self._argument()}{self._argument()}</mfrac>"]
            case r"\sqrt":
                return [f"<msqrt>{self._argument()}</msqrt>"]
            case r"\text" | r"\operatorname" | r"\mathrm":
                tag = "mtext" if token == r"\text" else "mi"
                return [f"<{tag}>{escape(self._name())}</{tag}>"]
            case r"\mathbf":
                return [f'<mn style="font-weight:bold">{escape(self._name())}</mn>']
            case r"\begin":
                return [self._matrix()]
            case r"\left":
                inside = [self._bracket(), *self.items(r"\right"), self._bracket()]
                return [f"<mrow>{''.join(inside)}</mrow>"]
        if token in IGNORED:
            return []
        if token == r"\,":
            return [THIN]
        if token in SYMBOLS:
            return [f"<mi>{SYMBOLS[token]}</mi>"]
        if token in FUNCTIONS:
            return [f"<mi>{FUNCTIONS[token]}</mi><mo>&#8289;</mo>"]
        if token in OPERATORS:
            return [_sign(OPERATORS[token])]
        if token[0].isdigit():
            return [f"<mn>{token}</mn>"]
        return [f"<mi>{token}</mi>" if token.isalpha() else _sign(token)]

    def _bracket(self) -> str:
        """Return a bracket that is as high as what it holds."""
        return f"<mo>{escape(self._next())}</mo>" if self._peek() else ""

    def _name(self) -> str:
        """Return the text in braces as it was before it was escaped, blanks and all."""
        begin, depth, at, found = self.tokens[self.place][1], 1, self.tokens[self.place][1], ""
        while at < len(self.latex):
            c = self.latex[at]
            if c == "\\":
                token = TOKEN.match(self.latex, at)
                mark = token.group() if token else c
                at += len(mark)
                if mark in WRITTEN:
                    found, at = found + WRITTEN[mark], at + 2 * (self.latex[at : at + 2] == "{}")
                else:
                    found += mark[1:]
                continue
            depth += {"{": 1, "}": -1}.get(c, 0)
            at += 1
            if depth == 0:
                break
            found += c
        while self.place < len(self.tokens) and self.tokens[self.place][1] <= max(at, begin):
            self.place += 1
        return found

    def _matrix(self) -> str:
        """Return a matrix in round brackets."""
        self._name()
        rows: list[list[str]] = [[""]]
        while self.place < len(self.tokens):
            token = self._next()
            if token == r"\end":
                self._name()
                break
            if token == "&":
                rows[-1].append("")
            elif token == r"\\":
                rows.append([""])
            else:
                rows[-1][-1] += "".join(self._element(token))
        body = "".join(
            f"<mtr>{''.join(f'<mtd>{cell}</mtd>' for cell in row)}</mtr>" for row in rows
        )
        return f"<mrow><mo>(</mo><mtable>{body}</mtable><mo>)</mo></mrow>"
