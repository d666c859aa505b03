"""time_limit is a promise: a fit ends within it, a tenth more and a second, with a model."""

import warnings
from functools import partial
from time import perf_counter, sleep

import numpy as np
import pytest
from sklearn.base import clone

from mercer import (
    KernelLogisticRegression,
    KernelLogisticRegressionCV,
    KernelPCA,
    KernelPerceptron,
    KernelRidge,
    KernelRidgeClassifier,
    KernelRidgeClassifierCV,
    KernelRidgeCV,
    KernelSVC,
    KernelSVR,
    MercerMap,
)
from mercer.errors import ConvergenceWarning
from mercer.kernels import FromFunction, Gaussian
from mercer.native import lapack
from mercer.solvers import few_rows, run as runs

LIMIT = 0.2
ENTRY = 5e-6


def slow(X, Z, factor=1.0):
    """A kernel whose entries take microseconds, as those of strings do: 5 s for 1000 rows."""
    sleep(ENTRY * len(X) * len(Z))
    return np.exp(-0.5 * factor * ((X[:, None] - Z[None]) ** 2).sum(axis=2))


SLOW = FromFunction(slow)


@pytest.fixture
def rows(rng):
    X = rng.normal(size=(1000, 2))
    return X, np.where(X[:, 0] * X[:, 1] > 0.0, 1, 0)


@pytest.fixture(autouse=True)
def little_to_measure_in(monkeypatch):
    """The promise leaves a second beyond the limit, of which tests need not wait for half."""
    monkeypatch.setattr(runs.Run, "seconds_to_measure", 0.05)


@pytest.fixture(scope="module", autouse=True)
def loaded():
    """What is imported by the first fit of its kind takes a while, and once."""
    X = np.random.default_rng(0).normal(size=(12, 2))
    kernel = Gaussian(1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for model in MODELS:
            name = "kernel" if "kernel" in model.get_params(deep=False) else "kernels"
            clone(model).set_params(**{name: kernel}).fit(X, np.arange(12) % 2)


def fitted(model, X, y):
    """Return the model fitted in time, and what it warned of."""
    began = perf_counter()
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        model.fit(X, y)
    taken = perf_counter() - began
    assert taken <= 1.1 * LIMIT + 1.0
    return [str(w.message) for w in seen if issubclass(w.category, ConvergenceWarning)]


MODELS = [
    KernelRidge(SLOW, time_limit=LIMIT),
    KernelRidge(SLOW, solver="cg", time_limit=LIMIT),
    KernelRidge(SLOW, solver="eigen", time_limit=LIMIT),
    KernelRidge(SLOW, repair="clip", time_limit=LIMIT),
    KernelRidgeCV([SLOW], time_limit=LIMIT),
    KernelRidgeCV([SLOW, 2.0 * SLOW], cv=3, time_limit=LIMIT),
    KernelRidgeClassifier(SLOW, time_limit=LIMIT),
    KernelRidgeClassifierCV([SLOW], [0.1, 1.0], time_limit=LIMIT),
    KernelSVC(SLOW, time_limit=LIMIT),
    KernelSVC(SLOW, solver="sgd", time_limit=LIMIT),
    KernelSVR(SLOW, time_limit=LIMIT),
    KernelLogisticRegression(SLOW, time_limit=LIMIT),
    KernelLogisticRegression(SLOW, solver="newton", time_limit=LIMIT),
    KernelLogisticRegressionCV([SLOW], time_limit=LIMIT),
    KernelPerceptron(SLOW, time_limit=LIMIT),
    KernelPCA(SLOW, 2, time_limit=LIMIT),
    KernelPCA(SLOW, time_limit=LIMIT),
    MercerMap(SLOW, 2, time_limit=LIMIT),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)
def test_a_fit_ends_in_time_with_a_model_and_says_so(model, rows):
    said = fitted(model, *rows)
    assert any("raise time_limit" in text for text in said)
    found = (
        model.predict(rows[0][:5]) if hasattr(model, "predict") else model.transform(rows[0][:5])
    )
    assert np.isfinite(found).all()
    if hasattr(model, "certificate_"):
        assert not model.certificate_.satisfied


def test_the_model_of_no_time_at_all_is_that_of_a_few_rows(rows, monkeypatch):
    monkeypatch.setattr(runs.Run, "seconds_to_measure", 0.5)
    monkeypatch.setattr(few_rows, "FEW", few_rows.FEWER)
    X, y = rows
    model = KernelRidge(SLOW, time_limit=LIMIT)
    with pytest.warns(ConvergenceWarning, match="the model is that of 100 of 1000 rows alone"):
        model.fit(X, y)
    assert np.count_nonzero(model.dual_coef_) == 100
    assert model.certificate_.value == np.inf
    assert model.score(X, y) > 0.3


def test_the_model_of_no_time_for_that_either_is_the_mean(rows, monkeypatch):
    monkeypatch.setattr(few_rows, "FEW", 1000)
    monkeypatch.setattr(few_rows, "FEWER", 1000)
    X, y = rows
    model = KernelRidge(SLOW, time_limit=LIMIT)
    fitted(model, X, y)
    np.testing.assert_allclose(model.predict(X[:3]), y.mean())
    # All that an offset leaves of the targets is left.
    assert model.certificate_.value == pytest.approx(1.0)


def test_pairs_of_classes_share_the_time(rows, rng):
    model = KernelSVC(SLOW, time_limit=LIMIT)
    y = rng.integers(0, 5, size=1000)
    said = fitted(model, rows[0], y)
    assert any("raise time_limit" in text for text in said)
    assert len(model.intercept_) == 10


def test_probabilities_are_calibrated_in_time(rows):
    X, y = rows
    model = KernelSVC(SLOW, time_limit=LIMIT)
    fitted(model, X, y)
    began = perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        P = model.predict_proba(X[:5])
    assert perf_counter() - began <= 1.1 * LIMIT + 1.0
    np.testing.assert_allclose(P.sum(axis=1), 1.0)


def test_probabilities_of_a_ridge_are_calibrated_in_time(rows):
    X, y = rows
    model = KernelRidgeClassifier(SLOW, time_limit=LIMIT)
    fitted(model, X, y)
    began = perf_counter()
    with pytest.warns(ConvergenceWarning, match="temperature of one; raise time_limit"):
        P = model.predict_proba(X[:5])
    assert perf_counter() - began <= 1.1 * LIMIT + 1.0
    np.testing.assert_allclose(P.sum(axis=1), 1.0)


@pytest.fixture
def slow_lapack(monkeypatch):
    """Eigenvalues of many rows take two seconds, on machines of any speed."""

    def slowed(routine):
        def run(A, *settings):
            sleep(2.0 if len(A) > 500 else 0.0)
            return routine(A, *settings)

        return run

    for name in ("_evd", "_evr"):
        monkeypatch.setattr(lapack, name, slowed(getattr(lapack, name)))


def test_components_of_a_few_rows_stand_in_for_those_of_all(rng, monkeypatch, slow_lapack):
    monkeypatch.setattr(runs.Run, "seconds_to_measure", 0.4)
    X = rng.normal(size=(1100, 3))
    model = KernelPCA(Gaussian(1.0), 100, solver="dense", time_limit=LIMIT)
    said = fitted(model, X, None)
    assert any("the components are those of" in text for text in said)
    assert (np.diff(model.eigenvalues_) <= 0.0).all()
    assert model.eigenvalues_[0] > 0.0


@pytest.mark.parametrize(("solver", "n"), [("cholesky", 5000), ("eigen", 1100)])
def test_a_factorisation_ends_in_time(rng, slow_lapack, solver, n):
    X = rng.normal(size=(n, 3))
    model = KernelRidge(Gaussian(1.0), solver=solver, time_limit=LIMIT)
    assert any("raise time_limit" in text for text in fitted(model, X, X[:, 0]))


def test_a_limit_that_is_not_reached_changes_nothing(rng):
    X = rng.normal(size=(80, 2))
    y = np.sin(X[:, 0])
    free, limited = (KernelRidge(Gaussian(1.0), time_limit=t).fit(X, y) for t in (None, 60.0))
    np.testing.assert_array_equal(free.dual_coef_, limited.dual_coef_)


@pytest.mark.parametrize("limit", [0.0, -1.0, "long"])
@pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)
def test_limits_that_mean_nothing_are_refused(model, limit, rows):
    model = clone(model).set_params(time_limit=limit)
    with pytest.raises(
        ValueError, match="time_limit must be a positive finite number of seconds or None"
    ):
        model.fit(*rows)


SEARCHES = [m for m in MODELS if type(m).__name__.endswith("CV")]


@pytest.mark.parametrize("model", SEARCHES, ids=lambda m: type(m).__name__)
def test_a_search_speaks_of_the_limit_that_it_was_given(model, rows):
    said = " ".join(fitted(clone(model), *rows))
    assert f"time_limit={LIMIT:g}" in said
    assert "limit of 0.0" not in said


@pytest.mark.parametrize(
    "model", [KernelRidgeCV(), KernelRidgeClassifierCV(), KernelLogisticRegressionCV()]
)
def test_a_search_leaves_the_time_for_a_fit(model, monkeypatch, rng):
    # The time beyond the limit is longer than the limit, and there once.
    monkeypatch.setattr(runs.Run, "seconds_to_measure", 0.4)
    X = rng.uniform(-1.0, 1.0, size=(150, 2))
    y = np.where(X[:, 0] > 0.0, 1, 0)
    # A Gram matrix takes half of the limit.
    kernels = [FromFunction(partial(slow, factor=1.0 + 0.1 * i)) for i in range(6)]
    model.set_params(kernels=kernels, time_limit=LIMIT)
    said = fitted(model, X, y)
    assert any("raise time_limit" in text for text in said)
    assert model.score(X, y) > 0.5
