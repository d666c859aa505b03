"""The fast paths of the entries of K: sparse rows, tiles and sequences."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any
from unittest.mock import PropertyMock

import datasets
import numpy as np
import scipy.sparse as sp

import mercer
from ablations.switch import Ablation, Job, never, nothing, regression, task, without
from mercer import (
    KernelSVC,
)
from mercer.native import chain
from mercer.tiles import apply, evaluate


def sparse() -> Iterator[Ablation]:
    """Yield the fast paths of sparse rows."""
    X, _, _ = task("a9a-6000")
    S = sp.csr_array(X)
    program = mercer.Gaussian(3.0).program
    v = np.ones((S.shape[0], 1))

    def product() -> object:
        return apply(program, S, None, v)

    yield Ablation(
        "sparse rows in tiles",
        "a9a, 6000 rows",
        product,
        without(product, ("mercer.tiles.loop:are_tiled", never)),
    )
    yield Ablation(
        "walking along entries",
        "a9a, 6000 rows",
        product,
        without(product, ("mercer.tiles.loop:Forms._walked", lambda self, o: None)),
    )
    D = S.toarray()

    def dense_product() -> object:
        return apply(program, D, None, v)

    yield Ablation(
        "entries of dense rows found",
        "a9a, 6000 dense rows",
        dense_product,
        without(dense_product, ("mercer.tiles.loop:gathered", nothing)),
    )


def tiles() -> Iterator[Ablation]:
    """Yield the fast paths of Gram blocks."""
    X, _ = regression("kin8nm", 5000)
    program = mercer.Gaussian(3.0).program

    def block() -> object:
        return evaluate(program, X)

    yield Ablation(
        "memory used again",
        "kin8nm, 5000 rows",
        block,
        without(block, ("mercer.tiles.evaluate:empty", np.empty)),
    )
    knots = np.linspace(-2.0, 2.0, 10**6)
    values, positions = np.sin(knots)[:, None], np.random.default_rng(0).uniform(-2.0, 2.0, 500_000)

    def interpolated() -> object:
        return chain.interpolate(knots, values, 1.0, np.inf, positions)

    yield Ablation(
        "positions sorted first",
        "10^6 knots, synthetic",
        interpolated,
        without(interpolated, ("mercer.native.chain:CACHE", sys.maxsize)),
    )


def sequences() -> Iterator[Ablation]:
    """Yield the fast paths of sequences."""
    splice, classes = datasets.splice_junctions(), datasets.splice_classes()
    train, _ = datasets.fasta("scop_1.1.train")

    def gram(kernel: Any, rows: Any) -> Job:
        return lambda: evaluate(kernel.program, rows)

    counts = gram(mercer.Spectrum(3), splice)
    yield Ablation(
        "counts of 16 bits",
        "splice, 3-grams",
        counts,
        without(counts, ("mercer.tiles.operands:as_counts", nothing)),
    )
    # Few masks of many windows are counted, many masks of few windows compared.
    pairs = "mercer.tiles.windows:Cost.prefers_pairs"
    for name, rows, kernel, is_compared in (
        ("splice", splice, mercer.GappedKmer(4, 1), False),
        ("scop_1.1", train, mercer.GappedKmer(4, 1), False),
        ("splice, 1000 rows", splice[:1000], mercer.GappedKmer(8, 4), True),
        ("scop_1.1, 500 rows", train[:500], mercer.GappedKmer(6, 2), True),
    ):
        job = gram(kernel, rows)
        yield Ablation(
            f"windows {'compared' if is_compared else 'counted'}",
            f"{name}, {kernel!r}",
            job,
            without(job, (pairs, PropertyMock(return_value=not is_compared))),
        )
    model = KernelSVC(mercer.Spectrum(4), solver="smo").fit(splice, classes)
    dual = model.function_.dual

    yield Ablation(
        "weights of k-grams",
        "splice, 4-grams",
        lambda: model.function_(splice),
        lambda: dual(splice),
    )
