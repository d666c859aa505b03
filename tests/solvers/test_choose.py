"""From names and settings to solvers."""

import numpy as np
import pytest

from mercer.solvers import (
    SMO,
    Cholesky,
    ConjugateGradient,
    CoordinateDescent,
    Eigen,
    NewtonCG,
    NewtonCholesky,
    as_solver,
)
from mercer.solvers.choose import as_logistic_solver, as_margin_solver
from mercer.solvers.margin.block_ascent import BlockAscent


def test_it_is_known_by_name_with_its_settings():
    assert as_solver("cg") == ConjugateGradient()
    chosen = as_solver("cg", tol=1e-3, max_iter=5, random_state=7)
    assert chosen == ConjugateGradient(1e-3, 5, None, 7)
    kept = as_solver(ConjugateGradient(rank=3, random_state=1), max_iter=9)
    assert kept == ConjugateGradient(rank=3, random_state=1, max_iter=9)


def test_settings_for_iterations_do_not_matter_to_others():
    assert as_solver("cholesky", max_iter=5, random_state=0) == Cholesky()


@pytest.mark.parametrize("limit", [0, -1, 2.5, True, "many"])
def test_limits_that_mean_nothing_are_refused(limit):
    with pytest.raises(ValueError, match="max_iter must be a whole number of at least 1"):
        as_solver("cg", max_iter=limit)


def test_solvers_of_margins_and_likelihoods_are_known_by_their_names():
    assert as_margin_solver("smo", 1e-2, 5) == SMO(1e-2, 5)
    assert as_margin_solver("primal", random_state=3) == CoordinateDescent(random_state=3)
    assert as_margin_solver("sgd") == BlockAscent()
    assert as_logistic_solver("cg", max_iter=3) == NewtonCG(max_iter=3)
    assert as_logistic_solver("newton") == NewtonCholesky()
    with pytest.raises(
        ValueError, match="one of 'auto', 'smo', 'primal', 'sgd', 'nystrom' or a solver"
    ):
        as_margin_solver("cg")


def test_a_solver_has_a_name():
    assert Eigen().name == "eigen"
    assert CoordinateDescent().name == "primal"
    assert SMO().name == "smo"


@pytest.mark.parametrize("value", [1, 1e-3, np.float32(0.5), np.int64(2)])
def test_any_positive_number_is_a_tolerance(value):
    assert as_solver("cg", tol=value).tol == float(value)
    assert type(as_solver("cg", tol=value).tol) is float


@pytest.mark.parametrize("value", [True, np.nan, 0, -1e-9])
def test_what_is_not_positive_is_no_tolerance(value):
    with pytest.raises(ValueError, match="tol must be a positive finite number or None, got"):
        as_solver("cg", tol=value)


def test_one_step_is_a_limit():
    assert as_solver("cg", max_iter=1).max_iter == 1
    assert type(as_solver("cg", max_iter=np.int32(4)).max_iter) is int
