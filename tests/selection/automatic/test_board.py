"""The leaderboard: its order, its table, and which of the finalists comes first."""

from dataclasses import replace

import numpy as np
import pytest

from mercer import Gaussian, Linear
from mercer.selection.automatic.board import NESTED, Candidate, Leaderboard, Recipe, simplest_first
from mercer.selection.automatic.sums import together, weighted_sum


def candidate(name, score, squares=(1.0, 1.0), is_learned=False, **more):
    given = (Gaussian(1.0), 1.0, np.array(squares), score, "leave-one-out", 30, is_learned, 1.25)
    return replace(Candidate(name, *given), **more)


def test_the_chosen_comes_first_and_the_others_by_score_then_by_error():
    chosen, a, b = candidate("chosen", 9.0), candidate("a", 1.0, (4.0, 4.0)), candidate("b", 1.0)
    board = Leaderboard.of(chosen, [candidate("c", 2.0), a, b], False)
    assert [c.name for c in board] == ["chosen", "b", "a", "c"]
    assert (len(board), board[1].name, board.measure) == (4, "b", "RMSE")
    assert Leaderboard.of(chosen, [], True).measure == "error"
    assert [c.name for c in board.led_by(board[2])] == ["a", "b", "c", "chosen"]


def test_a_candidate_is_printed_without_the_errors_of_its_rows():
    text = repr(candidate("a", 1.0, np.ones(5000), missed=np.ones((5000, 1))))
    assert "score=1.0" in text
    assert "array" not in text


def test_nothing_of_the_search_stays_on_the_board():
    part = candidate("part", 1.0, missed=np.ones((2, 1)), recipe=Recipe())
    board = Leaderboard.of(replace(part, parts=(part, part)), [part], False).settled
    assert [(c.missed, c.recipe) for c in (*board, *board[0].parts)] == [(None, None)] * 4


def test_a_table_has_ranks_from_one_scores_in_four_digits_and_seconds_in_one():
    board = Leaderboard.of(
        candidate("a", 0.123456), [candidate("b", 20.0, scored_by=NESTED)], False
    )
    assert not board.remarks
    rows = [line.split() for line in str(board).splitlines()]
    assert rows == [
        ["rank", "kernel", "scored", "by", "rows", "RMSE", "seconds"],
        ["1", "a", "leave-one-out", "30", "0.1235", "1.2"],
        ["2", "b", "nested", "CV", "30", "20", "1.2"],
    ]
    assert board.to_pandas()["rank"].tolist() == [1, 2]
    assert "2 candidates<" in board._repr_html_()
    noted = replace(board, note="told")
    assert str(noted) == f"{board}\ntold"
    assert "2 candidates; told" in noted._repr_html_()


def test_those_that_were_scored_on_the_most_rows_come_before_the_others():
    late, early = candidate("late", 3.0), candidate("early", 1.0, rows=20)
    board = Leaderboard.of(candidate("chosen", 2.0), [early, late], False)
    assert [c.name for c in board] == ["chosen", "late", "early"]
    assert board.remarks == ["errors on other rows than those of the first are not to be compared"]


@pytest.mark.parametrize(
    ("is_classes", "said"),
    [(False, "as good as those with lower errors"), (True, "by squared errors of their scores")],
)
def test_a_lower_error_than_that_of_the_chosen_one_is_accounted_for(is_classes, said):
    board = Leaderboard.of(candidate("chosen", 2.0), [candidate("b", 1.0)], is_classes)
    (remark,) = board.remarks
    assert said in remark
    other_rows = candidate("b", 1.0, rows=20)
    assert said not in str(Leaderboard.of(candidate("chosen", 2.0), [other_rows], is_classes))


def test_errors_of_learned_kernels_are_said_to_be_larger_at_new_rows():
    plain, learned = candidate("a", 1.0), candidate("b, learned", 1.0, is_learned=True)
    assert "larger" in str(Leaderboard.of(learned, [plain], False))
    for part in (plain, learned):
        board = Leaderboard.of(candidate("mean", 1.0, parts=(plain, part)), [], False)
        assert ("larger" in str(board)) is part.is_learned
    assert "larger" not in str(Leaderboard.of(plain, [learned], False))


def test_without_means_the_best_on_the_same_rows_is_first_unless_one_kernel_was():
    a = candidate("a", 1.0, (9.0, 9.0))
    b = candidate("b", 2.0, (4.0, 4.0))
    early = candidate("early", 0.5, (1.0, 1.0), rows=20)
    mean = candidate("mean", 0.1, parts=(a, b))
    board = Leaderboard((mean, early, a, b))
    assert [c.name for c in board.without_means()] == ["b", "a", "early"]
    assert [c.name for c in Leaderboard((a, mean, b)).without_means()] == ["a", "b"]


@pytest.mark.parametrize(
    ("squares", "comes_first"),
    [
        # By a hundredth of the mean at most, and by a deviation of the mean difference.
        ([1.3, 0.7, 1.3, 0.7399], True),
        ([1.3, 0.7, 1.3, 0.7401], False),
        ([1.02, 1.0, 1.0, 0.995], True),
        ([1.02, 1.0, 1.0, 1.0], False),
        ([1.01, 1.01, 1.01, 1.01], False),
        ([1.0, 1.0, 1.0, 1.0], True),
    ],
)
def test_what_is_not_learned_is_first_within_a_deviation_and_a_hundredth(squares, comes_first):
    learned = candidate("learned", 1.0, [1.0] * 4, True)
    plain = candidate("plain", 1.0, squares)
    assert (simplest_first([learned, plain])[0] is plain) is comes_first
    assert simplest_first([plain, learned])[0] is plain


def test_a_sum_of_candidates_is_of_their_kernels_in_units_of_their_ridges():
    a = candidate("a, learned", 1.0, alpha=0.3, is_learned=True)
    b = candidate("b, learned", 1.0, kernel=Linear() + Gaussian(2.0), alpha=4.0, seconds=9.0)
    found = together([a, b])
    assert found.name == "sum of a, b, learned"
    assert found.kernel == 1.667 * Gaussian(1.0) + 0.125 * (Linear() + Gaussian(2.0))
    assert (found.alpha, found.seconds, found.is_learned) == (1.0, 0.0, True)


def test_terms_of_less_than_a_thousandth_of_the_largest_weight_are_left_out():
    terms = [Gaussian(1.0), Gaussian(2.0), Linear()]
    kept = weighted_sum(terms, np.array([2.0, 0.002, 0.001999]))
    assert kept == 2.0 * Gaussian(1.0) + 0.002 * Gaussian(2.0)
    assert weighted_sum(terms, np.array([0.0, 0.0, 1.23456])) == 1.235 * Linear()


def test_candidates_of_folds_come_before_others_and_are_told_apart_from_them():
    given = {"is_learned": True, "rows": 9}
    first = candidate("first", 5.0, scored_by=NESTED, **given)
    rest = [candidate("b", 1.0, **given), candidate("c", 6.0, scored_by=NESTED, **given)]
    board = Leaderboard.of(first, rest, True)
    assert [c.name for c in board] == ["first", "c", "b"]
    # The lower error without one row each is that of rows that scales were learned from.
    said = "errors by nested CV are of folds from whose rows no scale was learned"
    assert replace(board, note="one\ntwo").remarks == [said, "one", "two"]
