"""Kernels learned from data."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import mercer
from mercer import learn
from mercer.learning.learn import CRITERIA


@pytest.fixture
def table(rng):
    """Rows of five columns, of which the second and the fourth matter."""
    X = rng.normal(size=(120, 5))
    return X, np.sin(2.0 * X[:, 1]) + X[:, 3] + 0.05 * rng.normal(size=120)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_columns_that_matter_have_the_shortest_scales(criterion, table):
    learned = learn("gaussian", *table, criterion=criterion)
    assert set(np.argsort(learned.kernel.length_scale)[:2]) == {1, 3}
    assert max(learned.kernel.length_scale) > 10.0 * min(learned.kernel.length_scale)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_the_value_never_grows_and_belongs_to_the_kernel(criterion, table):
    learned = learn("matern32", *table, criterion=criterion, max_iter=8)
    values = [step.value for step in learned.history]
    assert values == sorted(values, reverse=True)
    assert values[-1] < values[0] - 0.1
    assert (learned.kernel, learned.alpha, learned.value) == (
        learned.history[-1].kernel,
        learned.history[-1].alpha,
        values[-1],
    )


def test_it_predicts_where_one_scale_for_all_columns_does_not(rng):
    X = rng.normal(size=(280, 12))
    y = np.sin(2.0 * X[:, 0]) * X[:, 1] + 0.05 * rng.normal(size=280)
    learned = learn("gaussian", X[:180], y[:180])
    model = mercer.KernelRidge(learned.kernel, alpha=learned.alpha).fit(X[:180], y[:180])
    isotropic = mercer.KernelRidgeCV(alphas=np.logspace(-4, 2, 7)).fit(X[:180], y[:180])
    assert model.score(X[180:], y[180:]) > 0.9
    assert isotropic.score(X[180:], y[180:]) < 0.5


def test_the_same_call_gives_the_same_bits(table):
    one, other = (learn("gaussian", *table, rows=80, max_iter=10) for _ in range(2))
    assert one.kernel == other.kernel
    assert one.alpha == other.alpha


def test_another_seed_takes_another_sample(table):
    one, other = (learn("gaussian", *table, rows=60, max_iter=5, random_state=s) for s in (1, 2))
    assert one.rows == other.rows == 60
    assert one.kernel != other.kernel


def test_the_kernel_is_a_value_that_is_printed_and_read(table):
    kernel = learn(mercer.Gaussian("median").after(mercer.Standardize()), *table).kernel
    assert mercer.kernel(str(kernel)) == kernel


def test_it_says_what_it_did(table):
    text = str(learn("gaussian", *table, max_iter=3))
    assert "alpha = " in text
    assert "in 3 iterations on 120 rows" in text
    assert text.endswith("ended by iterations")


def test_several_targets_share_a_kernel(table):
    X, y = table
    learned = learn("gaussian", X, np.column_stack([y, np.cos(X[:, 0])]))
    assert set(np.argsort(learned.kernel.length_scale)[:3]) == {0, 1, 3}


@pytest.mark.parametrize("classes", [["no", "yes"], ["low", "mid", "top"]])
def test_classes_are_learned_by_one_coding(classes, table):
    X, y = table
    labels = np.array(classes)[np.digitize(y, np.linspace(-0.5, 0.5, len(classes) - 1))]
    learned = learn("gaussian", X, labels)
    assert set(np.argsort(learned.kernel.length_scale)[:2]) == {1, 3}


def test_numbers_categories_and_text_have_their_weights(rng):
    pd = pytest.importorskip("pandas")
    n = 90
    x, c = rng.normal(size=(n, 2)), rng.choice(["u", "v", "w"], n)
    texts = ["".join(rng.choice(list("abcd"), 6)) for _ in range(n)]
    y = np.sin(x[:, 0]) + (c == "u") + 0.01 * rng.normal(size=n)
    frame = pd.DataFrame({"x": x[:, 0], "z": x[:, 1], "c": c, "t": texts})
    kernel = mercer.kernel(
        "gaussian(length_scale='median').on(x, z) + match().on(c) "
        "+ spectrum(k=2, normalize=True).on(t)"
    )
    learned = learn(kernel, frame, y).kernel
    numbers, categories, words = learned.terms
    assert numbers.kernel.kernel.length_scale[1] > 10.0 * numbers.kernel.kernel.length_scale[0]
    assert categories.factor > 20.0 * words.factor


def test_decay_of_text_is_learned(rng):
    texts = ["".join(rng.choice(list("ab"), 7)) for _ in range(40)]
    true = mercer.Subsequence(2, 0.9).normalized()
    y = true(texts) @ rng.normal(size=40)
    learned = learn(mercer.Subsequence(2, 0.3).normalized(), texts, y, max_iter=20)
    assert learned.kernel.kernel.decay > 0.6


def test_equal_columns_share_their_scale_and_constant_ones_do_no_harm(table):
    X, y = table
    X = np.column_stack([X, X[:, 1], np.full(len(X), 3.0)])
    scales = learn("gaussian", X, y).kernel.length_scale
    assert scales[1] == scales[5]
    assert np.isfinite(scales).all()


@pytest.mark.parametrize("family", ["gaussian", "matern32"])
def test_a_function_goes_on_between_the_few_values_of_a_column(family):
    dose = np.tile([1.0, 2.5, 4.0, 5.5], 15)
    X = np.column_stack([np.arange(20.0, 80.0), dose])
    kernel = mercer.kernel(f"{family}(length_scale='median').after(standardize())")
    learned = learn(kernel, X, X[:, 0] / 30.0 + dose)
    model = mercer.KernelRidge(learned.kernel, alpha=learned.alpha).fit(X, X[:, 0] / 30.0 + dose)
    between = np.array([1.75, 3.25, 4.75])
    found = model.predict(np.column_stack([np.full(3, 50.0), between]))
    assert_allclose(found, 50.0 / 30.0 + between, atol=0.05)


def test_weights_of_zero_are_rows_left_out(table):
    X, y = table
    weights = np.ones(len(y))
    weights[80:] = 0.0
    one = learn("gaussian", X, y, sample_weight=weights, max_iter=5)
    other = learn(mercer.Gaussian(one.history[0].kernel.length_scale), X[:80], y[:80], max_iter=5)
    assert one.rows == 80
    assert_allclose(one.kernel.length_scale, other.kernel.length_scale, rtol=1e-6)


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("n", [2, 3])
def test_a_few_rows_are_enough(criterion, n, points, rng):
    learned = learn("gaussian", points(n), rng.normal(size=n), criterion=criterion)
    assert np.isfinite(learned.kernel.length_scale).all()
    assert learned.alpha > 0.0


def test_many_columns_are_learned(rng):
    X = rng.normal(size=(100, 300))
    learned = learn("exponential", X, X[:, 7] + 0.01 * rng.normal(size=100), max_iter=10)
    assert np.argmin(learned.kernel.length_scale) == 7


def test_constant_targets_need_no_kernel(points):
    learned = learn("gaussian", points(5), np.ones(5))
    assert learned.ended_by == "targets"
    assert np.isnan(learned.value)
    assert learned.history == ()


def test_a_ridge_to_start_from_is_where_it_starts(table):
    learned = learn("gaussian", *table, alpha=0.03, max_iter=1)
    assert learned.history[0].alpha == pytest.approx(0.03)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_the_unit_of_the_targets_does_not_say_when_learning_ends(criterion, table):
    X, y = table
    one = learn("gaussian", X, y, criterion=criterion)
    other = learn("gaussian", X, 2.0**30 * y, criterion=criterion)
    assert one.ended_by == "convergence"
    assert len(other.history) == len(one.history)
    assert_allclose(other.kernel.length_scale, one.kernel.length_scale, rtol=1e-3)


def test_targets_and_weights_may_be_named_columns_of_the_table(table):
    pd = pytest.importorskip("pandas")
    X, y = table
    w = np.arange(len(y)) % 3
    rows = pd.DataFrame(X, columns=list("abcde"))
    named = learn("gaussian", rows.assign(y=y, w=w), "y", sample_weight="w", max_iter=3).kernel
    given = learn("gaussian", rows, y, sample_weight=w, max_iter=3).kernel
    assert_allclose(named.length_scale, given.length_scale, rtol=1e-9)


def test_a_time_limit_returns_what_was_found(table):
    learned = learn("gaussian", *table, time_limit=1e-6)
    assert learned.ended_by == "time"
    assert learned.kernel == learned.kernel.with_params()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"criterion": "aic"}, "criterion must be one of likelihood, loo, got 'aic'"),
        ({"alpha": 0.0}, "alpha must be a positive finite number, got 0.0"),
        ({"rows": 0}, "rows must be a whole number of at least 1, got 0"),
        ({"max_iter": 2.5}, "max_iter must be a whole number of at least 1, got 2.5"),
        ({"time_limit": -1.0}, "time_limit must be a positive finite number of seconds or None"),
    ],
)
def test_wrong_settings_are_refused(settings, message, table):
    with pytest.raises(ValueError, match=message):
        learn("gaussian", *table, **settings)
