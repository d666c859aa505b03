"""A kernel met with data, as an operator."""

from mercer.gram.choose import gram_of, is_precomputed, unheld_gram_of
from mercer.gram.cross import CrossGram, cross_gram
from mercer.gram.dense import DenseGram
from mercer.gram.features import FeatureGram, feature_product, features_of
from mercer.gram.gram import Gram, ShiftedGram
from mercer.gram.lowrank import LowRankGram
from mercer.gram.operator import Operator
from mercer.gram.precomputed import PrecomputedGram
from mercer.gram.repaired import Repair, RepairedGram, repair_of
from mercer.gram.streamed import StreamedGram

__all__ = [
    "CrossGram",
    "DenseGram",
    "FeatureGram",
    "Gram",
    "LowRankGram",
    "Operator",
    "PrecomputedGram",
    "Repair",
    "RepairedGram",
    "ShiftedGram",
    "StreamedGram",
    "cross_gram",
    "feature_product",
    "features_of",
    "gram_of",
    "is_precomputed",
    "repair_of",
    "unheld_gram_of",
]
