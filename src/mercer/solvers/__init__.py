"""Answers, given an operator and numbers: no solver knows a kernel."""

from mercer.solvers.banded import Banded, ChainSolution
from mercer.solvers.bordered import Bordered, RidgeProblem
from mercer.solvers.certificate import Certificate
from mercer.solvers.chain_path import ChainPath
from mercer.solvers.cholesky import Cholesky
from mercer.solvers.choose import as_logistic_solver, as_margin_solver, as_solver
from mercer.solvers.components import Components, component_solver
from mercer.solvers.conjugate import ConjugateGradient
from mercer.solvers.coordinates import CoordinateDescent
from mercer.solvers.definite import refuse_indefinite
from mercer.solvers.eigen import Eigen
from mercer.solvers.feature_path import FeaturePath
from mercer.solvers.likelihood import LogisticProblem
from mercer.solvers.logistic import Newton, NewtonCG, NewtonCholesky
from mercer.solvers.margin import MarginProblem
from mercer.solvers.path import Fits, RidgePath
from mercer.solvers.pegasos import Pegasos
from mercer.solvers.pivots import Pivots
from mercer.solvers.primal import Primal
from mercer.solvers.refusals import NegativeForm
from mercer.solvers.smo import SMO
from mercer.solvers.solution import ILL_CONDITIONED, Solution

__all__ = [
    "ILL_CONDITIONED",
    "SMO",
    "Banded",
    "Bordered",
    "Certificate",
    "ChainPath",
    "ChainSolution",
    "Cholesky",
    "Components",
    "ConjugateGradient",
    "CoordinateDescent",
    "Eigen",
    "FeaturePath",
    "Fits",
    "LogisticProblem",
    "MarginProblem",
    "NegativeForm",
    "Newton",
    "NewtonCG",
    "NewtonCholesky",
    "Pegasos",
    "Pivots",
    "Primal",
    "RidgePath",
    "RidgeProblem",
    "Solution",
    "as_logistic_solver",
    "as_margin_solver",
    "as_solver",
    "component_solver",
    "refuse_indefinite",
]
