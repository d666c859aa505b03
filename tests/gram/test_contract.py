"""Gram matrices of ours and of users keep the contract, and a breach is told."""

import numpy as np
import pytest
import scipy.sparse as sp

from mercer.gram import (
    CopiedGram,
    DenseGram,
    FeatureGram,
    FormulaOfPrecomputed,
    Gram,
    LowRankGram,
    PartOfGram,
    PrecomputedGram,
    RecentredGram,
    RepairedGram,
    ScaledGram,
    ShiftedGram,
    SingleGram,
    StreamedGram,
    chain_of,
    gram_of,
    landmark_gram,
    repair_of,
    unheld_gram_of,
    with_copy,
)
from mercer.gram.held import HeldEntriesGram, HeldLandmarkGram
from mercer.kernels import Gaussian, Laplacian, Linear, Precomputed, Sigmoid, Sobolev, Spectrum
from mercer.testing import check_gram

N = 17
KERNEL = Gaussian(1.5) + 0.1 * Linear()
X = np.random.default_rng(0).normal(size=(N, 3))
K = KERNEL(X)
ROWS = np.array([3, 1, 16, 8, 5])
TEXTS = ["".join(np.random.default_rng(i).choice(list("ACGT"), 9)) for i in range(N)]
HEIGHTS = np.abs(X[:, :1])
SPARSE = sp.csr_array(np.maximum(X, 0.0))


class UsersGram(Gram):
    """As little as there has to be."""

    def __init__(self, matrix):
        self.matrix = matrix

    @property
    def shape(self):
        return self.matrix.shape

    @property
    def dtype(self):
        return self.matrix.dtype

    def product(self, V):
        return self.matrix @ V

    def rows(self, index):
        return np.atleast_2d(self.matrix[index])

    def diagonal(self):
        return self.matrix.diagonal()


def indefinite():
    # Symmetric to the last bit, as a finished matrix has to be.
    S = Sigmoid(1.0, -2.0)(X)
    return PrecomputedGram((S + S.T) / 2.0)


GRAMS = {
    "streamed": (lambda: StreamedGram(KERNEL, X), K),
    "streamed CSR": (lambda: StreamedGram(KERNEL, SPARSE), KERNEL(SPARSE.toarray())),
    "streamed texts": (lambda: StreamedGram(Spectrum(2), TEXTS), Spectrum(2)(TEXTS)),
    "float32": (lambda: StreamedGram(KERNEL, X.astype(np.float32)), K),
    "dense": (lambda: gram_of(KERNEL, X), K),
    "dense float32": (lambda: gram_of(KERNEL, X.astype(np.float32)), K),
    "precomputed": (lambda: PrecomputedGram(K), K),
    "formula of precomputed": (
        lambda: unheld_gram_of(2.0 * Precomputed() + 1.0, K),
        2.0 * K + 1.0,
    ),
    "low rank": (lambda: LowRankGram(X), X @ X.T),
    "low rank CSR": (lambda: LowRankGram(SPARSE), SPARSE.toarray() @ SPARSE.toarray().T),
    "features": (lambda: FeatureGram(Linear(1.0), X), X @ X.T + 1.0),
    "features of texts": (lambda: FeatureGram(Spectrum(2), TEXTS), Spectrum(2)(TEXTS)),
    "landmarks": (lambda: landmark_gram(KERNEL, X, N), K),
    "held landmarks": (lambda: HeldLandmarkGram.of(landmark_gram(KERNEL, X, N), np.float64), K),
    "held entries of landmarks": (
        lambda: HeldEntriesGram.of(landmark_gram(Gaussian(0.5), X, N)),
        Gaussian(0.5)(X),
    ),
    "Laplacian on a line": (lambda: chain_of(Laplacian(0.7), X[:, :1]), Laplacian(0.7)(X[:, :1])),
    "Sobolev on a line": (
        lambda: chain_of(2.0 * Sobolev() + 1.0, HEIGHTS),
        2.0 * Sobolev()(HEIGHTS) + 1.0,
    ),
    "part": (lambda: PartOfGram(StreamedGram(KERNEL, X), ROWS), K[np.ix_(ROWS, ROWS)]),
    "part of dense": (lambda: PartOfGram(gram_of(KERNEL, X), ROWS), K[np.ix_(ROWS, ROWS)]),
    "with a copy": (lambda: with_copy(StreamedGram(KERNEL, X)), K),
    "part with a copy": (
        lambda: with_copy(StreamedGram(KERNEL, X)).part(ROWS),
        K[np.ix_(ROWS, ROWS)],
    ),
    "rounded": (lambda: SingleGram(StreamedGram(KERNEL, X)), K),
    "shifted": (lambda: StreamedGram(KERNEL, X).shifted(2.0), K + 2.0 * np.eye(N)),
    "scaled": (
        lambda: ScaledGram(StreamedGram(KERNEL, X), np.arange(1.0, N + 1.0)),
        K * np.outer(np.arange(1.0, N + 1.0), np.arange(1.0, N + 1.0)),
    ),
    "repaired": (lambda: repair_of(indefinite(), "clip").gram, None),
    "recentred": (
        lambda: RecentredGram(StreamedGram(KERNEL, X), 3),
        K - K[:, [3]] - K[[3]] + K[3, 3],
    ),
    "a user's": (lambda: UsersGram(K), K),
    "a user's, float32": (lambda: UsersGram(K.astype(np.float32)), K),
}


@pytest.mark.parametrize("name", GRAMS)
def test_a_gram_keeps_its_contract(name):
    make, matrix = GRAMS[name]
    check_gram(make(), matrix)


@pytest.mark.parametrize("name", [name for name in GRAMS if name != "shared"])
def test_a_limit_that_was_read_is_not_taken_for_one_that_was_given(name, monkeypatch):
    gram, block = GRAMS[name][0](), 20_000
    monkeypatch.setattr("mercer.data.limits.memory.available_bytes", lambda: 1000)
    assert gram.has_room(block)
    assert gram.memory > 0
    assert gram.has_room(block)
    gram.memory = block - 1
    assert not gram.has_room(block)


def test_no_gram_of_ours_is_forgotten():
    def kinds(kind):
        return {kind}.union(*(kinds(sub) for sub in kind.__subclasses__()))

    ours = {k for k in kinds(Gram) if k.__module__.startswith("mercer.gram")}
    abstract = {k for k in ours if k.__abstractmethods__}
    tried = {type(make()) for make, _ in GRAMS.values()}
    assert {CopiedGram, DenseGram, FormulaOfPrecomputed, RepairedGram, ShiftedGram} <= tried
    assert ours - abstract <= tried


BREACHES = {
    "product": (lambda self, V: 1.001 * (self.matrix @ V), "gram @ V is K V"),
    "rows": (lambda self, index: self.matrix[np.atleast_1d(np.arange(N)[index])] + 1e-3, "dense"),
    "diagonal": (lambda self: np.ones(N), "diagonal"),
    "between": (lambda self, rows, columns: np.zeros((2, 2)), "between"),
    "partial_product": (lambda self, rows, columns, V: 0.0 * V, "partial_product"),
    "part": (lambda self, index: self, "a part has shape"),
    "single": (lambda self: self, "single() is float32"),
    "lower": (lambda self, dtype: np.zeros(self.shape, dtype), "lower"),
    "fresh": (lambda self: self.matrix, "fresh"),
    "shifted": (lambda self, d: self, "a shifted matrix"),
    "errors": (lambda self, index: -np.ones((2, 2)), "errors"),
    "features": (lambda self: np.ones((N, 1)), "features"),
    "is_proved": (property(lambda self: True), "positive semi-definite"),
    "stored": (property(lambda self: (np.zeros((N, N)), None)), "stored"),
}


@pytest.mark.parametrize("name", BREACHES)
def test_a_breach_of_the_contract_is_told(name):
    wrong, said = BREACHES[name]
    matrix = K - 2.0 * np.eye(N)
    broken = type("Broken", (UsersGram,), {name: wrong})(matrix.copy())
    with pytest.raises(AssertionError, match="breaks its contract") as told:
        check_gram(broken, matrix)
    assert said in str(told.value)


def test_a_matrix_beyond_the_memory_limit_is_a_breach():
    broken = type("Broken", (UsersGram,), {"lower": lambda self, t: self.matrix.astype(t)})(K)
    with pytest.raises(AssertionError, match=r"lower\(\) beyond the memory is refused"):
        check_gram(broken, K)


def test_an_asymmetric_matrix_is_a_breach():
    with pytest.raises(AssertionError, match="K is symmetric"):
        check_gram(UsersGram(np.triu(K)))


def test_one_row_is_too_few():
    with pytest.raises(ValueError, match="check_gram needs at least two rows, got 1"):
        check_gram(UsersGram(K[:1, :1]))


NEW = np.random.default_rng(1).normal(size=(4, 3))


@pytest.mark.parametrize(
    ("gram", "new", "expected"),
    [
        (StreamedGram(KERNEL, X), NEW, KERNEL(X, NEW)),
        (FeatureGram(Linear(1.0), X), NEW, X @ NEW.T + 1.0),
        (FeatureGram(Spectrum(2), TEXTS), ["ACGT", "T"], Spectrum(2)(TEXTS, ["ACGT", "T"])),
        (PrecomputedGram(K), KERNEL(NEW, X), KERNEL(X, NEW)),
        (FormulaOfPrecomputed(2.0 * Precomputed(), K), KERNEL(NEW, X), 2.0 * KERNEL(X, NEW)),
    ],
    ids=["streamed", "features", "features of texts", "precomputed", "formula of precomputed"],
)
def test_new_rows_are_compared_by_the_kernel(gram, new, expected):
    np.testing.assert_allclose(gram.entries_at(new), expected, atol=1e-12)
    if gram.features() is not None:
        F, G = gram.features_at(new), gram.features()
        products = G @ F.T
        products = products.toarray() if sp.issparse(products) else products
        np.testing.assert_allclose(products, expected, atol=1e-12)


def test_a_gram_without_a_kernel_says_that_it_knows_no_new_rows():
    for ask in (LowRankGram(X).entries_at, UsersGram(K).features_at):
        with pytest.raises(ValueError, match=r"how new rows compare.*use gram_of\(kernel, X\)"):
            ask(NEW)
