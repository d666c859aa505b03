"""The perceptron against the loop that everybody writes on the blackboard."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from mercer.gram import PrecomputedGram, StreamedGram, gram_of
from mercer.kernels import Gaussian, Linear
from mercer.native.perceptron import sweep
from mercer.native.twins import perceptron as perceptron_twin
from mercer.solvers import Perceptron, Run
from mercer.solvers.online.perceptron import (
    HeldPerceptron,
    StreamedPerceptron,
    Tally,
    margins,
    novikoff_bound,
    perceptron,
)
from oracle import perceptron_walk


def whole_rows(rng, n=80, d=4):
    """Rows of whole numbers, on which a linear kernel makes no rounding errors."""
    X = rng.integers(-5, 6, size=(n, d)).astype(float)
    return X, np.where(X @ [3, -2, 1, 1] + 0.5 * rng.normal(size=n) > 0, 1.0, -1.0)


def run(learner, n, **settings):
    epochs, last_mistakes = Perceptron(**settings).passes(learner, n, Run())
    return learner.tally, epochs, last_mistakes == 0


@pytest.mark.parametrize("gram", [gram_of, StreamedGram])
def test_it_is_the_loop_of_the_blackboard(rng, gram):
    X, y = whole_rows(rng)
    counts, mean = perceptron_walk(X @ X.T, y, 7)
    tally, epochs, _ = run(perceptron(gram(Linear(), X), Tally.fresh(y[None])), 80, max_epochs=7)
    assert_array_equal(tally.counts[0], counts)
    assert_allclose(tally.mean()[0], mean, rtol=1e-12)
    assert_array_equal(tally.last()[0], y * counts)
    assert tally.steps[0] == 80 * epochs


def test_held_and_streamed_matrices_make_the_same_mistakes_in_any_order(rng, monkeypatch):
    monkeypatch.setattr(StreamedPerceptron, "rows_at_a_time", 16)
    X, y = whole_rows(rng)
    signs = np.vstack([y, -y, np.sign(X[:, 0] + 0.5)])
    settings = {"max_epochs": 9, "shuffle": True, "random_state": 3}
    held, _, first = run(perceptron(gram_of(Linear(), X), Tally.fresh(signs)), 80, **settings)
    streamed, _, second = run(
        perceptron(StreamedGram(Linear(), X), Tally.fresh(signs)), 80, **settings
    )
    assert_array_equal(held.counts, streamed.counts)
    assert_array_equal(held.late, streamed.late)
    assert_array_equal(held.steps, streamed.steps)
    assert_array_equal(first, second)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_native_walk_is_that_of_its_twin(rng, dtype):
    X = rng.normal(size=(60, 3))
    K = Gaussian(1.0)(X).astype(dtype)
    signs = np.where(rng.random(60) < 0.5, 1.0, -2.0)
    order = rng.permutation(60)[:50].astype(np.int64)
    results = []
    for walk in (sweep, perceptron_twin.perceptron_sweep):
        f = np.zeros(60)
        counts, late = np.zeros((2, 60), np.int64)
        steps = np.array([7])
        for _ in range(4):
            walk(K, order, signs, f, counts, late, steps)
        results.append((f, counts, late, steps))
    for ours, twin in zip(*results, strict=True):
        assert_array_equal(ours, twin)
    assert results[0][1].sum() > 0


def test_a_value_of_zero_is_a_mistake_for_either_sign():
    K = np.array([[1.0, 0.0], [0.0, 1.0]])
    signs = np.array([[1.0, -1.0]])
    tally, epochs, _ = run(HeldPerceptron(K, Tally.fresh(signs), np.zeros((1, 2))), 2)
    assert_array_equal(tally.counts, [[1, 1]])
    assert epochs == 2


@given(st.integers(0, 10_000), st.integers(1, 3))
def test_mistakes_are_within_the_bound_of_novikoff(seed, d):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, d))
    signs = np.where(X @ rng.normal(size=d) > 0, 1.0, -1.0)[None]
    X += 0.1 * signs.T * X  # no row on the border
    tally = Tally.fresh(signs)
    learner = perceptron(gram_of(Linear(), X), tally)
    _, _, is_separated = run(learner, 30, max_epochs=3000)
    if not is_separated[0]:
        return
    margin = margins(tally, learner.values)
    w = tally.last()[0] @ X
    assert_allclose(margin[0], (signs[0] * (X @ w)).min() / np.linalg.norm(w), rtol=1e-9)
    largest = (X**2).sum(axis=1).max()
    assert tally.counts.sum() <= novikoff_bound(margin, largest, np.ones(30))


def test_the_bound_holds_with_steps_of_different_sizes(rng):
    X = rng.normal(size=(40, 2))
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    X[:, 0] += 0.2 * y
    sizes = np.where(y > 0, 5.0, 0.2)
    tally = Tally.fresh((y * sizes)[None])
    learner = perceptron(gram_of(Linear(), X), tally)
    assert run(learner, 40, max_epochs=5000)[2].all()
    bound = novikoff_bound(margins(tally, learner.values), (X**2).sum(axis=1).max(), sizes)
    assert tally.counts.sum() <= bound


def test_a_solved_problem_is_left_alone_while_others_go_on(rng):
    X, _ = whole_rows(rng)
    easy = np.ones(80)
    hard = np.where(rng.random(80) < 0.5, 1.0, -1.0)
    tally, _, is_separated = run(
        perceptron(gram_of(Linear(100.0), X), Tally.fresh(np.vstack([easy, hard]))),
        80,
        max_epochs=5,
    )
    assert tally.steps.tolist() == [160, 400]
    assert is_separated.tolist() == [True, False]


def test_further_rows_go_on_from_what_is_known(rng):
    X, y = whole_rows(rng)
    whole, *_ = run(perceptron(StreamedGram(Linear(), X), Tally.fresh(y[None])), 80, max_epochs=1)
    tally = Tally.fresh(y[None, :30])
    run(perceptron(StreamedGram(Linear(), X[:30]), tally), 30, max_epochs=1)
    tally = tally.followed_by(y[None, 30:])
    tally, *_ = run(perceptron(StreamedGram(Linear(), X), tally, 30), 50, max_epochs=1)
    assert_array_equal(tally.counts, whole.counts)
    assert_allclose(tally.mean(), whole.mean(), rtol=1e-14)


def test_margins_are_those_of_the_function_written_out(rng):
    K = rng.normal(size=(6, 4))
    K = K @ K.T
    signs = np.where(rng.random((3, 6)) < 0.5, 1.0, -2.0)
    tally = Tally(signs, rng.integers(0, 3, size=(3, 6)), np.zeros((3, 6), int), np.ones(3, int))
    tally.counts[2] = 0
    values = tally.last() @ K
    found = margins(tally, values)
    for p in range(2):
        a = signs[p] * tally.counts[p]
        least = min(np.sign(signs[p, i]) * (K @ a)[i] for i in range(6))
        assert_allclose(found[p], least / np.sqrt(a @ K @ a))
    assert found[2] == 0.0


def test_the_bound_is_radius_over_margin_squared_for_every_problem():
    assert_allclose(novikoff_bound(np.array([0.5, 2.0]), 9.0, np.ones(4)), 36.0 + 2.25)
    assert_allclose(novikoff_bound(np.array([0.5]), 9.0, np.array([1.0, 3.0, 2.0])), 36.0 * 9.0)
    assert novikoff_bound(np.array([1e-200]), 1.0, np.ones(2)) == np.inf


def test_the_mean_counts_a_mistake_for_the_steps_after_it():
    # Mistakes at the steps 1 and 3 of four.
    tally = Tally(np.array([[2.0]]), np.array([[2]]), np.array([[4]]), np.array([4]))
    assert_allclose(tally.mean(), [[2.0 * (2 - 4 / 4)]])
    assert_allclose(tally.last(), [[4.0]])
    fresh = Tally.fresh(np.array([[1.0, -1.0]]))
    assert not fresh.mean().any()
    assert fresh.support.tolist() == []


def test_further_rows_come_without_mistakes_and_some_rows_keep_theirs():
    tally = Tally(np.array([[1.0, -1.0]]), np.array([[3, 0]]), np.array([[5, 0]]), np.array([7]))
    longer = tally.followed_by(np.array([[2.0]]))
    assert longer.signs.tolist() == [[1.0, -1.0, 2.0]]
    assert longer.counts.tolist() == [[3, 0, 0]]
    assert longer.late.tolist() == [[5, 0, 0]]
    assert longer.steps.tolist() == [7]
    part = longer.on(np.array([2, 0]))
    assert (part.signs.tolist(), part.counts.tolist()) == ([[2.0, 1.0]], [[0, 3]])
    assert (part.late.tolist(), part.steps.tolist()) == ([[0, 5]], [7])
    assert tally.support.tolist() == [0]


def test_a_held_matrix_is_walked_along_from_zero_and_all_else_begins_with_its_values(rng):
    X, y = whole_rows(rng)
    fresh, known = Tally.fresh(y[None]), Tally.fresh(y[None])
    known.counts[0, [3, 5]] = 2
    held, streamed = gram_of(Linear(), X), StreamedGram(Linear(), X)
    assert isinstance(perceptron(held, fresh), HeldPerceptron)
    assert not perceptron(held, fresh).values.any()
    for gram, tally, start in ((streamed, fresh, 0), (held, known, 0), (held, known, 9)):
        learner = perceptron(gram, tally, start)
        assert isinstance(learner, StreamedPerceptron)
        assert_allclose(learner.values, (tally.last() @ (X @ X.T))[:, start:])


def test_a_block_of_rows_that_are_all_wrong_is_learned_from():
    K = np.ones((4, 4))
    tally = Tally.fresh(np.array([[1.0, -1.0, -1.0, -1.0]]))
    learner = StreamedPerceptron(PrecomputedGram(K), tally, 0)
    learner.visit(np.array([0]))
    assert_array_equal(learner.values, [[1.0, 1.0, 1.0, 1.0]])
    # f is 1 at all of the others: wrong, then zero, which is wrong as well, then right.
    learner.visit(np.array([1, 2, 3]))
    assert_array_equal(tally.counts, [[1, 1, 1, 0]])
    assert tally.steps[0] == 4
