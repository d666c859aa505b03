"""Answers, given an operator and numbers: no solver knows a kernel."""

from mercer.solvers.bordered import Bordered, RidgeProblem
from mercer.solvers.certificate import Certificate
from mercer.solvers.cholesky import Cholesky, NegativeForm
from mercer.solvers.choose import as_solver
from mercer.solvers.path import Fits, RidgePath
from mercer.solvers.solution import Solution

__all__ = [
    "Bordered",
    "Certificate",
    "Cholesky",
    "Fits",
    "NegativeForm",
    "RidgePath",
    "RidgeProblem",
    "Solution",
    "as_solver",
]
