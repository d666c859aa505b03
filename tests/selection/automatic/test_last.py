"""The last fit: to all rows, or to some where the search took nearly all the time."""

import warnings
from dataclasses import replace
from functools import partial
from time import perf_counter
from types import SimpleNamespace

import numpy as np
import pytest

from mercer import (
    Gaussian,
    KernelLogisticRegression,
    KernelRidge,
    KernelRidgeClassifier,
    KernelRidgeMean,
    KernelRidgeMeanClassifier,
)
from mercer.data.limits.memory import room_of
from mercer.data.stream import stream_of
from mercer.errors import ConvergenceWarning
from mercer.planning import logistic_part, ridge_part
from mercer.planning.parts import Part
from mercer.selection.automatic import last
from mercer.selection.automatic.last import _tell, fitted_last
from mercer.selection.automatic.search import KernelSearch
from mercer.solvers import Run

X = np.linspace(-3.0, 3.0, 120)[:, None]
Y = np.sin(2.0 * X[:, 0])
SOME = np.arange(0, 120, 3)
SEARCH = SimpleNamespace(judged=SOME, X=X, y=Y[:, None], seed=0)


def spent(share):
    """Return a run of ten minutes of which a share is over."""
    return Run(600.0, began=perf_counter() - share * 600.0)


def test_with_time_left_the_model_is_that_of_all_rows():
    model = fitted_last(KernelRidge(Gaussian(0.5), 0.1), spent(0.7), SEARCH, X, Y, None)
    alone = KernelRidge(Gaussian(0.5), 0.1).fit(X, Y)
    np.testing.assert_array_equal(model.dual_coef_, alone.dual_coef_)


def test_a_search_that_took_the_time_leaves_a_model_of_the_judged_rows():
    weights = np.linspace(1.0, 2.0, 120)
    with pytest.warns(
        ConvergenceWarning, match="fitted to 40 of them, those that .* judged on; raise"
    ):
        model = fitted_last(KernelRidge(Gaussian(0.5), 0.1), spent(1.0), SEARCH, X, Y, weights)
    alone = KernelRidge(Gaussian(0.5), 0.1).fit(X[SOME], Y[SOME], weights[SOME])
    np.testing.assert_array_equal(model.dual_coef_, alone.dual_coef_)
    assert model.score(X, Y) > 0.95


def test_a_class_beside_the_judged_rows_is_not_lost():
    labels = np.where(Y > 0.0, "high", "low").astype(object)
    labels[100] = "rare"
    with pytest.warns(ConvergenceWarning, match="for 120 rows"):
        model = fitted_last(
            KernelRidgeClassifier(Gaussian(0.5), 0.1), spent(1.0), SEARCH, X, labels, None
        )
    assert list(model.classes_) == ["high", "low", "rare"]


def test_judged_rows_are_counted_in_the_rows_that_were_given():
    rows = np.repeat(X, 2, axis=0)
    y = np.repeat(Y, 2)[:, None]
    found = KernelSearch.of(
        KernelRidge("gaussian")._kernel_for(rows), rows, y, np.ones(240), None, 0, Run()
    )
    np.testing.assert_array_equal(found.judged, np.arange(0, 240, 2))
    assert len(found.judged) <= KernelSearch.judged_rows


def test_rows_are_left_out_where_there_is_no_time_for_all(monkeypatch):
    monkeypatch.setattr("mercer.planning.parts.COUNTED", 1e-9)
    with pytest.warns(
        ConvergenceWarning, match="to 50 of them, as many as there is time for; raise"
    ):
        model = fitted_last(KernelRidge(Gaussian(0.5), 0.1), Run(60.0), SEARCH, X, Y, None)
    assert model.approximation_.n_landmarks <= 50
    assert model.score(X, Y) > 0.9


class CutOff(KernelRidge):
    """A ridge regression that has no time for more than 100 rows."""

    method = "offset alone"

    def fit(self, X, y, sample_weight=None):
        super().fit(X, y, sample_weight)
        if len(y) > 100:
            self.certificate_ = replace(self.certificate_, method=self.method)
        return self


class Timed(KernelRidge):
    """It notes the limit of its fit."""

    def fit(self, X, y=None, sample_weight=None):
        self.within_ = self.time_limit
        return super().fit(X, y, sample_weight)


@pytest.mark.parametrize("method", ["offset alone", "few rows"])
def test_a_fit_that_came_to_nothing_is_made_again_on_the_judged_rows(method, monkeypatch):
    monkeypatch.setattr(CutOff, "method", method)
    with pytest.warns(ConvergenceWarning, match="fitted to 40 of them, those"):
        model = fitted_last(CutOff(Gaussian(0.5), 0.1), Run(60.0), SEARCH, X, Y, None)
    assert len(model.X_fit_) == 40
    assert model.score(X, Y) > 0.95


@pytest.mark.parametrize("kind", [KernelRidge, KernelLogisticRegression])
def test_more_time_never_means_fewer_rows(kind):
    part = ridge_part if kind is KernelRidge else logistic_part

    def counted(n, seconds, row_bytes=0):
        read = partial(int.__mul__, row_bytes)
        return part(Gaussian(0.5), X, n, 1, "1GB", seconds, read).rows

    rows = [counted(10**7, t) for t in (1.0, 10.0, 100.0, 1e6)]
    assert rows == sorted(rows)
    assert counted(10**5, 1e6) == 10**5
    # Rows that are read into memory leave less of it.
    assert counted(10**5, 1e6, 20_000) < 5 * 10**4


@pytest.mark.parametrize("n", [100, 300])
def test_nothing_is_said_of_a_model_of_all_rows(n, recwarn):
    _tell(Run(600.0), n, n, "all of them")
    assert not recwarn
    with pytest.warns(ConvergenceWarning, match=f"is fitted to {n - 1} of them"):
        _tell(Run(600.0), n, n - 1, "all but one")


def test_where_landmarks_are_fewer_than_classes_rows_of_every_class_are_factored(monkeypatch):
    monkeypatch.setattr("mercer.planning.parts.COUNTED", 1e-9)
    rng = np.random.default_rng(0)
    labels = np.arange(400) % 80
    rows = 3.0 * rng.normal(size=(80, 4))[labels] + 0.1 * rng.normal(size=(400, 4))
    search = SimpleNamespace(judged=np.arange(200), X=rows, y=np.zeros((400, 80)), seed=0)
    model = KernelRidgeClassifier(Gaussian(1.0), 0.01)
    with pytest.warns(ConvergenceWarning, match="for 400 rows: the model is fitted to 200 of them"):
        model = fitted_last(model, Run(60.0), search, rows, labels, None)
    assert model.approximation_ is None
    assert model.certificate_.method.startswith("cholesky")
    assert model.score(rows, labels) > 0.9


def test_a_fit_to_all_rows_leaves_time_for_the_judged_ones_and_the_limit_stays_what_it_was():
    model = fitted_last(Timed(Gaussian(0.5), 0.1), Run(600.0), SEARCH, X, Y, None)
    assert model.within_ == pytest.approx(570.0, abs=1.0)
    assert model.time_limit == 600.0


def test_rows_that_are_read_at_once_are_counted_as_read_and_as_checked():
    limit = 8 * 1000 * X.shape[1] * 4
    stream = stream_of(lambda: iter([X]))
    assert last._bytes_read(stream, limit, 1000) == 2 * 8 * 1000 * X.shape[1]
    assert last._bytes_read(X, limit, 1001) == 2 * 8 * 1001 * X.shape[1]
    assert last._bytes_read(["a text"] * 5, limit, 4) == 0


def test_of_rows_read_in_blocks_the_places_and_targets_of_some_are_counted():
    rows = stream_of(lambda: iter([X]))
    some = rows.part(np.arange(len(X))[1:])
    few = replace(some, index=some.index.astype(np.uint32))
    assert [last._bytes_read(stream, 1, 100) for stream in (rows, some, few)] == [1600, 1600, 1200]
    # All of them are read as they are.
    assert last._bytes_read(rows, 1, len(X)) == 0


@pytest.fixture
def counted(monkeypatch):
    """A row is counted for every thousand seconds that are left, and what was asked is kept."""
    seen = []

    def part(kind):
        def counting(reader, rows, n, columns, memory, left, read):
            seen.append((kind, reader, n, columns, memory, round(left / 1000.0)))
            return Part(min(n, round(left / 1000.0)), 5)

        return counting

    monkeypatch.setattr(last, "ridge_part", part("ridge"))
    monkeypatch.setattr(last, "logistic_part", part("logistic"))
    return seen


MEAN = {"kernels": [Gaussian(1.0), Gaussian(2.0)], "alphas": [1.0, 1.0]}


@pytest.mark.parametrize(
    ("model", "kind", "left"),
    [
        (KernelRidge(Gaussian(1.0), memory="1GB"), "ridge", 100),
        (KernelLogisticRegression(Gaussian(1.0), memory="1GB"), "logistic", 100),
        # Half is for the rows left out that probabilities come from.
        (KernelRidgeClassifier(Gaussian(1.0), memory="1GB"), "ridge", 50),
        (KernelRidgeMean(**MEAN, memory="1GB"), "ridge", 50),
        (KernelRidgeMeanClassifier(**MEAN, memory="1GB"), "ridge", 25),
    ],
)
def test_the_time_left_is_shared_by_the_fits_and_the_rows_left_out(counted, model, kind, left):
    search = SimpleNamespace(judged=SOME, X=X, y=np.zeros((120, 3)), seed=0)
    found = last._affordable(model, Run(1e5), search, X)
    ((named, reader, n, columns, memory, seconds),) = counted
    assert (named, n, columns, memory, seconds) == (kind, 120, 3, room_of("1GB"), left)
    assert found.rows == left
    is_mean = isinstance(model, KernelRidgeMean | KernelRidgeMeanClassifier)
    assert reader == (Gaussian(1.0) + Gaussian(2.0) if is_mean else Gaussian(1.0))


def test_a_model_is_afforded_if_there_is_time_for_all_rows(counted):
    model, search = KernelRidge(Gaussian(1.0)), SEARCH
    for limit, is_afforded in ((120e3, True), (119e3, False), (None, True)):
        assert last.affords(model, Run(limit), search, X) is is_afforded


@pytest.mark.parametrize(
    ("share", "affordable", "rows"), [(0.89, 100, 100), (0.91, 100, 40), (0.91, 120, 120)]
)
def test_with_less_than_a_tenth_of_the_time_all_rows_are_fitted_or_those_judged(
    share, affordable, rows, monkeypatch
):
    monkeypatch.setattr(last, "ridge_part", lambda *given: Part(affordable, 20))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = fitted_last(KernelRidge(Gaussian(0.5), 0.1), spent(share), SEARCH, X, Y, None)
    assert model._problem_.y.shape[0] == rows


def test_a_fit_to_all_rows_has_the_time_that_is_left_but_for_that_of_the_judged_rows():
    for share, left in ((0.5, 300.0 - 30.0), (0.95, 15.0)):
        model = fitted_last(Timed(Gaussian(0.5), 0.1), spent(share), SEARCH, X, Y, None)
        assert model.within_ == pytest.approx(left, abs=5.0)


def test_where_time_is_up_the_judged_rows_have_what_is_beyond_the_limit():
    with pytest.warns(ConvergenceWarning, match="fitted to 40 of them"):
        run = spent(1.5)
        model = fitted_last(Timed(Gaussian(0.5), 0.1), run, SEARCH, X, Y, None)
    assert model.within_ == run.grace
    assert model.n_landmarks is None


def test_some_rows_are_the_same_in_every_call_and_have_every_class(counted, monkeypatch):
    fitted = []

    class Kept(KernelRidgeClassifier):
        def fit(self, X, y, sample_weight=None):
            fitted.append((X[:, 0].tolist(), sample_weight))
            return super().fit(X, y, sample_weight)

    labels = np.arange(120) % 2
    labels[7] = 2
    for _ in range(2):
        with pytest.warns(ConvergenceWarning, match="as many as there is time for"):
            fitted_last(Kept(Gaussian(0.5), 0.1), Run(60e3), SEARCH, X, labels, 2.0)
    assert fitted[0] == fitted[1]
    rows, weight = fitted[0]
    assert rows == sorted(rows)
    # Half of the time is for a classifier's rows, and the first of every class is there.
    assert 30 <= len(rows) <= 33
    assert {X[0, 0], X[1, 0], X[7, 0]} <= set(rows)
    assert weight == 2.0
