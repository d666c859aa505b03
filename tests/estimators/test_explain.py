"""What a model on k-grams has learnt, told as the weight of each."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.model_selection import GridSearchCV

import strings
from mercer import (
    KernelLogisticRegression,
    KernelPCA,
    KernelPerceptron,
    KernelRidge,
    KernelRidgeClassifier,
    KernelSVC,
    Spectrum,
    explain,
)


@pytest.fixture
def data(rng):
    X = strings.words(rng, 120, "ACGT", 30)
    return X, np.array([x.count("ACG") - 2.0 * x.count("GTT") for x in X])


@pytest.mark.parametrize(
    "kernel", ["spectrum(k=3)", "0.5 * spectrum(k=[2, 3], weights=[1, 0.3])", "gapped_kmer(4, 2)"]
)
def test_weights_of_k_grams_add_up_to_the_prediction(kernel, data):
    X, y = data
    model = KernelRidge(kernel, alpha=0.2).fit(X, y)
    weights = dict(explain(model))

    def found(gram, x):
        windows = (x[i : i + len(gram)] for i in range(len(x) - len(gram) + 1))
        return sum(all(g in (c, ".") for g, c in zip(gram, w, strict=True)) for w in windows)

    values = [sum(w * found(gram, x) for gram, w in weights.items()) for x in X[:10]]
    assert_allclose(np.array(values) + model.intercept_, model.predict(X[:10]), atol=1e-8)


@pytest.mark.parametrize(
    "model",
    [
        KernelSVC("spectrum(k=2)", decision_function_shape="ovo"),
        KernelSVC("spectrum(k=2)", multiclass="ovr"),
        KernelPerceptron("spectrum(k=2)"),
        KernelLogisticRegression("spectrum(k=2)"),
    ],
    ids=["pairs", "rest", "perceptron", "logistic"],
)
def test_every_function_of_several_classes_is_explained(model, data):
    X, _ = data
    model.fit(X, [x.count("A") % 3 for x in X])
    values = model.decision_function(X[:10])
    offsets = getattr(model, "intercept_", np.zeros(3))
    for j in range(3):
        weights = dict(explain(model, j))
        found = [sum(weights.get(x[i : i + 2], 0.0) for i in range(len(x) - 1)) for x in X[:10]]
        assert_allclose(np.array(found) + offsets[j], values[:, j], atol=1e-8)
    with pytest.raises(ValueError, match="target must be one of 0 to 2, got 3"):
        explain(model, 3)


def test_normalised_weights_are_those_of_counts_over_the_length(data):
    X, y = data
    weights = [
        dict(explain(KernelRidge(kernel, alpha=0.2).fit(X, y)))
        for kernel in ("spectrum(k=2, normalize=True)", "spectrum(k=2).normalized()")
    ]
    assert weights[0] == pytest.approx(weights[1])
    model = KernelRidge("spectrum(k=2).normalized()", alpha=0.2).fit(X, y)
    x = max(X, key=len)
    counts = {g: sum(x[i : i + 2] == g for i in range(len(x) - 1)) for g in weights[0]}
    length = np.sqrt(sum(c**2 for c in counts.values()))
    value = sum(weights[0][g] * c for g, c in counts.items()) / length
    assert_allclose(value + model.intercept_, model.predict([x])[0], atol=1e-9)


def test_the_strongest_k_grams_come_first(data):
    X, y = data
    explanation = explain(KernelRidge("spectrum(k=3)", alpha=0.1).fit(X, y))
    assert explanation.positive[0][0] == "ACG"
    assert explanation.negative[0][0] == "GTT"
    strengths = [abs(w) for _, w in explanation]
    assert strengths == sorted(strengths, reverse=True)
    assert "'ACG'" in str(explanation).splitlines()[1]
    assert len(explanation) == len(explanation.grams)


def test_k_grams_of_tokens_are_tuples():
    model = KernelRidge("spectrum(k=2)").fit([["the", "cat", "sat"], ["a", "cat"]], [0.0, 1.0])
    assert set(dict(explain(model))) == {("the", "cat"), ("cat", "sat"), ("a", "cat")}


@pytest.mark.parametrize(
    ("X", "mark"),
    [
        (["a.bc", "axbc", "ab.c", "..a"], "_"),
        ([b"a.bc", b"axbc", b"ab_c", b".a"], "*"),
        (["a.b_", "*?a.", "abbb"], "\u2500"),
        (["abcd", "axbc"], "."),
    ],
    ids=["dots", "bytes", "all", "none"],
)
@pytest.mark.parametrize("kernel", ["gapped_kmer(g=3, m=1)", "gapped_kmer(g=3, m=1) + spectrum"])
def test_a_gap_is_spelled_like_nothing_in_the_text(X, mark, kernel):
    model = KernelRidge(kernel, alpha=0.1).fit(X, np.arange(len(X)) - 1.0)
    texts = [x.decode() if isinstance(x, bytes) else x for x in X]
    weights = dict(explain(model))
    windows = {x[i : i + 3] for x in texts for i in range(len(x) - 2)}
    spelled = {w[:i] + mark + w[i + 1 :] for w in windows for i in range(3)}
    assert set(weights) == (spelled if "+" not in kernel else spelled | windows)

    def value(x):
        found = [x[i : i + 3] for i in range(len(x) - 2)]
        with_gaps = [w[:i] + mark + w[i + 1 :] for w in found for i in range(3)]
        return sum(weights.get(u, 0.0) for u in (found + with_gaps))

    assert_allclose([value(x) for x in texts], model.predict(X) - model.intercept_, atol=1e-9)


def test_a_gap_between_tokens_is_none_unless_that_is_a_token():
    for token, gap in ((7, None), (None, ...)):
        X = [["a", token, "b"], ["a", "c", "b"]]
        model = KernelRidge("gapped_kmer(g=3, m=1)").fit(X, [1.0, -1.0])
        grams = {("a", token, gap), ("a", "c", gap), ("a", gap, "b"), (gap, token, "b")}
        assert set(explain(model).grams) == grams | {(gap, "c", "b")}


def test_k_grams_in_a_column_are_explained(data):
    X, y = data
    table = pd.DataFrame({"smiles": X, "mass": y})
    model = KernelRidge("spectrum(k=3).on(smiles) + linear.on(mass)").fit(table, y)
    assert all(len(gram) == 3 for gram, _ in explain(model))


def test_the_model_that_a_search_or_a_classifier_holds_is_explained(data):
    X, y = data
    signs = np.where(y > 0.0, 1, -1)
    ridge = explain(KernelRidge("spectrum(k=3)", alpha=0.5).fit(X, signs))
    classifier = explain(KernelRidgeClassifier("spectrum(k=3)", alpha=0.5).fit(X, signs))
    assert dict(classifier) == pytest.approx(dict(ridge))
    search = GridSearchCV(KernelSVC("spectrum(k=3)"), {"C": [0.5]}, cv=2).fit(X, signs)
    assert dict(explain(search)) == dict(explain(search.best_estimator_))
    with pytest.raises(ValueError, match="KernelPCA has no weights of k-grams"):
        explain(KernelPCA("spectrum(k=3)", n_components=2).fit(X))


def test_models_without_k_grams_are_not_explained(data):
    X, y = data
    with pytest.raises(ValueError, match=r"subsequence.* has no k-grams to explain"):
        explain(KernelRidge("subsequence").fit(X, y))
    with pytest.raises(ValueError, match="target must be one of 0 to 0, got 1"):
        explain(KernelRidge("spectrum").fit(X, y), target=1)


def test_lengths_longer_than_every_row_have_no_weights(rng):
    texts = ["".join(rng.choice(list("AC"), 6)) for _ in range(20)]
    model = KernelRidge(Spectrum((2, 40))).fit(texts, rng.normal(size=20))
    assert {len(gram) for gram in explain(model).grams} == {2}


def test_grams_of_several_columns_are_not_added_up(rng):
    table = pd.DataFrame({"s": ["abab", "baba", "aabb"], "u": ["ab", "bb", "ba"]})
    model = KernelRidge(Spectrum(2).on("s") + Spectrum(2).on("u")).fit(table, [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="are those of several columns"):
        explain(model)
