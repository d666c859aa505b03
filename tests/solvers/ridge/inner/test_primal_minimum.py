"""The two ways to the minimum in features, and what rounding hides of each."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.errors import MemoryLimitError
from mercer.gram import LowRankGram
from mercer.kernels import Cosine, Linear, Polynomial
from mercer.solvers import Primal, RidgeProblem
from mercer.solvers.ridge.design import Design
from mercer.solvers.ridge.primal import (
    NormalEquations,
    SingularValues,
    Stacked,
    _Factors,
    check_norms,
    hidden,
)
from ridges import EPS

KERNELS = [Linear(), Linear(1.0), Polynomial(2), Polynomial(3, 0.5), Cosine()]


def minimum(Phi, y, alpha):
    N = Phi.T @ Phi + alpha * np.eye(Phi.shape[1])
    return N, np.linalg.solve(N, Phi.T @ y)


def hidden_by_rounding(design, alpha, theta, spread, r):
    """UNITS eps (||sizes theta|| + sqrt(alpha) ||theta|| + spread ||r||), target by target."""
    terms = np.linalg.norm(design.sizes[:, None] * theta, axis=0)
    terms = terms + np.sqrt(alpha) * np.linalg.norm(theta, axis=0)
    return 2.0 * EPS * (terms + spread * np.linalg.norm(r, axis=0))


@pytest.fixture
def design(rng):
    F = rng.normal(size=(40, 4)) + np.array([0.0, 3.0, -1.0, 0.2])
    return Design(F, rng.uniform(0.5, 2.0, size=40), True)


@pytest.fixture
def targets(design, rng):
    return design.centred(rng.normal(size=(40, 2)))


def test_what_rounding_hides_is_relative_to_the_terms_of_the_normal_equations(design, rng):
    theta, sums = rng.normal(size=(4, 2)), rng.uniform(size=2)
    expected = hidden_by_rounding(design, 0.7, theta, 0.0, sums[None]) + 2.0 * EPS * sums
    assert_allclose(hidden(design, 0.7, theta, sums), expected, rtol=1e-12)


@pytest.mark.parametrize("alpha", [0.0, 1e-6, 0.7, 1e4])
def test_normal_equations_have_the_minimum_and_what_rounding_hides_of_it(design, targets, alpha):
    Phi = design.dense()
    N, theta = minimum(Phi, targets, alpha)
    normal = NormalEquations.factored(design, design.normal(), alpha)
    D = np.sqrt(N.diagonal())
    assert_allclose(normal.D[:, 0], D)
    scaled = N / np.outer(D, D)
    assert_allclose(normal.solve(np.eye(4)), np.linalg.inv(N), rtol=1e-9)
    # The one-norm of the inverse, as LAPACK estimates it from below.
    largest = np.abs(np.linalg.inv(scaled)).sum(axis=0).max()
    assert 0.8 * largest <= normal.inverse_norm <= 1.001 * largest
    fit = normal.fit(targets)
    assert_allclose(fit.theta, theta, rtol=1e-9, atol=1e-12)
    r = targets - Phi @ theta
    spread = np.sqrt(normal.inverse_norm) * (design.sizes / D).max()
    least = hidden_by_rounding(design, alpha, theta, spread, r)
    assert (fit.gap >= least * (1.0 - 1e-6)).all()
    assert (fit.gap <= least + 40 * EPS * np.linalg.norm(targets, axis=0)).all()
    dual = r / alpha if alpha > 0.0 else Phi @ np.linalg.solve(N, theta)
    assert_allclose(fit.dual, dual, rtol=1e-7, atol=1e-9 * np.abs(dual).max())
    assert fit.steps <= 3


def test_ill_conditioned_normal_equations_are_left_alone(design):
    G = design.normal()
    assert NormalEquations.factored(design, G, 0.0) is not None
    for share, is_factored in ((1e-7, True), (1e-11, False)):
        # Two features that differ by this share: the condition number is about four over it.
        twins = np.array([[1.0, 1.0 - share], [1.0 - share, 1.0]])
        assert (NormalEquations.factored(design, twins, 0.0) is not None) is is_factored
    assert NormalEquations.factored(design, np.array([[1.0, 2.0], [2.0, 1.0]]), 0.0) is None


def test_a_feature_that_says_nothing_has_the_coefficient_zero(rng):
    F = rng.normal(size=(40, 3))
    F[:, 1] = 2.5
    design = Design(F, np.ones(40), True)
    y = design.centred(rng.normal(size=(40, 1)))
    fit = NormalEquations.factored(design, design.normal(), 0.0).fit(y)
    assert fit.theta[1] == 0.0


@pytest.mark.parametrize("alpha", [0.0, 1e-6, 0.7])
def test_singular_values_have_the_minimum_and_what_rounding_hides_of_it(design, targets, alpha):
    Phi = design.dense()
    N, theta = minimum(Phi, targets, alpha)
    found = SingularValues.of(design, np.ones(4), 1 << 30)
    fit = found.fit(alpha, targets)
    assert_allclose(fit.theta, theta, rtol=1e-9, atol=1e-12)
    r = targets - Phi @ theta
    # The expected square of N^(-1/2) e for errors e of independent entries of these sizes.
    spread = np.sqrt((np.linalg.inv(N).diagonal() * design.sizes**2).sum())
    least = hidden_by_rounding(design, alpha, theta, spread, r)
    assert (fit.gap >= least * (1.0 - 1e-6)).all()
    assert (fit.gap <= least + 100 * EPS * np.linalg.norm(targets, axis=0)).all()
    dual = r / alpha if alpha > 0.0 else Phi @ np.linalg.solve(N, theta)
    assert_allclose(fit.dual, dual, rtol=1e-7, atol=1e-8 * np.abs(dual).max())
    assert fit.steps == 0


@pytest.mark.parametrize("alpha", [0.0, 0.7])
def test_the_gap_of_a_wrong_answer_is_the_root_of_what_the_objective_misses(
    design, targets, alpha, rng
):
    Phi = design.dense()
    N, best = minimum(Phi, targets, alpha)
    theta = best + 0.1 * rng.normal(size=best.shape)
    r, adjoint = design.residual(targets, theta)
    gap = SingularValues.of(design, np.ones(4), 1 << 30)._gap(alpha, theta, r, adjoint)
    missed = theta - best
    assert_allclose(gap, np.sqrt((missed * (N @ missed)).sum(axis=0)), rtol=1e-9)


@pytest.mark.parametrize("alpha", [1e-6, 0.7])
def test_fewer_rows_than_features_count_across_their_range_too(rng, alpha):
    design = Design(rng.normal(size=(5, 9)), np.ones(5), False)
    y, Phi = rng.normal(size=(5, 1)), design.dense()
    N, best = minimum(Phi, y, alpha)
    theta = best + 0.1 * rng.normal(size=best.shape)
    r, adjoint = design.residual(y, theta)
    found = SingularValues.of(design, np.ones(9), 1 << 30)
    missed = theta - best
    assert_allclose(
        found._gap(alpha, theta, r, adjoint),
        np.sqrt((missed * (N @ missed)).sum(axis=0)),
        rtol=1e-6,
    )
    spread = np.sqrt((np.linalg.inv(N).diagonal() * design.sizes**2).sum())
    least = hidden_by_rounding(design, alpha, best, spread, y - Phi @ best)
    gap = found.fit(alpha, y).gap
    assert (gap >= least * (1.0 - 1e-6)).all()
    assert (gap <= least * 20.0 + 1e-13).all()


@pytest.mark.parametrize("alpha", [1e-6, 0.7])
@pytest.mark.parametrize("shape", [(5, 9), (9, 5)], ids=str)
def test_where_the_gradient_is_zero_the_gap_is_what_rounding_hides(rng, shape, alpha):
    design = Design(
        rng.normal(size=shape) * rng.uniform(0.1, 3.0, shape[1]), np.ones(shape[0]), False
    )
    theta, r = rng.normal(size=(shape[1], 2)), rng.normal(size=(shape[0], 2))
    N, _ = minimum(design.dense(), r, alpha)
    found = SingularValues.of(design, np.ones(shape[1]), 1 << 30)
    spread = np.sqrt((np.linalg.inv(N).diagonal() * design.sizes**2).sum())
    expected = hidden_by_rounding(design, alpha, theta, spread, r)
    assert_allclose(found._gap(alpha, theta, r, alpha * theta), expected, rtol=1e-6)


def test_singular_values_that_rounding_explains_are_left_out(rng):
    F = rng.normal(size=(30, 3))
    twice = np.column_stack([F, F @ [1.0, 2.0, 3.0]])
    found = SingularValues.of(Design(twice, np.ones(30), False), np.ones(4), 1 << 30)
    assert found.s.shape == (3, 1)
    assert found.U.shape == (30, 3)
    assert found.V.shape == (4, 3)
    small = np.column_stack([F, 1e-10 * rng.normal(size=30)])
    assert len(SingularValues.of(Design(small, np.ones(30), False), np.ones(4), 1 << 30).s) == 4


@pytest.mark.parametrize("alpha", [1e-8, 0.7])
def test_a_stack_keeps_the_digits_of_features_of_any_size(rng, alpha):
    sizes = np.array([1e8, 1.0, 1e-4])
    design = Design(rng.normal(size=(30, 3)) * sizes, np.ones(30), False)
    y, Phi = rng.normal(size=(30, 2)), design.dense()
    N = (Phi.T @ Phi + alpha * np.eye(3)) / np.outer(sizes, sizes)
    theta = np.linalg.solve(N, (Phi.T @ y) / sizes[:, None]) / sizes[:, None]
    fit = Stacked.of(design, alpha).fit(y)
    assert_allclose(fit.theta, theta, rtol=1e-7)
    r = y - Phi @ theta
    spread = np.sqrt((np.linalg.inv(N).diagonal() * (design.sizes / sizes) ** 2).sum())
    least = hidden_by_rounding(design, alpha, theta, spread, r)
    assert (fit.gap >= least * (1.0 - 1e-6)).all()
    assert (fit.gap <= least * 10.0).all()
    assert_allclose(fit.dual, r / alpha, rtol=1e-5, atol=1e-7 * np.abs(r / alpha).max())
    assert fit.steps == 0


def test_the_memory_of_a_decomposition_is_three_times_that_of_the_features(design):
    assert SingularValues.of(design, np.ones(4), 3 * 8 * 40 * 4) is not None
    with pytest.raises(MemoryLimitError):
        SingularValues.of(design, np.ones(4), 3 * 8 * 40 * 4 - 1)


def test_a_square_of_features_that_is_no_number_is_refused(rng):
    check_norms(Design(1e150 * rng.normal(size=(5, 2)), np.ones(5), False))
    with np.errstate(over="ignore"), pytest.raises(ValueError, match="squares of the features"):
        check_norms(Design(1e200 * rng.normal(size=(5, 2)), np.ones(5), False))


def test_the_radius_is_the_gap_over_the_root_of_the_ridge(rng):
    F, y = rng.normal(size=(30, 3)), rng.normal(size=(30, 2))
    problem = RidgeProblem(y, np.array([0.25, 4.0]), rng.uniform(0.5, 2.0, size=30), True)
    solution = Primal().solve(LowRankGram(F), problem)
    rest = y - np.average(y, axis=0, weights=problem.weights)
    size = np.linalg.norm(np.sqrt(problem.weights)[:, None] * rest, axis=0)
    assert_allclose(solution.radius, solution.residual * size / np.array([0.5, 2.0]), rtol=1e-12)


def test_the_step_from_zero_is_the_solution_and_those_after_it_are_refinement(rng, monkeypatch):
    design = Design(rng.normal(size=(40, 3)), np.ones(40), True)
    y = design.centred(rng.normal(size=(40, 2)))
    residual, passes = design.residual, []

    def counted(*given):
        passes.append(given)
        return residual(*given)

    design.residual = counted
    found = NormalEquations.factored(design, design.normal(), 0.3).fit(y)
    # One pass before every step, and one at the end.
    assert found.steps == len(passes) - 2 >= 0


@pytest.mark.parametrize("room", [3 * 8 * 44 * 4, 3 * 8 * 44 * 4 - 1])
def test_rows_and_ridge_are_stacked_within_a_third_of_the_memory(
    design, targets, monkeypatch, room
):
    made, plain = [], Stacked.of
    monkeypatch.setattr(NormalEquations, "factored", lambda *given: None)
    monkeypatch.setattr(Stacked, "of", lambda *given: made.append(given) or plain(*given))
    # No answer has a gap of zero, so that the next way is always tried.
    factors = _Factors(design, room, 0.0)
    factors.__dict__["singular"] = SingularValues.of(design, np.ones(4), 1 << 30)
    factors.fit(0.5, targets)
    assert len(made) == (room % 3 == 0)
