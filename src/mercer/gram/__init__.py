"""A kernel met with data, as an operator."""

from mercer.gram.centred import CentredGram, RootedGram, centre, centred
from mercer.gram.choose import gram_of, kept_gram_of, unheld_gram_of
from mercer.gram.cross import CrossGram, cross_gram
from mercer.gram.dense import DenseGram, HeldGram
from mercer.gram.features import (
    FeatureGram,
    entries_of,
    feature_product,
    feature_weights,
    features_at,
    features_in,
    features_of,
    open_features_of,
    paying_weights,
    sparse_entries,
)
from mercer.gram.gram import Gram, ShiftedGram
from mercer.gram.line.chain import ChainGram, Interpolant, chain_of
from mercer.gram.lowrank import LowRankGram
from mercer.gram.operator import Operator
from mercer.gram.parts import (
    CLOSE,
    CopiedGram,
    PartOfGram,
    RoundedGram,
    dense_rows,
    in_single,
    part_of,
    partial_product,
    with_copy,
    with_dense_rows,
)
from mercer.gram.precomputed import PrecomputedGram
from mercer.gram.repaired import Repair, RepairedGram, repair_of
from mercer.gram.scaled import ScaledGram
from mercer.gram.shared import SharedGram, shared_grams
from mercer.gram.streamed import StreamedGram, is_precomputed
from mercer.gram.subset import ChosenGram

__all__ = [
    "CLOSE",
    "CentredGram",
    "ChainGram",
    "ChosenGram",
    "CopiedGram",
    "CrossGram",
    "DenseGram",
    "FeatureGram",
    "Gram",
    "HeldGram",
    "Interpolant",
    "LowRankGram",
    "Operator",
    "PartOfGram",
    "PrecomputedGram",
    "Repair",
    "RepairedGram",
    "RootedGram",
    "RoundedGram",
    "ScaledGram",
    "SharedGram",
    "ShiftedGram",
    "StreamedGram",
    "centre",
    "centred",
    "chain_of",
    "cross_gram",
    "dense_rows",
    "entries_of",
    "feature_product",
    "feature_weights",
    "features_at",
    "features_in",
    "features_of",
    "gram_of",
    "in_single",
    "is_precomputed",
    "kept_gram_of",
    "open_features_of",
    "part_of",
    "partial_product",
    "paying_weights",
    "repair_of",
    "shared_grams",
    "sparse_entries",
    "unheld_gram_of",
    "with_copy",
    "with_dense_rows",
]
