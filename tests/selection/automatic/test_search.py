"""The search for a kernel: its rows, its rounds, and what is tried around what was learned."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer import Gaussian, KernelRidge, Linear, Polynomial
from mercer.data.stream import stream_of
from mercer.errors import KernelOverflowError, MemoryLimitError, SingularSystemError
from mercer.gram import gram_of
from mercer.kernels.params import rounded
from mercer.selection.automatic import left_out, pool, search
from mercer.selection.automatic.board import Candidate, simplest_first
from mercer.selection.automatic.kernels import Start, at_widths, starts
from mercer.selection.automatic.search import KernelSearch
from mercer.selection.automatic.sums import n_terms, to_learn_on
from mercer.solvers import Run
from mercer.solvers.ridge.held_out import LeftOut


def kernel_search(n=40, rng=None, run=None):
    rng = np.random.default_rng(0) if rng is None else rng
    X = rng.normal(size=(n, 2))
    run = Run() if run is None else run
    return KernelSearch(X, np.sin(X[:, :1]), np.ones(n), 1.0, np.arange(n), 10**9, 0, run)


def candidate(name, error, is_learned=False, seconds=0.0):
    squares = np.full(4, float(error) ** 2)
    return Candidate(
        name, Gaussian(1.0), 1.0, squares, error, "leave-one-out", 4, is_learned, seconds
    )


def test_equal_rows_with_equal_targets_are_one_row_of_the_weight_of_all():
    X = np.array([[5.0], [1.0], [5.0], [1.0], [3.0], [5.0]])
    y = np.array([[0.0], [1.0], [0.0], [2.0], [4.0], [0.0]])
    weights = np.array([1.0, 2.0, 3.0, 1.0, 0.0, 2.0])
    found = KernelSearch.of(Gaussian(1.0), X, y, weights, None, 0, Run())
    assert_array_equal(found.X, [[5.0], [1.0], [1.0]])
    assert_array_equal(found.y, [[0.0], [1.0], [2.0]])
    assert found.unit == 3.0
    assert_allclose(found.weights, np.array([6.0, 2.0, 1.0]) / 3.0)


def test_rows_of_no_weight_do_not_stand_for_equal_ones_that_have_some():
    X, y = np.array([[1.0], [1.0], [2.0]]), np.array([[0.0], [0.0], [1.0]])
    found = KernelSearch.of(Gaussian(1.0), X, y, np.array([0.0, 2.0, 4.0]), None, 0, Run())
    assert_array_equal(found.X, [[1.0], [2.0]])
    assert_allclose(found.weights * found.unit, [2.0, 4.0])


def test_a_sample_is_of_all_rows_or_of_some_in_their_order():
    one = kernel_search(40)
    assert_array_equal(one.sample(40), np.arange(40))
    some = one.sample(39)
    assert len(some) == 39
    assert_array_equal(some, np.unique(some))
    assert_array_equal(some, one.sample(39))
    assert not np.array_equal(some, replace(one, seed=1).sample(39))


# How many rows candidates of the second round are scored on here.
SECOND = 5


def played(monkeypatch, first, second, n=40, run=None):
    """The leaderboard where candidates have these errors in the first and the second round."""
    names = [Start(name, Gaussian(1.0), "learned" in name) for name in first]

    def starts(X, is_learned, keep):
        return [start for start in names if is_learned or not start.is_learned]

    monkeypatch.setattr(search, "starts", starts)
    refined = []

    def value(error):
        if isinstance(error, Exception):
            raise error
        return error

    def tried(self, start, learned, sample, limit):
        return candidate(start.name, value(first[start.name]), start.is_learned)

    def again(self, one, steps, limit):
        refined.append(one.name)
        error = value(second[one.name])
        return replace(one, squares=np.full(4, error**2), score=error, rows=SECOND)

    def mixed(self, candidates, limit):
        refined.append("weighted")
        error = value(second.get("weighted", SingularSystemError("none")))
        return replace(candidate("weighted", error, True), rows=SECOND)

    monkeypatch.setattr(KernelSearch, "_tried", tried)
    monkeypatch.setattr(KernelSearch, "_mixed", mixed)
    monkeypatch.setattr(KernelSearch, "_refined", again)
    return [(c.name, 1 + (c.rows == SECOND)) for c in kernel_search(n, run=run).winners()], refined


def test_the_best_of_either_kind_and_a_sum_play_the_second_round_which_decides(monkeypatch):
    first = {"a": 5.0, "b, learned": 3.0, "c, learned": 4.0, "d": 6.0}
    second = {
        "weighted": 9.5,
        "sum of b, c, learned": 9.0,
        "b, learned further": 7.5,
        "b, learned": 8.0,
        "c, learned": 10.0,
        "a": 7.0,
        "d": 11.0,
        "e": 12.0,
    }
    board, refined = played(monkeypatch, first | {"e": 7.0}, second)
    assert sorted(refined) == sorted(name for name in second if name != "e")
    best = sorted((name for name in second if name != "e"), key=second.get)
    # "e" was scored on the rows of the first round, and stands behind the others.
    assert board == [*((name, 2) for name in best), ("e", 1)]


@pytest.mark.parametrize(("n", "is_there"), [(29, False), (30, True)])
def test_scales_are_learned_from_thirty_rows_on(monkeypatch, n, is_there):
    errors = {"x, learned": 1.0, "y": 2.0}
    board, _ = played(monkeypatch, errors, errors | {"x, learned further": 1.5}, n)
    assert (("x, learned", 2) in board) == is_there


@pytest.mark.parametrize(("columns", "terms"), [(500, [3, 1]), (501, [1]), (1501, [])])
def test_of_many_columns_fewer_kernels_learn_on(columns, terms):
    learned = [candidate(f"{i}, learned", 1.0, True) for i in range(4)]
    found = to_learn_on(np.zeros((5, columns)), learned)
    assert [n_terms(c.kernel) for c in found] == terms


def test_what_cannot_be_fitted_is_left_out_of_either_round(monkeypatch):
    broken = SingularSystemError("singular")
    first, b = {"a": broken, "b, learned": 1.0, "c": 2.0}, "b, learned"
    further = {f"{b} further": broken}
    board, _ = played(monkeypatch, first, {b: broken, "c": 3.0} | further)
    assert board == [("c", 2), (b, 1)]
    board, _ = played(monkeypatch, {b: 1.0, "c": 2.0}, {b: broken, "c": broken} | further)
    assert board == [(b, 1), ("c", 1)]


def test_a_kernel_that_overflows_is_left_out_and_the_others_go_on(monkeypatch):
    one = kernel_search()
    steep, narrow = Polynomial(3000), Gaussian(1.0)
    with pytest.raises(KernelOverflowError, match="not finite"):
        one._judged(steep, KernelSearch.ridges, 1.0, np.arange(40))
    each = [Start("steep", steep, False), Start("narrow", narrow, False)]
    monkeypatch.setattr(search, "starts", lambda X, is_learned, keep: each)
    assert [c.name for c in one.winners()] == ["narrow"]


def test_where_nothing_can_be_fitted_the_first_refusal_is_told(monkeypatch):
    with pytest.raises(MemoryLimitError, match="first of all"):
        played(
            monkeypatch, {"a": MemoryLimitError("first of all"), "b": SingularSystemError("x")}, {}
        )


def test_an_error_that_is_no_refusal_of_one_kernel_is_raised(monkeypatch):
    with pytest.raises(ValueError, match="of ours"):
        played(monkeypatch, {"a": ValueError("of ours"), "b": 1.0}, {"b": 1.0})


def test_without_time_the_first_kernel_is_tried_all_the_same(monkeypatch):
    board, refined = played(monkeypatch, {"a": 2.0, "b": 1.0}, {}, run=Run(1e-9))
    assert board == [("a", 1)]
    assert not refined


def test_the_error_is_the_root_of_the_mean_square_over_rows_and_targets():
    one = kernel_search(12)
    one = replace(one, y=np.hstack([one.y, 2.0 * one.y]))
    found = one._judged(Gaussian(1.0), [1.0], 0.1, np.arange(12))
    missed = left_out.left_out(
        gram_of(Gaussian(1.0), one.X, 10**9), one.y, np.array([0.1]), np.ones(12), None
    )[:, 0]
    assert_allclose(found.squares, (missed**2).mean(axis=1))
    assert_allclose(found.score, np.sqrt((missed**2).mean()))


def test_the_time_of_both_rounds_adds_up(monkeypatch):
    times = iter([100.0, 107.0])
    monkeypatch.setattr(search, "perf_counter", lambda: next(times))
    one = kernel_search(20)
    found = one._refined(candidate("a", 1.0, seconds=3.0), 0, Run())
    assert found.seconds == 10.0
    assert found.rows == 20


@pytest.mark.parametrize(
    ("rows", "steps", "is_judged"), [(20, 0, False), (20, 3, True), (19, 0, True), (19, 3, True)]
)
def test_who_had_all_rows_and_learns_no_further_is_not_judged_again(
    monkeypatch, rows, steps, is_judged
):
    learned = []

    def learn(self, kernel, alpha, sample, steps, limit):
        learned.append(steps)
        return Gaussian(2.0), 0.5

    monkeypatch.setattr(KernelSearch, "_learned", learn)
    before = replace(candidate("a", 9.0), rows=rows)
    found = kernel_search(20)._refined(before, steps, Run())
    assert learned == ([steps] if steps else [])
    assert found.kernel == (Gaussian(2.0) if steps else Gaussian(1.0))
    assert (found.score < 9.0) is is_judged


def test_matrices_of_all_terms_must_fit_into_the_memory():
    one, terms = kernel_search(20), [Gaussian(1.0), Linear()]
    needed = search._bytes(np.arange(20), 2)
    assert needed > search._bytes(np.arange(20), 1) > search._bytes(np.arange(20))
    replace(one, memory=needed)._weighted(terms, np.arange(20), 1, Run())
    with pytest.raises(MemoryLimitError, match="2 matrices of 20 rows need"):
        replace(one, memory=needed - 1)._weighted(terms, np.arange(20), 1, Run())


@pytest.mark.parametrize(("memory", "rows"), [(0, 12), (16 * 8 * 5 * 20, 16), (10**9, 30)])
def test_rows_of_a_stream_are_kept_in_a_twentieth_of_the_memory(monkeypatch, memory, rows):
    monkeypatch.setattr(pool, "POOL", 30)
    stream = stream_of(lambda: iter([np.zeros((25, 5)), np.zeros((25, 5))]))
    drawn = pool.pool_of(stream, memory, 0, least=12)
    assert len(drawn) == len(np.unique(drawn)) == rows
    few = stream.part(np.arange(10))
    assert_array_equal(pool.pool_of(few, memory, 0, least=12), np.arange(10))


def test_rows_in_memory_are_all_drawn_from_up_to_a_hundred_thousand():
    assert pool.pool_of(np.zeros((100_000, 1)), 0, 0, 1) is None
    assert len(pool.pool_of(np.zeros((100_001, 1)), 0, 0, 1)) == 100_000


@pytest.mark.parametrize("alpha", [0.02, 1e-12])
def test_ridges_around_the_learned_one_are_tried_and_none_below_rounding(alpha, monkeypatch):
    asked = []

    def recorded(gram, problem):
        asked.append(problem.alpha)
        return LeftOut(np.zeros_like(problem.y), np.ones_like(problem.y))

    monkeypatch.setattr(left_out, "leave_one_out", recorded)
    one, kernel = kernel_search(20), 4.0 * Gaussian(1.0)
    one._judged(kernel, KernelSearch.ridges, alpha, np.arange(20))
    expected = sorted({max(alpha * r, 4.0 * KernelSearch.least_ridge) for r in KernelSearch.ridges})
    assert_allclose(asked, [expected])
    assert len(expected) == (3 if alpha > 1e-6 else 1)


@pytest.mark.parametrize("columns", [1, 3])
@pytest.mark.parametrize("is_there", [True, False])
def test_few_rows_choose_the_ridge_where_they_hold_every_class(columns, is_there, monkeypatch):
    one, asked = kernel_search(40), []
    monkeypatch.setattr(KernelSearch, "first_rows", 10)
    few = one.sample(10)
    rare = few[0] if is_there else np.setdiff1d(np.arange(40), few)[0]
    labels = np.arange(40) % (columns - 1 or 1)
    labels[rare] = columns - 1 or 1
    codes = np.where(labels[:, None] == np.arange(columns) + (columns == 1), 1.0, -1.0)
    judge = left_out.left_out

    def recorded(gram, y, alphas, w, groups):
        asked.append((len(y), len(alphas)))
        return judge(gram, y, alphas, w, groups)

    monkeypatch.setattr(search, "left_out", recorded)
    replace(one, y=codes)._judged(Gaussian(1.0), KernelSearch.ridges, 0.1, np.arange(40))
    assert asked == ([(10, 3), (40, 1)] if is_there else [(40, 3)])


def test_errors_are_those_of_fits_without_each_row():
    one = kernel_search(12)
    kernel, alpha, squares, *_ = one._judged(Gaussian(1.0), [1.0], 0.1, np.arange(12))
    assert (kernel, alpha) == (Gaussian(1.0), 0.1)
    for i in range(12):
        rest = np.delete(np.arange(12), i)
        model = KernelRidge(Gaussian(1.0), 0.1).fit(one.X[rest], one.y[rest, 0])
        missed = one.y[i, 0] - model.predict(one.X[[i]])[0]
        assert_allclose(np.sqrt(squares[i]), abs(missed), atol=1e-9)


def test_classes_are_scored_by_the_share_of_weight_in_a_wrong_class():
    codes = np.array([[1.0, -1.0, -1.0], [-1.0, 1.0, -1.0], [-1.0, -1.0, 1.0]])
    scores = np.array([[0.1, 0.2, 0.0], [0.0, 0.2, 0.1], [0.3, 0.2, 0.1]])
    assert left_out.wrong_share(codes, scores, np.array([1.0, 2.0, 5.0])) == 0.75
    two = np.array([[1.0], [-1.0], [1.0]])
    assert left_out.wrong_share(two, np.array([[0.1], [0.1], [3.0]]), np.ones(3)) == 1 / 3


def test_some_rows_are_judged_with_their_own_targets_and_weights():
    weights = np.linspace(0.5, 1.5, 12)
    one = replace(kernel_search(12), weights=weights)
    some = np.array([1, 3, 4, 7, 8, 10, 11])
    alone = KernelSearch(one.X[some], one.y[some], weights[some], 1.0, some, 10**9, 0, Run())
    squares = one._judged(Gaussian(1.0), [1.0], 0.1, some)[2]
    assert_allclose(squares, alone._judged(Gaussian(1.0), [1.0], 0.1, np.arange(7))[2])


def test_what_was_learned_is_kept_in_four_digits():
    kernel = 1.234567 * Gaussian((0.00123456, 98765.4321))
    assert rounded(kernel, 4).diagonal(np.zeros((1, 2)))[0] == 1.235
    scales = [v for k, v in rounded(kernel, 4).get_params().items() if k.endswith("length_scale")]
    assert scales == [(0.001235, 98770.0)]


def test_a_kernel_that_is_not_learned_is_tried_at_two_widths():
    assert at_widths(Gaussian(2.0)) == [Gaussian(1.0), Gaussian(3.0)]
    assert at_widths(Linear()) == [Linear()]
    assert at_widths(Gaussian((1.0, 2.0))) == [Gaussian((1.0, 2.0))]


def test_a_learned_kernel_stays_first_where_it_is_better_by_more_than_a_deviation_or_a_hundredth():
    def with_squares(name, squares, is_learned):
        return replace(candidate(name, 0.0, is_learned), squares=np.array(squares))

    learned = with_squares("learned", [1.0, 1.0, 1.0, 1.0], True)
    near = with_squares("near", [1.5, 0.5, 1.53, 0.5], False)
    far = with_squares("far", [1.5, 0.5, 1.6, 0.5], False)
    steady = with_squares("steady", [1.005] * 4, False)
    assert simplest_first([learned, near])[0].name == "near"
    assert [c.name for c in simplest_first([learned, far])] == ["learned", "far"]
    assert [c.name for c in simplest_first([learned, steady])] == ["learned", "steady"]
    assert [c.name for c in simplest_first([learned, far, near])] == ["near", "learned", "far"]
    other = with_squares("other", [1.0, 1.0, 1.0, 1.0], True)
    assert simplest_first([learned, other])[0].name == "learned"
    assert simplest_first([]) == []


def test_a_sum_of_functions_of_single_columns_is_found():
    X = np.random.default_rng(0).uniform(-2.0, 2.0, size=(150, 6))
    y = np.sin(3.0 * X).sum(axis=1, keepdims=True)
    one = KernelSearch(X, y, np.ones(150), 1.0, np.arange(150), 10**9, 0, Run())
    additive = next(s for s in starts(X) if s.terms)
    found = one._tried(additive, None, np.arange(150), Run())
    isotropic = next(s for s in starts(X) if not s.is_learned)
    assert found.error < 0.2 * one._tried(isotropic, None, np.arange(150), Run()).error


def test_where_one_kernel_that_leads_finds_nothing_the_others_start_from_the_other(monkeypatch):
    begun = {}

    def tried(self, start, learned, sample, limit):
        begun[start.name] = None if learned is None else learned.name
        error = {"matern32, learned": 9.0, "laplacian, learned": 1.0}.get(start.name, 5.0)
        return candidate(start.name, error, start.is_learned)

    monkeypatch.setattr(KernelSearch, "_tried", tried)
    kernel_search(40)._first_round()
    assert begun["matern32, learned"] is None
    assert begun["gaussian, learned"] == "laplacian, learned"
    assert begun["gaussian"] is None


def test_where_none_that_leads_finds_anything_the_others_start_from_the_beginning(monkeypatch):
    begun = {}

    def tried(self, start, learned, sample, limit):
        begun[start.name] = learned
        return candidate(start.name, 9.0 if start.is_learned else 5.0, start.is_learned)

    monkeypatch.setattr(KernelSearch, "_tried", tried)
    kernel_search(40)._first_round()
    assert begun["gaussian of ranks, learned"] is None


def test_kernels_of_many_terms_learn_their_weights_alone():
    assert n_terms(Gaussian(1.0)) == 1
    assert n_terms(2.0 * Gaussian(1.0) + 3.0 * (Linear() + Gaussian(2.0))) == 3
    assert n_terms(Gaussian(1.0) * (Linear() + 1.0)) == 1
