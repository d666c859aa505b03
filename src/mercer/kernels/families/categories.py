"""Kernels of categories."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mercer.data.categories import OWN_CATEGORY, REFUSE, AsCategories
from mercer.kernels import domains
from mercer.kernels.formula import Rule
from mercer.kernels.kernel import Kernel
from mercer.tiles import Expression, Tile


@dataclass(frozen=True)
class Match(Kernel):
    """Equality of categories: 1[x = z], the mean of it over several columns.

    Values are equal as they are in Python: strings, whole numbers, truth values, dates, whatever
    the table holds them in. A category that was not seen in training equals none of those seen.

    Parameters
    ----------
    missing : {"refuse", "own-category"}
        Whether a missing value (None, NaN, null) is an error that names it, or a category of its
        own, so that two missing values are equal.
    """

    domain: ClassVar[str] = "categories"

    missing: str = domains.choice(REFUSE, OWN_CATEGORY)

    def lower(self, t: Tile) -> Expression:
        return t.after(AsCategories(self.missing)).match()

    def rule(self) -> Rule:
        return "inner product of indicators, one for each category, over the number of columns"
