"""Errors of rows held out, against fits to the others."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.selection.held_out import held_out_errors, held_out_losses
from mercer.selection.sources import Entries, Features
from mercer.selection.splits import Splits

N, ALPHAS = 12, np.array([0.1, 2.0])


def errors_of(*given, at_once=None):
    """The errors of all folds side by side, for all ridges."""
    folds, parts = {}, []
    for ridges, fold, errors in held_out_errors(*given, at_once):
        folds.setdefault(ridges.start, []).append((fold, errors))
    for part in folds.values():
        assert [fold for fold, _ in part] == list(range(len(part)))
        parts.append(np.concatenate([errors for _, errors in part], axis=1))
    return np.concatenate(parts)


@pytest.fixture
def F(rng):
    return rng.normal(size=(N, 3))


@pytest.fixture
def Y(rng):
    return rng.normal(size=(N, 2)) + 1.0


def fit(K, Y, weights, alpha):
    n = len(K)
    matrix = np.block([[K + np.diag(alpha / weights), np.ones((n, 1))], [np.ones(n), 0.0]])
    solved = np.linalg.solve(matrix, np.vstack([Y, np.zeros((1, 2))]))
    return lambda k: k @ solved[:n] + solved[n]


def spelt_out(K, Y, weights, pairs):
    return np.array(
        [
            np.concatenate(
                [
                    Y[test]
                    - fit(K[np.ix_(train, train)], Y[train], weights[train], alpha)(
                        K[np.ix_(test, train)]
                    )
                    for train, test in pairs
                ]
            )
            for alpha in ALPHAS
        ]
    )


def folds(*sizes, spare=0):
    ends = np.cumsum(sizes)
    tests = [np.arange(end - size, end) for end, size in zip(ends, sizes, strict=True)]
    return [(np.setdiff1d(np.arange(N), test)[spare:], test) for test in tests]


PAIRS = {
    "complements": folds(5, 4, 3),
    "others": folds(5, 4, spare=1),
    "single": folds(*[1] * N),
    "large": folds(9, 3),
}


@pytest.mark.parametrize("kind", ["entries", "features"])
@pytest.mark.parametrize("pairs", PAIRS.values(), ids=PAIRS)
def test_errors_of_folds_are_those_of_fits_to_the_others(F, Y, rng, kind, pairs):
    weights, copies = rng.uniform(0.5, 2.0, size=N), np.full(N, 3.0)
    held = Entries(F @ F.T) if kind == "entries" else Features(F, 1 << 30)
    given = (held, Y, weights, copies, ALPHAS, True, Splits(N, pairs))
    expected = spelt_out(F @ F.T, Y, weights, pairs)
    assert_allclose(errors_of(*given), expected, atol=1e-9)
    held = Entries(F @ F.T) if kind == "entries" else Features(F, 1 << 30)
    assert_allclose(errors_of(held, *given[1:], at_once=1), expected, atol=1e-9)
    held = Entries(F @ F.T) if kind == "entries" else Features(F, 1 << 30)
    losses = held_out_losses(held, *given[1:])
    start = 0
    for j, (_, test) in enumerate(pairs):
        part = expected[:, start : start + len(test)]
        mean = np.average(part**2, axis=1, weights=weights[test])
        assert_allclose(losses[:, :, j], mean, atol=1e-9)
        start += len(test)


@pytest.mark.parametrize("is_copied", [True, False])
def test_one_copy_of_every_row_is_left_out(F, Y, is_copied):
    copies = np.tile([1.0, 2.0, 4.0], N // 3) if is_copied else np.ones(N)
    K = F @ F.T
    given = (Y, copies.copy(), copies, ALPHAS, True, Splits(N))
    errors = errors_of(Entries(K.copy()), *given)
    for m, alpha in enumerate(ALPHAS):
        for i in range(N):
            less = copies - (np.arange(N) == i)
            used = less > 0.0
            predict = fit(K[np.ix_(used, used)], Y[used], less[used], alpha)
            assert_allclose(errors[m, i], Y[i] - predict(K[i, used]), atol=1e-8)
    losses = held_out_losses(Entries(K.copy()), *given)
    assert_allclose(losses[:, :, 0], np.average(errors**2, axis=1, weights=copies), atol=1e-8)
    assert losses.shape == (2, 2, 1)
