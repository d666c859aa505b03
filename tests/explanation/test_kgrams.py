"""What a model on k-grams has learnt, told as the weight of each."""

import re
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.model_selection import GridSearchCV

import mercer
import strings
from mercer import (
    KernelLogisticRegression,
    KernelPerceptron,
    KernelRidge,
    KernelRidgeClassifier,
    KernelSVC,
    Spectrum,
    Words,
    explain,
)
from mercer.kernels import kmers


def by_gram(explanation):
    return {row.gram: row.weight for row in explanation.kgrams}


def counted(gram, x):
    return sum(x[i : i + len(gram)] == gram for i in range(len(x)))


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
    weights = by_gram(explain(model))

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
        weights = by_gram(explain(model, target=j))
        found = [sum(weights.get(x[i : i + 2], 0.0) for i in range(len(x) - 1)) for x in X[:10]]
        assert_allclose(np.array(found) + offsets[j], values[:, j], atol=1e-8)
    with pytest.raises(ValueError, match="target must be one of 0 to 2, got 3"):
        explain(model, target=3)


def test_normalised_weights_are_those_of_counts_over_the_length(data):
    X, y = data
    weights = [
        by_gram(explain(KernelRidge(kernel, alpha=0.2).fit(X, y)))
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
    explanation = explain(KernelRidge("spectrum(k=3)", alpha=0.1).fit(X, y)).kgrams
    assert explanation.positive[0].gram == "ACG"
    assert explanation.negative[0].gram == "GTT"
    strengths = [abs(row.weight) for row in explanation]
    assert strengths == sorted(strengths, reverse=True)
    assert explanation.strongest(2)[0].gram == "ACG"
    assert len(explanation) == len(explanation.grams)


def test_k_grams_of_tokens_are_tuples():
    model = KernelRidge("spectrum(k=2)").fit([["the", "cat", "sat"], ["a", "cat"]], [0.0, 1.0])
    assert set(by_gram(explain(model))) == {("the", "cat"), ("cat", "sat"), ("a", "cat")}


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
    weights = by_gram(explain(model))
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
        assert set(explain(model).kgrams.grams) == grams | {(gap, "c", "b")}


def test_k_grams_in_a_column_are_explained(data):
    X, y = data
    table = pd.DataFrame({"smiles": X, "mass": y})
    model = KernelRidge("spectrum(k=3).on(smiles) + linear.on(mass)").fit(table, y)
    kgrams = explain(model).kgrams
    assert {len(row.gram) for row in kgrams} == {3}
    assert {row.column for row in kgrams} == {"smiles"}


def test_the_model_that_a_search_or_a_classifier_holds_is_explained(data):
    X, y = data
    signs = np.where(y > 0.0, 1, -1)
    ridge = explain(KernelRidge("spectrum(k=3)", alpha=0.5).fit(X, signs))
    classifier = explain(KernelRidgeClassifier("spectrum(k=3)", alpha=0.5).fit(X, signs))
    assert by_gram(classifier) == pytest.approx(by_gram(ridge))
    search = GridSearchCV(KernelSVC("spectrum(k=3)"), {"C": [0.5]}, cv=2).fit(X, signs)
    assert by_gram(explain(search)) == by_gram(explain(search.best_estimator_))


def test_models_without_k_grams_have_no_weights_of_them(data):
    X, y = data
    assert explain(KernelRidge("subsequence").fit(X, y)).kgrams is None
    with pytest.raises(ValueError, match="target must be one of 0 to 0, got 1"):
        explain(KernelRidge("spectrum").fit(X, y), target=1)


def test_lengths_longer_than_every_row_have_no_weights(rng):
    texts = ["".join(rng.choice(list("AC"), 6)) for _ in range(20)]
    model = KernelRidge(Spectrum((2, 40))).fit(texts, rng.normal(size=20))
    assert {len(gram) for gram in explain(model).kgrams.grams} == {2}


def test_a_k_gram_has_a_weight_in_every_column(rng):
    texts = strings.words(rng, 60, "ab", 8)
    table = pd.DataFrame({"s": texts, "u": texts[::-1]})
    y = rng.normal(size=60)
    kernel = Spectrum(2).on("s") + 0.5 * Spectrum((1, 2)).on("u") + Spectrum(1).on("u")
    model = KernelRidge(kernel, 0.1).fit(table, y)
    weights = {(row.column, row.gram): row.weight for row in explain(model).kgrams}
    values = [
        sum(w * counted(gram, table[column][i]) for (column, gram), w in weights.items())
        for i in range(60)
    ]
    assert len(weights) == len(explain(model).kgrams) == 4 + 2 + 4
    assert_allclose(np.array(values) + model.intercept_, model.predict(table), atol=1e-9)


@pytest.mark.parametrize("plain", ["mismatch(k=3)", "mismatch(k=4, m=2)"])
@pytest.mark.parametrize("ending", ["", ".normalized()"])
def test_weights_of_mismatches_add_up_to_the_prediction(plain, ending, data):
    X, y = data
    model = KernelRidge(f"0.5 * {plain}{ending}", alpha=0.2).fit(X, y)
    weights = by_gram(explain(model))
    long = [x for x in X if len(x) >= 4]
    values = np.array([sum(w * counted(gram, x) for gram, w in weights.items()) for x in long])
    lengths = np.sqrt(mercer.kernel(plain).diagonal(long)) if ending else 1.0
    assert_allclose(values / lengths + model.intercept_, model.predict(long), atol=1e-8)


@pytest.mark.parametrize("normalize", [False, True])
def test_weights_of_words_add_up_to_the_prediction(normalize):
    X = ["a good film", "Good actors, bad film!", "bad", "so good so far", "film, a film"]
    model = KernelRidge(Words(normalize), 0.1).fit(X, [1.0, 0.0, -1.0, 2.0, 0.5])
    weights = by_gram(explain(model))
    counts = [Counter(re.findall(r"\w+", x.lower())) for x in X]
    lengths = [np.sqrt(sum(n * n for n in c.values())) if normalize else 1.0 for c in counts]
    values = [sum(weights[w] * n for w, n in c.items()) for c in counts]
    found = np.array(values) / lengths + model.intercept_
    assert_allclose(found, model.predict(X), atol=1e-9)


def test_a_factor_takes_the_rows_in_the_form_in_which_the_kernel_hands_them_over():
    X = [[1, 2, 1, 2], [2, 2, 1, 1], [1, 1, 1, 2]]
    model = KernelRidge(Spectrum(1).scaled_by(lambda rows: 1.0 * rows[:, 0]), 0.1)
    weights = by_gram(explain(model.fit(X, [1.0, 2.0, 0.5])))
    values = [x[0] * sum(weights[(token,)] for token in x) for x in X]
    assert_allclose(np.array(values) + model.intercept_, model.predict(X), atol=1e-9)


def test_words_and_k_grams_that_are_spelled_alike_are_two_rows():
    X = ["ab", "ab cd", "cd", "abab"]
    model = KernelRidge("words(normalize=False) + spectrum(k=2)", 0.1).fit(X, [1.0, 2.0, 0.0, 3.0])
    found = explain(model).kgrams
    pairs = list(zip(found.grams, found.weights[:, 0], strict=True))
    # The words of the first term come first: "ab", "cd" and "abab".
    words, grams = dict(pairs[:3]), dict(pairs[3:])
    values = [
        sum(words[w] for w in x.split()) + sum(w * counted(g, x) for g, w in grams.items())
        for x in X
    ]
    assert_allclose(np.array(values) + model.intercept_, model.predict(X), atol=1e-9)


def test_weights_in_a_product_are_those_at_the_mean_of_the_other_factor(data, rng):
    X, y = data
    table = pd.DataFrame({"s": X, "mass": rng.normal(size=120), "group": ["a", "b", "c"] * 40})
    model = KernelRidge("spectrum(k=2).on(s) * gaussian(1.0).on(mass) * (1 + match.on(group))")
    model.fit(table, y)
    explanation = explain(model)
    weights = by_gram(explanation)
    for i in range(3):
        # The same text beside the other columns of every training row.
        beside = table.assign(s=X[i])
        average = model.predict(beside).mean() - model.intercept_
        assert_allclose(sum(w * counted(g, X[i]) for g, w in weights.items()), average, atol=1e-9)
    assert "at their mean" in str(explanation)


def test_both_texts_of_a_product_have_weights(data):
    X, y = data
    table = pd.DataFrame({"s": X, "u": X[::-1]})
    model = KernelRidge("spectrum(k=2).normalized().on(s) * spectrum(k=1).on(u)").fit(table, y)
    assert {row.column for row in explain(model).kgrams} == {"s", "u"}


@pytest.mark.parametrize(
    "kernel",
    ["spectrum(k=2) ** 2", "spectrum(k=2) * spectrum(k=3)", "spectrum(k=2).exp()"],
)
def test_pairs_of_k_grams_of_one_text_have_no_weights_and_it_says_why(kernel, data):
    X, y = data
    model = KernelRidge(f"0.01 * ({kernel})").fit(X, y)
    explanation = explain(model)
    assert explanation.kgrams is None
    assert "compares pairs of k-grams of the same text" in str(explanation)


def test_terms_that_are_left_out_are_named(data):
    X, y = data
    explanation = explain(KernelRidge("spectrum(k=2) + subsequence(k=2)").fit(X, y))
    assert "not explained: subsequence(k=2, decay=0.5)\n" in str(explanation)
    assert {len(row.gram) for row in explanation.kgrams} == {2}
    table = pd.DataFrame({"s": X, "mass": y})
    model = KernelRidge("spectrum(k=2).on(s) + 2 * linear.on(mass)").fit(table, y)
    assert explain(model).kgrams.left_out == ("2.0 * linear(offset=0.0).on(mass)",)


def test_functions_of_classes_and_pairs_of_classes_are_named(data):
    X, _ = data
    labels = [["x", "y", "z"][x.count("A") % 3] for x in X]
    frame = explain(KernelSVC("spectrum(k=2)").fit(X, labels)).to_pandas()
    assert set(frame.target) == {"x over y", "x over z", "y over z"}
    assert len(frame) == 48
    by_class = explain(KernelLogisticRegression("spectrum(k=2)").fit(X, labels))
    assert set(by_class.to_pandas().target) == {"x", "y", "z"}


def test_k_grams_are_spelled_only_where_they_are_shown(data, monkeypatch):
    X, y = data
    spelled = []
    speller = kmers._Speller.spelled

    def counting(self, places, mask):
        spelled.extend(places)
        return speller(self, places, mask)

    monkeypatch.setattr(kmers._Speller, "spelled", counting)
    explanation = explain(KernelRidge("gapped_kmer(6, 2)").fit(X, y))
    str(explanation)
    assert len(explanation) > 1000
    assert len(spelled) == 20


def test_text_with_any_characters_is_spelled_as_it_is():
    X = ["a\0b\0", "\ud800xy", "日本語a"]
    model = KernelRidge("spectrum(k=2)").fit(X, [1.0, 2.0, 3.0])
    windows = {x[i : i + 2] for x in X for i in range(len(x) - 1)}
    assert set(by_gram(explain(model))) == windows
