"""Every fast path switched off once: how much longer a job takes without it, on a named set.

    MERCER_DATA=... python benchmarks/ablation.py [ridge ...]

Both ways take turns and keep their best time. The ratio of processor times is the one to trust on a
busy machine. A path that pays less than 1.3 on no set has no place in the library, unless it is
there for digits.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache, partial
from pkgutil import resolve_name
from typing import Any
from unittest.mock import PropertyMock, patch

import datasets
import numpy as np
import pandas as pd
import scipy.sparse as sp
from rich.console import Console
from timing import WIDTH, show_machine

import mercer
from mercer import (
    KernelLogisticRegression,
    KernelLogisticRegressionCV,
    KernelRidge,
    KernelRidgeCV,
    KernelSVC,
    KernelSVR,
)
from mercer.gram import Gram
from mercer.native import chain
from mercer.native.twins.spectrum import Spectrum as Eigenvalues
from mercer.selection.logistic_search import LogisticSearch
from mercer.selection.results import Schedule
from mercer.solvers import Cholesky, NewtonCG
from mercer.tiles import apply, evaluate

Job = Callable[[], object]

ROUNDS = 3
# What a fast path is to pay somewhere.
WORTH = 1.3


@dataclass(frozen=True)
class Ablation:
    """A fast path on a set: the same job with it and without it."""

    path: str
    data: str
    on: Job
    off: Job


@dataclass(frozen=True)
class Times:
    """The best seconds of a job, by the clock and of all processors."""

    wall: float
    processor: float

    @classmethod
    def of(cls, job: Job) -> Times:
        """Return the seconds of one run."""
        gc.collect()
        wall, processor = time.perf_counter(), time.process_time()
        job()
        return cls(time.perf_counter() - wall, time.process_time() - processor)

    def best(self, other: Times) -> Times:
        """Return the lesser of both."""
        return Times(min(self.wall, other.wall), min(self.processor, other.processor))


def without(job: Job, *switches: tuple[str, Any]) -> Job:
    """Return a job during which some functions or properties of the library are replaced.

    Each is named as ``package.module:function`` or ``package.module:Class.method``.
    """

    def run() -> object:
        with ExitStack() as stack:
            for target, replacement in switches:
                module, _, path = target.partition(":")
                owner, _, name = path.rpartition(".")
                found = resolve_name(f"{module}:{owner}")
                stack.enter_context(patch.object(found, name, replacement))
            return job()

    return run


def nothing(*args: Any, **settings: Any) -> None:
    """Return None, as what finds no fast way does."""


@cache
def regression(name: str, most: int) -> tuple[Any, Any]:
    """Return the first rows of a regression set in random order."""
    X, y = datasets.regression(name)
    order = np.random.default_rng(0).permutation(len(X))[:most]
    return X[order], y[order]


@cache
def task(name: str) -> tuple[Any, Any, Any]:
    """Return training rows, labels and test rows."""
    return datasets.classification_task(name)


def ridge() -> Iterator[Ablation]:
    """Yield the fast paths of ridge regression."""
    X, y = regression("kin8nm", 5000)

    def fitted(**settings: Any) -> Job:
        return lambda: KernelRidge("gaussian", 1.0, **settings).fit(X, y)

    yield Ablation(
        "factor in float32, refined",
        "kin8nm, 5000 rows",
        fitted(solver=Cholesky(precision="single")),
        fitted(solver=Cholesky(precision="double")),
    )
    Z, t = regression("protein", 6000)

    def smooth(solver: str) -> Job:
        return lambda: KernelRidge(mercer.Gaussian(6.0), 1.0, solver=solver).fit(Z, t)

    yield Ablation(
        "conjugate gradients for a factor", "protein, 6000 rows", smooth("auto"), smooth("cholesky")
    )

    def linear(solver: str) -> Job:
        return lambda: KernelRidge("linear", solver=solver).fit(X, y)

    yield Ablation("explicit features", "kin8nm, 5000 rows", linear("auto"), linear("cholesky"))
    x = X[:, :1]

    def line(solver: str) -> Job:
        return lambda: KernelRidge("exponential", solver=solver).fit(x, y)

    yield Ablation("chain of a line", "kin8nm, one column", line("auto"), line("cholesky"))


def selection() -> Iterator[Ablation]:
    """Yield the fast paths of choosing a model."""
    X, y = regression("kin8nm", 1500)

    def chosen() -> object:
        return KernelRidgeCV().fit(X, y)

    proteins, _ = datasets.fasta("scop_1.1.train")
    strings, lengths = proteins[:150], np.array([len(s) for s in proteins[:150]], float)

    def by_distance() -> object:
        return KernelRidgeCV([mercer.EditDistance(s) for s in (50.0, 100.0, 200.0, 400.0)]).fit(
            strings, lengths
        )

    for name, job in (("kin8nm, 1500 rows", chosen), ("scop_1.1, edit distance", by_distance)):
        yield Ablation(
            "shared distances",
            name,
            job,
            without(job, ("mercer.gram.shared:_common", lambda kernels: [])),
        )
    yield Ablation(
        "band reduction for an eigendecomposition",
        "kin8nm, 1500 rows",
        chosen,
        without(chosen, ("mercer.solvers.ridge.path:reduce", Eigenvalues)),
    )

    def on_features() -> object:
        return KernelRidgeCV(["linear", "polynomial(degree=2)"]).fit(X, y)

    yield Ablation(
        "explicit features in the choice",
        "kin8nm, 1500 rows",
        on_features,
        without(on_features, ("mercer.selection.sources:few_features", nothing)),
    )
    Z, t, _ = task("satimage")
    whole = Schedule(few_candidates=sys.maxsize)

    def classified(n: int) -> Job:
        return lambda: KernelLogisticRegressionCV().fit(Z[:n], t[:n])

    yield Ablation(
        "samples in the search",
        "satimage, 1000 rows",
        classified(1000),
        without(
            classified(1000),
            ("mercer.selection.logistic:LogisticSearch", partial(LogisticSearch, schedule=whole)),
        ),
    )


def logistic() -> Iterator[Ablation]:
    """Yield the fast paths of logistic regression."""
    X, y, _ = task("spambase")

    def fitted(**settings: Any) -> Job:
        return lambda: KernelLogisticRegression("gaussian", C=10.0, **settings).fit(X, y)

    yield Ablation(
        "steps in float32",
        "spambase",
        fitted(solver="cg"),
        without(fitted(solver="cg"), ("mercer.solvers.logistic.solver:single_serves", never)),
    )
    yield Ablation(
        "preconditioner of low rank",
        "spambase",
        fitted(solver="cg"),
        fitted(solver=NewtonCG(rank=1)),
    )
    yield Ablation("products for factors", "spambase", fitted(), fitted(solver="newton"))


def never(*args: Any) -> bool:
    """Return False, as where a fast path does not serve."""
    return False


def margin() -> Iterator[Ablation]:
    """Yield the fast paths of support vector machines."""
    X, y, T = task("cod-rna-20000")

    def fitted(X: Any, y: Any, C: float = 10.0, kernel: Any = "gaussian") -> Job:
        return lambda: KernelSVC(kernel, C=C).fit(X, y)

    many = fitted(X, y)
    A, signs, _ = task("a9a-20000")
    adults = fitted(A, signs, 1.0, mercer.Gaussian(3.0))
    for name, job in (("cod-rna, 20000 rows", many), ("a9a, 20000 rows", adults)):
        yield Ablation(
            "low-rank start",
            name,
            job,
            without(job, ("mercer.solvers.margin.smo:seed", nothing)),
        )
    yield Ablation(
        "screening of rows",
        "cod-rna, 20000 rows",
        many,
        without(
            many,
            ("mercer.solvers.margin.smo:seed", nothing),
            ("mercer.solvers.margin.smo:_State._doubtful", nothing),
        ),
    )
    Z, t, _ = task("spambase")
    few = fitted(Z, t, 1e4)
    for name, job in (("spambase, C=10^4", few), ("cod-rna, 20000 rows", many)):
        yield Ablation(
            "Newton steps on the active set",
            name,
            job,
            without(
                job, ("mercer.solvers.margin.active_set:NewtonStep.__call__", lambda self: 0.0)
            ),
        )
        yield Ablation(
            "rows in float32",
            name,
            job,
            without(
                job,
                ("mercer.gram.streamed:StreamedGram.single", Gram.single),
            ),
        )
    L, labels, M = task("letter-8000")
    pairs = fitted(L, labels)
    yield Ablation(
        "one copy for all pairs of classes",
        "letter, 8000 rows",
        pairs,
        without(pairs, ("mercer.estimators.svm.supports:with_copy", lambda gram: gram)),
    )
    small = fitted(Z[::40], t[::40])
    yield Ablation(
        "last digits by a linear system (digits)",
        "spambase, every 40th row",
        small,
        without(small, ("mercer.solvers.margin.smo:polished", nothing)),
    )
    narrow = fitted(X, y, 1000.0, "linear")
    yield Ablation(
        "interior point",
        "cod-rna, linear, C=1000",
        narrow,
        without(narrow, ("mercer.solvers.margin.coordinates:_State.jump", nothing)),
    )
    R, target = regression("kin8nm", 5000)

    def tube() -> object:
        return KernelSVR("gaussian", C=10.0).fit(R, target)

    yield Ablation(
        "Newton steps on the active set",
        "kin8nm, 5000 rows, regression",
        tube,
        without(tube, ("mercer.solvers.margin.active_set:NewtonStep.__call__", lambda self: 0.0)),
    )
    model, several = KernelSVC("gaussian", C=10.0).fit(X, y), KernelSVC("gaussian").fit(L, labels)
    for name, machine, new in (("cod-rna", model, T[:20_000]), ("letter", several, M)):

        def predicted(machine: Any = machine, new: Any = new) -> object:
            return machine.predict(new)

        yield Ablation(
            "labels in float32",
            name,
            predicted,
            without(
                predicted,
                ("mercer.estimators.svm.svc:settled_classes", lambda f, X, clear, exact: exact(X)),
            ),
        )


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
        without(product, ("mercer.tiles.entries:are_tiled", never)),
    )
    yield Ablation(
        "walking along entries",
        "a9a, 6000 rows",
        product,
        without(product, ("mercer.tiles.entries:Forms._walked", lambda self, o: None)),
    )
    D = S.toarray()

    def dense_product() -> object:
        return apply(program, D, None, v)

    yield Ablation(
        "entries of dense rows found",
        "a9a, 6000 dense rows",
        dense_product,
        without(dense_product, ("mercer.tiles.entries:_gathered", nothing)),
    )
    dense, labels, _ = task("cod-rna-8000")
    full = sp.csr_array(dense)

    def fitted() -> object:
        return KernelSVC("gaussian", C=10.0).fit(full, labels)

    yield Ablation(
        "dense copies of sparse rows",
        "cod-rna, 8000 rows as CSR",
        fitted,
        without(fitted, ("mercer.gram.choose:dense_rows", lambda X, memory: X)),
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
    bands = pd.read_csv(datasets.FOLDER / "classification" / "satimage.csv.gz")
    raw, v = bands.drop(columns="class").to_numpy(np.float32)[:5000], np.ones((5000, 1))

    def product() -> object:
        return apply(mercer.Gaussian(50.0).program, raw, None, v)

    yield Ablation(
        "rows centred before products",
        "satimage as it is, float32",
        product,
        without(product, ("mercer.tiles.loop:_centre", nothing)),
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
    gapped = mercer.GappedKmer(6, 2)

    def gram(kernel: Any, rows: Any) -> Job:
        return lambda: evaluate(kernel.program, rows)

    counts = gram(mercer.Spectrum(3), splice)
    yield Ablation(
        "counts of 16 bits",
        "splice, 3-grams",
        counts,
        without(counts, ("mercer.tiles.operands:as_counts", nothing)),
    )
    pairs = "mercer.tiles.windows:Cost.prefers_pairs"
    for name, rows in (("splice", splice[:1000]), ("scop_1.1", train[:500])):
        for kernel in (gapped, mercer.GappedKmer(8, 4)):
            job = gram(kernel, rows)
            yield Ablation(
                "windows compared or counted: compared",
                f"{name}, {kernel!r}",
                job,
                without(job, (pairs, PropertyMock(return_value=False))),
            )
            yield Ablation(
                "windows compared or counted: counted",
                f"{name}, {kernel!r}",
                job,
                without(job, (pairs, PropertyMock(return_value=True))),
            )
    model = KernelSVC(mercer.Spectrum(4), solver="smo").fit(splice, classes)
    dual = model.function_.dual

    yield Ablation(
        "weights of k-grams",
        "splice, 4-grams",
        lambda: model.function_(splice),
        lambda: dual(splice),
    )


def measured(ablation: Ablation, rounds: int = ROUNDS) -> tuple[Times, Times]:
    """Return the times with a fast path and without it, in turns."""
    on, off = (Times.of(job) for job in (ablation.on, ablation.off))
    for _ in range(rounds - 1):
        on, off = on.best(Times.of(ablation.on)), off.best(Times.of(ablation.off))
    return on, off


GROUPS = (ridge, selection, logistic, margin, sparse, tiles, sequences)


def main(wanted: tuple[str, ...] = ()) -> None:
    """Print the ratio for every fast path, or for those of some groups."""
    show_machine()
    console = Console(width=WIDTH)
    console.print(f"{'fast path':42}{'set':34}{'with it':>9}{'clock':>8}{'processor':>11}")
    for group in GROUPS:
        if wanted and group.__name__ not in wanted:
            continue
        for ablation in group():
            on, off = measured(ablation)
            clock, processor = off.wall / on.wall, off.processor / on.processor
            times = f"{on.wall:8.3g}s{clock:7.3g}x{processor:10.3g}x"
            verdict = "" if processor >= WORTH else f"  below {WORTH}"
            console.print(f"{ablation.path:42}{ablation.data:34}{times}{verdict}")


if __name__ == "__main__":
    main(tuple(sys.argv[1:]))
