"""Answers, given an operator and numbers: no solver knows a kernel."""

from mercer.solvers.banded import Banded, ChainSolution
from mercer.solvers.bordered import Bordered, RidgeProblem
from mercer.solvers.certificate import Certificate
from mercer.solvers.cholesky import Cholesky
from mercer.solvers.choose import as_margin_solver, as_solver
from mercer.solvers.conjugate import ConjugateGradient
from mercer.solvers.curvature import refuse_indefinite
from mercer.solvers.eigen import Eigen
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
    "ChainSolution",
    "Cholesky",
    "ConjugateGradient",
    "Eigen",
    "Fits",
    "MarginProblem",
    "NegativeForm",
    "Pegasos",
    "Pivots",
    "Primal",
    "RidgePath",
    "RidgeProblem",
    "Solution",
    "as_margin_solver",
    "as_solver",
    "refuse_indefinite",
]
