"""A model that was saved and loaded answers as before."""

import datetime
import os
import subprocess
import sys
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mercer
from catalogue import ARD, COMPOSITE, SIMPLE
from mercer.errors import ModelFileError
from mercer.files.registry import CLASSES, ESTIMATORS
from mercer.solvers.ridge.jackknife import jackknife_plus
from saved import CSR, MODELS, TEXTS, THREE, X, Y, answers, made


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.mercer"


@pytest.mark.parametrize("name", MODELS)
def test_a_loaded_model_answers_bit_for_bit(name, path):
    model, rows = made(name)
    mercer.save(model, path)
    content = path.read_bytes()
    mercer.save(model, path)
    assert path.read_bytes() == content, "saving twice gives equal files"
    loaded = mercer.load(path)
    assert type(loaded) is type(model)
    before, after = answers(model, rows), answers(loaded, rows)
    assert before.keys() == after.keys()
    for way, values in before.items():
        assert type(after[way]) is type(values), way
        assert np.array_equal(values, after[way]), way
    assert settings_of(loaded) == settings_of(model)
    for fact in ("certificate_", "kernel_", "candidates_", "approximation_", "best_params_"):
        assert str(getattr(loaded, fact, None)) == str(getattr(model, fact, None)), fact


def settings_of(model):
    """Return the parameters of a model as texts, with random states by their numbers."""
    return {
        name: str(value.get_state()) if isinstance(value, np.random.RandomState) else str(value)
        for name, value in model.get_params().items()
    }


def test_the_models_of_these_tests_are_of_every_estimator():
    # Whoever exports another one adds it to tests/saved.py.
    public = {getattr(mercer, name) for name in mercer.__all__}
    wanted = {k for k in public if isinstance(k, type) and issubclass(k, BaseEstimator)}
    assert {type(made(name)[0]) for name in MODELS} == wanted


def test_what_a_landmark_model_leaves_behind_is_said(path):
    mercer.save(MODELS["ridge by landmarks"]()[0], path)
    with pytest.raises(ValueError, match="training rows are no part of a landmark model"):
        _ = mercer.load(path).leave_one_out_predictions_


def test_a_landmark_model_that_was_saved_has_intervals_that_cover(path):
    random = np.random.default_rng(0)
    rows = random.normal(size=(900, 2))
    y = np.sin(rows[:, 0]) + 0.3 * random.normal(size=900)
    model = mercer.KernelRidge("gaussian", 0.1, solver="nystrom", n_landmarks=40)
    mercer.save(model.fit(rows[:600], y[:600]), path)
    loaded = mercer.load(path)
    np.testing.assert_array_equal(loaded.predict(rows), model.predict(rows))
    lower, upper = loaded.predict_interval(rows[600:], 0.9)
    assert 0.85 <= np.mean((lower <= y[600:]) & (y[600:] <= upper)) <= 0.95
    kept = model.predict_interval(rows[600:], 0.9)
    np.testing.assert_allclose(np.mean(upper - lower), np.mean(kept[1] - kept[0]), rtol=0.15)


def test_intervals_of_a_saved_landmark_model_take_no_memory_for_every_row_left_out(path):
    random = np.random.default_rng(0)
    rows = random.normal(size=(20_000, 2))
    y = np.sin(rows[:600]) + 0.3 * random.normal(size=(600, 2))
    model = mercer.KernelRidge("gaussian", 0.1, solver="nystrom", n_landmarks=20)
    mercer.save(model.fit(rows[:600], y), path)
    loaded = mercer.load(path)
    missed, predicted = loaded._sampled_residuals_, loaded.predict(rows)
    tracemalloc.start()
    try:
        lower, upper = loaded.predict_interval(rows, 0.8)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # A number for every new row and row left out.
    assert peak < 0.5 * 8 * len(rows) * len(missed)
    for t in range(2):
        still = np.zeros((len(missed), 100))
        ends = jackknife_plus(predicted[:100, t], still, abs(missed[:, [t]]), 0.8)
        np.testing.assert_allclose((lower[:100, t], upper[:100, t]), ends, rtol=1e-13)


@pytest.mark.parametrize(
    "name", ["ridge of a stream", "logistic of a stream", "SVC of a stream", "SVR of a stream"]
)
def test_a_loaded_stream_goes_on_as_if_it_had_not_been_saved(name, path):
    model, rows = MODELS[name]()
    mercer.save(model, path)
    loaded = mercer.load(path)
    more = X[::-1] * 1.1
    for m in (model, loaded):
        m.partial_fit(more, THREE)
    assert np.array_equal(loaded.function_(rows), model.function_(rows))


def test_a_path_to_write_to_is_no_part_of_a_file(path, tmp_path):
    model = mercer.KernelRidge(checkpoint=str(tmp_path / "state")).fit(X, Y)
    mercer.save(model, path)
    assert mercer.load(path).checkpoint is None


@pytest.mark.parametrize("name", ["ridge", "SVC of three classes", "ridge of a table", "logistic"])
def test_a_loaded_model_is_saved_as_the_same_bytes(name, path):
    mercer.save(MODELS[name]()[0], path)
    content = path.read_bytes()
    mercer.save(mercer.load(path), path)
    assert path.read_bytes() == content


def test_a_model_is_the_same_in_another_process(path):
    model, rows = MODELS["SVC of three classes"]()
    mercer.save(model, path)
    code = (
        "import sys, mercer, numpy as np; m = mercer.load(sys.argv[1]);"
        "X = np.random.default_rng(0).normal(size=(30, 3));"
        "print(m.decision_function(X).tobytes().hex())"
    )
    said = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True)
    assert said.stdout.strip() == model.decision_function(rows).tobytes().hex(), said.stderr


def test_what_is_known_beyond_predictions_is_kept(path):
    model = mercer.KernelRidge(alpha=0.1).fit(X, Y)
    mercer.save(model, path)
    loaded = mercer.load(path)
    assert np.array_equal(loaded.leave_one_out_predictions_, model.leave_one_out_predictions_)
    assert np.array_equal(
        loaded.predict(X, return_std=True)[1], model.predict(X, return_std=True)[1]
    )
    assert str(loaded.certificate_) == str(model.certificate_)
    assert np.array_equal(loaded.certificate_.bound(X), model.certificate_.bound(X))
    assert loaded.get_params() == model.get_params()


@pytest.mark.parametrize("when", ["before", "after"])
def test_probabilities_are_kept_whether_they_were_asked_for_or_not(path, when):
    model = mercer.KernelSVC().fit(X, THREE)
    if when == "after":
        model.predict_proba(X)
    mercer.save(model, path)
    loaded = mercer.load(path)
    assert np.array_equal(loaded.predict_proba(X), model.predict_proba(X))


def test_a_loaded_perceptron_goes_on_learning(path):
    model = mercer.KernelPerceptron().partial_fit(X[:20], THREE[:20], classes=[0, 1, 2])
    mercer.save(model, path)
    loaded = mercer.load(path)
    for m in (model, loaded):
        m.partial_fit(X[20:], THREE[20:])
    assert np.array_equal(loaded.decision_function(X), model.decision_function(X))


@pytest.mark.parametrize("kernel", [*SIMPLE, *ARD, *COMPOSITE], ids=str)
def test_every_kernel_is_saved_and_loaded(kernel, path):
    mercer.save(kernel, path)
    assert mercer.load(path) == kernel


def test_a_kernel_of_many_columns_is_saved(path):
    wide = np.random.default_rng(0).normal(size=(20, 600))
    model = mercer.KernelRidge(mercer.Gaussian("median").after(mercer.Standardize())).fit(
        wide, Y[:20]
    )
    mercer.save(model, path)
    assert np.array_equal(mercer.load(path).predict(wide), model.predict(wide))


@pytest.mark.parametrize(
    "kernel",
    [
        mercer.FromFunction(lambda X, Z: X @ Z.T),
        mercer.FromFeatures(np.sin),
        mercer.Gaussian(1.0).after(np.tanh),
        mercer.Linear().scaled_by(lambda X: X[:, 0]),
        2.0 * mercer.Linear() + mercer.FromFunction(lambda X, Z: X @ Z.T),
    ],
    ids=["function", "features", "map", "scaled", "within a sum"],
)
def test_a_python_function_is_refused_with_the_reason(kernel, path):
    model = mercer.KernelRidge(kernel).fit(X, Y)
    for given in (kernel, model):
        with pytest.raises(ValueError, match=r"which a model file cannot hold"):
            mercer.save(given, path)
    assert not path.exists()


def test_a_model_that_is_not_fitted_is_refused(path):
    with pytest.raises(NotFittedError, match="KernelSVC is not fitted yet"):
        mercer.save(mercer.KernelSVC(), path)


@pytest.mark.parametrize("given", [3, "model", BaseEstimator(), None])
def test_what_is_no_model_is_refused(given, path):
    with pytest.raises((ValueError, NotFittedError), match=r"save takes|not fitted|is none"):
        mercer.save(given, path)


def test_every_public_estimator_can_be_saved():
    public = {getattr(mercer, name) for name in mercer.__all__}
    wanted = {k for k in public if isinstance(k, type) and issubclass(k, BaseEstimator)}
    assert wanted == set(ESTIMATORS.values())


def test_names_of_the_registry_belong_to_one_class_each():
    assert all(kind.__name__ == name for name, kind in CLASSES.items())
    assert not CLASSES.keys() & ESTIMATORS.keys()


def test_sparse_and_text_rows_stay_what_they_are(path):
    mercer.save(mercer.KernelRidge().fit(CSR, Y), path)
    assert type(mercer.load(path).X_fit_) is type(CSR)
    mercer.save(mercer.KernelRidge("spectrum(2)").fit(TEXTS, Y), path)
    assert list(mercer.load(path).X_fit_) == TEXTS


@pytest.mark.parametrize(
    "dates",
    [
        pd.date_range("2024-01-30", periods=9, tz="Europe/Berlin"),
        [datetime.time(hour, 30) for hour in range(9)],
    ],
    ids=["on the clock of a zone", "times of the day"],
)
def test_a_model_of_a_table_with_dates_is_loaded_again(path, dates):
    table = pd.DataFrame({"at": dates, "x": np.arange(9.0)})
    model = mercer.KernelRidge("auto").fit(table, table.x)
    assert "calendar" in str(model.kernel_)
    mercer.save(model, path)
    assert_array_equal(mercer.load(path).predict(table), model.predict(table))


@pytest.mark.parametrize(
    "model",
    [
        mercer.KernelRidge("spectrum(k=2)"),
        mercer.KernelRidge("spectrum(k=2)", solver="primal"),
        mercer.KernelLogisticRegression("spectrum(k=2)"),
        mercer.KernelSVC("spectrum(k=2)"),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_model_of_texts_without_a_single_k_gram_is_loaded_again(path, model):
    model.fit(["", "a", "b", ""], [0, 0, 1, 1])
    mercer.save(model, path)
    assert_array_equal(mercer.load(path).predict(["a", "abc"]), model.predict(["a", "abc"]))


def test_nobody_can_write_into_the_arrays_of_a_loaded_model(path):
    mercer.save(mercer.KernelRidge().fit(X, Y), path)
    with pytest.raises(ValueError, match="read-only"):
        mercer.load(path).X_fit_[0, 0] = 1.0


def test_a_pipeline_is_refused_with_the_way_out(path):
    model = make_pipeline(StandardScaler(), mercer.KernelRidge()).fit(X, Y)
    with pytest.raises(
        ValueError, match=r"Pipeline is none; save its named_steps\['kernelridge'\]"
    ):
        mercer.save(model, path)


def test_a_search_of_scikit_learn_is_refused_with_what_to_save(path):
    model = GridSearchCV(mercer.KernelRidge(), {"alpha": [0.1, 1.0]}).fit(X, Y)
    with pytest.raises(ValueError, match="GridSearchCV is none; save its best_estimator_"):
        mercer.save(model, path)


def test_a_new_file_has_the_rights_that_the_umask_leaves(path):
    mask = os.umask(0o027)
    try:
        mercer.save(mercer.Gaussian(1.0), path)
    finally:
        os.umask(mask)
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_link_stays_a_link_to_the_new_file(path, tmp_path):
    link = tmp_path / "link.mercer"
    mercer.save(mercer.Gaussian(1.0), path)
    link.symlink_to(path)
    mercer.save(mercer.Gaussian(2.0), link)
    assert link.is_symlink()
    assert mercer.load(path) == mercer.Gaussian(2.0)


def test_who_could_not_read_the_old_file_cannot_read_the_new_one(path):
    mercer.save(mercer.Gaussian(1.0), path)
    path.chmod(0o600)
    mercer.save(mercer.Gaussian(2.0), path)
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ModelFileError, match=r"none\.mercer: there is no such file"):
        mercer.load(tmp_path / "none.mercer")
