import numpy as np
import pytest
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS, pairwise_kernels

from mercer.errors import KernelSyntaxError
from mercer.kernels import (
    AdditiveChi2,
    Chi2,
    Constant,
    Cosine,
    Exponential,
    FromFunction,
    Gaussian,
    InverseMultiquadric,
    Laplacian,
    Linear,
    Matern32,
    Matern52,
    Periodic,
    Polynomial,
    Precomputed,
    RationalQuadratic,
    Sigmoid,
    Sobolev,
    as_kernel,
    from_sklearn,
)

NAMES = sorted(PAIRWISE_KERNEL_FUNCTIONS)


@pytest.fixture
def histograms(points):
    # Copies, because scikit-learn's chi-squared kernels refuse read-only rows.
    return points(9, 4, non_negative=True).copy(), points(7, 4, non_negative=True).copy()


def assert_same(ours, theirs):
    np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)


# as_kernel


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("gaussian", Gaussian("median")),
        ("rbf", Gaussian("median")),
        (" rbf ", Gaussian("median")),
        ("poly", Polynomial(degree=2)),
        ("polynomial", Polynomial(degree=2)),
        ("linear", Linear()),
        ("laplacian", Laplacian()),
        ("exponential", Exponential()),
        ("matern32", Matern32()),
        ("matern52", Matern52()),
        ("rational_quadratic", RationalQuadratic()),
        ("inverse_multiquadric", InverseMultiquadric()),
        ("periodic", Periodic()),
        ("sigmoid", Sigmoid()),
        ("cosine", Cosine()),
        ("chi2", Chi2()),
        ("additive_chi2", AdditiveChi2()),
        ("sobolev", Sobolev()),
        ("constant", Constant()),
        ("precomputed", Precomputed()),
    ],
)
def test_a_bare_name_means_its_kernel(name, expected):
    assert as_kernel(name) == expected


def test_a_name_with_brackets_takes_the_defaults_of_the_class():
    assert as_kernel("gaussian()") == Gaussian(1.0)


def test_an_expression_is_read():
    assert as_kernel("2*rbf(3) + linear.on(age)") == 2.0 * Gaussian(3.0) + Linear().on("age")


def test_a_kernel_is_itself():
    k = Linear()
    assert as_kernel(k) is k


def test_a_function_is_wrapped():
    assert as_kernel(np.inner) == FromFunction(np.inner)


def test_an_unknown_name_is_refused_with_a_suggestion():
    with pytest.raises(KernelSyntaxError, match=r"at 'gausian': .*did you mean 'gaussian'"):
        as_kernel("gausian")


def test_a_class_instead_of_a_kernel_is_refused():
    with pytest.raises(TypeError, match=r"kernel is the class Gaussian; pass Gaussian\(...\)"):
        as_kernel(Gaussian)


@pytest.mark.parametrize("value", [None, 3, ["rbf"]], ids=repr)
def test_anything_else_is_refused_with_what_is_possible(value):
    with pytest.raises(TypeError, match=r"a name, an expression or a function.*got"):
        as_kernel(value)


# from_sklearn


@pytest.mark.parametrize("name", NAMES)
def test_a_name_of_scikit_learn_means_the_same_between_two_tables(name, histograms):
    X, Z = histograms
    assert_same(from_sklearn(name)(X, Z), pairwise_kernels(X, Z, metric=name))


@pytest.mark.parametrize("name", NAMES)
def test_a_name_of_scikit_learn_means_the_same_on_one_table(name, histograms):
    X, _ = histograms
    assert_same(from_sklearn(name)(X), pairwise_kernels(X, metric=name))


@pytest.mark.parametrize("gamma", [0.3, 1.0, 7.0])
@pytest.mark.parametrize("name", NAMES)
def test_a_given_gamma_means_the_same(name, gamma, histograms):
    X, Z = histograms
    theirs = pairwise_kernels(X, Z, metric=name, filter_params=True, gamma=gamma)
    assert_same(from_sklearn(name, gamma=gamma)(X, Z), theirs)


@pytest.mark.parametrize(("degree", "coef0"), [(1, 0.0), (2, 0.5), (4, -0.7)])
@pytest.mark.parametrize("name", NAMES)
def test_given_degree_and_coef0_mean_the_same(name, degree, coef0, histograms):
    X, Z = histograms
    options = {"gamma": 0.2, "degree": degree, "coef0": coef0}
    theirs = pairwise_kernels(X, Z, metric=name, filter_params=True, **options)
    assert_same(from_sklearn(name, **options)(X, Z), theirs)


def test_gamma_left_open_follows_the_number_of_columns(points):
    k = from_sklearn("rbf")
    for d in (1, 2, 10):
        X = points(6, d)
        assert_same(k(X), pairwise_kernels(X, metric="rbf", gamma=1.0 / d))


def test_precomputed_is_a_name_too():
    assert from_sklearn("precomputed") == Precomputed()


def test_a_name_scikit_learn_does_not_have_is_refused_with_a_suggestion():
    with pytest.raises(ValueError, match="no kernel called 'lapacian'; did you mean 'laplacian'"):
        from_sklearn("lapacian")


def test_a_gamma_that_is_not_positive_is_refused():
    with pytest.raises(ValueError, match="gamma must be positive, got -1"):
        from_sklearn("rbf", gamma=-1)
