"""The plan of an automatic machine: what its rounds take, and the fit of the winner after them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from mercer.estimators.validation import training_subset
from mercer.kernels import Kernel
from mercer.learning import rows_to_give
from mercer.planning import Plan
from mercer.planning.entries import entry_work
from mercer.planning.held_out import entries_held_out
from mercer.planning.rates import Work
from mercer.selection.automatic.board import Recipe
from mercer.selection.automatic.cross_fit import steps_of
from mercer.selection.automatic.kernels import Start, starts
from mercer.selection.automatic.search import KernelSearch
from mercer.selection.automatic.sums import TERMS, learns_on
from mercer.selection.splits import Splits

# Kernels of a mean that a search ends with, about: there are up to three, or one is taken alone.
LIKELY_PARTS = 2


def likely_kernel(search: KernelSearch) -> Kernel:
    """Return a kernel of the cost of the winner: the first that is tried, with numbers."""
    return starts(search.X, keep=search.keep)[0].kernel.resolved(search.X, search.weights)


def comparison_work(search: KernelSearch, rows: int) -> Work:
    """Return what the log losses of least squares with a kernel and with a mean take."""
    entry = entry_work(likely_kernel(search), search.X)
    return (1 + LIKELY_PARTS) * _judged(rows, entry)


def likely_recipes(search: KernelSearch) -> list[Recipe | None]:
    """Return how candidates like the best are learned: a sum, one of its terms, and one not at all.

    There are none where nothing is learned.
    """
    is_learned = len(search.sample(search.first_rows)) >= search.least_rows
    tried = [start for start in starts(search.X, is_learned, search.keep) if start.is_learned]
    if not tried:
        return []
    first = Recipe(tried[0])
    others = (Recipe(start, (first,)) for start in tried[1:TERMS] if not start.terms)
    return [Recipe(terms=(first, *others)), first, None]


def cross_fit_work(search: KernelSearch, recipes: Sequence[Recipe | None], folds: int) -> Work:
    """Return what it takes to learn candidates again in folds, and to judge them: see `CrossFit`.

    Parameters
    ----------
    search : KernelSearch
        The search.
    recipes : sequence of Recipe or None
        How each is learned, None of one that is not.
    folds : int
        How many.
    """
    n = len(search.y) - len(search.y) // folds
    entry = entry_work(likely_kernel(search), search.X)
    # For the ridge, and for the fit that predicts the fold.
    work = 2 * len(recipes) * _judged(n, entry)
    # What is known is not learned twice.
    for recipe in dict.fromkeys(part for r in recipes if r is not None for part in r.every):
        work += _learned(
            search, min(n, search.first_rows), recipe.n_terms * entry, steps_of(recipe)
        )
    return folds * work


def automatic_plan(search: KernelSearch, last: Plan) -> Plan:
    """Return the plan of a search for a kernel, and of the fit after it.

    Parameters
    ----------
    search : KernelSearch
        The search.
    last : Plan
        That of the fit, with a kernel such as `likely_kernel`.
    """
    few, second, judged = (
        len(search.sample(n)) for n in (search.first_rows, search.second_rows, search.judged_rows)
    )
    tried = starts(search.X, few >= search.least_rows, search.keep)
    learned = [start for start in tried if start.is_learned]
    work = Work()
    for start in tried:
        work += _first(search, start, few)
    entry = entry_work(likely_kernel(search), search.X)
    if learned:
        for terms in (1, min(TERMS, len(learned))):
            if learns_on(search.X, terms):
                work += _learned(search, second, terms * entry, search.second_steps)
        work += search.warm_steps * _step(second, min(search.mixed, len(learned)) * entry)
        work += (3 + search.finalists) * _judged(judged, entry)
    work += search.finalists * _judged(judged, entry)
    needed = max(
        search.pair_bytes * judged**2,
        (search.pair_bytes + search.term_bytes * search.mixed) * second**2,
    )
    scored = f"{few} rows, the best of them on {judged}"
    plan = last.after_search(len(tried), scored, work, needed)
    if last.time_limit is None:
        return plan
    most = last.seconds + search.both_shares * last.time_limit
    return replace(plan, seconds=min(plan.seconds, most))


def _first(search: KernelSearch, start: Start, n: int) -> Work:
    """Return what a kernel of the first round takes on n rows."""
    entry = Work()
    sample = search.sample(search.first_rows)
    for term in start.terms or (start.kernel,):
        rows: Any = training_subset(term, search.X, sample)
        entry += entry_work(term.resolved(rows, search.weights[sample]), rows)
    if not start.is_learned:
        # At two widths.
        return 2.0 * _judged(n, entry)
    steps = search.first_steps if start.leads or start.terms else search.warm_steps
    return _learned(search, n, entry, steps) + _judged(n, entry)


def _learned(search: KernelSearch, n: int, entry: Work, steps: int) -> Work:
    """Return what steps of learning take, and the fits that say which of them was the best."""
    work = steps * _step(n, entry)
    if rows_to_give(search.X, n) > n:
        # The first step, the last, and those twice as far each: see `best_step`.
        work += (2 + steps.bit_length()) * (_judged(n, entry) + n**2 * entry)
    return work


def _step(n: int, entry: Work) -> Work:
    """Return what a step of learning takes: an inverse, and entries with their derivatives."""
    # Bytes that stand for the calls of a step, whatever its rows, and the points of a line search.
    calls, points = Work(byte=1.3e8), 4.0 / 3.0
    return points * (calls + Work(double=1.25 * n**3) + 1.5 * n**2 * entry)


def _judged(n: int, entry: Work) -> Work:
    """Return what the errors of n rows take that are left out one by one."""
    calls = Work(byte=1e8)
    steps, _ = entries_held_out(n, Splits(n), 1)
    return calls + Work(double=steps) + 0.5 * n**2 * entry
