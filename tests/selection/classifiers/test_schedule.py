"""The schedule of a search among Cs: its rounds, where Cs end, and what goes on."""

from dataclasses import replace

import numpy as np
import pytest

from mercer.kernels import Gaussian
from mercer.selection.classifiers.schedule import Schedule
from mercer.selection.results import Round


def tried(scores, Cs):
    """A round of up to three kernels with the scores of their Cs."""
    kernels = [Gaussian(s) for s in (1.0, 2.0, 3.0)][: len(scores)]
    shaped = [np.reshape(s, (-1, 1, 1)) for s in scores]
    return Round(kernels, Cs[: len(scores)], shaped, 10, None)


def test_the_best_kernels_survive_with_the_cs_from_a_tenth_of_their_best():
    Cs = [np.array([0.5, 1.0, 9.9, 10.0, 100.0])] * 3
    last = tried([[-3, -2, -4, -2.5, -9], [-1, -5, -5, -1.5, -9], [-8, -8, -8, -8, -2]], Cs)
    kernels, kept = Schedule().survivors(last, last.kernels, Cs, 2)
    assert kernels == [Gaussian(2.0), Gaussian(1.0)]
    # The best C is 0.5 of one and 1 of the other, and all are at least a tenth of those.
    assert [k.tolist() for k in kept] == [Cs[0].tolist(), Cs[0].tolist()]
    kernels, kept = Schedule().survivors(tried([[-9, -9, -9, -9, -1]], Cs), [Gaussian(1.0)], Cs, 1)
    assert kept[0].tolist() == [10.0, 100.0]
    last = tried([[-9, -9, -9, -1, -9]], Cs)
    assert Schedule().survivors(last, last.kernels, Cs, 1)[1][0].tolist() == [1.0, 9.9, 10.0, 100.0]


def test_a_score_that_is_no_number_does_not_survive():
    Cs = [np.array([1.0, 100.0])] * 2
    last = tried([[np.nan, np.nan], [np.nan, -3.0]], Cs)
    kernels, kept = Schedule().survivors(last, last.kernels, Cs, 1)
    assert kernels == [Gaussian(2.0)]
    assert kept[0].tolist() == [100.0]


def test_kernels_of_equal_scores_survive_in_their_order():
    Cs = [np.array([1.0])] * 3
    last = tried([[-1.0], [-1.0], [-1.0]], Cs)
    assert Schedule().survivors(last, last.kernels, Cs, 2)[0] == list(last.kernels[:2])


@pytest.mark.parametrize(
    ("scores", "past"),
    [
        ([0.9, 0.8], False),
        ([0.9, 0.86], False),
        ([0.9, 0.86, 0.9], False),
        ([0.9, 0.86, 0.89], True),
        ([0.86, 0.9, 0.89], False),
        ([np.nan], False),
        ([np.nan, 0.5], False),
        ([-np.inf, -np.inf], False),
    ],
)
def test_scores_are_past_their_best_once_two_in_a_row_are_worse(scores, past):
    assert Schedule().is_past(scores, 2) is past


def test_the_fits_of_every_round_are_counted():
    # 150 and 240 scores of three classes are 50 and 80 rows.
    schedule = Schedule((150, 240), (60, 90))

    def fits(n, folds, *counts):
        return schedule.fits(n, 3, 3, [np.ones(count) for count in counts], folds)

    assert fits(50, None, 3, 3, 3) == [(50, 9)]
    assert fits(50, 4, 3, 3, 3) == [(50, 36)]
    assert fits(80, None, 3, 3, 3) == [(50, 9), (80, 9)]
    assert fits(81, None, 3, 3, 3) == [(50, 9), (80, 6), (81, 9)]
    # Of the best kernel five are tried on all rows.
    assert fits(200, 4, 8, 2) == [(50, 10), (80, 16), (200, 20)]
    # Up to four candidates are tried on all rows at once.
    assert fits(200, None, 4) == [(200, 12)]
    assert fits(200, 2, 4) == [(200, 8)]


def test_the_rows_of_the_samples_are_250_and_1000_or_600_and_2400_over_the_classes():
    schedule = Schedule()
    assert schedule.sizes(1, 2) == (250, 1000)
    assert schedule.sizes(3, 3) == (200, 800)
    # Of every class there are eight.
    assert schedule.sizes(10, 10) == (80, 240)
    assert schedule.sizes(100, 100) == (800, 800)


def test_the_rounds_by_default_are_those_of_the_documentation():
    schedule, Cs = Schedule(), [np.ones(8)] * 10
    assert schedule.fits(250, 1, 2, Cs, None) == [(250, 80)]
    assert schedule.fits(251, 1, 2, Cs, None) == [(250, 80), (251, 15)]
    assert schedule.fits(1001, 1, 2, Cs, None) == [(250, 80), (1000, 16), (1001, 15)]
    assert schedule.fits(5000, 1, 2, [np.ones(4)], None) == [(5000, 12)]
    assert schedule.fits(5000, 1, 2, [np.ones(5)], None)[0] == (250, 5)
    assert (schedule.left_out, schedule.tested, schedule.gap) == (1000, 1000, 1e-4)


def test_a_candidate_of_one_kernel_is_told_by_its_own_cs():
    Cs = [np.array([1.0, 50.0]), np.array([2.0, 70.0])]
    last = tried([[-5.0, -4.0], [-1.0, -2.0]], Cs)
    kernels, kept = Schedule().survivors(last, last.kernels, Cs, 2)
    assert kernels == [Gaussian(2.0), Gaussian(1.0)]
    assert [k.tolist() for k in kept] == [[2.0, 70.0], [50.0]]


@pytest.mark.parametrize(
    ("scores", "is_past"),
    [
        ([-2.0], False),
        ([-2.0, -1.0, -1.02], False),
        ([-1.0, -1.06], False),
        ([-1.0, -1.01, -1.01], True),
        ([np.nan, np.nan, -1.0], False),
    ],
)
def test_scores_that_move_in_jumps_have_passed_their_best_once_two_are_worse(scores, is_past):
    assert Schedule().is_past(scores, Schedule.by_scorer) is is_past


def test_one_worse_log_loss_ends_the_cs():
    assert not Schedule().is_past([-2.0, -1.0, -1.0], Schedule.by_loss)
    assert Schedule().is_past([-2.0, -1.0, -1.001], Schedule.by_loss)


def test_a_score_that_is_worse_by_no_more_than_the_gap_of_the_fits_does_not_end_the_cs():
    rough = replace(Schedule(), gap=Schedule.sample_gap)
    assert not rough.is_past([-2.0, -1.0, -1.009], rough.by_loss)
    assert rough.is_past([-2.0, -1.0, -1.011], rough.by_loss)
    # Several such steps away from the best are past it.
    assert rough.is_past([-2.0, -1.0, -1.009, -1.018], rough.by_loss)
    assert not rough.is_past([-np.inf, -np.inf], rough.by_loss)
