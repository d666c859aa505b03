"""What is learnt block by block is that of all rows at once, or close to it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from mercer.gram import landmark_gram
from mercer.kernels import Gaussian
from mercer.solvers import LogisticProblem, LogisticStream, NystromRidge, RidgeProblem, RidgeStream
from mercer.solvers.logistic.likelihood import probabilities
from mercer.solvers.online.stream import _bound, _curvature

N, BLOCK = 300, 50


@pytest.fixture
def gram(points):
    return landmark_gram(Gaussian(1.0), points(N), 20)


def blocks():
    return [slice(start, start + BLOCK) for start in range(0, N, BLOCK)]


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_ridge_of_a_stream_is_that_of_all_rows(gram, rng, fit_intercept):
    y, w = rng.normal(size=(N, 2)) + 1e3, rng.uniform(0.2, 2.0, N)
    alpha = np.array([0.1, 3.0])
    F, stream = gram.features(), None
    for part in blocks():
        block = (F[part].copy(), y[part], w[part])
        stream = (
            RidgeStream.begun(*block, fit_intercept) if stream is None else stream.after(*block)
        )
    theta, b = stream.solved(alpha)
    whole = NystromRidge(1e-12).solve(gram, RidgeProblem(y, alpha, w, fit_intercept))
    assert_allclose(theta, whole.theta, atol=1e-8 * np.abs(whole.theta).max())
    assert_allclose(b, whole.intercept, rtol=1e-10)


def test_the_order_of_blocks_does_not_matter_to_ridge(gram, rng):
    y, w, F = rng.normal(size=(N, 1)), np.ones(N), gram.features()
    found = []
    for parts in blocks(), blocks()[::-1]:
        first, *rest = parts
        stream = RidgeStream.begun(F[first].copy(), y[first], w[first], True)
        for part in rest:
            stream = stream.after(F[part].copy(), y[part], w[part])
        found.append(np.vstack(stream.solved(np.ones(1))))
    assert_allclose(*found, atol=1e-10)


def test_no_ridge_on_fewer_rows_than_features_is_refused(gram, rng):
    F = gram.features()[:5].copy()
    stream = RidgeStream.begun(F, rng.normal(size=(5, 1)), np.ones(5), True)
    with pytest.raises(ValueError, match="raise alpha"):
        stream.solved(np.zeros(1))


def likelihood(F, codes, v, classes):
    """Return what a logistic model of all rows minimises, with C = 1, and its gradient."""
    problem = LogisticProblem(codes, classes, 1.0, np.ones(len(F)), True)
    E = np.column_stack([F, np.ones(len(F))])
    slope = -E.T @ problem.residual(E @ v)
    slope[:-1] += v[:-1]
    return problem.loss(E @ v) + 0.5 * float((v[:-1] ** 2).sum()), slope


def minimum(F, codes, v, classes):
    """Return the least of what `likelihood` returns, by steps of SciPy from v."""

    def value(flat):
        J, slope = likelihood(F, codes, flat.reshape(v.shape), classes)
        return J, slope.ravel()

    return minimize(value, v.ravel(), jac=True, options={"gtol": 1e-9}).fun


def labels(rng, F, classes):
    scores = F @ rng.normal(size=(F.shape[1], classes)) * 4.0
    return (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)


def learnt(F, codes, classes, parts, weight=1.0):
    stream = LogisticStream.empty(F.shape[1], 1 if classes == 2 else classes, True)
    for part in parts:
        w = np.full(len(codes[part]), weight)
        stream = stream.after(F[part], LogisticProblem(codes[part], classes, 1.0, w, True))
    return stream


@pytest.mark.parametrize("classes", [2, 3])
def test_one_block_of_all_rows_is_learnt_to_the_optimum(gram, rng, classes):
    F = gram.features()
    codes = labels(rng, F, classes)
    stream = learnt(F, codes, classes, [slice(None)])
    value, _ = likelihood(F, codes, stream.v, classes)
    assert 0.0 <= value - minimum(F, codes, stream.v, classes) <= 1e-5 * N


@pytest.mark.parametrize("classes", [2, 3])
def test_blocks_lose_little_of_what_all_rows_at_once_gain(gram, rng, classes):
    F = gram.features()
    codes = labels(rng, gram.X / 4.0, classes)
    least = likelihood(F, codes, learnt(F, codes, classes, [slice(None)]).v, classes)[0]
    none = likelihood(F, codes, np.zeros((F.shape[1] + 1, 1 if classes == 2 else classes)), classes)
    found = likelihood(F, codes, learnt(F, codes, classes, blocks()).v, classes)[0]
    assert least <= found <= least + 0.1 * (none[0] - least)


def test_rows_that_come_again_count_again(gram, rng):
    F = gram.features()
    codes = labels(rng, F, 2)
    twice = learnt(F, codes, 2, [slice(None)], weight=2.0)
    again = learnt(F, codes, 2, [slice(None)] * 2)
    once = learnt(F, codes, 2, [slice(None)])
    off = np.abs(again.v - twice.v).max()
    assert off < 0.3 * np.abs(once.v - twice.v).max()


def test_blocks_of_one_class_after_the_other_are_not_forgotten(gram):
    F = gram.features()
    codes = (gram.X[:, 0] > 0.3).astype(np.intp)
    order = np.argsort(codes, kind="stable")
    stream = learnt(F[order], codes[order], 2, blocks())
    scores = F @ stream.theta[:, 0] + stream.b
    is_right = (scores > 0) == codes
    assert min(is_right[codes == 0].mean(), is_right[codes == 1].mean()) > 0.6


def test_without_an_offset_there_is_none(gram, rng):
    F = gram.features()
    problem = LogisticProblem(labels(rng, F, 3), 3, 1.0, np.ones(N), False)
    assert not LogisticStream.empty(F.shape[1], 3, False).after(F, problem).b.any()


@pytest.mark.parametrize("classes", [2, 4])
def test_curvatures_are_those_of_the_chances_with_price_and_weight(rng, classes):
    weights, columns = rng.uniform(0.2, 2.0, 6), 1 if classes == 2 else 4
    problem = LogisticProblem(np.arange(6) % classes, classes, 3.0, weights, True)
    scores = 3.0 * rng.normal(size=(6, columns))
    P = probabilities(scores)[:, -columns:]
    expected = (1.0 if classes == 2 else 4.0 / 3.0) * 3.0 * weights[:, None] * P * (1.0 - P)
    found = _curvature(problem, scores)
    assert found.shape == expected.shape
    assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("classes", [2, 3])
def test_the_curvature_of_a_bound_is_that_of_its_log_odds_with_price_and_weight(rng, classes):
    weights, columns = rng.uniform(0.2, 2.0, 5), 1 if classes == 2 else 3
    problem = LogisticProblem(np.arange(5) % classes, classes, 3.0, weights, True)
    scores = rng.normal(size=(5, columns))
    P = probabilities(scores)
    odds = scores if classes == 2 else np.log(P / (1.0 - P))
    expected = 3.0 * weights[:, None] * np.tanh(odds / 2.0) / (2.0 * odds)
    assert_allclose(_bound(problem, scores), (1.0 if classes == 2 else 1.5) * expected)
