"""The words of the expression language: a text cut into tokens that know where they stand."""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Iterable
from typing import Any, NamedTuple

from mercer.errors import KernelSyntaxError

MAX_CHARACTERS = 10_000
# Whole numbers have the range of all others, so that no product of a few takes long to compute.
MAX_NUMBER = sys.float_info.max
TOO_LARGE = "this number is too large; the largest is about 1.8e308"
FUNCTIONS_REFUSED = (
    "a Python function cannot be written as text; build this kernel in Python instead"
)

NUMBER, NAME, STRING, END, ODD = "number", "name", "string", "end", "odd"

_TOKEN = re.compile(
    r"""\s*(?:
        (?P<number> (?: [0-9]+ (?:\.[0-9]*)? | \.[0-9]+ ) (?: [eE][+-]?[0-9]+ )? )
      | (?P<name> [^\W\d]\w* )
      | (?P<string> "(?:[^"\\]|\\.)*" | '(?:[^'\\]|\\.)*' )
      | (?P<sign> \*\* | [-+*.,=()\[\]] )
      | (?P<end> \Z )
      | (?P<odd> . )
    )""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(
    r"\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[\\'\"nrt]|.)", re.DOTALL
)
_ESCAPED = {"\\": "\\", "'": "'", '"': '"', "n": "\n", "r": "\r", "t": "\t"}

_ODD_CHARACTERS = {
    "<": FUNCTIONS_REFUSED,
    "/": "there is no division; multiply by a number such as 0.5",
    "^": "powers are written **",
    "@": "products are written *",
    '"': "this quote is never closed",
    "'": "this quote is never closed",
}


class Token(NamedTuple):
    """A word of the text, its meaning (for numbers and strings) and its place, from 0."""

    kind: str
    text: str
    start: int
    value: Any = None


def fault(token: Token, reason: str) -> KernelSyntaxError:
    """Return the error that points at a token, in one line."""
    shown = repr(_shortened(token.text, 40)) if token.text else "the end"
    reason = _shortened(" ".join(reason.split()), 400)
    return KernelSyntaxError(
        f"kernel expression, character {token.start + 1}, at {shown}: {reason}"
    )


def _shortened(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 3] + "..."


def suggestion(word: str, words: Iterable[str]) -> str:
    """Return the end of a sentence: the word that was meant, or all there are."""
    known = sorted(words)
    lower = {name.lower(): name for name in known}
    close = [lower[w] for w in difflib.get_close_matches(word.lower(), lower, 1)]
    return f"did you mean {close[0]!r}?" if close else f"there are {', '.join(known) or 'none'}"


def tokenize(text: str) -> list[Token]:
    """Return the tokens of a text, the last being its end."""
    if len(text) > MAX_CHARACTERS:
        raise fault(
            Token(END, text[MAX_CHARACTERS:], MAX_CHARACTERS),
            f"an expression has at most {MAX_CHARACTERS} characters, got {len(text)}; "
            "build the kernel in Python instead",
        )
    tokens: list[Token] = []
    while not tokens or tokens[-1].kind != END:
        match = _TOKEN.match(text, tokens[-1].start + len(tokens[-1].text) if tokens else 0)
        assert match is not None, "the last alternative takes any character"
        kind = str(match.lastgroup)
        token = Token(kind, match[kind], match.start(kind))
        tokens.append(_MEANINGS[kind](token) if kind in _MEANINGS else token)
    return tokens


def _number(token: Token) -> Token:
    if token.text.isdecimal():
        try:
            value: float = int(token.text)
        except ValueError:
            raise fault(token, f"a number of {len(token.text)} digits is too long") from None
    else:
        value = float(token.text)
    if value > MAX_NUMBER:
        raise fault(token, TOO_LARGE)
    return token._replace(value=value)


def _string(token: Token) -> Token:
    def character(match: re.Match[str]) -> str:
        escape = match[0][1:]
        if escape in _ESCAPED:
            return _ESCAPED[escape]
        if len(escape) == 1 or int(escape[1:], 16) > 0x10FFFF:
            escaped = Token(STRING, match[0], token.start + 1 + match.start())
            raise fault(escaped, r"no such escape; use \\ \' \" \n \r \t \xhh \uhhhh \Uhhhhhhhh")
        return chr(int(escape[1:], 16))

    return token._replace(value=_ESCAPE.sub(character, token.text[1:-1]))


def _odd(token: Token) -> Token:
    raise fault(token, _ODD_CHARACTERS.get(token.text, "this character has no meaning here"))


_MEANINGS = {NUMBER: _number, STRING: _string, ODD: _odd}
