"""Kernels: similarities of two rows, as values with a formula."""

from mercer.kernels.families.alignment import EditDistance, Subsequence
from mercer.kernels.families.categories import Match
from mercer.kernels.families.custom import FromFeatures, FromFunction, Precomputed
from mercer.kernels.families.dot import Bilinear, Cosine, Linear, Polynomial, Sigmoid
from mercer.kernels.families.histogram import AdditiveChi2, Chi2, Sobolev
from mercer.kernels.families.sequence import GappedKmer, Mismatch, Spectrum
from mercer.kernels.families.stationary import (
    Exponential,
    Gaussian,
    InverseMultiquadric,
    Laplacian,
    Matern32,
    Matern52,
    Periodic,
    RationalQuadratic,
)
from mercer.kernels.families.words import Words
from mercer.kernels.kernel import (
    After,
    Columns,
    Constant,
    Exp,
    Kernel,
    Normalized,
    PolynomialOf,
    Power,
    Product,
    Scaled,
    ScaledBy,
    Sum,
)
from mercer.kernels.language.names import PeerParameters, as_kernel, from_sklearn
from mercer.kernels.maps import FillMissing, Project, Standardize
from mercer.kernels.recentred import Recentred, recentred
from mercer.kernels.scores import NormalScores
from mercer.kernels.tables.calendar import Calendar
from mercer.kernels.validity.proof import Asymmetry, Proof, Status, Validity, Witness

# Last, because the function takes the place of the module of the same name.
from mercer.kernels.tables.default import ColumnReport, default_kernel, describe_columns  # isort: skip
from mercer.kernels.language.expression import kernel  # isort: skip

__all__ = [
    "AdditiveChi2",
    "After",
    "Asymmetry",
    "Bilinear",
    "Calendar",
    "Chi2",
    "ColumnReport",
    "Columns",
    "Constant",
    "Cosine",
    "EditDistance",
    "Exp",
    "Exponential",
    "FillMissing",
    "FromFeatures",
    "FromFunction",
    "GappedKmer",
    "Gaussian",
    "InverseMultiquadric",
    "Kernel",
    "Laplacian",
    "Linear",
    "Match",
    "Matern32",
    "Matern52",
    "Mismatch",
    "NormalScores",
    "Normalized",
    "PeerParameters",
    "Periodic",
    "Polynomial",
    "PolynomialOf",
    "Power",
    "Precomputed",
    "Product",
    "Project",
    "Proof",
    "RationalQuadratic",
    "Recentred",
    "Scaled",
    "ScaledBy",
    "Sigmoid",
    "Sobolev",
    "Spectrum",
    "Standardize",
    "Status",
    "Subsequence",
    "Sum",
    "Validity",
    "Witness",
    "Words",
    "as_kernel",
    "default_kernel",
    "describe_columns",
    "from_sklearn",
    "kernel",
    "recentred",
]
