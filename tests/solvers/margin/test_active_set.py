"""Newton steps on the free coefficients of a margin problem."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer import Gaussian
from mercer.gram import DenseGram, PrecomputedGram, StreamedGram
from mercer.solvers import SMO, MarginProblem
from mercer.solvers.margin.active_set import NewtonStep, _Free, _System

KERNEL = Gaussian(1.5)


@pytest.fixture
def X(rng):
    return rng.normal(size=(300, 3))


def dual(problem, K, a):
    return problem.z @ a - problem.epsilon * np.abs(a).sum() - 0.5 * a @ K @ a


def problems(X, rng, fit_intercept):
    y = np.sin(2.0 * X[:, 0]) + 0.1 * rng.normal(size=len(X))
    signs, costs = np.sign(y), rng.uniform(1.0, 5.0, size=len(X))
    return [
        MarginProblem.regression(y, costs, 0.1, fit_intercept),
        MarginProblem.classification(signs, costs, fit_intercept),
    ]


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("kind", [0, 1])
def test_a_newton_step_raises_the_dual_and_keeps_bounds_sum_and_gradient(
    X, rng, fit_intercept, kind
):
    problem = problems(X, rng, fit_intercept)[kind]
    K = KERNEL(X)
    a = problem.feasible(0.3 * rng.normal(size=len(X)))
    g = K @ a - problem.z
    before, total = dual(problem, K, a), a.sum()
    step = NewtonStep(lambda rows: K[np.ix_(rows, rows)], DenseGram(K, 1 << 30), problem, a, g)
    assert 0.0 < step() <= 1.0
    assert dual(problem, K, a) > before
    assert (a >= problem.lower).all() and (a <= problem.upper).all()
    assert_allclose(g, K @ a - problem.z, atol=1e-10)
    if fit_intercept:
        assert_allclose(a.sum(), total, atol=1e-10)


def test_newton_steps_alone_solve_a_problem(X, rng):
    problem = problems(X, rng, True)[0]
    K = KERNEL(X)
    a, g = np.zeros(len(X)), -problem.z
    step = NewtonStep(lambda rows: K[np.ix_(rows, rows)], DenseGram(K, 1 << 30), problem, a, g)
    for _ in range(30):
        step()
    assert problem.gap(a, K @ a).relative < 1e-8


def test_a_newton_step_that_leads_nowhere_is_damped_the_next_time(X, rng):
    problem = problems(X, rng, True)[0]
    K = KERNEL(X)
    a, g = np.zeros(len(X)), -problem.z
    step = NewtonStep(
        lambda rows: K[np.ix_(rows, rows)],
        DenseGram(K, 1 << 30),
        problem,
        a,
        g,
        0.0,
    )
    assert step() < 0.3
    assert step.damping > 0.0
    assert step() > 0.3


def test_a_matrix_that_is_not_positive_definite_is_left_alone(rng):
    K = -np.eye(20)
    problem = MarginProblem.regression(rng.normal(size=20), np.ones(20), 0.1, True)
    a, g = np.zeros(20), -problem.z
    step = NewtonStep(
        lambda rows: K[np.ix_(rows, rows)],
        DenseGram(K, 1 << 30),
        problem,
        a,
        g,
        0.0,
    )
    assert step() == 0.0
    assert not a.any()


def test_a_newton_step_that_is_called_off_changes_nothing(X, rng):
    problem = problems(X, rng, True)[0]
    K = KERNEL(X)
    a, g = np.zeros(len(X)), -problem.z
    gram = DenseGram(K, 1 << 30)
    step = NewtonStep(lambda rows: K[np.ix_(rows, rows)], gram, problem, a, g, None, lambda: True)
    assert step() == 0.0
    assert not a.any()


def test_a_face_beyond_the_memory_is_left_to_the_pairs(rng):
    K = np.eye(20)
    problem = MarginProblem.regression(rng.normal(size=20), np.ones(20), 0.1, True)
    a = np.zeros(20)
    small = DenseGram(K, 100)
    assert NewtonStep(lambda rows: K[np.ix_(rows, rows)], small, problem, a, -problem.z)() == 0.0


def test_a_steep_price_in_a_tube_is_solved_in_few_rounds(rng):
    X = rng.uniform(-2.0, 2.0, size=(1100, 4))
    y = np.sin(X).sum(axis=1) + 0.2 * rng.normal(size=1100)
    problem = MarginProblem.regression(y, np.full(1100, 100.0), 0.05, True)
    solution = SMO().solve(StreamedGram(Gaussian(2.0), X), problem)
    assert solution.residual[0] <= 1e-3
    # Pairs of coefficients alone take thousands of rounds.
    assert solution.iterations < 400


def test_changes_that_all_have_one_sign_are_balanced_within_their_bounds():
    one = np.ones(4)
    free = _Free(np.arange(4), 0.5 * one, -one, 0.0 * one, one, True)
    change = free._balanced(np.array([0.3, 0.31, 0.32, 0.33]))
    assert_allclose(change.sum(), 0.0, atol=1e-12)
    assert (free.start + change >= 0.0).all() and (free.start + change <= 1.0).all()


def test_bounds_that_round_are_held_once(X, rng):
    # start + (bound - start) is not the bound where its last bit is odd.
    upper = rng.uniform(0.3, 0.4, size=len(X))
    K = KERNEL(X)
    problem = MarginProblem.classification(np.sign(rng.normal(size=len(X))), upper, True)
    a = problem.feasible(rng.uniform(-0.3, 0.3, size=len(X)))
    g = K @ a - problem.z
    step = NewtonStep(
        lambda rows: K[np.ix_(rows, rows)],
        DenseGram(K, 1 << 30),
        problem,
        a,
        g,
        0.1,
    )
    before = 0.5 * a @ K @ a - problem.z @ a
    for _ in range(10):
        step()
    assert (a >= problem.lower).all() and (a <= problem.upper).all()
    assert 0.5 * a @ K @ a - problem.z @ a < before


def definite(rng, n):
    A = rng.normal(size=(n, n))
    return A @ A.T + np.eye(n)


@pytest.mark.parametrize("has_offset", [True, False])
@pytest.mark.parametrize("held", [0, 1, 3])
def test_a_system_with_some_held_is_that_of_the_others(rng, has_offset, held):
    n = 8
    K, right, total = definite(rng, n), rng.normal(size=n), 0.7
    system = _System.of(K.copy(), right, total, has_offset)
    rows = rng.permutation(n)[:held]
    values = rng.normal(size=held)
    for row, value in zip(rows, values, strict=True):
        system.hold(np.array([row]), np.array([value]))
    d = system.solution()
    assert_allclose(d[rows], values)
    rest = np.setdiff1d(np.arange(n), rows)
    border = np.ones((len(rest), int(has_offset)))
    matrix = np.block(
        [[K[np.ix_(rest, rest)], border], [border.T, np.zeros([int(has_offset)] * 2)]]
    )
    asked = np.append(
        right[rest] - K[np.ix_(rest, rows)] @ values, [total - values.sum()] * has_offset
    )
    assert_allclose(d[rest], np.linalg.solve(matrix, asked)[: len(rest)], atol=1e-12)


def test_a_matrix_that_is_not_definite_has_no_system():
    assert _System.of(np.array([[1.0, 2.0], [2.0, 1.0]]), np.ones(2), 0.0, True) is None


def free_of(start, gradient, low, high, has_offset=True):
    start, gradient, low, high = (np.array(v, float) for v in (start, gradient, low, high))
    return _Free(np.arange(len(start)), start, gradient, low, high, has_offset)


@pytest.mark.parametrize("has_offset", [True, False])
def test_where_no_bound_is_in_the_way_the_change_solves_the_system(rng, has_offset):
    K, g = definite(rng, 5), rng.normal(size=5)
    free = free_of(np.zeros(5), g, np.full(5, -99.0), np.full(5, 99.0), has_offset)
    change = free.newton(K.copy(), 0.3, lambda: False)
    border = np.ones((5, int(has_offset)))
    matrix = np.block([[K + 0.3 * np.eye(5), border], [border.T, np.zeros([int(has_offset)] * 2)]])
    expected = np.linalg.solve(matrix, np.append(-g, [0.0] * has_offset))[:5]
    assert_allclose(change, expected, atol=1e-12)


@pytest.mark.parametrize("n", [12, 40])
@pytest.mark.parametrize("has_offset", [True, False])
def test_coefficients_that_would_leave_the_face_end_at_its_edge(rng, n, has_offset):
    for _ in range(10):
        K, g = definite(rng, n), rng.normal(size=n)
        start = rng.uniform(0.2, 0.8, size=n)
        free = free_of(start, g, np.zeros(n), np.ones(n), has_offset)
        change = free.newton(K.copy(), 0.1, lambda: False)
        end = start + change
        assert ((end >= -1e-12) & (end <= 1.0 + 1e-12)).all()
        if has_offset:
            assert_allclose(change.sum(), 0.0, atol=1e-10)
        inside = (end > 1e-9) & (end < 1.0 - 1e-9)
        # The others solve their own equations with those at the edge held.
        r = -g - (K + 0.1 * np.eye(n)) @ change
        offset = r[inside].mean() if has_offset and inside.any() else 0.0
        assert_allclose(r[inside], offset, atol=1e-8)


def test_the_least_damping_is_a_share_of_the_diagonal():
    free = free_of([0.0, 0.0], [1.0, -1.0], [-1e300, -1e300], [1e300, 1e300], False)
    change = free.newton(np.zeros((2, 2)) + 4.0 * np.eye(2), 0.0, lambda: False)
    assert_allclose(change, np.array([-0.25, 0.25]) / (1.0 + 1e-10), rtol=1e-14)


def test_a_change_is_balanced_by_a_shift_within_the_face():
    free = free_of([0.5, 0.5, 0.5], [0.0] * 3, [0.0] * 3, [1.0] * 3)
    # 0.4 + 0.2 - 0.1 = 0.5: each less by a sixth.
    assert_allclose(
        free._balanced(np.array([0.4, 0.2, -0.1])), np.array([0.4, 0.2, -0.1]) - 0.5 / 3
    )
    # The last one stops at its bound, and the others make up for it.
    assert_allclose(free._balanced(np.array([0.5, 0.3, -0.49])), [0.35, 0.15, -0.5])
    for change in ([0.5, 0.5, 0.5], [-0.5, -0.5, -0.5], [0.5, 0.5, -0.5]):
        balanced = free._balanced(np.array(change))
        assert_allclose(balanced.sum(), 0.0, atol=1e-12)
        assert (np.abs(balanced) <= 0.5).all()


def test_the_face_has_free_rows_and_those_that_should_leave_their_bound():
    problem = MarginProblem(np.zeros(7), np.full(7, -1.0), np.full(7, 2.0), 0.25, False)
    a = np.array([-1.0, -1.0, -0.5, 0.0, 0.0, 0.0, 2.0])
    g = np.array([0.5, -0.5, 0.1, 0.1, -0.5, 0.5, 0.1])
    # Row 0 stays at its lower bound and row 3 in the tube; row 6 comes down from its upper one.
    free = _Free.at(problem, a, g)
    assert free.rows.tolist() == [1, 2, 4, 5, 6]
    assert_allclose(free.start, [-1.0, -0.5, 0.0, 0.0, 2.0])
    assert_allclose(free.gradient, [-0.75, -0.15, -0.25, 0.25, 0.35])
    assert_allclose(free.low, [-1.0, -1.0, 0.0, -1.0, 0.0])
    assert_allclose(free.high, [0.0, 0.0, 2.0, 0.0, 2.0])
    assert_allclose(free.first_damping, 0.75 / 2.0)


@pytest.mark.parametrize(
    ("t", "damping"), [(0.0, 10.0), (0.29, 10.0), (0.3, 1.0), (0.9, 1.0), (0.91, 0.1), (1.0, 0.1)]
)
def test_the_damping_follows_how_far_a_newton_step_went(t, damping):
    free = free_of([0.0], [2.0], [0.0], [1.0])
    step = NewtonStep(None, None, None, None, None, 1.0)
    step._settle(free, t)
    assert_allclose(step.damping, damping)
    step.damping = 1e-9
    step._settle(free, 0.0)
    assert step.damping == free.first_damping == 2.0


def test_a_newton_step_goes_to_the_least_of_its_way(rng):
    K = definite(rng, 6)
    z = rng.normal(size=6)
    problem = MarginProblem.regression(z, np.full(6, 50.0), 0.0, True)
    for damping, is_whole in ((1e-12, True), (5.0, True)):
        a = problem.feasible(rng.normal(size=6))
        g = K @ a - z
        before = a.copy()
        step = NewtonStep(
            lambda rows: K[np.ix_(rows, rows)].copy(), PrecomputedGram(K), problem, a, g, damping
        )
        t = step()
        change = (a - before) / t
        slope = (K @ before - z) @ change
        assert_allclose(t, min(1.0, -slope / (change @ K @ change)), rtol=1e-9)
        assert_allclose(g, K @ a - z, atol=1e-10)
        assert (t == 1.0) is is_whole
        assert_allclose(a.sum(), 0.0, atol=1e-12)


def test_a_way_that_is_too_long_is_gone_in_part(rng):
    # Entries that promise less curvature than there is: the step is four times too long.
    K = definite(rng, 6)
    z = rng.normal(size=6)
    problem = MarginProblem.regression(z, np.full(6, 1e3), 0.0, True)
    a, g = np.zeros(6), -z.copy()
    step = NewtonStep(
        lambda rows: 0.25 * K[np.ix_(rows, rows)], PrecomputedGram(K), problem, a, g, 1e-12
    )
    assert_allclose(step(), 0.25, rtol=1e-6)
    assert_allclose(g, K @ a - z, atol=1e-10)


@pytest.mark.parametrize(("spare", "moves"), [(0, True), (-1, False)])
def test_a_newton_step_takes_half_of_the_memory_for_three_matrices_of_its_rows(rng, spare, moves):
    K = definite(rng, 6)
    z = rng.normal(size=6)
    problem = MarginProblem.regression(z, np.full(6, 50.0), 0.0, True)
    gram = PrecomputedGram(K, 2 * 3 * 8 * 36 + spare)
    step = NewtonStep(lambda rows: K[np.ix_(rows, rows)].copy(), gram, problem, np.zeros(6), -z)
    assert (step() > 0.0) is moves
