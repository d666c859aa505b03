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
