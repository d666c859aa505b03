"""KernelRidge by conjugate gradients: the model, its limits, and scikit-learn's callbacks."""

import os
import signal
import sys
import time

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from contract import OF_THE_CLASS, checks
from mercer.errors import ConvergenceWarning, IndefiniteKernelError
from mercer.estimators import KernelRidge
from mercer.estimators.callbacks import CallbackSupportMixin
from mercer.gram import StreamedGram
from mercer.kernels import Exponential, Gaussian, Linear, Sigmoid
from mercer.solvers import ConjugateGradient


@pytest.fixture
def X(points):
    return points(500)


@pytest.fixture
def y(X, rng):
    return np.sin(3.0 * X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=500) + 7.0


@checks([KernelRidge(solver="cg", tol=1e-10, random_state=0)], but=OF_THE_CLASS)
def test_it_keeps_the_contract_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    "kernel", ["gaussian", Exponential(1.0), Gaussian(1.0) + Linear()], ids=str
)
@pytest.mark.parametrize("alpha", [1e-2, 1.0])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("memory", [None, "1MB"])
def test_it_is_the_exact_model_within_the_certificate(
    X, y, rng, kernel, alpha, fit_intercept, memory
):
    settings = dict(kernel=kernel, alpha=alpha, fit_intercept=fit_intercept)
    weights = rng.uniform(0.0, 2.0, size=500)
    exact = KernelRidge(**settings).fit(X, y, weights)
    model = KernelRidge(**settings, solver="cg", memory=memory, random_state=0).fit(X, y, weights)
    new = X[:50] + 0.1
    f, g = (m.predict(new) - m.intercept_ for m in (model, exact))
    assert model.certificate_.satisfied
    assert (np.abs(f - g) <= model.certificate_.bound(new) + 1e-9).all()
    assert_allclose(model.intercept_, exact.intercept_, rtol=1e-4)


def test_the_certificate_is_the_residual_of_the_weighted_system(X, y, rng):
    weights = rng.uniform(0.5, 2.0, size=500)
    model = KernelRidge(Exponential(1.0), 0.1, solver="cg", random_state=0).fit(X, y, weights)
    r = model.predict(X) + 0.1 * model.dual_coef_ / weights - y
    centred = y - np.average(y, weights=weights)
    expected = np.linalg.norm(np.sqrt(weights) * r) / np.linalg.norm(np.sqrt(weights) * centred)
    assert_allclose(model.certificate_.value, expected, rtol=1e-4)


def test_several_targets_have_their_ridges(X, y):
    Y = np.column_stack([y, y**2, np.ones(500)])
    settings = dict(kernel=Gaussian(1.0), alpha=[0.1, 1.0, 10.0])
    exact = KernelRidge(**settings).fit(X, Y)
    model = KernelRidge(**settings, solver="cg", random_state=0).fit(X, Y)
    assert model.dual_coef_.shape == (500, 3)
    assert_allclose(model.predict(X), exact.predict(X), atol=1e-3)


def test_a_precomputed_matrix_gives_the_same_model(X, y):
    K = Gaussian(1.0)(X)
    model = KernelRidge("precomputed", 0.1, solver="cg", random_state=0).fit(K, y)
    direct = KernelRidge(Gaussian(1.0), 0.1).fit(X, y)
    assert_allclose(model.predict(K), direct.predict(X), atol=1e-5)


def test_a_matrix_beyond_the_limit_is_streamed(X, y, monkeypatch):
    monkeypatch.setattr(StreamedGram, "dense", None)
    model = KernelRidge(solver="cg", memory="1MB", random_state=0).fit(X, y)
    assert model.certificate_.satisfied


def test_equal_seeds_give_equal_bits(X, y):
    settings = dict(kernel=Exponential(1.0), alpha=0.01, solver="cg")
    for seed in (0, np.random.RandomState(0)):
        model = KernelRidge(**settings, random_state=seed)
        first = clone(model).fit(X, y).dual_coef_
        assert_array_equal(clone(model).fit(X, y).dual_coef_, first)


def test_steps_are_counted(X, y):
    model = KernelRidge(Exponential(1.0), solver="cg", random_state=0).fit(X, y)
    assert model.n_iter_ == model.solution_.iterations > 1
    assert KernelRidge().fit(X, y).n_iter_ == 1


def test_settings_reach_the_solver(X, y):
    model = KernelRidge(solver="cg", tol=1e-4, max_iter=7, time_limit=60).fit(X, y)
    assert model.solver_ == ConjugateGradient(tol=1e-4, max_iter=7)
    given = KernelRidge(solver=ConjugateGradient(rank=5, random_state=3)).fit(X, y)
    assert given.solver_ == ConjugateGradient(rank=5, random_state=3)


def test_the_limits_do_not_matter_to_the_exact_solver(X, y):
    plain = KernelRidge().fit(X, y)
    model = KernelRidge(max_iter=1, time_limit=1e-9, random_state=0).fit(X, y)
    assert_array_equal(model.dual_coef_, plain.dual_coef_)


def test_too_few_steps_warn_and_say_what_to_do(X, y):
    model = KernelRidge(Exponential(0.5), 1e-3, solver="cg", max_iter=3, random_state=0)
    with pytest.warns(ConvergenceWarning, match=r"NOT within 1\.0e-06; .*after 3 steps.*max_iter"):
        model.fit(X, y)
    assert not model.certificate_.satisfied


def test_the_time_limit_returns_the_best_model_and_warns(X, y, monkeypatch):
    product = StreamedGram.product

    def slow(self, V):
        time.sleep(0.05)
        return product(self, V)

    monkeypatch.setattr(StreamedGram, "product", slow)
    model = KernelRidge(
        Exponential(0.5), 1e-4, solver="cg", time_limit=0.6, memory="1MB", random_state=0
    )
    with pytest.warns(ConvergenceWarning, match=r"the time limit of 0\.6 s was up"):
        model.fit(X, y)
    assert model.solution_.iterations >= 1
    r = model.predict(X) + 1e-4 * model.dual_coef_ - y
    assert_allclose(
        model.certificate_.value, np.linalg.norm(r) / np.linalg.norm(y - y.mean()), rtol=1e-6
    )


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_ctrl_c_returns_the_best_model_and_warns(X, y, monkeypatch):
    products = []
    product = StreamedGram.product

    def interrupted(self, V):
        products.append(V)
        if len(products) == 4:
            os.kill(os.getpid(), signal.SIGINT)
        return product(self, V)

    monkeypatch.setattr(StreamedGram, "product", interrupted)
    model = KernelRidge(Exponential(0.5), 1e-4, solver="cg", memory="1MB", random_state=0)
    # A process started in the background may have been told to ignore Ctrl-C.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.warns(ConvergenceWarning, match="Ctrl-C ended the iteration"):
            model.fit(X, y)
    finally:
        signal.signal(signal.SIGINT, before)
    assert model.solution_.iterations == 3
    assert np.isfinite(model.predict(X)).all()


def test_an_indefinite_kernel_is_refused_with_its_witness(X, y):
    kernel = Sigmoid(1.0, -2.0)
    with pytest.raises(IndefiniteKernelError, match=r"sigmoid.*not positive semi-def") as refusal:
        KernelRidge(kernel, 1e-3, solver="cg", random_state=0).fit(X, y)
    witness = refusal.value.witness
    c = witness.coefficients
    assert_allclose(c @ kernel(witness.points) @ c, witness.value, rtol=1e-10)
    assert witness.value < -witness.rounding_bound


class Recorder:
    """A callback that counts, and stops after some steps if told to."""

    def __init__(self, stop_after=None):
        self.stop_after = stop_after
        self.calls = []

    def setup(self, estimator, context):
        self.calls.append("setup")

    def on_fit_task_begin(self, estimator, context):
        self.calls.append(f"begin {context.task_name}")

    def on_fit_task_end(self, estimator, context):
        self.calls.append(f"end {context.task_name}")
        return self.calls.count("end iteration") == self.stop_after

    def teardown(self, estimator, context):
        self.calls.append("teardown")


callbacks = pytest.mark.skipif(
    not hasattr(KernelRidge, "set_callbacks"), reason="scikit-learn before 1.9 has no callbacks"
)


@callbacks
def test_callbacks_see_every_step(X, y):
    recorder = Recorder()
    model = KernelRidge(solver="cg", random_state=0).set_callbacks(recorder).fit(X, y)
    steps = ["begin iteration", "end iteration"] * model.solution_.iterations
    assert recorder.calls == ["setup", "begin fit", *steps, "end fit", "teardown"]


@callbacks
def test_callbacks_see_the_exact_solver_as_one_step(X, y):
    recorder = Recorder()
    KernelRidge().set_callbacks(recorder).fit(X, y)
    assert recorder.calls == ["setup", "begin fit", "end fit", "teardown"]


@callbacks
def test_a_callback_may_stop_the_iteration(X, y):
    model = KernelRidge(Exponential(0.5), 1e-3, solver="cg", random_state=0)
    model.set_callbacks(Recorder(2))
    with pytest.warns(ConvergenceWarning, match="a callback ended the iteration"):
        model.fit(X, y)
    assert model.solution_.iterations == 2


@callbacks
def test_a_progress_bar_is_shown_if_it_was_set(X, y, capsys):
    from sklearn.callback import ProgressBar

    KernelRidge(solver="cg").set_callbacks(ProgressBar()).fit(X, y)
    assert "KernelRidge - fit" in capsys.readouterr().out
    KernelRidge(solver="cg").fit(X, y)
    assert capsys.readouterr().out == ""


@callbacks
def test_an_estimator_without_callbacks_just_runs(X, y, monkeypatch):
    monkeypatch.delattr(CallbackSupportMixin, "_init_callback_context")
    assert KernelRidge().fit(X, y).n_iter_ == 1
