"""The start of a margin problem from a low-rank copy of K."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer.gram import PrecomputedGram, StreamedGram
from mercer.kernels import Gaussian
from mercer.solvers import SMO, MarginProblem, Run
from mercer.solvers.margin import low_rank_start as seeding

KERNEL = Gaussian(1.0)


@pytest.fixture(autouse=True)
def few_rows(monkeypatch):
    monkeypatch.setattr(seeding.LowRankStart, "ranks", (16, 32, 64))
    monkeypatch.setattr(seeding.LowRankStart, "fewest", 150)
    monkeypatch.setattr(seeding._Smooth, "gain", 1e-9)
    monkeypatch.setattr(seeding._Smooth, "steps", 50)


@pytest.fixture
def X(rng):
    return rng.normal(size=(800, 2))


def started(gram, problem, is_over=lambda: False):
    return seeding.low_rank_start(gram, gram.single(), problem, is_over)


def classification(X, rng, C, fit_intercept=True):
    signs = np.where(X[:, 0] * X[:, 1] + 0.5 * rng.normal(size=len(X)) > 0.3, 1.0, -1.0)
    return MarginProblem.classification(signs, np.full(len(X), C), fit_intercept)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
def test_the_start_is_feasible_and_near_the_optimum(X, rng, monkeypatch, C, fit_intercept):
    monkeypatch.setattr(seeding.LowRankStart, "ranks", (64,))
    problem = classification(X, rng, C, fit_intercept)
    found = started(StreamedGram(KERNEL, X), problem)
    assert (found.a >= problem.lower).all() and (found.a <= problem.upper).all()
    if fit_intercept:
        assert abs(found.a.sum()) <= 1e-9 * np.abs(found.a).sum()
    assert problem.gap(found.a, KERNEL(X) @ found.a).relative < 0.1


def distances(kernel, X, problem):
    """Return how far a start is from the optimum at every row."""
    gram, K = StreamedGram(kernel, X), kernel(X)
    exact = SMO(tol=1e-6).solve(gram, problem).coefficients[:, 0]
    f, g = K @ exact, K @ started(gram, problem).a
    return np.abs(f + problem.offset(f) - g - problem.offset(g))


def test_the_start_of_a_tube_is_off_by_less_than_the_kinks_are_wide(X, rng, monkeypatch):
    monkeypatch.setattr(seeding.LowRankStart, "ranks", (256,))
    y = np.sin(2.0 * X[:, 0]) + 0.1 * rng.normal(size=len(X))
    problem = MarginProblem.regression(y, np.ones(len(X)), 0.1, True)
    width = 0.5 * np.ptp(y) * seeding.LowRankStart.all_widths[-1]
    assert np.quantile(distances(KERNEL, X, problem), 0.95) < width


def test_what_the_copy_leaves_of_the_diagonal_counts(X, rng, monkeypatch):
    # Of narrow bumps few rows copy hardly anything but the diagonal.
    monkeypatch.setattr(seeding.LowRankStart, "ranks", (16,))
    problem = classification(X, rng, 100.0)
    assert np.median(distances(Gaussian(0.02), X, problem)) < 0.1


def test_active_rows_are_those_that_the_optimum_leaves_between_their_bounds(X, rng):
    problem = classification(X, rng, 1.0)
    found = started(StreamedGram(KERNEL, X), problem)
    exact = SMO(tol=1e-6).solve(StreamedGram(KERNEL, X), problem).coefficients[:, 0]
    assert np.isin(np.flatnonzero(problem.free(exact)), found.active).mean() > 0.9
    assert len(found.active) < 0.5 * len(X)


def test_threads_change_no_bit_of_the_start(X, rng, monkeypatch):
    monkeypatch.setattr(seeding, "ROWS_AT_A_TIME", 50)
    monkeypatch.setattr(seeding, "MULTIPLIED", 4000)
    monkeypatch.setattr(seeding, "READ", 9000)
    gram, problem = StreamedGram(KERNEL, X), classification(X, rng, 1.0)

    def found(threads):
        monkeypatch.setenv("MERCER_THREADS", threads)
        return started(gram, problem)

    alone, together = found("1"), found("3")
    assert_array_equal(alone.a, together.a)
    assert_array_equal(alone.active, together.active)


def test_equal_targets_have_a_start():
    X = np.linspace(0.0, 1.0, 400)[:, None]
    problem = MarginProblem.regression(np.ones(400), np.ones(400), 0.1, True)
    assert not started(StreamedGram(KERNEL, X), problem).a.any()


def test_the_start_is_given_up_when_time_is_over(X, rng):
    problem = classification(X, rng, 1.0)
    assert started(StreamedGram(KERNEL, X), problem, lambda: True) is None


def test_an_indefinite_matrix_has_no_start(X, rng):
    problem = classification(X, rng, 1.0)
    assert started(PrecomputedGram(-KERNEL(X)), problem) is None


def test_a_start_that_does_not_fit_is_left_out(X, rng):
    problem = classification(X, rng, 1.0)
    assert started(StreamedGram(KERNEL, X, 1 << 10), problem) is None


def smooth_of(rng, epsilon=0.2, width=0.3, weight=2.5, fit_intercept=True, m=40, rank=5):
    """A smooth problem of a few rows with bounds on one side, on both, and on none."""
    F = rng.normal(size=(m, rank)).astype(np.float32)
    upper, lower = rng.uniform(0.5, 2.0, size=(2, m))
    upper[::4], lower[1::4], lower[::8] = 0.0, 0.0, 0.0
    problem = MarginProblem(rng.normal(size=m), -lower, upper, epsilon, fit_intercept)
    return seeding._Smooth(F, rng.uniform(0.0, 0.5, size=m), problem, weight, width)


def objective(smooth, w, b):
    """1/2 ||w||^2 and the integral of minus the coefficients over the residuals."""
    r = smooth.F.astype(float) @ w + b - smooth.problem.z
    grid = np.linspace(0.0, 1.0, 1001)
    values = np.array([smooth.coefficients(t * r) for t in grid])
    inner = np.trapezoid(values, grid, axis=0) * r
    return 0.5 * w @ w - smooth.weight * inner.sum()


def test_a_ramp_solves_for_the_coefficient_with_what_the_copy_leaves_of_the_diagonal(rng):
    smooth = smooth_of(rng)
    p, e, w = smooth.problem, 0.2, 0.3
    for r in (rng.normal(size=40), np.full(40, -e), np.full(40, e), np.full(40, 9.0)):
        a = smooth.coefficients(r)
        at = r + smooth.rest * np.where(a > 0.0, a, 0.0)
        # a falls evenly from upper to 0 while its own residual goes from -e - w to -e + w.
        up = np.clip((w - e - at) / (2.0 * w), 0.0, 1.0)
        at = r + smooth.rest * np.where(a < 0.0, a, 0.0)
        down = np.clip((w - e + at) / (2.0 * w), 0.0, 1.0)
        single = (p.upper == 0.0) | (p.lower == 0.0)
        expected = p.upper * up + p.lower * down
        assert_allclose(a[single], expected[single], atol=1e-12)


def test_ramps_rise_from_zero_to_one_across_each_kink(rng):
    smooth = smooth_of(rng)
    smooth = seeding._Smooth(smooth.F, np.zeros(40), smooth.problem, 1.0, 0.3)
    for r, up, down in [(-0.5, 1.0, 0.0), (0.1, 0.0, 1 / 3), (-0.2, 0.5, 0.0), (0.2, 0.0, 0.5)]:
        found = smooth.ramps(np.full(40, r))
        assert_allclose(found[0], up, atol=1e-12)
        assert_allclose(found[1], down, atol=1e-12)
        assert_allclose(found[2], 1.0 / 0.6)
        assert_allclose(found[3], 1.0 / 0.6)


def test_the_width_of_a_ramp_grows_with_bound_and_rest(rng):
    smooth = smooth_of(rng)
    _, _, above, below = smooth.ramps(np.zeros(40))
    assert_allclose(1.0 / above, 0.6 + smooth.problem.upper * smooth.rest)
    assert_allclose(1.0 / below, 0.6 - smooth.problem.lower * smooth.rest)


def test_the_curvature_is_how_fast_the_coefficients_fall(rng):
    smooth = smooth_of(rng)
    r = rng.normal(size=40)
    step = 1e-7
    fall = (smooth.coefficients(r - step) - smooth.coefficients(r + step)) / (2.0 * step)
    assert_allclose(smooth.curvature(r), fall, rtol=1e-5, atol=1e-6)
    assert (smooth.curvature(r) > 0.0).any()
    assert (smooth.curvature(r) == 0.0).any()


def test_rows_are_near_a_kink_that_they_have(rng):
    z, bound = np.zeros(6), np.ones(6)
    upper, lower = bound.copy(), -bound
    upper[4], lower[5] = 0.0, 0.0
    problem = MarginProblem(z, lower, upper, 0.5, True)
    smooth = seeding._Smooth(np.zeros((6, 1), np.float32), np.zeros(6), problem, 1.0, 0.25)
    # Kinks at -0.5, if there is an upper bound, and at 0.5, and 1.5 widths of 0.25 around them.
    r = np.array([-0.875, -0.88, 0.875, 0.125, -0.5, 0.5])
    assert smooth.near(r).tolist() == [0, 2, 3]
    assert smooth.near(-r).tolist() == [0, 2, 3, 4, 5]


def test_a_balanced_shift_leaves_what_is_at_a_bound_and_sums_to_zero(rng):
    smooth = smooth_of(rng)
    for r in (rng.normal(size=40), rng.normal(size=40) + 5.0, rng.normal(size=40) - 5.0):
        a = smooth.balanced(r)
        assert_allclose(a.sum(), 0.0, atol=1e-12)
        # Some shift of all residuals has these coefficients.
        shifts = np.linspace(-12.0, 12.0, 48001)
        sums = np.array([smooth.coefficients(r + s).sum() for s in shifts[::40]])
        near = shifts[::40][np.abs(sums).argmin()]
        fine = near + np.linspace(-0.02, 0.02, 2001)
        best = min(fine, key=lambda s: abs(smooth.coefficients(r + s).sum()))
        assert_allclose(a, smooth.coefficients(r + best), atol=1e-3)


def test_residuals_are_those_of_the_factor(rng):
    smooth = smooth_of(rng)
    w = rng.normal(size=5)
    expected = smooth.F.astype(float) @ w + 0.7 - smooth.problem.z
    assert_allclose(smooth.residuals(w, 0.7), expected, atol=1e-5)


def test_what_the_factor_leaves_of_the_diagonal_is_not_negative(rng):
    smooth = smooth_of(rng)
    squares = (smooth.F.astype(float) ** 2).sum(axis=1)
    diagonal = squares + np.where(np.arange(40) % 2, 0.25, -0.25)
    made = seeding._Smooth.of(smooth.F, diagonal, smooth.problem, 3.0)
    assert_allclose(made.rest, np.where(np.arange(40) % 2, 0.25, 0.0), atol=1e-5)
    assert made.weight == 3.0


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_a_direction_is_newtons_step(rng, fit_intercept):
    smooth = smooth_of(rng, fit_intercept=fit_intercept)
    r = 0.3 * rng.normal(size=40)
    a, F = smooth.coefficients(r), smooth.F.astype(float)
    slope = rng.normal(size=5) - smooth.weight * F.T @ a
    slope_b = -smooth.weight * a.sum()
    D = smooth.weight * smooth.curvature(r)
    columns = np.column_stack([F, np.ones(40)]) if fit_intercept else F
    H = columns.T @ (D[:, None] * columns)
    H[:5, :5] += np.eye(5)
    g = np.append(slope, slope_b) if fit_intercept else slope
    expected = -np.linalg.solve(H, g)
    change, shift = seeding._direction(smooth, r, slope, slope_b)
    assert_allclose(change, expected[:5], rtol=1e-4, atol=1e-5)
    assert_allclose(shift, expected[5] if fit_intercept else 0.0, rtol=1e-4, atol=1e-5)


def test_where_nothing_is_curved_the_direction_is_downhill(rng):
    smooth = smooth_of(rng)
    change, shift = seeding._direction(smooth, np.full(40, 50.0), np.arange(5.0), 3.0)
    assert_array_equal(change, -np.arange(5.0))
    assert shift == 0.0


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_newton_steps_end_at_the_least_objective(rng, fit_intercept):
    smooth = smooth_of(rng, fit_intercept=fit_intercept)
    w, b = seeding._newton(smooth, np.zeros(5), 0.0, lambda: False)
    r = smooth.residuals(w, b)
    a = smooth.coefficients(r)
    assert_allclose(w, smooth.weight * smooth.F.T.astype(float) @ a, atol=1e-3)
    if fit_intercept:
        assert_allclose(a.sum(), 0.0, atol=1e-3)
    else:
        assert b == 0.0
    least = objective(smooth, w, b)
    for _ in range(5):
        moved = objective(smooth, w + 0.05 * rng.normal(size=5), b + 0.05 * fit_intercept)
        assert moved > least
    assert seeding._newton(smooth, w, b, lambda: True)[0] is w


def test_a_step_goes_as_far_as_the_objective_falls(rng):
    smooth = smooth_of(rng)
    w, change = np.zeros(5), rng.normal(size=5)
    r = smooth.residuals(w, 0.0)
    change *= -np.sign(change @ -(smooth.weight * smooth.F.T @ smooth.coefficients(r)))
    for factor in (1e-3, 1.0, 30.0):
        d = factor * change
        along = smooth.F.astype(float) @ d
        t = seeding._step(smooth, r, along, float(w @ d), float(d @ d))

        def slope(t, d=d, along=along):
            return t * d @ d - smooth.weight * smooth.coefficients(r + t * along) @ along

        if slope(1.0) <= 0.0:
            assert t == 1.0
        else:
            # Six halvings, and then the middle of what is left.
            assert slope(t - 2.0**-7) <= 0.0 <= slope(t + 2.0**-7)
            assert t * 128 % 2 == 1.0
    assert t < 1.0


@pytest.mark.parametrize("rows", [1024, 7])
def test_sums_and_squares_are_those_of_the_rows_that_count(rng, monkeypatch, rows):
    monkeypatch.setattr(seeding, "ROWS_AT_A_TIME", rows)
    F = rng.normal(size=(50, 4)).astype(np.float32)
    D = np.maximum(rng.normal(size=50), 0.0)
    mean = rng.normal(size=4)
    assert_allclose(seeding._sums(F, D), F.T.astype(float) @ D, rtol=1e-4, atol=1e-4)
    centred = F.astype(float) - mean
    expected = centred.T @ (D[:, None] * centred)
    assert_allclose(seeding._squares(F, mean, D), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("entries", [1 << 19, 12])
def test_products_are_those_of_matrices(rng, monkeypatch, entries):
    monkeypatch.setattr(seeding, "MULTIPLIED", entries)
    monkeypatch.setattr(seeding, "READ", entries)
    K = rng.normal(size=(30, 4)).astype(np.float32)
    A = rng.normal(size=(4, 4)).astype(np.float32)
    assert_allclose(seeding._product(K, A[0]), K @ A[0], rtol=1e-4, atol=1e-5)
    expected = K @ A
    assert_allclose(seeding._multiplied(K, A), expected, rtol=1e-4, atol=1e-5)


def test_the_inverse_turns_rows_of_the_matrix_into_those_of_its_factor(rng):
    X = rng.normal(size=(30, 2))
    K = 4.0 * KERNEL(X)
    inverse = seeding._inverse(K[:8, :8].copy()).astype(float)
    jittered = K[:8, :8] + 4e-6 * np.eye(8)
    F = K[:, :8] @ inverse
    assert_allclose(F @ F.T, K[:, :8] @ np.linalg.solve(jittered, K[:8]), rtol=1e-3, atol=1e-3)
    assert_allclose(np.tril(inverse, -1), 0.0)


def test_the_rank_is_the_least_that_leaves_little_to_the_diagonal(rng, monkeypatch):
    F = np.zeros((20, 64), np.float32)
    bounds = rng.uniform(1.0, 3.0, size=20)
    F[:, 0], F[:, 20], F[:, 40] = 1.0, 0.5, 0.2
    problem = MarginProblem(np.zeros(20), -bounds, 0.5 * bounds, 0.0, True)
    diagonal = (F.astype(float) ** 2).sum(axis=1)
    mean = bounds.mean()
    # Columns up to 16 leave 0.29 of a diagonal entry, up to 32 leave 0.04, up to 64 nothing.
    for left, rank in ((0.05, 32), (0.039, 64), (0.3, 16), (0.28, 32)):
        monkeypatch.setattr(seeding.LowRankStart, "left", left * mean)
        assert seeding._rank(F, diagonal, problem) == rank
    assert seeding._rank(F[:, :10], diagonal, problem) == 10
    assert seeding._rank(F[:, :32], diagonal + 9.0, problem) == 32


def test_room_for_the_fewest_rows_is_room_enough(X, rng, monkeypatch):
    problem = classification(X, rng, 1.0)
    for room, is_started in ((16, True), (15, False)):
        monkeypatch.setattr(seeding.LowRankStart, "memory", 4 * len(X) * room)
        assert (started(StreamedGram(KERNEL, X), problem) is not None) is is_started
    monkeypatch.setattr(seeding.LowRankStart, "memory", 256 << 20)
    enough = 4 * 4 * len(X) * 16
    assert started(StreamedGram(KERNEL, X, enough), problem) is not None
    assert started(StreamedGram(KERNEL, X, enough - 1), problem) is None


def test_the_way_begins_with_a_share_of_the_rows_within_bounds(X, rng, monkeypatch):
    problem = classification(X, rng, 1.0)
    sizes = []

    def seen(gram, single, problem, chosen, some, is_over):
        sizes.append((len(chosen), len(some), (np.diff(some) > 0).all()))

    monkeypatch.setattr(seeding, "_start_from", seen)
    for fewest, most in ((150, 4096), (170, 4096), (100, 120)):
        monkeypatch.setattr(seeding.LowRankStart, "fewest", fewest)
        monkeypatch.setattr(seeding.LowRankStart, "most", most)
        started(StreamedGram(KERNEL, X), problem)
    assert sizes == [(64, 160, True), (64, 170, True), (64, 120, True)]


@pytest.mark.parametrize(("noise", "expected"), [(3.0, True), (0.0, False)])
def test_a_start_is_for_problems_of_many_coefficients_at_their_bounds(X, rng, noise, expected):
    signs = np.where(X[:, 0] + noise * rng.normal(size=len(X)) > 0.0, 1.0, -1.0)
    problem = MarginProblem.classification(signs, np.full(len(X), 10.0), True)
    gram = StreamedGram(KERNEL, X)
    exact = SMO().solve(gram, problem).coefficients[:, 0]
    at_bounds = np.mean((exact != 0.0) & ((exact == problem.lower) | (exact == problem.upper)))
    assert (at_bounds >= 0.2) is np.bool_(expected)
    assert seeding.are_bounded(gram, problem, Run()) is expected


def test_the_sample_ends_in_time_and_with_ctrl_c(X, rng):
    problem = classification(X, rng, 1e10)
    run = Run(0.05)
    seeding.are_bounded(StreamedGram(KERNEL, X), problem, run)
    assert run.seconds_left > -1.0
    stopped = Run()
    stopped.stop[0] = 1
    with pytest.raises(KeyboardInterrupt):
        seeding.are_bounded(StreamedGram(KERNEL, X), problem, stopped)


def test_some_rows_stand_for_all_in_proportion_to_their_number(X, rng, monkeypatch):
    monkeypatch.setattr(seeding.LowRankStart, "fewest", 170)
    weights, of = [], seeding._Smooth.of

    def seen(F, diagonal, problem, weight):
        weights.append((len(F), weight))
        return of(F, diagonal, problem, weight)

    monkeypatch.setattr(seeding._Smooth, "of", seen)
    started(StreamedGram(KERNEL, X), classification(X, rng, 1.0))
    assert weights == [(170, 800 / 170), (800, 1.0)]
