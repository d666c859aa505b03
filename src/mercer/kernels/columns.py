"""Which columns of a table a kernel reads: those it names, or all of its domain."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from functools import wraps
from typing import Any, TypeVar, TypeVarTuple

import numpy as np

from mercer.data.blocks import narrow_blocks
from mercer.data.categories import AsCategories, is_missing
from mercer.data.checks import LOOKED_AT, refuse_mapping
from mercer.data.columns import column_names, column_values, is_matrix, is_table, select_columns
from mercer.data.kinds import DATES_AS_TEXT, READ, Kind, are_iso_dates, column_kinds
from mercer.kernels.kernel import After, Columns, Kernel, ScaledBy
from mercer.kernels.maps import REFUSE, InputMap
from mercer.kernels.params import KEPT, Parametric
from mercer.tiles import Rows
from mercer.tiles.tile import Transform

V = TypeVar("V")
Others = TypeVarTuple("Others")
T = TypeVar("T")

# Kernels and maps of these read one column alone.
SINGLE = {"sequences": "text", "dates": "dates"}


def kept_with(function: Callable[[V, *Others], T]) -> Callable[[V, *Others], T]:
    """Return a function of a kernel whose answers are kept with that kernel, as long as it lives.

    A cache of the module would keep kernels alive, and with them what their users put into them.
    """

    @wraps(function)
    def answer(value: V, *others: *Others) -> T:
        known = vars(value).setdefault(KEPT, {})
        question = (function, *others)
        if question not in known:
            known[question] = function(value, *others)
        found: T = known[question]
        return found

    return answer


@kept_with
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


@kept_with
def reads_unmapped(kernel: Kernel, domain: str) -> bool:
    """Whether some part of a kernel reads rows of this domain as they are, before any map."""
    if isinstance(kernel, Columns | After):
        return False
    if not kernel.parts:
        return kernel.domain == domain
    return any(reads_unmapped(part, domain) for part in kernel.parts)


@kept_with
def takes_missing(kernel: Parametric) -> bool:
    """Whether a kernel, some part of it, or a map in it, has a place for missing values."""
    own = kernel.get_params(deep=False)
    if own.get("missing", REFUSE) != REFUSE:
        return True
    values = (value if isinstance(value, tuple) else (value,) for value in own.values())
    return any(takes_missing(v) for part in values for v in part if isinstance(v, Parametric))


@kept_with
def named_columns(kernel: Kernel) -> frozenset[str]:
    """Return the columns that a kernel names, of the table as it comes."""
    if isinstance(kernel, Columns):
        return frozenset(c for c in kernel.columns if isinstance(c, str))
    if isinstance(kernel, After):
        return frozenset()
    return frozenset(name for part in kernel.parts for name in named_columns(part))


@kept_with
def columns_of(kernel: Kernel, domain: str) -> frozenset[str]:
    """Return the columns that a kernel names for parts of this domain, as they are."""
    if isinstance(kernel, Columns):
        return named_columns(kernel) if reads_unmapped(kernel.kernel, domain) else frozenset()
    if isinstance(kernel, After):
        return frozenset()
    return frozenset(name for part in kernel.parts for name in columns_of(part, domain))


def check_cells(kernel: Kernel, rows: Rows) -> None:
    """Refuse cells of a table that a kernel cannot read in the columns it names, by their row."""
    try:
        # What maps make of all rows at once would take several times the memory of these.
        for _, some in narrow_blocks(rows.X):
            _check_named(kernel, rows if some is rows.X else Rows(some, rows.name))
    except ValueError:
        # All rows decide, and tell the number of a row among them.
        _check_named(kernel, rows)


def _check_named(kernel: Kernel, rows: Rows) -> None:
    """Refuse cells in the columns that the parts of a kernel name."""
    if isinstance(kernel, Columns):
        _check_rows(kernel.kernel, rows.behind(kernel.view))
    elif not isinstance(kernel, After):
        for part in kernel.parts:
            _check_named(part, rows)


def _check_rows(kernel: Kernel, rows: Rows) -> None:
    """Refuse cells that a kernel cannot read, of the columns it is put on."""
    if isinstance(kernel, After):
        if isinstance(kernel.g, InputMap):
            kernel.g.check(rows)
    elif isinstance(kernel, Columns):
        _check_named(kernel, rows)
    elif kernel.parts:
        for part in kernel.parts:
            _check_rows(part, rows)
    elif kernel.domain == "numbers":
        rows.matrix(())
    elif kernel.domain == "categories":
        rows.after(Transform(AsCategories(vars(kernel)["missing"])))


def unread(kernel: Kernel, kinds: Mapping[Any, Kind]) -> list[Any]:
    """Return the columns of a table that hold something and that no part of a kernel reads.

    There are none if some part takes whatever the rows hold, or if no part reads any. The
    parameters are those of `assigned`, which has put the kernel on the columns it reads.
    """
    if _whole_row_parts(kernel):
        return []
    read = _placed(kernel)
    held = [name for name, kind in kinds.items() if kind is not Kind.EMPTY]
    return [name for name in held if name not in read] if read else []


def refuse_unknown(kernel: Kernel, X: Any) -> None:
    """Refuse a kernel that names columns, by name or position, which the rows do not have."""
    for placed in _on_columns(kernel):
        placed.inputs(X)


def column_terms(kernel: Kernel, columns: Sequence[Any]) -> dict[Any, list[str]]:
    """Return for each column, by name or position, the parts of a kernel that read it, as text."""
    parts = _parts_by_column(kernel, columns)
    return {column: [str(part) for part in read_by] for column, read_by in parts.items()}


def _parts_by_column(kernel: Kernel, columns: Sequence[Any]) -> dict[Any, list[Kernel]]:
    whole = _whole_row_parts(kernel)
    found: dict[Any, list[Kernel]] = {column: [*whole] for column in columns}
    for placed in _on_columns(kernel):
        for column in placed.columns:
            title = columns[column] if isinstance(column, int) else column
            if title in found:
                found[title].append(placed.kernel)
    return found


def read_columns(kernel: Kernel, X: Any) -> list[str]:
    """Return the columns of a table, array or list that a kernel reads, by name or position."""
    if is_table(X):
        titles = [str(name) for name in column_names(X)]
    else:
        titles = [str(j) for j in range(X.shape[1] if is_matrix(X) else np.size(X[0]))]
    # Not by the terms as text, which takes long where a map of the kernel holds many numbers.
    return [title for title, parts in _parts_by_column(kernel, titles).items() if parts]


def _on_columns(kernel: Kernel) -> list[Columns]:
    """Return the parts of a kernel that name columns of the table as it comes."""
    if isinstance(kernel, Columns):
        return [kernel]
    if isinstance(kernel, After):
        return []
    return [inner for part in kernel.parts for inner in _on_columns(part)]


def _placed(kernel: Kernel) -> set[Any]:
    """Return all columns that a kernel names, by name or position."""
    return {column for placed in _on_columns(kernel) for column in placed.columns}


def _whole_row_parts(kernel: Kernel) -> list[Kernel]:
    """Return the parts of a kernel outside of ``on`` that read rows, whatever these hold."""
    if isinstance(kernel, Columns):
        return []
    if isinstance(kernel, After | ScaledBy):
        return [kernel]
    if not kernel.parts:
        return [kernel] if kernel.domain != "anything" or kernel.program.inputs else []
    return [inner for part in kernel.parts for inner in _whole_row_parts(part)]


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
    return with_parts(kernel, lambda part: assigned(part, kinds))


def with_parts(kernel: Kernel, change: Callable[[Kernel], Kernel]) -> Kernel:
    """Return a kernel with each of its parts changed, itself if none is."""
    own = {f.name: getattr(kernel, f.name) for f in fields(kernel)}
    changes = {
        name: tuple(map(change, value)) if isinstance(value, tuple) else change(value)
        for name, value in own.items()
        if _holds_kernels(value)
    }
    is_same = all(own[name] == value for name, value in changes.items())
    return kernel if is_same else replace(kernel, **changes)


def placed_on_columns(k: Kernel, X: Any) -> tuple[Kernel, list[tuple[Any, str]]]:
    """Return a kernel on the columns that it reads, and those it leaves without being asked to.

    These are told with what they hold.
    """
    if not is_table(X) or k.is_precomputed:
        return k, []
    refuse_mapping(X)
    if not _whole_row_parts(k):
        # It names all the columns that it reads.
        return k, []
    kinds: dict[Any, Kind] = {**column_kinds(X)}
    if not all(isinstance(name, str) for name in kinds):
        # Columns called by numbers are meant by their positions.
        kinds = dict(enumerate(kinds.values()))
    is_matrix = "numbers" in k.row_domains and all(
        kind in READ["numbers"] for kind in kinds.values()
    )
    if is_matrix and not named_columns(k):
        return k, []
    placed = assigned(k, kinds)
    ignored = [] if _placed(k) else unread(placed, kinds)
    return placed, [(column, _held(X, column, kinds[column])) for column in ignored]


def _held(X: Any, column: str | int, kind: Kind) -> str:
    """Return what a column of a table holds, in words."""
    if kind is not Kind.TEXT:
        return str(kind)
    ((_, values),) = column_values(select_columns(X, [column]))
    known = (value for value in values[:LOOKED_AT] if not is_missing(value))
    return DATES_AS_TEXT if are_iso_dates(known) else str(kind)


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
    """Return what a kernel without parts, or one after a map, reads of a row."""
    if isinstance(kernel, After) and isinstance(kernel.g, InputMap):
        return kernel.g.domain
    return kernel.domain


def _columns_of(domain: str, kernel: Kernel, kinds: Mapping[Any, Kind]) -> list[Any]:
    found = [name for name, kind in kinds.items() if kind in READ[domain]]
    if not found:
        held = ", ".join(f"{name!r} ({kind})" for name, kind in list(kinds.items())[:10])
        raise ValueError(
            f"{kernel!r} reads {domain}, and no column of the table holds them: {held}; name the "
            "columns it should read with .on(...)"
        )
    if domain in SINGLE and len(found) > 1:
        raise ValueError(
            f"{kernel!r} reads one column of {SINGLE[domain]}, and the table has {len(found)}: "
            f"{', '.join(map(repr, found[:10]))}; name one with .on(...), or add a kernel for each"
        )
    return found
