"""Thirty ridges and eight bandwidths: KernelRidgeCV against grid search and himalaya."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from datasets import regression
from joblib import parallel_config
from numpy.typing import NDArray
from sklearn.kernel_ridge import KernelRidge as PeerRidge
from sklearn.model_selection import GridSearchCV
from timing import Figure, interleaved, show

from mercer import Gaussian, KernelRidgeCV
from mercer.native import describe, reduce
from mercer.native.twins.spectrum import Spectrum
from mercer.solvers import RidgePath
from mercer.solvers.ridge import path

Array = NDArray[Any]

ALPHAS = np.geomspace(1e-6, 1e2, 30)
FACTORS = np.geomspace(0.25, 4.0, 8)
OVER_GRID_SEARCH, OVER_HIMALAYA = 20.0, 8.0


@dataclass(frozen=True, eq=False)
class Case:
    """A data set with a fixed split into rows to choose on and rows to judge the choice by."""

    name: str
    X: Array
    y: Array
    X_test: Array
    y_test: Array

    @classmethod
    def of(cls, name: str, rows: int) -> Case:
        """Return the data set split at this many rows of a seeded order, y less its mean."""
        X, y = regression(name)
        order = np.random.default_rng(0).permutation(len(y))
        train, test = order[:rows], order[rows:]
        # The peers have no offset.
        y = y - y[train].mean()
        return cls(f"{name}, n = {rows}", X[train], y[train], X[test], y[test])

    @property
    def scales(self) -> Array:
        """Return the length scales to choose from."""
        return FACTORS * Gaussian("median").resolved(self.X).length_scale

    def error(self, model: Any) -> float:
        """Return the root mean squared error of a fitted model on the test rows."""
        return float(np.sqrt(np.mean((self.y_test - model.predict(self.X_test)) ** 2)))


def by_mercer(case: Case) -> Any:
    """Choose by exact leave-one-out."""
    return KernelRidgeCV({"length_scale": case.scales}, ALPHAS).fit(case.X, case.y)


def by_folds(case: Case) -> Any:
    """Choose by the same five folds as the peers."""
    return KernelRidgeCV({"length_scale": case.scales}, ALPHAS, cv=5).fit(case.X, case.y)


def by_grid_search(case: Case) -> Any:
    """Choose by five folds, every candidate fitted on each of them, in two processes."""
    grid = {"gamma": 0.5 / case.scales**2, "alpha": ALPHAS}
    search = GridSearchCV(
        PeerRidge(kernel="rbf"), grid, cv=5, n_jobs=2, scoring="neg_mean_squared_error"
    )
    with parallel_config("loky", inner_max_num_threads=1):
        return search.fit(case.X, case.y)


def by_himalaya(case: Case) -> Any:
    """Choose by five folds, with one eigendecomposition for each of them and each bandwidth."""
    from himalaya.kernel_ridge import KernelRidgeCV as Himalaya

    models = [
        Himalaya(alphas=ALPHAS, kernel="rbf", kernel_params={"gamma": 0.5 / s**2}, cv=5).fit(
            case.X, case.y
        )
        for s in case.scales
    ]
    return max(models, key=lambda model: float(np.max(model.cv_scores_)))


def timed(run: Callable[[Case], Any], case: Case) -> tuple[float, Any]:
    """Return the seconds that a choice takes, and the model chosen."""
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = run(case)
    return time.perf_counter() - start, model


def figures_of(case: Case) -> tuple[list[Figure], dict[str, float]]:
    """Return times and errors of one data set, and the ratios of the times.

    The peers take minutes and run once. mercer runs before, between and after them, and the
    median of its times counts.
    """
    ours, folds, peers = [], [], {}
    by_mercer(case)
    for name, peer in {"GridSearchCV": by_grid_search, "himalaya": by_himalaya}.items():
        ours.append(timed(by_mercer, case))
        folds.append(timed(by_folds, case))
        peers[name] = timed(peer, case)
    ours.append(timed(by_mercer, case))
    seconds, error = float(np.median([s for s, _ in ours])), case.error(ours[0][1])
    ratios = {name: s / seconds for name, (s, _) in peers.items()}
    targets = {"GridSearchCV": OVER_GRID_SEARCH, "himalaya": OVER_HIMALAYA}
    figures = [
        Figure(
            f"{case.name}, over {name}",
            ratios[name],
            detail=f"mercer {seconds:.2f} s, {name} {s:.1f} s; mean target {targets[name]:g}x",
        )
        for name, (s, _) in peers.items()
    ]
    figures.append(
        Figure(
            f"{case.name}, five folds over GridSearchCV",
            peers["GridSearchCV"][0] / min(s for s, _ in folds),
            detail=f"mercer {min(s for s, _ in folds):.2f} s, the same folds",
        )
    )
    errors = {name: case.error(model) for name, (_, model) in peers.items()}
    detail = f"rmse mercer {error:.4g}, " + ", ".join(f"{n} {e:.4g}" for n, e in errors.items())
    figures.append(
        Figure(
            f"{case.name}, held-out error over the best peer's",
            error / min(errors.values()),
            1.02,
            at_least=False,
            detail=detail,
        )
    )
    return figures, ratios


def path_figures() -> list[Figure]:
    """Return the speed of the whole path by the band over that by eigenvectors."""
    figures = []
    for n in (1000, 3000):
        X = np.random.default_rng(0).normal(size=(n, 8))
        K, y, w = Gaussian(3.0)(X), np.sin(X[:, :1]), np.ones(n)

        def run(how: Any, K: Array = K, y: Array = y, w: Array = w) -> object:
            path.reduce, before = how, path.reduce
            try:
                return RidgePath(K.copy(), w, True).at(y, ALPHAS).leave_one_out()
            finally:
                path.reduce = before

        best = interleaved({"band": lambda: run(reduce), "eigh": lambda: run(Spectrum)}, rounds=3)
        detail = ", ".join(f"{name} {s:.2f} s" for name, s in best.items())
        ratio = best["eigh"] / best["band"]
        figures.append(Figure(f"30 alphas, n = {n}, over eigh", ratio, 1.0, detail=detail))
    return figures


def main() -> None:
    """Print all figures of selection."""
    about = describe()
    print(f"engine {about['engine']} {about['cpu']}, {about['threads']} threads")
    show("The path of one kernel, leave-one-out included", path_figures())
    figures: list[Figure] = []
    ratios = []
    for name, rows in (("concrete", 824), ("kin8nm", 3000)):
        some, ratio = figures_of(Case.of(name, rows))
        figures += some
        ratios.append(ratio)
    for name, target in {"GridSearchCV": OVER_GRID_SEARCH, "himalaya": OVER_HIMALAYA}.items():
        mean = float(np.exp(np.mean([np.log(ratio[name]) for ratio in ratios])))
        figures.append(Figure(f"geometric mean over {name}", mean, target))
    show("30 alphas x 8 bandwidths", figures)


if __name__ == "__main__":
    main()
