"""The automatic machine takes a table as it comes and finds a good kernel by itself."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.datasets import make_friedman1
from sklearn.utils.class_weight import compute_sample_weight

import mercer
from mercer import Exponential, KernelClassifier, KernelRegressor, KernelRidge, Standardize
from mercer.errors import SingularSystemError, TwoValuesWarning
from mercer.selection.automatic import search
from mercer.selection.automatic.board import NESTED, Candidate, Leaderboard, simplest_first
from mercer.selection.automatic.cross_fit import Compared
from mercer.selection.automatic.kernels import Start, in_family, starts
from mercer.solvers import Approximation

random = np.random.default_rng(0)


def few_matter(n):
    """Return 12 columns, of which two matter."""
    X = np.random.default_rng(1).normal(size=(n, 12))
    return X, np.sin(2.0 * X[:, 3]) + X[:, 7] ** 2


def test_columns_that_matter_are_found_and_the_others_ignored():
    X, y = few_matter(300)
    model = KernelRegressor().fit(X[:200], y[:200])
    plain = mercer.KernelRidgeCV(mercer.Gaussian("median")).fit(X[:200], y[:200])
    assert model.score(X[200:], y[200:]) > 0.8
    assert model.score(X[200:], y[200:]) > plain.score(X[200:], y[200:]) + 0.3
    # The default search has rougher kernels and more widths, but none by column.
    default = mercer.KernelRidgeCV().fit(X[:200], y[:200])
    assert model.score(X[200:], y[200:]) > default.score(X[200:], y[200:]) + 0.05
    assert "learned" in model.candidates_[0].name
    assert {row.column for row in mercer.explain(model).columns[:2]} == {3, 7}


@pytest.mark.usefixtures("brief")
def test_the_winner_is_an_expression_that_gives_the_same_model():
    X, y = few_matter(60)
    X = X[:, [3, 7]]
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


@pytest.mark.filterwarnings("ignore::mercer.errors.OutsideRangeWarning")
@pytest.mark.filterwarnings("ignore::mercer.errors.UnseenCategoriesWarning")
def test_intervals_are_wider_at_values_and_categories_that_no_training_row_has():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "dose": rng.choice([1.0, 2.0, 6.0, 7.0], 150),
            "site": rng.choice(["a", "b", "c", "d"], 150),
        }
    )
    effect = table.site.map({"a": 0.0, "b": 2.0, "c": -1.0, "d": 1.0})
    model = KernelRegressor().fit(table, np.sin(table.dose) + effect + 0.1 * rng.normal(size=150))
    new = pd.DataFrame({"dose": [2.0, 4.0, 12.0, 2.0], "site": ["a", "a", "a", "z"]})
    low, high = model.predict_interval(new)
    seen, *unseen = high - low
    assert min(unseen) > 2.0 * seen


def test_classes_have_probabilities_of_a_good_log_loss():
    X, y = few_matter(240)
    labels = np.where(y > np.median(y), "high", "low")
    model = KernelClassifier().fit(X[:160], labels[:160])
    assert model.score(X[160:], labels[160:]) > 0.75
    P = model.predict_proba(X[160:])
    own = P[np.arange(80), np.searchsorted(model.classes_, labels[160:])]
    assert -np.log(own).mean() < 0.55


@pytest.mark.usefixtures("brief")
@pytest.mark.parametrize("kind", [KernelRegressor, KernelClassifier])
def test_function_and_certificate_are_those_of_the_model_that_was_fitted_last(kind):
    X = random.normal(size=(40, 2))
    model = kind().fit(X, np.round(X[:, 0]).clip(-1, 1))
    assert model.function_ is model.estimator_.function_
    assert model.certificate_ == model.estimator_.certificate_
    assert model.approximation_ is None
    model.estimator_.approximation_ = Approximation(0.25, 10, 100)
    assert model.approximation_ is model.estimator_.approximation_


def test_the_time_of_a_classifier_is_for_kernels_for_a_comparison_and_for_the_last_fit(monkeypatch):
    left = []

    def winners(self):
        left.append(self.run.seconds_left)
        return Leaderboard(
            [Candidate("a", mercer.Gaussian(1.0), 1.0, np.ones(4), 1.0, 1, 4, False, 0.0)]
        )

    def compared(self, found, reader, best, means, run):
        left.append(run.seconds_left)
        return {"ridge": Compared(0.0, best)}

    monkeypatch.setattr(search.KernelSearch, "winners", winners)
    monkeypatch.setattr(KernelClassifier, "_compared", compared)
    X = random.normal(size=(40, 2))
    KernelClassifier(time_limit=1e6).fit(X, np.sign(X[:, 0]))
    assert left == pytest.approx([0.6e6, 0.5e6], rel=1e-3)


@pytest.mark.usefixtures("brief")
def test_the_leaderboard_is_read_by_people_and_ordered():
    X, y = few_matter(60)
    board = KernelRegressor().fit(X, y).candidates_
    lines = str(board).splitlines()
    assert lines[0].split() == ["rank", "kernel", "scored", "by", "rows", "RMSE", "seconds"]
    assert len(lines) == 1 + len(board) + len(board.remarks)
    assert len(board.to_pandas()) == len(board)
    # Those that were learned again in folds come before those that were not.
    rest = [(c.scored_by != NESTED, c.score) for c in board][1:]
    assert rest == sorted(rest)


def test_hundreds_of_classes_are_fitted_by_least_squares_and_the_leaderboard_says_so():
    rng = np.random.default_rng(0)
    y = np.arange(300) % 60
    X = 3.0 * rng.normal(size=(60, 4))[y] + 0.1 * rng.normal(size=(300, 4))
    model = KernelClassifier(random_state=0).fit(X[:240], y[:240])
    assert set(model.losses_) <= {"ridge", "mean"}
    assert str(model.candidates_).splitlines()[-1].startswith("60 classes are fitted by least")
    assert model.score(X[240:], y[240:]) > 0.9


def test_the_same_call_gives_the_same_bits():
    X, y = make_friedman1(80, random_state=0)
    first, again = (KernelRegressor(random_state=1).fit(X, y).predict(X) for _ in range(2))
    assert np.array_equal(first, again)


def test_a_simple_kernel_wins_where_it_is_as_good_within_a_deviation():
    def candidate(name, errors, is_learned):
        squares = np.asarray(errors) ** 2
        return Candidate(
            name, mercer.Gaussian(1.0), 1.0, squares, 0.0, 2, len(squares), is_learned, 0.0
        )

    e = random.normal(size=200)
    learned, simple = candidate("learned", e, True), candidate("simple", 1.001 * e[::-1], False)
    assert simplest_first([learned, simple])[0] is simple
    worse = candidate("simple", 2.0 * e, False)
    assert simplest_first([learned, worse])[0] is learned


@pytest.mark.parametrize("leader", [mercer.Matern32, mercer.Laplacian])
@pytest.mark.parametrize("family", [mercer.Gaussian, mercer.Laplacian])
@pytest.mark.parametrize("is_scored", [False, True])
def test_another_family_starts_from_distances_of_the_same_size(leader, family, is_scored):
    X, scales = random.normal(size=(400, 5)), (0.5, 1.0, 2.0, 9.0, 30.0)
    learned = leader(scales).after(mercer.Standardize()).on(0, 1, 2, 3, 4)
    k = in_family(2.0 * learned + 1.0, Start("", learned, True, family, is_scored))
    assert family.__name__.lower() in str(k) and "matern32" not in str(k)
    assert ("normal_scores" in str(k)) == is_scored
    (found,) = [v for n, v in k.get_params().items() if n.endswith("length_scale")]
    D = np.abs(X[:, None] - X[None])

    def size(kind, lengths):
        by_root = np.sqrt((D**2 / np.square(lengths)).sum(axis=2))
        return np.median((D / lengths).sum(axis=2) if kind is mercer.Laplacian else by_root)

    assert size(family, found) == pytest.approx(size(leader, scales), rel=0.2)


def test_the_sum_of_the_best_is_a_candidate():
    X, y = few_matter(80)
    board = KernelRegressor().fit(X, y).candidates_
    (together,) = [c for c in board if c.name.startswith("sum of")]
    assert len(together.kernel.terms) == 3


@pytest.mark.parametrize("n", [2, 13])
def test_few_and_many_categories_have_their_factors(n):
    # Rows of its own: those of a shared generator depend on which tests ran before.
    random = np.random.default_rng(0)
    cells = {f"c{i}": random.choice(["a", "b"], 40) for i in range(n)}
    table = pd.DataFrame({"x": random.normal(size=40), **cells})
    y = table.x + 2.0 * (table.c0 == "a") * (table.c1 == "b") + 0.01 * random.normal(size=40)
    assert KernelRegressor().fit(table, y).score(table, y) > 0.9
    (first, *_) = starts(table)
    assert str(first.kernel).count("match(") == (2 if n == 2 else 1)


def test_what_categories_say_together_alone_is_learned(rng):
    table = pd.DataFrame({f"c{i}": rng.choice(["a", "b", "c"], 300) for i in range(6)})
    y = 1.0 * ((table.c0 == "a") ^ (table.c1 == "b")) + 0.1 * rng.normal(size=300)
    model = KernelRegressor().fit(table[:200], y[:200])
    # A sum of what each says explains a tenth.
    assert model.score(table[200:], y[200:]) > 0.9
    assert {row.column for row in mercer.explain(model).columns[:2]} == {"c0", "c1"}


def test_of_several_categories_beside_numbers_those_that_matter_are_found(rng):
    table = pd.DataFrame({f"c{i}": rng.choice(["a", "b", "c"], 500) for i in range(6)})
    table["x"] = rng.normal(size=500)
    y = table.x * (table.c0 == "a") - table.x * (table.c1 == "b") + 0.1 * rng.normal(size=500)
    model = KernelRegressor().fit(table[:300], y[:300])
    assert model.score(table[300:], y[300:]) > 0.8


def test_last_models_are_judged_by_their_log_loss():
    X, y = few_matter(100)
    model = KernelClassifier().fit(X, y > 1.0)
    assert set(model.losses_) >= {"ridge", "logistic"}
    is_ridge = isinstance(model.estimator_, mercer.KernelRidgeClassifier)
    assert is_ridge == (min(model.losses_, key=model.losses_.get) != "logistic")


def test_a_small_memory_takes_fewer_rows():
    X, y = few_matter(300)
    board = KernelRegressor(memory="1.2MB").fit(X, y).candidates_
    assert max(c.rows for c in board) <= 174


BAD = {
    "all columns empty": (pd.DataFrame({"a": [None] * 20, "b": [None] * 20}), np.arange(20.0)),
    "constant columns": (np.ones((30, 2)), random.normal(size=30)),
    "three rows": (np.array([[0.0], [1.0], [2.0]]), np.array([0.0, 1.0, 2.0])),
    "duplicated columns": (np.repeat(random.normal(size=(40, 1)), 3, axis=1), np.arange(40.0)),
    "an empty column": (
        pd.DataFrame({"a": random.normal(size=40), "b": [None] * 40}),
        np.arange(40.0),
    ),
    "text alone": (["abc def", "abc", "def ghi", "ghi"] * 10, np.arange(40.0)),
    "a constant target": (random.normal(size=(40, 2)), np.ones(40)),
}


@pytest.mark.parametrize("name", BAD)
def test_difficult_tables_give_finite_predictions(name):
    X, y = BAD[name]
    assert np.isfinite(KernelRegressor().fit(X, y).predict(X)).all()


@pytest.mark.parametrize("name", ["all columns empty", "constant columns", "three rows"])
def test_difficult_tables_give_finite_probabilities(name):
    X, y = BAD[name]
    P = KernelClassifier().fit(X, y > np.median(y)).predict_proba(X)
    assert np.isfinite(P).all()


def test_a_column_equal_to_the_target_is_used():
    X, y = few_matter(80)
    model = KernelRegressor().fit(np.c_[X, y], y)
    assert model.score(np.c_[X, y], y) > 0.99


def many_columns(effect):
    """Return 200 rows of 500 columns to train on and 200 to test, with targets of a function."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(400, 500))
    y = effect(X) + 0.3 * rng.normal(size=400)
    return (X[:200], y[:200]), (X[200:], y[200:])


def test_two_of_five_hundred_columns_are_found():
    train, test = many_columns(lambda X: np.sin(1.5 * X[:, 3]) + X[:, 7])
    model = KernelRegressor().fit(*train)
    plain = mercer.KernelRidgeCV().fit(*train)
    assert model.score(*test) > 0.75
    assert model.score(*test) > plain.score(*test) + 0.3


def test_where_all_of_five_hundred_columns_matter_alike_one_width_wins():
    train, test = many_columns(lambda X: X.sum(axis=1) / 22.0)
    model = KernelRegressor().fit(*train)
    plain = min(
        (c for c in model.candidates_ if not c.is_learned and c.rows == model.candidates_[0].rows),
        key=lambda c: c.error,
    )
    simple = mercer.KernelRidge(plain.kernel, plain.alpha).fit(*train)
    assert model.score(*test) > simple.score(*test) - 0.05


def test_a_target_of_two_values_is_said_to_be_one_for_the_classifier():
    X = random.normal(size=(40, 2))
    with pytest.warns(TwoValuesWarning, match="two values, 0 and 1: .* use KernelClassifier"):
        model = KernelRegressor().fit(X, np.arange(40) % 2)
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.usefixtures("brief")
def test_a_model_is_saved_and_loaded(tmp_path):
    table, y = mixed(60)
    model = KernelRegressor().fit(table, y)
    mercer.save(model, tmp_path / "m.mercer")
    loaded = mercer.load(tmp_path / "m.mercer")
    assert np.array_equal(loaded.predict(table), model.predict(table))
    assert str(loaded.candidates_) == str(model.candidates_)


@pytest.mark.usefixtures("brief")
def test_a_kernel_that_cannot_be_fitted_is_left_out(monkeypatch):
    learned, refused = search.learn, []

    def failing(kernel, *args, **settings):
        # By its name, since kernels are tried side by side and any may be the first.
        if "matern32" in str(kernel):
            refused.append(kernel)
            raise SingularSystemError("singular to working precision")
        return learned(kernel, *args, **settings)

    monkeypatch.setattr(search, "learn", failing)
    X, y = few_matter(60)
    names = [c.name for c in KernelRegressor().fit(X, y).candidates_]
    assert refused
    assert "matern32, learned" not in names
    assert "gaussian, learned" in names


def test_a_dose_between_those_that_were_given_is_no_mean():
    table = pl.DataFrame({"age": range(20, 80), "dose": [1.0, 2.5, 4.0, 5.5] * 15})
    model = KernelRegressor().fit(table, table["age"] / 30 + table["dose"])
    new = pl.DataFrame({"age": [50.0, 50.0, 50.0], "dose": [1.75, 3.25, 4.75]})
    assert np.abs(model.predict(new) - (50.0 / 30.0 + new["dose"].to_numpy())).max() < 0.1


def test_copies_of_rows_give_nothing_away():
    X = np.random.default_rng(1).uniform(-2.0, 2.0, size=(80, 1))
    y = np.sin(2.0 * X[:, 0]) + 0.7 * np.random.default_rng(2).normal(size=80)
    plain, twice = KernelRegressor().fit(X, y), KernelRegressor().fit(X, y, np.full(80, 2.0))
    repeated = KernelRegressor().fit(np.repeat(X, 2, axis=0), np.repeat(y, 2))
    for model in (twice, repeated):
        assert model.kernel_ == plain.kernel_
        assert model.alpha_ == pytest.approx(2.0 * plain.alpha_)


@pytest.mark.usefixtures("brief")
def test_a_small_file_is_read_at_once(tmp_path):
    X, y = few_matter(60)
    table = pl.DataFrame({"a": X[:, 3], "b": X[:, 7]})
    table.with_columns(y=y).write_parquet(tmp_path / "rows.parquet")
    model = KernelRegressor().fit(str(tmp_path / "rows.parquet"), "y")
    whole = KernelRegressor().fit(table, y)
    assert model.estimator_.approximation_ is None
    np.testing.assert_array_equal(model.predict(table), whole.predict(table))


@pytest.fixture
def on_disk(tmp_path, monkeypatch):
    """Return a file of 2 columns that is not read at once, with rows and targets."""
    monkeypatch.setattr("mercer.estimators.streams.SHARE", 0.0)
    X, y = few_matter(100)
    np.save(tmp_path / "rows.npy", X[:, [3, 7]])
    return str(tmp_path / "rows.npy"), X[:, [3, 7]], y


@pytest.mark.filterwarnings("ignore::mercer.errors.ApproximationWarning")
def test_a_large_file_is_chosen_on_in_part_and_fitted_to_block_by_block(on_disk):
    path, X, y = on_disk
    model = KernelRegressor().fit(path, y)
    assert model.estimator_.approximation_ is not None
    assert model.kernel_ == KernelRegressor().fit(X, y).kernel_
    assert model.score(X, y) > 0.95


@pytest.mark.filterwarnings("ignore::mercer.errors.ApproximationWarning")
def test_a_kernel_that_is_a_chain_on_one_column_is_none_on_a_large_file(on_disk):
    path, X, y = on_disk
    model = KernelRidge(Exponential(1.0).after(Standardize(missing="mean"))).fit(path, y)
    assert model.approximation_ is not None
    assert model.score(X, y) > 0.9


@pytest.mark.filterwarnings("ignore::mercer.errors.ApproximationWarning")
def test_classes_of_a_large_file_are_learnt_block_by_block(on_disk):
    path, X, y = on_disk
    labels = np.where(y > np.median(y), "high", "low")
    model = KernelClassifier().fit(path, labels)
    assert model.estimator_.approximation_ is not None
    assert model.score(X, labels) > 0.9


@pytest.mark.usefixtures("brief")
def test_class_weights_are_weights_of_the_rows(rng):
    X = rng.normal(size=(90, 2))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=90) > 1.0, "rare", "usual")
    weights = compute_sample_weight("balanced", y)
    by_class = KernelClassifier(class_weight="balanced").fit(X, y)
    by_row = KernelClassifier().fit(X, y, weights)
    assert_allclose(by_class.predict_proba(X), by_row.predict_proba(X), rtol=1e-9)
    plain = KernelClassifier().fit(X, y)
    assert (by_class.predict(X) == "rare").sum() > (plain.predict(X) == "rare").sum()


@pytest.mark.parametrize("machine", [KernelRegressor, KernelClassifier])
def test_an_identifier_is_learnt_from_if_it_is_kept(machine):
    random = np.random.default_rng(0)
    # Later rows are another matter, and nothing but their numbers says so.
    table = pd.DataFrame({"noise": random.normal(size=120), "id": np.arange(120)})
    y = (table.id > 60) + (0.1 * table.noise if machine is KernelRegressor else 0)
    model, other = machine(keep=["id"]).fit(table, y), machine().fit(table, y)
    assert "id" in str(model.kernel_)
    assert "id" not in str(other.kernel_)
    assert model.score(table, y) > other.score(table, y) + 0.2
    for ask in (model.fit, model.plan):
        model.set_params(keep="nr")
        with pytest.raises(ValueError, match="keep must name columns of the rows, got 'nr'"):
            ask(table, y)


@pytest.mark.parametrize("values", [1.0, np.nan, "same"], ids=["number", "none", "text"])
@pytest.mark.parametrize("machine", [KernelRegressor, KernelClassifier])
def test_a_column_that_says_nothing_may_be_kept_and_changes_nothing(machine, values):
    random = np.random.default_rng(0)
    table = pd.DataFrame(random.normal(size=(40, 2)), columns=["a", "b"])
    y = table.a > 0.0 if machine is KernelClassifier else table.a.copy()
    table["id"] = random.permutation(40)
    whole = table.assign(k=values)
    kept, plain = machine(keep=["id", "k"]).fit(whole, y), machine(keep="id").fit(table, y)
    assert kept.kernel_ == plain.kernel_
    assert kept.plan(whole, y).solver == plain.plan(table, y).solver


@pytest.mark.parametrize("keep", [["k"], "k"])
def test_where_only_columns_that_say_nothing_are_kept_the_mean_is_learnt(keep):
    model = KernelRegressor(keep=keep).fit(pd.DataFrame({"k": np.ones(20)}), np.arange(20.0))
    assert_allclose(model.predict(pd.DataFrame({"k": [1.0]})), 9.5)


def test_a_name_to_keep_that_sparse_rows_have_not_is_refused(rng):
    X = sp.random_array((30, 3), density=0.5, rng=rng, format="csr")
    with pytest.raises(ValueError, match="keep must name columns of the rows, got 3; use 0, 1, 2"):
        KernelRegressor(keep=3).fit(X, np.arange(30.0))
