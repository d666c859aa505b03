"""The mean of the best candidates, and when it is taken."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import mercer
from mercer import Gaussian, Laplacian
from mercer.kernels import Sum
from mercer.selection.automatic import regressor
from mercer.selection.automatic.board import Candidate, Leaderboard
from mercer.selection.automatic.cross_fit import Compared
from mercer.selection.automatic.labelled import LabelledRows
from mercer.selection.automatic.mean import (
    LEAST_WEIGHT,
    MOST_PARTS,
    _by_other_rows,
    _largest,
    _weights,
    with_mean,
)

ROWS = np.arange(200)


def judge(missed):
    return (missed**2).mean(axis=1), float(np.sqrt(np.mean(missed**2)))


def candidate(i, missed):
    kernel, alpha = Gaussian(1.0 + i), 0.1 * (i + 1)
    return Candidate(
        f"c{i}", kernel, alpha, *judge(missed), "leave-one-out", 200, True, 1.0, missed=missed
    )


def averaged(given, groups=ROWS):
    return with_mean(given, judge, np.ones(len(groups)), groups)


def candidates(rng, shared, own):
    """Candidates that miss what all do, and what each does, by these deviations."""
    common = shared * rng.normal(size=(200, 1))
    return [candidate(i, common + size * rng.normal(size=(200, 1))) for i, size in enumerate(own)]


def test_candidates_that_miss_different_rows_are_averaged(rng):
    given = candidates(rng, 0.1, [1.0, 1.05])
    found = averaged(given)
    assert_array_equal([len(c.parts) for c in found], [2, 0, 0])
    assert found[0].parts == tuple(sorted(given, key=lambda c: c.error))
    assert found[0].error < min(c.error for c in given)
    assert_allclose(sum(found[0].shares), 1.0, atol=0.011)
    assert [term.factor for term in found[0].kernel.terms] == list(found[0].shares)
    assert found[0].seconds == 2.0
    assert found[0].name.startswith("mean: 0.")


@pytest.mark.parametrize(
    ("lost", "is_learned", "place"),
    [(0.5, True, 0), (0.5, False, 1), (-0.5, False, 1), (-2.0, False, 0), (2.0, True, 1)],
)
def test_a_mean_that_is_as_good_comes_before_what_is_learned_alone(rng, lost, is_learned, place):
    """By so many deviations of the mean difference it loses."""
    given = candidates(rng, 0.1, [1.0, 1.05])
    given[0] = replace(given[0], is_learned=is_learned)
    noise = rng.normal(size=200)
    noise = (noise - noise.mean()) / noise.std()
    squares = given[0].squares + noise + lost / np.sqrt(200)
    found = with_mean(given, lambda missed: (squares, 1.0), np.ones(200), ROWS)
    assert [bool(c.parts) for c in found].index(True) == place


def test_one_candidate_that_is_far_better_has_no_mean(rng):
    given = candidates(rng, 0.0, [0.01, 1.0])
    assert averaged(given) == given
    assert averaged(given[:1]) == given[:1]


def test_a_mean_has_no_kernel_twice(rng):
    given = candidates(rng, 0.1, [1.0, 1.05])
    again = replace(given[0], alpha=7.0, missed=given[0].missed + 0.01)
    assert averaged([given[0], again]) == [given[0], again]
    found = averaged([given[0], again, given[1]])
    assert found[0].parts == (given[0], given[1])


def test_a_mean_is_of_few_that_count(rng):
    found = averaged(candidates(rng, 0.0, [1.0] * 8))[0]
    assert len(found.parts) == MOST_PARTS
    assert min(found.shares) >= LEAST_WEIGHT


def test_the_errors_of_a_mean_are_those_of_weights_from_other_rows(rng):
    """Of as many candidates as rows none is better than chance."""
    given = candidates(rng, 0.0, [1.0] * 3)
    small = [candidate(i, c.missed[:10]) for i, c in enumerate(given)]
    found = next(c for c in averaged(small, np.arange(10)) if c.parts)
    pairs = zip(found.shares, found.parts, strict=True)
    in_sample = sum(share * c.missed for share, c in pairs)
    assert found.squares.mean() > np.mean(in_sample**2)


def test_rows_of_a_group_judge_weights_that_none_of_them_gave(rng):
    given = candidates(rng, 0.1, [1.0, 1.05])
    doubled = [candidate(i, np.repeat(c.missed, 2, axis=0)) for i, c in enumerate(given)]
    grouped = averaged(doubled, np.repeat(ROWS, 2))[0]
    assert_allclose(grouped.squares[::2], averaged(given)[0].squares)


@pytest.fixture
def board(rng):
    parts = candidates(rng, 0.1, [1.0, 1.05])
    parts[1] = replace(parts[1], kernel=Laplacian(2.0))
    made = averaged(parts)
    return Leaderboard.of(*made[:1], made[1:], False)


@pytest.fixture
def search(monkeypatch, board):
    monkeypatch.setattr(regressor.KernelSearch, "winners", lambda self: board)
    # Candidates that nothing is known of cannot be learned again.
    monkeypatch.setattr(mercer.KernelRegressor, "nested_rows", 0)


def test_the_automatic_machine_fits_the_mean(rng, search, board, tmp_path):
    X = rng.normal(size=(30, 2))
    model = mercer.KernelRegressor().fit(X, np.sin(X[:, 0]))
    assert isinstance(model.estimator_, mercer.KernelRidgeMean)
    assert_allclose(model.estimator_.weights_, board[0].shares, atol=0.011)
    assert model.alpha_ == tuple(c.alpha for c in board[0].parts)
    assert [type(term.kernel) for term in model.kernel_.terms] == [Gaussian, Laplacian]
    low, high = model.predict_interval(X)
    assert np.all(low <= high)
    assert "mean: 0." in str(model.candidates_)
    mercer.save(model, tmp_path / "model.mercer")
    loaded = mercer.load(tmp_path / "model.mercer")
    assert_array_equal(loaded.predict(X), model.predict(X))
    assert loaded.candidates_[0].shares == board[0].shares
    assert "Leaderboard" in mercer.report(model, X, np.sin(X[:, 0])).html


def test_without_time_for_all_of_the_mean_the_best_kernel_is_fitted(rng, search, monkeypatch):
    monkeypatch.setattr(regressor, "affords", lambda *given: False)
    X = rng.normal(size=(30, 2))
    model = mercer.KernelRegressor(time_limit=60.0).fit(X, np.sin(X[:, 0]))
    assert isinstance(model.estimator_, mercer.KernelRidge)
    assert model.kernel_ == model.candidates_[0].kernel == Gaussian(1.0)


def test_a_classifier_takes_the_mean_where_its_log_loss_is_the_least(rng, search):
    X = rng.normal(size=(60, 2))
    y = X[:, 0] + 0.5 * rng.normal(size=60) > 0.0
    model = mercer.KernelClassifier().fit(X, y)
    assert set(model.losses_) == {"ridge", "mean", "logistic"}
    best = min(model.losses_, key=model.losses_.get)
    kinds = {
        "ridge": mercer.KernelRidgeClassifier,
        "mean": mercer.KernelRidgeMeanClassifier,
        "logistic": mercer.KernelLogisticRegression,
    }
    assert type(model.estimator_) is kinds[best]
    assert model.kernel_ == model.estimator_.kernel_


def test_the_kernel_instead_of_a_mean_is_one_of_the_last_round(board):
    parts = board[1], board[2]
    early = replace(parts[0], name="early", rows=100, score=0.0)
    found = Leaderboard.of(board[0], (*parts, early), False).without_means()
    assert found[0].name == min(parts, key=lambda c: c.error).name
    assert [c.name for c in found][-1] == "early"


@pytest.mark.parametrize("best", ["ridge", "mean", "logistic"])
def test_the_first_candidate_of_a_classifier_is_the_one_that_it_uses(
    rng, search, monkeypatch, best
):
    def compared(self, search, reader, one, means, run):
        return {
            "ridge": Compared(float(best != "ridge"), one),
            "mean": Compared(float(best != "mean"), means[0]),
            "logistic": Compared(float(best != "logistic"), one, C=0.1),
        }

    monkeypatch.setattr(
        mercer.KernelClassifier, "_cross_fitted", lambda _, s, board, run: (board, {})
    )
    monkeypatch.setattr(mercer.KernelClassifier, "_compared", compared)
    X = rng.normal(size=(40, 2))
    model = mercer.KernelClassifier().fit(X, X[:, 0] > 0.0)
    first = model.candidates_[0]
    assert bool(first.parts) == (best == "mean")
    assert best == "mean" or first.kernel == model.kernel_
    singles = [c for c in model.candidates_ if not c.parts]
    assert best == "mean" or first.error == min(c.error for c in singles)
    assert len(model.candidates_) == 3


def test_a_mean_has_the_ridge_and_the_round_of_its_first_part(rng):
    given = candidates(rng, 0.1, [1.0, 1.05, 1.02])
    given[1] = replace(given[1], rows=123)
    made = averaged(given)[0]
    first = made.parts[0]
    assert (made.alpha, made.rows) == (first.alpha, first.rows)
    assert [c.alpha for c in made.parts] != [made.alpha] * 3
    assert list(made.shares) == sorted(made.shares, reverse=True)


def test_shares_are_told_in_two_digits_and_make_the_name(rng):
    made = averaged(candidates(rng, 0.1, [1.0, 1.05]))[0]
    names = [f"{share:.2g} {c.name}" for share, c in zip(made.shares, made.parts, strict=True)]
    assert made.name == "mean: " + " + ".join(names)


def test_rows_of_more_weight_count_more_in_the_weights_of_a_mean(rng):
    one, other = rng.normal(size=(2, 200, 1))
    # The first misses little in rows of much weight, the other in the rest.
    heavy = np.arange(200) < 100
    one[heavy], other[~heavy] = 0.3 * one[heavy], 0.3 * other[~heavy]
    given = [candidate(0, one), candidate(1, other)]
    made = next(c for c in with_mean(given, judge, np.where(heavy, 1.0, 0.3), ROWS) if c.parts)
    shares = dict(zip((c.name for c in made.parts), made.shares, strict=True))
    assert shares["c0"] > shares["c1"] + 0.1


def test_a_mean_of_equally_many_rows_in_five_folds_is_judged_by_the_other_four(rng):
    missed = rng.normal(size=(10, 1, 2))
    found = _by_other_rows(missed, np.ones(10), np.arange(10))
    folds = np.random.default_rng(0).permutation(10) % 5
    for fold in range(5):
        out = folds == fold
        assert out.sum() == 2
        assert_allclose(found[out], missed[out] @ _weights(missed[~out], np.ones(8)))


@pytest.mark.parametrize(
    ("weights", "places"),
    [
        ([0.5, 0.05, 0.45], [0, 2, 1]),
        ([0.5, 0.049, 0.451], [0, 2]),
        ([0.1, 0.2, 0.3, 0.4], [3, 2, 1]),
        ([0.3, 0.3, 0.4], [2, 0, 1]),
    ],
)
def test_the_largest_three_weights_of_a_twentieth_at_least_are_kept(weights, places):
    assert _largest(np.array(weights)) == places


def test_candidates_without_errors_of_their_own_are_not_averaged(rng):
    given = candidates(rng, 0.1, [1.0, 1.05])
    lost = [given[0], replace(given[1], missed=None)]
    assert averaged(lost) == lost


@pytest.mark.parametrize("is_better", [False, True])
def test_logistic_regression_has_the_sum_of_a_mean_where_that_has_the_less_loss(
    rng, search, monkeypatch, is_better
):
    plain = LabelledRows.logistic

    def logistic(self, candidate, tried):
        found = plain(self, candidate, tried)
        return found._replace(loss=0.001 if is_better == bool(candidate.parts) else 0.002)

    monkeypatch.setattr(LabelledRows, "logistic", logistic)
    # Of more rows than are judged none are learned from again.
    monkeypatch.setattr(mercer.KernelClassifier, "_n_folds", lambda self, search: 0)
    X = rng.normal(size=(60, 2))
    model = mercer.KernelClassifier().fit(X, X[:, 0] + 0.5 * rng.normal(size=60) > 0.0)
    assert isinstance(model.estimator_, mercer.KernelLogisticRegression)
    assert model.losses_["logistic"] == 0.001
    assert isinstance(model.kernel_, Sum) == is_better
    assert bool(model.candidates_[0].parts) == is_better
