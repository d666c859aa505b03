"""The forecast of conjugate gradients: its steps are about those that are taken."""

import numpy as np
import pytest

from mercer.gram import StreamedGram
from mercer.kernels import Gaussian
from mercer.planning.entries import entry_work
from mercer.planning.forecast import forecast
from mercer.solvers import ConjugateGradient, RidgeProblem
from mercer.solvers.ridge.cg_factor import first_rank


def expected_of(kernel, X, alpha):
    return forecast(StreamedGram(kernel, X), entry_work(kernel, X), alpha, 1e-8)


@pytest.mark.parametrize("alpha", [1e-3, 1e-1])
@pytest.mark.parametrize("length_scale", [1.0, 2.0])
def test_the_steps_foretold_are_those_taken_within_a_factor_of_three(length_scale, alpha, rng):
    X = rng.normal(size=(2000, 3))
    gram = StreamedGram(Gaussian(length_scale), X)
    expected = expected_of(Gaussian(length_scale), X, alpha)
    problem = RidgeProblem(np.sin(X[:, :1]), np.array([alpha]), np.ones(2000), False)
    taken = ConjugateGradient(tol=1e-8, rank=expected.rank, random_state=0).solve(gram, problem)
    assert expected.rank == first_rank(2000)
    assert taken.iterations / 3.0 <= expected.steps <= 3.0 * taken.iterations + 3.0


def test_a_smaller_ridge_takes_more_steps_and_more_time(rng):
    X = rng.normal(size=(600, 4))
    ahead = [expected_of(Gaussian(0.5), X, alpha) for alpha in (1.0, 1e-4)]
    assert ahead[0].steps < ahead[1].steps
    assert ahead[0].work.cost < ahead[1].work.cost


def test_without_a_ridge_there_is_no_end_to_the_steps(rng):
    assert expected_of(Gaussian(0.5), rng.normal(size=(600, 4)), 0.0).steps == np.inf
