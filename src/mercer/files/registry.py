"""The closed list of classes that a model file may name."""

from __future__ import annotations

from dataclasses import is_dataclass
from inspect import isabstract, signature
from typing import Any

from sklearn import model_selection
from sklearn.base import BaseEstimator

from mercer import estimators, functions, selection, solvers
from mercer.data.ranges import Levels, Ranges
from mercer.estimators.online.landmark_stream import Block, LandmarkStream
from mercer.estimators.svm.probabilities import CrossFits
from mercer.features import ExplicitMap, FourierMap, LandmarkMap
from mercer.files.form import Form
from mercer.kernels.families.custom import FromFeatures, FromFunction
from mercer.kernels.kernel import (
    After,
    Columns,
    Exp,
    Normalized,
    PolynomialOf,
    Power,
    Product,
    Scaled,
    Sum,
)
from mercer.kernels.language.vocabulary import KERNELS, MAPS
from mercer.kernels.monomials import Expansion
from mercer.kernels.recentred import Recentred
from mercer.planning import Settings
from mercer.selection.automatic.board import Candidate, Leaderboard
from mercer.selection.classifiers.calibration import Calibration
from mercer.solvers.contract import Limited, Outcome
from mercer.solvers.lowrank.normal import NormalSums
from mercer.solvers.online.budget import Basis
from mercer.solvers.online.perceptron import Tally
from mercer.solvers.spectral.problem import ComponentSolver

# The kernels that the operators of kernels return.
OPERATORS = (After, Columns, Exp, Normalized, PolynomialOf, Power, Product, Recentred, Scaled, Sum)
# What fits leave beside functions, solvers and solutions.
PARTS = (
    Basis,
    Calibration,
    Candidate,
    CrossFits,
    Expansion,
    ExplicitMap,
    Form,
    FourierMap,
    LandmarkMap,
    LandmarkStream,
    Leaderboard,
    NormalSums,
    Levels,
    Ranges,
    Block,
    Settings,
    Tally,
    solvers.Approximation,
    solvers.Certificate,
    solvers.ComponentProblem,
    solvers.LogisticProblem,
    solvers.LogisticStream,
    solvers.MarginProblem,
    solvers.PerceptronProblem,
    solvers.RidgeProblem,
    solvers.RidgeStream,
)


def _subclasses(kind: type[Any]) -> list[type[Any]]:
    """Return the classes of mercer that are made from one, the concrete dataclasses among them."""
    below = [sub for own in kind.__subclasses__() for sub in (own, *_subclasses(own))]
    ours = [sub for sub in below if sub.__module__.startswith("mercer.")]
    return [sub for sub in ours if is_dataclass(sub) and not isabstract(sub)]


def _classes() -> dict[str, type[Any]]:
    found: list[type[Any]] = [*KERNELS.values(), *OPERATORS, *MAPS.values(), *PARTS]
    for kind in (functions.Function, Limited, ComponentSolver, Outcome):
        found += _subclasses(kind)
    # What holds a Python function no file can hold.
    return {kind.__name__: kind for kind in found if kind not in (FromFeatures, FromFunction)}


# Every value of a model that is no plain one, by the name of its class.
CLASSES = _classes()

# The estimators and transformers.
ESTIMATORS: dict[str, Any] = {
    name: kind
    for room in (estimators, selection)
    for name in room.__all__
    if isinstance(kind := getattr(room, name), type)
    and issubclass(kind, BaseEstimator)
    and hasattr(kind, "fit")
}

# The ways of scikit-learn to split rows that a search may have been told to go by.
SPLITTERS: dict[str, Any] = {
    name: getattr(model_selection, name)
    for name in (
        "GroupKFold",
        "GroupShuffleSplit",
        "KFold",
        "LeaveOneGroupOut",
        "LeaveOneOut",
        "PredefinedSplit",
        "ShuffleSplit",
        "StratifiedGroupKFold",
        "StratifiedKFold",
        "StratifiedShuffleSplit",
        "TimeSeriesSplit",
    )
}

# Parameters that belong to a machine and not to a model: a file that could name a path to write
# to would be a way to overwrite others.
UNSAVED = ("checkpoint",)

# Where scikit-learn keeps what `set_output` was told.
OUTPUT = "_sklearn_output_config"


def name_of(kind: type[Any]) -> str | None:
    """Return the name under which a file holds objects of a class, or None if it holds none."""
    name = kind.__name__
    return name if CLASSES.get(name) is kind else None


def settings_of(splitter: type[Any]) -> set[str]:
    """Return the names of the settings of a way to split rows."""
    return set(signature(splitter).parameters)
