"""Which columns of a table a kernel reads: those it names, or all of its domain."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mercer.data.kinds import READ, Kind
from mercer.kernels.kernel import After, Columns, Kernel, ScaledBy
from mercer.kernels.maps import InputMap


def reads_everything(kernel: Kernel) -> bool:
    """Whether some part of a kernel takes whatever the rows hold, or counts their columns.

    That is a function outside of ``on``, or ``on`` with positions.
    """
    if isinstance(kernel, Columns):
        return not all(isinstance(c, str) for c in kernel.columns)
    if isinstance(kernel, ScaledBy):
        return True
    if _takes_anything(kernel):
        return bool(kernel.program.inputs)
    return any(reads_everything(part) for part in kernel.parts)


def reads_a_matrix(kernel: Kernel) -> bool:
    """Whether some part of a kernel reads all columns of its rows as one matrix of numbers."""
    return reads_whole_rows(kernel, "numbers")


def reads_whole_rows(kernel: Kernel, domain: str) -> bool:
    """Whether some part of a kernel reads the rows as they are, and those of this domain."""
    if isinstance(kernel, Columns) or _takes_anything(kernel):
        return False
    if not kernel.parts:
        return kernel.domain == domain
    return any(reads_whole_rows(part, domain) for part in kernel.parts)


def named_columns(kernel: Kernel) -> set[str]:
    """Return the columns that a kernel names, of the table as it comes."""
    if isinstance(kernel, Columns):
        return {c for c in kernel.columns if isinstance(c, str)}
    if isinstance(kernel, After):
        return set()
    return {name for part in kernel.parts for name in named_columns(part)}


def columns_of(kernel: Kernel, domain: str) -> set[str]:
    """Return the columns that a kernel names for parts of this domain."""
    if isinstance(kernel, Columns):
        return named_columns(kernel) if kernel.kernel.domain == domain else set()
    if isinstance(kernel, After):
        return set()
    return {name for part in kernel.parts for name in columns_of(part, domain)}


def assigned(kernel: Kernel, kinds: Mapping[Any, Kind]) -> Kernel:
    """Return a kernel with every part that names no columns put on all columns of its domain.

    Parameters
    ----------
    kernel : Kernel
        k.
    kinds : mapping of columns to Kind
        What the columns of the table hold, by name or by position.
    """
    if isinstance(kernel, Columns) or _takes_anything(kernel):
        return kernel
    if not kernel.parts or isinstance(kernel, After):
        return kernel.on(*_columns_of(_domain(kernel), kernel, kinds))
    changes = {
        name: tuple(assigned(k, kinds) for k in value)
        if isinstance(value, tuple)
        else assigned(value, kinds)
        for name, value in kernel.get_params(deep=False).items()
        if _holds_kernels(value)
    }
    return kernel.with_params(**changes)


def _takes_anything(kernel: Kernel) -> bool:
    """Whether a kernel is a function of whole rows, or reads none of them."""
    if isinstance(kernel, After):
        return not isinstance(kernel.g, InputMap)
    return not kernel.parts and kernel.domain == "anything"


def _holds_kernels(value: object) -> bool:
    return isinstance(value, Kernel) or (
        isinstance(value, tuple) and any(isinstance(v, Kernel) for v in value)
    )


def _domain(kernel: Kernel) -> str:
    # A map such as Standardize turns columns of numbers into numbers.
    return "numbers" if isinstance(kernel, After) else kernel.domain


def _columns_of(domain: str, kernel: Kernel, kinds: Mapping[Any, Kind]) -> list[Any]:
    found = [name for name, kind in kinds.items() if kind in READ[domain]]
    if not found:
        held = ", ".join(f"{name!r} ({kind})" for name, kind in list(kinds.items())[:10])
        raise ValueError(
            f"{kernel} reads {domain}, and no column of the table holds them: {held}; name the "
            "columns it should read with .on(...)"
        )
    if domain == "sequences" and len(found) > 1:
        raise ValueError(
            f"{kernel} reads one column of text, and the table has {len(found)}: "
            f"{', '.join(map(repr, found[:10]))}; name one with .on(...), or add a kernel for each"
        )
    return found
