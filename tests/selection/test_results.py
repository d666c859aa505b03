"""What rounds of a search say about each other."""

import numpy as np
import pytest

from mercer.kernels import Gaussian, Linear
from mercer.selection.results import Candidates, Round, sentence, table


def round_of(Cs, scores, is_cut=False):
    return Round(
        [Gaussian(1.0)], [np.array(Cs)], [np.reshape(scores, (-1, 1, 1))], 10, None, is_cut
    )


@pytest.mark.parametrize(
    ("Cs", "is_cut", "reaches"),
    [
        ([1.0, 10.0], False, True),
        ([1.0], True, False),
        ([1.0, 10.0], True, True),
        ([1.0], False, True),
    ],
)
def test_a_round_that_was_cut_off_before_the_likely_candidates_does_not_decide(Cs, is_cut, reaches):
    before = round_of([1.0, 10.0, 100.0], [-3.0, -1.0, -2.0])
    assert round_of(Cs, np.zeros(len(Cs)), is_cut).reaches(before) is reaches


def test_a_round_without_a_score_does_not_decide():
    before = round_of([1.0, 10.0, 100.0], [-3.0, -1.0, -2.0])
    assert not round_of([1.0, 10.0], [np.nan, np.nan], True).reaches(before)
    assert round_of([1.0, 10.0], [np.nan, -1.0], True).reaches(before)


def test_the_best_of_the_best_kernel_is_to_be_reached():
    scores = [np.reshape(s, (-1, 1, 1)) for s in ([-9.0, -8.0], [-1.0, -2.0])]
    Cs = [np.array([1.0, 100.0]), np.array([5.0, 50.0])]
    before = Round([Linear(), Gaussian(1.0)], Cs, scores, 10, None)
    assert round_of([5.0], [0.0], True).reaches(before)


def two_rounds(folds=(None, None)):
    first = Round(
        [Gaussian(1.0), Linear()],
        [np.array([1.0, 2.0]), np.array([3.0])],
        [np.array([[[1.0, 3.0]], [[5.0, 7.0]]]), np.array([[[np.nan, 1.0]]])],
        10,
        folds[0],
    )
    second = Round(
        [Linear()], [np.array([3.0, 4.0])], [np.array([[[0.0, 1.0]], [[2.0, 4.0]]])], 30, folds[1]
    )
    return [first, second]


def test_a_table_has_all_candidates_and_ranks_those_of_the_last_round_first():
    columns = table(two_rounds(), "C")
    assert columns["C"].tolist() == columns["param_C"].tolist() == [1.0, 2.0, 3.0, 3.0, 4.0]
    kernels = [Gaussian(1.0), Gaussian(1.0), Linear(), Linear(), Linear()]
    assert columns["kernel"].tolist() == columns["param_kernel"].tolist() == kernels
    assert columns["params"][1] == {"kernel": Gaussian(1.0), "C": 2.0}
    assert columns["iter"].tolist() == [0, 0, 0, 1, 1]
    assert columns["n_resources"].tolist() == [10, 10, 10, 30, 30]
    np.testing.assert_allclose(columns["mean_test_score"], [2.0, 6.0, np.nan, 0.5, 3.0])
    assert columns["rank_test_score"].tolist() == [4, 3, 5, 2, 1]
    assert "std_test_score" not in columns


def test_folds_have_columns_of_their_own_and_those_not_reached_none():
    columns = table(two_rounds(folds=([0, 2], [1, 2])))
    nan = np.nan
    np.testing.assert_allclose(columns["split0_test_score"], [1.0, 5.0, nan, nan, nan])
    np.testing.assert_allclose(columns["split1_test_score"], [nan, nan, nan, 0.0, 2.0])
    np.testing.assert_allclose(columns["split2_test_score"], [3.0, 7.0, 1.0, 1.0, 4.0])
    np.testing.assert_allclose(columns["std_test_score"], [1.0, 1.0, nan, 0.5, 1.0])
    assert "split3_test_score" not in columns


def test_targets_have_columns_of_their_own_where_there_are_several():
    scores = [np.array([[[1.0], [5.0]], [[2.0], [4.0]]])]
    several = Round([Linear()], [np.array([1.0, 2.0])], scores, 10, None)
    columns = table([several])
    assert columns["target0_test_score"].tolist() == [1.0, 2.0]
    assert columns["target1_test_score"].tolist() == [5.0, 4.0]
    assert columns["mean_test_score"].tolist() == [3.0, 3.0]
    assert columns["rank_test_score"].tolist() == [1, 1]
    assert several.best.tolist() == [1, 0]
    assert "target0_test_score" not in table(two_rounds())


def test_the_best_kernel_has_the_best_mean_over_the_best_of_every_column():
    one = np.array([[[3.0], [0.0]], [[0.0], [3.0]]])
    other = np.array([[[2.5], [2.5]], [[np.nan], [np.inf]]])
    Cs = [np.array([1.0, 2.0])] * 2
    assert Round([Linear(), Gaussian(1.0)], Cs, [one, other[:1]], 10, None).best_kernel == 0
    assert Round([Linear(), Gaussian(1.0)], Cs, [one, other], 10, None).best_kernel == 1
    assert len(Round([Linear(), Gaussian(1.0)], Cs, [one, other], 10, None)) == 4


@pytest.mark.parametrize(("is_cut", "best"), [(False, 0), (True, 1)])
def test_without_scores_the_first_is_taken_and_for_want_of_time_the_one_in_the_middle(is_cut, best):
    kernels, Cs = [Gaussian(1.0), Linear(), Gaussian(2.0)], [np.array([1.0, 10.0, 100.0])] * 3
    found = Round(kernels, Cs, [np.full((3, 2, 1), np.nan)] * 3, 10, None, is_cut)
    assert found.best_kernel == best
    assert found.best.tolist() == [best, best]


def test_scores_in_units_are_averaged_in_the_largest():
    one = Round([Linear()], [], [], 10, None, units=np.array([1.0, 4.0]))
    assert one.averaged(np.array([[8.0, 16.0], [0.0, 2.0]])).tolist() == [8.25, 1.0]
    plain = Round([Linear()], [], [], 10, None)
    assert plain.averaged(np.array([[8.0, 16.0], [0.0, 2.0]])).tolist() == [12.0, 1.0]


def test_a_target_that_is_nothing_beside_another_adds_nothing_where_it_is_infinite():
    one = Round([Linear()], [], [], 10, None, units=np.array([1e-200, 1.0]))
    assert one.averaged(np.array([-np.inf, -3.0])) == -1.5


def test_scores_are_told_in_the_unit_of_a_target_or_in_the_largest():
    one = Round([Linear()], [], [], 10, None, units=np.array([0.5, 4.0]))
    scores = np.array([-2.0])
    assert one.as_numbers(scores).tolist() == [-32.0]
    assert one.as_numbers(scores, 0).tolist() == [-0.5]
    assert one.as_numbers(scores, 1).tolist() == [-32.0]
    large = Round([Linear()], [], [], 10, None, units=np.array([1e200]))
    assert large.as_numbers(scores).tolist() == [-np.inf]
    assert Round([Linear()], [], [], 10, None).as_numbers(scores) is scores


def test_a_column_that_was_not_scored_in_time_has_its_middle_and_another_its_best():
    scores = np.array([[[np.nan], [-3.0]], [[np.nan], [-2.0]], [[np.nan], [-1.0]]])
    cut = Round([Linear()], [np.array([1.0, 2.0, 3.0])], [scores], 10, None, True)
    assert cut.best.tolist() == [1, 2]
    assert Round([Linear()], cut.alphas, [scores], 10, None).best.tolist() == [0, 2]


def test_what_was_not_reached_is_not_reached_whatever_its_size():
    assert not round_of([0.5], [0.0], True).reaches(round_of([0.7], [1.0]))


def test_ranks_go_on_from_round_to_round():
    parts = [round_of([1.0, 2.0], [-1.0, -2.0]), round_of([3.0], [-9.0]), round_of([4.0], [-8.0])]
    assert table(parts)["rank_test_score"].tolist() == [3, 4, 2, 1]


@pytest.mark.parametrize(
    ("cv", "words"),
    [
        ("loo", "leave-one-out"),
        ("gcv", "generalised cross-validation"),
        (5, "cross-validation"),
    ],
)
def test_a_sentence_says_what_was_tried_and_how(cv, words):
    first, second = two_rounds()
    said = f"2 kernels and 3 candidates by {words} on 10 rows"
    assert sentence([first], cv) == said
    assert sentence([first, second], cv) == (
        f"{said} out of 30, with alpha over the sum of the weights kept; then 2 alphas of the "
        "best kernel on all rows"
    )
    assert sentence([second], cv) == f"1 kernel and 2 candidates by {words} on 30 rows"


@pytest.mark.parametrize("parameter", ["C", "alpha"])
def test_every_kernel_is_listed_once_as_it_came_to_its_last_round(parameter):
    found = Candidates.of(table(two_rounds(), parameter))
    assert list(found) == [(Linear(), 4.0, 3.0, 30), (Gaussian(1.0), 2.0, 6.0, 10)]
    assert (len(found), found[1].penalty, found.parameter) == (2, 2.0, parameter)
    frame = found.to_pandas()
    assert list(frame.columns) == ["rank", "kernel", parameter, "score", "rows"]
    assert frame["rank"].tolist() == [1, 2]
    assert "<table" in found._repr_html_()
    assert "2 kernels" in found._repr_html_()
    assert len(str(found).splitlines()) == 3
    assert found == Candidates.of(table(two_rounds(), parameter))


def test_kernels_are_listed_in_three_digits():
    one = Round([Gaussian(1.23456)], [np.ones(1)], [np.zeros((1, 1, 1))], 10, None)
    listed = Candidates.of(table([one]))
    assert "length_scale=1.23)" in str(listed)
    assert listed[0].kernel == Gaussian(1.23456)


def test_folds_count_by_their_shares_in_means_and_deviations():
    scores = [np.array([[[0.0, 4.0]], [[3.0, 1.0]]])]
    given = ([Linear()], [np.array([1.0, 2.0])], scores, 10, [0, 1])
    columns = table([Round(*given, shares=np.array([30.0, 10.0]))])
    assert columns["mean_test_score"].tolist() == [1.0, 2.5]
    np.testing.assert_allclose(columns["std_test_score"], np.sqrt([3.0, 0.75]))
    assert table([Round(*given)])["mean_test_score"].tolist() == [2.0, 2.0]
