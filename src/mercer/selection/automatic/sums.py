"""Sums of kernels of the search: of the best candidates, and of terms with learned weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from mercer.kernels import Kernel, Scaled, Sum
from mercer.selection.automatic.board import Candidate


def together(candidates: Sequence[Candidate], digits: int) -> Candidate:
    """Return the sum of learned kernels, each in units of its ridge, as a candidate to learn on."""
    shares = [float(f"{1.0 / (len(candidates) * c.alpha):.{digits}g}") for c in candidates]
    terms = [share * c.kernel for share, c in zip(shares, candidates, strict=True)]
    name = f"sum of {', '.join(c.name.removesuffix(', learned') for c in candidates)}, learned"
    return replace(candidates[0], name=name, kernel=_flat(terms), alpha=1.0, seconds=0.0)


def weighted_sum(terms: Sequence[Kernel], weights: NDArray[np.float64], digits: int) -> Kernel:
    """Return the sum of kernels with weights of so many digits, but for terms that add nothing."""
    # The weight beside the largest below which a term of a sum is left out.
    least_weight = 1e-3
    kept = np.flatnonzero(weights >= least_weight * weights.max())
    return _flat([float(f"{weights[t]:.{digits}g}") * terms[t] for t in kept.tolist()])


def n_terms(kernel: Kernel) -> int:
    """Return how many terms there are in the sums of a kernel, one where there is none."""
    inner = sum(n_terms(part) for part in kernel.parts)
    return inner if isinstance(kernel, Sum | Scaled) else 1


def _flat(terms: Sequence[Kernel]) -> Kernel:
    parts = [part for term in terms for part in (term.terms if isinstance(term, Sum) else (term,))]
    first, *others = parts
    return Sum(tuple(parts)) if others else first
