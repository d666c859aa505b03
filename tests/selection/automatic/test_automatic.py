"""The automatic machine takes a table as it comes and finds a good kernel by itself."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_friedman1

import mercer
from mercer import KernelClassifier, KernelRegressor
from mercer.selection.automatic import search
from mercer.selection.automatic.kernels import starts
from mercer.selection.automatic.search import Candidate, _simplest_first

random = np.random.default_rng(0)


def few_matter(n):
    """Return 12 columns, of which two matter."""
    X = random.normal(size=(n, 12))
    return X, np.sin(2.0 * X[:, 3]) + X[:, 7] ** 2


def test_columns_that_matter_are_found_and_the_others_ignored():
    X, y = few_matter(300)
    model = KernelRegressor().fit(X[:200], y[:200])
    plain = mercer.KernelRidgeCV().fit(X[:200], y[:200])
    assert model.score(X[200:], y[200:]) > 0.8
    assert model.score(X[200:], y[200:]) > plain.score(X[200:], y[200:]) + 0.3
    assert "learned" in model.candidates_[0].name
    (scales,) = [v for k, v in model.kernel_.get_params().items() if k.endswith("length_scale")]
    assert set(np.argsort(scales)[:2]) == {3, 7}


def test_the_winner_is_an_expression_that_gives_the_same_model():
    X, y = few_matter(100)
    model = KernelRegressor().fit(X, y)
    again = mercer.KernelRidge(mercer.kernel(str(model.kernel_)), model.alpha_).fit(X, y)
    assert np.array_equal(again.predict(X), model.predict(X))


def mixed(n=120):
    site = random.choice(["a", "b", "c"], n)
    table = pd.DataFrame(
        {
            "age": random.normal(50, 10, n),
            "income": np.exp(random.normal(size=n)),
            "site": site,
            "seen": pd.date_range("2024-01-01", periods=n),
            "note": random.choice(["good news today", "bad news today", "no news at all"], n),
        }
    )
    table.loc[::9, "age"] = np.nan
    y = 0.05 * table.age.fillna(50) + np.log(table.income) + 2.0 * (site == "b")
    return table, y.to_numpy()


def test_a_table_of_all_kinds_of_columns_is_taken_as_it_comes():
    table, y = mixed()
    model = KernelRegressor(time_limit=20).fit(table[:90], y[:90])
    assert model.score(table[90:], y[90:]) > 0.7
    lower, upper = model.predict_interval(table[90:])
    assert np.mean((lower <= y[90:]) & (y[90:] <= upper)) > 0.7


def test_classes_have_probabilities_of_a_good_log_loss():
    X, y = few_matter(240)
    labels = np.where(y > np.median(y), "high", "low")
    model = KernelClassifier().fit(X[:160], labels[:160])
    assert model.score(X[160:], labels[160:]) > 0.75
    P = model.predict_proba(X[160:])
    own = P[np.arange(80), np.searchsorted(model.classes_, labels[160:])]
    assert -np.log(own).mean() < 0.55


def test_the_leaderboard_is_read_by_people_and_ordered():
    X, y = few_matter(60)
    board = KernelRegressor().fit(X, y).candidates_
    lines = str(board).splitlines()
    assert lines[0].split() == ["rank", "kernel", "round", "rows", "error", "seconds"]
    assert len(lines) == len(board) + 1
    assert len(board.to_pandas()) == len(board)
    rest = [c.error for c in board if c.rounds == 1]
    assert rest == sorted(rest)


def test_the_same_call_gives_the_same_bits():
    X, y = make_friedman1(80, random_state=0)
    first, again = (KernelRegressor(random_state=1).fit(X, y).predict(X) for _ in range(2))
    assert np.array_equal(first, again)


def test_a_simple_kernel_wins_where_it_is_as_good_within_a_deviation():
    def candidate(name, errors, is_learned):
        e = np.asarray(errors)[:, None]
        return Candidate(name, mercer.Gaussian(1.0), 1.0, e, 2, len(e), is_learned, 0.0)

    e = random.normal(size=200)
    learned, simple = candidate("learned", e, True), candidate("simple", 1.001 * e[::-1], False)
    assert _simplest_first([learned, simple])[0] is simple
    worse = candidate("simple", 2.0 * e, False)
    assert _simplest_first([learned, worse])[0] is learned


BAD = {
    "constant columns": (np.ones((30, 2)), random.normal(size=30)),
    "three rows": (np.array([[0.0], [1.0], [2.0]]), np.array([0.0, 1.0, 2.0])),
    "duplicated columns": (np.repeat(random.normal(size=(40, 1)), 3, axis=1), np.arange(40.0)),
    "an empty column": (
        pd.DataFrame({"a": random.normal(size=40), "b": [None] * 40}),
        np.arange(40.0),
    ),
    "two values": (random.normal(size=(40, 2)), np.arange(40) % 2),
    "text alone": (["abc def", "abc", "def ghi", "ghi"] * 10, np.arange(40.0)),
    "a constant target": (random.normal(size=(40, 2)), np.ones(40)),
}


@pytest.mark.parametrize("name", BAD)
def test_difficult_tables_give_finite_predictions(name):
    X, y = BAD[name]
    assert np.isfinite(KernelRegressor().fit(X, y).predict(X)).all()


def test_a_column_equal_to_the_target_is_used():
    X, y = few_matter(80)
    model = KernelRegressor().fit(np.c_[X, y], y)
    assert model.score(np.c_[X, y], y) > 0.99


def test_many_columns_are_taken():
    X = random.normal(size=(60, 400))
    assert not any(start.is_learned for start in starts(X))
    KernelRegressor(time_limit=10).fit(X, X[:, 0])


def test_a_model_is_saved_and_loaded(tmp_path):
    table, y = mixed(60)
    model = KernelRegressor().fit(table, y)
    mercer.save(model, tmp_path / "m.mercer")
    loaded = mercer.load(tmp_path / "m.mercer")
    assert np.array_equal(loaded.predict(table), model.predict(table))
    assert str(loaded.candidates_) == str(model.candidates_)


def test_a_kernel_that_cannot_be_fitted_is_left_out(monkeypatch):
    learned, refused = search.learn, []

    def failing(kernel, *args, **settings):
        if not refused:
            refused.append(kernel)
            raise ValueError("singular to working precision")
        return learned(kernel, *args, **settings)

    monkeypatch.setattr(search, "learn", failing)
    X, y = few_matter(60)
    names = [c.name for c in KernelRegressor().fit(X, y).candidates_]
    assert "gaussian, learned" not in names
    assert "matern32, learned" in names


def test_copies_of_rows_give_nothing_away():
    X = np.random.default_rng(1).uniform(-2.0, 2.0, size=(80, 1))
    y = np.sin(2.0 * X[:, 0]) + 0.7 * np.random.default_rng(2).normal(size=80)
    plain, twice = KernelRegressor().fit(X, y), KernelRegressor().fit(X, y, np.full(80, 2.0))
    repeated = KernelRegressor().fit(np.repeat(X, 2, axis=0), np.repeat(y, 2))
    for model in (twice, repeated):
        assert model.kernel_ == plain.kernel_
        assert model.alpha_ == pytest.approx(2.0 * plain.alpha_)
