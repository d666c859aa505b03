"""The fast paths of ridge regression, of logistic regression and of choosing among models."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial
from typing import Any

import mercer
from ablations.switch import Ablation, Job, never, nothing, regression, task, without
from mercer import (
    KernelLogisticRegression,
    KernelLogisticRegressionCV,
    KernelRidge,
    KernelRidgeCV,
)
from mercer.native.twins.spectrum import Spectrum as Eigenvalues
from mercer.selection.classifiers.logistic_search import LogisticSearch
from mercer.selection.results import Schedule
from mercer.solvers import Cholesky, NewtonCG


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
            (
                "mercer.selection.classifiers.logistic:LogisticSearch",
                partial(LogisticSearch, schedule=whole),
            ),
        ),
    )


def logistic() -> Iterator[Ablation]:
    """Yield the fast paths of logistic regression."""
    X, y, _ = task("spambase")

    def fitted(C: float = 10.0, **settings: Any) -> Job:
        return lambda: KernelLogisticRegression("gaussian", C=C, **settings).fit(X, y)

    yield Ablation(
        "steps in float32",
        "spambase",
        fitted(solver="cg"),
        without(fitted(solver="cg"), ("mercer.solvers.logistic.solver:single_serves", never)),
    )
    yield Ablation(
        "preconditioner of low rank",
        "spambase, C=1000",
        fitted(1000.0, solver="cg"),
        fitted(1000.0, solver=NewtonCG(rank=1)),
    )
    yield Ablation("products for factors", "spambase", fitted(), fitted(solver="newton"))
    Z, t, _ = task("phoneme")

    def stiff() -> object:
        return KernelLogisticRegression("gaussian", C=1e5, solver="cg").fit(Z[:3000], t[:3000])

    yield Ablation(
        "rank that grows",
        "phoneme, 3000 rows, C=10^5",
        stiff,
        without(stiff, ("mercer.solvers.logistic.curvature:LowRankCurvature.improve", nothing)),
    )
