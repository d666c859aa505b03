"""Kernels of rows without negative entries: histograms, counts, positions on a half-line."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from mercer.kernels import domains
from mercer.kernels.formula import Rule
from mercer.kernels.kernel import Kernel
from mercer.tiles import Expression, Tile


@dataclass(frozen=True)
class Sobolev(Kernel):
    """First-order Sobolev space with f(0) = 0: min(x, z) for x, z >= 0, a product over columns."""

    def lower(self, t: Tile) -> Expression:
        return t.minimum()

    def rule(self) -> Rule:
        return "min(x, z) is the inner product of the indicators of [0, x] and [0, z]"


@dataclass(frozen=True)
class Chi2(Kernel):
    """Exponential chi-squared: exp(-gamma sum_j (x_j - z_j)^2 / (x_j + z_j))."""

    gamma: float = domains.positive(1.0)

    def lower(self, t: Tile) -> Expression:
        return t.exp(-self.gamma * t.chi2())

    def rule(self) -> Rule:
        return "exp(-t psi) of the negative definite chi-squared distance (Schoenberg)"


@dataclass(frozen=True)
class AdditiveChi2(Kernel):
    """Negative chi-squared distance: -sum_j (x_j - z_j)^2 / (x_j + z_j).

    It is only conditionally positive definite: valid on coefficients that sum to zero, which is
    what an unpenalised intercept enforces. Estimators with one take it, also in sums with valid
    kernels, multiples, on columns and after maps; their ``kernel_`` is then the same seen from one
    of the training rows, ``k.seen_from(x0)``, which gives the same function and is valid on all.
    `KernelRidge` warns where ``fit_intercept=False`` leaves it without.
    """

    def lower(self, t: Tile) -> Expression:
        return -t.chi2()

    @cached_property
    def is_conditional(self) -> bool:
        return True
