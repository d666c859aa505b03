"""Scores of held-out probabilities, against scikit-learn's metrics of probabilities written out."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import accuracy_score, log_loss, roc_auc_score

from mercer.selection.classifiers.classes import ClassScores, HeldOutClassifier

NAMES = {2: np.array(["no", "yes"]), 3: np.array([3, 5, 9])}


def held_out(rng, classes):
    """Scores, one column for two classes, the codes, and the probabilities written out."""
    columns = 1 if classes == 2 else classes
    F = 2.0 * rng.normal(size=(40, columns))
    every = np.hstack([-0.5 * F, 0.5 * F]) if classes == 2 else F
    P = np.exp(every) / np.exp(every).sum(axis=1, keepdims=True)
    return F, np.arange(40) % classes, P


@pytest.mark.parametrize("classes", [2, 3])
def test_held_out_scores_are_those_of_a_fitted_classifier(rng, classes):
    F, _, P = held_out(rng, classes)
    model = HeldOutClassifier(F, NAMES[classes])
    assert_allclose(model.predict_proba(None), P)
    assert_array_equal(model.predict(None), NAMES[classes][P.argmax(axis=1)])
    expected = F[:, 0] if classes == 2 else F
    assert_array_equal(model.decision_function(None), expected)
    assert_array_equal(model.classes_, NAMES[classes])


@pytest.mark.parametrize("classes", [2, 3])
def test_the_score_is_minus_the_weighted_log_loss_unless_another_is_given(rng, classes):
    F, codes, P = held_out(rng, classes)
    w = rng.uniform(0.2, 2.0, size=40)
    scores = ClassScores.of(None, True, NAMES[classes])
    assert_allclose(scores(F, None, codes, w), -log_loss(codes, P, sample_weight=w))


@pytest.mark.parametrize("is_weighted", [True, False])
def test_a_scorer_has_the_weights_that_the_user_gave(rng, is_weighted):
    F, codes, P = held_out(rng, 2)
    w = rng.uniform(0.2, 2.0, size=40)
    passed = w if is_weighted else None
    for name, expected in (
        ("accuracy", accuracy_score(codes, P.argmax(axis=1), sample_weight=passed)),
        ("roc_auc", roc_auc_score(codes, F[:, 0], sample_weight=passed)),
    ):
        scores = ClassScores.of(name, is_weighted, NAMES[2])
        assert_allclose(scores(F, np.zeros((40, 1)), codes, w), expected)


def test_a_function_that_takes_no_weights_is_given_none(rng):
    F, codes, P = held_out(rng, 3)
    scores = ClassScores.of(lambda model, X, y: model.score(X, y), True, NAMES[3])
    expected = np.mean(P.argmax(axis=1) == codes)
    assert_allclose(scores(F, np.zeros((40, 1)), codes, np.ones(40)), expected)
