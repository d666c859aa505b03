"""Kernels: similarities of two rows, as values with a formula."""

from mercer.kernels.categories import Match
from mercer.kernels.custom import FromFeatures, FromFunction, Precomputed
from mercer.kernels.dot import Bilinear, Cosine, Linear, Polynomial, Sigmoid
from mercer.kernels.histogram import AdditiveChi2, Chi2, Sobolev
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
from mercer.kernels.maps import Standardize
from mercer.kernels.names import as_kernel, from_sklearn
from mercer.kernels.proof import Asymmetry, Proof, Status, Validity, Witness
from mercer.kernels.stationary import (
    Exponential,
    Gaussian,
    InverseMultiquadric,
    Laplacian,
    Matern32,
    Matern52,
    Periodic,
    RationalQuadratic,
)

# Last, because the function takes the place of the module of the same name.
from mercer.kernels.default import default_kernel  # isort: skip
from mercer.kernels.expression import kernel  # isort: skip

__all__ = [
    "AdditiveChi2",
    "After",
    "Asymmetry",
    "Bilinear",
    "Chi2",
    "Columns",
    "Constant",
    "Cosine",
    "Exp",
    "Exponential",
    "FromFeatures",
    "FromFunction",
    "Gaussian",
    "InverseMultiquadric",
    "Kernel",
    "Laplacian",
    "Linear",
    "Match",
    "Matern32",
    "Matern52",
    "Normalized",
    "Periodic",
    "Polynomial",
    "PolynomialOf",
    "Power",
    "Precomputed",
    "Product",
    "Proof",
    "RationalQuadratic",
    "Scaled",
    "ScaledBy",
    "Sigmoid",
    "Sobolev",
    "Standardize",
    "Status",
    "Sum",
    "Validity",
    "Witness",
    "as_kernel",
    "default_kernel",
    "from_sklearn",
    "kernel",
]
