from mercer import (
    data as data,
    errors as errors,
    estimators as estimators,
    gram as gram,
    kernels as kernels,
    penalty as penalty,
    selection as selection,
    solvers as solvers,
    testing as testing,
)
from mercer.estimators import (
    KernelRidge as KernelRidge,
    KernelSVC as KernelSVC,
    KernelSVR as KernelSVR,
)
from mercer.gram import gram_of as gram_of
from mercer.kernels import (
    AdditiveChi2 as AdditiveChi2,
    Bilinear as Bilinear,
    Chi2 as Chi2,
    Constant as Constant,
    Cosine as Cosine,
    Exponential as Exponential,
    FromFeatures as FromFeatures,
    FromFunction as FromFunction,
    Gaussian as Gaussian,
    InverseMultiquadric as InverseMultiquadric,
    Kernel as Kernel,
    Laplacian as Laplacian,
    Linear as Linear,
    Matern32 as Matern32,
    Matern52 as Matern52,
    Periodic as Periodic,
    Polynomial as Polynomial,
    Precomputed as Precomputed,
    RationalQuadratic as RationalQuadratic,
    Sigmoid as Sigmoid,
    Sobolev as Sobolev,
    kernel as kernel,
)
from mercer.selection import KernelRidgeCV as KernelRidgeCV, SelectionDisplay as SelectionDisplay

__version__: str
