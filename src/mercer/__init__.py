"""mercer: kernel machines. Pick a similarity, get a model.

This front door holds names only. Each is loaded from its room when it is first asked for, so that
``import mercer`` costs next to nothing. Type checkers read the same names in ``__init__.pyi``.
"""

from importlib import import_module

__version__ = "0.1.0"

# Public name -> the module that defines it.
_HOMES = {
    "AdditiveChi2": "mercer.kernels",
    "Bilinear": "mercer.kernels",
    "Calendar": "mercer.kernels",
    "Chi2": "mercer.kernels",
    "Constant": "mercer.kernels",
    "Cosine": "mercer.kernels",
    "DecisionDisplay": "mercer.reports",
    "SpectrumDisplay": "mercer.reports",
    "KernelDisplay": "mercer.reports",
    "ImportanceDisplay": "mercer.reports",
    "GramDisplay": "mercer.reports",
    "FitDisplay": "mercer.reports",
    "EffectDisplay": "mercer.reports",
    "Exponential": "mercer.kernels",
    "FillMissing": "mercer.kernels",
    "FromFeatures": "mercer.kernels",
    "FromFunction": "mercer.kernels",
    "GammaSweepDisplay": "mercer.reports",
    "EditDistance": "mercer.kernels",
    "GappedKmer": "mercer.kernels",
    "Gaussian": "mercer.kernels",
    "InverseMultiquadric": "mercer.kernels",
    "Kernel": "mercer.kernels",
    "KernelClassifier": "mercer.selection",
    "KernelPCA": "mercer.estimators",
    "KernelPerceptron": "mercer.estimators",
    "KernelLogisticRegression": "mercer.estimators",
    "KernelLogisticRegressionCV": "mercer.selection",
    "KernelRegressor": "mercer.selection",
    "KernelRidge": "mercer.estimators",
    "KernelRidgeCV": "mercer.selection",
    "KernelRidgeClassifier": "mercer.selection",
    "KernelRidgeClassifierCV": "mercer.selection",
    "KernelRidgeMean": "mercer.estimators",
    "KernelRidgeMeanClassifier": "mercer.selection",
    "KernelSVC": "mercer.estimators",
    "KernelSVR": "mercer.estimators",
    "Laplacian": "mercer.kernels",
    "LearningDisplay": "mercer.reports",
    "Linear": "mercer.kernels",
    "Match": "mercer.kernels",
    "Matern32": "mercer.kernels",
    "Matern52": "mercer.kernels",
    "MercerMap": "mercer.estimators",
    "Monomials": "mercer.estimators",
    "Mismatch": "mercer.kernels",
    "Nystroem": "mercer.estimators",
    "NormalScores": "mercer.kernels",
    "Periodic": "mercer.kernels",
    "Polynomial": "mercer.kernels",
    "Precomputed": "mercer.kernels",
    "Project": "mercer.kernels",
    "RandomFourier": "mercer.estimators",
    "RationalQuadratic": "mercer.kernels",
    "SelectionDisplay": "mercer.reports",
    "Sigmoid": "mercer.kernels",
    "Sobolev": "mercer.kernels",
    "Standardize": "mercer.kernels",
    "default_kernel": "mercer.kernels",
    "describe_columns": "mercer.kernels",
    "Spectrum": "mercer.kernels",
    "Subsequence": "mercer.kernels",
    "Words": "mercer.kernels",
    "explain": "mercer.explanation",
    "export_onnx": "mercer.files",
    "gram_of": "mercer.gram",
    "kernel": "mercer.kernels",
    "learn": "mercer.learning",
    "load": "mercer.files",
    "read_table": "mercer.files",
    "report": "mercer.reports.page",
    "save": "mercer.files",
}

_ROOMS = (
    "data",
    "errors",
    "estimators",
    "explanation",
    "features",
    "files",
    "functions",
    "gram",
    "kernels",
    "learning",
    "penalty",
    "selection",
    "solvers",
    "testing",
)

__all__ = sorted([*_HOMES, *_ROOMS])


def __getattr__(name: str) -> object:
    """Load a public name from its room, once."""
    if name in _ROOMS:
        return import_module(f"mercer.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'mercer' has no attribute {name!r}")
    value: object = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
