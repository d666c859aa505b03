"""The names of the expression language, and the kernels made from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import MISSING, Field, fields
from typing import Any, NamedTuple

from mercer.kernels.domains import checked
from mercer.kernels.families import (
    alignment,
    categories,
    custom,
    dot,
    histogram,
    sequence,
    stationary,
    words,
)
from mercer.kernels.kernel import Compound, Constant, Kernel, Product, Scaled, Sum
from mercer.kernels.language.printing import snake_case
from mercer.kernels.language.tokens import FUNCTIONS_REFUSED, Token, fault, suggestion
from mercer.kernels.maps import FillMissing, InputMap, Project, Standardize
from mercer.kernels.scores import NormalScores
from mercer.kernels.tables.calendar import Calendar

MAX_DEPTH = 50

# The kernels that have a name in the language: all that these modules define.
MODULES = (alignment, categories, custom, dot, histogram, sequence, stationary, words)
ALIASES = {"rbf": "gaussian", "poly": "polynomial", "subseq": "subsequence"}

# The maps that `after` takes; other functions cannot be written.
MAPS: dict[str, type[InputMap]] = {
    "calendar": Calendar,
    "fill_missing": FillMissing,
    "normal_scores": NormalScores,
    "project": Project,
    "standardize": Standardize,
}

# What a name without brackets stands for where there are rows to ask: it leaves the parameters
# open. Only a length scale needs the data to be any good; other kernels take their defaults.
BARE: dict[type[Any], Kernel] = {stationary.Gaussian: stationary.Gaussian("median")}

# The methods of a kernel, with their parameters; the columns of `on` have a grammar of their own.
METHODS: dict[str, tuple[str, ...]] = {
    "after": ("g",),
    "exp": (),
    "normalized": (),
    "on": (),
    "polynomial": ("coefficients",),
    "seen_from": ("origin", "level"),
}

# What prints, but holds a Python function and cannot be read back.
FUNCTION_KERNELS = (custom.FromFunction, custom.FromFeatures)
FUNCTION_METHODS = ("scaled_by",)


def _kernels() -> dict[str, type[Kernel]]:
    found: list[type[Kernel]] = [Constant, Sum, Product]
    for module in MODULES:
        for value in vars(module).values():
            own = isinstance(value, type) and value.__module__ == module.__name__
            if own and issubclass(value, Kernel):
                found.append(value)
    return {snake_case(c.__name__): c for c in found}


KERNELS = _kernels()


class Operand(NamedTuple):
    """A value that was read, the token it starts at, and how deep its kernels nest."""

    value: Any
    token: Token
    depth: int = 0

    @property
    def is_number(self) -> bool:
        """Whether the value is a number."""
        return isinstance(self.value, int | float) and not isinstance(self.value, bool)

    @property
    def is_kernel(self) -> bool:
        """Whether the value is a kernel."""
        return isinstance(self.value, Kernel)


class Argument(NamedTuple):
    """An operand between brackets, with the keyword before it."""

    keyword: Token | None
    operand: Operand


def build(
    at: Token, make: Callable[[], Kernel | InputMap], parts: Sequence[Operand] = ()
) -> Operand:
    """Return the kernel that `make` makes from parts; what it refuses is pointed out `at` a token.

    Parameters
    ----------
    at : Token
        Where to point.
    make : callable
        Constructor, ready to be called.
    parts : sequence of Operand
        The operands that the kernel holds.
    """
    try:
        kernel = make()
    except (ValueError, OverflowError) as error:
        raise fault(at, str(error)) from None
    # These three take parts of their own kind apart, and nest no deeper for it.
    flat = type(kernel) in (Sum, Product, Scaled)
    depths = [p.depth - (flat and type(p.value) is type(kernel)) for p in parts]
    depth = 1 + max(depths, default=0)
    check_depth(at, depth)
    return Operand(kernel, at, depth)


def check_depth(token: Token, depth: int) -> None:
    """Refuse what nests too deep."""
    if depth > MAX_DEPTH:
        raise fault(token, f"this nests deeper than {MAX_DEPTH}; build the kernel in Python")


def look_up(name: Token, in_brackets: bool) -> type[Kernel] | type[InputMap]:
    """Return the class of a name, of a kernel or, in brackets, of a map."""
    if in_brackets and name.text in MAPS:
        return MAPS[name.text]
    kind = KERNELS.get(ALIASES.get(name.text, name.text))
    if kind is None:
        readable = [word for word, kind in KERNELS.items() if kind not in FUNCTION_KERNELS]
        quotes = "text goes in quotes, and " if in_brackets else ""
        known = suggestion(name.text, (*readable, *ALIASES))
        raise fault(name, f"{quotes}no kernel has this name; {known}")
    if kind in FUNCTION_KERNELS:
        raise fault(name, FUNCTIONS_REFUSED)
    return kind


def call(name: Token, kind: type[Kernel] | type[InputMap], arguments: list[Argument]) -> Operand:
    """Return the kernel or map of a class with these arguments."""
    if issubclass(kind, Compound):
        return _compound(name, kind, arguments)
    alternatives = kind.alternatives
    names = tuple(f.name for f in fields(kind))
    given = _by_name(name, names, arguments, tuple(alternatives))
    other = next((keyword for keyword in given if keyword in alternatives), None)
    if other is not None:
        if len(given) > 1:
            raise fault(name, f"{other} stands for all parameters; give it alone")
        value, at, _ = given[other]
        return build(at, lambda: getattr(kind, alternatives[other])(value))._replace(token=name)
    missing = [f.name for f in fields(kind) if f.default is MISSING and f.name not in given]
    if missing:
        raise fault(name, f"it needs {' and '.join(missing)}, as in {name.text}({missing[0]}=...)")
    # Of several arguments the one that is refused is pointed at.
    for f in fields(kind):
        if f.name in given:
            _check(f, kind, given[f.name])
    return build(name, lambda: kind(**{p: operand.value for p, operand in given.items()}))


def _check(parameter: Field[Any], kind: type, operand: Operand) -> None:
    try:
        checked(kind, parameter, operand.value)
    except ValueError as error:
        raise fault(operand.token, str(error)) from None


def call_method(operand: Operand, name: Token, arguments: list[Argument]) -> Operand:
    """Return the kernel that a method other than ``on`` makes of a kernel."""
    given = _by_name(name, METHODS[name.text], arguments)
    values = {p: argument.value for p, argument in given.items()}
    if name.text == "after" and not isinstance(values.get("g"), InputMap):
        raise fault(name, FUNCTIONS_REFUSED)
    missing = [p for p in METHODS[name.text] if p not in given]
    if missing:
        raise fault(name, f"it needs {missing[0]}, as in .{name.text}([1, 2])")
    method = getattr(operand.value, name.text)
    at = next((argument.token for argument in given.values()), name)
    return build(at, lambda: method(**values), [operand])._replace(token=name)


def _compound(name: Token, kind: type[Compound], arguments: list[Argument]) -> Operand:
    for keyword, _ in arguments:
        if keyword:
            raise fault(keyword, f"{name.text} takes kernels, without keywords")
    parts = [operand for _, operand in arguments]
    return build(name, lambda: kind(tuple(p.value for p in parts)), parts)


def _by_name(
    name: Token,
    parameters: tuple[str, ...],
    arguments: list[Argument],
    alternatives: tuple[str, ...] = (),
) -> dict[str, Operand]:
    """Return the arguments by the names of the parameters."""
    given: dict[str, Operand] = {}
    keywords = False
    for i, (keyword, operand) in enumerate(arguments):
        at = keyword or operand.token
        keywords = keywords or keyword is not None
        if keyword is None and keywords:
            raise fault(at, "an argument without a keyword cannot follow one with a keyword")
        if keyword is None and i >= len(parameters):
            most = f"only {', '.join(parameters)}" if parameters else "no arguments"
            raise fault(at, f"{name.text} takes {most}")
        if keyword and keyword.text not in (*parameters, *alternatives):
            known = suggestion(keyword.text, (*parameters, *alternatives))
            raise fault(at, f"{name.text} has no such parameter; {known}")
        parameter = keyword.text if keyword else parameters[i]
        if parameter in given:
            raise fault(at, f"{parameter} is given twice")
        given[parameter] = operand
    return given
