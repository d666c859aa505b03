"""How the search among Cs ends: early, in time, and by the first of its folds."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import KFold

from mercer.gram import PrecomputedGram
from mercer.kernels import Gaussian, Linear
from mercer.planning import Settings
from mercer.planning.held_out import share_of_search
from mercer.planning.rates import Work
from mercer.selection.classifiers import logistic_folds, logistic_search as module
from mercer.selection.classifiers.classes import ClassScores
from mercer.selection.classifiers.logistic_search import LogisticSearch
from mercer.selection.classifiers.schedule import Schedule
from mercer.selection.splits import Splits
from mercer.solvers import LogisticProblem, Run

CS = np.array([0.1, 1.0, 10.0, 100.0])


@pytest.fixture
def search(rng):
    X = rng.normal(size=(30, 2))
    codes = np.arange(30) % 3
    problem = LogisticProblem(codes, 3, 1.0, np.ones(30), True)
    scores = ClassScores.of(None, False, np.arange(3))
    splits = Splits.of(KFold(3), X, codes, None, 30)
    return LogisticSearch(X, problem, np.ones(30), Linear(), splits, scores, 1 << 30, 0, Run())


@pytest.fixture
def K(search):
    return PrecomputedGram(Linear()(search.X))


@pytest.fixture
def judged(monkeypatch):
    """Give the scores to come, by the number of the test rows or in their order."""

    def give(*scores):
        left, rows = list(scores), []

        def judge(self, F, tested):
            rows.append(len(tested))
            return left.pop(0)

        monkeypatch.setattr(LogisticSearch, "_judged", judge)
        return rows

    return give


def test_the_first_fold_says_for_all_where_to_end(search, K, judged):
    judged(-1.0, -2.0, -5.0, -6.0, -7.0, -8.0)
    scores, is_cut = search._by_folds(K, CS, True)
    assert_array_equal(scores, [[-1.0, -5.0, -7.0], [-2.0, -6.0, -8.0]])
    assert not is_cut


def test_without_ending_early_all_cs_are_tried(search, K, judged):
    judged(*-np.arange(1.0, 13.0))
    scores, is_cut = search._by_folds(K, CS, False)
    assert_array_equal(scores, -np.arange(1.0, 13.0).reshape(3, 4).T)
    assert not is_cut


def test_only_the_first_fold_ends_early(search, K, judged):
    # Scores rise in the first fold and fall in the others.
    judged(-4.0, -3.0, -2.0, -1.0, -1.0, -9.0, -9.0, -9.0, -1.0, -9.0, -9.0, -9.0)
    scores, _ = search._by_folds(K, CS, True)
    assert scores.shape == (4, 3)


def test_folds_that_are_pooled_are_scored_together(search, K, judged):
    pooled = replace(search, splits=replace(search.splits, is_pooled=True))
    rows = judged(-1.0, -2.0, -5.0, -6.0, -7.0, -8.0, -0.5, -0.25)
    scores, _ = pooled._by_folds(K, CS, True)
    assert_array_equal(scores, [[-0.5], [-0.25]])
    assert rows == [10] * 6 + [30] * 2


@pytest.mark.parametrize(("count", "is_unfinished", "is_cut"), [(1, False, False), (1, True, True)])
def test_time_that_is_up_after_the_last_c_cuts_off_what_was_not_solved(
    search, K, monkeypatch, count, is_unfinished, is_cut
):
    monkeypatch.setattr(LogisticSearch, "is_over", True)
    monkeypatch.setattr(module, "is_unfinished", lambda solution: is_unfinished)
    for way in (search._by_folds, search._left_out):
        assert way(K, CS[:count], False)[1] is is_cut
        assert way(K, CS[: count + 1], False)[1]


def test_folds_that_time_cut_off_are_compared_by_the_cs_that_all_have(search, K, monkeypatch):
    seen = []

    def over(self):
        seen.append(None)
        # In the second fold, after its second C.
        return len(seen) == 6

    monkeypatch.setattr(LogisticSearch, "is_over", property(over))
    scores, is_cut = search._by_folds(K, CS, False)
    assert scores.shape == (2, 3)
    assert is_cut


def test_scores_left_out_end_where_they_are_past_their_best(search, K, judged):
    rows = judged(-1.0, -2.0, -3.0, -4.0)
    scores, is_cut = search._left_out(K, CS, True)
    assert_array_equal(scores, [-1.0, -2.0])
    assert (rows, is_cut) == ([30, 30], False)
    judged(-1.0, -2.0, -3.0, -4.0)
    assert len(search._left_out(K, CS, False)[0]) == 4


def test_a_scorer_sees_its_rows_their_classes_and_weights(search):
    seen = []

    def scorer(model, X, y):
        seen.append((X, y))
        return 1.0

    one = replace(search, scores=ClassScores.of(scorer, False, np.array(["a", "b", "c"])))
    rows = np.array([3, 7, 11])
    assert one._judged(np.zeros((3, 3)), rows) == 1.0
    ((X, y),) = seen
    assert_array_equal(X, search.X[rows])
    assert y.tolist() == ["a", "b", "c"]
    weights = np.arange(1.0, 31.0)
    weighted = replace(search, problem=replace(search.problem, weights=weights))
    F = np.array([[9.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    expected = np.average(
        [np.log(np.exp(9.0) / (np.exp(9.0) + 2.0)), -np.log(3.0), -np.log(3.0)],
        weights=weights[rows],
    )
    assert weighted._judged(F, rows) == pytest.approx(expected)


def test_without_a_score_the_c_in_the_middle_is_taken(search):
    kernel, Cs, scores = search._unscored(Linear(), np.array([5.0, 1.0, 9.0, 7.0]))
    assert (kernel, Cs.tolist(), scores.shape) == (Linear(), [7.0], (1, 1, 3))
    pooled = replace(search, splits=Splits(30))
    assert pooled._unscored(Linear(), CS)[2].shape == (1, 1, 1)


def test_the_rows_of_a_round_are_those_that_are_trained_on(search):
    pairs = search.splits.pairs
    assert search._n_trained == 30
    assert replace(search, splits=Splits(30, pairs[:1]))._n_trained == 20
    assert replace(search, splits=Splits(30))._n_trained == 30


def test_landmarks_take_no_room_of_the_search(search):
    assert search.bytes > 0
    assert replace(search, by_landmarks=Settings("nystrom")).bytes == 0


def test_a_search_leaves_time_for_the_longest_fit(search, monkeypatch):
    def work(kernel, X, problem, memory):
        return Work(double=1e15 if kernel == Gaussian(1.0) else 1.0)

    monkeypatch.setattr(module, "logistic_work", work)
    limit = 4.0 * Work(double=1e15).expected / 1.3
    found = search.leaving_a_fit([Gaussian(1.0), Linear()], Run(limit))
    share = share_of_search(Work(double=1e15), limit)
    assert 0.2 < share < 0.5
    assert found.run.seconds_left == pytest.approx(share * limit, rel=0.01)
    free = Run()
    assert search.leaving_a_fit([Linear()], free).run is free


def test_landmarks_are_asked_for_by_the_fits_to_all_rows_of_every_kernel(search, monkeypatch):
    asked = []

    def planned(settings, kernel, X, problem, fits):
        asked.append((kernel, fits))
        return replace(settings, solver="nystrom") if kernel == Linear() else settings

    monkeypatch.setattr(module, "planned_logistic_search", planned)
    found = search.by_plan(Settings(), [Gaussian(1.0), Linear()])
    # Three folds of five Cs.
    assert asked == [(Gaussian(1.0), 15), (Linear(), 15)]
    assert found.by_landmarks.solver == "nystrom"
    assert search.by_plan(Settings(), [Gaussian(1.0)]).by_landmarks is None
    assert search.by_plan(Settings(n_landmarks=5), [Gaussian(1.0)]).by_landmarks is not None


@pytest.mark.parametrize(("given", "landmarks"), [(5, 5), (99, 30)])
def test_there_are_no_more_landmarks_than_rows(search, monkeypatch, given, landmarks):
    seen = []
    monkeypatch.setattr(
        module, "logistic_landmarks", lambda s, kernel, *_: seen.append((s.n_landmarks, kernel))
    )
    settings = Settings("nystrom", n_landmarks=given)
    list(replace(search, by_landmarks=settings)._grams([Linear(), Gaussian(1.0)]))
    assert seen == [(landmarks, Linear()), (landmarks, Gaussian(1.0))]


def test_a_sample_of_rows_with_weights_of_their_own_keeps_them(search):
    weights, copies = np.linspace(0.5, 1.5, 30), np.arange(30.0)
    one = replace(search, copies=copies, problem=replace(search.problem, weights=weights))
    some = np.sort(np.random.default_rng(0).choice(30, 20, replace=False))
    part = one.on(some)
    assert_array_equal(part.X, search.X[some])
    assert_array_equal(part.problem.weights, weights[some])
    assert_array_equal(part.copies, copies[some])
    assert len(part) == 20


def test_rows_are_left_out_of_a_sample_down_to_two_of_a_class(rng):
    X = rng.normal(size=(40, 2))
    for rare, is_single in ((1, True), (2, False)):
        codes = (np.arange(40) < rare).astype(int)
        problem = LogisticProblem(codes, 2, 1.0, np.ones(40), True)
        scores = ClassScores.of(None, False, np.arange(2))
        given = (np.ones(40), Linear(), Splits(40), scores, 1 << 30, 0, Run())
        sample, _ = LogisticSearch(X, problem, *given).sample(20)
        assert (sample.splits.pairs is None) is is_single


def test_every_fold_of_a_sample_has_all_classes_to_train_on(rng):
    X = rng.normal(size=(60, 2))
    codes = np.zeros(60, int)
    # Two rows of a class: one in the first fold, the other in the second.
    codes[[3, 25]] = 1
    problem = LogisticProblem(codes, 2, 1.0, np.ones(60), True)
    scores = ClassScores.of(None, False, np.arange(2))
    splits = Splits.of(KFold(3), X, codes, None, 60)
    one = LogisticSearch(X, problem, np.ones(60), Linear(), splits, scores, 1 << 30, 0, Run())
    sample, _ = one.sample(20)
    assert sample.problem.codes.sum() == 2


def test_rounds_are_refused_before_a_sample_is_tried_where_all_rows_have_no_room(
    search, monkeypatch
):
    def refuse(self):
        raise MemoryError(len(self))

    monkeypatch.setattr(LogisticSearch, "check_room", refuse)
    small = replace(search, schedule=Schedule((30, 60), (10, 20), of_a_class=2))
    with pytest.raises(MemoryError, match="30"):
        small.rounds([Linear(), Gaussian(1.0)], [CS, CS])
    # With a limit the sample is what is first.
    late = replace(small, run=Run(1e6))
    with pytest.raises(MemoryError, match="10"):
        late.rounds([Linear(), Gaussian(1.0)], [CS, CS])


def test_pivots_and_warm_starts_give_the_scores_of_single_cs(search):
    together = search._round([Linear()], [CS]).scores[0]
    for i, C in enumerate(CS):
        alone = search._round([Linear()], [np.array([C])]).scores[0]
        assert_allclose(together[i], alone[0], atol=2e-3)


def test_an_interrupt_ends_the_search(search, K, monkeypatch):
    class Interrupted:
        is_interrupted = True

    class Solver:
        def path(self, gram, problem, Cs, run):
            yield Interrupted()

    monkeypatch.setattr(logistic_folds, "solver_of", lambda *given: Solver())
    for way in (search._by_folds, search._left_out):
        with pytest.raises(KeyboardInterrupt):
            way(K, CS, None)


@pytest.mark.parametrize(("scoring", "tried"), [(None, 2), ("accuracy", 3)])
def test_cs_end_at_the_first_worse_log_loss_and_at_the_second_score_in_jumps(
    search, K, judged, scoring, tried
):
    judged(-1.0, -2.0, *[-2.0] * 7)
    search = replace(search, scores=ClassScores.of(scoring, False, np.arange(3)))
    scores, is_cut = search._by_folds(K, CS, search._patience)
    assert len(scores) == tried
    assert not is_cut


def test_samples_are_solved_to_a_wider_gap_than_all_rows(search):
    sample, _ = search.sample(20)
    assert sample.schedule.gap == search.schedule.sample_gap == 1e-2
    assert search.schedule.gap == 1e-4
