import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS, pairwise_kernels
from sklearn.svm import SVC

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
    PeerParameters,
    Periodic,
    Polynomial,
    Precomputed,
    RationalQuadratic,
    Sigmoid,
    Sobolev,
    as_kernel,
    from_sklearn,
    kernel,
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
        ("rbf", Gaussian("columns")),
        (" rbf ", Gaussian("columns")),
        ("poly", Polynomial(3, 1.0, "columns")),
        ("polynomial", Polynomial(degree=2)),
        ("linear", Linear()),
        ("laplacian", Laplacian("columns")),
        ("exponential", Exponential()),
        ("matern32", Matern32()),
        ("matern52", Matern52()),
        ("rational_quadratic", RationalQuadratic()),
        ("inverse_multiquadric", InverseMultiquadric()),
        ("periodic", Periodic()),
        ("sigmoid", Sigmoid("columns", 1.0)),
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


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("gaussian", Gaussian("median")),
        ("polynomial", Polynomial(degree=2)),
        ("rbf", Gaussian("variance")),
        ("poly", Polynomial(3, 0.0, "variance")),
        ("sigmoid", Sigmoid("variance", 0.0)),
        ("laplacian", Laplacian("columns")),
        ("chi2", Chi2(1.0)),
    ],
)
def test_a_bare_name_means_what_support_vector_machines_of_scikit_learn_mean(name, expected):
    assert as_kernel(name, is_machine=True) == expected


@pytest.mark.parametrize("is_machine", [True, False])
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("rbf", Gaussian(1.0)),
        ("poly", Polynomial(4, 2.0, 0.5)),
        ("sigmoid", Sigmoid(0.5, 2.0)),
        ("laplacian", Laplacian(2.0)),
        ("chi2", Chi2(0.5)),
        ("linear", Linear()),
        ("cosine", Cosine()),
        ("precomputed", Precomputed()),
    ],
)
def test_parameters_beside_a_name_are_those_of_scikit_learn(name, expected, is_machine):
    assert as_kernel(name, PeerParameters(0.5, 4, 2.0), is_machine) == expected


@pytest.mark.parametrize(
    "value", ["polynomial", "gaussian(2.0)", "rbf + linear", Gaussian(), np.inner, "auto"], ids=str
)
def test_parameters_beside_anything_else_are_refused_with_the_way_to_go(value):
    with pytest.raises(ValueError, match=r"gamma=0\.5 belongs beside a name of .*write"):
        as_kernel(value, PeerParameters(gamma=0.5))


def test_a_gamma_beside_our_name_is_that_of_scikit_learn():
    assert as_kernel("gaussian", PeerParameters(gamma=0.5)) == Gaussian(1.0)


@pytest.mark.parametrize("gamma", [None, 0.5])
def test_what_a_kernel_of_our_name_does_not_have_is_refused(gamma):
    with pytest.raises(ValueError, match=r"^degree=4, coef0=3\.0 has no meaning .*'poly'"):
        as_kernel("gaussian", PeerParameters(gamma, 4, 3.0))


def test_auto_needs_rows():
    with pytest.raises(ValueError, match=r"'auto' is the kernel that the rows .*suggest"):
        as_kernel("auto")


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


@pytest.mark.parametrize(("gamma", "rule"), [("scale", "variance"), ("auto", "columns")])
def test_a_gamma_by_name_is_a_rule(gamma, rule):
    assert from_sklearn("rbf", gamma) == Gaussian(rule)
    assert from_sklearn("laplacian", gamma) == Laplacian(rule)
    assert from_sklearn("poly", gamma) == Polynomial(3, 1.0, rule)
    assert from_sklearn("sigmoid", gamma) == Sigmoid(rule, 1.0)


@pytest.mark.parametrize("container", [np.array, sp.csr_array], ids=["dense", "sparse"])
def test_the_variance_of_all_entries_decides_gamma_as_in_scikit_learn(points, container):
    X = points(12, 3) * [1.0, 5.0, 0.2] + 3.0
    gamma = SVC(gamma="scale").fit(container(X), np.arange(12) % 2)._gamma
    resolved = from_sklearn("rbf", "scale").resolved(container(X))
    assert resolved.gamma == pytest.approx(gamma, rel=1e-12)
    assert from_sklearn("poly", "scale").resolved(container(X)).scale == pytest.approx(gamma)
    assert from_sklearn("laplacian", "scale").resolved(container(X)).gamma == pytest.approx(gamma)


@pytest.mark.parametrize("container", [np.array, sp.csr_array], ids=["dense", "sparse"])
def test_a_whole_weight_counts_as_equal_rows_in_the_variance(points, container):
    X, weights = points(8, 3) + 1.0, np.array([1, 2, 3, 1, 1, 2, 1, 4])
    k = Gaussian("variance")
    repeated = k.resolved(container(np.repeat(X, weights, axis=0))).length_scale
    assert k.resolved(container(X), weights).length_scale == pytest.approx(repeated, rel=1e-12)


@pytest.mark.parametrize("container", [np.array, sp.csr_array], ids=["dense", "sparse"])
def test_rows_without_variance_have_gamma_one(container):
    assert Gaussian("variance").resolved(container(np.full((4, 3), 2.0))).gamma == pytest.approx(
        1.0
    )


@pytest.mark.parametrize("gamma", ["scales", "median"])
def test_another_word_for_gamma_is_refused(gamma):
    with pytest.raises(ValueError, match="gamma must be a number, 'scale' or 'auto', got"):
        from_sklearn("rbf", gamma)


def test_chi2_has_no_gamma_by_name():
    with pytest.raises(ValueError, match="gamma of 'chi2' must be a number, got 'scale'"):
        from_sklearn("chi2", "scale")


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


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("gaussian + linear", Gaussian("median") + Linear()),
        ("2 * gaussian.on(0) * matern32", 2 * Gaussian("median").on(0) * Matern32()),
        ("rbf + linear", Gaussian("median") + Linear()),
        ("gaussian() + linear", Gaussian(1.0) + Linear()),
        ("gaussian()", Gaussian(1.0)),
        ("sum(gaussian, gaussian(2.0))", Gaussian("median") + Gaussian(2.0)),
    ],
)
def test_a_gaussian_without_brackets_leaves_its_scale_to_the_rows(text, expected):
    assert as_kernel(text) == expected


def test_without_rows_a_gaussian_without_brackets_has_the_scale_one():
    assert kernel("gaussian + linear") == Gaussian(1.0) + Linear()
    assert as_kernel("gaussian + linear") != kernel("gaussian + linear")
