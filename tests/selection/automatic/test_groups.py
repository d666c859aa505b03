"""The automatic machine leaves out whole groups where there are some."""

import numpy as np
import pytest

import mercer
from mercer.selection.automatic.kernels import reader_of_rows
from mercer.selection.automatic.left_out import group_numbers
from mercer.selection.automatic.search import KernelSearch
from mercer.solvers import Run


def rows(groups=20, each=6):
    """Rows that differ little within a group, and targets that differ between groups."""
    random = np.random.default_rng(0)
    g = np.repeat(np.arange(groups), each)
    X = random.normal(size=(groups, 3))[g] + 0.01 * random.normal(size=(len(g), 3))
    y = np.sin(X[:, 0]) + random.normal(size=groups)[g] + 0.01 * random.normal(size=len(g))
    return X, y, g


def search(X, y, groups, weights=None):
    w = np.ones(len(y)) if weights is None else weights
    return KernelSearch.of(reader_of_rows(X), X, y[:, None], w, None, 0, Run(None), groups)


def test_errors_are_those_of_fits_without_the_group():
    X, y, g = rows()
    w = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    field = search(X, y, g, w)
    k, alpha = mercer.Gaussian(1.0), 0.3
    _, found, squares, *_ = field._judged(k, (1.0,), alpha, np.arange(len(y)))
    assert found == alpha
    expected = np.empty(len(y))
    for group in np.unique(g):
        rest, own = g != group, g == group
        model = mercer.KernelRidge(k, alpha).fit(X[rest], y[rest], field.weights[rest])
        expected[own] = y[own] - model.predict(X[own])
    assert np.allclose(squares, field.weights * expected**2, atol=1e-8)


def test_what_a_group_gives_away_wins_nothing():
    X, y, g = rows()
    alone = mercer.KernelRegressor(random_state=0).fit(X, y).candidates_[0].error
    grouped = mercer.KernelRegressor(random_state=0).fit(X, y, groups=g).candidates_[0].error
    # The deviation of the groups is 1, and of a row within its group 0.01.
    assert alone < 0.2
    assert grouped > 0.7


@pytest.mark.usefixtures("brief")
def test_labels_of_groups_may_be_texts():
    X, y, g = rows()
    texts = np.array([f"patient {i}" for i in g])
    a, b = (mercer.KernelRegressor().fit(X, y, groups=labels) for labels in (g, texts))
    assert a.kernel_ == b.kernel_


@pytest.mark.parametrize("classes", [2, 3])
def test_models_of_classes_are_compared_by_groups(classes):
    X, y, g = rows()
    labels = np.digitize(y, np.quantile(y, np.linspace(0, 1, classes + 1)[1:-1]))
    alone = mercer.KernelClassifier().fit(X, labels)
    grouped = mercer.KernelClassifier().fit(X, labels, groups=g)
    assert set(grouped.losses_) >= {"ridge", "logistic"}
    assert grouped.losses_["ridge"] > alone.losses_["ridge"] + 0.1
    assert grouped.losses_["logistic"] > alone.losses_["logistic"] + 0.1


def test_a_class_of_one_group_is_fitted_all_the_same():
    X, _, g = rows()
    model = mercer.KernelClassifier().fit(X, g == 3, groups=g)
    assert model.classes_.tolist() == [False, True]


def test_groups_of_another_length_or_a_single_one_are_refused():
    X, y, g = rows()
    with pytest.raises(ValueError, match=r"label for each of the 120 rows, got shape \(119,\)"):
        mercer.KernelRegressor().fit(X, y, groups=g[1:])
    with pytest.raises(ValueError, match="two groups of positive weight at least"):
        mercer.KernelRegressor().fit(X, y, groups=np.zeros(120))


GAPS = {
    "None": (None, "a"),
    "nan beside texts": (np.nan, "a"),
    "nan": (np.nan, 1.0),
    "NaT": (np.datetime64("NaT"), np.datetime64("2020-01-01")),
}


@pytest.mark.parametrize("name", GAPS)
def test_rows_without_a_group_are_refused_by_the_first_of_them(name):
    gap, label = GAPS[name]
    with pytest.raises(ValueError, match=rf"groups holds {gap} at row 2; name the group"):
        group_numbers([label, label, gap, gap], 4)


def test_labels_of_groups_that_cannot_be_put_in_order_are_refused():
    with pytest.raises(ValueError, match="groups mixes labels of the types int, str; make all of"):
        group_numbers(np.array(["a", 1], object), 2)
    with pytest.raises(ValueError, match="groups is a masked array with 1 masked entries"):
        group_numbers(np.ma.array([1, 2], mask=[True, False]), 2)
