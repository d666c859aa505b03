"""The chooser: which Gram serves a kernel on some rows under a memory limit."""

from __future__ import annotations

from typing import Any

from mercer.gram.dense import DenseGram
from mercer.gram.gram import Gram
from mercer.gram.line.chain import chain_of
from mercer.gram.precomputed import PrecomputedGram, as_finished
from mercer.gram.streamed import StreamedGram, is_precomputed
from mercer.kernels import Kernel, Precomputed, as_kernel


def gram_of(kernel: Any, X: Any, memory: Any = None, share: float = 1.0) -> Gram:
    """Return the Gram matrix k(x_i, x_j): held where it fits into the memory, else streamed.

    Parameters
    ----------
    kernel : Kernel, str or callable
        k; ``"median"`` is resolved on `X`. With `Precomputed` the rows are those of a finished
        Gram matrix.
    X : rows
        An array, CSR matrix or table.
    memory : int or str, optional
        The limit, in bytes or as ``"512MB"``, ``"4GB"``; a share of the free memory by default.
    share : float
        The share of the memory that a held matrix may take.
    """
    gram = unheld_gram_of(kernel, X, memory)
    if isinstance(gram, StreamedGram) and gram.dense_bytes <= share * gram.memory:
        return DenseGram(gram.kernel, X, gram.memory)
    return gram


def unheld_gram_of(kernel: Any, X: Any, memory: Any = None) -> Gram:
    """Return the Gram matrix without holding it, for a solver that overwrites its own copy.

    It is a chain where the kernel makes one of the rows, which the banded solver asks for. The
    first parameters are those of `gram_of`.
    """
    k = as_kernel(kernel)
    if k == Precomputed():
        return PrecomputedGram(X, memory)
    if is_precomputed(k):
        X = as_finished(X)
    chain = chain_of(k, X, memory)
    return StreamedGram(k, X, memory) if chain is None else chain


def kept_gram_of(kernel: Kernel, X: Any, memory: Any = None) -> Gram:
    """Return the Gram matrix with entries that take long held where they fit, others not."""
    choose = unheld_gram_of if kernel.is_quick else gram_of
    return choose(kernel, X, memory)
