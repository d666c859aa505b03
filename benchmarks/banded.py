"""Ridge regression on a line against celerite2: one fit, predictions, leave-one-out over a path."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import celerite2
import numpy as np
from celerite2 import terms
from numpy.typing import NDArray
from timing import Figure, interleaved, show

from mercer import Exponential, Sobolev
from mercer.estimators import KernelRidge
from mercer.gram import chain_of
from mercer.kernels import Kernel
from mercer.native import describe
from mercer.solvers import Banded, RidgeProblem

Array = NDArray[Any]

N = 1_000_000
LENGTH_SCALE = 2.0
ALPHA = 0.1
ALPHAS = np.geomspace(1e-3, 1e3, 30)


def data() -> tuple[Array, Array, Array]:
    """Return sorted positions, noisy targets, and as many new sorted positions."""
    rng = np.random.default_rng(0)
    x, new = np.sort(rng.uniform(0.0, 1000.0, size=(2, N)), axis=1)
    return x, np.sin(x) + 0.3 * rng.normal(size=N), new


def peer_fit(gp: celerite2.GaussianProcess, x: Array, y: Array) -> Array:
    """Return the coefficients by celerite2: factor, then solve."""
    gp.compute(x, diag=np.full(N, ALPHA))
    return np.asarray(gp.apply_inverse(y))


def problem(y: Array, fit_intercept: bool) -> RidgeProblem:
    """Return the ridge problem without weights."""
    return RidgeProblem(y[:, None], np.array([ALPHA]), np.ones(N), fit_intercept)


def solve(kernel: Kernel, X: Array, y: Array, fit_intercept: bool) -> object:
    """Solve from the rows on, without the estimator."""
    return Banded().solve(chain_of(kernel, X), problem(y, fit_intercept))


def path(kernel: Kernel, X: Array, y: Array, fit_intercept: bool) -> Array:
    """Return the leave-one-out error of every ridge, from the rows on."""
    gram = chain_of(kernel, X)
    return Banded().leave_one_out_errors(gram, problem(y, fit_intercept), ALPHAS)


def figures() -> tuple[list[Figure], list[Figure]]:
    """Return fits and predictions against celerite2's, and paths against one of its fits."""
    x, y, new = data()
    X, Z = x[:, None], new[:, None]
    kernel = Exponential(LENGTH_SCALE)
    gp = celerite2.GaussianProcess(terms.RealTerm(a=1.0, c=1.0 / LENGTH_SCALE))
    model = KernelRidge(kernel, ALPHA, fit_intercept=False).fit(X, y)
    gap = np.abs(model.dual_coef_ - peer_fit(gp, x, y)).max()
    print(f"largest difference of the coefficients from celerite2's: {gap:.1e}")

    fits: dict[str, Callable[[], object]] = {
        "celerite2": partial(peer_fit, gp, x, y),
        "solver": partial(solve, kernel, X, y, False),
        "KernelRidge": partial(model.fit, X, y),
        "KernelRidge with offset": partial(KernelRidge(kernel, ALPHA).fit, X, y),
    }
    predictions: dict[str, Callable[[], object]] = {
        "celerite2, new rows": partial(gp.predict, y, t=new),
        "celerite2, training rows": partial(gp.predict, y),
        "KernelRidge, new rows": partial(model.predict, Z),
        "KernelRidge, training rows": partial(model.predict, X),
    }
    paths: dict[str, Callable[[], object]] = {
        f"{k}, {'offset' if offset else 'no offset'}": partial(path, k, X, y, offset)
        for k in (kernel, Sobolev())
        for offset in (False, True)
    }
    best = interleaved(fits | predictions | paths)
    ms = {name: f"{s * 1e3:.0f} ms" for name, s in best.items()}
    against = [
        Figure(f"fit, {name}", best["celerite2"] / best[name], 1.0, detail=f"{ms[name]}, {said}")
        for said in [f"celerite2 {ms['celerite2']}"]
        for name in fits
        if name != "celerite2"
    ]
    for rows in ("new rows", "training rows"):
        mine, peer = f"KernelRidge, {rows}", f"celerite2, {rows}"
        detail = f"{ms[mine]}, celerite2 {ms[peer]}"
        against.append(Figure(f"predict {rows}", best[peer] / best[mine], 1.0, detail=detail))
    over = [
        Figure(name, best[name] / best["celerite2"], 10.0, at_least=False, detail=ms[name])
        for name in paths
    ]
    return against, over


def main() -> None:
    """Print all figures of the banded solver."""
    about = describe()
    print(f"engine {about['engine']}, {about['threads']} threads, n = {N}")
    against, over = figures()
    show(f"Exponential in one column, n = {N}, against celerite2", against)
    show(f"Leave-one-out over {len(ALPHAS)} ridges, in fits of celerite2", over)


if __name__ == "__main__":
    main()
