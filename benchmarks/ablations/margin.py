"""The fast paths of support vector machines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import datasets

import mercer
from ablations.switch import Ablation, Job, nothing, regression, task, without
from mercer import (
    KernelSVC,
    KernelSVR,
)
from mercer.gram import Gram


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
            without(job, ("mercer.solvers.margin.screening:seed", nothing)),
        )
    yield Ablation(
        "low-rank start and screening of rows",
        "a9a, 20000 rows",
        adults,
        without(
            adults,
            ("mercer.solvers.margin.screening:seed", nothing),
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
    V, vowels, _ = task("phoneme-500")

    def creeping() -> object:
        return KernelSVC("linear", C=1e6, solver="smo").fit(V, vowels)

    yield Ablation(
        "interior point where pairs creep",
        "phoneme, 500 rows, linear, C=10^6",
        creeping,
        without(creeping, ("mercer.solvers.margin.smo:SMO.interior_rows", 0)),
    )
    texts, views = datasets.sentences()

    def by_words(solver: str) -> Job:
        return lambda: KernelSVC(mercer.Words(), solver=solver).fit(texts[:6000], views[:6000])

    yield Ablation(
        "coordinate descent on features",
        "sentences, 6000 rows, words",
        by_words("auto"),
        by_words("smo"),
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
