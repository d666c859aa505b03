"""The last fit: to all rows, or to some where the search took nearly all the time."""

from time import perf_counter

import numpy as np
import pytest

from mercer import KernelRidge, KernelRidgeClassifier
from mercer.errors import ConvergenceWarning
from mercer.selection.automatic.last import fitted_last
from mercer.selection.automatic.search import JUDGED_ROWS, Tournament
from mercer.solvers import Run

X = np.linspace(-3.0, 3.0, 120)[:, None]
Y = np.sin(2.0 * X[:, 0])
SOME = np.arange(0, 120, 3)


def spent(share):
    """Return a run of ten minutes of which a share is over."""
    return Run(600.0, began=perf_counter() - share * 600.0)


def test_with_time_left_the_model_is_that_of_all_rows():
    model = fitted_last(KernelRidge("gaussian(0.5)", 0.1), spent(0.7), SOME, X, Y, None)
    alone = KernelRidge("gaussian(0.5)", 0.1).fit(X, Y)
    np.testing.assert_array_equal(model.dual_coef_, alone.dual_coef_)


def test_a_search_that_took_the_time_leaves_a_model_of_the_judged_rows():
    weights = np.linspace(1.0, 2.0, 120)
    with pytest.warns(ConvergenceWarning, match="fitted to 40 of 120 rows; raise time_limit"):
        model = fitted_last(KernelRidge("gaussian(0.5)", 0.1), spent(1.0), SOME, X, Y, weights)
    alone = KernelRidge("gaussian(0.5)", 0.1).fit(X[SOME], Y[SOME], weights[SOME])
    np.testing.assert_array_equal(model.dual_coef_, alone.dual_coef_)
    assert model.score(X, Y) > 0.95


def test_a_class_beside_the_judged_rows_is_not_lost():
    labels = np.where(Y > 0.0, "high", "low").astype(object)
    labels[100] = "rare"
    with pytest.warns(ConvergenceWarning, match="of 120 rows"):
        model = fitted_last(
            KernelRidgeClassifier("gaussian(0.5)", 0.1), spent(0.95), SOME, X, labels, None
        )
    assert list(model.classes_) == ["high", "low", "rare"]


def test_judged_rows_are_counted_in_the_rows_that_were_given():
    rows = np.repeat(X, 2, axis=0)
    y = np.repeat(Y, 2)[:, None]
    found = Tournament.of(
        KernelRidge("gaussian")._kernel_for(rows), rows, y, np.ones(240), None, 0, Run()
    )
    np.testing.assert_array_equal(found.judged, np.arange(0, 240, 2))
    assert len(found.judged) <= JUDGED_ROWS
