"""A graph of ONNX says what the model says, computed by another library."""

import sys

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mercer
from catalogue import ARD, COMPOSITE, INNER_PRODUCT, SIMPLE
from mercer.errors import ModelFileError
from mercer.selection.automatic.cross_fit import Compared

runtime = pytest.importorskip("onnxruntime")

random = np.random.default_rng(0)
X = np.abs(random.normal(size=(25, 3)))
Y = X[:, 0] - X[:, 1] + 0.1 * random.normal(size=25)
# Some new rows, and some of the training rows, where distances are zero.
NEW = np.vstack([np.abs(random.normal(size=(7, 3))), X[:3]])
TWO, THREE = np.where(Y > 0, "yes", "no"), np.digitize(Y, [-0.3, 0.3])
TABLE, NEW_TABLE = (pd.DataFrame(rows, columns=["a", "b", "c"]) for rows in (X, NEW))
WITH_GAPS, NEW_WITH_GAPS = X.copy(), NEW.copy()
WITH_GAPS[2, 1] = NEW_WITH_GAPS[0, 0] = NEW_WITH_GAPS[1, 1] = np.nan
WAYS = {
    "prediction": "predict",
    "label": "predict",
    "decision": "decision_function",
    "probabilities": "predict_proba",
}
MAPPED = [
    mercer.Gaussian(1.0).after(mercer.Standardize()),
    mercer.Gaussian(1.0).after(mercer.Standardize(with_mean=False)),
    mercer.Gaussian(1.0).after(mercer.Project([[1.0, 2.0, 0.0], [0.0, 1.0, 1.0]])),
    mercer.Laplacian(1.0).after(mercer.NormalScores()),
    mercer.Gaussian(1.0).after(mercer.Standardize()).on(0, 2) + mercer.Linear(),
    mercer.Linear().after(mercer.NormalScores()).normalized(),
    # A factor that float32 does not hold, before and after a product.
    0.1 * mercer.Linear().after(mercer.Standardize()).on(0) + 0.3 * mercer.Polynomial(2, 0.1, 0.7),
    0.1 * mercer.Gaussian(0.7),
]


def graph_of(model, path):
    """Return the graph of a model as a function of rows, which gives outputs by name."""
    mercer.export_onnx(model, path)
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    session = runtime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return lambda rows: dict(
        zip(names, session.run(None, {"X": np.asarray(rows, np.float64)}), strict=True)
    )


def agrees(model, rows, path):
    """Assert that a graph says all that the model does, and return the names of what it says."""
    found = graph_of(model, path)(rows)
    for name, values in found.items():
        expected = getattr(model, WAYS[name])(rows)
        if name == "label":
            assert np.array_equal(values, expected)
            continue
        assert values.dtype == np.float64 and values.shape == expected.shape
        np.testing.assert_allclose(
            values, expected, rtol=1e-10, atol=1e-10 * np.abs(expected).max()
        )
    return list(found)


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "model.onnx")


# Kernels that are none are repaired, see below.
VALID = [k for k in [*SIMPLE, *ARD, *COMPOSITE, *MAPPED] if k.is_conditional or k.proof()]


@pytest.mark.parametrize("kernel", VALID, ids=str)
def test_every_kernel_of_numbers_gives_the_same_predictions(kernel, path):
    assert agrees(mercer.KernelRidge(kernel, alpha=0.5).fit(X, Y), NEW, path) == ["prediction"]


INVALID = [k for k in INNER_PRODUCT if not k.proof()]


@pytest.mark.parametrize("kernel", INVALID, ids=str)
@pytest.mark.parametrize("repair", ["clip", "flip", "shift"])
def test_a_repaired_kernel_agrees_up_to_the_rounding_of_its_large_coefficients(
    kernel, repair, path
):
    model = mercer.KernelRidge(kernel, alpha=0.5, repair=repair).fit(X, Y)
    found = graph_of(model, path)(NEW)["prediction"]
    f = model.function_.dual
    sizes = np.abs(f.kernel(NEW, X)) @ np.abs(f.by_target[:, 0]) + np.abs(f.intercept[0])
    # Each of n products and sums, and k itself, is off by a few units in the last place.
    assert np.all(np.abs(found - model.predict(NEW)) <= 50 * len(X) * 2.0**-53 * sizes)


@pytest.mark.parametrize("kernel", INVALID, ids=str)
def test_a_kernel_that_is_none_is_exported_as_well(kernel, path):
    assert agrees(mercer.KernelPerceptron(kernel).fit(X, TWO), NEW, path)


MODELS = {
    "several targets": lambda: mercer.KernelRidge().fit(X, np.c_[Y, -Y]),
    "weights of features": lambda: mercer.KernelRidge("linear").fit(X, Y),
    "landmarks": lambda: mercer.KernelRidge(solver="nystrom", n_landmarks=8).fit(X, Y),
    "sparse rows": lambda: mercer.KernelRidge().fit(sp.csr_array(X), Y),
    "support vector regression": lambda: mercer.KernelSVR().fit(X, Y),
    "without support vectors": lambda: mercer.KernelSVR(epsilon=100.0).fit(X, Y),
    "chosen ridge": lambda: mercer.KernelRidgeCV(alphas=[0.1, 1.0]).fit(X, Y),
    "mean": lambda: mercer.KernelRidgeMean(weights=[0.7, 0.3]).fit(X, np.c_[Y, -Y]),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_regression_gives_its_predictions(name, path):
    assert agrees(MODELS[name](), NEW, path) == ["prediction"]


@pytest.mark.parametrize("kernel", ["exponential", "sobolev"])
def test_a_function_on_a_line_is_exported(kernel, path):
    assert agrees(mercer.KernelRidge(kernel).fit(X[:, :1], Y), NEW[:, :1], path)


CLASSIFIERS = {
    "two classes": (lambda: mercer.KernelSVC().fit(X, TWO), "decision"),
    "votes of pairs": (lambda: mercer.KernelSVC().fit(X, THREE), "decision"),
    "pairs": (
        lambda: mercer.KernelSVC(decision_function_shape="ovo", break_ties=False).fit(X, THREE),
        "decision",
    ),
    "one against the rest": (lambda: mercer.KernelSVC(multiclass="ovr").fit(X, THREE), "decision"),
    "logistic of two": (lambda: mercer.KernelLogisticRegression().fit(X, TWO), "probabilities"),
    "logistic": (lambda: mercer.KernelLogisticRegression().fit(X, THREE), "probabilities"),
    "truth values": (lambda: mercer.KernelLogisticRegression().fit(X, Y > 0), "probabilities"),
    "perceptron": (lambda: mercer.KernelPerceptron().fit(X, THREE), "decision"),
    "ridge": (lambda: mercer.KernelRidgeClassifier().fit(X, THREE), "decision"),
    "mean": (lambda: mercer.KernelRidgeMeanClassifier(weights=[1, 2]).fit(X, TWO), "decision"),
    "chosen ridge": (
        lambda: mercer.KernelRidgeClassifierCV(alphas=[0.1, 1.0]).fit(X, TWO),
        "decision",
    ),
    "chosen logistic": (
        lambda: mercer.KernelLogisticRegressionCV(["gaussian", "linear"], [0.1, 1.0]).fit(X, THREE),
        "probabilities",
    ),
    "landmarks": (
        lambda: mercer.KernelLogisticRegression(solver="nystrom", n_landmarks=8).fit(X, TWO),
        "probabilities",
    ),
}


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_classifier_gives_its_labels_and_scores(name, path):
    make, scores = CLASSIFIERS[name]
    assert agrees(make(), NEW, path) == ["label", scores]


def test_columns_of_a_table_are_found_by_their_places(path):
    kernel = mercer.Gaussian(1.0).after(mercer.Standardize()).on("c", "a")
    model = mercer.KernelRidge(kernel + mercer.Laplacian(2.0).on("b")).fit(TABLE, Y)
    assert agrees(model, NEW_TABLE, path)


def test_missing_numbers_stand_where_the_model_puts_them(path):
    kernel = mercer.Gaussian(1.0).after(mercer.Standardize(missing="mean"))
    assert agrees(mercer.KernelRidge(kernel).fit(WITH_GAPS, Y), NEW_WITH_GAPS, path)


def test_the_automatic_machine_is_exported(path):
    model = mercer.KernelRegressor(time_limit=2.0, random_state=0).fit(X, Y)
    assert agrees(model, NEW, path) == ["prediction"]


@pytest.mark.parametrize(
    ("winner", "scores"), [("ridge", "decision"), ("logistic", "probabilities")]
)
@pytest.mark.parametrize("labels", [TWO, THREE], ids=["two", "three"])
def test_the_automatic_classifier_is_exported_whatever_wins(
    winner, scores, labels, path, monkeypatch
):
    def compared(self, search, reader, one, means, run):
        return {winner: Compared(0.0, one, C=0.5 if winner == "logistic" else None)}

    monkeypatch.setattr(
        mercer.KernelClassifier, "_cross_fitted", lambda _, s, board, run: (board, {})
    )
    monkeypatch.setattr(mercer.KernelClassifier, "_compared", compared)
    model = mercer.KernelClassifier(time_limit=2.0).fit(X, labels)
    assert agrees(model, NEW, path) == ["label", scores]


def test_any_number_of_rows_can_be_given(path):
    model = mercer.KernelRidge().fit(X, Y)
    graph = graph_of(model, path)
    for n in (1, 2, 9):
        assert graph(NEW[:n])["prediction"].shape == (n,)


REFUSED = {
    "strings": (
        lambda: mercer.KernelRidge("spectrum(2)").fit(["ab", "bc"] * 5, np.arange(10.0)),
        "no vectors of numbers",
    ),
    "a function": (
        lambda: mercer.KernelRidge(lambda X, Z: X @ Z.T).fit(X, Y),
        "a part without a formula of numbers",
    ),
    "a map of Python": (
        lambda: mercer.KernelRidge(mercer.Gaussian(1.0).after(np.tanh)).fit(X, Y),
        "has no graph of primitives",
    ),
    "scaled rows": (
        lambda: mercer.KernelRidge(mercer.Linear().scaled_by(lambda X: X[:, 0])).fit(X, Y),
        "has no graph|holds a Python function",
    ),
    "a Gram matrix": (
        lambda: mercer.KernelRidge("precomputed").fit(mercer.Gaussian(1.0)(X), Y),
        "finished Gram matrix|keeps no training rows",
    ),
    "categories": (
        lambda: mercer.KernelRidge("match").fit(np.round(X), Y),
        "compares categories",
    ),
    "a transformer": (lambda: mercer.KernelPCA().fit(X), "a regression or a classifier"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_graph_is_refused_with_the_reason(name, path, tmp_path):
    make, match = REFUSED[name]
    with pytest.raises(ValueError, match=match):
        mercer.export_onnx(make(), path)
    assert list(tmp_path.iterdir()) == []


def test_without_onnx_it_is_said_what_to_install(path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"install mercer\[onnx\]"):
        mercer.export_onnx(mercer.KernelRidge().fit(X, Y), path)


def test_a_graph_is_no_model_file(path):
    mercer.export_onnx(mercer.KernelRidge().fit(X, Y), path)
    with pytest.raises(ModelFileError, match="this is no model file"):
        mercer.load(path)


def test_the_same_model_gives_the_same_bytes(path):
    contents = []
    for _ in range(2):
        mercer.export_onnx(mercer.KernelRidge().fit(X, Y), path)
        with open(path, "rb") as file:
            contents.append(file.read())
    assert contents[0] == contents[1]


def test_what_is_refused_has_a_reason_and_a_way_out(tmp_path):
    X = np.random.default_rng(0).normal(size=(20, 2))
    pipeline = make_pipeline(StandardScaler(), mercer.KernelRidge()).fit(X, X[:, 0])
    with pytest.raises(ValueError, match="got Pipeline; of a pipeline export the last step"):
        mercer.export_onnx(pipeline, tmp_path / "m.onnx")
    table = pd.DataFrame({"a": X[:, 0], "note": [f"rain on day {i} of it" for i in range(20)]})
    model = mercer.KernelRidge("auto").fit(table, X[:, 0])
    with pytest.raises(ValueError, match=r"the kernel reads text, .* fit it without such columns"):
        mercer.export_onnx(model, tmp_path / "m.onnx")
