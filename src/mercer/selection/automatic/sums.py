"""Sums of kernels of the search: of the best candidates, and of terms with learned weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.data.columns import is_matrix, is_table, n_columns
from mercer.kernels import Kernel, Scaled, Sum
from mercer.selection.automatic.board import Candidate, Recipe

# Digits of what is learned: more than these the data cannot tell.
DIGITS = 4
# How many of the best kernels make a sum that learns on.
TERMS = 3


def to_learn_on(X: Any, learned: Sequence[Candidate]) -> list[Candidate]:
    """Return the sum of the best learned kernels and the best one, to learn on from more rows.

    Parameters
    ----------
    X : rows
        The rows that kernels are of.
    learned : sequence of Candidate
        Learned kernels, best first; those of many terms take too long.
    """
    few_terms = 4
    slim = [c for c in learned if n_terms(c.kernel) <= few_terms]
    found = [together(slim[:TERMS])] if len(slim) > 1 else []
    found += [alone(c) for c in slim[:1]]
    return [c for c in found if learns_on(X, n_terms(c.kernel))]


def together(candidates: Sequence[Candidate]) -> Candidate:
    """Return the sum of learned kernels as a candidate to learn on."""
    kernel, alpha = sum_of([(c.kernel, c.alpha) for c in candidates])
    name = f"sum of {', '.join(c.name.removesuffix(', learned') for c in candidates)}, learned"
    recipe = Recipe(terms=recipes(candidates))
    found = replace(candidates[0], name=name, kernel=kernel, alpha=alpha, recipe=recipe)
    return replace(found, seconds=0.0)


def alone(candidate: Candidate) -> Candidate:
    """Return a learned kernel as a candidate to learn on by itself."""
    recipe = Recipe(terms=recipes([candidate]))
    return replace(candidate, name=f"{candidate.name} further", recipe=recipe)


def sum_of(learned: Sequence[tuple[Kernel, float]]) -> tuple[Kernel, float]:
    """Return the mean of kernels, each in units of its ridge, and the ridge of it, which is one."""
    shares = [float(f"{1.0 / (len(learned) * alpha):.{DIGITS}g}") for _, alpha in learned]
    return _flat([share * k for share, (k, _) in zip(shares, learned, strict=True)]), 1.0


def recipes(candidates: Sequence[Candidate]) -> tuple[Recipe, ...]:
    """Return how candidates were learned, those of which it is known."""
    return tuple(c.recipe for c in candidates if c.recipe is not None)


def weighted_sum(terms: Sequence[Kernel], weights: NDArray[np.float64]) -> Kernel:
    """Return the sum of kernels with weights, but for terms that add nothing."""
    # The weight beside the largest below which a term of a sum is left out.
    least_weight = 1e-3
    kept = np.flatnonzero(weights >= least_weight * weights.max())
    return _flat([float(f"{weights[t]:.{DIGITS}g}") * terms[t] for t in kept.tolist()])


def learns_on(X: Any, terms: int) -> bool:
    """Whether the scales of a sum of so many kernels of rows such as `X` learn on from more rows.

    Every scale takes a pass over all pairs of rows. Of more than these a second look at all would
    take longer than the first, which found the few that matter.
    """
    most_scales = 1500
    has_columns = is_table(X) or is_matrix(X)
    return not has_columns or terms * n_columns(X) <= most_scales


def n_terms(kernel: Kernel) -> int:
    """Return how many terms there are in the sums of a kernel, one where there is none."""
    inner = sum(n_terms(part) for part in kernel.parts)
    return inner if isinstance(kernel, Sum | Scaled) else 1


def _flat(terms: Sequence[Kernel]) -> Kernel:
    parts = [part for term in terms for part in (term.terms if isinstance(term, Sum) else (term,))]
    first, *others = parts
    return Sum(tuple(parts)) if others else first
