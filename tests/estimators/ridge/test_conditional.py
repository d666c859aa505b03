"""Kernel ridge regression with kernels that are valid on coefficients of sum zero only."""

import pickle
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import null_space
from sklearn import kernel_ridge

from mercer import AdditiveChi2, Gaussian, KernelRidge, Linear, Precomputed, Sigmoid
from mercer.errors import (
    ConditionalKernelWarning,
    ConvergenceWarning,
    IndefiniteKernelError,
    MemoryLimitError,
)
from mercer.kernels import from_sklearn, recentred
from mercer.solvers import ConjugateGradient
from refits import growth_of, jackknife_plus
from witnesses import recheck

# Sums with valid kernels, multiples, on columns and after maps.
KERNELS = [
    AdditiveChi2(),
    0.5 * AdditiveChi2() + Gaussian(1.0),
    AdditiveChi2().on(0, 2) + Linear().on(1),
    3.0 * AdditiveChi2().after(np.sqrt),
]

without_offset = pytest.mark.filterwarnings("ignore::mercer.errors.ConditionalKernelWarning")


def histograms(rng, n=40, d=3, targets=None):
    X = rng.uniform(size=(n, d))
    X[rng.uniform(size=(n, d)) < 0.2] = 0.0
    noise = rng.normal(size=(n,) if targets is None else (n, targets))
    return X, np.sin(4.0 * X[:, 0] if targets is None else 4.0 * X[:, :1]) + 0.3 * noise + 2.0


def bordered(K, y, alpha, weights):
    """The coefficients and the offset by the whole system, with numpy."""
    n = len(K)
    system = np.block([[K + np.diag(alpha / weights), np.ones((n, 1))], [np.ones(n), 0.0]])
    answer = np.linalg.solve(system, np.append(y, 0.0))
    return answer[:-1], answer[-1]


@without_offset
@pytest.mark.filterwarnings("ignore:Singular matrix in solving dual problem")
@pytest.mark.parametrize("solver", ["auto", "cholesky", "eigen"])
@pytest.mark.parametrize("alpha", [0.01, 1.0, 20.0, 300.0])
@pytest.mark.parametrize("n", [1, 2, 7, 150])
def test_without_offset_it_is_scikit_learns_kernel_ridge(rng, n, alpha, solver):
    X, y = histograms(rng, n, 4, targets=2)
    weights = rng.uniform(0.2, 3.0, n)
    peer = kernel_ridge.KernelRidge(alpha=alpha, kernel="additive_chi2").fit(X, y, weights)
    kernel = from_sklearn("additive_chi2")
    model = KernelRidge(kernel, alpha, fit_intercept=False, solver=solver).fit(X, y, weights)
    new = rng.uniform(size=(5, 4))
    assert_allclose(model.dual_coef_, peer.dual_coef_, rtol=1e-8, atol=1e-8)
    assert_allclose(model.predict(new), peer.predict(new), rtol=1e-8, atol=1e-8)


@without_offset
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_without_offset_it_solves_the_indefinite_system(rng, kernel):
    X, y = histograms(rng)
    K = kernel(X)
    assert np.linalg.eigvalsh(K + 0.1 * np.eye(40))[0] < -0.1
    model = KernelRidge(kernel, 0.1, fit_intercept=False).fit(X, y)
    assert_allclose(model.dual_coef_, np.linalg.solve(K + 0.1 * np.eye(40), y), rtol=1e-8)
    assert model.certificate_.method == "symmetric factor in float64"


def test_without_offset_it_warns_once_and_says_what_to_do(rng):
    X, y = histograms(rng)
    with pytest.warns(ConditionalKernelWarning, match="use fit_intercept=True") as caught:
        KernelRidge(AdditiveChi2(), fit_intercept=False).fit(X, y)
    assert len(caught) == 1
    assert caught[0].filename == __file__


@pytest.mark.parametrize("solver", ["auto", "cholesky", "eigen", "cg"])
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_with_offset_every_solver_solves_the_bordered_system(rng, kernel, solver):
    X, y = histograms(rng)
    weights = rng.uniform(0.2, 3.0, 40)
    a, b = bordered(kernel(X), y, 0.1, weights)
    model = KernelRidge(kernel, 0.1, solver=solver, tol=1e-11, random_state=0).fit(X, y, weights)
    new = rng.uniform(size=(9, 3))
    assert_allclose(model.dual_coef_, a, rtol=1e-8, atol=1e-8)
    assert_allclose(model.predict(new), kernel(new, X) @ a + b, rtol=1e-8)


def test_with_offset_the_kernel_is_seen_from_one_of_the_rows(rng):
    X, y = histograms(rng)
    model = KernelRidge(AdditiveChi2()).fit(X, y)
    K = model.kernel_(X)
    assert list(model.kernel_.origin) in X.tolist()
    assert np.linalg.eigvalsh(K)[0] > -1e-12
    assert_allclose(model.predict(X), K @ model.dual_coef_ + model.intercept_, rtol=1e-10)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_the_order_of_the_rows_does_not_move_the_origin(rng, kernel):
    X, y = histograms(rng)
    order, copies = rng.permutation(40), rng.integers(1, 4, 40)
    model = KernelRidge(kernel, 0.1).fit(X, y, copies)
    again = KernelRidge(kernel, 0.1).fit(X[order], y[order], copies[order])
    repeated = KernelRidge(kernel, 0.1).fit(np.repeat(X, copies, 0), np.repeat(y, copies))
    assert model.kernel_ == again.kernel_ == repeated.kernel_
    assert_allclose(again.predict(X), model.predict(X), rtol=1e-10)
    assert_allclose(repeated.predict(X), model.predict(X), rtol=1e-10)


def test_rows_far_from_zero_lose_no_more_digits_than_their_differences_do(rng):
    # 1e4 + noise: k(x, z) is near 1e-4, and would drown beside an origin at zero.
    X, y = histograms(rng)
    a, b = bordered(AdditiveChi2()(1e4 + X), y, 1e-5, np.ones(40))
    model = KernelRidge(AdditiveChi2(), 1e-5).fit(1e4 + X, y)
    new = 1e4 + rng.uniform(size=(9, 3))
    assert_allclose(model.predict(new), AdditiveChi2()(new, 1e4 + X) @ a + b, rtol=1e-7)


def test_several_targets_have_their_own_alpha(rng):
    X, y = histograms(rng, targets=3)
    model = KernelRidge(AdditiveChi2(), [0.1, 10.0, 0.1]).fit(X, y)
    for t, alpha in enumerate([0.1, 10.0, 0.1]):
        a, b = bordered(AdditiveChi2()(X), y[:, t], alpha, np.ones(40))
        assert_allclose(model.dual_coef_[:, t], a, rtol=1e-8, atol=1e-9)
        assert_allclose(model.predict(X)[:, t], AdditiveChi2()(X) @ a + b, rtol=1e-9)


def test_with_offset_a_ridge_that_makes_the_matrix_singular_is_like_any_other(rng):
    X, y = histograms(rng)
    K = AdditiveChi2()(X)
    alpha = -np.linalg.eigvalsh(K)[0]
    a, b = bordered(K, y, alpha, np.ones(40))
    model = KernelRidge(AdditiveChi2(), alpha).fit(X, y)
    assert_allclose(model.dual_coef_, a, rtol=1e-9, atol=1e-12)
    assert_allclose(model.predict(X), K @ a + b, rtol=1e-12)


def test_with_offset_no_ridge_interpolates(rng):
    X, y = histograms(rng, n=15)
    model = KernelRidge(AdditiveChi2(), 0.0).fit(X + 0.1, y)
    assert_allclose(model.predict(X + 0.1), y, rtol=1e-8)


def test_rows_of_zero_weight_are_dropped(rng):
    X, y = histograms(rng)
    weights = rng.uniform(0.5, 2.0, 40)
    weights[5:9] = 0.0
    model = KernelRidge(AdditiveChi2()).fit(X, y, weights)
    rest = KernelRidge(AdditiveChi2()).fit(X[weights > 0], y[weights > 0], weights[weights > 0])
    new = rng.uniform(size=(6, 3))
    assert_allclose(model.predict(new), rest.predict(new), rtol=1e-12)
    spread = [m.predict(new, return_std=True)[1] for m in (model, rest)]
    assert_allclose(*spread, rtol=1e-10)


def test_rows_in_float32_are_fitted(rng):
    X, y = histograms(rng)
    exact = KernelRidge(AdditiveChi2(), 0.1).fit(X, y)
    model = KernelRidge(AdditiveChi2(), 0.1).fit(X.astype(np.float32), y)
    assert_allclose(model.predict(X.astype(np.float32)), exact.predict(X), rtol=1e-4)


@pytest.mark.parametrize("solver", ["cholesky", "eigen"])
@pytest.mark.parametrize("targets", [None, 2])
def test_with_offset_the_certificate_bounds_f(rng, solver, targets):
    X, y = histograms(rng, targets=targets)
    certificate = KernelRidge(AdditiveChi2(), solver=solver).fit(X, y).certificate_
    assert certificate.satisfied
    assert (certificate.bound(X) > 0.0).all()
    assert (certificate.bound(X) < 1e-10).all()


def test_with_offset_the_bound_of_a_fit_cut_short_holds(rng):
    X, y = histograms(rng, 200)
    exact = KernelRidge(AdditiveChi2(), 1e-3).fit(X, y)
    short = KernelRidge(AdditiveChi2(), 1e-3, solver=ConjugateGradient(rank=2, max_iter=9))
    with pytest.warns(ConvergenceWarning):
        short.fit(X, y)
    new = rng.uniform(size=(50, 3))
    f, g = (m.predict(new) - m.intercept_ for m in (exact, short))
    assert np.abs(f - g).max() > 1e-6
    assert (np.abs(f - g) <= short.certificate_.bound(new)).all()


@without_offset
@pytest.mark.parametrize("solver", ["cholesky", "eigen"])
def test_without_offset_the_certificate_bounds_nothing(rng, solver):
    # K has a negative eigenvalue, and the answer is no minimum that could be near.
    X, y = histograms(rng)
    model = KernelRidge(AdditiveChi2(), solver=solver, fit_intercept=False).fit(X, y)
    assert model.certificate_.satisfied
    assert np.isinf(model.certificate_.bound(X)).all()
    assert str(model.certificate_).endswith("no bound")


# In closed form


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_leave_one_out_predictions_equal_refits(rng, kernel, weighted):
    X, y = histograms(rng)
    weights = rng.uniform(0.2, 3.0, 40) if weighted else np.ones(40)
    slow = []
    for i in range(40):
        rest = np.arange(40) != i
        a, b = bordered(kernel(X[rest]), y[rest], 0.3, weights[rest])
        slow.append((kernel(X[i : i + 1], X[rest]) @ a)[0] + b)
    model = KernelRidge(kernel, 0.3).fit(X, y, weights)
    assert_allclose(model.leave_one_out_predictions_, slow, rtol=1e-8)


def test_intervals_equal_the_jackknife_plus_of_refits(rng):
    X, y = histograms(rng, n=25)
    new, told = rng.uniform(size=(6, 3)), []
    for i in range(25):
        rest = np.arange(25) != i
        other = KernelRidge(AdditiveChi2(), 0.3).fit(X[rest], y[rest])
        told.append(other.predict(np.vstack([X[i], new]), return_std=True))
    model = KernelRidge(AdditiveChi2(), 0.3).fit(X, y)
    found, factor = model.predict_interval(new, coverage=0.8), growth_of(model.kernel_, X, y, 0.3)
    # Ranks floor(0.2 * 26) = 5 and ceil(0.8 * 26) = 21.
    assert_allclose(found, jackknife_plus(told, y, 0.3, (5, 21), factor), rtol=1e-8)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_deviations_are_those_of_contrasts(rng, kernel):
    # The variance of f(x) minus the best combination of the targets with weights of sum one, which
    # no constant moves: all that a kernel of contrasts knows.
    X, y = histograms(rng)
    new, weights = rng.uniform(size=(7, 3)), rng.uniform(0.2, 3.0, 40)
    K, k, prior = kernel(X) + np.diag(0.3 / weights), kernel(X, new), kernel.diagonal(new)
    Q = null_space(np.ones((1, 40)))
    expected = []
    for x, own in zip(k.T, prior, strict=True):
        # h = 1/n + Q z, and the variance own - 2 h'x + h'K h is least over z.
        start = np.full(40, 1.0 / 40)
        h = start + Q @ np.linalg.solve(Q.T @ K @ Q, Q.T @ (x - K @ start))
        expected.append(np.sqrt(own - 2.0 * h @ x + h @ K @ h))
    model = KernelRidge(kernel, 0.3).fit(X, y, weights)
    assert_allclose(model.predict(new, return_std=True)[1], expected, rtol=1e-8)


@without_offset
@pytest.mark.parametrize(
    "ask",
    [
        lambda m, X: m.leave_one_out_predictions_,
        lambda m, X: m.predict_interval(X),
        lambda m, X: m.predict(X, return_std=True),
    ],
)
def test_without_offset_closed_forms_are_refused(rng, ask):
    X, y = histograms(rng)
    model = KernelRidge(AdditiveChi2(), fit_intercept=False).fit(X, y)
    with pytest.raises(ValueError, match=r"closed form; use fit_intercept=True$"):
        ask(model, X)


def test_a_model_survives_pickling(rng):
    X, y = histograms(rng)
    model = KernelRidge(AdditiveChi2()).fit(X, y)
    copy = pickle.loads(pickle.dumps(model))
    before, after = (m.predict(X[:5], return_std=True)[1] for m in (model, copy))
    assert_allclose(after, before, rtol=1e-12)


# What is chosen, and refused


def test_conjugate_gradients_stand_in_where_the_factor_does_not_fit(rng):
    X, y = histograms(rng, n=300)
    model = KernelRidge(AdditiveChi2(), memory="400KB", random_state=0)
    assert model.plan(X).solver == "cg"
    held = KernelRidge(AdditiveChi2()).fit(X, y)
    assert_allclose(model.fit(X, y).predict(X), held.predict(X), rtol=1e-5)
    assert model.certificate_.method == "cg"


def test_without_offset_only_a_factor_is_planned(rng):
    X, y = histograms(rng, n=300)
    plan = KernelRidge(AdditiveChi2(), fit_intercept=False).plan(X)
    assert plan.solver == "cholesky"
    assert [other.solver for other in plan.alternatives] == ["eigen"]
    small = KernelRidge(AdditiveChi2(), fit_intercept=False, memory="400KB")
    with pytest.raises(MemoryLimitError):
        small.plan(X)
    with pytest.raises(MemoryLimitError):
        small.fit(X, y)


def test_a_repair_lets_conjugate_gradients_be_planned_as_they_are_fitted(rng):
    X, y = histograms(rng)
    model = KernelRidge(AdditiveChi2(), fit_intercept=False, repair="flip", solver="cg")
    assert model.plan(X).solver == "cg"
    assert model.fit(X, y).certificate_.satisfied


@pytest.mark.parametrize("solver", ["auto", "cholesky", "eigen"])
def test_one_row_without_ridge_is_met_by_the_offset(solver):
    model = KernelRidge(AdditiveChi2(), 0.0, solver=solver).fit(np.ones((1, 2)), [3.0])
    assert_allclose(model.predict([[0.5, 0.2]]), 3.0)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("solver", ["cholesky", "eigen"])
def test_entries_that_overflow_are_refused_without_warnings(solver, fit_intercept):
    X = np.array([[1.7e308, 1.0], [0.0, 1.7e308], [1.0, 2.0]])
    with pytest.raises(ValueError, match="not finite"):
        KernelRidge(AdditiveChi2(), solver=solver, fit_intercept=fit_intercept).fit(X, [0, 1, 2.0])


def test_without_offset_conjugate_gradients_are_refused(rng):
    X, y = histograms(rng)
    with pytest.raises(ValueError, match=r"solver='cg' needs a positive.*use fit_intercept=True"):
        KernelRidge(AdditiveChi2(), fit_intercept=False, solver="cg").fit(X, y)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("kernel", [Sigmoid(), Sigmoid() + AdditiveChi2()], ids=str)
def test_other_indefinite_kernels_are_refused_with_their_witness(rng, kernel, fit_intercept):
    X, y = histograms(rng)
    with pytest.raises(IndefiniteKernelError) as refusal:
        KernelRidge(kernel, 1e-3, fit_intercept=fit_intercept).fit(X, y)
    assert recheck(kernel, refusal.value.witness)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_same_matrix_without_its_kernel_is_refused(rng, fit_intercept):
    X, y = histograms(rng)
    with pytest.raises(IndefiniteKernelError):
        KernelRidge(Precomputed(), fit_intercept=fit_intercept).fit(AdditiveChi2()(X), y)


class Pretender(Sigmoid):
    """A kernel that says of itself what does not hold."""

    @property
    def is_conditional(self):
        return True


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("solver", ["cholesky", "eigen"])
def test_a_kernel_that_only_claims_to_be_conditional_is_refused(rng, fit_intercept, solver):
    X, y = histograms(rng)
    kernel = Pretender(3.0, -1.0)
    with pytest.raises(IndefiniteKernelError) as refusal:
        KernelRidge(kernel, 1e-3, fit_intercept=fit_intercept, solver=solver).fit(X, y)
    assert recheck(recentred(kernel, X) if fit_intercept else kernel, refusal.value.witness)


def test_a_repair_goes_before_and_needs_no_warning(rng):
    X, y = histograms(rng)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = KernelRidge(AdditiveChi2(), fit_intercept=False, repair="flip").fit(X, y)
    s, U = np.linalg.eigh(AdditiveChi2()(X))
    K = (U * np.abs(s)) @ U.T
    assert_allclose(model.predict(X), K @ np.linalg.solve(K + np.eye(40), y), rtol=1e-8)


def test_a_ridge_below_rounding_is_refused(rng):
    X, y = histograms(rng)
    X[20:] = X[:20]
    with pytest.raises(ValueError, match="singular to working precision at alpha = 1e-18"):
        KernelRidge(AdditiveChi2(), 1e-18).fit(X, y)
