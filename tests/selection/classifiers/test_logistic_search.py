"""The search among kernels and Cs: its samples, its rounds, and what goes on to the next."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import KFold

from mercer.data.limits.deadline import TimeIsUpError
from mercer.errors import MemoryLimitError
from mercer.gram import PrecomputedGram
from mercer.kernels import AdditiveChi2, Gaussian, Linear, recentred
from mercer.selection.classifiers.classes import ClassScores
from mercer.selection.classifiers.logistic_search import LogisticSearch
from mercer.selection.classifiers.schedule import Schedule
from mercer.selection.splits import Splits
from mercer.solvers import LogisticProblem, Run

CS = np.array([0.1, 1.0, 10.0])


def search_of(X, codes, cv=None, weights=None, memory=1 << 30, run=None, scoring=None):
    n, classes = len(codes), int(codes.max()) + 1
    weights = np.ones(n) if weights is None else weights
    problem = LogisticProblem(codes, classes, 1.0, weights, True)
    splits = Splits(n) if cv is None else Splits.of(cv, X, codes, None, n)
    scores = ClassScores.of(scoring, False, np.arange(classes))
    return LogisticSearch(X, problem, np.ones(n), Linear(), splits, scores, memory, 0, run or Run())


@pytest.fixture
def rows(rng):
    X = rng.normal(size=(120, 2))
    return X, np.digitize(X[:, 0], [-0.6, 0.9])


@pytest.mark.parametrize("size", [40, 70])
def test_a_sample_is_trained_on_and_tests_the_others(rows, size):
    X, codes = rows
    weights = np.linspace(0.5, 1.5, 120)
    search = replace(search_of(X, codes, weights=weights), schedule=Schedule(tested=30))
    sample, share = search.sample(size)
    ((train, test),) = sample.splits.pairs
    assert len(train) == size == sample._n_trained
    assert len(test) == 30
    assert len(sample) == size + 30
    assert sample.splits.is_pooled
    chosen = [int(np.flatnonzero((row == X).all(axis=1))[0]) for row in sample.X]
    assert chosen == sorted(set(chosen))
    assert_array_equal(sample.problem.codes, codes[chosen])
    assert_allclose(share, weights[chosen][train].sum() / weights.sum())


def test_a_sample_of_all_rows_but_few_tests_the_few(rows):
    X, codes = rows
    sample, _ = search_of(X, codes).sample(115)
    assert [len(part) for part in sample.splits.pairs[0]] == [115, 5]


def test_no_class_is_too_rare_in_a_sample(rng):
    X = rng.normal(size=(300, 2))
    codes = np.zeros(300, int)
    codes[:5], codes[5:45], codes[45:60] = 1, 2, 3
    sample, _ = search_of(X, codes).sample(30)
    train = sample.splits.pairs[0][0]
    counts = np.bincount(sample.problem.codes[train])
    # Half of five and of fifteen, rounded up, and eight of those with twice as many at least.
    assert counts[1] >= 3
    assert counts[2] >= 8
    assert counts[3] >= 8
    assert counts.sum() == 30
    least, _ = search_of(X, codes).sample(0)
    assert np.bincount(least.problem.codes[least.splits.pairs[0][0]]).tolist() == [8, 3, 8, 8]


def test_a_class_of_one_row_leaves_the_rows_of_a_sample_to_be_left_out_singly(rng):
    X = rng.normal(size=(60, 2))
    codes = (X[:, 0] > 0.0).astype(int)
    codes[7] = 2
    sample, share = search_of(X, codes).sample(30)
    assert sample.splits.pairs is None
    assert len(sample) == 30
    assert share == 0.5


def test_folds_of_a_sample_are_those_of_its_rows(rows):
    X, codes = rows
    sample, share = search_of(X, codes, KFold(3)).sample(60)
    assert len(sample) == 60
    assert share == 0.5
    assert len(sample.splits.pairs) == 3
    for train, _ in sample.splits.pairs:
        assert set(sample.problem.codes[train]) == {0, 1, 2}
    assert sample._n_trained == 60


def test_the_same_rows_are_taken_in_any_order(rows, rng):
    X, codes = rows
    mixed = rng.permutation(120)
    one, _ = search_of(X, codes).sample(40)
    other, _ = search_of(X[mixed], codes[mixed]).sample(40)
    trained = (s.X[s.splits.pairs[0][0]] for s in (one, other))
    first, second = (sorted(map(tuple, t)) for t in trained)
    assert first == second


def sizes(search, scores=(150, 240), most_rows=(60, 90), kernels=3, **settings):
    """Which rows and how many kernels every round has."""
    search = replace(search, schedule=Schedule(scores, most_rows, **settings))
    given = [Gaussian(0.5), Gaussian(1.0), Gaussian(2.0)][:kernels]
    rounds = search.rounds(given, [CS] * kernels)
    return [(r.n_rows, len(r.kernels)) for r in rounds]


def test_many_rows_have_a_small_round_a_larger_one_and_all(rows):
    # 150 and 240 scores of three classes are 50 and 80 rows.
    search = search_of(*rows)
    assert sizes(search) == [(50, 3), (80, 2), (120, 1)]
    assert sizes(search, (150, 360)) == [(50, 3), (90, 2), (120, 1)]
    assert sizes(search, (150, 360), (60, 120)) == [(50, 3), (120, 1)]
    assert sizes(search, (360, 720), (120, 120)) == [(120, 3)]
    assert sizes(search, (357, 357), (120, 120)) == [(119, 3), (119, 2), (120, 1)]
    # Eight rows for every class at least.
    assert sizes(search, (3, 3), (1, 1)) == [(24, 3), (24, 2), (120, 1)]


def test_few_candidates_are_tried_on_all_rows(rows):
    search = search_of(*rows)
    assert sizes(search, kernels=1) == [(120, 1)]
    assert sizes(search, kernels=1, few_candidates=2) == [(50, 1), (80, 1), (120, 1)]


def test_all_rows_are_left_out_singly_or_by_three_folds(rows):
    X, codes = rows
    several = search_of(X, codes)._on_all_rows()
    assert len(several.splits.pairs) == 3
    assert several.splits.is_pooled
    assert sorted(several.splits.tested) == list(range(120))
    for c in range(3):
        counts = [np.sum(codes[test] == c) for _, test in several.splits.pairs]
        assert max(counts) - min(counts) <= 1
    two = search_of(X, codes % 2)
    assert two._on_all_rows() is two
    for left_out, is_quick in ((120, True), (119, False)):
        two = replace(two, schedule=Schedule(left_out=left_out))
        assert (two._on_all_rows() is two) is is_quick
    given = search_of(X, codes, KFold(4))
    assert given._on_all_rows() is given


@pytest.mark.parametrize(("rare", "has_folds"), [(2, False), (3, True)])
def test_a_class_of_fewer_rows_than_folds_is_left_out_singly(rng, rare, has_folds):
    X = rng.normal(size=(60, 2))
    codes = (X[:, 0] > 0.0).astype(int)
    codes[:rare] = 2
    assert (search_of(X, codes)._on_all_rows().splits.pairs is not None) is has_folds


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("cv", [None, KFold(3)])
def test_the_room_is_that_of_the_gram_matrix_and_what_is_beside_it(rows, classes, cv):
    X, codes = rows
    codes = codes % classes
    arrays = 3 if classes == 2 or cv is not None else 2 * 3 + 5
    needed = 8 * arrays * 120**2
    assert search_of(X, codes, cv, memory=needed).bytes == needed
    search_of(X, codes, cv, memory=needed).check_room()
    with pytest.raises(MemoryLimitError, match="choosing on 120 rows needs"):
        search_of(X, codes, cv, memory=needed - 1).check_room()


def test_candidates_are_given_back_in_the_order_of_their_cs(rows):
    X, codes = rows
    search = search_of(X, codes % 2, KFold(3))
    given = np.array([10.0, 0.1, 1.0])
    found = search._round([Linear()], [given])
    assert_array_equal(found.alphas[0], given)
    ascending = search._round([Linear()], [np.sort(given)])
    assert_allclose(found.scores[0], ascending.scores[0][[2, 0, 1]])
    assert found.n_rows == 120
    assert not found.is_cut


def test_a_share_of_the_weights_asks_for_as_much_more_of_each_c(rows):
    X, codes = rows
    search = search_of(X, codes % 2, KFold(3))
    half = search._round([Linear()], [CS], share=0.5)
    twice = search._round([Linear()], [2.0 * CS])
    assert_allclose(half.scores[0], twice.scores[0])
    assert_array_equal(half.alphas[0], CS)


def test_equal_rows_are_one_of_their_weight(rng):
    X = rng.normal(size=(30, 2))
    codes = (X[:, 0] > 0.0).astype(int)
    counts = rng.integers(1, 4, size=30)
    repeated = search_of(np.repeat(X, counts, 0), np.repeat(codes, counts)).merged()
    assert len(repeated) == 30
    places = [int(np.flatnonzero((row == X).all(axis=1))[0]) for row in repeated.X]
    assert_array_equal(repeated.problem.weights, counts[places])
    assert_array_equal(repeated.copies, counts[places])
    assert repeated.scores.is_weighted
    alone = search_of(X, codes).merged()
    assert not alone.scores.is_weighted
    folds = search_of(np.repeat(X, 2, 0), np.repeat(codes, 2), KFold(3))
    assert folds.merged() is folds
    counted = search_of(np.repeat(X, 2, 0), np.repeat(codes, 2), scoring=lambda m, X, y: 0.0)
    assert counted.merged() is counted


def test_rows_of_equal_columns_and_other_classes_or_weights_stay_apart():
    X, codes = np.zeros((4, 1)), np.array([0, 0, 1, 1])
    search = search_of(X, codes, weights=np.array([1.0, 2.0, 3.0, 3.0]))
    merged = search.merged()
    assert sorted(merged.problem.weights.tolist()) == [1.0, 2.0, 6.0]


def test_time_that_is_up_ends_after_the_first_kernel(rows):
    X, codes = rows
    late = search_of(X, codes % 2, run=Run(time_limit=1e-9))
    found = late._round([Linear(), Gaussian(1.0)], [CS, CS])
    assert len(found.kernels) == 1
    assert found.is_cut
    assert late.is_over
    assert not search_of(X, codes).is_over
    late = replace(late, schedule=Schedule((50, 80), (50, 80)))
    rounds = late.rounds([Gaussian(0.5), Gaussian(1.0)], [CS, CS])
    assert [(r.n_rows, r.is_cut) for r in rounds] == [(50, True)]


def test_a_fold_without_a_class_to_train_on_is_refused(rows):
    X, codes = rows
    order = np.argsort(codes, kind="stable")
    search = search_of(X[order], codes[order], KFold(3))
    with pytest.raises(ValueError, match="training rows lack one of the 3 classes"):
        search._round([Linear()], [CS])


def test_time_that_is_up_after_the_last_candidate_cut_nothing_off(rows, monkeypatch):
    X, codes = rows
    search = search_of(X, codes % 2)
    monkeypatch.setattr(LogisticSearch, "is_over", True)
    K = PrecomputedGram(Linear()(X))
    for Cs, is_cut in ((CS[:1], False), (CS, True)):
        scores, found = search._left_out(K, Cs, None)
        assert (len(scores), found) == (1, is_cut)


def test_where_no_kernel_was_scored_in_time_the_first_has_its_middle_C_without_a_score(
    rows, monkeypatch
):
    def late(*arguments):
        raise TimeIsUpError

    monkeypatch.setattr(LogisticSearch, "_scored", late)
    found = search_of(*rows)._round([Gaussian(1.0), Linear()], [CS, CS], False)
    assert (found.is_cut, list(found.kernels)) == (True, [Gaussian(1.0)])
    assert_array_equal(found.alphas, [[1.0]])
    assert np.isnan(found.scores[0]).all()


def test_kernels_that_time_was_too_short_for_are_left_out(rows, monkeypatch):
    scored, begun = LogisticSearch._scored, []

    def once(*arguments):
        begun.append(arguments)
        if len(begun) > 1:
            raise TimeIsUpError
        return scored(*arguments)

    monkeypatch.setattr(LogisticSearch, "_scored", once)
    found = search_of(*rows)._round([Gaussian(1.0), Linear()], [CS, CS], False)
    assert (found.is_cut, list(found.kernels)) == (True, [Gaussian(1.0)])
    assert np.isfinite(found.scores[0]).all()


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_a_kernel_valid_on_sums_of_zero_is_rooted_where_there_is_an_offset(rows, fit_intercept):
    X, codes = rows
    search = search_of(np.abs(X), codes)
    search = replace(search, problem=replace(search.problem, fit_intercept=fit_intercept))
    (gram,) = search._grams([AdditiveChi2()])
    rooted = recentred(AdditiveChi2(), np.abs(X)) if fit_intercept else AdditiveChi2()
    assert_allclose(gram.dense(), rooted(np.abs(X)))
