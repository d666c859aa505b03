"""Gram matrices of several kernels on the same rows: what they have in common is computed once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from mercer.gram.choose import unheld_gram_of
from mercer.gram.gram import Array, Gram
from mercer.gram.streamed import StreamedGram
from mercer.kernels import Kernel
from mercer.tiles import Rows, compile_expression, evaluate
from mercer.tiles.program import Input


def shared_grams(kernels: Sequence[Kernel], X: Any, memory: int, spare: int) -> list[Gram]:
    """Return the Gram matrices of kernels with numbers for parameters, none of them held.

    Comparisons of rows that several kernels make, such as the squared distances of a grid of
    length scales or the values of one Python function, are evaluated once.

    Parameters
    ----------
    kernels : sequence of Kernel
        The kernels.
    X : rows or Rows
        An array, CSR matrix or table, whose views are worked out once for all kernels.
    memory : int
        The limit of each Gram matrix in bytes.
    spare : int
        Bytes that shared comparisons may take; what does not fit is not shared.
    """
    seen = Rows.of(X)
    known: dict[Input, Array] = {}
    entry_bytes = 8
    room = spare // (entry_bytes * max(seen.n, 1) ** 2)
    for source, sensitivity in _common(kernels)[:room]:
        # The engine must take the distances as exactly as the most demanding kernel needs them.
        program = replace(compile_expression(source), sensitivity=(sensitivity,))
        known[source] = evaluate(program, seen)
    return [
        StreamedGram(kernel, seen, memory, known)
        if known.keys() & set(kernel.program.inputs)
        else unheld_gram_of(kernel, seen, memory)
        for kernel in kernels
    ]


def _common(kernels: Sequence[Kernel]) -> list[tuple[Input, float]]:
    """Return the inputs of several programs, most frequent first, with the greatest sensitivity."""
    counts: Counter[Input] = Counter()
    sensitivity: dict[Input, float] = {}
    for kernel in kernels:
        # A finished matrix needs no evaluation.
        if kernel.is_precomputed:
            continue
        program = kernel.program
        counts.update(program.inputs)
        for source, reaction in zip(program.inputs, program.sensitivity, strict=True):
            sensitivity[source] = max(sensitivity.get(source, 0.0), reaction)
    return [(source, sensitivity[source]) for source, n in counts.most_common() if n > 1]
