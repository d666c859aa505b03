"""Scores of held-out errors: one for all targets or one for each, with weights where they fit."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import make_scorer, mean_absolute_error, r2_score

from mercer.selection.scoring import HeldOut, Scores, scorer_of, takes_weights


def median(y, predicted):
    return float(np.median(np.abs(y - predicted)))


@pytest.fixture
def rows(rng):
    """Errors of three alphas at ten rows of two targets, the targets and weights."""
    return rng.normal(size=(3, 10, 2)), 3.0 * rng.normal(size=(10, 2)), rng.uniform(0.5, 2.0, 10)


@pytest.mark.parametrize("is_weighted", [True, False])
def test_a_score_is_that_of_all_targets_or_of_each(rows, is_weighted):
    errors, y, w = rows
    passed = w if is_weighted else None
    for per_target in (True, False):
        scores = Scores.of("r2", per_target, is_weighted, False)
        raw = "raw_values" if per_target else "uniform_average"
        expected = [
            np.atleast_1d(r2_score(y, y - e, sample_weight=passed, multioutput=raw)) for e in errors
        ]
        assert_allclose(scores(errors, np.zeros((10, 1)), y, w), expected)


@pytest.mark.parametrize(("is_single", "shape"), [(True, (10,)), (False, (10, 1))])
def test_a_scorer_sees_targets_in_the_shape_that_the_user_gave(rows, is_single, shape):
    errors, y, w = rows
    seen = []

    def scorer(model, X, truth):
        seen.append((truth.shape, model.predict(X).shape))
        return 1.0

    scores = Scores.of(scorer, False, True, is_single)
    assert scores(errors[:, :, :1], np.zeros((10, 1)), y[:, :1], w).shape == (3, 1)
    assert seen == [(shape, shape)] * 3


def test_without_a_scorer_losses_are_scored_and_errors_are_not(rows):
    errors, y, w = rows
    losses = np.arange(24.0).reshape(3, 2, 4)
    assert_array_equal(Scores.of(None, True, False, False).of_losses(losses), -losses)
    scores = Scores.of(None, False, False, False)
    assert_array_equal(scores.of_losses(losses), -(losses[:, :1] + losses[:, 1:]) / 2.0)
    with pytest.raises(ValueError, match="errors are scored by a scorer"):
        scores(errors, None, y, w)


def test_targets_share_a_unit_where_their_losses_are_averaged():
    y = np.array([[1e-200, 3.0, 0.0], [-4e-200, 1.0, 0.0]])
    small = 2.0 ** np.round(np.log2(4e-200))
    assert_array_equal(Scores.of(None, True, False, False).units_of(y), [small, 1.0, 1.0])
    assert_array_equal(Scores.of(None, False, False, False).units_of(y), [1.0, 1.0, 1.0])
    assert_array_equal(Scores.of(None, False, False, False).units_of(y[:, [0, 2]]), [small, small])


def test_a_scorer_takes_weights_if_its_metric_does():
    assert takes_weights(scorer_of(HeldOut(), "neg_mean_squared_error"))
    assert takes_weights(make_scorer(mean_absolute_error))
    assert not takes_weights(make_scorer(median))
    assert not takes_weights(lambda model, X, y: 0.0)
    assert takes_weights(lambda model, X, y, sample_weight=None: 0.0)
    # Whose parameters cannot be told has none.
    assert not takes_weights(3)


@pytest.mark.parametrize("scoring", [["r2", "max_error"], {"a": "r2"}, 3])
def test_what_is_no_single_scorer_is_refused(scoring):
    with pytest.raises(ValueError, match="scoring must be one scorer, by its name"):
        scorer_of(HeldOut(), scoring)
