"""SMO, its gap, its screening of rows, and block coordinate ascent beside it."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize_scalar
from sklearn.svm import SVC, SVR

from mercer.gram import PrecomputedGram, StreamedGram, gram_of
from mercer.kernels import Gaussian, Linear
from mercer.solvers import SMO, BlockAscent, MarginProblem, Run
from mercer.solvers.margin import low_rank_start as seeding
from mercer.solvers.margin.screening import Screening
from mercer.tiles import loop_twin
from mercer.tiles.evaluate import engine

KERNEL = Gaussian(1.0)

slow_pairs = pytest.mark.skipif(
    engine() is loop_twin, reason="the NumPy engine takes Newton steps early, and needs few pairs"
)


@pytest.fixture
def X(rng):
    return rng.normal(size=(400, 3))


@pytest.fixture
def signs(X, rng):
    return np.where(X[:, 0] + X[:, 1] ** 2 + 0.5 * rng.normal(size=400) > 0.7, 1.0, -1.0)


def classification(signs, C=1.0, fit_intercept=True):
    return MarginProblem.classification(signs, np.full(len(signs), C), fit_intercept)


def loss(problem, r):
    e = problem.epsilon
    above, below = np.maximum(-r - e, 0.0), np.maximum(r - e, 0.0)
    return float((problem.upper * above - problem.lower * below).sum())


@pytest.mark.parametrize("epsilon", [0.0, 0.3])
def test_the_offset_minimises_the_loss(rng, epsilon):
    f, y = rng.normal(size=(2, 60))
    problem = MarginProblem.regression(y, rng.uniform(0.5, 2.0, size=60), epsilon, True)
    found = minimize_scalar(lambda b: loss(problem, f + b - y), bounds=(-6, 6), method="bounded")
    assert loss(problem, f + problem.offset(f) - y) <= found.fun + 1e-12


def test_the_gap_is_primal_minus_dual(X, signs, rng):
    problem = classification(signs, 2.0)
    a = problem.feasible(rng.normal(size=400))
    assert abs(a.sum()) < 1e-12
    K = KERNEL(X)
    gap = problem.gap(a, K @ a)
    primal = 0.5 * a @ K @ a + loss(problem, K @ a + gap.offset - signs)
    dual = signs @ a - 0.5 * a @ K @ a
    assert_allclose([gap.primal, gap.gap], [primal, primal - dual], rtol=1e-12)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("start", [False, True])
def test_screening_of_rows_does_not_change_the_optimum(X, signs, monkeypatch, fit_intercept, start):
    problem = classification(signs, 5.0, fit_intercept)
    gram = StreamedGram(KERNEL, X)
    exact = SMO(tol=1e-7).solve(gram, problem)
    monkeypatch.setattr(Screening, "least_rows", 100)
    monkeypatch.setattr(SMO, "few_rows", 0)
    monkeypatch.setattr(seeding.LowRankStart, "ranks", (8, 16))
    monkeypatch.setattr(seeding.LowRankStart, "fewest", 60)
    begin = exact.coefficients[:, 0] * 0.5 if start else None
    screened = SMO(tol=1e-5).solve(gram, replace(problem, start=begin))
    assert screened.residual[0] <= 1e-5
    f = KERNEL(X) @ screened.coefficients
    assert_allclose(f, KERNEL(X) @ exact.coefficients, atol=0.02)


def test_screening_works_for_a_tube(X, rng, monkeypatch):
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=400)
    problem = MarginProblem.regression(y, np.full(400, 10.0), 0.1, True)
    monkeypatch.setattr(Screening, "least_rows_in_tube", 100)
    monkeypatch.setattr(SMO, "few_rows", 0)
    monkeypatch.setattr(seeding.LowRankStart, "ranks", (8, 16))
    monkeypatch.setattr(seeding.LowRankStart, "fewest", 60)
    solution = SMO(tol=1e-5).solve(StreamedGram(KERNEL, X), problem)
    peer = SVR(C=10.0, epsilon=0.1, gamma=0.5, tol=1e-6).fit(X, y)
    assert solution.residual[0] <= 1e-5
    f = KERNEL(X) @ solution.coefficients[:, 0] + solution.intercept[0]
    assert_allclose(f, peer.predict(X), atol=0.02)


def test_the_measured_gap_is_that_of_float64(X, signs, monkeypatch):
    monkeypatch.setattr(SMO, "few_rows", 0)
    problem = classification(signs, 100.0)
    solution = SMO(tol=1e-6).solve(StreamedGram(KERNEL, X), problem)
    a = solution.coefficients[:, 0]
    gap = problem.proved(a, KERNEL(X) @ a, KERNEL.diagonal(X))
    # Terms of size one cancel in the gap, to the last of their digits.
    assert_allclose(solution.residual[0], gap.relative, rtol=1e-6, atol=1e-14)
    assert_allclose(solution.radius[0] ** 2, 2.0 * gap.gap, rtol=1e-6, atol=2e-14 * gap.scale)
    assert gap.relative <= 1e-6


@pytest.mark.parametrize("few", [0, 1024])
def test_rows_that_float32_cannot_tell_apart_are_solved(X, signs, monkeypatch, few):
    monkeypatch.setattr(SMO, "few_rows", few)
    problem, far = classification(signs, 10.0), X + 1e8
    solution = SMO().solve(StreamedGram(KERNEL, far), problem)
    a = solution.coefficients[:, 0]
    assert problem.gap(a, KERNEL(far) @ a).relative <= 1e-3


def test_few_rows_are_solved_to_the_last_digits(X, signs):
    few = SMO.few_rows
    solution = SMO().solve(StreamedGram(KERNEL, X[:few]), classification(signs[:few]))
    assert solution.residual[0] < 1e-12


def test_more_rows_are_solved_to_the_tolerance_and_no_further(X, signs):
    solution = SMO(tol=1e-3).solve(StreamedGram(KERNEL, X), classification(signs))
    assert 1e-6 < solution.residual[0] <= 1e-3


def test_weights_and_repeated_rows_agree_to_the_last_digits_for_few_rows(X, signs, rng):
    times = rng.integers(1, 4, size=40)
    X, signs = X[:40], signs[:40]
    weighted = MarginProblem.classification(signs, times.astype(float), True)
    one = SMO().solve(StreamedGram(KERNEL, X), weighted)
    each = np.repeat(np.arange(40), times)
    other = SMO().solve(StreamedGram(KERNEL, X[each]), classification(signs[each]))
    f = KERNEL(X) @ one.coefficients + one.intercept
    g = KERNEL(X, X[each]) @ other.coefficients + other.intercept
    assert_allclose(f, g, rtol=1e-7, atol=1e-10)


@pytest.fixture
def doubles(monkeypatch):
    """The shapes of all products with K in float64, for rows that are screened."""
    monkeypatch.setattr(Screening, "least_rows", 100)
    monkeypatch.setattr(SMO, "few_rows", 0)
    monkeypatch.setattr(seeding.LowRankStart, "ranks", (8, 16))
    monkeypatch.setattr(seeding.LowRankStart, "fewest", 60)
    product, shapes = StreamedGram.partial_product, []

    def counted(gram, rows, columns, V):
        out = product(gram, rows, columns, V)
        if gram.dtype == np.float64:
            shapes.append((len(out), len(V)))
        return out

    monkeypatch.setattr(StreamedGram, "partial_product", counted)
    return shapes


@pytest.mark.parametrize("start", [False, True])
def test_float64_is_for_the_certificate_alone(doubles, start):
    # Screening gets on slowly here: a low-rank copy of K tells little.
    rng = np.random.default_rng(1)
    X = (rng.random((600, 20)) < 0.4).astype(float)
    score, shift = X @ rng.normal(size=20), (X @ rng.normal(size=20)).mean()
    signs = np.sign(score - shift + rng.normal(size=600))
    kernel, problem = Gaussian.from_gamma(0.2), classification(signs, 100.0)
    gram, begin = StreamedGram(kernel, X), None
    if start:
        cheaper = SMO(tol=1e-3).solve(gram, classification(signs, 50.0))
        begin = 2.0 * cheaper.coefficients[:, 0]
        doubles.clear()
    solution = SMO(tol=1e-3).solve(gram, replace(problem, start=begin))
    a = solution.coefficients[:, 0]
    assert problem.gap(a, kernel(X) @ a).relative <= 1e-3
    assert_allclose(solution.residual[0], problem.gap(a, kernel(X) @ a).relative, rtol=1e-6)
    # Once at the rows with a coefficient and, of the others, at those next to a kink.
    assert len(doubles) <= 2
    assert sum(rows for rows, _ in doubles) <= 600


@pytest.mark.parametrize("C", [1e-3, 1e5])
def test_small_and_large_prices_are_solved(X, signs, C):
    solution = SMO().solve(StreamedGram(KERNEL, X), classification(signs, C))
    assert solution.residual[0] <= 1e-3


def test_equal_rows_of_both_classes_are_solved(rng):
    X = np.repeat(rng.normal(size=(20, 2)), 4, axis=0)
    signs = np.tile([1.0, -1.0, 1.0, 1.0], 20)
    solution = SMO().solve(StreamedGram(KERNEL, X), classification(signs, 10.0))
    assert solution.residual[0] <= 1e-3


def test_a_held_matrix_and_rows_give_the_same_values(X, signs):
    problem = classification(signs, 3.0)
    grams = [StreamedGram(KERNEL, X), PrecomputedGram(KERNEL(X)), gram_of(KERNEL, X)]
    values = [KERNEL(X) @ SMO(tol=1e-8).solve(g, problem).coefficients for g in grams]
    assert_allclose(values[1], values[0], atol=1e-5)
    assert_allclose(values[2], values[0], atol=1e-5)


def test_the_objective_is_not_above_that_of_libsvm(X, signs):
    a = SMO().solve(StreamedGram(KERNEL, X), classification(signs, 50.0)).coefficients[:, 0]
    peer = SVC(C=50.0, gamma=0.5).fit(X, signs)
    b = np.zeros(400)
    b[peer.support_] = peer.dual_coef_[0]
    K = KERNEL(X)
    assert 0.5 * a @ K @ a - signs @ a <= (0.5 * b @ K @ b - signs @ b) * (1.0 - 1e-6)


def test_pegasos_is_feasible_and_reports_its_gap(X, signs):
    problem = classification(signs)
    solution = BlockAscent(max_iter=16, random_state=0).solve(StreamedGram(KERNEL, X), problem)
    a = solution.coefficients[:, 0]
    assert ((a >= problem.lower) & (a <= problem.upper)).all()
    assert abs(a.sum()) < 1e-10
    assert_allclose(solution.residual[0], problem.gap(a, KERNEL(X) @ a).relative, rtol=1e-8)


@pytest.mark.parametrize("make", [StreamedGram, lambda k, X: PrecomputedGram(k(X)), gram_of])
def test_parts_of_a_gram_are_parts_of_the_matrix(X, rng, make):
    gram, K = make(KERNEL, X), KERNEL(X)
    index = np.sort(rng.permutation(400)[:50])
    some = np.sort(rng.permutation(400)[:30])
    part = gram.part(index)
    assert_allclose(part.dense(), K[np.ix_(index, index)], rtol=1e-12)
    assert_allclose(part.rows([3, 1]), K[np.ix_(index[[3, 1]], index)], rtol=1e-12)
    v = rng.normal(size=30)
    assert_allclose(gram.partial_product(index, some, v), K[np.ix_(index, some)] @ v, atol=1e-12)
    assert_allclose(gram.partial_product(None, some, v), K[:, some] @ v, atol=1e-12)
    assert gram.single().dtype == np.float32
    assert_allclose(gram.single().rows(index), K[index], atol=1e-5)


@slow_pairs
@pytest.mark.parametrize("kernel", [Linear(), Gaussian(2.0)], ids=str)
@pytest.mark.parametrize("size", [1e-3, 1e-6])
def test_targets_that_are_small_beside_c_take_no_more_pairs_than_an_interior_point(
    rng, kernel, size
):
    X = rng.normal(size=(200, 3))
    y = size * (X @ [1.0, 2.0, 3.0] + 0.1 * rng.normal(size=200))
    problem = MarginProblem.regression(y, np.ones(200), 0.1 * size, True)
    found = SMO().solve(gram_of(kernel, X), problem)
    assert found.residual[0] <= 1e-3
    # A round of pairs, or a step of the interior point; pairs alone took hundreds and thousands.
    assert found.iterations < 100


@slow_pairs
def test_where_rounding_hides_the_gap_the_best_of_all_attempts_is_kept(rng):
    X = rng.normal(size=(200, 3))
    y = 1e-12 * (X @ [1.0, 2.0, 3.0])
    problem = MarginProblem.regression(y, np.ones(200), 0.0, True)
    gram = gram_of(Linear(), X)
    found = SMO().solve(gram, problem)
    assert found.residual[0] > 1e-3
    assert "lost in rounding" in found.advice
    values = gram.product(found.coefficients)[:, 0] + found.intercept
    assert_allclose(values, y, atol=1e-3 * np.abs(y).max())


def test_where_an_interior_point_fails_pairs_go_on_in_float64(rng, monkeypatch):
    X = rng.normal(size=(150, 2))
    y = 1e-10 * (np.sin(3.0 * X[:, 0]) + 0.1 * rng.normal(size=150))
    problem = MarginProblem.regression(y, np.ones(150), 1e-12, True)
    gram = gram_of(Gaussian(0.3), X)
    asked = []

    def failed(F, problem, goal, watch):
        asked.append(goal)
        return np.zeros(len(F))

    # It takes over after few steps, of which the engines count different numbers.
    for name, value in (("pause", 1000), ("multiplied", 10**9), ("again", 10**4)):
        monkeypatch.setattr(SMO, name, value)
    monkeypatch.setattr("mercer.solvers.margin.smo.interior_point", failed)
    found = SMO().solve(gram, problem)
    monkeypatch.setattr(SMO, "interior_rows", 0)
    alone = SMO().solve(gram, problem)
    assert len(asked) == 1
    assert found.residual[0] <= 1.1 * alone.residual[0] < 0.1


@pytest.mark.parametrize("limit", [{"max_steps": 1000}, {"max_iter": 3}], ids=str)
def test_limits_of_pairs_hold_before_an_interior_point_takes_over(rng, limit):
    X = rng.normal(size=(200, 3))
    y = 1e-3 * (X @ [1.0, 2.0, 3.0])
    problem = MarginProblem.regression(y, np.ones(200), 0.0, True)
    found = SMO(**limit).solve(gram_of(Linear(), X), problem)
    assert found.residual[0] > 1e-3
    assert "steps it is far from done" in found.advice or "max_iter (now 3)" in found.advice


@slow_pairs
def test_steps_of_an_interior_point_that_takes_over_are_reported(rng):
    X = rng.normal(size=(200, 3))
    y = 1e-3 * (X @ [1.0, 2.0, 3.0] + 0.1 * rng.normal(size=200))
    problem = MarginProblem.regression(y, np.ones(200), 1e-4, True)
    seen = []
    found = SMO().solve(
        gram_of(Linear(), X), problem, Run(progress=lambda step, gap: seen.append((step, gap)))
    )
    assert [step for step, _ in seen] == sorted(step for step, _ in seen)
    assert found.iterations == seen[-1][0]


@slow_pairs
def test_what_is_allowed_and_not_needed_changes_no_coefficient(rng):
    X = rng.normal(size=(200, 3))
    y = 1e-6 * (X @ [1.0, 2.0, 3.0] + 0.1 * rng.normal(size=200))
    problem = MarginProblem.regression(y, np.ones(200), 1e-7, True)
    gram = gram_of(Linear(), X)
    found = SMO().solve(gram, problem)
    allowed = SMO(max_iter=10_000).solve(gram, problem)
    assert_array_equal(allowed.coefficients, found.coefficients)
    assert allowed.iterations == found.iterations


@slow_pairs
def test_steps_of_an_interior_point_count_for_max_iter(rng):
    X = rng.normal(size=(200, 3))
    y = 1e-6 * (X @ [1.0, 2.0, 3.0] + 0.1 * rng.normal(size=200))
    problem = MarginProblem.regression(y, np.ones(200), 1e-7, True)
    gram = gram_of(Linear(), X)
    needed = SMO().solve(gram, problem).iterations
    found = SMO(max_iter=needed - 2).solve(gram, problem)
    assert found.iterations == needed - 2
    assert f"raise max_iter (now {needed - 2})" in found.advice
