"""A kernel met with data, as an operator."""

from mercer.gram.choose import gram_of, is_precomputed, unheld_gram_of
from mercer.gram.cross import CrossGram, cross_gram
from mercer.gram.dense import DenseGram
from mercer.gram.gram import Gram, ShiftedGram
from mercer.gram.lowrank import LowRankGram
from mercer.gram.operator import Operator
from mercer.gram.precomputed import PrecomputedGram
from mercer.gram.shared import SharedGram, shared_grams
from mercer.gram.streamed import StreamedGram

__all__ = [
    "CrossGram",
    "DenseGram",
    "Gram",
    "LowRankGram",
    "Operator",
    "PrecomputedGram",
    "SharedGram",
    "ShiftedGram",
    "StreamedGram",
    "cross_gram",
    "gram_of",
    "is_precomputed",
    "shared_grams",
    "unheld_gram_of",
]
