"""Sets of sequences to be recognised, with the kernels and the k-grams to choose from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from datasets import fasta, splice_classes, splice_junctions
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import StratifiedGroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from mercer import GappedKmer, Mismatch, Spectrum
from mercer.kernels import Kernel

Array = NDArray[Any]
Folds = list[tuple[Array, Array]]

# Cosine of the 5-grams of two proteins from which on they are taken for relatives.
RELATED = 0.1
OTHER_STRAND = str.maketrans("ACGT", "TGCA")
PROTEIN_LETTERS = 26

# What stands where around a junction, in runs of letters and with gaps, and beside it how often
# every three letters follow each other before and after it, wherever.
ON_SIDES = 0.3
PLACED = (Spectrum((1, 2, 3)), Spectrum((1, 2, 3, 4, 5, 6)), GappedKmer(5, 3), GappedKmer(6, 3))
JUNCTIONS = tuple(
    k.normalized().on("placed") + ON_SIDES * Spectrum(3).normalized().on("sides") for k in PLACED
)
# The Gaussian of each, too: exp(2 k) with k(x, x) = 1 is that of SVC() on its features.
SHARP = tuple((2.0 * k.normalized()).exp() for k in JUNCTIONS)
# Windows and gaps: Blakely et al. publish the settings that they found for every set.
BINDING = (Spectrum(6), GappedKmer(8, 2), GappedKmer(10, 4), GappedKmer(13, 7))
PROTEINS = (
    Spectrum(6),
    Mismatch(5, 1, PROTEIN_LETTERS),
    GappedKmer(5, 1),
    GappedKmer(6, 2),
    GappedKmer(8, 4),
    GappedKmer(9, 2),
    GappedKmer(10, 6),
    GappedKmer(12, 8),
    GappedKmer(14, 9),
    GappedKmer(15, 9),
    GappedKmer(15, 10),
)


@dataclass(frozen=True)
class Task:
    """Sequences to learn from and to recognise; ``groups`` are not torn apart by folds.

    ``counts`` are the k-grams for scikit-learn. With ``compares_rows`` sequences are described by
    their similarities to all training sequences, too, as for the published machine: what is similar
    to the same ones is taken for similar.
    """

    rows: Any
    y: Array
    new: Any
    truth: Array
    groups: Array
    scoring: str
    kernels: tuple[Kernel, ...]
    counts: dict[str, Any]
    compares_rows: bool = False

    @property
    def folds(self) -> Folds:
        """Three parts of the training rows to be left out in turn."""
        splits = StratifiedGroupKFold(3, shuffle=True, random_state=0)
        return list(splits.split(self.rows, self.y, self.groups))


def splice(part: int) -> Task:
    """Return the junctions, one third of which is new: letters with their place or their side."""
    texts, y = splice_junctions(), splice_classes()
    _, groups = np.unique(texts, return_inverse=True)
    thirds = StratifiedGroupKFold(3, shuffle=True, random_state=0).split(texts, y, groups)
    train, test = list(thirds)[part]
    placed = [[f"{c}{i}" for i, c in enumerate(text)] for text in texts]
    sides = [[c + "-+"[2 * i >= len(text)] for i, c in enumerate(text)] for text in texts]
    table = pd.DataFrame({"placed": placed, "sides": sides})
    rows, new = table.iloc[train], table.iloc[test]
    counts = {}
    for longest in (1, 2, 3, 4):
        reading = ("placed", _runs(range(1, longest + 1)), "placed")
        both = [reading, ("sides", _runs([3]), "sides")]
        weights = {"sides": ON_SIDES**0.5}
        counts[f"k = 1..{longest}"] = ColumnTransformer([reading])
        counts[f"k = 1..{longest}, sides"] = ColumnTransformer(both, transformer_weights=weights)
    kernels = (*JUNCTIONS, *SHARP)
    return Task(rows, y[train], new, y[test], groups[train], "accuracy", kernels, counts)


def binding(name: str) -> Task:
    """Return binding sites and other places in the genome, both strands of each."""
    parts = [fasta(f"{name}.{part}") for part in ("train", "test")]
    (rows, y), (new, truth) = (
        ([_strands(s.upper()) for s in texts], np.array(labels) == "1") for texts, labels in parts
    )
    groups = np.unique(rows, return_inverse=True)[1]
    counts = _k_grams(4, 5, 6)
    return Task(rows, y, new, truth, groups, "roc_auc", BINDING, counts, compares_rows=True)


def proteins(name: str) -> Task:
    """Return members of a superfamily, of other families in training, and other proteins."""
    parts = [fasta(f"{name}.{part}") for part in ("train", "test")]
    (rows, y), (new, truth) = (
        ([s.upper() for s in texts], np.array(labels) == "1") for texts, labels in parts
    )
    _, groups = connected_components(Spectrum(5, normalize=True)(rows) > RELATED)
    counts = _k_grams(3, 4, 5, 6)
    return Task(rows, y, new, truth, groups, "roc_auc", PROTEINS, counts, compares_rows=True)


def tasks() -> Iterator[tuple[str, Callable[[], Task]]]:
    """Yield the data sets by name."""
    for part in range(3):
        yield f"splice {part + 1}/3", partial(splice, part)
    for name in ("tf_CTCF", "tf_EP300", "tf_KAT2B"):
        yield name, partial(binding, name)
    for name in ("scop_1.1", "scop_2.31", "scop_2.34", "scop_3.25"):
        yield name, partial(proteins, name)


def _strands(sequence: str) -> str:
    return f"{sequence}|{sequence[::-1].translate(OTHER_STRAND)}"


def _k_grams(*lengths: int) -> dict[str, Any]:
    """Return the transformers of strings to counts of letters in a row."""
    return {
        f"k = {k}": CountVectorizer(lowercase=False, analyzer="char", ngram_range=(k, k))
        for k in lengths
    }


def _runs(lengths: Iterable[int]) -> Any:
    """Return the transformer of lists of tokens to counts of runs, in rows of length one."""

    def runs(row: list[str]) -> list[str]:
        return [" ".join(row[i : i + k]) for k in lengths for i in range(len(row) - k + 1)]

    return make_pipeline(CountVectorizer(lowercase=False, analyzer=runs), Normalizer())
