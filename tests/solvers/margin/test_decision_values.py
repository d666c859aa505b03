"""Values that follow their coefficients, with as many digits as the gap needs."""

import numpy as np
import pytest

from mercer.gram import StreamedGram
from mercer.kernels import Gaussian
from mercer.solvers import MarginProblem
from mercer.solvers.margin.decision_values import Values

KERNEL = Gaussian(1.0)


@pytest.fixture(params=[300, 1500])
def values(request, rng):
    X = rng.normal(size=(request.param, 3))
    problem = MarginProblem.classification(np.sign(X[:, 0]), np.full(len(X), 10.0), True)
    gram = StreamedGram(KERNEL, X)
    return Values(gram, gram.single(), problem)


def coefficients(values, rng):
    # Few rows count, so that most of them are left to float32.
    problem = values.problem
    return problem.feasible(np.where(rng.random(len(problem.z)) < 0.8, 0.0, 9.0 * problem.z))


def test_the_certified_gap_is_that_of_float64(values, rng):
    a = coefficients(values, rng)
    values.start(a.copy(), np.arange(10))
    values.add(np.arange(len(a)), np.zeros(len(a)))
    exact = values.problem.gap(a, values.gram.dense() @ a)
    assert abs(values.gap.gap - exact.gap) > 1e-10 * exact.scale
    assert values.certified().gap == pytest.approx(exact.gap, rel=1e-12)


def test_changes_are_exact_once_the_gap_is_certified(values, rng):
    a = coefficients(values, rng)
    values.start(a.copy(), np.arange(10))
    values.add(np.arange(len(a)), np.zeros(len(a)))
    values.certified()
    values.exact()
    rows = np.flatnonzero(a)[:4]
    values.add(rows, np.array([0.5, -0.5, 0.25, -0.25]))
    np.testing.assert_allclose(values.f, values.gram.dense() @ values.a, rtol=1e-12, atol=1e-12)


def test_values_at_some_rows_are_completed_by_the_next_change(values, rng):
    a = coefficients(values, rng)
    rows = np.arange(10, 30)
    values.start(a.copy(), rows)
    K = values.gram.dense()
    np.testing.assert_allclose(values.f[rows], (K @ a)[rows], atol=1e-3)
    assert not values.f[30:].any()
    values.add(np.array([3, 4]), np.array([0.5, -0.5]))
    moved = a.copy()
    moved[[3, 4]] += [0.5, -0.5]
    np.testing.assert_array_equal(values.a, moved)
    np.testing.assert_allclose(values.f, K @ moved, atol=1e-3)
    values.add(np.array([3, 4, 5]), np.array([-0.5, 0.5, 0.0]))
    np.testing.assert_allclose(values.f, K @ a, atol=1e-3)


def test_no_change_moves_no_value(values, rng):
    a = coefficients(values, rng)
    values.replace(a, values.gram.dense() @ a, True)
    before = values.f.copy()
    values.add(np.arange(5), np.zeros(5))
    np.testing.assert_array_equal(values.f, before)
    assert values._is_exact.all()


@pytest.mark.parametrize("is_exact", [True, False])
def test_replaced_values_are_recomputed_only_where_they_are_not_exact(values, rng, is_exact):
    a = coefficients(values, rng)
    wrong = values.gram.dense() @ a + 1.0
    values.replace(a, wrong.copy(), is_exact)
    values.exact()
    exact = wrong if is_exact else values.gram.dense() @ a
    np.testing.assert_allclose(values.f, exact, rtol=1e-12, atol=1e-12)


def test_a_product_that_is_broken_off_leaves_values_and_coefficients_together(
    values, rng, monkeypatch
):
    a = coefficients(values, rng)
    values.replace(a, values.gram.dense() @ a, True)
    before = values.certified()

    def broken(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(type(values.gram), "partial_product", broken)
    with pytest.raises(KeyboardInterrupt):
        values.add(np.arange(5), np.ones(5))
    assert values.certified() == before


def test_only_rows_that_could_add_to_the_gap_are_computed_again(values, rng, monkeypatch):
    a, n = coefficients(values, rng), len(values.a)
    values.replace(a, values.single @ a, False)
    known = rng.random(n) < 0.5
    values._is_exact[known] = True
    r = values.f + values.problem.offset(values.f) - values.problem.z
    error = 2.0 * values.gram.single_error * np.abs(a).sum()
    near = np.maximum(*values.problem.slopes(a, r)) > -error
    asked = []
    monkeypatch.setattr(values, "_recompute", asked.append)
    values.certified()
    np.testing.assert_array_equal(asked[-1], ((a != 0.0) | near) & ~known)
    assert 0 < asked[-1].sum() < (~known).sum()
