"""KernelLogisticRegression: its optimum, its certificate, its limits and its hard cases."""

import os
import signal
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

from mercer.errors import ConvergenceWarning, IndefiniteKernelError, MemoryLimitError
from mercer.estimators import KernelLogisticRegression
from mercer.gram import StreamedGram
from mercer.kernels import Gaussian, Linear, Sigmoid
from mercer.solvers import NewtonCG
from refusals import refuses

N = 80
SOLVERS = ["newton", "cg"]


@pytest.fixture
def X(rng):
    return rng.normal(size=(N, 3))


@pytest.fixture
def weights(rng):
    return rng.uniform(0.0, 2.0, size=N)


def classes(X, rng, m):
    noisy = X[:, 0] + 0.5 * rng.normal(size=len(X))
    return np.digitize(noisy, np.quantile(noisy, np.arange(1, m) / m))


def model_of(*args, **options):
    return KernelLogisticRegression(*args, random_state=0, **options)


def objective(model, X, y, weights):
    """C sum w loss + 1/2 ||f||^2, from the definition."""
    codes = np.searchsorted(model.classes_, y)
    chances = model.predict_log_proba(X)[np.arange(len(y)), codes]
    a = model.dual_coef_.T
    return -model.C * weights @ chances + 0.5 * np.sum(a * (model.kernel_(X) @ a))


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("m", [2, 4])
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
def test_a_linear_kernel_gives_the_model_of_scikit_learn(
    X, rng, weights, solver, fit_intercept, m, C
):
    y = classes(X, rng, m)
    peer = LogisticRegression(C=C, fit_intercept=fit_intercept, tol=1e-10, max_iter=10_000)
    peer.fit(X, y, weights)
    model = model_of(Linear(), C, fit_intercept=fit_intercept, solver=solver, tol=1e-11)
    model.fit(X, y, weights)
    assert_allclose(model.predict_log_proba(X), peer.predict_log_proba(X), atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("m", [2, 3])
def test_it_is_the_minimum_that_a_general_optimiser_finds(X, rng, weights, fit_intercept, m):
    X, weights = X[:30], weights[:30]
    y = classes(X, rng, m)
    K = Gaussian(1.0)(X)
    columns = 1 if m == 2 else m
    T = np.eye(m)[y]

    def value(v):
        a, b = v[: 30 * columns].reshape(30, columns), v[30 * columns :]
        F = K @ a + (b if fit_intercept else 0.0)
        F = np.hstack([np.zeros((30, 1)), F]) if m == 2 else F
        losses = np.log(np.exp(F).sum(axis=1)) - (T * F).sum(axis=1)
        return 5.0 * weights @ losses + 0.5 * np.sum(a * (K @ a))

    found = minimize(value, np.zeros(31 * columns), method="BFGS", options={"maxiter": 2000})
    model = model_of(Gaussian(1.0), 5.0, fit_intercept=fit_intercept, tol=1e-10)
    model.fit(X, y, weights)
    assert_allclose(objective(model, X, y, weights), found.fun, rtol=1e-6)
    assert objective(model, X, y, weights) <= found.fun * (1.0 + 1e-9)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("m", [2, 3])
def test_the_certificate_bounds_the_distance_from_the_optimum(X, rng, solver, m):
    y = classes(X, rng, m)
    exact = model_of(Gaussian(1.0), 10.0, solver="newton", tol=1e-13).fit(X, y)
    best = objective(exact, X, y, np.ones(N))
    for tol in (0.3, 1e-2, 1e-4):
        model = model_of(Gaussian(1.0), 10.0, solver=solver, tol=tol).fit(X, y)
        assert model.certificate_.satisfied
        gap = model.certificate_.value * objective(model, X, y, np.ones(N))
        assert objective(model, X, y, np.ones(N)) - best <= gap * (1.0 + 1e-9) + 1e-9
        f, g = (v.decision_function(X) - v.intercept_ for v in (model, exact))
        bound = model.certificate_.bound(X)
        assert (np.abs(f - g).reshape(N, -1) <= bound[:, None] + 1e-6).all()


@pytest.mark.parametrize("m", [2, 3])
def test_both_solvers_find_the_same_model(rng, m):
    X = rng.normal(size=(400, 2))
    y = classes(X, rng, m)
    models = [model_of(Gaussian(0.7), 20.0, solver=s, tol=1e-10).fit(X, y) for s in SOLVERS]
    assert_allclose(*(model.predict_proba(X) for model in models), atol=1e-5)


def test_a_matrix_beyond_the_limit_is_streamed(rng, monkeypatch):
    X = rng.normal(size=(600, 2))
    y = X[:, 0] > 0.3
    expected = model_of(solver="newton").fit(X, y).predict_proba(X)
    monkeypatch.setattr(StreamedGram, "dense", None)
    monkeypatch.setattr(StreamedGram, "lower", None)
    model = model_of(solver="cg", memory="1MB").fit(X, y)
    assert_allclose(model.predict_proba(X), expected, atol=2e-3)
    refuses("needs", model_of(solver="newton", memory="1MB").fit, X, y, error=MemoryLimitError)


@pytest.mark.parametrize("m", [2, 3])
def test_predict_is_the_most_probable_class(X, rng, m):
    model = model_of(C=100.0).fit(X, classes(X, rng, m))
    new = 2.0 * rng.normal(size=(500, 3))
    P = model.predict_proba(new)
    assert_array_equal(model.predict(new), model.classes_[P.argmax(axis=1)])
    assert_allclose(P.sum(axis=1), 1.0)


@pytest.mark.parametrize("m", [2, 3])
def test_logarithms_of_tiny_probabilities_are_accurate(X, rng, m):
    model = model_of(Linear(), 1e4, solver="newton").fit(X, classes(X, rng, m))
    far = 1e4 * X
    F = model.decision_function(far)
    F = np.column_stack([np.zeros(N), F]) if m == 2 else F
    top = F.max(axis=1, keepdims=True)
    logs = model.predict_log_proba(far)
    assert logs.min() < -1000.0
    assert np.isfinite(logs).all()
    assert_allclose(logs, F - top - np.log(np.exp(F - top).sum(axis=1, keepdims=True)), rtol=1e-9)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("m", [2, 3])
def test_whole_weights_are_repetitions_and_zero_is_absence(X, rng, solver, m):
    y = classes(X, rng, m)
    w = rng.integers(0, 4, size=N)
    settings = dict(solver=solver, tol=1e-14)
    weighted = model_of(Gaussian(1.0), **settings).fit(X, y, w)
    repeated = model_of(Gaussian(1.0), **settings).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-6)
    assert not weighted.dual_coef_[:, w == 0].any()


@pytest.mark.parametrize("size", [2.0**-900, 2.0**900])
@pytest.mark.parametrize("solver", [*SOLVERS, "sgd", "nystrom"])
@pytest.mark.parametrize("m", [2, 3])
def test_only_C_times_the_weights_counts_however_large_they_are(X, rng, weights, solver, m, size):
    y = classes(X, rng, m)
    plain = model_of(Gaussian(1.0), solver=solver).fit(X, y, weights)
    model = model_of(Gaussian(1.0), 1.0 / size, solver=solver).fit(X, y, size * weights)
    assert model.certificate_.satisfied
    assert_allclose(model.decision_function(X), plain.decision_function(X), atol=1e-2)


@pytest.mark.parametrize("m", [2, 3])
def test_a_large_finite_matrix_that_rounding_spoils_is_not_called_infinite(rng, m):
    X = rng.integers(-8, 8, size=(40, 3)) / 8.0
    with pytest.warns(ConvergenceWarning, match="rounding allows no further one"):
        model_of("linear", solver="newton").fit(X + 2.0**26, np.arange(40) % m)


def test_class_weights_multiply_the_weights(X, rng, weights):
    y = classes(X, rng, 2)
    model = model_of(class_weight={0: 1.0, 1: 3.0}).fit(X, y, weights)
    by_hand = model_of().fit(X, y, weights * np.where(y == 1, 3.0, 1.0))
    assert_allclose(model.predict_proba(X), by_hand.predict_proba(X), rtol=1e-10)


def test_a_class_without_weight_is_absent(X, rng):
    y = classes(X, rng, 3)
    model = model_of(class_weight={0: 1.0, 1: 0.0, 2: 1.0}).fit(X, y)
    assert model.classes_.tolist() == [0, 2]
    refuses(
        "needs at least two classes of positive weight, got [2]",
        model_of(class_weight={0: 0.0, 1: 0.0, 2: 1.0}).fit,
        X,
        y,
    )


def test_scores_and_offsets_of_several_classes_sum_to_zero(X, rng):
    model = model_of(C=10.0).fit(X, classes(X, rng, 4))
    assert_allclose(model.dual_coef_.sum(axis=0), 0.0, atol=1e-10)
    assert_allclose(model.intercept_.sum(), 0.0, atol=1e-10)


def test_a_path_has_the_models_of_single_fits_in_the_order_given(X, rng):
    y = classes(X, rng, 2)
    base = model_of(Gaussian(1.0), solver="cg", tol=1e-10)
    Cs = [10.0, 0.1, 1000.0, 10.0]
    models = base.path(X, y, Cs)
    assert [model.C for model in models] == Cs
    assert not hasattr(base, "dual_coef_")
    for C, model in zip(Cs, models, strict=True):
        single = model_of(Gaussian(1.0), C, tol=1e-10).fit(X, y)
        assert_allclose(model.predict_proba(X), single.predict_proba(X), atol=1e-5)
    refuses("Cs must hold at least one C", base.path, X, y, [])


def test_a_warm_start_takes_fewer_steps(X, rng):
    y = classes(X, rng, 2)
    model = model_of(C=10.0, warm_start=True).fit(X, y)
    first = model.n_iter_
    assert model.set_params(C=10.5).fit(X, y).n_iter_ < first
    cold = model_of(C=10.5, tol=1e-12).fit(X, y)
    assert_allclose(model.predict_proba(X), cold.predict_proba(X), atol=1e-3)


HARD = {
    "separable": lambda X: (X, X[:, 0] > 0.0),
    "opposite duplicates": lambda X: (np.vstack([X, X]), np.repeat([0, 1], len(X))),
    "imbalanced": lambda X: (X, np.arange(len(X)) == 7),
    "equal rows": lambda X: (np.ones_like(X), X[:, 0] > 0.0),
    "three separable classes": lambda X: (X, np.digitize(X[:, 0], [-0.5, 0.5])),
}


@pytest.mark.parametrize("C", [1e-8, 1.0, 1e10])
@pytest.mark.parametrize("case", HARD)
def test_hard_cases_are_solved(X, case, C):
    X, y = HARD[case](X)
    model = model_of(Gaussian(1.0), C).fit(X, y)
    assert model.certificate_.satisfied
    P = model.predict_proba(X)
    assert np.isfinite(P).all()
    if case in ("opposite duplicates", "equal rows"):
        assert_allclose(P[:, 1], np.mean(y), atol=1e-3)


@pytest.mark.parametrize("C", [1.0, 1e10])
def test_curvatures_that_underflow_do_no_harm(X, C):
    y = X[:, 0] > 0.0
    far = Linear() * 1e6
    model = model_of(far, C, solver="newton").fit(X, y)
    assert model.certificate_.satisfied
    assert model.score(X, y) == 1.0


def test_one_class_is_refused(X):
    refuses("needs at least two classes, got 1 class", model_of().fit, X, ["a"] * N)


@pytest.mark.parametrize("C", [0.0, -1.0, np.inf, np.nan, "1", True])
def test_a_bad_C_is_refused(X, C):
    refuses("C must be a positive finite number", model_of(C=C).fit, X, np.arange(N) % 2)


def test_an_unknown_solver_is_refused(X):
    refuses(
        "solver must be one of 'auto', 'cg', 'newton'", model_of(solver="qr").fit, X, X[:, 0] > 0
    )


@pytest.mark.parametrize("solver", SOLVERS)
def test_an_indefinite_kernel_is_refused_with_its_witness_unless_repaired(rng, solver):
    X = rng.normal(size=(150, 3))
    y = X[:, 0] * X[:, 1] > 0.0
    kernel = Sigmoid(1.0, -2.0)
    with pytest.raises(IndefiniteKernelError, match=r"sigmoid.*not positive semi-def") as refusal:
        model_of(kernel, 1e3, solver=solver).fit(X, y)
    witness = refusal.value.witness
    c = witness.coefficients
    assert_allclose(c @ kernel(witness.points) @ c, witness.value, rtol=1e-8)
    model = model_of(kernel, 1e3, solver=solver, repair="clip").fit(X, y)
    assert model.certificate_.satisfied
    refuses("use cross-validation", lambda: model.leave_one_out_proba_)


def test_steps_beyond_the_limit_are_said(X, rng):
    with pytest.warns(ConvergenceWarning, match=r"after 1 Newton steps raise max_iter \(now 1\)"):
        model = model_of(C=100.0, max_iter=1).fit(X, classes(X, rng, 2))
    assert model.n_iter_ == 1
    assert not model.certificate_.satisfied


def test_the_time_limit_returns_a_model_and_warns(X, rng):
    with pytest.warns(ConvergenceWarning, match=r"the time limit of 1e-06 s was up"):
        model = model_of(C=1000.0, time_limit=1e-6).fit(X, classes(X, rng, 2))
    assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_ctrl_c_returns_the_best_model_and_warns(rng, monkeypatch):
    X = rng.normal(size=(600, 2))
    y = X[:, 0] > rng.normal(size=600)
    products = []
    product = StreamedGram.product

    def interrupted(self, V):
        products.append(V)
        if len(products) == 6:
            os.kill(os.getpid(), signal.SIGINT)
        return product(self, V)

    monkeypatch.setattr(StreamedGram, "product", interrupted)
    # A process started in the background may have been told to ignore Ctrl-C.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.warns(ConvergenceWarning, match="Ctrl-C ended the iteration"):
            model = model_of(Gaussian(2.0), solver="cg", memory="1MB").fit(X, y)
    finally:
        signal.signal(signal.SIGINT, before)
    assert 1 <= model.n_iter_ < 6
    assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.skipif(
    not hasattr(KernelLogisticRegression, "set_callbacks"), reason="scikit-learn before 1.9"
)
def test_a_callback_sees_every_step_and_may_stop(X, rng):
    class Stopper:
        steps = 0

        def setup(self, estimator, context):
            pass

        def on_fit_task_begin(self, estimator, context):
            pass

        def on_fit_task_end(self, estimator, context):
            self.steps += context.task_name == "iteration"
            return self.steps == 2

        def teardown(self, estimator, context):
            pass

    with pytest.warns(ConvergenceWarning, match="a callback ended the iteration"):
        model = model_of(C=100.0).set_callbacks(Stopper()).fit(X, classes(X, rng, 2))
    assert model.n_iter_ == 2


def test_equal_seeds_give_equal_bits_and_threads_do_not_matter(rng, monkeypatch):
    X = rng.normal(size=(700, 2))
    y = X[:, 0] > rng.normal(size=700)
    first = KernelLogisticRegression(C=10.0, random_state=3).fit(X, y).dual_coef_
    monkeypatch.setenv("MERCER_THREADS", "1")
    second = KernelLogisticRegression(C=10.0, random_state=3).fit(X, y).dual_coef_
    assert_array_equal(first, second)


def test_a_solver_object_keeps_its_settings(X, rng):
    model = model_of(solver=NewtonCG(rank=7), tol=1e-3).fit(X, classes(X, rng, 2))
    assert model.solver_.rank == 7
    assert model.solver_.tol == 1e-3


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("m", [2, 3])
def test_left_out_scores_are_close_to_those_of_repeated_fits(X, rng, weights, fit_intercept, m):
    y = classes(X, rng, m)
    settings = dict(C=2.0, fit_intercept=fit_intercept, tol=1e-12)
    model = model_of(Gaussian(1.5), **settings).fit(X, y, weights)
    exact = np.empty(model.decision_function(X).shape)
    for i in range(N):
        rest = np.arange(N) != i
        again = model_of(Gaussian(1.5), **settings).fit(X[rest], y[rest], weights[rest])
        exact[i] = again.decision_function(X[i : i + 1])[0]
    error = np.abs(model.leave_one_out_decision_ - exact)
    plain = np.abs(model.decision_function(X) - exact)
    # One Newton step leaves a tenth of what leaving out changes, on average much less.
    assert error.max() < 0.1 * plain.max()
    assert error.mean() < 0.05 * plain.mean()
    assert_allclose(model.leave_one_out_proba_.sum(axis=1), 1.0)


def test_rows_of_zero_weight_have_plain_scores_when_left_out(X, rng):
    w = np.ones(N)
    w[:5] = 0.0
    model = model_of().fit(X, classes(X, rng, 2), w)
    assert_allclose(model.leave_one_out_decision_[:5], model.decision_function(X)[:5])


def test_a_tolerance_below_rounding_is_reached_where_only_rounding_is_left(rng):
    X = rng.normal(size=(40, 2))
    y = X[:, 0] + 0.5 * rng.normal(size=40) > 0
    model = KernelLogisticRegression(Gaussian(1.0), tol=1e-300).fit(X, y)
    assert model.certificate_.satisfied
    assert model.certificate_.value < 1e-15


def test_the_gap_that_is_asked_by_default_bounds_f_where_that_of_a_margin_does_not(rng):
    X = rng.normal(size=(200, 3))
    y = X[:, 0] + X[:, 1] ** 2 + 0.5 * rng.normal(size=200) > 1.0
    model, coarse = (KernelLogisticRegression(Gaussian(1.0), 10.0, tol=t) for t in (None, 1e-3))
    assert model.fit(X, y).certificate_.tolerance == 1e-5
    exact = KernelLogisticRegression(Gaussian(1.0), 10.0, tol=1e-10).fit(X, y).decision_function(X)
    assert np.abs(model.decision_function(X) - exact).max() < 0.1
    assert np.median(model.certificate_.bound(X)) < 0.1
    assert model.n_iter_ <= coarse.fit(X, y).n_iter_ + 2
