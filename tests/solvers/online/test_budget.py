"""The perceptron on a budget."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer.gram import DenseGram, StreamedGram, gram_of
from mercer.kernels import Gaussian, Linear
from mercer.solvers import Perceptron, Run
from mercer.solvers.online.budget import Basis, BudgetedPerceptron
from mercer.solvers.online.perceptron import Tally, perceptron


def rows_and_signs(rng, n=120, problems=2):
    X = rng.normal(size=(n, 2))
    signs = np.column_stack([np.sign(X[:, 0] * X[:, 1]), np.sign((X**2).sum(axis=1) - 1.5)])
    return X, signs[:, :problems]


def squared_norm(K, a):
    return np.einsum("ip,ij,jp->", a, K, a)


def basis_of(K, a):
    s = len(K)
    return Basis(np.arange(s), np.linalg.inv(K), a, np.zeros_like(a), 1)


def test_with_room_for_all_it_is_the_perceptron(rng):
    X, signs = rows_and_signs(rng)
    gram = gram_of(Gaussian(0.5), X)
    tally = Tally.fresh(signs.T)
    Perceptron(3).passes(perceptron(gram, tally), len(X), Run())
    learner = BudgetedPerceptron(gram, signs, Basis.empty(2), 500, 0)
    Perceptron(3).passes(learner, len(X), Run())
    order = np.argsort(learner.basis.rows)
    assert_array_equal(learner.basis.rows[order], tally.support)
    assert_allclose(learner.basis.last[order], tally.last()[:, tally.support].T, atol=1e-5)
    assert_allclose(learner.basis.mean()[order], tally.mean()[:, tally.support].T, atol=1e-5)
    assert_array_equal(learner.mistakes(), tally.counts.sum(axis=1))


def test_what_is_left_is_the_closest_function_of_one_point_fewer(rng):
    X = rng.normal(size=(7, 2))
    K, a = Gaussian(1.0)(X), rng.normal(size=(7, 2))
    reduced, removed = basis_of(K, a).reduced()
    losses = []
    for r in range(7):
        others = np.delete(np.arange(7), r)
        best = np.linalg.solve(K[np.ix_(others, others)], K[others] @ a)
        off = a.copy()
        off[others] -= best
        losses.append(squared_norm(K, off))
    assert removed == np.argmin(losses)
    others = np.delete(np.arange(7), removed)
    assert_array_equal(reduced.rows, others)
    expected = np.linalg.solve(K[np.ix_(others, others)], K[others] @ a)
    assert_allclose(reduced.last, expected, rtol=1e-8)
    assert_allclose(reduced.inverse, np.linalg.inv(K[np.ix_(others, others)]), rtol=1e-8)


def test_a_point_in_the_span_is_put_on_the_others(rng):
    X = rng.integers(-4, 5, size=(5, 2)).astype(float)
    X[:2] = [[1.0, 0.0], [0.0, 1.0]]
    K = Linear()(X)
    basis = basis_of(K[:2, :2], np.ones((2, 1)))
    after = basis.after(3, K[:2, 3], K[3, 3], np.array([2.0]), 5)
    assert_array_equal(after.rows, [0, 1])
    assert_allclose(after.last[:, 0], 1.0 + 2.0 * X[3])
    assert_allclose(after.late[:, 0], 10.0 * X[3])


@pytest.mark.parametrize("gram", [gram_of, StreamedGram])
def test_it_never_needs_more_points_than_the_budget(rng, gram):
    X, signs = rows_and_signs(rng, 300)
    learner = BudgetedPerceptron(gram(Gaussian(0.4), X), signs, Basis.empty(2), 15, 0)
    for _ in range(3):
        for start in range(0, 300, 50):
            learner.visit(np.arange(start, start + 50))
            assert len(learner.basis.rows) <= 15
    K = Gaussian(0.4)(X[learner.basis.rows])
    assert_allclose(learner.basis.inverse @ K, np.eye(15), atol=1e-6)


def test_it_learns_on_a_budget(rng):
    X, signs = rows_and_signs(rng, 600, 1)
    learner = BudgetedPerceptron(StreamedGram(Gaussian(0.7), X), signs, Basis.empty(1), 30, 0)
    Perceptron(5).passes(learner, 600, Run())
    scores = Gaussian(0.7)(X, X[learner.basis.rows]) @ learner.basis.mean()
    assert (np.sign(scores) == signs).mean() > 0.93


def test_an_interrupted_stream_goes_on_where_it_was(rng):
    X, signs = rows_and_signs(rng, 128)
    gram = gram_of(Gaussian(0.5), X)
    whole = BudgetedPerceptron(gram, signs, Basis.empty(2), 10, 0)
    Perceptron(1).passes(whole, 128, Run())
    first = BudgetedPerceptron(gram, signs, Basis.empty(2), 10, 0)
    first.visit(np.arange(64))
    second = BudgetedPerceptron(gram, signs, first.basis, 10, 64)
    second.visit(np.arange(64))
    assert_array_equal(second.basis.rows, whole.basis.rows)
    assert_allclose(second.basis.mean(), whole.basis.mean(), rtol=1e-6)


def test_a_budget_of_one_point_is_kept():
    gram = gram_of(Linear(), np.eye(3))
    machine = BudgetedPerceptron(gram, np.array([[1.0], [-1.0], [1.0]]), Basis.empty(1), 1, 0)
    machine.visit(np.arange(3))
    assert len(machine.basis.rows) == 1


@pytest.mark.parametrize("budget", [0, 2.5, "many"])
def test_a_budget_that_means_nothing_is_refused(budget):
    gram, message = gram_of(Linear(), np.eye(2)), "budget must be a whole number of at least 1"
    with pytest.raises(ValueError, match=f"{message} or None, got {budget!r}"):
        BudgetedPerceptron(gram, np.ones((2, 1)), Basis.empty(1), budget, 0)


def test_a_row_at_which_every_function_is_zero_adds_no_point():
    basis = basis_of(np.eye(2), np.ones((2, 1)))
    after = basis.after(5, np.zeros(2), 0.0, np.array([3.0]), 4)
    assert_array_equal(after.rows, [0, 1])
    assert_array_equal(after.last, basis.last)


def test_a_point_outside_the_span_borders_the_inverse(rng):
    X = rng.normal(size=(4, 2))
    K = Gaussian(1.0)(X)
    basis = basis_of(K[:3, :3], rng.normal(size=(3, 2)))
    change = np.array([0.5, -2.0])
    after = basis.after(9, K[:3, 3], K[3, 3], change, 7)
    assert_array_equal(after.rows, [0, 1, 2, 9])
    assert_allclose(after.inverse, np.linalg.inv(K), rtol=1e-8)
    assert_allclose(after.last, np.vstack([basis.last, change]))
    assert_allclose(after.late, np.vstack([basis.late, 7 * change]))
    assert after.steps == basis.steps


def test_a_point_of_the_basis_is_changed_where_it_is(rng):
    X = rng.normal(size=(3, 2))
    K = Gaussian(1.0)(X)
    basis = basis_of(K, np.zeros((3, 1)))
    after = basis.after(1, K[:, 1], K[1, 1], np.array([2.0]), 3)
    assert_array_equal(after.last[:, 0], [0.0, 2.0, 0.0])
    assert_array_equal(after.late[:, 0], [0.0, 6.0, 0.0])


@pytest.mark.parametrize(("share", "is_in"), [(0.5e-7, True), (2e-7, False)])
def test_a_point_next_to_the_span_is_in_it(share, is_in):
    basis = basis_of(np.eye(1), np.zeros((1, 1)))
    # k(x, x) = 4, of which all but this share is explained by the point of the basis.
    k = np.sqrt(4.0 * (1.0 - share))
    after = basis.after(5, np.array([k]), 4.0, np.array([1.0]), 1)
    assert (len(after.rows) == 1) is is_in


def test_the_mean_is_the_last_less_what_came_late():
    basis = Basis(np.arange(1), np.eye(1), np.array([[4.0]]), np.array([[6.0]]), 3)
    assert_array_equal(basis.mean(), [[2.0]])
    assert_array_equal(
        Basis(np.arange(1), np.eye(1), np.ones((1, 1)), np.ones((1, 1)), 0).mean(), [[0.0]]
    )


@pytest.mark.parametrize(("budget", "block"), [(20, 10), (5, 10)])
def test_the_inverse_is_renewed_after_as_many_points_as_the_budget_or_a_block(
    rng, monkeypatch, budget, block
):
    X, signs = rows_and_signs(rng, 200, 1)
    renewed = []
    monkeypatch.setattr(BudgetedPerceptron, "rows_at_a_time", block)
    monkeypatch.setattr(BudgetedPerceptron, "_renew", lambda self: renewed.append(self._updates))
    learner = BudgetedPerceptron(
        DenseGram.of(StreamedGram(Gaussian(0.05), X)), signs, Basis.empty(1), budget, 0
    )
    for row in range(200):
        learner.visit(np.array([row]))
    assert renewed[0] == max(budget, block)


def test_a_smaller_budget_than_before_takes_points_out_at_once(rng):
    X = rng.normal(size=(6, 2))
    basis = basis_of(Gaussian(1.0)(X), rng.normal(size=(6, 1)))
    gram = DenseGram.of(StreamedGram(Gaussian(1.0), X))
    assert len(BudgetedPerceptron(gram, np.ones((6, 1)), basis, 4, 0).basis.rows) == 4
    assert len(BudgetedPerceptron(gram, np.ones((6, 1)), basis, 6, 0).basis.rows) == 6
