"""Arguments of scikit-learn: names of kernels and what stands beside them give its numbers."""

import inspect
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.decomposition import KernelPCA as PeerPCA
from sklearn.kernel_ridge import KernelRidge as PeerRidge
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC, SVR

import mercer
from contract import OF_THE_CLASS, checks
from mercer.errors import ConditionalKernelWarning
from mercer.kernels import FromFunction, Gaussian, Polynomial

NAMES = ("additive_chi2", "chi2", "cosine", "laplacian", "linear", "poly", "rbf", "sigmoid")
MACHINE_NAMES = ("linear", "poly", "rbf", "sigmoid")
BESIDE = [
    {},
    {"gamma": 0.002},
    {"degree": 2},
    {"coef0": 0.5},
    {"gamma": 0.001, "degree": 4, "coef0": 0.25},
]
ESTIMATORS = [
    mercer.KernelRidge,
    mercer.KernelRidgeClassifier,
    mercer.KernelSVC,
    mercer.KernelSVR,
    mercer.KernelLogisticRegression,
    mercer.KernelPerceptron,
    mercer.KernelPCA,
    mercer.MercerMap,
]
CHOOSERS = [
    mercer.KernelRidgeCV,
    mercer.KernelRidgeClassifierCV,
    mercer.KernelLogisticRegressionCV,
]
ALL = [*ESTIMATORS, *CHOOSERS, mercer.Monomials]


@pytest.fixture
def data(rng):
    X = np.abs(rng.normal(size=(16, 40)))
    return X, X[:, 0] + np.sin(3.0 * X[:, 1])


@pytest.fixture
def directions(rng):
    # Rows at nearly right angles, on which even the sigmoid is positive definite.
    return rng.normal(size=(16, 600))


# Without an offset the additive kernel is not positive semi-definite, which both say.
@pytest.mark.filterwarnings("ignore::mercer.errors.ConditionalKernelWarning")
@pytest.mark.filterwarnings("ignore:Singular matrix in solving dual problem")
@pytest.mark.parametrize("beside", BESIDE, ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_a_ridge_by_a_name_has_the_numbers_of_scikit_learn(data, directions, name, beside):
    X, y = data
    X = directions if name == "sigmoid" else X
    ours = mercer.KernelRidge(name, alpha=0.5, fit_intercept=False, **beside).fit(X, y)
    if name == "chi2":
        # Its gamma has the default 1, which scikit-learn's estimator does not pass on.
        beside = {"gamma": 1.0, **beside}
    theirs = PeerRidge(alpha=0.5, kernel=name, **beside).fit(X, y)
    assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-7)
    assert_allclose(ours.dual_coef_, theirs.dual_coef_, rtol=1e-6, atol=1e-8)


def test_the_additive_kernel_without_an_offset_still_warns(data):
    with pytest.warns(ConditionalKernelWarning, match="sum zero only"):
        mercer.KernelRidge("additive_chi2", fit_intercept=False).fit(*data)


@pytest.mark.parametrize("beside", [*BESIDE, {"gamma": "scale"}, {"gamma": "auto"}], ids=str)
@pytest.mark.parametrize("name", MACHINE_NAMES)
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_machines_by_a_name_have_the_numbers_of_scikit_learn(
    data, directions, name, beside, container
):
    X, y = container(directions), data[1]
    # LIBSVM's stopping rule is another one, so both go to the end.
    options = {"C": 2.0, "tol": 1e-10, **beside}
    labels = np.where(y > np.median(y), "high", "low")
    ours = mercer.KernelSVC(name, **options).fit(X, labels)
    theirs = SVC(kernel=name, **options).fit(X, labels)
    assert_allclose(ours.decision_function(X), theirs.decision_function(X), rtol=1e-5, atol=1e-6)
    ours = mercer.KernelSVR(name, **options).fit(X, y)
    theirs = SVR(kernel=name, **options).fit(X, y)
    assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["chi2", "cosine", "laplacian"])
def test_machines_take_the_names_that_scikit_learns_lack_as_its_kernel_functions(data, name):
    X, y = data
    ours = mercer.KernelSVR(name, C=2.0, tol=1e-10).fit(X, y)
    theirs = SVR(kernel="precomputed", C=2.0, tol=1e-10)
    K = pairwise_kernels(X, metric=name)
    assert_allclose(ours.predict(X), theirs.fit(K, y).predict(K), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("beside", BESIDE, ids=str)
@pytest.mark.parametrize("name", ["cosine", "linear", "poly", "rbf", "sigmoid"])
def test_components_by_a_name_have_the_numbers_of_scikit_learn(directions, name, beside):
    X = directions
    ours = mercer.KernelPCA(name, n_components=4, **beside).fit_transform(X)
    theirs = PeerPCA(4, kernel=name, **beside).fit_transform(X)
    assert_allclose(ours, theirs, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", ["additive_chi2", "chi2", "laplacian"])
def test_components_take_the_names_that_scikit_learns_lack_as_its_kernel_functions(data, name):
    X, _ = data
    theirs = PeerPCA(4, kernel="precomputed").fit_transform(pairwise_kernels(X, metric=name))
    ours = mercer.KernelPCA(name, n_components=4).fit_transform(X)
    assert_allclose(ours, theirs, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda kind: kind.__name__)
def test_every_estimator_takes_what_stands_beside_a_name(data, kind):
    X, y = data
    model = kind("poly", gamma=0.1, degree=2, coef0=0.5).fit(X, y > 1.0)
    assert model.kernel_ == Polynomial(2, 0.5, 0.1)


@pytest.mark.parametrize("kind", CHOOSERS, ids=lambda kind: kind.__name__)
def test_what_chooses_among_names_takes_it_too(data, kind):
    X, y = data
    options = {"gamma": 0.1, "degree": 2, "coef0": 0.5}
    model = kind(["poly", "rbf"], **options).fit(X, y > 1.0)
    assert set(model.cv_results_["kernel"]) == {Polynomial(2, 0.5, 0.1), Gaussian.from_gamma(0.1)}
    with pytest.raises(ValueError, match=r"gamma=0\.1.* belongs beside a name in kernels"):
        kind(**options).fit(X, y > 1.0)


def test_a_grid_of_kernels_may_be_one_of_gammas(data):
    grid = {"kernel": ["rbf", "laplacian"], "gamma": [0.1, 1.0]}
    found = mercer.KernelRidgeCV(grid).fit(*data).cv_results_["kernel"]
    assert len(set(found)) == 4
    assert_allclose(sorted({round(k.gamma, 12) for k in found}), [0.1, 1.0])


@pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("kernel", [Gaussian(), "gaussian(2.0)", "polynomial", np.inner], ids=str)
def test_a_gamma_beside_a_kernel_that_has_its_numbers_is_refused(data, kind, kernel):
    X, y = data
    with pytest.raises(ValueError, match=r"gamma=0\.1 belongs beside a name of scikit-learn"):
        kind(kernel, gamma=0.1).fit(X, y > 1.0)


def test_gamma_alone_is_that_of_the_default_gaussian(data):
    X, y = data
    assert mercer.KernelSVC(gamma=0.125).fit(X, y > 1.0).kernel_ == Gaussian(2.0)


def test_grid_search_reaches_gamma_as_an_argument_and_in_the_kernel(data):
    X, y = data
    expected = GridSearchCV(SVC(), {"gamma": [1e-4, 0.1]}, cv=3).fit(X, y > 1.0)
    ours = GridSearchCV(mercer.KernelSVC("rbf"), {"gamma": [1e-4, 0.1]}, cv=3).fit(X, y > 1.0)
    nested = GridSearchCV(mercer.KernelSVC("rbf"), {"kernel__gamma": [1e-4, 0.1]}, cv=3)
    nested.fit(X, y > 1.0)
    scores = expected.cv_results_["mean_test_score"]
    assert_allclose(ours.cv_results_["mean_test_score"], scores)
    assert_allclose(nested.cv_results_["mean_test_score"], scores)
    assert nested.best_estimator_.kernel.gamma == pytest.approx(expected.best_params_["gamma"])


def test_gamma_of_a_kernel_is_read_and_set_by_name():
    model = mercer.KernelRidge(Gaussian(0.5))
    assert model.get_params()["kernel__gamma"] == 2.0
    assert model.set_params(kernel__gamma=0.125).kernel == Gaussian(2.0)
    assert mercer.KernelSVC("rbf").set_params(kernel__gamma=0.125).kernel == Gaussian(2.0)
    assert mercer.KernelSVC("poly").set_params(kernel__degree=2).kernel == Polynomial(
        2, 0.0, "variance"
    )


# Arguments that there are none of


@pytest.mark.parametrize(
    ("kind", "name", "advice"),
    [
        (mercer.KernelSVC, "probability", "predict_proba of classifiers works without it"),
        (mercer.KernelSVC, "cache_size", "give memory="),
        (mercer.KernelSVC, "shrinking", "always set aside"),
        (mercer.KernelSVR, "nu", "give C"),
        (mercer.KernelRidge, "kernel_params", "write them into the kernel"),
        (mercer.KernelPCA, "n_jobs", "MERCER_THREADS"),
        (mercer.KernelPCA, "eigen_solver", "solver='dense', 'iterative' or 'nystrom'"),
        (mercer.KernelRidgeCV, "store_cv_results", "cv_results_ is always there"),
        (mercer.KernelLogisticRegression, "l1_ratio", "the penalty is"),
        (mercer.KernelPerceptron, "max_iter", "max_epochs"),
        (mercer.Monomials, "interaction_only", "polynomial kernel"),
    ],
)
def test_an_argument_of_scikit_learn_is_answered_with_what_to_do(kind, name, advice):
    with pytest.raises(TypeError, match=rf"{kind.__name__} has no argument '{name}'.*{advice}"):
        kind(**{name: 1})


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.__name__)
def test_an_unknown_argument_is_answered_with_the_nearest_or_with_all(kind):
    with pytest.raises(TypeError, match=r"has no argument 'degre' .*did you mean 'degree'\?"):
        kind(degre=2)
    with pytest.raises(TypeError, match=r"has no argument 'xyz' .*; it has .*memory"):
        kind(xyz=2)


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.__name__)
def test_constructors_are_still_read_cloned_and_pickled(kind):
    assert set(inspect.signature(kind).parameters) == set(kind().get_params(deep=False))
    model = kind(degree=3)
    assert clone(model).degree == pickle.loads(pickle.dumps(model)).degree == 3


# What the rows decide


def table():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    site = rng.choice(["north", "south"], 40)
    frame = pd.DataFrame({"age": rng.normal(50.0, 9.0, 40), "site": site})
    return frame, (frame["age"] > 50.0).to_numpy()


@pytest.mark.parametrize("kind", [*ESTIMATORS, *CHOOSERS], ids=lambda kind: kind.__name__)
def test_auto_is_the_default_kernel_of_the_rows(kind):
    X, y = table()
    named = kind("auto").fit(X, y)
    given = kind(mercer.default_kernel(X)).fit(X, y)
    assert named.kernel_ == given.kernel_
    assert set(named.feature_names_in_) == {"age", "site"}


@pytest.mark.parametrize("kind", [*ESTIMATORS, *CHOOSERS], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_auto_takes_arrays_and_sparse_rows(data, kind, container):
    X, y = data
    model = kind("auto").fit(container(X), y > 1.0)
    assert model.kernel_ == mercer.default_kernel(container(X)).resolved(container(X))


def test_auto_takes_texts():
    texts = [f"{a} {b} and more" for a in ("red", "blue", "green", "grey") for b in ("cat", "dog")]
    y = np.array([len(text) for text in texts])
    assert mercer.KernelRidge("auto").fit(texts, y).kernel_ == mercer.default_kernel(texts)


def test_auto_may_be_one_of_the_kernels_to_choose_from():
    X, y = table()
    model = mercer.KernelRidgeCV(["auto", "match"], alphas=[1.0]).fit(X, y.astype(float))
    assert len(model.cv_results_["kernel"]) == 2


def test_numbers_beside_a_name_are_part_of_the_kernel_whose_parameter_is_set(data):
    model = mercer.KernelRidge("rbf", gamma=0.5).set_params(kernel__gamma=2.0)
    assert model.fit(*data).kernel_ == Gaussian(0.5)
    machine = mercer.KernelSVR("poly", gamma=0.5, degree=2, coef0=1.0)
    assert machine.set_params(kernel__degree=4).fit(*data).kernel_ == Polynomial(4, 1.0, 0.5)


def test_one_of_all_parameters_of_an_estimator_is_replaced():
    model = mercer.KernelRidge(Gaussian(2.0))
    given = {**model.get_params(), "kernel__length_scale": 3.0}
    assert model.set_params(**given).kernel == Gaussian(3.0)


def test_a_subclass_may_take_arguments_of_any_name():
    class Named(mercer.KernelRidge):
        def __init__(self, **settings):
            super().__init__(Gaussian(settings["width"]))

    assert Named(width=2.0).kernel == Gaussian(2.0)


def test_auto_has_no_parameters_to_set():
    with pytest.raises(ValueError, match="'auto' is the kernel that the rows of fit"):
        mercer.KernelRidge("auto").set_params(kernel__length_scale=1.0)


# The contract


@checks(
    [
        mercer.KernelRidge("rbf", gamma=0.5),
        mercer.KernelRidge("poly", degree=2),
        mercer.KernelSVC("rbf"),
        mercer.KernelSVR("poly", degree=2, coef0=1.0),
        mercer.KernelPCA("laplacian"),
    ],
    but=OF_THE_CLASS,
)
def test_names_from_there_keep_the_contract_of_scikit_learn(estimator, check):
    check(estimator)


def test_functions_beside_a_gamma_are_named_in_the_error(data):
    with pytest.raises(ValueError, match=r"degree=2 belongs .* but kernel is .*inner"):
        mercer.KernelSVC(FromFunction(np.inner), degree=2).fit(*data)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.ones((5, 2), complex), "Complex data not supported"),
        (np.ones((5, 0)), "0 feature"),
        (np.ones((1, 3)), "one sample is like no other"),
    ],
    ids=["complex", "no columns", "one row"],
)
def test_rows_that_no_kernel_suits_are_refused_before_one_is_looked_for(X, message):
    with pytest.raises(ValueError, match=message):
        mercer.KernelRidge("auto").fit(X, np.ones(len(X)))


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (mercer.KernelRidgeCV, "alpha"),
        (mercer.KernelRidgeCV, "kernel"),
        (mercer.KernelLogisticRegressionCV, "C"),
    ],
)
def test_an_estimator_that_chooses_asks_for_the_values_to_choose_from(kind, name):
    with pytest.raises(TypeError, match=rf"the values to choose from, as in {name}s=\[\.\.\.\]$"):
        kind(**{name: 1.0})


def test_numbers_of_the_objective_may_be_given_by_place():
    machine = mercer.KernelSVR("linear", 2.0, 0.25)
    perceptron = mercer.KernelPerceptron("linear", 0.5, False, 7)
    assert (machine.C, machine.epsilon) == (2.0, 0.25)
    assert (perceptron.eta, perceptron.averaged, perceptron.max_epochs) == (0.5, False, 7)
