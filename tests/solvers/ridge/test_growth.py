"""How errors grow beside variances where slices of columns are left out, against refits."""

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from mercer import FromFunction, Gaussian, KernelRidge, Linear, Match
from mercer.data.columns import take_rows
from mercer.solvers import RidgeProblem
from mercer.solvers.ridge.growth import MOST_COLUMNS, ROWS, growth, slices_of


def less(kernel, X, y, alpha, weights, rows):
    """Squared errors at some rows by the fit without them, and the variances of their targets."""
    rest = np.setdiff1d(np.arange(len(y)), rows)
    model = KernelRidge(kernel, alpha=alpha).fit(take_rows(X, rest), y[rest], weights[rest])
    found, deviation = model.predict(take_rows(X, rows), return_std=True)
    return (y[rows] - found) ** 2, deviation**2 + alpha / weights[rows]


def slow(kernel, X, y, alpha, weights=None):
    """The factor of the definition, by refits."""
    weights = np.ones(len(y)) if weights is None else weights
    one = [less(kernel, X, y, alpha, weights, np.array([i])) for i in range(len(y))]
    squares, known = (np.concatenate(each) for each in zip(*one, strict=True))
    unit = squares.sum() / (known + known.mean()).sum()
    sums = []
    for slices in slices_of(X, y[:, None]):
        missed = [less(kernel, X, y, alpha, weights, rows) for rows in slices]
        pairs = list(zip(missed, slices, strict=True))
        errors = sum((e - squares[rows]).sum() for (e, _), rows in pairs)
        sums.append((errors, unit * sum((v - known[rows]).sum() for (_, v), rows in pairs)))
    most = max(variance for _, variance in sums)
    return max([1.0, *(e / v for e, v in sums if v >= 0.05 * most)])


def table(rng, n=60):
    return pd.DataFrame(
        {
            "a": rng.normal(size=n),
            "dose": rng.choice([1.0, 2.0, 5.0], n),
            "site": rng.choice(["n", "s", "w"], n),
        }
    )


def test_the_factor_is_that_of_refits_without_the_slices(rng):
    X = table(rng)
    y = X.a.to_numpy() ** 2 + 3.0 * (X.site == "s") + 0.3 * rng.normal(size=60)
    kernel = Gaussian(1.0).on("a", "dose") + 0.1 * Match().on("site")
    problem = RidgeProblem(y.to_numpy()[:, None], np.array([0.2]), np.ones(60), True)
    expected = slow(kernel, X, y.to_numpy(), 0.2)
    assert expected > 2.0
    assert_allclose(growth(kernel, X, problem, None), [expected], rtol=1e-7)


def test_the_factor_of_rows_with_weights_is_that_of_refits_with_them(rng):
    X, weights = table(rng), rng.uniform(0.2, 3.0, 60)
    y = (X.a**2 + 3.0 * (X.site == "s") + 0.3 * rng.normal(size=60)).to_numpy()
    kernel = Gaussian(1.0).on("a", "dose") + 0.1 * Match().on("site")
    problem = RidgeProblem(y[:, None], np.array([0.2]), weights, True)
    expected = slow(kernel, X, y, 0.2, weights)
    assert expected > 2.0
    assert_allclose(growth(kernel, X, problem, None), [expected], rtol=1e-7)


def test_targets_have_factors_of_their_own_whatever_their_units(rng):
    X = rng.normal(size=(60, 2))
    y = np.column_stack([X[:, 0] ** 3, np.sin(X[:, 1]) + 0.1 * rng.normal(size=60)])
    kernel = Gaussian(2.0)
    found = growth(kernel, X, RidgeProblem(y, np.array([0.1, 0.3]), np.ones(60), True), None)
    expected = [slow(kernel, X, y[:, t], alpha) for t, alpha in enumerate([0.1, 0.3])]
    assert_allclose(found, expected, rtol=1e-6)
    scaled = RidgeProblem(1000.0 * y, np.array([0.1, 0.3]), np.ones(60), True)
    assert_allclose(growth(kernel, X, scaled, None), found, rtol=1e-7)


def test_errors_that_grow_as_the_process_says_have_a_factor_near_one(rng):
    X = rng.uniform(size=(300, 2))
    K = Gaussian(0.3)(X)
    root = np.linalg.cholesky(K + 1e-9 * np.eye(300))
    y = root @ rng.normal(size=(300, 20)) + 0.1 * rng.normal(size=(300, 20))
    found = growth(Gaussian(0.3), X, RidgeProblem(y, np.full(20, 0.01), np.ones(300), True), None)
    # The unit is that of variances with their mean, hence about twice.
    assert 1.0 <= np.median(found) < 3.5
    steep = growth(Gaussian(3.0), X, RidgeProblem(y, np.full(20, 0.01), np.ones(300), True), None)
    assert np.median(steep) > 3.0 * np.median(found)


def test_slices_are_values_categories_and_quantiles(rng):
    X = pd.DataFrame(
        {
            "x": np.arange(80.0),
            "dose": np.repeat([1.0, 2.0, 4.0, 8.0], 20),
            "site": ["n"] * 30 + ["s"] * 30 + [None] * 18 + ["rare"] * 2,
            "same": ["one"] * 80,
            "day": pd.date_range("2024-01-01", periods=80),
            "most": [0] * 60 + [1] * 20,
        }
    )
    x, dose, site, day, most = slices_of(X, np.zeros((len(X), 1)))
    assert_array_equal(x, np.arange(80).reshape(8, 10))
    assert_array_equal(day, np.arange(80).reshape(8, 10))
    assert_array_equal(dose, np.arange(80).reshape(4, 20))
    assert_array_equal(site, np.arange(60).reshape(2, 30))
    assert_array_equal(most, [np.arange(60, 80)])


def test_missing_numbers_are_in_no_slice():
    X = np.column_stack([np.repeat([1.0, np.nan, 3.0], 4)])
    ((one, three),) = slices_of(X, np.zeros((len(X), 1)))
    assert_array_equal(one, range(4))
    assert_array_equal(three, range(8, 12))


def test_cells_that_cannot_be_keys_are_compared_by_what_they_hold():
    X = pd.DataFrame({"parts": [["a"], ["b"]] * 4})
    ((a, b),) = slices_of(X, np.zeros((len(X), 1)))
    assert_array_equal(a, [0, 2, 4, 6])
    assert_array_equal(b, [1, 3, 5, 7])


def test_rows_without_columns_have_the_factor_one():
    def shared(a, b):
        return np.array([[len(set(s) & set(t)) for t in b] for s in a], float)

    rows = np.array(["kernel", "ridge", "bridge", "colonel"], dtype=object)
    problem = RidgeProblem(np.arange(4.0)[:, None], np.array([0.5]), np.ones(4), True)
    assert_array_equal(growth(FromFunction(shared), rows, problem, None), [1.0])


def test_least_squares_on_few_features_has_the_factor_one(rng):
    X = rng.normal(size=(40, 2))
    problem = RidgeProblem(X[:, :1] ** 3, np.zeros(1), np.ones(40), True)
    assert_array_equal(growth(Linear(), X, problem, None), [1.0])


def test_targets_that_are_fitted_without_an_error_have_the_factor_one(rng):
    X = rng.normal(size=(40, 2))
    problem = RidgeProblem(np.zeros((40, 1)), np.array([0.1]), np.ones(40), True)
    assert_array_equal(growth(Gaussian(1.0), X, problem, None), [1.0])


def test_of_many_rows_a_sample_tells(rng):
    X = rng.normal(size=(ROWS + 300, 2))
    y = (X[:, 0] ** 3)[:, None]
    problem = RidgeProblem(y, np.array([0.1]), np.ones(len(X)), True)
    some = np.sort(np.random.default_rng(0).permutation(len(X))[:ROWS])
    found = growth(Gaussian(2.0), X, problem, None)
    assert_array_equal(found, growth(Gaussian(2.0), X[some], problem.on(some), None))
    assert found > 1.0


def test_intervals_at_categories_left_out_are_as_wide_as_categories_differ():
    sites, covered, wide = list("abcdefgh"), [], []
    rng = np.random.default_rng(5)
    effects = dict(zip(sites, 2.0 * rng.normal(size=8), strict=True))
    X = pd.DataFrame({"x": rng.normal(size=400), "site": rng.choice(sites, 400)})
    y = np.sin(X.x) + X.site.map(effects) + 0.3 * rng.normal(size=400)
    # With so little weight on sites the variance at a new one is far too small.
    kernel = Gaussian(1.0).on("x") + 0.05 * Match().on("site")
    for site in sites:
        seen = X.site != site
        model = KernelRidge(kernel, alpha=0.03).fit(X[seen], y[seen])
        low, high = model.predict_interval(X[~seen], 0.9)
        covered.append(np.mean((low <= y[~seen]) & (y[~seen] <= high)))
        low, high = model.predict_interval(X[seen], 0.9)
        wide.append(np.mean(high - low))
    # Two of eight effects are outside of all others.
    assert np.mean(covered) > 0.7
    assert max(wide) < 1.3


def test_of_many_columns_those_are_looked_at_between_whose_slices_targets_differ_most(rng):
    X = rng.choice([0.0, 1.0, 2.0], (200, 2 * MOST_COLUMNS))
    y = X[:, 7] - X[:, -3]
    found = slices_of(X, y[:, None])
    assert len(found) == MOST_COLUMNS
    for column in (7, -3):
        places = [np.flatnonzero(X[:, column] == value) for value in (0.0, 1.0, 2.0)]
        assert any(all(map(np.array_equal, slices, places)) for slices in found)


def test_sparse_rows_have_the_factor_of_dense_ones(rng):
    X = rng.normal(size=(80, 5)) * (rng.uniform(size=(80, 5)) < 0.4)
    y = np.abs(X[:, 0]) + 0.1 * rng.normal(size=80)
    problem = RidgeProblem(y[:, None], np.array([0.1]), np.ones(80), True)
    factors = [growth(Gaussian(1.0), rows, problem, None) for rows in (X, sp.csr_matrix(X))]
    assert factors[0] > 1.0
    assert_allclose(factors[1], factors[0], rtol=1e-7)
