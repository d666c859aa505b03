"""The expression language: kernels written as text, read by a parser that never evaluates code.

    expression = product { "+" product }
    product    = signed { "*" signed }
    signed     = { "-" } power
    power      = item [ "**" signed ]
    item       = atom { "." method "(" [ arguments ] ")" }
    atom       = number | string | "True" | "False" | "None" | name [ "(" [ arguments ] ")" ]
               | "(" expression ")" | "(" [ items ] ")" | "[" [ items ] "]"
    arguments  = argument { "," argument } [ "," ]
    argument   = [ name "=" ] expression
    items      = expression { "," expression } [ "," ]

A name is a kernel class in snake case or an alias of one, or ``sum`` or ``product`` (of kernels). A
method is ``exp``, ``normalized``, ``polynomial``, ``seen_from``, ``after``, whose argument is a
map, ``standardize``, ``calendar`` or ``fill_missing``, or ``on``, whose arguments are columns: bare
or quoted names, or whole numbers. Operators mean what they mean between kernels in Python; a minus
sign belongs to numbers only. A text has at most 10,000 characters, and nests at most 50 deep; no
number is beyond 1.8e308.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, TypeVar

from mercer.errors import KernelSyntaxError
from mercer.kernels.kernel import Constant, Kernel, Sum
from mercer.kernels.language.brief import is_shortened
from mercer.kernels.language.tokens import (
    END,
    FUNCTIONS_REFUSED,
    MAX_NUMBER,
    NAME,
    NUMBER,
    STRING,
    Token,
    fault,
    suggestion,
    tokenize,
)
from mercer.kernels.language.vocabulary import (
    BARE,
    FUNCTION_METHODS,
    MAPS,
    METHODS,
    Argument,
    Operand,
    build,
    call,
    call_method,
    check_depth,
    look_up,
)

Item = TypeVar("Item")

# Names that are values, as in Python.
WORDS = {"True": True, "False": False, "None": None}


def kernel(text: str | Kernel) -> Kernel:
    """Return the kernel that an expression describes; a kernel is returned unchanged.

    Parameters
    ----------
    text : str or Kernel
        Such as ``"0.5*gaussian(gamma=0.1).on(age) + linear.on(age, bmi)"``, or what ``str(k)``
        prints.

    Raises
    ------
    KernelSyntaxError
        With the character at which reading stopped, and the reason.
    """
    if isinstance(text, Kernel):
        return text
    if not isinstance(text, str):
        raise TypeError(
            f"a kernel is given as an expression or a Kernel, got {type(text).__name__}: {text!r}"
        )
    return _read(text, False)


# A kernel is a value, and a fit reads its expression several times.
@lru_cache(maxsize=64)
def kernel_of_rows(text: str) -> Kernel:
    """Return the kernel that an expression describes to an estimator, which has rows to ask.

    A name without brackets leaves its parameters open, also within an expression: ``gaussian``
    stands for ``gaussian('median')``.
    """
    return _read(text, True)


def _read(text: str, has_rows: bool) -> Kernel:
    try:
        return _Parser(tokenize(text), has_rows).parse()
    except KernelSyntaxError as error:
        if not is_shortened(text):
            raise
        raise KernelSyntaxError(
            f"{error}; this text is shortened, as repr(k) is: give the kernel itself, or str(k), "
            "which is whole"
        ) from None


class _Parser:
    """Recursive descent: a method for each line of the grammar."""

    def __init__(self, tokens: list[Token], has_rows: bool) -> None:
        self.tokens = tokens
        self.has_rows = has_rows
        self.position = 0
        self.depth = 0

    def parse(self) -> Kernel:
        result = self.expression()
        if self.token.kind != END:
            raise self.unexpected("expected '+', '*', '**', '.' or the end")
        if result.is_number:
            raise fault(result.token, f"a number is no kernel; write constant({result.value})")
        if not isinstance(result.value, Kernel):
            raise fault(result.token, "this is no kernel")
        return result.value

    # Tokens

    @property
    def token(self) -> Token:
        return self.tokens[self.position]

    def advance(self) -> Token:
        self.position += 1
        return self.tokens[self.position - 1]

    def take(self, sign: str) -> Token | None:
        return self.advance() if self.token.text == sign else None

    def unexpected(self, expected: str) -> KernelSyntaxError:
        if self.token.text == "-":
            expected = "kernels cannot be subtracted, as the difference need not be a kernel"
        elif self.token.kind == END and self.depth:
            expected += "; a bracket is still open"
        return fault(self.token, expected)

    @contextmanager
    def nested(self, token: Token) -> Iterator[None]:
        self.depth += 1
        check_depth(token, self.depth)
        yield
        self.depth -= 1

    # Operators

    def expression(self) -> Operand:
        terms = [self.product()]
        while sign := self.take("+"):
            terms.append(self.product())
            _check_operands(sign, *terms[-2:])
            if len(terms) == 2 and terms[0].is_number and terms[1].is_number:
                terms = [_folded(terms[0], sign, terms[1])]
        if len(terms) == 1:
            return terms[0]
        # One sum of all terms is what Python's pairwise sums come to, at linear cost.
        terms = [t if t.is_kernel else _constant(t) for t in terms]
        return build(terms[0].token, lambda: Sum(tuple(t.value for t in terms)), terms)

    def product(self) -> Operand:
        left = self.signed()
        while sign := self.take("*"):
            right = self.signed()
            _check_operands(sign, left, right)
            if left.is_number and right.is_number:
                left = _folded(left, sign, right)
            else:
                left = _multiplied(left, right)
        return left

    def signed(self) -> Operand:
        signs = []
        while sign := self.take("-"):
            signs.append(sign)
        operand = self.power()
        if not signs:
            return operand
        if not operand.is_number:
            raise fault(signs[0], "a minus sign belongs to numbers; minus a kernel is no kernel")
        return Operand(operand.value * (-1) ** len(signs), signs[0])

    def power(self) -> Operand:
        base = self.item()
        sign = self.take("**")
        if sign is None:
            return base
        with self.nested(sign):
            exponent = self.signed()
        _check_operands(sign, base)
        if not exponent.is_number:
            raise fault(exponent.token, "an exponent must be a number")
        if base.is_number:
            return _folded(base, sign, exponent)
        return build(exponent.token, lambda: base.value**exponent.value, [base])

    def item(self) -> Operand:
        operand = self.atom()
        while self.take("."):
            operand = self.method(operand)
        return operand

    def method(self, operand: Operand) -> Operand:
        name = self.token
        if name.kind != NAME:
            raise self.unexpected(f"expected a method: {', '.join(METHODS)}")
        self.advance()
        if name.text in FUNCTION_METHODS:
            raise fault(name, FUNCTIONS_REFUSED)
        if name.text not in METHODS:
            raise fault(name, f"kernels have no such method; {suggestion(name.text, METHODS)}")
        if not operand.is_kernel:
            raise fault(operand.token, f"only kernels have the method {name.text}")
        opening = self.take("(")
        if opening is None:
            raise self.unexpected(f"expected '(' after {name.text}")
        with self.nested(opening):
            if name.text == "after":
                self.check_map()
            if name.text != "on":
                arguments, _ = self.listed(")", self.argument)
                return call_method(operand, name, arguments)
            columns, _ = self.listed(")", self.column, "; some column names need quotes")
            return build(name, lambda: operand.value.on(*columns), [operand])

    def check_map(self) -> None:
        """Refuse the name of what is no map of rows, with or without its keyword."""
        has_keyword = self.tokens[self.position + 1].text == "=" if self.token.kind == NAME else 0
        token = self.tokens[self.position + 2 * has_keyword]
        if token.kind == NAME and token.text not in MAPS:
            raise fault(token, f"after takes a map of rows; {suggestion(token.text, MAPS)}")

    # Atoms

    def atom(self) -> Operand:
        token = self.token
        if token.kind in (NUMBER, STRING):
            return Operand(token.value, self.advance())
        if token.kind == NAME:
            return self.name()
        if token.text == "(":
            return self.bracket(")")
        if token.text == "[":
            return self.bracket("]")
        raise self.unexpected("expected a kernel or a number")

    def name(self) -> Operand:
        name = self.advance()
        if name.text in WORDS:
            return Operand(WORDS[name.text], name)
        kind = look_up(name, in_brackets=self.depth > 0)
        arguments: list[Argument] = []
        if self.has_rows and kind in BARE and self.token.text != "(":
            return build(name, lambda: BARE[kind])
        if self.token.text == "(":
            with self.nested(self.advance()):
                arguments, _ = self.listed(")", self.argument)
        return call(name, kind, arguments)

    def bracket(self, closing: str) -> Operand:
        opening = self.advance()
        with self.nested(opening):
            items, comma = self.listed(closing, self.expression)
        if closing == ")" and len(items) == 1 and not comma:
            return items[0]._replace(token=opening)
        return Operand(tuple(item.value for item in items), opening)

    # Lists

    def listed(
        self, closing: str, read: Callable[[], Item], hint: str = ""
    ) -> tuple[list[Item], bool]:
        """Return items up to the closing bracket, and whether a comma followed the last."""
        items: list[Item] = []
        comma = None
        while not self.take(closing):
            if items and not comma:
                raise self.unexpected(f"expected ',' or {closing!r}{hint}")
            items.append(read())
            comma = self.take(",")
        return items, comma is not None

    def argument(self) -> Argument:
        keyword = None
        if self.token.kind == NAME and self.tokens[self.position + 1].text == "=":
            keyword = self.advance()
            self.advance()
        return Argument(keyword, self.expression())

    def column(self) -> str | int:
        sign = -1 if self.take("-") else 1
        token = self.token
        if token.kind == NUMBER and isinstance(token.value, int):
            return sign * int(self.advance().value)
        if sign == 1 and token.kind in (NAME, STRING):
            self.advance()
            return str(token.value if token.kind == STRING else token.text)
        raise fault(token, "expected a column: a name, in quotes if needed, or a whole number")


def _check_operands(sign: Token, *operands: Operand) -> None:
    for operand in operands:
        if not operand.is_number and not operand.is_kernel:
            raise fault(operand.token, f"{sign.text!r} needs kernels or numbers beside it")


def _constant(number: Operand) -> Operand:
    return build(number.token, lambda: Constant(number.value))


def _multiplied(left: Operand, right: Operand) -> Operand:
    at = right.token if right.is_number else left.token
    product = build(at, lambda: left.value * right.value, [left, right])
    return product._replace(token=left.token)


def _folded(left: Operand, sign: Token, right: Operand) -> Operand:
    """Return what an operator makes of two numbers."""
    try:
        result = ARITHMETIC[sign.text](left.value, right.value)
    except OverflowError:
        result = math.inf
    except (ZeroDivisionError, ValueError) as error:
        raise fault(sign, str(error)) from None
    if abs(result) > MAX_NUMBER:
        raise fault(sign, "the result is too large; the largest number is about 1.8e308")
    return Operand(result, left.token)


def _power(base: float, exponent: float) -> float:
    # Whole numbers stay whole while they are small; 9**9**9 must not be computed in full.
    if isinstance(base, int) and isinstance(exponent, int) and 0 <= exponent <= 64:
        return base**exponent
    result = float(base) ** float(exponent)
    if isinstance(result, complex):
        raise ValueError("a negative number has no such power")
    return result


ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "*": operator.mul,
    "**": _power,
}
