"""What rounds of a search say about each other."""

import numpy as np
import pytest

from mercer.kernels import Gaussian, Linear
from mercer.selection.results import Round


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


def test_the_best_of_the_best_kernel_is_to_be_reached():
    scores = [np.reshape(s, (-1, 1, 1)) for s in ([-9.0, -8.0], [-1.0, -2.0])]
    Cs = [np.array([1.0, 100.0]), np.array([5.0, 50.0])]
    before = Round([Linear(), Gaussian(1.0)], Cs, scores, 10, None)
    assert round_of([5.0], [0.0], True).reaches(before)
