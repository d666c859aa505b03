"""The kernel of the words of a text."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, ClassVar

import scipy.sparse as sp

from mercer.data.sequences import text_rows
from mercer.kernels import domains
from mercer.kernels.formula import Rule
from mercer.kernels.kernel import Kernel
from mercer.tiles import Expression, Tile

WORD_COLUMNS = 1 << 20


@dataclass(frozen=True)
class WordCounts:
    """The map of a text to the counts of its words, each in the column of its hash."""

    is_discrete: ClassVar[bool] = True

    def __call__(self, X: Any) -> sp.csr_array:
        rows = text_rows(X)
        return (
            sp.csr_array(_vectorizer().transform(rows)) if rows else sp.csr_array((0, WORD_COLUMNS))
        )

    def words(self, X: Any) -> list[str]:
        """Return the words that occur in the rows `X`, each once."""
        analyzer = _vectorizer().build_analyzer()
        return list(dict.fromkeys(word for row in text_rows(X) for word in analyzer(row)))

    def as_latex(self, x: str) -> str:
        """Return the counts as a formula."""
        return rf"\operatorname{{words}}({x})"


@dataclass(frozen=True)
class Words(Kernel):
    r"""Common words of two texts: the inner product of their counts, or its cosine.

    Words are lower-cased runs of letters, digits and underscores (``\w+``), hashed into 2^20
    columns without signs, as scikit-learn's ``HashingVectorizer`` does. A text without words has
    the value 0 with every other.

    Parameters
    ----------
    normalize : bool
        Whether to divide by the lengths of both vectors of counts: the cosine.
    """

    domain: ClassVar[str] = "sequences"

    normalize: bool = domains.truth(True)

    def lower(self, t: Tile) -> Expression:
        product = t.after(WordCounts()).dot()
        return t.normalize(product) if self.normalize else product

    def rule(self) -> Rule:
        return "inner product of explicit features: counts of words"


@functools.cache
def _vectorizer() -> Any:
    # Imported here because it is slow to import and only this kernel needs it.
    from sklearn.feature_extraction.text import HashingVectorizer

    return HashingVectorizer(
        token_pattern=r"(?u)\w+", n_features=WORD_COLUMNS, alternate_sign=False, norm=None
    )
