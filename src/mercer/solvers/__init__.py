"""Answers, given an operator and numbers: no solver knows a kernel."""

from mercer.solvers.banded import Banded, ChainSolution
from mercer.solvers.bordered import Bordered, RidgeProblem
from mercer.solvers.certificate import Certificate
from mercer.solvers.cholesky import Cholesky, NegativeForm
from mercer.solvers.choose import as_solver
from mercer.solvers.solution import Solution

__all__ = [
    "Banded",
    "Bordered",
    "Certificate",
    "ChainSolution",
    "Cholesky",
    "NegativeForm",
    "RidgeProblem",
    "Solution",
    "as_solver",
]
