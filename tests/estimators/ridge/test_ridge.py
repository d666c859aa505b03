"""Kernel ridge regression: the model."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import kernel_ridge
from sklearn.linear_model import Ridge
from sklearn.metrics.pairwise import kernel_metrics

from mercer.errors import ConvergenceWarning, IndefiniteKernelError, MemoryLimitError
from mercer.estimators import KernelRidge
from mercer.kernels import (
    Exponential,
    FromFunction,
    Gaussian,
    Laplacian,
    Linear,
    Precomputed,
    Sigmoid,
    from_sklearn,
)


@pytest.fixture
def X(rng):
    return rng.uniform(0.1, 2.0, size=(60, 4))


@pytest.fixture
def y(X, rng):
    return np.sin(3.0 * X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=60) + 7.0


# scikit-learn's kernels by name, with and without their parameters.
PEERS = [
    dict(kernel="linear"),
    dict(kernel="rbf"),
    dict(kernel="rbf", gamma=0.7),
    dict(kernel="laplacian"),
    dict(kernel="laplacian", gamma=0.7),
    dict(kernel="poly"),
    dict(kernel="polynomial", gamma=0.5, degree=2, coef0=2.0),
    dict(kernel="cosine"),
    dict(kernel="chi2", gamma=0.7),
    dict(kernel="additive_chi2"),
]


def test_every_kernel_that_scikit_learn_names_is_among_the_peers():
    # The sigmoid is not positive semi-definite, and refused.
    assert {peer["kernel"] for peer in PEERS} >= set(kernel_metrics()) - {"sigmoid"}


@pytest.mark.filterwarnings("ignore::mercer.errors.ConditionalKernelWarning")
@pytest.mark.filterwarnings("ignore:Singular matrix in solving dual problem")
@pytest.mark.parametrize("settings", PEERS, ids=lambda p: ", ".join(map(str, p.values())))
@pytest.mark.parametrize("weighted", [False, True])
def test_without_offset_it_is_scikit_learns_kernel_ridge(X, y, rng, settings, weighted):
    weights = rng.uniform(0.5, 2.0, size=60) if weighted else None
    name, parameters = settings["kernel"], {k: v for k, v in settings.items() if k != "kernel"}
    peer = kernel_ridge.KernelRidge(alpha=1.0, **settings).fit(X, y, weights)
    kernel = from_sklearn(name, **parameters)
    model = KernelRidge(kernel, 1.0, fit_intercept=False).fit(X, y, weights)
    new = X[:9] + 0.01
    assert_allclose(model.dual_coef_, peer.dual_coef_, rtol=1e-8, atol=1e-8)
    assert_allclose(model.predict(new), peer.predict(new), rtol=1e-8)
    assert model.intercept_ == 0.0


def test_with_offset_a_linear_kernel_is_linear_ridge_regression(X, y, rng):
    weights = rng.uniform(0.0, 2.0, size=60)
    peer = Ridge(alpha=0.3).fit(X, y, weights)
    model = KernelRidge(Linear(), 0.3).fit(X, y, weights)
    assert_allclose(model.predict(X), peer.predict(X), rtol=1e-10)
    assert_allclose(model.intercept_, peer.intercept_, rtol=1e-9)


def test_the_offset_is_not_the_mean_of_the_targets_and_is_not_penalised(X, y):
    model = KernelRidge(Linear(), 0.3).fit(X, y)
    moved = KernelRidge(Linear(), 0.3).fit(X, y + 1e3)
    assert abs(model.intercept_ - y.mean()) > 0.1
    assert_allclose(moved.intercept_, model.intercept_ + 1e3, rtol=1e-12)
    assert_allclose(moved.dual_coef_, model.dual_coef_, atol=1e-9)
    assert_allclose(model.dual_coef_.sum(), 0.0, atol=1e-10)


def test_residuals_are_the_ridge_times_the_coefficients(X, y, rng):
    weights = rng.uniform(0.5, 2.0, size=60)
    model = KernelRidge(Gaussian(1.0), 0.2).fit(X, y, weights)
    assert_allclose(y - model.predict(X), 0.2 * model.dual_coef_ / weights, atol=1e-12)


@pytest.mark.parametrize("kernel", ["gaussian", Gaussian(0.7), Linear() + 1.0], ids=str)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_whole_weights_are_repeated_rows(X, y, rng, kernel, fit_intercept):
    weights = rng.integers(0, 4, size=60)
    settings = dict(kernel=kernel, alpha=0.1, fit_intercept=fit_intercept)
    weighted = KernelRidge(**settings).fit(X, y, weights)
    repeated = KernelRidge(**settings).fit(X.repeat(weights, axis=0), y.repeat(weights))
    assert weighted.kernel_ == repeated.kernel_
    assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-10)
    per_row = np.zeros(60)
    np.add.at(per_row, np.arange(60).repeat(weights), repeated.dual_coef_)
    assert_allclose(weighted.dual_coef_, per_row, atol=1e-10)
    assert_allclose(weighted.intercept_, repeated.intercept_, rtol=1e-10)


@pytest.mark.parametrize("kernel", ["gaussian", "precomputed"])
def test_rows_of_no_weight_are_dropped_rows(X, y, rng, kernel):
    weights = rng.uniform(0.5, 2.0, size=60) * (np.arange(60) % 3 > 0)
    used = weights > 0
    known = X if kernel == "gaussian" else Gaussian(1.0)(X)
    chosen = known[used] if kernel == "gaussian" else known[np.ix_(used, used)]
    seen = known if kernel == "gaussian" else known[:, used]
    model = KernelRidge(kernel).fit(known, y, weights)
    dropped = KernelRidge(kernel).fit(chosen, y[used], weights[used])
    assert_array_equal(model.dual_coef_[~used], 0.0)
    assert_allclose(model.dual_coef_[used], dropped.dual_coef_, atol=1e-10)
    assert_allclose(model.predict(known), dropped.predict(seen), rtol=1e-10)
    assert model.X_fit_.shape[0] == 60


def test_all_weights_may_be_given_as_one_number(X, y):
    model = KernelRidge(Gaussian(1.0), 1.0).fit(X, y, 4.0)
    assert_allclose(
        model.predict(X), KernelRidge(Gaussian(1.0), 0.25).fit(X, y).predict(X), rtol=1e-10
    )


def test_several_targets_are_fitted_one_by_one(X, y):
    Y = np.column_stack([y, y**2, np.ones(60)])
    model = KernelRidge(Gaussian(1.0), alpha=[0.1, 1.0, 10.0]).fit(X, Y)
    assert model.dual_coef_.shape == (60, 3)
    assert model.intercept_.shape == (3,)
    assert model.predict(X[:5]).shape == (5, 3)
    assert model.certificate_.bound(X[:5]).shape == (5, 3)
    for j, alpha in enumerate([0.1, 1.0, 10.0]):
        alone = KernelRidge(Gaussian(1.0), alpha=alpha).fit(X, Y[:, j])
        assert_allclose(model.predict(X)[:, j], alone.predict(X), rtol=1e-10)


def test_one_target_in_a_column_stays_a_column(X, y):
    model = KernelRidge().fit(X, y[:, None])
    assert model.dual_coef_.shape == (60, 1)
    assert model.predict(X).shape == (60, 1)
    assert_allclose(model.predict(X)[:, 0], KernelRidge().fit(X, y).predict(X))


def test_without_a_ridge_it_interpolates(X, y):
    for fit_intercept in (True, False):
        model = KernelRidge(Laplacian(1.0), 0.0, fit_intercept=fit_intercept).fit(X, y)
        assert_allclose(model.predict(X), y, rtol=1e-10)
        assert model.certificate_.satisfied
        assert np.isinf(model.certificate_.bound(X)).all()


def test_the_median_is_resolved_in_fit(X, y):
    model = KernelRidge("gaussian").fit(X, y)
    assert model.kernel == "gaussian"
    assert model.kernel_ == Gaussian("median").resolved(X)


def test_constant_targets_are_all_offset(X):
    model = KernelRidge().fit(X, np.full(60, 3.5))
    assert_allclose(model.intercept_, 3.5, rtol=1e-14)
    assert_allclose(model.dual_coef_, 0.0, atol=1e-13)
    assert_allclose(KernelRidge().fit(X, np.zeros(60)).predict(X), 0.0)


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_one_row_is_enough(alpha):
    model = KernelRidge(alpha=alpha).fit([[1.0, 2.0]], [3.0])
    assert_allclose(model.predict([[1.0, 2.0], [50.0, 0.0]]), [3.0, 3.0])
    half = KernelRidge(Gaussian(), 1.0, fit_intercept=False).fit([[1.0, 2.0]], [3.0])
    assert_allclose(half.predict([[1.0, 2.0]]), [1.5])


def test_repeated_rows_share_their_mean(rng):
    X = np.zeros((10, 1))
    y = rng.normal(size=10)
    model = KernelRidge(Gaussian(), 0.1, fit_intercept=False).fit(X, y)
    assert_allclose(model.predict(X[:1]), y.sum() / 10.1, rtol=1e-10)


@pytest.mark.parametrize("kernel", ["precomputed", Precomputed()], ids=repr)
def test_a_precomputed_matrix_gives_the_same_model(X, y, kernel):
    K, K_new = Gaussian(1.0)(X), Gaussian(1.0)(X[:7] + 0.1, X)
    direct = KernelRidge(Gaussian(1.0), 0.1).fit(X, y)
    model = KernelRidge(kernel, 0.1).fit(K, y)
    assert_allclose(model.dual_coef_, direct.dual_coef_, atol=1e-10)
    assert_allclose(model.predict(K_new), direct.predict(X[:7] + 0.1), rtol=1e-10)
    assert_array_equal(K, Gaussian(1.0)(X))


def test_a_function_is_a_kernel(X, y):
    def similarity(A, B):
        return A @ B.T + 1.0

    model = KernelRidge(similarity, 0.1).fit(X, y)
    assert model.kernel_ == FromFunction(similarity)
    assert_allclose(model.predict(X), KernelRidge(Linear(1.0), 0.1).fit(X, y).predict(X))


def test_the_certificate_bounds_the_distance_from_the_exact_model(X, y, rng):
    exact = KernelRidge(Gaussian(0.5), 1e-3, fit_intercept=False).fit(X, y)
    new = rng.uniform(0.0, 2.0, size=(40, 4))
    K, K_new = Gaussian(0.5)(X), Gaussian(0.5)(new, X)
    for size in (1e-8, 1e-3, 1.0):
        a = exact.dual_coef_ + size * rng.normal(size=60)
        r = y - K @ a - 1e-3 * a
        bound = np.linalg.norm(r) / (2.0 * np.sqrt(1e-3))
        assert (np.abs(K_new @ a - exact.predict(new)) <= bound).all()
    # The model's own certificate is this bound at its own residual, and what rounding hides of it.
    r = y - K @ exact.dual_coef_ - 1e-3 * exact.dual_coef_
    radius = np.linalg.norm(r) / (2.0 * np.sqrt(1e-3))
    bound = exact.certificate_.bound(new)
    assert ((radius <= bound) & (bound <= 1e-10)).all()


def test_the_certificate_is_satisfied_and_readable(X, y):
    certificate = KernelRidge().fit(X, y).certificate_
    assert certificate.kind == "relative residual"
    assert certificate.tolerance == 1e-6
    assert certificate.value < 1e-13
    assert certificate.satisfied
    assert "\n" not in str(certificate)


def test_a_residual_above_the_tolerance_warns_and_says_what_to_do(X, y):
    with pytest.warns(ConvergenceWarning, match=r"NOT within 1\.0e-30; .* raise alpha, or raise"):
        model = KernelRidge(tol=1e-30).fit(X, y)
    assert not model.certificate_.satisfied


def test_an_indefinite_kernel_is_refused_with_its_witness(X, y):
    kernel = Sigmoid(1.0, -2.0)
    with pytest.raises(IndefiniteKernelError, match=r"sigmoid.*not positive semi-def") as refusal:
        KernelRidge(kernel, 1e-3).fit(X - 1.0, y)
    witness = refusal.value.witness
    c = witness.coefficients
    assert_allclose(c @ kernel(witness.points) @ c, witness.value, rtol=1e-10)
    assert witness.value < -witness.rounding_bound


def test_an_indefinite_precomputed_matrix_is_refused_with_its_witness():
    K = np.array([[1.0, 0.0, 2.0], [0.0, 1.0, 0.0], [2.0, 0.0, 1.0]])
    with pytest.raises(IndefiniteKernelError) as refusal:
        KernelRidge("precomputed", 0.1).fit(K, [1.0, 2.0, 3.0])
    witness = refusal.value.witness
    c = witness.coefficients
    assert_allclose(c @ Precomputed()(witness.points) @ c, witness.value, rtol=1e-12)
    assert witness.points.shape == (2, 2)


@pytest.mark.parametrize("kernel", ["gaussian", "precomputed"])
def test_a_gram_matrix_beyond_the_limit_is_refused(kernel):
    with pytest.raises(MemoryLimitError, match=r"needs 0\.02 MB but the limit is 0\.01 MB"):
        KernelRidge(kernel, solver="cholesky", memory="10KB").fit(np.eye(50), np.ones(50))


def test_the_score_is_the_coefficient_of_determination(X, y):
    model = KernelRidge(Gaussian(0.5), 1e-3).fit(X[:40], y[:40])
    error = ((y[40:] - model.predict(X[40:])) ** 2).sum()
    expected = 1.0 - error / ((y[40:] - y[40:].mean()) ** 2).sum()
    assert_allclose(model.score(X[40:], y[40:]), expected)


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_targets_whose_squares_are_no_numbers_are_fitted_and_measured(X, y, scale):
    plain = KernelRidge(Gaussian(1.0), 0.1).fit(X, y)
    model = KernelRidge(Gaussian(1.0), 0.1).fit(X, scale * y)
    assert_allclose(model.dual_coef_, scale * plain.dual_coef_, rtol=1e-9)
    assert 0.0 < model.certificate_.value < 1e-12


@pytest.mark.parametrize(
    ("scale", "gram"), [(1e200, np.ones), (1e-170, np.eye)], ids=["flat", "peaked"]
)
def test_a_length_scale_without_a_gamma_is_fitted(X, y, scale, gram):
    K = np.broadcast_to(gram(len(X)), (len(X), len(X)))
    model, plain = KernelRidge(Gaussian(scale), 0.1), KernelRidge("precomputed", 0.1)
    assert_allclose(model.fit(X, y).predict(X), plain.fit(K, y).predict(K), atol=1e-9)


def test_the_certificate_of_a_kernel_without_proof_says_what_it_assumes(X, y):
    assumed = KernelRidge(FromFunction(lambda A, B: A @ B.T), 0.1).fit(X, y).certificate_
    assert str(assumed).endswith("if the kernel is positive semi-definite")
    assert "if the kernel" not in str(KernelRidge(Gaussian(1.0), 0.1).fit(X, y).certificate_)


def test_zero_weights_and_zero_alpha_go_together(X, y):
    weights = np.ones(len(X))
    weights[0] = 0.0
    model = KernelRidge(Linear(), 0.0, solver="primal").fit(X, y, weights)
    assert model.dual_coef_[0] == 0.0


@pytest.mark.parametrize("weight", [1e-20, 1e-100, 1e-200])
@pytest.mark.parametrize("solver", ["cholesky", "eigen", "cg", "banded", "primal"])
def test_a_tiny_weight_is_no_flaw_of_the_certificate(rng, solver, weight):
    x, y, w = rng.uniform(size=(60, 1)), rng.normal(size=60), np.ones(60)
    w[3] = weight
    kernel = Linear() if solver == "primal" else Exponential(1.0)
    model = KernelRidge(kernel, 0.1, solver=solver, tol=1e-10, random_state=0).fit(x, y, w)
    rest = np.arange(60) != 3
    without = KernelRidge(kernel, 0.1).fit(x[rest], y[rest])
    assert model.certificate_.satisfied
    assert_allclose(model.predict(x), without.predict(x), rtol=1e-8, atol=1e-9)
