from mercer import (
    data as data,
    errors as errors,
    estimators as estimators,
    explanation as explanation,
    features as features,
    files as files,
    functions as functions,
    gram as gram,
    kernels as kernels,
    learning as learning,
    penalty as penalty,
    selection as selection,
    solvers as solvers,
    testing as testing,
)
from mercer.estimators import (
    KernelLogisticRegression as KernelLogisticRegression,
    KernelPCA as KernelPCA,
    KernelPerceptron as KernelPerceptron,
    KernelRidge as KernelRidge,
    KernelSVC as KernelSVC,
    KernelSVR as KernelSVR,
    MercerMap as MercerMap,
    Monomials as Monomials,
    Nystroem as Nystroem,
    RandomFourier as RandomFourier,
)
from mercer.explanation import explain as explain
from mercer.files import load as load, save as save
from mercer.gram import gram_of as gram_of
from mercer.kernels import (
    AdditiveChi2 as AdditiveChi2,
    Bilinear as Bilinear,
    Calendar as Calendar,
    Chi2 as Chi2,
    Constant as Constant,
    Cosine as Cosine,
    EditDistance as EditDistance,
    Exponential as Exponential,
    FillMissing as FillMissing,
    FromFeatures as FromFeatures,
    FromFunction as FromFunction,
    GappedKmer as GappedKmer,
    Gaussian as Gaussian,
    InverseMultiquadric as InverseMultiquadric,
    Kernel as Kernel,
    Laplacian as Laplacian,
    Linear as Linear,
    Match as Match,
    Matern32 as Matern32,
    Matern52 as Matern52,
    Mismatch as Mismatch,
    NormalScores as NormalScores,
    Periodic as Periodic,
    Polynomial as Polynomial,
    Precomputed as Precomputed,
    Project as Project,
    RationalQuadratic as RationalQuadratic,
    Sigmoid as Sigmoid,
    Sobolev as Sobolev,
    Spectrum as Spectrum,
    Standardize as Standardize,
    Subsequence as Subsequence,
    Words as Words,
    default_kernel as default_kernel,
    describe_columns as describe_columns,
    kernel as kernel,
)
from mercer.learning import learn as learn
from mercer.reports import (
    DecisionDisplay as DecisionDisplay,
    GammaSweepDisplay as GammaSweepDisplay,
    LearningDisplay as LearningDisplay,
    SelectionDisplay as SelectionDisplay,
)
from mercer.reports.page import report as report
from mercer.selection import (
    KernelClassifier as KernelClassifier,
    KernelLogisticRegressionCV as KernelLogisticRegressionCV,
    KernelRegressor as KernelRegressor,
    KernelRidgeClassifier as KernelRidgeClassifier,
    KernelRidgeClassifierCV as KernelRidgeClassifierCV,
    KernelRidgeCV as KernelRidgeCV,
)

__version__: str
