"""KernelPerceptron: what is taught, averaged, and for several classes."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer.errors import ConvergenceWarning
from mercer.estimators import KernelPerceptron
from mercer.kernels import Constant, Exponential, Gaussian, Linear, Precomputed
from mercer.solvers.online import perceptron as room
from oracle import perceptron_walk
from refusals import refuses


def whole(rng, n=60):
    X = rng.integers(-5, 6, size=(n, 3)).astype(float)
    return X, np.where(X @ [2, -1, 1] + 0.5 > 0, 1, 0)


def test_its_coefficients_are_those_of_the_blackboard(rng):
    X, y = whole(rng)
    counts, mean = perceptron_walk(X @ X.T + 1.0, 2.0 * y - 1.0, 50)
    model = KernelPerceptron(Linear() + Constant(1.0), eta=0.5, max_epochs=50).fit(X, y)
    support = np.flatnonzero(counts)
    assert_array_equal(model.support_, support)
    assert_array_equal(model.counts_, counts[None, support])
    assert_allclose(model.dual_coef_, 0.5 * mean[None, support], rtol=1e-12)
    assert model.mistakes_ == counts.sum()
    assert_array_equal(model.support_vectors_, X[support])
    last = KernelPerceptron(Linear(1.0), averaged=False, max_epochs=50).fit(X, y)
    assert_array_equal(last.dual_coef_[0], (2 * y - 1)[support] * counts[support])


def test_the_decision_is_the_sum_over_the_support(rings):
    X, y = rings
    model = KernelPerceptron(Gaussian(0.7)).fit(X, y)
    scores = Gaussian(0.7)(X, model.support_vectors_) @ model.dual_coef_[0]
    assert_allclose(model.decision_function(X), scores, atol=1e-9)
    assert_array_equal(model.predict(X), np.where(scores > 0, "outside", "inside"))
    assert model.score(X, y) > 0.97


def test_the_size_of_steps_changes_no_prediction(three):
    X, y = three
    scores = KernelPerceptron(Gaussian(1.0)).fit(X, y).decision_function(X)
    scaled = KernelPerceptron(Gaussian(1.0), eta=4.0).fit(X, y).decision_function(X)
    assert_array_equal(scaled, 4.0 * scores)


def test_each_of_three_classes_is_told_from_the_rest(three):
    X, y = three
    model = KernelPerceptron(Gaussian(1.0)).fit(X, y)
    scores = model.decision_function(X)
    assert scores.shape == (90, 3)
    assert model.score(X, y) > 0.95
    mistakes = 0
    for c in range(3):
        alone = KernelPerceptron(Gaussian(1.0)).fit(X, y == c)
        assert_allclose(alone.decision_function(X), scores[:, c], atol=1e-12)
        mistakes += alone.mistakes_
    assert model.mistakes_ == mistakes == model.counts_.sum()


def test_rows_that_separate_have_a_margin_and_novikoffs_bound(rng):
    X, y = whole(rng)
    model = KernelPerceptron(Linear(1.0), averaged=False).fit(X, y)
    w, b = model.dual_coef_[0] @ model.support_vectors_, model.dual_coef_.sum()
    scores = (2 * y - 1) * (X @ w + b)
    margin = scores.min() / np.sqrt(w @ w + b * b)
    assert_allclose(model.margin_, margin, rtol=1e-9)
    largest = ((X**2).sum(axis=1) + 1.0).max()
    assert_allclose(model.novikoff_bound_, largest / margin**2, rtol=1e-9)
    assert model.mistakes_ <= model.novikoff_bound_


def test_the_margin_of_several_classes_is_the_least_and_bounds_add_up(three):
    X, y = three
    model = KernelPerceptron(Gaussian(1.0), max_epochs=3000).fit(X, y)
    alone = [KernelPerceptron(Gaussian(1.0), max_epochs=3000).fit(X, y == c) for c in range(3)]
    assert_allclose(model.margin_, min(m.margin_ for m in alone))
    assert_allclose(model.novikoff_bound_, sum(m.novikoff_bound_ for m in alone))
    assert model.mistakes_ <= model.novikoff_bound_


def test_rows_that_do_not_separate_have_neither(rng):
    X = rng.normal(size=(40, 1))
    y = rng.integers(0, 2, size=40)
    model = KernelPerceptron(Linear(), max_epochs=5).fit(X, y)
    assert model.margin_ is None
    assert model.novikoff_bound_ is None
    assert model.n_iter_ == 5
    with pytest.warns(ConvergenceWarning, match=r"5 passes and \d+ mistakes: the last f depends"):
        KernelPerceptron(Linear(), averaged=False, max_epochs=5).fit(X, y)


def test_a_shuffled_order_follows_its_seed(rings):
    def coefficients(seed):
        model = KernelPerceptron(Gaussian(0.7), shuffle=True, random_state=seed, max_epochs=3)
        return model.fit(*rings).decision_function(rings[0])

    assert_array_equal(coefficients(1), coefficients(1))
    assert not np.array_equal(coefficients(1), coefficients(2))


@pytest.mark.parametrize("memory", [None, 10_000])
def test_threads_change_no_bit(three, monkeypatch, memory):
    monkeypatch.setattr(room.HeldPerceptron, "rows_for_threads", 1)

    def scores(threads):
        monkeypatch.setenv("MERCER_THREADS", threads)
        return KernelPerceptron(memory=memory).fit(*three).decision_function(three[0])

    assert_array_equal(scores("1"), scores("2"))


def test_a_matrix_beyond_the_memory_is_not_stored(rng, monkeypatch):
    X, y = whole(rng, 600)
    held = KernelPerceptron(Linear(1.0), max_epochs=20).fit(X, y)
    monkeypatch.setattr(
        "mercer.gram.StreamedGram.dense", lambda self: pytest.fail("the matrix was stored")
    )
    streamed = KernelPerceptron(Linear(1.0), max_epochs=20, memory="100KB").fit(X, y)
    assert_array_equal(streamed.counts_, held.counts_)
    assert_array_equal(streamed.dual_coef_, held.dual_coef_)
    assert_allclose(streamed.margin_, held.margin_, rtol=1e-9)


def test_class_weights_are_sizes_of_steps(rng):
    X, y = whole(rng)
    weighted = KernelPerceptron(Linear(1.0), class_weight={0: 1.0, 1: 2.0}, averaged=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        weighted.fit(X, y)
    sizes = np.where(y == 1, 2.0, -1.0)[weighted.support_]
    assert_array_equal(weighted.dual_coef_, sizes * weighted.counts_)
    assert weighted.margin_ is None or weighted.mistakes_ <= weighted.novikoff_bound_


def test_a_class_without_weight_is_left_out(three):
    X, y = three
    model = KernelPerceptron(Gaussian(1.0), class_weight={0: 1.0, 1: 1.0, 2: 0.0}).fit(X, y)
    assert not np.isin(model.support_, np.flatnonzero(y == 2)).any()
    some = y < 2
    direct = KernelPerceptron(Gaussian(1.0)).fit(X[some], y[some])
    assert_allclose(model.decision_function(X)[:, 1], direct.decision_function(X), atol=1e-12)


@pytest.mark.parametrize("kernel", [Precomputed(), 2.0 * Precomputed()], ids=str)
@pytest.mark.parametrize("memory", [None, 10_000])
def test_a_finished_matrix_serves_as_the_kernel_does(three, kernel, memory):
    X, y = three
    K = Gaussian(1.0)(X) / (1.0 if isinstance(kernel, Precomputed) else 2.0)
    direct = KernelPerceptron(Gaussian(1.0)).fit(X, y)
    model = KernelPerceptron(kernel, memory=memory).fit(K, y)
    assert_array_equal(model.support_, direct.support_)
    assert_allclose(model.decision_function(K), direct.decision_function(X), atol=1e-9)


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_finished_matrix_may_be_in_single_precision_and_in_either_order(rng, order):
    X, y = whole(rng)
    direct = KernelPerceptron(Linear(1.0)).fit(X, y)
    K = np.asarray(Linear(1.0)(X), np.float32, order=order)
    assert_array_equal(KernelPerceptron("precomputed").fit(K, y).counts_, direct.counts_)


@pytest.mark.parametrize("budget", [None, 30])
@pytest.mark.parametrize("memory", [None, 10_000])
def test_rows_on_a_line_need_no_kernel_of_their_own(rng, budget, memory):
    X = rng.normal(size=(90, 1))
    y = (np.sin(4.0 * X[:, 0]) > 0.0).astype(int)
    settings = {"max_epochs": 4, "budget": budget}
    line = KernelPerceptron(Exponential(0.5), memory=memory, **settings).fit(X, y)
    plain = KernelPerceptron("precomputed", **settings).fit(Exponential(0.5)(X), y)
    assert_array_equal(line.support_, plain.support_)
    assert_allclose(line.dual_coef_, plain.dual_coef_, rtol=1e-6)


def test_an_interrupt_returns_what_was_learned(rings, monkeypatch):
    visits = []
    sweep = room.sweep

    def interrupted(*args):
        visits.append(1)
        if len(visits) == 4:
            raise KeyboardInterrupt
        sweep(*args)

    monkeypatch.setattr(room, "sweep", interrupted)
    with pytest.warns(ConvergenceWarning, match="Ctrl-C ended the iteration"):
        model = KernelPerceptron(Gaussian(0.3)).fit(*rings)
    assert model.n_iter_ == 4
    assert model.score(*rings) > 0.9


def test_time_is_limited(rings):
    with pytest.warns(ConvergenceWarning, match=r"the time limit of 1e-09 s was up"):
        model = KernelPerceptron(Gaussian(0.3), time_limit=1e-9).fit(*rings)
    assert model.n_iter_ == 1


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"eta": 0.0}, "eta must be a positive finite number, got 0.0"),
        ({"eta": "fast"}, "eta must be a positive finite number, got 'fast'"),
        ({"max_epochs": 0}, "max_epochs must be a whole number of at least 1, got 0"),
        ({"budget": 0}, "budget must be a whole number of at least 1 or None, got 0"),
        (
            {"time_limit": 0.0},
            "time_limit must be a positive finite number of seconds or None, got 0.0",
        ),
        ({"class_weight": {"inside": -1.0}}, "class_weight must be finite and not negative"),
        ({"class_weight": {"inside": 0.0, "outside": 0.0}}, "class_weight is zero for every row"),
    ],
    ids=str,
)
def test_settings_that_mean_nothing_are_refused(rings, settings, message):
    refuses(message, KernelPerceptron(**settings).fit, *rings)


@pytest.mark.parametrize("learn", ["fit", "partial_fit"])
def test_a_call_that_fails_leaves_the_model_as_it_was(rings, learn):
    X, y = rings
    model = KernelPerceptron(Gaussian(0.3), max_epochs=2).fit(X, y)
    before = vars(model).copy()
    model.set_params(eta=-1.0)
    refuses("eta must be a positive finite number", getattr(model, learn), X, y)
    for name, value in before.items():
        assert name == "eta" or vars(model)[name] is value


def test_the_certificate_says_whether_the_last_pass_separates(rng):
    X = rng.normal(size=(60, 2))
    y = np.where(X[:, 0] > 0.0, 1, -1)
    X[:, 0] += 0.3 * y
    model = KernelPerceptron("linear", max_epochs=1000).fit(X, y)
    assert model.certificate_.value == 0.0
    assert model.certificate_.satisfied
    assert str(model.certificate_).startswith("mistakes in the last pass 0.0e+00 by perceptron")
    assert np.isinf(model.certificate_.bound(X)).all()
    short = KernelPerceptron("linear", max_epochs=3).fit(X, rng.permutation(y))
    assert short.certificate_.value >= 1.0
    assert not short.certificate_.satisfied


def test_a_pass_that_was_broken_off_proves_nothing(rng):
    X = rng.normal(size=(600, 2))
    y = rng.integers(0, 2, size=600)
    model = KernelPerceptron(Gaussian(1.0), memory="1MB", time_limit=1e-9)
    with pytest.warns(ConvergenceWarning, match="raise time_limit"):
        model.fit(X, y)
    assert model.certificate_.value == np.inf
