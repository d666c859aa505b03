"""What plan() promises beside what fit takes, on arrays, tables and text.

On one thread, ``MERCER_THREADS=1 OPENBLAS_NUM_THREADS=1``, the time that counts is that of the
processor, which a busy machine does not stretch; on several it is that of the clock.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import perf_counter, process_time
from typing import Any

import numpy as np
import pandas as pd
from datasets import (
    FOLDER,
    classification,
    classification_task,
    fasta,
    regression,
    sentences,
    splice_classes,
    splice_junctions,
)
from timing import Figure, show

from mercer import (
    Exponential,
    Gaussian,
    KernelLogisticRegression,
    KernelRidge,
    KernelSVC,
    KernelSVR,
    Laplacian,
    Linear,
    Polynomial,
    Spectrum,
    Subsequence,
    Words,
)
from mercer.native.core import thread_count

# What counts as foretold, from so many seconds on.
FACTOR, LEAST = 3.0, 0.1


@dataclass(frozen=True)
class Case:
    """An estimator and the rows and targets that it is fitted to."""

    name: str
    model: Any
    read: Callable[[], tuple[Any, Any]]


def first(n: int, read: Callable[..., tuple[Any, ...]], *name: str) -> Callable[[], Any]:
    """Return what reads the first rows of a set, in an order of their own, and their targets."""

    def rows() -> tuple[Any, Any]:
        X, y = read(*name)[:2]
        some = np.random.default_rng(0).permutation(len(y))[:n]
        return ([X[i] for i in some] if isinstance(X, list) else X[some]), np.asarray(y)[some]

    return rows


def solubilities(n: int) -> tuple[Any, Any]:
    """Return a table of descriptors and formulas, and the solubilities."""
    table = pd.read_csv(FOLDER / "solubility" / "aqsoldb.csv.gz").iloc[:n]
    return table.drop(columns="Solubility"), table["Solubility"].to_numpy()


def germans() -> tuple[Any, Any]:
    """Return a table of numbers and categories, and the classes."""
    table = pd.read_csv(FOLDER / "classification" / "german.csv.gz")
    return table.iloc[:, :-1], table.iloc[:, -1].to_numpy()


def messages() -> tuple[Any, Any]:
    """Return short messages, and whether they are wanted."""
    table = pd.read_csv(FOLDER / "text" / "sms_spam.csv.gz")
    return table["text"].astype(str).tolist(), table["class"].to_numpy()


def halves(read: Callable[[], tuple[Any, Any]]) -> Callable[[], tuple[Any, Any]]:
    """Return the same rows, and which of their targets are above the middle."""

    def rows() -> tuple[Any, Any]:
        X, y = read()
        return X, (y > np.median(y)).astype(int)

    return rows


def cases() -> Iterator[Case]:
    """Yield what is foretold and then done."""
    kin, protein = first(8192, regression, "kin8nm"), first(12_000, regression, "protein")
    bike = first(6000, regression, "bike")
    for alpha in (1.0, 1e-2):
        yield Case(f"ridge, kin8nm, alpha={alpha:g}", KernelRidge("gaussian", alpha), kin)
        yield Case(f"ridge, protein-12000, alpha={alpha:g}", KernelRidge(alpha=alpha), protein)
    yield Case("ridge, bike-3000", KernelRidge("gaussian", 0.1), first(3000, regression, "bike"))
    yield Case("ridge, bike-6000, laplacian", KernelRidge(Laplacian(4.0), 0.1), bike)
    yield Case(
        "ridge, bike-3000, eigen",
        KernelRidge("gaussian", 0.1, solver="eigen"),
        first(3000, regression, "bike"),
    )
    yield Case(
        "ridge, protein, cg, 2 GB",
        KernelRidge("gaussian", 1.0, memory="2GB", random_state=0),
        first(30_000, regression, "protein"),
    )
    yield Case(
        "ridge, protein, quadratic",
        KernelRidge(Polynomial(2)),
        first(45_730, regression, "protein"),
    )
    yield Case(
        "ridge, protein, cubic", KernelRidge(Polynomial(3)), first(20_000, regression, "protein")
    )
    line = first(45_730, lambda: (lambda X, y: (X[:, :1], y))(*regression("protein")))
    yield Case("ridge, one column", KernelRidge(Exponential(0.5), 0.1), line)
    yield Case(
        "ridge, aqsoldb table, default kernel", KernelRidge("auto", 0.1), lambda: solubilities(3000)
    )
    named = Gaussian(100.0).on("MolWt", "MolLogP") + Gaussian(50.0).on("TPSA")
    yield Case(
        "ridge, aqsoldb table, .on(names)", KernelRidge(named, 0.1), lambda: solubilities(5000)
    )
    text = Spectrum(3).normalized().on("SMILES")
    yield Case(
        "ridge, aqsoldb, spectrum on a column",
        KernelRidge(text + named, 0.1),
        lambda: solubilities(3000),
    )
    smiles = lambda n: (lambda X, y: (X["SMILES"].tolist(), y))(*solubilities(n))  # noqa: E731
    yield Case("ridge, SMILES, spectrum", KernelRidge(Spectrum(3), 1.0), lambda: smiles(9000))
    yield Case(
        "ridge, SMILES, subsequence", KernelRidge(Subsequence(3, 0.5), 1.0), lambda: smiles(1500)
    )
    for C in (1.0, 100.0):
        for name, n in (("phoneme", 5404), ("spambase", 4601), ("letter", 8000), ("usps", 4000)):
            read = first(n, classification, name)
            yield Case(f"svc, {name}-{n}, C={C:g}", KernelSVC("gaussian", C), read)
        yield Case(
            f"svc, covtype-20000, C={C:g}",
            KernelSVC("gaussian", C),
            first(20_000, classification, "covtype_93k"),
        )
        yield Case(f"svr, kin8nm, C={C:g}", KernelSVR("gaussian", C), kin)
    yield Case("svc, a9a", KernelSVC("gaussian"), lambda: classification_task("a9a")[:2])
    yield Case("svc, a9a, linear", KernelSVC(Linear()), lambda: classification_task("a9a")[:2])
    yield Case("svr, bike-6000", KernelSVR("gaussian", 1.0), bike)
    yield Case("svr, protein, linear", KernelSVR(Linear()), first(40_000, regression, "protein"))
    yield Case("svc, german table", KernelSVC("auto"), germans)
    yield Case(
        "svc, aqsoldb table, .on(names)", KernelSVC(named), halves(lambda: solubilities(8000))
    )
    yield Case("svc, sms, words", KernelSVC(Words()), messages)
    yield Case("svc, sentences, spectrum", KernelSVC(Spectrum(3).normalized()), sentences)
    yield Case(
        "svc, splice, spectrum",
        KernelSVC(Spectrum(3)),
        lambda: (splice_junctions(), splice_classes()),
    )
    yield Case(
        "svc, tf_CTCF, subsequence",
        KernelSVC(Subsequence(3, 0.5)),
        first(1000, fasta, "tf_CTCF.train"),
    )
    for name, n in (("phoneme", 5404), ("letter", 4000), ("covtype_93k", 8000)):
        read = first(n, classification, name)
        yield Case(f"logistic, {name}-{n}", KernelLogisticRegression("gaussian"), read)
    yield Case(
        "logistic, phoneme-5404, C=100",
        KernelLogisticRegression("gaussian", 100.0),
        first(5404, classification, "phoneme"),
    )
    yield Case(
        "logistic, a9a, linear",
        KernelLogisticRegression(Linear()),
        lambda: classification_task("a9a")[:2],
    )
    yield Case(
        "logistic, aqsoldb table, .on(names)",
        KernelLogisticRegression(named),
        halves(lambda: solubilities(5000)),
    )
    yield Case(
        "logistic, sms, spectrum", KernelLogisticRegression(Spectrum(3).normalized()), messages
    )


def figure(case: Case) -> Figure:
    """Return the promise over the truth."""
    X, y = case.read()
    start = perf_counter()
    plan = case.model.plan(X, y)
    asked = perf_counter() - start
    best, is_alone = np.inf, thread_count() == 1
    clock = process_time if is_alone else perf_counter
    for _ in range(2 if plan.seconds < 5.0 else 1):
        start = clock()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            case.model.fit(X, y)
        best = min(best, clock() - start)
    detail = f"{plan.solver}: {plan.seconds:.2f} s promised in {asked:.2f} s, {best:.2f} s taken"
    short = best < LEAST and plan.seconds < FACTOR * LEAST
    is_near = short or 1.0 / FACTOR <= plan.seconds / best <= FACTOR
    return Figure(case.name, plan.seconds / best, None, True, "x" if is_near else "x !", detail)


def main() -> None:
    """Print the promises over the truth of all cases, or of those whose name holds a word."""
    words = sys.argv[1:] if "plan.py" in sys.argv[0] else []
    wanted = [c for c in cases() if not words or any(word in c.name for word in words)]
    figures = []
    for case in wanted:
        figures.append(figure(case))
        print(
            f"{case.name:45s} {figures[-1].value:8.2f}{figures[-1].unit:4s} {figures[-1].detail}",
            flush=True,
        )
    show("Seconds that plan() promises over those that fit takes", figures)


if __name__ == "__main__":
    main()
