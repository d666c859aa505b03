"""What the automatic search does in its rounds: rows, steps and ridges."""

from collections import Counter
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer import Gaussian, Linear, Matern32
from mercer.kernels import Laplacian
from mercer.selection.automatic import pool, search as module
from mercer.selection.automatic.board import Candidate, Judged
from mercer.selection.automatic.kernels import Start
from mercer.selection.automatic.search import KernelSearch
from mercer.solvers import Run

RIDGES, PLAIN_RIDGES = (0.3, 1.0, 3.0), (1e-4, 1e-2, 0.3)


def search_of(n, d=2, **settings):
    X = np.random.default_rng(0).normal(size=(n, d))
    given = {"memory": 10**9, "seed": 0, "run": Run(), **settings}
    return KernelSearch(X, np.sin(X[:, :1]), np.ones(n), 1.0, np.arange(n), **given)


def candidate(name, error, kernel=None, is_learned=True, alpha=1.0):
    kernel = Gaussian(1.0) if kernel is None else kernel
    squares = np.full(4, float(error) ** 2)
    return Candidate(name, kernel, alpha, squares, error, 1, 4, is_learned, 0.0)


@pytest.fixture
def noted(monkeypatch):
    """What was learned and judged, with which rows, steps, ridges and time; nothing is computed."""
    seen = Counter()

    def learned(self, kernel, alpha, sample, steps, limit):
        seen["learned", len(sample), steps, alpha, round(limit.seconds_left, -4)] += 1
        return kernel.resolved(self.X), 0.5

    def weighted(self, terms, sample, steps, limit):
        seen["weighted", len(sample), steps, len(terms), round(limit.seconds_left, -4)] += 1
        return Gaussian(3.0), 0.25

    def judged(self, kernel, factors, alpha, sample):
        seen["judged", len(sample), tuple(factors)] += 1
        # The Laplacian leads, and what is not learned is worst.
        error = 1.0 if "laplacian" in str(kernel) else 2.0
        squares = np.full(len(sample), error if tuple(factors) == RIDGES else 9.0)
        return Judged(kernel, alpha, squares, error, None)

    monkeypatch.setattr(KernelSearch, "_learned", learned)
    monkeypatch.setattr(KernelSearch, "_weighted", weighted)
    monkeypatch.setattr(KernelSearch, "_judged", judged)
    monkeypatch.setattr(module, "thread_count", lambda: 1)
    return seen


def test_every_kernel_is_tried_on_400_rows_and_the_best_are_learned_on_800_and_judged_on_1000(
    noted,
):
    board = search_of(1200, run=Run(1e6)).winners()
    assert noted == {
        # Two lead, six start from the scales and the ridge of the better, one learns weights.
        ("learned", 400, 20, None, 4e5): 2,
        ("learned", 400, 8, 0.5, 4e5): 6,
        ("weighted", 400, 20, 4, 4e5): 1,
        ("judged", 400, RIDGES): 9,
        # Eight as they are, at two widths.
        ("judged", 400, PLAIN_RIDGES): 16,
        # The best one and the sum of three learn on; of six the weights are learned.
        ("learned", 800, 12, 0.5, 7e5): 1,
        ("learned", 800, 12, 1.0, 7e5): 1,
        ("weighted", 800, 8, 6, 7e5): 1,
        # These three, and the best two that are learned and that are not.
        ("judged", 1000, RIDGES): 7,
    }
    assert Counter(c.rows for c in board) == {400: 13, 1000: 7}
    assert sum(c.is_learned for c in board) == 12
    sums = [c for c in board if "sum of" in c.name]
    assert sorted(c.name.count(",") for c in sums) == [3, 5]


def test_rows_in_hand_are_judged_by_the_first_round_alone(noted):
    search_of(300).winners()
    rows = Counter((kind, n) for kind, n, *_ in noted.elements())
    # Of the second round only what was learned there, and the sums, are judged.
    assert rows == {("learned", 300): 10, ("weighted", 300): 2, ("judged", 300): 28}


def test_kernels_of_more_than_four_terms_do_not_learn_on(monkeypatch):
    refined = []
    monkeypatch.setattr(
        KernelSearch, "_refined", lambda self, c, steps, limit: refined.append((c.name, steps)) or c
    )
    monkeypatch.setattr(
        KernelSearch, "_mixed", lambda self, c, limit: refined.append(len(c)) or c[0]
    )
    monkeypatch.setattr(module, "thread_count", lambda: 1)

    def terms(count):
        total = Gaussian(1.0)
        for k in range(1, count):
            total = total + Gaussian(1.0 + k)
        return total

    tried = [
        candidate(f"{name}, learned", 1.0, terms(n))
        for name, n in zip("abc", (5, 4, 4), strict=True)
    ]
    search_of(40)._second_round(tried)
    assert refined == [
        3,
        ("sum of b, c, learned", 12),
        ("b, learned further", 12),
        ("a, learned", 0),
        ("b, learned", 0),
    ]
    refined.clear()
    search_of(40)._second_round(tried[1:2])
    assert refined == [("b, learned further", 12), ("b, learned", 0)]


@pytest.mark.parametrize(
    ("memory", "threads", "needed", "at_once"),
    [
        (150, 9, [10, 60, 200], 2),
        (150, 1, [10, 60], 1),
        (150, 9, [150, 60], 1),
        (150, 9, [151], 1),
        (150, 9, [50], 3),
    ],
)
def test_as_many_kernels_run_side_by_side_as_memory_holds_of_the_largest_that_fits(
    monkeypatch, memory, threads, needed, at_once
):
    seen = []
    monkeypatch.setattr(module, "thread_count", lambda: threads)
    monkeypatch.setattr(module, "in_pool", lambda run, jobs, count: seen.append(count) or [])
    search_of(20, memory=memory)._side_by_side([], needed, Run())
    assert seen == [at_once]


def test_a_pair_of_rows_takes_56_bytes_and_eight_for_every_term():
    assert module._bytes(np.arange(10)) == 56 * 100
    assert module._bytes(np.arange(10), 3) == (56 + 3 * 8) * 100


@pytest.mark.parametrize(
    ("memory", "rows"), [(56 * 25**2, 25), (56 * 25**2 - 1, 24), (0, 2), (10**9, 30)]
)
def test_a_sample_is_of_as_many_rows_as_memory_holds_pairs_of_and_of_two_at_least(memory, rows):
    assert len(search_of(50, memory=memory).sample(30)) == rows


def test_what_learning_is_given_and_gives_back_in_four_digits(monkeypatch):
    given = {}

    def learn(kernel, X, y, **settings):
        given.update(settings, kernel=kernel, X=X, y=y)
        return SimpleNamespace(kernel=Gaussian(1.23456), alpha=0.00123456)

    monkeypatch.setattr(module, "learn", learn)
    some, weights = np.arange(1, 30, 2), np.linspace(0.5, 1.5, 40)
    one = replace(search_of(40, d=1), weights=weights)
    found = one._learned(Gaussian(2.0), 0.7, some, 9, Run(500.0))
    assert found == (Gaussian(1.235), 0.001235)
    assert (given["alpha"], given["rows"], given["max_iter"]) == (0.7, 15, 9)
    assert given["time_limit"] == pytest.approx(500.0, abs=60.0)
    assert given["memory"] == one.memory
    assert_array_equal(given["X"], one.X[some])
    assert_array_equal(given["y"], one.y[some])
    assert_array_equal(given["sample_weight"], weights[some])


def test_learned_weights_of_terms_are_those_of_the_rows_in_four_digits(monkeypatch):
    given = []

    def learned_weights(terms, rows, problem, steps, limit):
        given.extend([terms, rows, problem, steps])
        return np.array([1.23456, 2.0]), 0.00123456

    monkeypatch.setattr(module, "learned_weights", learned_weights)
    some, weights = np.array([1, 4, 6]), np.linspace(0.5, 1.5, 10)
    one = replace(search_of(10), weights=weights)
    kernel, alpha = one._weighted([Gaussian("median"), Linear()], some, 9, Run())
    terms, rows, problem, steps = given
    assert terms == [Gaussian("median").resolved(one.X[some], weights[some]), Linear()]
    assert (steps, alpha) == (9, 0.001235)
    assert kernel == 1.235 * terms[0] + 2.0 * Linear()
    assert_array_equal(rows, one.X[some])
    assert_array_equal(problem.y, one.y[some])
    assert_array_equal(problem.weights, weights[some])
    assert problem.fit_intercept


def test_the_weighted_sum_is_of_kernels_in_units_of_their_ridges(monkeypatch):
    given = []
    times = iter([100.0, 107.0, 200.0, 203.0])
    monkeypatch.setattr(module, "perf_counter", lambda: next(times))

    def weighted(self, terms, sample, steps, limit):
        given.append(terms)
        return Gaussian(3.0), 0.25

    monkeypatch.setattr(KernelSearch, "_weighted", weighted)
    parts = [candidate("a, learned", 1.0, alpha=0.5), candidate("b, learned", 1.0, Linear())]
    found = search_of(20)._mixed(parts, Run())
    assert given == [[2.0 * Gaussian(1.0), 1.0 * Linear()]]
    assert found.name == "weighted sum of a, b"
    assert (found.kernel, found.rows) == (Gaussian(3.0), 20)
    assert found.seconds == 10.0
    assert found.alpha in [0.25 * factor for factor in RIDGES]


def test_a_candidate_of_the_first_round_has_the_better_of_two_widths_and_its_time(monkeypatch):
    times = iter([100.0, 107.0])
    monkeypatch.setattr(module, "perf_counter", lambda: next(times))

    def judged(self, kernel, factors, alpha, sample):
        # One row counts more than the others together.
        squares = np.array([9.0, 0.0]) if kernel == Gaussian(2.0) else np.array([1.0, 1.0])
        return Judged(kernel, alpha, squares, 7.0, squares[:, None])

    monkeypatch.setattr(KernelSearch, "_judged", judged)
    start = Start("plain", 5.0 * Gaussian(4.0), False)
    monkeypatch.setattr(module, "at_widths", lambda k: [Gaussian(2.0), k])
    found = search_of(20)._tried(start, None, np.arange(12), Run())
    assert (found.kernel, found.alpha) == (5.0 * Gaussian(4.0), 5.0)
    assert (found.scored_by, found.rows, found.is_learned) == ("leave-one-out", 12, False)
    assert (found.seconds, found.score) == (7.0, 7.0)
    assert_array_equal(found.missed, [[1.0], [1.0]])


def test_the_ridge_has_the_least_weighted_square_over_all_targets(monkeypatch):
    # Errors of two rows with three ridges at two targets.
    missed = np.array([[[3.0, 0.0], [0.0, 2.0], [1.0, 1.0]], [[0.0, 0.0], [0.0, 0.0], [2.0, 2.0]]])
    monkeypatch.setattr(module, "left_out", lambda *given: missed)
    one = replace(search_of(2), y=np.zeros((2, 2)), weights=np.array([1.0, 0.1]))
    found = one._judged(Gaussian(1.0), (1.0, 2.0, 3.0), 0.5, np.arange(2))
    # Their weighted squares are 9, 4 and 2 + 0.8.
    assert found.alpha == 1.5
    assert_array_equal(found.missed, missed[:, 2])
    assert_allclose(found.squares, [1.0, 0.4])
    assert_allclose(found.score, np.sqrt(0.7))
    labelled = replace(one, y=np.array([[1.0, -1.0], [-1.0, 1.0]]), is_classes=True)
    missed[:, 2] = [[0.5, -0.5], [-2.0, 2.0]]
    found = labelled._judged(Gaussian(1.0), (1.0, 2.0, 3.0), 0.5, np.arange(2))
    assert_allclose(found.score, 0.1 / 1.1)


def test_folds_are_of_five_whole_groups_or_of_as_many_as_there_are():
    labels = np.tile([0, 1], 20)
    assert search_of(40).folds(np.arange(40), labels) is None
    for groups, count in ((8, 5), (3, 3)):
        numbers = np.arange(40) // (40 // groups + 1) if groups == 3 else np.arange(40) // 5
        some = np.arange(0, 40, 2)
        folds = replace(search_of(40), groups=numbers).folds(some, labels[some])
        assert len(folds) == count
        for train, test in folds:
            assert not set(numbers[some][train]) & set(numbers[some][test])


def test_equal_rows_of_other_groups_or_classes_stay_apart():
    X, w = np.zeros((4, 1)), np.ones(4)
    codes = np.array([[1.0, -1.0, -1.0], [-1.0, 1.0, -1.0], [-1.0, -1.0, 1.0], [1.0, -1.0, -1.0]])
    found = KernelSearch.of(Gaussian(1.0), X, codes, w, None, 0, Run(), is_classes=True)
    assert_allclose(found.weights * found.unit, [2.0, 1.0, 1.0])
    y = np.zeros((4, 1))
    found = KernelSearch.of(Gaussian(1.0), X, y, w, None, 0, Run(), [5, 6, 5, 6])
    assert_allclose(found.weights * found.unit, [2.0, 2.0])
    assert found.groups.tolist() == [0, 1]
    assert not found.is_classes
    with pytest.raises(ValueError, match="two groups of positive weight at least, got one"):
        KernelSearch.of(
            Gaussian(1.0), X, y, np.array([1.0, 0.0, 1.0, 0.0]), None, 0, Run(), [5, 6, 5, 6]
        )


def test_of_very_many_rows_those_that_are_drawn_keep_what_belongs_to_them(monkeypatch):
    monkeypatch.setattr(pool, "POOL", 20)
    X = np.random.default_rng(0).normal(size=(60, 1))
    groups = np.arange(60) % 7
    found = KernelSearch.of(Gaussian(1.0), X, 2.0 * X, np.abs(X[:, 0]), None, 3, Run(), groups)
    assert len(found.index) == 20
    assert_array_equal(found.index, np.sort(found.index))
    assert_array_equal(found.X, X[found.index])
    assert_array_equal(found.y, 2.0 * found.X)
    assert_allclose(found.weights * found.unit, np.abs(found.X[:, 0]))
    assert_array_equal(found.groups, groups[found.index])
    assert_array_equal(found.judged, found.index)
    other = KernelSearch.of(Gaussian(1.0), X, 2.0 * X, np.ones(60), None, 4, Run())
    assert not np.array_equal(other.index, found.index)


def test_of_equal_kernels_that_lead_the_others_start_from_the_first(monkeypatch):
    begun = {}

    def tried(self, start, learned, sample, limit):
        begun[start.name] = None if learned is None else learned.kernel
        kernel = Matern32(2.0) if "matern32" in start.name else Laplacian(3.0)
        return candidate(start.name, 1.0, kernel, start.is_learned)

    monkeypatch.setattr(KernelSearch, "_tried", tried)
    monkeypatch.setattr(module, "thread_count", lambda: 1)
    found = search_of(40)._first_round()
    assert len(found) == 17
    # Of equal ones the first is the best.
    assert begun["gaussian, learned"] == Matern32(2.0)
