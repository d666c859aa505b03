"""Kernels of k-grams against counting by hand, on every kind of sequence."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer

import mercer
import strings
from mercer import KernelRidge, KernelSVC, explain
from mercer.gram import gram_of
from mercer.kernels import (
    EditDistance,
    GappedKmer,
    Gaussian,
    Mismatch,
    Spectrum,
    Status,
    Subsequence,
    Words,
)
from mercer.testing import check_kernel
from mercer.tiles import apply
from refusals import refuses

ODD = ["", "a", "ab", "abracadabra", "naïve café", "日本語", "😀😀😀😀"]
KERNELS = [
    Spectrum(2),
    Spectrum((1, 2, 3), (0.5, 1.0, 2.0)),
    Spectrum(3, normalize=True),
    GappedKmer(4, 2),
    Mismatch(3, 1, 6),
    Subsequence(2, 0.7),
    Subsequence((1, 3), 0.5),
    EditDistance(2.0),
    Words(),
    Words(normalize=False),
    0.5 * Spectrum(2).normalized() + Subsequence(2) ** 2,
]


def test_a_text_holds_on_twice():
    assert Spectrum(2)(["the common construct"], ["on"]).item() == 2.0


@pytest.mark.parametrize("k", [1, 2, 3, 5, 8, 9, 15])
def test_spectrum_counts_common_k_grams(rng, k):
    X, Z = (ODD + strings.words(rng, 15, letters, 20) for letters in ("ab", "abé"))
    expected = strings.gram(lambda s, t: strings.spectrum(s, t, k), X, Z)
    assert_array_equal(Spectrum(k)(X, Z), expected)
    assert_array_equal(Spectrum(k)(X), strings.gram(lambda s, t: strings.spectrum(s, t, k), X, X))


def test_spectrum_agrees_with_scikit_learns_counts(rng):
    X = strings.words(rng, 40, "ACGT", 30)
    F = CountVectorizer(analyzer="char", ngram_range=(3, 3), lowercase=False).fit_transform(X)
    assert_array_equal(Spectrum(3)(X), (F @ F.T).toarray())


def test_several_lengths_are_blended_with_their_weights(rng):
    X = strings.words(rng, 20)
    blended = 0.5 * Spectrum(1)(X) + 2.0 * Spectrum(3)(X)
    assert_allclose(Spectrum((1, 3), (0.5, 2.0))(X), blended, rtol=1e-14)
    assert_array_equal(Spectrum((1, 3))(X), Spectrum(1)(X) + Spectrum(3)(X))


@pytest.mark.parametrize(("g", "m"), [(3, 0), (3, 1), (5, 2), (7, 3), (4, 3), (12, 2)])
def test_gapped_k_mers_are_counted_mask_by_mask(rng, g, m):
    X = strings.words(rng, 12, "abc", 18)
    expected = strings.gram(lambda s, t: strings.gapped(s, t, g, m), X, X)
    assert_array_equal(GappedKmer(g, m)(X), expected)


def test_wide_windows_agree_with_their_definition_through_every_door(rng):
    X, Z = strings.words(rng, 10, "ab", 30), strings.words(rng, 6, "abc", 30)
    k, d = GappedKmer(11, 6), 1.0 / 3.0
    K, B = (strings.gram(lambda s, t: strings.gapped(s, t, 11, 6), X, R) for R in (X, Z))
    assert_array_equal(k(X), K)
    assert_array_equal(k(X, Z), B)
    assert_array_equal(k(Z, X), B.T)
    assert_array_equal(k.diagonal(X), np.diagonal(K))
    assert_allclose(apply(k.program, X, None, np.ones(10)), K @ np.ones(10), rtol=1e-14)
    assert_allclose((d * k + Spectrum(2))(X), d * K + Spectrum(2)(X), rtol=1e-14)
    roots = np.sqrt(np.diagonal(K))
    safe = np.where(roots > 0, roots, 1.0)
    assert_allclose(k.normalized()(X), K / np.outer(safe, safe), rtol=1e-14)


@pytest.mark.parametrize(("g", "m"), [(20, 10), (40, 20)])
def test_windows_with_gaps_in_more_ways_than_can_be_counted_are_compared(rng, g, m):
    texts = ["".join(rng.choice(list("AC"), n)) for n in (60, 45, g, g - 1, 0)]
    windows = [[t[i : i + g] for i in range(len(t) - g + 1)] for t in texts]

    def value(a, b):
        agreements = (sum(map(str.__eq__, u, v)) for u in a for v in b)
        return sum(math.comb(e, g - m) for e in agreements)

    expected = np.array([[value(a, b) for b in windows] for a in windows], np.float64)
    k = GappedKmer(g, m)
    assert_allclose(k(texts), expected, rtol=1e-13)
    assert_allclose(k.diagonal(texts), np.diagonal(expected), rtol=1e-13)
    assert k.n_features(texts) is None
    model = KernelRidge(k.normalized(), 0.1).fit(texts, np.arange(5.0))
    assert np.isfinite(model.predict(texts)).all()
    with pytest.raises(ValueError, match="more than the 65536 ways that can be counted"):
        explain(model)


@pytest.mark.parametrize(("k", "m"), [(3, 0), (3, 1), (3, 2), (4, 2), (5, 1)])
@pytest.mark.parametrize("letters", ["ab", "abc"])
def test_mismatches_are_those_of_every_word_near_both(rng, k, m, letters):
    X = strings.words(rng, 8, letters, 9)
    expected = strings.gram(lambda s, t: strings.mismatch(s, t, k, m, letters), X, X)
    assert_array_equal(Mismatch(k, m, len(letters))(X), expected)


def test_mismatch_without_mismatches_is_the_spectrum(rng):
    X = strings.words(rng, 20, "ACGT", 20)
    assert_array_equal(Mismatch(4, 0)(X), Spectrum(4)(X))


@pytest.mark.parametrize("kernel", [Mismatch(3, 1), 2.0 * Mismatch(3, 1).normalized() + 1.0])
def test_mismatch_refuses_more_letters_than_it_was_told(kernel):
    message = "Mismatch(letters=4) was given rows of 5 different symbols; give letters=5 or more"
    refuses(message, kernel, ["ACGTN"])
    refuses(message, kernel.on("s"), {"s": ["ACGT", "N"]})
    refuses(message, gram_of, kernel, ["ACGT", "N"])
    refuses(message, KernelRidge(kernel).fit, ["ACGT", "N"], [1.0, 2.0])


@pytest.mark.parametrize(("k", "m"), [(2, 1), (3, 1), (3, 2)])
def test_mismatch_compares_symbols_never_seen_by_the_distance_of_windows(rng, k, m):
    X, Z = strings.words(rng, 6, "acgt", 9), ["nn", "acgtn", "", "nmoacpq", "acgt"]
    kernel = Mismatch(k, m)

    def windows(x):
        return [x[i : i + k] for i in range(len(x) - k + 1)]

    def value(s, t):
        pairs = ((a, b) for a in windows(s) for b in windows(t))
        return sum(kernel.shared(sum(map(str.__ne__, a, b))) for a, b in pairs)

    assert_array_equal(kernel(X, Z), strings.gram(value, X, Z))
    assert_array_equal(kernel(Z, X), strings.gram(value, Z, X))


def test_what_mismatch_predicts_at_a_row_does_not_depend_on_the_rows_beside_it():
    X = ["acgt", "aacc", "ggtt"]
    for model in (KernelRidge(Mismatch(2, 1)), KernelSVC(Mismatch(2, 1))):
        model.fit(X, [1.0, 2.0, 1.0])
        rows = ["nn", "acgt", "acgtn", "op"]
        assert_array_equal(model.predict(rows), [model.predict([row])[0] for row in rows])


def test_words_agree_with_scikit_learns_hashed_counts():
    X = ["The cat sat.", "the CAT, the dog", "", "größer als_2 'x'", "..."]
    peer = HashingVectorizer(token_pattern=r"\w+", alternate_sign=False)
    F = peer.transform(X)
    assert_allclose(Words()(X), (F @ F.T).toarray(), atol=1e-15)
    F = peer.set_params(norm=None).transform(X)
    assert_array_equal(Words(normalize=False)(X), (F @ F.T).toarray())


def test_words_read_text_only():
    with pytest.raises(ValueError, match=r"X holds list \['a'\] at row 0; text is needed there"):
        Words()([["a"]])


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_kernel_of_sequences_keeps_its_contract(kernel, rng):
    X = strings.words(rng, 9, "abcde", 12)
    check_kernel(kernel, ["", *X], ["abc abc", *X[:4]])


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_normalised_values_are_ones_on_the_diagonal_or_zero(kernel):
    X = ["", "a", "abcd", "bcdebcde"]
    K, d = kernel.normalized()(X), kernel.diagonal(X)
    assert_allclose(np.diagonal(K), d > 0, atol=1e-12)
    assert not np.isnan(K).any()
    assert_array_equal(K[d == 0], 0.0)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_a_kernel_of_sequences_is_read_back_from_its_text(kernel):
    assert mercer.kernel(str(kernel)) == kernel


@pytest.mark.parametrize(
    ("text", "kernel"),
    [
        ("spectrum", Spectrum(3)),
        ("spectrum(k=4)", Spectrum(4)),
        ("spectrum(k=[1, 2], weights=[1, 0.5])", Spectrum((1, 2), (1.0, 0.5))),
        ("spectrum(weights=None, normalize=True)", Spectrum(normalize=True)),
        ("subseq(k=2)", Subsequence(2, 0.5)),
        ("subsequence", Subsequence(3, 0.5)),
        ("gapped_kmer(7, 3)", GappedKmer(7, 3)),
        ("edit_distance(scale=2)", EditDistance(2.0)),
        ("words().on(title)", Words().on("title")),
    ],
)
def test_kernels_of_sequences_have_names(text, kernel):
    assert mercer.kernel(text) == kernel


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Spectrum(0), "Spectrum: k must be a whole number of at least 1, got 0"),
        (lambda: Spectrum(()), "several different ones, got ()"),
        (lambda: Spectrum((2, 2)), "several different ones, got (2, 2)"),
        (lambda: Spectrum(2, (1.0, 2.0)), "weights must have one entry for each of 1 lengths"),
        (lambda: Spectrum(2, (-1.0,)), "Spectrum: weights must not be negative"),
        (lambda: Spectrum(normalize=1), "Spectrum: normalize must be True or False, got 1"),
        (lambda: GappedKmer(3, 3), "GappedKmer: m must be less than g = 3, got 3"),
        (lambda: GappedKmer(3, -1), "GappedKmer: m must be a whole number of at least 0, got -1"),
        (lambda: GappedKmer(70, 35), "more than the 65536 ways that can be counted"),
        (lambda: Mismatch(40, 10), "more than the 65536 ways that can be counted"),
        (lambda: Mismatch(2, 2), "Mismatch: m must be less than k = 2, got 2"),
        (lambda: Subsequence(2, 1.5), "Subsequence: decay must lie between 0 and 1, got 1.5"),
        (lambda: Subsequence(2, -0.1), "Subsequence: decay must lie between 0 and 1, got -0.1"),
        (lambda: EditDistance(0.0), "EditDistance: scale must be positive, got 0.0"),
    ],
)
def test_parameters_that_mean_nothing_are_refused(make, message):
    with pytest.raises(ValueError) as refusal:
        make()
    assert message in str(refusal.value)


@pytest.mark.parametrize("kernel", [k for k in KERNELS if not isinstance(k, EditDistance)], ids=str)
def test_kernels_with_explicit_features_are_proved(kernel):
    assert kernel.check().status == Status.PROVED


@pytest.mark.parametrize("kernel", [Spectrum(10**30), Subsequence(10**30), Mismatch(10**30, 0)])
def test_windows_longer_than_all_rows_have_nothing_in_common(kernel):
    assert_array_equal(kernel(["abc", ""]), np.zeros((2, 2)))
    assert_array_equal(kernel.diagonal(["abc", ""]), np.zeros(2))


def test_tokens_are_counted_like_letters(rng):
    words = strings.words(rng, 15)
    names = {"a": "alpha", "b": ("beta", 2), "c": 3.0}
    tokens = [[names[c] for c in word] for word in words]
    for kernel in (Spectrum(2), GappedKmer(3, 1), Subsequence(2), EditDistance()):
        assert_array_equal(kernel(tokens), kernel(words))
    mixed = [list(word) if i % 2 else word for i, word in enumerate(words)]
    assert_array_equal(Spectrum(2)(words, mixed), Spectrum(2)(words))


def test_symbols_never_seen_on_the_other_side_have_nothing_in_common():
    for kernel in (Spectrum(1), GappedKmer(2, 1), Subsequence(2), Words()):
        assert_array_equal(kernel(["abab", ""], ["xyz"]), np.zeros((2, 1)))


def test_a_kernel_on_columns_mixes_text_and_numbers(rng):
    table = {"smiles": strings.words(rng, 12), "mass": rng.random(12)}
    kernel = mercer.kernel("spectrum(k=2).on(smiles) * gaussian.on(mass)")
    expected = Spectrum(2)(table["smiles"]) * Gaussian()(table["mass"][:, None])
    assert_allclose(kernel(table), expected, rtol=1e-12)


def test_formulas_name_the_features():
    assert Spectrum(3).latex() == r"\phi_{3}(x)^\top \phi_{3}(z)"
    assert GappedKmer(7, 3).latex() == r"\phi_{7,\,3}(x)^\top \phi_{7,\,3}(z)"
    assert Subsequence((1, 2)).latex() == (
        r"\sum_{\lvert u\rvert \in \{1,\,2\}} \phi_u(x) \phi_u(z)"
    )
    assert "levenshtein" in EditDistance(2.0).latex()


def test_sparse_features_have_the_kernel_as_inner_products(rng):
    X = strings.words(rng, 15)
    kernel = Spectrum((1, 2), (1.0, 0.5), normalize=True)
    F = kernel.features(X)
    assert F.shape == (len(X), kernel.n_features(X))
    assert_allclose((F @ F.T).toarray(), kernel(X), atol=1e-14)


def test_features_have_the_columns_of_the_rows_that_are_named(rng):
    X, Z = strings.words(rng, 15), strings.words(rng, 9)
    kernel = GappedKmer(3, 1) + 2.0 * Spectrum(2)
    F, G = kernel.features(X), kernel.features(Z, of=X)
    assert G.shape == (9, F.shape[1])
    assert_allclose((G @ F.T).toarray(), kernel(Z, X), atol=1e-12)


def test_features_are_named_by_their_k_grams():
    texts = ["abab", "bac"]
    F, names = Spectrum((2, 1)).features(texts), Spectrum((2, 1)).feature_names(texts)
    counts = [dict(zip(names, row, strict=True)) for row in F.toarray().astype(int).tolist()]
    assert counts == [
        {"ab": 2, "ba": 1, "ac": 0, "a": 2, "b": 2, "c": 0},
        {"ab": 0, "ba": 1, "ac": 1, "a": 1, "b": 1, "c": 1},
    ]
    tokens = [["x", 1, "x"], [1, "x"]]
    assert sorted(map(str, Spectrum(2).feature_names(tokens))) == ["('x', 1)", "(1, 'x')"]
    assert GappedKmer(2, 1).feature_names(["ab"]) == ["a.", ".b"]


def test_features_without_names_say_so():
    with pytest.raises(ValueError, match=r"the features of linear\(offset=0.0\) have no names"):
        mercer.Linear().feature_names(np.eye(2))


def test_very_many_lengths_of_k_grams_are_compared_by_their_matrix():
    texts = ["abracadabra", "alakazam", "hocuspocus"]
    kernel = Spectrum(tuple(range(1, 10)))
    assert kernel.n_features(texts) is None
    model = KernelRidge(kernel, 0.1).fit(texts, [1.0, 2.0, 3.0])
    K = sum(Spectrum(k)(texts) for k in range(1, 10))
    assert_allclose(kernel(texts), K)
    assert_allclose(model.predict(texts), K @ model.dual_coef_ + model.intercept_)


def test_case_is_folded_on_request():
    mixed, small = ["acgtAC", "TTGac"], ["acgtac", "ttgac"]
    refuses("give case='fold', if 'a' and 'A' are the same, or letters=8", Mismatch(3), mixed)
    folded = Mismatch(3, case="fold")
    assert_array_equal(folded(mixed), Mismatch(3)(small))
    assert_array_equal(folded(mixed, small), Mismatch(3)(small))
    assert_array_equal(folded([list(row) for row in mixed]), Mismatch(3)(small))
    assert mercer.kernel(str(folded)) == folded
    assert folded.with_params(case="keep") == Mismatch(3)


def test_case_of_letters_beyond_ascii_is_folded_one_for_one():
    folded = Mismatch(2, letters=9, case="fold")
    assert_array_equal(folded(["ÄÖß", "\u212aİ"]), folded(["äöß", "kİ"]))
