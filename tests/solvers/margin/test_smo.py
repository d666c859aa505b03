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
from mercer.solvers.margin import low_rank_start as seeding, smo
from mercer.solvers.margin.problem import Gap

KERNEL = Gaussian(1.0)


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
    monkeypatch.setattr(smo, "MANY", 100)
    monkeypatch.setattr(smo, "FEW", 0)
    monkeypatch.setattr(seeding, "RANKS", (8, 16))
    monkeypatch.setattr(seeding, "FEWEST", 60)
    begin = exact.coefficients[:, 0] * 0.5 if start else None
    screened = SMO(tol=1e-5).solve(gram, replace(problem, start=begin))
    assert screened.residual[0] <= 1e-5
    f = KERNEL(X) @ screened.coefficients
    assert_allclose(f, KERNEL(X) @ exact.coefficients, atol=0.02)


def test_screening_works_for_a_tube(X, rng, monkeypatch):
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=400)
    problem = MarginProblem.regression(y, np.full(400, 10.0), 0.1, True)
    monkeypatch.setattr(smo, "MANY_IN_TUBE", 100)
    monkeypatch.setattr(smo, "FEW", 0)
    monkeypatch.setattr(seeding, "RANKS", (8, 16))
    monkeypatch.setattr(seeding, "FEWEST", 60)
    solution = SMO(tol=1e-5).solve(StreamedGram(KERNEL, X), problem)
    peer = SVR(C=10.0, epsilon=0.1, gamma=0.5, tol=1e-6).fit(X, y)
    assert solution.residual[0] <= 1e-5
    f = KERNEL(X) @ solution.coefficients[:, 0] + solution.intercept[0]
    assert_allclose(f, peer.predict(X), atol=0.02)


def test_the_measured_gap_is_that_of_float64(X, signs, monkeypatch):
    monkeypatch.setattr(smo, "FEW", 0)
    problem = classification(signs, 100.0)
    solution = SMO(tol=1e-6).solve(StreamedGram(KERNEL, X), problem)
    a = solution.coefficients[:, 0]
    gap = problem.proved(a, KERNEL(X) @ a, KERNEL.diagonal(X))
    # Terms of size one cancel in the gap, to the last of their digits.
    assert_allclose(solution.residual[0], gap.relative, rtol=1e-6, atol=1e-14)
    assert_allclose(solution.radius[0] ** 2, 2.0 * gap.gap, rtol=1e-6, atol=1e-14 * gap.scale)
    assert gap.relative <= 1e-6


@pytest.mark.parametrize("few", [0, 1024])
def test_rows_that_float32_cannot_tell_apart_are_solved(X, signs, monkeypatch, few):
    monkeypatch.setattr(smo, "FEW", few)
    problem, far = classification(signs, 10.0), X + 1e8
    solution = SMO().solve(StreamedGram(KERNEL, far), problem)
    a = solution.coefficients[:, 0]
    assert problem.gap(a, KERNEL(far) @ a).relative <= 1e-3


def test_few_rows_are_solved_to_the_last_digits(X, signs):
    few = smo.FEW
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
    monkeypatch.setattr(smo, "MANY", 100)
    monkeypatch.setattr(smo, "FEW", 0)
    monkeypatch.setattr(seeding, "RANKS", (8, 16))
    monkeypatch.setattr(seeding, "FEWEST", 60)
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


class Recorded:
    """The minimiser of the engine, with what it was asked for."""

    def __init__(self, monkeypatch):
        self.calls, self.minimise = [], smo.minimise
        monkeypatch.setattr(smo, "minimise", self)

    def __call__(self, *given):
        names = ("K", "box", "a", "g", "effort", "stop", "progress", "is_single", "capacity")
        call = dict(
            zip((*names, "working_set", "newton_step", "is_eager", "index"), given, strict=True)
        )
        self.calls.append(call)
        return self.minimise(*given)


@pytest.fixture
def recorded(monkeypatch):
    return Recorded(monkeypatch)


def test_pairs_are_solved_to_a_tenth_of_the_tolerance_with_what_is_allowed(X, signs, recorded):
    problem = classification(signs)
    SMO(tol=1e-2, max_iter=500).solve(StreamedGram(KERNEL, X), problem, Run(time_limit=60.0))
    first = recorded.calls[0]
    effort = first["effort"]
    assert_allclose(effort.tolerance, 1e-3)
    assert (effort.floor, effort.rounds, effort.threads, effort.is_main) == (0.0, 500, None, True)
    assert 0.0 < effort.seconds <= 60.0
    assert first["is_single"]
    assert first["working_set"] == 256
    assert not first["is_eager"]
    assert first["index"] is None
    # Few enough rows for the whole matrix.
    assert first["K"].shape == (400, 400)
    other = SMO(tol=1e-2, working_set=64)
    other.solve(StreamedGram(KERNEL, X), problem, Run(is_main=False))
    assert recorded.calls[-1]["working_set"] == 64
    assert recorded.calls[-1]["effort"].threads == 1
    assert recorded.calls[-1]["effort"].rounds == 2**62
    assert recorded.calls[-1]["effort"].seconds == np.inf


@pytest.mark.parametrize(("whole", "is_whole"), [(401, True), (400, False)])
def test_many_rows_are_written_as_they_are_asked_for(
    X, signs, recorded, monkeypatch, whole, is_whole
):
    monkeypatch.setattr(smo, "WHOLE", whole)
    monkeypatch.setattr(smo, "STORE", 4 * 400 * 300)
    SMO(tol=1e-2).solve(StreamedGram(KERNEL, X), classification(signs))
    call = recorded.calls[0]
    assert isinstance(call["K"], np.ndarray) is is_whole
    assert call["capacity"] == 300
    if not is_whole:
        out = np.empty((2, 400), np.float32)
        call["K"](np.array([3, 5]), out)
        assert_allclose(out, KERNEL(X)[[3, 5]], atol=1e-6)


def test_a_matrix_that_does_not_fit_is_read_by_rows(X, signs, recorded):
    enough = 4 * 400 * 400
    SMO(tol=1e-2).solve(StreamedGram(KERNEL, X, enough), classification(signs))
    assert isinstance(recorded.calls[0]["K"], np.ndarray)
    SMO(tol=1e-2).solve(StreamedGram(KERNEL, X, enough - 1), classification(signs))
    assert not isinstance(recorded.calls[-1]["K"], np.ndarray)
    assert recorded.calls[-1]["capacity"] == (enough - 1) // 1600


@pytest.mark.parametrize(("many", "working_set"), [(400, 256), (399, 512)])
def test_a_working_set_is_larger_for_more_rows(X, signs, recorded, monkeypatch, many, working_set):
    monkeypatch.setattr(smo, "MANY", many)
    monkeypatch.setattr(smo, "seed", lambda *given: None)
    SMO(tol=1e-2).solve(StreamedGram(KERNEL, X), classification(signs))
    assert recorded.calls[0]["working_set"] == working_set


def run_of(X, problem, tol=1e-3):
    return smo._State(StreamedGram(KERNEL, X), problem, SMO(tol), Run())


def test_rows_in_doubt_are_not_clearly_at_a_bound(X, signs, monkeypatch):
    problem = classification(signs)
    monkeypatch.setattr(smo, "MANY", 399)
    run = run_of(X, problem)
    a = SMO(tol=1e-5).solve(run.gram, problem).coefficients[:, 0]
    f = KERNEL(X) @ a
    run.values.replace(a, f, True)
    gap = problem.gap(a, f)
    worst = np.maximum(*problem.slopes(a, f + gap.offset - problem.z))
    clear = worst < 0.0
    # Of those that are where they should be, one in twenty, next to a kink, may still move.
    clear &= worst < np.quantile(worst[clear], 0.95)
    assert 0 < (~clear).sum() < 0.8 * 400
    assert_array_equal(run._doubtful(gap), np.flatnonzero(~clear))
    monkeypatch.setattr(smo, "MOST_ACTIVE", float((~clear).mean()))
    assert run._doubtful(gap) is None
    monkeypatch.setattr(smo, "MANY", 400)
    assert run._doubtful(gap) is None


def test_a_tube_is_screened_from_more_rows_on(X, signs, rng):
    assert run_of(X, classification(signs))._many == 8192
    tube = MarginProblem.regression(rng.normal(size=400), np.ones(400), 0.1, True)
    assert run_of(X, tube)._many == 20_000


def test_what_ended_it_is_said(X, signs):
    state = run_of(X, classification(signs))
    assert (
        SMO()._advice(state).startswith("the gap is lost in rounding; lower C, scale the columns")
    )
    state.reason = "rounds"
    assert SMO(max_iter=9)._advice(state) == "max_iter was reached; raise max_iter (now 9)"


def test_callbacks_count_the_rounds_of_all_stages(X, signs):
    seen = []
    run = run_of(X, classification(signs))
    assert run._report() is None
    run.run.progress, run.rounds = lambda i, gap: seen.append((i, gap)), 7
    run._report()(2, 0.5)
    assert seen == [(9, 0.5)]


@pytest.mark.parametrize(
    ("relative", "before", "active", "is_certified"),
    [
        # Small enough, or not falling any more where float32 may be what keeps it from falling.
        (0.2e-3, np.inf, None, True),
        (0.4e-3, np.inf, None, False),
        (0.4e-3, 0.5e-3, None, True),
        (5e-3, 6e-3, np.arange(5), False),
        (0.9e-3, 1e-3, np.arange(5), True),
    ],
)
def test_float64_measures_once_float32_has_told_all_it_can(
    X, signs, monkeypatch, relative, before, active, is_certified
):
    monkeypatch.setattr(smo, "MANY", 10)
    run = run_of(X, classification(signs))
    run._gap = before

    class Known:
        gap = Gap(0.0, relative, 1.0)

        def certified(self):
            return "certified"

    run.values = Known()
    found, certified = run._measured(active)
    assert certified is is_certified
    assert (found == "certified") is is_certified
    monkeypatch.setattr(smo, "MANY", 400)
    assert run._measured(active) == ("certified", True)


class Told:
    """Values whose gap is known beforehand, in place of those of a solve."""

    def __init__(self, gaps):
        self.gaps, self.is_exact = iter(gaps), False

    @property
    def gap(self):
        return Gap(0.0, next(self.gaps), 2.0)

    def certified(self):
        return self.gap

    def exact(self):
        self.is_exact = True


def stages(X, problem, gaps, tol=1e-3):
    """Return what every stage solves for: which rows, to which gap, above which floor, and how."""
    state = run_of(X, problem, tol)
    seen, values = [], Told([2.0 * gap for gap in gaps])

    def improve(active, aim, floor, is_double):
        assert values.is_exact is is_double
        seen.append(("all" if active is None else "some", aim, floor, is_double))

    state.values, state._improve = values, improve
    state._seeded = lambda: np.arange(5)
    state._doubtful = lambda gap: np.arange(5)
    state._measured = lambda active: (values.gap, True)
    state.finish()
    return seen


def test_rows_in_doubt_are_solved_while_that_halves_the_gap_and_all_rows_where_it_does_not(
    X, signs, monkeypatch
):
    monkeypatch.setattr(smo, "MANY", 399)
    gaps = [0.4, 0.19, 0.15, 0.12, 0.1, 0.099, 0.04, 0.9e-3]
    seen = stages(X, classification(signs), gaps)
    assert [rows for rows, *_ in seen] == [*["some"] * 6, "all", "some"]
    # Two digits at first, then a fiftieth of the gap of all rows; all rows go to the end.
    aims = [1e-2, *(0.02 * np.array([0.4, 0.19, 0.15, 0.12, 0.1])), 1e-4, 0.02 * 0.04]
    assert_allclose([aim for _, aim, *_ in seen], aims)
    assert [floor for _, _, floor, _ in seen] == [0.0, *[2.0] * 7]
    assert not any(is_double for *_, is_double in seen)


def test_float64_is_for_all_rows_that_float32_does_not_get_on_with(X, signs, monkeypatch):
    monkeypatch.setattr(smo, "MANY", 399)
    gaps = [0.1, 0.09, 0.09, 0.09, 0.09, 0.08, 0.07]
    seen = stages(X, classification(signs), gaps)
    # Without progress for four stages all rows are solved for, then in float64, then no more.
    assert [rows for rows, *_ in seen] == ["some"] * 5 + ["all"] * 2
    assert [is_double for *_, is_double in seen] == [False] * 6 + [True]


@pytest.mark.parametrize(
    ("gap", "active", "is_double", "is_eager"),
    [
        (0.09, None, False, True),
        (0.11, None, False, False),
        (0.09, None, True, False),
        (0.09, np.arange(300), False, False),
    ],
)
def test_a_solve_of_all_rows_near_the_optimum_begins_with_a_newton_step(
    X, signs, recorded, gap, active, is_double, is_eager
):
    state = run_of(X, classification(signs))
    state._gap = gap
    state._improve(active, 1e-2, 0.0, is_double)
    assert recorded.calls[0]["is_eager"] is is_eager


@pytest.mark.parametrize(
    ("doubtful", "is_taken"), [(0, False), (1, True), (319, True), (320, False)]
)
def test_a_seed_leaves_the_rows_in_doubt_unless_they_are_none_or_most(
    X, signs, monkeypatch, doubtful, is_taken
):
    problem = classification(signs)
    a = problem.feasible(np.where(X[:, 2] > 0.5, signs, 0.0))
    rows = np.arange(doubtful)
    monkeypatch.setattr(smo, "are_bounded", lambda *given: True)
    monkeypatch.setattr(smo, "seed", lambda *given: seeding.Seed(a.copy(), rows))
    state = run_of(X, problem)
    found = state._seeded()
    assert_array_equal(state.values.a, a)
    if is_taken:
        assert_array_equal(found, rows)
        assert_allclose(state.values.f[rows], (KERNEL(X) @ a)[rows], atol=1e-4)
    else:
        assert found is None
        assert_allclose(state.values.f, KERNEL(X) @ a, atol=1e-4)


@pytest.mark.parametrize("rounds", [0, 1])
def test_ctrl_c_ends_with_a_model_once_a_working_set_was_solved(X, signs, monkeypatch, rounds):
    def finish(state):
        state.rounds = rounds
        raise KeyboardInterrupt

    monkeypatch.setattr(smo._State, "finish", finish)
    run = Run()
    if rounds == 0:
        with pytest.raises(KeyboardInterrupt):
            SMO().solve(StreamedGram(KERNEL, X), classification(signs), run)
    else:
        assert SMO().solve(StreamedGram(KERNEL, X), classification(signs), run).iterations == 1
        assert run.is_interrupted


def test_bounds_out_of_reach_end_with_a_sentence_and_not_never(rng):
    X = rng.normal(size=(30, 2))
    # Linear functions do not fit these targets, and the steps are as small as the targets are.
    problem = MarginProblem.regression(rng.normal(size=30), np.full(30, 1e20), 0.01, True)
    solution = SMO(max_steps=5000).solve(gram_of(Linear(), X), problem)
    assert solution.residual[0] > 1e-3
    assert "lower C, or scale small targets up" in solution.advice


def test_last_digits_are_taken_if_they_leave_no_larger_gap_and_looked_for_thrice(
    X, signs, monkeypatch
):
    problem, K = classification(signs), KERNEL(X)
    exact = SMO(tol=1e-13).solve(StreamedGram(KERNEL, X), problem).coefficients[:, 0]
    rough = problem.feasible(exact + 1e-3)
    for found, is_better in ((exact, True), (np.zeros(400), False), (None, False)):
        state, goals = run_of(X, problem), []
        state.values.replace(rough.copy(), K @ rough, True)
        point = None if found is None else (found.copy(), K @ found)
        monkeypatch.setattr(smo, "polished", lambda *given, point=point: point)
        state._improve = lambda active, goal, *given, goals=goals: goals.append(goal)
        state._polish(state.values.gap)
        assert_array_equal(state.values.a, exact if is_better else rough)
        # Where rounding alone is left over there is no more to be had.
        assert goals == ([] if is_better else [1e-8, 1e-11, 1e-14])


@pytest.mark.parametrize("reason", ["rounds", "stalled", "time", "steps"])
def test_working_sets_that_do_not_find_the_last_digits_are_not_missed(
    X, signs, monkeypatch, reason
):
    state, goals = run_of(X, classification(signs)), []
    monkeypatch.setattr(smo, "polished", lambda *given: None)

    def improve(active, goal, floor, is_double, most):
        goals.append((goal, is_double, most))
        state.reason = reason

    state._improve, state.rounds = improve, 7
    state._polish(state.values.gap)
    assert goals == [(1e-8, True, 37)]
    assert state.reason == ("converged" if reason in ("rounds", "stalled") else reason)


def test_after_thirty_stages_it_ends_with_what_there_is(X, signs, monkeypatch):
    monkeypatch.setattr(smo, "MANY", 399)
    gaps = 0.4 ** np.arange(1.0, 40.0)
    assert len(stages(X, classification(signs), gaps, tol=1e-30)) == 30
