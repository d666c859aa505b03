"""A fitted function back from its state."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from mercer.data.kept import State, rows_from_state
from mercer.functions.dual import DualFunction
from mercer.functions.function import Function
from mercer.functions.line import LineFunction
from mercer.functions.mean import MeanFunction
from mercer.functions.pairs import PairFunction
from mercer.functions.primal import PrimalFunction
from mercer.kernels.language.spec import kernel_from_state

FORMS: dict[str, type[Any]] = {
    form.form: form
    for form in (DualFunction, PairFunction, PrimalFunction, LineFunction, MeanFunction)
}


def function_from_state(state: State) -> Function:
    """Return the function that `Function.state` described.

    The forms of functions, the kernels and the maps of their rows come from closed lists, and
    nothing is evaluated.

    Parameters
    ----------
    state : dict
        Arrays and plain values by name.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidge
    >>> from mercer.functions import function_from_state
    >>> X = np.linspace(0.0, 1.0, 20).reshape(-1, 1)
    >>> f = KernelRidge("gaussian(0.5)", 0.1).fit(X, X[:, 0] ** 2).function_
    >>> function_from_state(f.state()) == f
    True
    """
    form = state.get("form")
    if form not in FORMS:
        raise ValueError(f"the form of a function is one of {', '.join(FORMS)}, got {form!r}")
    found: dict[str, Any] = {}
    for field in fields(FORMS[form]):
        if field.name == "kernel":
            found["kernel"] = kernel_from_state(_below("kernel", state))
        elif field.name == "rows":
            found["rows"] = rows_from_state(_below("rows", state))
        elif field.name == "dual":
            dual = _below("dual", state)
            found["dual"] = function_from_state(dual) if dual else None
        elif field.name == "parts":
            found["parts"] = tuple(map(function_from_state, _numbered("parts", state)))
        else:
            found[field.name] = state.get(field.name)
    function: Function = FORMS[form](**found)
    return function


def _below(name: str, state: State) -> State:
    """Return the entries under a name, without it."""
    start = f"{name}."
    return {key.removeprefix(start): v for key, v in state.items() if key.startswith(start)}


def _numbered(name: str, state: State) -> list[State]:
    """Return the entries under a name with a number, for all numbers from zero on."""
    found: list[State] = []
    while below := _below(f"{name}.{len(found)}", state):
        found.append(below)
    return found
