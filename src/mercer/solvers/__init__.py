"""Answers, given an operator and numbers: no solver knows a kernel."""

from mercer.solvers.choose import as_logistic_solver, as_margin_solver, as_solver
from mercer.solvers.contract import (
    ILL_CONDITIONED,
    Approximation,
    Certificate,
    OffsetAlone,
    Solution,
    Solver,
)
from mercer.solvers.definite import refuse_indefinite
from mercer.solvers.line.banded import Banded, ChainSolution
from mercer.solvers.line.path import ChainPath
from mercer.solvers.logistic.likelihood import LogisticProblem
from mercer.solvers.logistic.solver import LogisticSolver, Newton, NewtonCG, NewtonCholesky
from mercer.solvers.lowrank.logistic import NystromNewton
from mercer.solvers.lowrank.margin import NystromDescent
from mercer.solvers.lowrank.ridge import NystromRidge
from mercer.solvers.margin.block_ascent import BlockAscent
from mercer.solvers.margin.coordinates import CoordinateDescent
from mercer.solvers.margin.problem import MarginProblem, MarginSolver
from mercer.solvers.margin.smo import SMO
from mercer.solvers.online.logistic import StochasticLogistic
from mercer.solvers.online.ridge import StochasticRidge
from mercer.solvers.online.solver import Perceptron, PerceptronProblem
from mercer.solvers.online.stream import LogisticStream, RidgeStream
from mercer.solvers.refusals import NegativeForm
from mercer.solvers.ridge.bordered import Bordered, RidgeProblem, RidgeSolver
from mercer.solvers.ridge.cholesky import Cholesky
from mercer.solvers.ridge.conjugate import ConjugateGradient
from mercer.solvers.ridge.eigen import Eigen
from mercer.solvers.ridge.feature_path import FeaturePath
from mercer.solvers.ridge.path import Fits, RidgePath
from mercer.solvers.ridge.primal import Primal
from mercer.solvers.run import Run, check_time_limit
from mercer.solvers.spectral.components import component_solver
from mercer.solvers.spectral.problem import ComponentProblem, Components

__all__ = [
    "ILL_CONDITIONED",
    "SMO",
    "Approximation",
    "Banded",
    "BlockAscent",
    "Bordered",
    "Certificate",
    "ChainPath",
    "ChainSolution",
    "Cholesky",
    "ComponentProblem",
    "Components",
    "ConjugateGradient",
    "CoordinateDescent",
    "Eigen",
    "FeaturePath",
    "Fits",
    "LogisticProblem",
    "LogisticSolver",
    "LogisticStream",
    "MarginProblem",
    "MarginSolver",
    "NegativeForm",
    "Newton",
    "NewtonCG",
    "NewtonCholesky",
    "NystromDescent",
    "NystromNewton",
    "NystromRidge",
    "OffsetAlone",
    "Perceptron",
    "PerceptronProblem",
    "Primal",
    "RidgePath",
    "RidgeProblem",
    "RidgeSolver",
    "RidgeStream",
    "Run",
    "Solution",
    "Solver",
    "StochasticLogistic",
    "StochasticRidge",
    "as_logistic_solver",
    "as_margin_solver",
    "as_solver",
    "check_time_limit",
    "component_solver",
    "refuse_indefinite",
]
