"""The chooser: which Gram serves a kernel on some rows under a memory limit."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.data.stream import Stream
from mercer.gram.dense import DenseGram
from mercer.gram.gram import Gram
from mercer.gram.line.chain import chain_of
from mercer.gram.precomputed import FormulaOfPrecomputed, PrecomputedGram
from mercer.gram.streamed import StreamedGram
from mercer.kernels import Kernel, Precomputed, as_kernel
from mercer.tiles import Rows


def gram_of(kernel: Any, X: Any, memory: Any = None, share: float = 1.0) -> Gram:
    """Return the Gram matrix k(x_i, x_j): held where it fits into the memory, else streamed.

    Parameters
    ----------
    kernel : Kernel, str or callable
        k; ``"median"`` is resolved on `X`. With `Precomputed` the rows are those of a finished
        Gram matrix.
    X : rows or Rows
        An array, CSR matrix or table.
    memory : int or str, optional
        The limit, in bytes or as ``"512MB"``, ``"4GB"``; a share of the free memory by default.
    share : float
        The share of the memory that a held matrix may take.
    """
    gram = unheld_gram_of(kernel, X, memory)
    is_small = share > 0.0 and gram.has_room(gram.dense_bytes / share)
    return DenseGram.of(gram) if is_small and not gram.held_bytes else gram


def unheld_gram_of(kernel: Any, X: Any, memory: Any = None) -> Gram:
    """Return the Gram matrix without holding it, for a solver that overwrites its own copy.

    It is a chain where the kernel makes one of the rows, which the banded solver asks for. The
    first parameters are those of `gram_of`.
    """
    k = kernel if isinstance(kernel, Kernel) else as_kernel(kernel)
    rows = Rows.of(X)
    X = rows.X
    if isinstance(k, Precomputed):
        return PrecomputedGram(X, memory)
    if k.is_precomputed:
        return FormulaOfPrecomputed(k, X, memory)
    k = k.resolved(rows)
    # Of several columns a kernel reads one only if it is made of others, such as one `on` a column.
    is_wide = isinstance(X, np.ndarray) and X.ndim == 2 and X.shape[1] > 1
    # A chain compares rows once, by one column. Its rows are sorted, which takes all of them; those
    # of a stream come in blocks.
    is_one = len(k.program.inputs) == 1 and not (is_wide and not k.parts)
    chain = chain_of(k, X, memory) if is_one and not isinstance(X, Stream) else None
    return StreamedGram(k, rows, memory) if chain is None else chain


def kept_gram_of(kernel: Kernel, X: Any, memory: Any = None) -> Gram:
    """Return the Gram matrix for a solver that asks for the same rows again and again.

    Entries that take long, and those of few rows, are held where they fit, others not.
    """
    rows = Rows.of(X)
    # Rows whose entries are computed at once: to ask for some of them takes longer.
    few = 256
    is_held = rows.n <= few or not kernel.is_quick
    return (gram_of if is_held else unheld_gram_of)(kernel, rows, memory)
