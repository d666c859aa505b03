"""The plan of the kernel perceptron: held entries, or those beside mistakes."""

import numpy as np
import pytest

from mercer import FromFunction, Gaussian, KernelPerceptron
from mercer.errors import MemoryLimitError
from mercer.planning import Settings
from mercer.planning.perceptron import check_passes, matrix_share


@pytest.fixture
def X(rng):
    return rng.normal(size=(100, 3))


def test_entries_are_held_where_they_fit(X):
    plan = KernelPerceptron(memory=8 * 100**2).plan(X)
    assert plan.gram == "a dense matrix"
    assert plan.memory == 8 * 100**2 + 4 * 8 * 100
    less = KernelPerceptron(memory=8 * 100**2 - 1).plan(X)
    assert less.gram == "rows of entries as they are needed"
    assert less.memory == 4 * 8 * 100
    assert less.seconds > plan.seconds


def test_every_class_of_several_has_a_problem_of_its_own(X):
    two, three = (KernelPerceptron().plan(X, np.arange(100) % c) for c in (2, 3))
    assert KernelPerceptron().plan(X) == two
    assert three.memory - two.memory == 2 * 4 * 8 * 100
    assert three.seconds > two.seconds


def test_passes_and_a_budget_take_their_time(X):
    once, often = (KernelPerceptron(max_epochs=m, memory=10**4).plan(X) for m in (1, 10))
    assert often.seconds == pytest.approx(10.0 * once.seconds)
    few, many = (KernelPerceptron(budget=b).plan(X).seconds for b in (5, 50))
    assert few < many


def test_a_plan_leaves_the_estimator_as_it_was(X):
    model = KernelPerceptron()
    model.plan(X)
    assert not hasattr(model, "n_features_in_")


def test_the_plan_knows_the_time_limit(X):
    assert KernelPerceptron(time_limit=60.0).plan(X).is_in_time
    assert not KernelPerceptron(time_limit=1e-12).plan(X).is_in_time


@pytest.mark.parametrize(("time_limit", "share"), [(None, 1.0), (1e4, 1.0), (1.0, 0.0)])
def test_no_matrix_is_filled_that_takes_most_of_the_time_limit(rng, time_limit, share):
    rows = np.broadcast_to(rng.normal(size=5), (40_000, 5))
    settings = Settings(time_limit=time_limit)
    assert matrix_share(settings, Gaussian(1.0), rows, None) == share


def test_a_budget_needs_few_entries_of_a_quick_kernel_and_all_of_a_slow_one(X):
    assert matrix_share(Settings(), Gaussian(1.0), X, 5) == 0.0
    slow = FromFunction(lambda A, B: A @ B.T)
    assert not slow.is_quick
    assert matrix_share(Settings(), slow, X, 5) == 1.0
    assert matrix_share(Settings(time_limit=1e-9), slow, X, None) == 1.0


def test_signs_counts_times_and_values_of_all_problems_must_fit():
    check_passes(10, 3, 4 * 8 * 30)
    with pytest.raises(MemoryLimitError, match="solver 'perceptron' needs"):
        check_passes(10, 3, 4 * 8 * 30 - 1)


def test_rows_of_a_stream_count_beside_those_in_the_sum(X):
    y = (X[:, 0] > 0).astype(int)
    model = KernelPerceptron(memory=4 * 8 * 100).partial_fit(X, y, classes=[0, 1])
    known = len(model.support_)
    assert known > 0
    with pytest.raises(MemoryLimitError, match="solver 'perceptron' needs"):
        model.partial_fit(X, y)
    model.partial_fit(X[known:], y[known:])
    with pytest.raises(MemoryLimitError, match="solver 'perceptron' needs"):
        KernelPerceptron(memory=4 * 8 * 100 - 1).partial_fit(X, y, classes=[0, 1])
