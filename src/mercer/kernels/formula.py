"""A function of two rows, written once as a formula on tiles, and evaluated on data."""

from __future__ import annotations

import functools
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mercer.data.checks import Matrix
from mercer.data.layout import narrowed, used_columns
from mercer.kernels.features import FormulaMap, feature_map_of
from mercer.kernels.heuristics import RULES, resolve
from mercer.kernels.maps import InputMap
from mercer.kernels.monomials import MOST_FEATURES
from mercer.kernels.params import Parametric
from mercer.tiles import Expression, Program, Rows, Tile, compiled, diagonal, evaluate
from mercer.tiles.rows import comparable_leaf
from mercer.tiles.tile import Leaf, View

Array = NDArray[Any]
Rule = str | None
# Numbers that a kernel may hold to be remembered: those of a wide table are many.
MOST_NUMBERS = 256


@dataclass(frozen=True)
class Formula(Parametric, ABC):
    """A function of two rows; every way of evaluating it follows from ``lower``."""

    metric: ClassVar[str] = "euclidean"
    # What it reads of a row: "numbers", "sequences", "categories", or "anything" whatever it is.
    domain: ClassVar[str] = "numbers"

    @abstractmethod
    def lower(self, t: Tile) -> Expression:
        """Return the formula of k(x, z) on the symbolic tile `t`."""

    def rule(self) -> Rule:
        """Return the theorem by which this is positive semi-definite, or None."""
        return None

    @functools.cached_property
    def program(self) -> Program:
        """The compiled formula."""
        return compiled(self.lower(Tile()))

    def __call__(self, X: Any, Z: Any = None) -> Array:
        """Return the Gram matrix k(x_i, z_j) of shape (n, m); `Z` defaults to `X`."""
        program = self.resolved(X).program
        if Z is not None and Z is not X:
            return evaluate(program, X, Z)
        rows = Rows(X, "X")
        rows.check_together(program)
        return evaluate(program, rows)

    def diagonal(self, X: Any) -> Array:
        """Return k(x_i, x_i) for every row, without a matrix; float32 where `k(X)` is."""
        return diagonal(self.resolved(X).program, X)

    def distance(self, X: Any, Z: Any = None) -> Array:
        """Return the feature-space distances sqrt(k(x,x) - 2 k(x,z) + k(z,z)), clamped at 0."""
        k = self.resolved(X)
        same = Z is None or Z is X
        K = k(X, Z)
        left = Rows(X, "X").diagonal(k.program)
        right = left if same else Rows(Z, "Z").diagonal(k.program)
        squared = left[:, None] + right[None, :] - 2.0 * K
        if same:
            np.fill_diagonal(squared, 0.0)
        return np.sqrt(np.maximum(squared, 0.0)).astype(K.dtype, copy=False)

    def parameter_gradient(self, X: Any, G: Any) -> dict[str, Any]:
        """Return <G, dK/dtheta> for every real parameter theta, by its name in `get_params`.

        It is a number for a number, and an array for one of several, such as a length scale for
        every column. Where a kernel has no derivative it is the mean of those on both sides.

        Parameters
        ----------
        X : rows
            The x_i of K_ij = k(x_i, x_j).
        G : array of shape (n, n)
            The weights of the entries; their symmetric part counts.
        """
        # Imported here because it is about kernels.
        from mercer.kernels.tangents import parameter_gradient
        from mercer.tiles.derivative import Contraction

        return parameter_gradient(self.resolved(X), Contraction(X, G))

    @functools.cached_property
    def is_quick(self) -> bool:
        """Whether an entry is computed about as quickly as one that is stored is read."""
        leaves = [i for i in self.program.inputs if isinstance(i, Leaf)]
        is_compared = any(comparable_leaf(leaf) is not None for leaf in leaves)
        return self.program.is_arithmetic and not is_compared

    @functools.cached_property
    def feature_map(self) -> FormulaMap | None:
        """The finite map phi with phi(x)'phi(z) = k(x, z), or None if none is known."""
        return feature_map_of(self.lower(Tile()))

    def n_features(self, X: Any, most: int = MOST_FEATURES) -> int | None:
        """Return how many finite features rows such as `X` have, or None; nothing is computed.

        Of k-grams and the like, which have a column each for all that might occur, those that do
        occur in `X` are counted. More than `most` are None.
        """
        phi = self.without_rules().feature_map
        return None if phi is None else phi.count(X, most)

    def features(self, X: Any, of: Any = None) -> Matrix:
        """Return phi(X) of shape (n, p), such that phi(x)'phi(z) = k(x, z).

        Of k-grams and the like, which have a column each for all that might occur, the columns
        are those in use; `feature_names` tells which.

        Parameters
        ----------
        X : rows
            The rows.
        of : rows, optional
            Rows whose features are the columns, such as the training rows; `X` by default. Of
            these, ``features(Z, of=X) @ features(X).T`` is k(Z, X).
        """
        if self.n_features(X) is None:
            raise ValueError(
                f"{self!r} has no finite features that are known, or too many; use its Gram matrix"
            )
        own = of is None or of is X
        phi = self.resolved(X if own else of).feature_map
        assert phi is not None
        F = phi(X)
        if not phi.is_open(X):
            return F
        return narrowed(F, used_columns(F if own else phi(of)))

    def feature_names(self, X: Any) -> list[Any]:
        """Return the k-grams, or tuples of tokens, that the columns of ``features(X)`` count."""
        phi = self.without_rules().feature_map
        if phi is None or not phi.is_open(X):
            raise ValueError(f"the features of {self!r} have no names; those of k-grams have")
        # Imported here because what spells k-grams is made of kernels.
        from mercer.kernels.kmers import feature_names

        return feature_names(phi, Rows(X, "X"))

    @functools.cached_property
    def parts(self) -> tuple[Self, ...]:
        """The formulas this one is made of."""
        values = [getattr(self, f.name) for f in fields(self)]
        flat = [v for value in values for v in (value if isinstance(value, tuple) else (value,))]
        return tuple(v for v in flat if isinstance(v, Formula))  # type: ignore[misc]

    @functools.cached_property
    def is_precomputed(self) -> bool:
        """Whether the rows that it reads are those of a finished Gram matrix."""
        return any(part.is_precomputed for part in self.parts)

    @functools.cached_property
    def row_domains(self) -> frozenset[str]:
        """The domains that some part reads of the rows as they are, rather than of named columns.

        There are none of a function of whole rows, which takes whatever they hold.
        """
        if self.parts:
            return frozenset().union(*(part.row_domains for part in self.parts))
        return frozenset({self.domain} - {"anything"})

    @property
    def view(self) -> View:
        """What its parts see of the rows, step by step."""
        return ()

    def inputs(self, X: Any) -> Any:
        """Return what the parts of this formula see of the rows `X`."""
        return Rows(X, "X").behind(self.view).X if self.view else X

    @functools.cached_property
    def is_resolved(self) -> bool:
        """Whether every parameter is a number rather than a rule such as ``"median"``."""
        return not self._ruled and all(part.is_resolved for part in self.parts)

    def without_rules(self) -> Self:
        """Return the formula with 1 for every rule: of the same form, known without rows."""
        if self.is_resolved:
            return self
        params = self.get_params()
        rules = [k for k, v in params.items() if isinstance(v, str) and v in RULES]
        maps = {k: v.without_rules() for k, v in params.items() if isinstance(v, InputMap)}
        return self.with_params(**dict.fromkeys(rules, 1.0), **maps)

    def resolved(self, X: Any, weights: Array | None = None) -> Self:
        """Return the formula with ``"median"`` and other rules replaced by numbers from `X`.

        Parameters
        ----------
        X : rows or Rows
            Where the numbers come from.
        weights : array of shape (n,), optional
            The weights of the rows; a whole weight counts as that many equal rows.
        """
        if self.is_resolved:
            return self
        rows = Rows.of(X)
        changes: dict[str, Any] = {
            name: resolve(getattr(self, name), name, rows, self.metric, weights)
            for name in self._ruled
        }
        inner = rows.behind(self.view) if self.parts else rows
        for f in fields(self):
            value = getattr(self, f.name)
            if isinstance(value, Formula):
                changes[f.name] = value.resolved(inner, weights)
            elif isinstance(value, tuple) and any(isinstance(v, Formula) for v in value):
                changes[f.name] = tuple(v.resolved(inner, weights) for v in value)
        kind: Any = type(self)
        if kind.__post_init__ is not Formula.__post_init__:
            return replace(self, **changes)
        # What a rule gives is a number of its domain, and need not be checked again.
        made: Self = object.__new__(kind)
        vars(made).update({f.name: getattr(self, f.name) for f in fields(self)} | changes)
        return made

    def remembered(self) -> Self:
        """Return the formula that equals this one and was met before, with what is known of it.

        One of numbers and names alone is remembered for a while, so that it is compiled, proved
        and read for features once, however often it is fitted. What users put into a kernel,
        functions or rows, would live on with it: such a kernel is returned as it is.
        """
        found: Self = _known(self) if self._is_plain else self
        return found

    @functools.cached_property
    def _is_plain(self) -> bool:
        """Whether it holds numbers and names alone, and not too many."""
        return _count(self) <= MOST_NUMBERS

    @functools.cached_property
    def _ruled(self) -> list[str]:
        """The parameters that a rule stands for."""
        values = {f.name: getattr(self, f.name) for f in fields(self) if "domain" in f.metadata}
        return [name for name, v in values.items() if isinstance(v, str) and v in RULES]


@functools.lru_cache(maxsize=256)
def _known(formula: Any) -> Any:
    return formula


def _count(value: Any) -> float:
    """Return how many numbers and names a kernel holds, infinite if it holds anything else."""
    kind: Any = type(value)
    if kind in (bool, float, int, str, type(None)):
        return 1
    if kind is tuple:
        return sum(map(_count, value)) if len(value) <= MOST_NUMBERS else math.inf
    # The code of a class of a user may hold anything.
    if issubclass(kind, Parametric) and kind.__module__.startswith("mercer."):
        return sum(_count(getattr(value, f.name)) for f in fields(kind))
    return math.inf
