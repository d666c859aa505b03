"""An estimator that stands in for the one it chose."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from mercer.data.limits.memory import room_of
from mercer.errors import ApproximationWarning
from mercer.estimators.validation import checked_seed
from mercer.kernels import Linear, Precomputed
from mercer.selection import KernelRidgeCV, delegate as module
from mercer.selection.search import Search


@pytest.fixture
def warned(monkeypatch):
    seen = []
    monkeypatch.setattr(module, "warn_of_landmarks", lambda *given: seen.append(given))
    return seen


def chosen(by, **settings):
    model = KernelRidgeCV(**settings)
    model.best_estimator_ = SimpleNamespace(solver=by, approximation_="what is left out")
    return model


def test_landmarks_that_nobody_asked_for_are_warned_of(warned):
    chosen("nystrom", time_limit=7.0)._warn_of_landmarks(50)
    ((choosing, given, left, exact),) = warned
    assert choosing == "an exact choice on 50 rows"
    assert (left, exact, given.time_limit) == ("what is left out", "eigen", 7.0)


@pytest.mark.parametrize(
    ("solver", "settings"),
    [
        ("nystrom", {"solver": "nystrom"}),
        ("nystrom", {"n_landmarks": 5}),
        ("nystrom", {"landmarks": np.zeros((2, 1))}),
        ("cholesky", {}),
        (object(), {}),
    ],
)
def test_landmarks_that_were_asked_for_and_exact_fits_are_not_warned_of(warned, solver, settings):
    chosen(solver, **settings)._warn_of_landmarks(50)
    assert not warned


def test_a_choice_by_landmarks_warns(rng, monkeypatch):
    named = module.Settings("nystrom", n_landmarks=9)
    monkeypatch.setattr(Search, "by_plan", lambda self, *given: replace(self, by_landmarks=named))
    X = rng.normal(size=(40, 2))
    with pytest.warns(ApproximationWarning, match="an exact choice on 40 rows"):
        KernelRidgeCV("gaussian(1.0)", [0.1, 1.0]).fit(X, X[:, 0])


def test_attributes_are_those_of_the_chosen_but_for_training_further():
    model = chosen("cholesky")
    model.best_estimator_.partial_fit = model.best_estimator_.dual_coef_ = 3.0
    assert model.dual_coef_ == 3.0
    for name in ("partial_fit", "__array__"):
        with pytest.raises(
            AttributeError, match=f"'KernelRidgeCV' object has no attribute '{name}'"
        ):
            getattr(model, name)
    with pytest.raises(AttributeError, match="no attribute 'dual_coef_'"):
        KernelRidgeCV().dual_coef_  # noqa: B018


def test_rows_to_predict_have_the_columns_of_fit_and_are_there(rng):
    X = rng.normal(size=(20, 3))
    model = KernelRidgeCV("linear", [1.0]).fit(X, X[:, 0])
    with pytest.raises(ValueError, match="X has 2 features, but KernelRidgeCV is expecting 3"):
        model.predict(X[:, :2])
    with pytest.raises(ValueError, match=r"Found array with 0 sample\(s\) \(shape=\(0, 3\)\)"):
        model.predict(X[:0])
    assert model.predict(X[:1]).shape == (1,)
    assert model._expected(["a", "b"]) == ["a", "b"]


def test_columns_that_were_seen_are_noted_on_the_model():
    model, other = KernelRidgeCV(), SimpleNamespace()
    model.n_features_in_ = 4
    model._show_columns(other)
    assert vars(other) == {"n_features_in_": 4}
    model.feature_names_in_ = ["a"]
    model._show_columns(other)
    assert other.feature_names_in_ == ["a"]


def test_what_was_said_about_how_to_solve_is_kept():
    given = {"solver": "nystrom", "memory": "1GB", "n_landmarks": 7, "time_limit": 3.0}
    found = KernelRidgeCV(random_state=11, **given)._settings(Linear())
    expected = given | {"memory": room_of("1GB")}
    assert {name: getattr(found, name) for name in given} == expected
    assert found.seed == checked_seed(11)
    assert found.landmarks == "rpcholesky"


@pytest.mark.parametrize(
    ("kernels", "is_pairwise"), [(Linear(), False), (Precomputed(), True), ("nonsense(", False)]
)
def test_tags_say_which_rows_are_taken(kernels, is_pairwise):
    tags = KernelRidgeCV(kernels).__sklearn_tags__()
    assert tags.input_tags.sparse
    assert tags.input_tags.pairwise is is_pairwise


def test_landmarks_that_a_fit_of_few_rows_did_without_are_not_told_of():
    model = KernelRidgeCV()
    model.best_estimator_ = SimpleNamespace(solver="nystrom", approximation_=None)
    # Warnings are errors.
    model._warn_of_landmarks(100)
    model.best_estimator_.approximation_ = "5 landmarks leave nothing"
    with pytest.warns(ApproximationWarning, match="5 landmarks leave nothing"):
        model._warn_of_landmarks(100)
