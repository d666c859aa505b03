"""The plan of a search among ridges: what its rounds take, and the fit of the one chosen."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mercer.kernels import Kernel
from mercer.planning import Plan, Settings, ridge_plan
from mercer.selection.search import Search
from mercer.solvers import RidgeProblem

Array = NDArray[np.float64]


def ridge_search_plan(
    search: Search,
    sample: Search | None,
    settings: Settings,
    kernels: Sequence[Kernel],
    alphas: Sequence[Array],
) -> Plan:
    """Return the plan of a search, of some rows first if there is a sample, and of its last fit.

    Parameters
    ----------
    search : Search
        That on all rows.
    sample : Search, optional
        That on some of them, which leaves one kernel.
    settings : Settings
        What the estimator was told.
    kernels, alphas
        The candidates.
    """
    search.check_room(kernels, alphas)
    work, scored = search.work(kernels, alphas), f"{len(search)} rows"
    if sample is not None:
        lasts = [search.work([k], [a]) for k, a in zip(kernels, alphas, strict=True)]
        work = sample.work(kernels, alphas) + max(lasts, key=lambda last: last.cost)
        scored = f"{len(sample)} rows, and those of the best kernel on all {len(search)}"
    alpha = np.full(search.y.shape[1], float(np.median(alphas[0])))
    problem = RidgeProblem(search.y, alpha, search.weights, search.fit_intercept)
    last = ridge_plan(search.by_landmarks or settings, kernels[0], search.X, problem)
    needed = max(search.bytes(kernels, alphas))
    return last.after_search(sum(map(len, alphas)), scored, work, needed)
