"""What every classifier keeps: the contract of scikit-learn, its tools, and every form of rows."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags

from contract import OF_THE_CLASS, checks
from mercer.estimators import KernelLogisticRegression, KernelPerceptron, KernelSVC
from mercer.kernels import FromFunction, Gaussian, Linear
from mercer.selection import KernelClassifier, KernelRidgeClassifier, KernelRidgeClassifierCV
from refusals import refuses

# Every classifier with its defaults, and the settings in which the contract is checked besides.
CLASSIFIERS = [KernelLogisticRegression, KernelPerceptron, KernelRidgeClassifier, KernelSVC]
OTHER_SETTINGS = [
    KernelPerceptron(budget=20, max_epochs=8),
    KernelPerceptron(memory="40KB", shuffle=True, max_epochs=8, random_state=0),
    # An offset as large as the rows of the checks, whose weighted classes a line through the
    # origin cannot tell apart.
    KernelPerceptron(Linear(1000.0)),
    KernelRidgeClassifier(class_weight="balanced"),
    KernelRidgeClassifierCV(alphas=[0.1, 1.0], class_weight="balanced"),
    KernelRidgeClassifierCV([Gaussian(1.0), Linear()]),
    KernelRidgeClassifier(fit_intercept=False),
    KernelLogisticRegression(fit_intercept=False),
    KernelSVC(fit_intercept=False, repair="clip"),
]


@checks(OTHER_SETTINGS, but=OF_THE_CLASS)
def test_it_keeps_the_contract_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.fixture(params=CLASSIFIERS, ids=lambda kind: kind.__name__)
def kind(request):
    return request.param


@pytest.fixture(params=[2, 3], ids=["two classes", "three classes"])
def data(request, rng):
    y = rng.integers(0, request.param, size=90)
    X = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]])[y] + rng.normal(size=(90, 2))
    return X, y


def scores(model, X):
    return model.decision_function(X)


def test_it_works_in_a_pipeline(kind, data):
    X, y = data
    scaled = StandardScaler().fit_transform(X)
    pipeline = make_pipeline(StandardScaler(), kind(Gaussian(1.0))).fit(X, y)
    direct = kind(Gaussian(1.0)).fit(scaled, y)
    assert_array_equal(scores(pipeline, X), scores(direct, scaled))
    assert pipeline.score(X, y) > 0.9


@pytest.mark.parametrize("kernel", ["gaussian", Gaussian()], ids=repr)
def test_grid_search_sets_the_parameters_of_the_kernel(kind, data, kernel):
    grid = {"kernel__length_scale": [1e-3, 1.5]}
    search = GridSearchCV(kind(kernel), grid, cv=3, error_score="raise").fit(*data)
    assert search.best_params_ == {"kernel__length_scale": 1.5}
    assert search.best_estimator_.kernel_ == Gaussian(1.5)
    assert search.best_score_ > 0.85


@pytest.mark.parametrize("ensemble", [True, False])
def test_it_can_be_calibrated(kind, data, ensemble):
    X, y = data
    model = CalibratedClassifierCV(kind(Gaussian(1.5)), cv=3, ensemble=ensemble).fit(X, y)
    probabilities = model.predict_proba(X)
    assert probabilities.shape == (90, len(np.unique(y)))
    assert (probabilities[np.arange(90), y] > 0.5).mean() > 0.85


def test_a_clone_is_unfitted_and_equal(kind, data):
    model = kind(Gaussian(2.0), memory="1GB", class_weight={0: 2.0}).fit(*data)
    copy = clone(model)
    assert not hasattr(copy, "classes_")
    assert copy.get_params() == model.get_params()


def test_a_fitted_model_survives_pickling(kind, data):
    model = kind().fit(*data)
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(scores(again, data[0]), scores(model, data[0]))
    assert_array_equal(again.predict(data[0]), model.predict(data[0]))


@pytest.mark.parametrize("dtype", [str, object, bool, np.float32])
def test_labels_may_be_of_any_type(kind, data, dtype):
    X, y = data
    names = {str: ["cat", "dog", "hen"], object: ["cat", "dog", "hen"], bool: [False, True, True]}
    labels = np.array(names.get(dtype, [1.0, 2.0, 4.0]))[y].astype(dtype)
    model = kind(Gaussian(1.5)).fit(X, labels)
    assert_array_equal(model.classes_, np.unique(labels))
    assert (model.predict(X) == labels).mean() > 0.9
    assert model.predict(X).dtype == labels.dtype


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_rows_may_be_a_table(kind, data, library):
    X, y = data
    frame = pytest.importorskip(library).DataFrame({"u": X[:, 0], "v": X[:, 1]})
    whole = kind(Gaussian(1.5)).fit(frame, y)
    assert whole.feature_names_in_.tolist() == ["u", "v"]
    assert_array_equal(scores(whole, frame), scores(kind(Gaussian(1.5)).fit(X, y), X))
    taken_apart = kind(Gaussian(1.5).on("u") * Gaussian(1.5).on("v")).fit(frame, y)
    assert taken_apart.score(frame, y) > 0.9


def shared_letters(X, Z):
    """The number of letters that two words share."""
    return np.array([[len(set(x) & set(z)) for z in Z] for x in X], float)


def test_rows_may_be_words(kind, rng):
    letters = [rng.choice(list("abcdefg"), 4), rng.choice(list("tuvwxyz"), 4)]
    words = ["".join(rng.choice(letters[i % 2], 3)) + "m" for i in range(30)]
    y = ["first", "second"] * 15
    model = kind(FromFunction(shared_letters)).fit(words, y)
    assert_array_equal(model.predict(words), y)
    assert model.predict([words[1]])[0] == "second"


def test_a_finished_matrix_is_sliced_by_cross_validation(kind, data):
    X, y = data
    direct = cross_val_score(kind(Gaussian(1.5)), X, y, cv=3)
    assert get_tags(kind("precomputed")).input_tags.pairwise
    assert_array_equal(cross_val_score(kind("precomputed"), Gaussian(1.5)(X), y, cv=3), direct)


def test_threads_change_no_bit(kind, rng, monkeypatch):
    X = rng.normal(size=(1200, 3))
    y = np.digitize(X[:, 0] + X[:, 1] ** 2, [0.0, 1.5])

    def fitted(threads):
        monkeypatch.setenv("MERCER_THREADS", threads)
        return scores(kind(Gaussian(1.0)).fit(X, y), X)

    assert_array_equal(fitted("1"), fitted("2"))


def test_objects_that_are_strings_are_classes_in_their_order(kind, data):
    X, y = data
    names = np.array(["A", "b", "ü"], object)
    by_name, by_number = kind().fit(X, names[2 - y]), kind().fit(X, 2 - y)
    assert by_name.classes_.dtype == object
    assert_array_equal(by_name.classes_, names[by_number.classes_])
    assert_array_equal(by_name.predict(X), names[by_number.predict(X)])


def test_whole_numbers_that_may_be_targets_of_a_regression_are_doubted(kind, data):
    X = data[0][:30]
    with pytest.warns(UserWarning, match="regression"):
        kind().fit(X, np.arange(30) % 20)


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        (["a", 1], "y mixes labels of the types int, str; make all of them strings"),
        (["a", None], "y holds None at row 1; drop such rows or fill them in"),
        ([[0], [1, 2]], "multi-label"),
    ],
)
def test_labels_that_are_no_classes_are_refused(kind, data, labels, said):
    y = np.empty(90, object)
    for i in range(90):
        y[i] = labels[i % 2]
    refuses(said, kind().fit, data[0], y)


def test_one_class_is_refused(kind, data):
    refuses("needs at least two classes, got 1 class", kind().fit, data[0], np.ones(90))


def test_labels_must_be_as_many_as_rows(kind, data):
    refuses("X has 90 rows but y has 89; they must agree", kind().fit, data[0], data[1][1:])


def test_constructor_only_stores(kind):
    model = kind("no such kernel", memory="much")
    assert model.get_params()["kernel"] == "no such kernel"
    assert repr(kind()) == f"{kind.__name__}()"


@pytest.mark.parametrize("Classifier", [*CLASSIFIERS, KernelRidgeClassifierCV, KernelClassifier])
def test_labels_that_were_not_given_are_asked_for(Classifier):
    asked = f"This {Classifier.__name__} estimator requires y to be passed"
    with pytest.raises(ValueError, match=asked):
        Classifier().fit(np.eye(3), None)
