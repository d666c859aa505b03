"""Early stopping: rows that were not learned from say which step of learning is returned."""

from itertools import count
from time import perf_counter

import numpy as np
import pandas as pd
import pytest

from mercer import Gaussian, learn
from mercer.errors import MemoryLimitError
from mercer.estimators.validation import checked_training
from mercer.learning import rows_to_give
from mercer.learning.stopping import best_step, rows_held_out
from mercer.solvers import Run


def held_out(n, sample, parameters, weights=None):
    weights = np.ones(n) if weights is None else weights
    return rows_held_out(weights, np.arange(sample), parameters, seed=0)


@pytest.mark.parametrize(("rows", "parameters"), [(100, 25), (11, 11)])
def test_no_rows_are_held_out_of_few_parameters_or_few_rows(rows, parameters):
    assert len(held_out(2 * rows, rows, parameters)) == 0


@pytest.mark.parametrize(
    ("n", "count", "is_other"), [(300, 100, True), (140, 40, True), (120, 33, False)]
)
def test_other_rows_are_held_out_and_where_they_are_few_a_third(n, count, is_other):
    found = held_out(n, 100, 26)
    assert len(found) == len(np.unique(found)) == count
    assert (found >= 100).all() if is_other else (found < 100).all()


def test_rows_of_no_weight_are_not_held_out():
    weights = np.ones(200)
    weights[100:150] = 0.0
    assert held_out(200, 100, 26, weights).min() == 150


@pytest.mark.parametrize(("columns", "rows"), [(25, 100), (26, 200)])
def test_twice_as_many_rows_are_given_of_many_columns(columns, rows):
    assert rows_to_give(np.zeros((5, columns)), 100) == rows
    assert rows_to_give(["a", "b"], 100) == 100


def data(rng, n=60):
    X = rng.uniform(-2.0, 2.0, size=(n, 1))
    return X, np.sin(3.0 * X) + 0.05 * rng.normal(size=(n, 1)), np.ones(n)


def test_the_step_that_predicts_best_is_taken(rng):
    steps = [(Gaussian(s), 0.1) for s in (50.0, 5.0, 0.5, 0.05, 0.001)]
    assert best_step(steps, data(rng), data(rng), None, Run()) == 2


def test_the_first_step_is_taken_where_others_are_no_better_by_two_standard_errors(rng):
    X, _, w = data(rng)
    noise = (X, rng.normal(size=X.shape), w)
    other = (X + 0.01, rng.normal(size=X.shape), w)
    steps = [(Gaussian(50.0), 10.0), (Gaussian(50.0), 9.9)]
    assert best_step(steps, noise, other, None, Run()) == 0


@pytest.mark.parametrize(("scales", "best"), [((50.0, 0.5, 5.0), 2), ((0.5, 5.0, 50.0), 0)])
def test_without_time_the_first_and_the_last_step_are_compared_alone(rng, scales, best):
    steps = [(Gaussian(s), 0.1) for s in scales]
    assert best_step(steps, data(rng), data(rng), None, Run(1e-9)) == best


def test_the_last_step_is_taken_where_work_is_broken_off(rng):
    # Ten seconds after the limit no answer is to be measured any more.
    run = Run(1e-9, began=perf_counter() - 10.0)
    steps = [(Gaussian(0.5), 0.1), (Gaussian(50.0), 0.1)]
    assert best_step(steps, data(rng), data(rng), None, run) == 1


@pytest.mark.parametrize(
    ("alphas", "best"), [((0.1, 1e-300), 0), ((1e-300, 0.1), 1), ((1e-300, 1e-300), 1)]
)
def test_a_step_whose_system_is_singular_is_passed_over(rng, alphas, best):
    steps = [(Gaussian(50.0), alpha) for alpha in alphas]
    assert best_step(steps, data(rng), data(rng), None, Run()) == best


def test_fits_to_what_was_learned_from_are_within_the_memory(rng):
    steps = [(Gaussian(50.0), 0.1), (Gaussian(0.5), 0.1)]
    with pytest.raises(MemoryLimitError, match="limit"):
        best_step(steps, data(rng), data(rng), 1000, Run())


def test_time_that_is_up_in_the_steps_leaves_what_they_found(rng, monkeypatch):
    X = rng.normal(size=(240, 60))
    y, share = np.sin(X[:, 3]) + X[:, 7] ** 2, Run.share
    steps = count()

    def shared(self, part):
        assert part == 0.75
        ahead = share(self, part)
        # The clock is at its end from the eighth look on.
        monkeypatch.setattr(ahead, "is_over", lambda: next(steps) >= 8)
        return ahead

    monkeypatch.setattr(Run, "share", shared)
    found = learn(Gaussian(8.0), X, y, rows=120, max_iter=20, time_limit=600.0)
    assert found.ended_by == "time"
    assert len(found.history) > 2
    assert set(np.argsort(found.kernel.length_scale)[:2]) == {3, 7}


def test_scales_learned_from_noise_are_given_back(rng):
    X, y = rng.normal(size=(160, 60)), rng.normal(size=160)
    found = learn(Gaussian(8.0), X, y, alpha=100.0, rows=80, max_iter=20)
    assert len(found.history) > 1
    assert len(set(found.kernel.length_scale)) == 1
    assert found.rows == 80


def test_columns_that_matter_are_found_among_many(rng):
    X = rng.normal(size=(240, 60))
    found = learn(Gaussian(8.0), X, np.sin(X[:, 3]) + X[:, 7] ** 2, rows=120, max_iter=20)
    assert set(np.argsort(found.kernel.length_scale)[:2]) == {3, 7}


def test_rows_held_out_of_a_wide_table_are_not_checked_again_at_every_step(rng, monkeypatch):
    table = pd.DataFrame(rng.normal(size=(80, 40)), columns=[f"c{i}" for i in range(40)])
    checks = count()

    def checked(*given):
        next(checks)
        return checked_training(*given)

    monkeypatch.setattr("mercer.estimators.ridge.checked_training", checked)
    found = learn("gaussian", table, table["c0"], rows=60, max_iter=8)
    assert len(found.history) > 1
    assert next(checks) == 0
