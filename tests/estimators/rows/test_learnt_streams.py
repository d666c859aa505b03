"""solver="sgd" learns from rows that do not fit into memory in one pass over their blocks."""

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose

from mercer import Gaussian, KernelLogisticRegression, KernelRidge, KernelSVC
from mercer.data.stream import Stream
from mercer.errors import ConvergenceWarning, MemoryLimitError
from mercer.solvers import Run

rng = np.random.default_rng(0)
X = rng.normal(size=(3000, 2))
# In an order in which the first rows say nothing of the last.
X = X[np.argsort(X[:, 0])]
y = np.sin(2.0 * X[:, 0]) + X[:, 1]
KERNEL = Gaussian(1.0)
MEMORY = "40MB"
LITTLE = {"n_landmarks": 20, "memory": MEMORY}


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Blocks of a few rows, of which all count as too many for the memory."""
    monkeypatch.setattr("mercer.estimators.online.partial_fit.MOST", 250)
    monkeypatch.setattr("mercer.estimators.streams.SHARE", 1e-3)
    monkeypatch.setattr(Stream, "collected", lambda _: pytest.fail("all rows were read at once"))


def in_blocks():
    return ((X[i : i + 400], y[i : i + 400]) for i in range(0, len(X), 400))


@pytest.fixture(params=["csv", "memory map", "float32 map", "function"])
def source(request, tmp_path):
    if request.param == "csv":
        path = tmp_path / "rows.csv"
        pl.DataFrame(X, schema=["a", "b"]).with_columns(y=pl.Series(y)).write_csv(path)
        return path, "y"
    if request.param == "function":
        return in_blocks, None
    path, dtype = tmp_path / "rows.npy", np.float32 if "32" in request.param else np.float64
    np.save(path, X.astype(dtype))
    return np.load(path, mmap_mode="r"), y


def test_ridge_regression_is_that_of_the_same_landmarks(source):
    found = KernelRidge(KERNEL, 0.1, solver="sgd", **LITTLE).fit(*source)
    landmarks = found.function_.rows
    expected = KernelRidge(KERNEL, 0.1, solver="nystrom", landmarks=landmarks, tol=1e-9).fit(X, y)
    rows = pl.DataFrame(X, schema=["a", "b"]) if isinstance(source[1], str) else X
    assert_allclose(found.predict(rows), expected.predict(X), atol=1e-5)
    # They are chosen all over the file.
    assert np.ptp(landmarks[:, 0]) > 3.0
    assert found.approximation_.n_landmarks == 20
    assert found.n_features_in_ == 2


@pytest.mark.parametrize("classes", [2, 3])
def test_logistic_regression_is_near_to_that_of_all_rows_at_once(classes, tmp_path, monkeypatch):
    # Each block sees those before it as a parabola, and the more rows it has the better.
    monkeypatch.setattr("mercer.estimators.online.partial_fit.MOST", 1500)
    order = rng.permutation(len(X))
    rows, codes = X[order], np.digitize(y, np.linspace(-1.0, 1.0, classes + 1)[1:-1])[order]
    np.save(tmp_path / "rows.npy", rows)
    found = KernelLogisticRegression(KERNEL, 1.0, solver="sgd", **LITTLE)
    found.fit(tmp_path / "rows.npy", codes)
    assert not hasattr(found, "certificate_")
    given = {"solver": "nystrom", "landmarks": found.function_.rows}
    expected = KernelLogisticRegression(KERNEL, 1.0, **given).fit(rows, codes)
    assert np.abs(found.predict_proba(rows) - expected.predict_proba(rows)).mean() < 0.05
    assert found.score(rows, codes) > expected.score(rows, codes) - 0.02


def test_weights_count_and_rows_of_no_weight_do_not(tmp_path):
    np.save(tmp_path / "rows.npy", X)
    w = np.where(np.arange(len(X)) % 2, 2.0, 0.0)
    found = KernelRidge(KERNEL, 0.1, solver="sgd", landmarks=X[::150], memory=MEMORY)
    found.fit(tmp_path / "rows.npy", y, w)
    half = KernelRidge(KERNEL, 0.05, solver="nystrom", landmarks=X[::150], tol=1e-9)
    assert_allclose(found.predict(X), half.fit(X[1::2], y[1::2]).predict(X), atol=1e-6)


def test_a_fit_begins_anew_and_partial_fit_goes_on_from_it(tmp_path):
    np.save(tmp_path / "rows.npy", X)
    model = KernelRidge(KERNEL, 0.1, solver="sgd", landmarks=X[::150], memory=MEMORY)
    first = model.fit(tmp_path / "rows.npy", y).predict(X)
    assert_allclose(model.fit(tmp_path / "rows.npy", y).predict(X), first)
    twice = model.partial_fit(X, y).predict(X)
    expected = KernelRidge(KERNEL, 0.05, solver="nystrom", landmarks=X[::150], tol=1e-9).fit(X, y)
    assert_allclose(twice, expected.predict(X), atol=1e-6)


def test_when_the_time_is_up_the_rows_so_far_were_learnt(tmp_path, monkeypatch):
    np.save(tmp_path / "rows.npy", X)
    monkeypatch.setattr(Run, "is_over", lambda run: setattr(run, "ended_by", "time") or True)
    model = KernelRidge(KERNEL, 0.1, solver="sgd", time_limit=60.0, **LITTLE)
    with pytest.warns(ConvergenceWarning, match="from 250 of 3000 rows: the time limit of 60 s"):
        model.fit(tmp_path / "rows.npy", y)
    assert model.score(X[:250], y[:250]) > 0.9


def test_a_plan_says_that_blocks_are_learnt_from(tmp_path):
    np.save(tmp_path / "rows.npy", X)
    plan = KernelRidge(KERNEL, solver="sgd", n_landmarks=20, memory=MEMORY)
    found = plan.plan(tmp_path / "rows.npy", y)
    assert found.solver == "sgd"
    assert found.reason == "20 landmarks learn from 3000 rows, block by block in one pass"


def test_a_missing_number_is_named_by_its_row(tmp_path):
    rows = X.copy()
    rows[1234, 1] = np.nan
    np.save(tmp_path / "rows.npy", rows)
    with pytest.raises(ValueError, match="1234"):
        KernelRidge(KERNEL, solver="sgd", **LITTLE).fit(tmp_path / "rows.npy", y)


def test_support_vector_machines_still_need_their_rows(tmp_path):
    np.save(tmp_path / "rows.npy", X)
    with pytest.raises(MemoryLimitError, match="solver='sgd' needs all rows in memory"):
        KernelSVC(KERNEL, solver="sgd", memory=MEMORY).fit(tmp_path / "rows.npy", y > 0.0)


@pytest.mark.parametrize("kind", [KernelRidge, KernelLogisticRegression])
def test_the_plan_counts_the_bytes_of_the_fit(kind):
    targets = y if kind is KernelRidge else y > 0.0
    model = kind(KERNEL, solver="sgd", n_landmarks=20, memory=300_000)
    with pytest.raises(MemoryLimitError) as planned:
        model.plan(lambda: iter([X]), targets)
    with pytest.raises(MemoryLimitError) as fitted:
        model.fit(lambda: iter([X]), targets)
    assert str(planned.value) == str(fitted.value)


@pytest.mark.parametrize("kind", [KernelRidge, KernelLogisticRegression])
def test_a_checkpoint_is_refused(kind, tmp_path):
    model = kind(KERNEL, solver="sgd", checkpoint=tmp_path / "fit.npz", **LITTLE)
    with pytest.raises(ValueError, match=r"one pass; leave it out, or use solver='nystrom'"):
        model.fit(lambda: iter([X]), y > 0.0)


def test_a_class_without_weight_is_none():
    labels = np.digitize(y, [-0.5, 0.5])
    model = KernelLogisticRegression(KERNEL, solver="sgd", **LITTLE)
    model.fit(lambda: iter([X]), labels, np.where(labels == 1, 0.0, 1.0))
    assert model.classes_.tolist() == [0, 2]
    assert model.predict_proba(X).shape == (len(X), 2)
    assert (model.predict(X) == labels)[labels != 1].mean() > 0.95


def test_what_needs_the_training_rows_names_the_fit_that_keeps_them():
    model = KernelRidge(KERNEL, solver="sgd", **LITTLE).fit(in_blocks)
    with pytest.raises(ValueError, match="learnt block by block keeps no training rows"):
        model.leave_one_out_predictions_  # noqa: B018
