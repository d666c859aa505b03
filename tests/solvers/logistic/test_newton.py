"""Newton's method on a logistic problem: what its points prove, and its way to a large C."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer.data.limits.deadline import TimeIsUpError
from mercer.gram import PrecomputedGram
from mercer.solvers import LogisticProblem, Run
from mercer.solvers.logistic import newton as module
from mercer.solvers.logistic.curvature import FactoredCurvature
from mercer.solvers.logistic.newton import Descent, Point
from mercer.solvers.logistic.newton_cg import ProjectedCG
from mercer.solvers.rounding import EPS, UNITS, product_rounding

N = 16


@pytest.fixture
def K(rng):
    X = rng.normal(size=(N, 2))
    return np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(axis=2))


def problem_of(classes, C=3.0, with_offset=True):
    rng = np.random.default_rng(5)
    codes = np.arange(N) % classes
    return LogisticProblem(codes, classes, C, rng.uniform(0.5, 2.0, size=N), with_offset)


def descent_of(K, problem, tol=1e-8, steps=50):
    gram = PrecomputedGram(K)
    curvature = FactoredCurvature(gram, problem.columns)
    return Descent(tol, steps, "newton", gram, problem, curvature)


@pytest.mark.parametrize("classes", [2, 3])
def test_a_point_has_the_best_offset_and_the_gap_of_its_dual_point(K, rng, classes):
    problem = problem_of(classes)
    A = 0.3 * rng.normal(size=(N, problem.columns))
    point = Point.of(problem, A, K @ A, np.zeros(problem.columns), lambda V: K @ V)
    b = problem.best_offset(K @ A, np.zeros(problem.columns))
    D = A - problem.C * problem.residual(K @ A + b)
    primal = problem.loss(K @ A + b) + 0.5 * np.sum(A * (K @ A))
    gap = 0.5 * np.sum(D * (K @ D))
    assert_array_equal(point.b, b)
    assert_allclose(point.primal, primal)
    assert_allclose(point.gap, gap)
    assert_allclose(point.relative_gap, gap / max(abs(primal), abs(primal - gap)))
    assert_allclose(point.relative(5.0 * primal), 5.0 / 4.0)
    assert_allclose(point.relative(0.5 * primal), 0.5)


def test_a_gap_is_not_negative():
    A = np.ones((2, 1))
    point = Point(A, np.zeros(1), A, A, -A, 1.0)
    assert point.gap == 0.0


@pytest.mark.parametrize("classes", [2, 3])
def test_the_proved_gap_adds_all_that_rounding_hides(K, rng, classes):
    problem = problem_of(classes, C=2.0)
    A, G, D, KD = (rng.normal(size=(N, problem.columns)) for _ in range(4))
    b = rng.normal(size=problem.columns)
    diagonal = 1e13 * rng.uniform(0.5, 2.0, size=N) * np.where(np.arange(N) % 4, 1.0, -1.0)
    point = Point(A, b, G, D, KD, 1.0)
    moved, entropy = problem.restored(G + b)
    assert moved.any()
    total = 2.0 * entropy
    hidden, lost = product_rounding(diagonal, A), product_rounding(diagonal, D)
    for c in range(problem.columns):
        norm = np.sqrt(max(D[:, c] @ KD[:, c], 0.0) + np.linalg.norm(D[:, c] * lost[:, c]))
        norm += UNITS * EPS * np.linalg.norm(np.sqrt(np.abs(diagonal)) * A[:, c])
        norm += 2.0 * np.sqrt(np.abs(diagonal)) @ np.abs(moved[:, c])
        total += 0.5 * norm**2
        for i in range(N):
            # Curved by C w / 2 at most, and sloped by C w on either side.
            cost = 2.0 * problem.weights[i]
            total += cost * min(0.5 * hidden[i, c] ** 2, 2.0 * hidden[i, c])
    assert_allclose(point.proved(problem, diagonal), total, rtol=1e-10)


def test_a_large_C_is_reached_by_problems_in_between(K):
    problem = problem_of(2)
    descent = descent_of(4.0 * K, problem)
    # C times the mean of the diagonal up to 100 is near; then it grows by 30 each time.
    assert list(descent._on_the_way(25.0)) == []
    assert [p.C for p in descent._on_the_way(25.1)] == [25.0]
    assert [p.C for p in descent._on_the_way(1e6)] == [25.0, 750.0, 22500.0, 675000.0]
    descent._C = 10.0
    assert list(descent._on_the_way(300.0)) == []
    assert [p.C for p in descent._on_the_way(301.0)] == [300.0]
    assert list(descent_of(np.zeros((N, N)), problem)._on_the_way(1e9)) == []


def test_the_mean_of_the_diagonal_is_weighted(rng):
    problem = problem_of(2)
    diagonal = rng.uniform(0.5, 4.0, size=N)
    descent = descent_of(np.diag(diagonal), problem)
    near = 100.0 / np.average(diagonal, weights=problem.weights)
    assert_allclose([p.C for p in descent._on_the_way(10.0 * near)], [near])


def test_a_start_says_which_C_its_coefficients_belong_to(K):
    problem = problem_of(3, C=20.0)
    solution = descent_of(K, problem).to(20.0, Run())
    start = (solution.coefficients, solution.intercept)
    descent = descent_of(K, replace(problem, start=start))
    # |a_i| = C w_i |T - P| <= C w_i.
    largest = (np.abs(solution.coefficients).max(axis=1) / problem.weights).max()
    assert largest == descent._C
    assert 5.0 < largest < 20.0
    assert_allclose(descent._G, K @ solution.coefficients)
    assert descent.to(20.0, Run()).iterations == 0


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("with_offset", [True, False])
def test_the_solution_is_where_the_gradient_vanishes(K, classes, with_offset):
    problem = problem_of(classes, 5.0, with_offset)
    solution = descent_of(K, problem, 1e-14).to(5.0, Run())
    F = K @ solution.coefficients + solution.intercept
    assert_allclose(solution.coefficients, 5.0 * problem.residual(F), atol=1e-5)
    assert solution.residual.max() <= 1e-12
    assert (solution.solver, solution.tolerance, solution.theta) == ("newton", 1e-14, None)
    gap = solution.radius[0] ** 2 / 2.0
    primal = problem.loss(F) + 0.5 * np.sum(solution.coefficients * (K @ solution.coefficients))
    assert_allclose(solution.residual, gap / primal, rtol=1e-6)


def test_steps_are_limited_and_the_advice_says_so(K):
    problem = problem_of(2, 50.0)
    solution = descent_of(K, problem, 1e-12, steps=2).to(50.0, Run())
    assert solution.iterations == 2
    assert solution.advice == "after 2 Newton steps raise max_iter (now 2) or lower C"
    assert descent_of(K, problem, 1e-6).to(50.0, Run()).advice == ""


def test_a_callback_sees_the_falling_gap_and_may_end_it(K):
    problem = problem_of(2, 50.0)
    seen = []
    watched = Run(progress=lambda i, gap: seen.append((i, gap)))
    descent_of(K, problem, 1e-10).to(50.0, watched)
    assert [i for i, _ in seen] == list(range(1, len(seen) + 1))
    assert [gap for _, gap in seen] == sorted((gap for _, gap in seen), reverse=True)
    ended = descent_of(K, problem, 1e-10).to(50.0, Run(progress=lambda i, gap: i == 2))
    assert ended.iterations == 2
    assert "a callback ended the iteration" in ended.advice


def test_a_step_that_overshoots_is_halved_until_it_lowers_the_objective_enough(K, rng):
    problem = problem_of(2, 5.0)
    descent = descent_of(K, problem)
    A = np.zeros((N, 1))
    point = Point.of(problem, A, K @ A, np.zeros(1), lambda V: K @ V)
    for factor in (1.0, 40.0):
        step = -factor * point.D
        slope = float((step * point.KD).sum())
        length = 1.0
        while True:
            G = length * K @ step
            b = problem.best_offset(G, point.b)
            value = problem.loss(G + b) + 0.5 * float((length * step * G).sum())
            if value < point.primal and value <= point.primal + 1e-4 * length * slope:
                break
            length *= 0.5
        moved = descent._shortened(problem, point, step, K @ step)
        assert_allclose(moved.A, length * step)
        assert_allclose(moved.primal, value)
    assert length < 1.0


def test_a_step_uphill_is_none(K):
    problem = problem_of(2, 5.0)
    descent = descent_of(K, problem)
    A = np.zeros((N, 1))
    point = Point.of(problem, A, K @ A, np.zeros(1), lambda V: K @ V)
    assert descent._shortened(problem, point, point.D, point.KD) is None


def test_from_anywhere_the_objective_along_a_step_is_that_of_its_end(K, rng):
    problem = problem_of(3, 5.0)
    descent = descent_of(K, problem)
    descent._run = Run()
    A = 0.1 * rng.normal(size=(N, 3))
    point = Point.of(problem, A, K @ A, np.zeros(3), lambda V: K @ V)
    moved = descent._stepped(problem, point, 1e-6)
    again = Point.of(problem, moved.A, K @ moved.A, moved.b, lambda V: K @ V)
    assert_allclose(moved.primal, again.primal, rtol=1e-10)
    assert moved.primal < point.primal
    assert moved.gap < 0.1 * point.gap


@pytest.mark.parametrize(("tol", "share"), [(1e-12, "gap"), (0.9, "tolerance")])
def test_a_newton_system_is_solved_to_a_share_of_the_gap_or_of_the_tolerance(
    K, rng, monkeypatch, tol, share
):
    goals = []

    class Seen(ProjectedCG):
        def run(self, goal, is_over):
            goals.append(goal)
            super().run(goal, is_over)

    monkeypatch.setattr(module, "ProjectedCG", Seen)
    problem = problem_of(2, 4.0)
    descent = descent_of(K, problem)
    descent._run = Run()
    A = 0.1 * rng.normal(size=(N, 1))
    point = Point.of(problem, A, K @ A, np.zeros(1), lambda V: K @ V)
    descent._stepped(problem, point, tol)
    left = 0.05 * point.gap if share == "gap" else 0.25 * tol * point.primal
    # A residual r of the step leaves a gap of C^2 / 2 r'R'K R r.
    assert_allclose(goals, [2.0 * left / 4.0**2])


def test_the_gap_is_measured_in_float64_once_the_steps_have_reached_the_tolerance(K, monkeypatch):
    descent = descent_of(K, problem_of(2, 50.0), 1e-10)
    measured, seen = descent._measured_once, []

    def counted(problem, point):
        seen.append((problem.C, point.relative_gap))
        return measured(problem, point)

    descent._measured_once = counted
    solution = descent.to(50.0, Run())
    assert solution.iterations > 2
    # Not on the way, and only from a point that the steps take for the end of it.
    assert [C for C, _ in seen] == [50.0]
    assert seen[0][1] <= 1e-10


@pytest.mark.parametrize(("left", "is_up"), [(5.9, True), (600.0, False)])
def test_no_step_is_begun_where_the_time_is_less_than_two_products(K, left, is_up, monkeypatch):
    descent = descent_of(K, problem_of(2))
    times = iter([10.0, 13.0])  # a product of three seconds
    monkeypatch.setattr(module, "perf_counter", lambda: next(times))
    descent._exact_product(np.ones((N, 1)))
    descent._run = Run(left)
    assert descent._time_is_up() is is_up


@pytest.mark.parametrize("size", [1e13, 1e17])
def test_rounding_of_the_scores_counts_by_the_curvature_or_by_the_slope_of_the_losses(K, rng, size):
    problem, nothing = problem_of(2, with_offset=False), np.zeros((N, 1))
    A = size * rng.normal(size=(N, 1))
    point = Point(A, np.zeros(1), nothing, nothing, nothing, 1.0)
    expected = 0.5 * (UNITS * EPS * np.linalg.norm(np.sqrt(np.diag(K)) * A[:, 0])) ** 2
    hidden = product_rounding(np.diag(K), A)[:, 0]
    for h, w in zip(hidden, problem.weights, strict=True):
        expected += problem.C * w * min(0.5 * h**2, 2.0 * h)
    assert (hidden.min() < 4.0) == (size == 1e13)
    assert_allclose(point.proved(problem, np.diag(K)), expected)


def test_time_that_is_up_in_a_checkpoint_leaves_its_model(K, monkeypatch):
    states = []
    monkeypatch.setattr(Run, "keep", lambda _, state: states.append(state))
    descent_of(K, problem_of(3), tol=1e-2).to(3.0, Run())
    monkeypatch.setattr(Run, "restored", lambda _: states[-1])

    def late(*_):
        raise TimeIsUpError

    monkeypatch.setattr(FactoredCurvature, "restore", late)
    found = descent_of(K, problem_of(3)).to(3.0, Run())
    assert_array_equal(found.coefficients, states[-1]["A"])
