"""The interior point of margin problems: the optimum of few features, ill-conditioned or not."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from mercer.gram import LowRankGram
from mercer.solvers import SMO, MarginProblem
from mercer.solvers.margin import interior
from mercer.solvers.margin.active_set import polished
from mercer.solvers.margin.interior import (
    _after_a_step,
    _Factor,
    _Point,
    _Sides,
    _Step,
    interior_point,
)


def never(a):
    return False


def gap_of(F, problem, a):
    return problem.gap(a, F @ (F.T @ a)).relative


@pytest.fixture
def F(rng):
    return rng.normal(size=(200, 6))


@pytest.fixture
def signs(F, rng):
    return np.where(F[:, 0] + 0.8 * rng.normal(size=200) > 0.4, 1.0, -1.0)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e4])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_the_optimum_is_that_of_working_sets(F, signs, rng, fit_intercept, C, form):
    problem = MarginProblem.classification(signs, C * rng.uniform(0.5, 2.0, 200), fit_intercept)
    a = interior_point(form(F), problem, 1e-6, never)
    assert gap_of(F, problem, a) <= 1e-6
    exact = SMO(tol=1e-8).solve(LowRankGram(F), problem)
    w = (F.T @ exact.coefficients)[:, 0]
    assert np.linalg.norm(F.T @ a - w) <= 0.01 * np.linalg.norm(w)


@pytest.mark.parametrize("epsilon", [0.0, 0.3])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_a_tube_has_two_sides(F, rng, epsilon, fit_intercept):
    y = F @ rng.normal(size=6) + 2.0 + rng.normal(size=200)
    costs = rng.uniform(0.1, 2.0, 200)
    problem = MarginProblem.regression(y, costs, epsilon, fit_intercept)
    a = interior_point(F, problem, 1e-6, never)
    assert gap_of(F, problem, a) <= 1e-6


def test_rows_away_from_the_margin_are_exactly_at_their_bounds(F, signs):
    problem = MarginProblem.classification(signs, np.ones(200), True)
    a = interior_point(F, problem, 1e-6, never)
    exact = SMO(tol=1e-10).solve(LowRankGram(F), problem).coefficients[:, 0]
    assert_array_equal(np.flatnonzero(a), np.flatnonzero(exact))
    assert_array_equal(problem.free(a), problem.free(exact))


def test_features_far_from_zero_and_of_any_size_are_solved(rng, signs):
    F = (100.0 + rng.normal(size=(200, 6))) * 10.0 ** np.arange(-3, 3)
    problem = MarginProblem.classification(signs, np.ones(200), True)
    assert gap_of(F, problem, interior_point(F, problem, 1e-5, never)) <= 1e-5


def test_equal_columns_and_rows_are_no_obstacle(F, signs):
    F = np.hstack([F, F])[np.repeat(np.arange(100), 2)]
    problem = MarginProblem.classification(signs[np.repeat(np.arange(100), 2)], np.ones(200), True)
    assert gap_of(F, problem, interior_point(F, problem, 1e-6, never)) <= 1e-6


def test_one_class_alone_has_no_coefficients(F):
    problem = MarginProblem.classification(np.ones(200), np.ones(200), True)
    assert_array_equal(interior_point(F, problem, 1e-6, never), 0.0)


def test_blocks_of_rows_make_no_difference(F, signs, monkeypatch):
    problem = MarginProblem.classification(signs, np.ones(200), True)
    whole = interior_point(F, problem, 1e-6, never)
    monkeypatch.setattr(interior, "PANEL", 50)
    assert_allclose(interior_point(F, problem, 1e-6, never), whole, atol=1e-8)


def test_who_watches_can_end_it(F, signs):
    problem = MarginProblem.classification(signs, np.ones(200), True)
    asked = []
    a = interior_point(F, problem, 1e-9, lambda a: asked.append(a) or len(asked) == 3)
    assert len(asked) == 3
    assert_array_equal(a, asked[-1])
    assert_allclose(a.sum(), 0.0, atol=1e-12)


@pytest.mark.parametrize("scale", [1e3, 1e6])
def test_large_features_leave_the_sum_at_zero(F, signs, scale):
    F = scale * (F - F.mean(axis=0))
    problem = MarginProblem.classification(signs, np.ones(200), True)
    a = interior_point(F, problem, 1e-6, never)
    assert abs(a.sum()) <= 1e-12 * np.abs(a).sum()
    assert gap_of(F, problem, a) <= 1e-3


M = 20


@pytest.fixture
def tube(rng):
    """Rows with bounds on one side, on both and on none."""
    upper, lower = rng.uniform(0.5, 2.0, size=(2, M))
    upper[::5], lower[1::5], lower[::10] = 0.0, 0.0, 0.0
    return MarginProblem(rng.normal(size=M), -lower, upper, 0.2, True)


def spelt_out(sides):
    """S F with the mean taken off, a row for every x."""
    F = sides.F.toarray() if sp.issparse(sides.F) else sides.F
    return sides.s[:, None] * (F - sides.mean)[sides.rows]


def point_of(sides, rng):
    m = len(sides.c)
    x = sides.c * rng.uniform(0.1, 0.9, size=m)
    return _Point(x, sides.c - x, 0.3, *rng.uniform(0.1, 2.0, size=(2, m)))


def test_every_side_of_a_row_that_has_room_is_a_variable(rng, tube):
    F = rng.normal(size=(M, 3)) + 5.0
    sides = _Sides.of(F, tube)
    assert sides.rows.tolist() == [
        *np.flatnonzero(tube.upper > 0.0),
        *np.flatnonzero(tube.lower < 0.0),
    ]
    for row, s, c, q in zip(sides.rows, sides.s, sides.c, sides.q, strict=True):
        assert c == (tube.upper[row] if s == 1.0 else -tube.lower[row])
        assert_allclose(q, 0.2 - s * tube.z[row])
    assert_allclose(sides.mean, F.mean(axis=0))
    without = MarginProblem(tube.z, tube.lower, tube.upper, 0.2, False)
    assert not _Sides.of(F, without).mean.any()
    assert sides.scale == np.abs(sides.q).max()


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("entries", [1 << 19, 7])
def test_products_with_the_sides_are_those_of_their_matrix(rng, tube, monkeypatch, form, entries):
    monkeypatch.setattr(interior, "PANEL", entries)
    sides = _Sides.of(form(rng.normal(size=(M, 3)) + 1.0), tube)
    A, x, w = spelt_out(sides), rng.uniform(size=len(sides.c)), rng.normal(size=3)
    assert_allclose(sides.weights(x), A.T @ x)
    assert_allclose(sides.values(w), A @ w)
    assert_allclose(sides.squares(x), A.T @ (x[:, None] * A))
    a = sides.coefficients(x)
    for row in range(M):
        assert_allclose(a[row], (sides.s * x)[sides.rows == row].sum(), atol=1e-15)


@pytest.mark.parametrize(("summed", "shares"), [(0, 2), (9 * 5, 5), (1 << 22, 16)])
def test_rows_are_summed_in_a_number_of_shares_that_depends_on_the_features(
    rng, tube, monkeypatch, summed, shares
):
    monkeypatch.setattr(_Sides, "summed", summed)
    counts = []

    def counted(run, parts):
        counts.append(parts)
        return [run(part) for part in parts]

    monkeypatch.setattr(interior, "in_threads", counted)
    sides = _Sides.of(rng.normal(size=(M, 3)), tube)
    A, d = spelt_out(sides), rng.uniform(size=len(sides.c))
    assert_allclose(sides.squares(d), A.T @ (d[:, None] * A))
    height = -(-M // shares)
    assert counts[0][0] == slice(0, height)
    assert len(counts[0]) == -(-M // height)


def test_the_slope_is_that_of_the_lagrangian(rng, tube):
    sides = _Sides.of(rng.normal(size=(M, 3)), tube)
    p, A = point_of(sides, rng), spelt_out(sides)
    assert_allclose(sides.slope(p), A @ (A.T @ p.x) + sides.q + sides.s * p.y - p.v + p.t)


def test_a_factor_solves_with_the_diagonal_and_the_features(rng, tube):
    sides = _Sides.of(rng.normal(size=(M, 3)), tube)
    A, D = spelt_out(sides), rng.uniform(0.5, 2.0, size=len(sides.c))
    factor = _Factor.of(sides, D)
    h = rng.normal(size=len(D))
    assert_allclose(factor.solve(h), np.linalg.solve(np.diag(D) + A @ A.T, h), atol=1e-12)
    assert_allclose(factor.border, np.linalg.solve(np.diag(D) + A @ A.T, sides.s), atol=1e-12)
    # A rough inverse leaves what one refinement takes away.
    factor = _Factor.of(sides, 1e-12 * D)
    exact = np.linalg.solve(np.diag(1e-12 * D) + A @ A.T, A @ np.ones(3))
    assert_allclose(A.T @ factor.solve(A @ np.ones(3)), A.T @ exact, rtol=1e-4)


def test_without_finite_squares_there_is_no_factor(rng, tube):
    sides = _Sides.of(rng.normal(size=(M, 3)), tube)
    with np.errstate(divide="ignore", invalid="ignore"):
        assert _Factor.of(sides, np.zeros(len(sides.c))) is None


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_a_step_solves_the_linearised_conditions(rng, tube, fit_intercept):
    problem = MarginProblem(tube.z, tube.lower, tube.upper, 0.2, fit_intercept)
    sides = _Sides.of(rng.normal(size=(M, 3)), problem)
    A, p = spelt_out(sides), point_of(sides, rng)
    m = len(sides.c)
    slope, below, above = rng.normal(size=(3, m))
    step = _Factor.of(sides, p.v / p.x + p.t / p.room).step(p, slope, below, above)
    # The slope vanishes after the step, and the products grow as asked for.
    change = A @ (A.T @ step.dx) + sides.s * step.dy - step.dv + step.dt
    assert_allclose(change, -slope, atol=1e-10)
    assert_allclose(p.x * step.dv + p.v * step.dx, below, atol=1e-10)
    assert_allclose(p.room * step.dt - p.t * step.dx, above, atol=1e-10)
    if fit_intercept:
        assert_allclose(sides.s @ (p.x + step.dx), 0.0, atol=1e-10)
    else:
        assert step.dy == 0.0


def test_a_point_moves_by_a_share_of_a_step_up_to_the_first_bound(rng):
    p = _Point(*(np.array(v) for v in ([1.0, 2.0], [3.0, 1.0])), 0.5, np.ones(2), np.full(2, 2.0))
    assert_allclose(p.mu, (1.0 + 2.0 + 6.0 + 2.0) / 4.0)
    step = _Step(np.array([0.5, 0.25]), 2.0, np.array([-1.0, 1.0]), np.array([1.0, -1.0]))
    stepped = p.stepped(step, 0.5)
    assert_allclose(stepped.x, [1.25, 2.125])
    assert_allclose(stepped.room, [2.75, 0.875])
    assert stepped.y == 1.5
    assert_allclose(stepped.v, [0.5, 1.5])
    assert_allclose(stepped.t, [2.5, 1.5])
    assert p.longest(step) == 1.0

    def reach(**changes):
        return p.longest(step._replace(**{k: np.array(v) for k, v in changes.items()}))

    assert_allclose(reach(dx=[-4.0, 0.0]), 0.25)
    assert_allclose(reach(dx=[0.0, 5.0]), 0.2)
    assert_allclose(reach(dv=[-3.0, 0.0]), 1.0 / 3.0)
    assert_allclose(reach(dt=[0.0, -8.0]), 0.25)


def test_an_interior_step_is_that_of_mehrotra(rng, tube):
    sides = _Sides.of(rng.normal(size=(M, 3)), tube)
    p = point_of(sides, rng)
    factor = _Factor.of(sides, p.v / p.x + p.t / p.room)
    slope = sides.slope(p)
    plain = factor.step(p, slope, -p.x * p.v, -p.room * p.t)
    length = p.longest(plain)
    there = p.stepped(plain, length)
    reached = (there.x @ there.v + there.room @ there.t) / (2 * len(p.x))
    centre = reached**3 / p.mu**2
    below = -p.x * p.v + centre - plain.dx * plain.dv
    above = -p.room * p.t + centre + plain.dx * plain.dt
    step = factor.step(p, slope, below, above)
    expected = p.stepped(step, 0.995 * p.longest(step))
    found = _after_a_step(factor, p)
    for one, other in zip(found, expected, strict=True):
        assert_allclose(one, other, rtol=1e-9, atol=1e-12)
    assert min(found.x.min(), found.room.min(), found.v.min(), found.t.min()) > 0.0


def test_a_variable_settles_at_the_bound_that_it_is_nearer_to_than_its_slope_to_zero():
    F = np.ones((3, 1))
    problem = MarginProblem.classification(np.ones(3), np.full(3, 2.0), False)
    sides = _Sides.of(F, problem)
    assert sides.scale == 1.0
    x = np.array([0.5, 1.5, 1.0])
    # In units of c / scale = 2: slopes of 0.3 reach up to 0.6.
    v, t = np.array([0.3, 0.1, 0.6]), np.array([0.1, 0.3, 0.6])
    assert sides.at_bounds(_Point(x, 2.0 - x, 0.0, v, t)).tolist() == [0.0, 2.0, 1.0]
    v, t = np.array([0.25, 0.1, 0.4]), np.array([0.1, 0.25, 0.4])
    assert sides.at_bounds(_Point(x, 2.0 - x, 0.0, v, t)).tolist() == [0.5, 1.5, 1.0]


def test_targets_of_zero_have_slopes_of_size_one(rng):
    problem = MarginProblem.regression(np.zeros(M), np.ones(M), 0.0, True)
    assert _Sides.of(rng.normal(size=(M, 3)), problem).scale == 1.0


def test_the_nearest_coefficients_are_the_better_of_bounded_and_polished(rng, tube):
    F = rng.normal(size=(M, 3))
    sides = _Sides.of(F, tube)
    p = point_of(sides, rng)
    a, gap = sides.nearest(p)
    nearest = tube.feasible(sides.coefficients(sides.at_bounds(p)))
    gaps = [tube.gap(nearest, F @ (F.T @ nearest)).relative]
    if tube.free(nearest).sum() <= 4:
        better = polished(LowRankGram(F), tube, nearest)
        gaps += [] if better is None else [tube.gap(better[0], better[1]).relative]
    assert_allclose(gap, min(gaps))
    assert_allclose(tube.gap(a, F @ (F.T @ a)).relative, gap)


@pytest.mark.parametrize("goal", [1e-2, 1e-6])
def test_the_first_point_within_the_goal_is_the_last(F, signs, goal):
    problem, gaps = MarginProblem.classification(signs, np.ones(200), True), []

    def watch(a):
        gaps.append(gap_of(F, problem, a))
        return False

    assert gap_of(F, problem, interior_point(F, problem, goal, watch)) <= goal
    assert min(gaps) > goal
