"""The plan of a search among Cs: what its rounds take, and the fit of the one chosen."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mercer.kernels import Kernel
from mercer.planning import Plan, Settings, logistic_plan, logistic_work
from mercer.planning.rates import Work
from mercer.selection.classifiers.logistic_search import LogisticSearch

Array = NDArray[np.float64]


def logistic_search_plan(
    search: LogisticSearch, settings: Settings, kernels: Sequence[Kernel], Cs: Sequence[Array]
) -> Plan:
    """Return about the plan of a search, whose Cs may end early, and that of the fit after it.

    Parameters
    ----------
    search : LogisticSearch
        That on all rows.
    settings : Settings
        What the estimator was told.
    kernels, Cs
        The candidates.
    """
    search.check_room()
    pairs, problem = search.splits.pairs, search.problem
    folds = None if pairs is None else len(pairs)
    rounds = search.schedule.fits(len(search), problem.columns, problem.classes, Cs, folds)
    work = Work()
    for rows, fits in rounds:
        part = search.on(np.arange(rows)) if rows < len(search) else search
        work += fits * logistic_work(kernels[0], part.X, part.problem, part.settings)
    scored = " rows, the best of them on ".join(str(rows) for rows, _ in rounds) + " rows"
    last = logistic_plan(
        search.by_landmarks or settings, kernels[0], search.X, problem.at(float(np.median(Cs[0])))
    )
    return last.after_search(sum(map(len, Cs)), scored, work, search.bytes)
