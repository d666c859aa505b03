"""Answers, given an operator and numbers: no solver knows a kernel."""

from mercer.solvers.bordered import Bordered, RidgeProblem
from mercer.solvers.certificate import Certificate
from mercer.solvers.cholesky import Cholesky, NegativeForm
from mercer.solvers.choose import as_solver
from mercer.solvers.eigen import Eigen
from mercer.solvers.primal import Primal
from mercer.solvers.solution import Solution

__all__ = [
    "Bordered",
    "Certificate",
    "Cholesky",
    "Eigen",
    "NegativeForm",
    "Primal",
    "RidgeProblem",
    "Solution",
    "as_solver",
]
