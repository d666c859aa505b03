"""A kernel met with data, as an operator."""

from mercer.gram.by_landmarks import landmark_gram
from mercer.gram.choose import gram_of, kept_gram_of, unheld_gram_of
from mercer.gram.dense import CopiedGram, DenseGram, with_copy
from mercer.gram.features import (
    FeatureGram,
    features_at,
    features_of,
    open_features_of,
    sparse_entries,
    sparse_sizes,
    sparse_weights,
)
from mercer.gram.gram import Gram
from mercer.gram.held import (
    HeldEntriesGram,
    HeldLandmarkGram,
    StoredLandmarkGram,
    fits_features,
)
from mercer.gram.landmarks import LandmarkGram
from mercer.gram.line.chain import ChainGram, chain_of
from mercer.gram.lowrank import LowRankGram
from mercer.gram.pivots import Pivots
from mercer.gram.precomputed import FormulaOfPrecomputed, PrecomputedGram
from mercer.gram.repaired import Repair, RepairedGram, repair_of
from mercer.gram.streamed import StreamedGram
from mercer.gram.wrapped import PartOfGram, RecentredGram, ScaledGram, ShiftedGram, SingleGram

__all__ = [
    "ChainGram",
    "CopiedGram",
    "DenseGram",
    "FeatureGram",
    "FormulaOfPrecomputed",
    "Gram",
    "HeldEntriesGram",
    "HeldLandmarkGram",
    "LandmarkGram",
    "LowRankGram",
    "PartOfGram",
    "Pivots",
    "PrecomputedGram",
    "RecentredGram",
    "Repair",
    "RepairedGram",
    "ScaledGram",
    "ShiftedGram",
    "SingleGram",
    "StoredLandmarkGram",
    "StreamedGram",
    "chain_of",
    "features_at",
    "features_of",
    "fits_features",
    "gram_of",
    "kept_gram_of",
    "landmark_gram",
    "open_features_of",
    "repair_of",
    "sparse_entries",
    "sparse_sizes",
    "sparse_weights",
    "unheld_gram_of",
    "with_copy",
]
