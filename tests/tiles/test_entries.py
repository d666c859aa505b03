"""Rows that are mostly zeros, walked along their entries, give what the NumPy twin gives."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

import oracle
from mercer.kernels import Exponential, Gaussian, Laplacian, Linear, Polynomial, Sigmoid
from mercer.native import core
from mercer.tiles import Tile, apply, compile_expression, evaluate, loop_twin
from mercer.tiles.counts import TILED_COLUMNS
from mercer.tiles.operands import bind

native = pytest.importorskip("mercer.tiles.loop", reason="the native core is not built here")
_native = pytest.importorskip("mercer.native._native", reason="the native core is not built here")

t = Tile()
SMOOTH = t.exp(-0.5 * t.squared_distance(4.0))
FORMULAS = {
    "dot": t.dot(),
    "polynomial": (0.5 * t.dot() + 1.0) ** 3,
    "gaussian": SMOOTH,
    "exponential": t.exp(-t.sqrt(t.squared_distance(4.0))),
    "sigmoid": t.tanh(0.1 * t.dot() + 0.2),
    "cosine": t.normalize(t.dot()),
    "laplacian": t.exp(-t.manhattan(20.0)),
    "scaled": t.scale_rows(SMOOTH, lambda X: np.asarray(X.sum(axis=1)) + 1.0),
    "two views": SMOOTH * t.exp(-t.on(range(24)).squared_distance(3.0)) + t.on((0, 1)).dot(),
    "shared": SMOOTH + 0.5 * (t.dot() + 1.0) ** 2 + t.exp(-t.manhattan(20.0)),
}
TOLERANCE = {np.float64: 2e-13, np.float32: 1e-5}


def available_levels() -> list[str]:
    levels = []
    for level in ("v2", "v3", "v4", "plain"):
        try:
            levels.append(core._level(level))
        except ValueError:
            continue
    return levels


def zeros_among(rng, n, width, dtype=np.float64, share=0.1):
    """Rows with this share of entries, one without any, some alike and some nearly so."""
    X = rng.normal(size=(n, width)) * (rng.random((n, width)) < share)
    X[n // 3] = 0.0
    X[n // 2] = X[n // 4]
    X[-1] = X[0] * (1.0 + 1e-6)
    return X.astype(dtype)


def in_form(form, X):
    return sp.csr_array(X) if form == "sparse" else X


def by_twin(program, X, Z=None):
    bound = bind(program, X.astype(float), None if Z is None else Z.astype(float))
    out = np.empty(bound.shape)
    loop_twin.fill(bound, out)
    return out


def by_native(program, X, Z=None):
    bound = bind(program, X, Z)
    assert all(native.takes(o) for o in bound.operands)
    out = np.empty(bound.shape, bound.dtype)
    native.fill(bound, out)
    return out


def multiplied(program, X, Z, V):
    out = np.zeros((X.shape[0], V.shape[1]))
    native.multiply(bind(program, X, Z), V, out)
    return out


def walks(X, Z=None, formula=SMOOTH):
    """Whether the tiles of the first input of a formula walk along the entries of X."""
    bound = bind(compile_expression(formula), X, Z)
    return native.Forms(bound.dtype).sides(bound.operands[0])[2] is not None


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("level", available_levels())
@pytest.mark.parametrize("name", FORMULAS)
def test_walked_tiles_equal_the_twin(name, level, dtype, rng, monkeypatch):
    monkeypatch.setenv("MERCER_CPU", level)
    program = compile_expression(FORMULAS[name])
    for width in (24, 40, 130):
        # Without negative entries no digits are lost to cancellation in any formula.
        X, Z = (np.abs(zeros_among(rng, n, width, dtype)) for n in (301, 70))
        exact = by_twin(program, X, Z)
        for left, right in (("dense", "dense"), ("sparse", "sparse"), ("sparse", "dense")):
            K = by_native(program, in_form(left, X), in_form(right, Z))
            assert K.dtype == dtype
            assert_allclose(K, exact, rtol=TOLERANCE[dtype])


@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [1, 7, 63, 65, 130, 513, 700])
def test_a_gram_matrix_of_any_size_is_right_and_symmetric_to_the_last_bit(n, dtype, form, rng):
    program = compile_expression(FORMULAS["shared"])
    X = zeros_among(rng, n, 40, dtype)
    K = by_native(program, in_form(form, X))
    assert_allclose(K, by_twin(program, X), rtol=TOLERANCE[dtype])
    assert_array_equal(K, K.T)


@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_results_have_the_same_bits_for_any_number_of_threads(dtype, form, rng, monkeypatch):
    X = in_form(form, zeros_among(rng, 3000, 50, dtype))
    V = rng.normal(size=(3000, 2))
    program = compile_expression(FORMULAS["shared"])
    results = []
    for threads in ("1", "2", "5"):
        monkeypatch.setenv("MERCER_THREADS", threads)
        rectangle = by_native(program, X, X[:600]), multiplied(program, X, X[:600], V[:600])
        results.append((by_native(program, X[:1500]), multiplied(program, X, None, V), *rectangle))
    for result in results[1:]:
        for first, other in zip(results[0], result, strict=True):
            assert_array_equal(first, other)


@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize("symmetric", [True, False])
def test_the_product_without_the_matrix_equals_the_product_with_it(symmetric, form, rng):
    X = zeros_among(rng, 700, 60)
    Z = None if symmetric else zeros_among(rng, 300, 60)
    program = compile_expression(FORMULAS["shared"])
    K = by_twin(program, X, Z)
    V = rng.normal(size=(K.shape[1], 3))
    right = None if Z is None else in_form(form, Z)
    gap = np.abs(multiplied(program, in_form(form, X), right, V) - K @ V)
    assert (gap <= 1e-12 * (np.abs(K) @ np.abs(V))).all()


KERNELS = [Gaussian(3.0), Gaussian(0.5), Exponential(2.0), Polynomial(3), Sigmoid(0.1), Linear()]


@pytest.mark.parametrize("offset", [0.0, 5.0, 1e3])
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_every_entry_is_as_accurate_as_promised(kernel, offset, rng):
    X = zeros_among(rng, 301, 90)
    X += offset * (X != 0)
    X[150:] = X[:151] * (1.0 + 1e-7 * rng.normal(size=(151, 90)))
    rows, columns = np.array([3, 40, 100, 160]), np.array([3, 190, 250, 7])
    for dtype, tolerance in ((np.float64, 1e-12), (np.float32, 1e-5)):
        A = X.astype(dtype)
        for form in ("dense", "sparse"):
            K = kernel(in_form(form, A))
            block = np.ascontiguousarray(K[np.ix_(rows, columns)])
            assert oracle.error(block, kernel, A[rows], A[columns]) <= tolerance


@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_identical_rows_have_similarity_one_exactly(dtype, form, rng):
    X = zeros_among(rng, 200, 80, dtype)
    K = Gaussian(3.0)(in_form(form, X), in_form(form, X.copy()))
    assert (np.diagonal(K) == 1.0).all()
    assert K[100, 50] == 1.0


def test_a_few_long_rows_among_short_ones_keep_their_digits(rng):
    X = zeros_among(rng, 400, 60)
    X[::150] *= 1e5
    assert walks(X[1:100], X)
    program = compile_expression(SMOOTH)
    assert_allclose(by_native(program, X[1:100], X), by_twin(program, X[1:100], X), rtol=1e-12)
    shifted = X * (1.0 + 1e-9)
    assert_allclose(by_native(program, X, shifted), by_twin(program, X, shifted), rtol=1e-12)


class TestTheWayIsChosen:
    def test_mostly_zeros_are_walked_along_in_either_form(self, rng):
        X = zeros_among(rng, 100, 60)
        for form in ("dense", "sparse"):
            assert walks(in_form(form, X))
            assert walks(in_form(form, X), X[:70], t.dot())

    def test_rows_with_many_entries_are_not(self, rng):
        X = zeros_among(rng, 100, 60, share=0.5)
        assert not walks(X)
        assert not walks(sp.csr_array(X))

    def test_rows_whose_first_ones_alone_are_zeros_are_not(self, rng):
        X = rng.normal(size=(6400, 30))
        X[::100] = 0.0
        assert not walks(X)
        assert_allclose(evaluate(compile_expression(SMOOTH), X[:200]), Gaussian(4.0)(X[:200]))

    def test_few_columns_are_not(self, rng):
        assert not walks(zeros_among(rng, 100, 12))

    def test_rows_that_are_long_beside_the_length_scale_are_not(self, rng):
        X = zeros_among(rng, 100, 60)
        assert not walks(1e3 * X)
        assert walks(1e3 * X, formula=t.dot())
        assert not walks(30.0 * X.astype(np.float32))

    def test_weights_of_the_columns_are_kept_away_from_it(self, rng):
        X = zeros_among(rng, 100, 30)
        scales = tuple(rng.uniform(2.0, 5.0, 30))
        formula = t.exp(-t.squared_distance(scales))
        assert not walks(X, formula=formula)
        program = compile_expression(formula)
        assert_allclose(by_native(program, sp.csr_array(X)), by_twin(program, X), rtol=1e-12)

    def test_very_many_columns_are_no_tiles(self, rng):
        X = sp.random_array((100, TILED_COLUMNS + 1), density=1e-3, rng=rng, format="csr")
        assert not native.takes(bind(Gaussian().program, X).operands[0])
        assert native.takes(bind(Gaussian().program, X[:, 1:]).operands[0])


@pytest.mark.parametrize("offset", [0.0, 5.0, 1e4])
def test_sparse_rows_with_many_entries_keep_their_digits_wherever_they_are(offset, rng):
    X = offset + rng.normal(size=(150, 40))
    for kernel in (Gaussian(6.0), Laplacian(30.0)):
        K = by_native(kernel.program, sp.csr_array(X), sp.csr_array(X[::-1]))
        assert_allclose(K, by_twin(kernel.program, X, X[::-1]), rtol=1e-12)


def test_indices_of_64_bits_unsorted_ones_and_stored_zeros_are_taken(rng):
    X = zeros_among(rng, 90, 40)
    M = sp.csr_array(X)
    order = np.concatenate(
        [np.arange(a, b)[::-1] for a, b in zip(M.indptr, M.indptr[1:], strict=False)]
    )
    data = M.data[order]
    data[::7] = 0.0
    parts = data, M.indices[order].astype(np.int64), M.indptr.astype(np.int64)
    untidy = sp.csr_array(parts, shape=M.shape)
    assert not untidy.has_sorted_indices
    for kernel in (Gaussian(3.0), Linear(), Laplacian(9.0)):
        exact = by_twin(kernel.program, untidy.toarray())
        assert_allclose(kernel(untidy), exact, rtol=1e-12, atol=1e-14)
        assert_allclose(by_native(kernel.program, untidy), exact, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("width", [1, 2, 30])
def test_rows_without_any_entry_are_taken(width, dtype):
    X = sp.csr_array((80, width), dtype=dtype)
    for rows in (X, X.toarray()):
        assert (Gaussian()(rows) == 1.0).all()
        assert not Linear()(rows).any()


def test_one_column_of_sparse_rows_is_taken(rng):
    X = zeros_among(rng, 90, 1, share=0.3)
    K = Gaussian(1.0)(sp.csr_array(X))
    assert_allclose(K, by_twin(Gaussian(1.0).program, X), rtol=1e-12)


def test_no_rows_on_either_side_give_an_empty_matrix(rng):
    X = zeros_among(rng, 70, 30)
    for form in ("dense", "sparse"):
        A = in_form(form, X)
        assert Gaussian()(A[:0], A).shape == (0, 70)
        assert apply(Gaussian().program, A, A[:0], np.ones(0)).tolist() == [0.0] * 70


@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize("symmetric", [True, False])
def test_terms_over_the_same_rows_have_the_same_entries(symmetric, form, rng):
    X = in_form(form, zeros_among(rng, 300, 40))
    program = compile_expression(SMOOTH + (t.dot() + 1.0) ** 2)
    bound = bind(program, X, None if symmetric else X[:90])
    forms = native.Forms(bound.dtype)
    first, second = (forms.sides(o) for o in bound.operands)
    assert all(a is b for a, b in zip(first, second, strict=True))


class TestGatheredEntries:
    def gathered(self, A, room):
        values, columns = np.empty(room, A.dtype), np.empty(room, np.int32)
        starts = np.empty(len(A) + 1, np.int64)
        count = _native.gather_entries(A, values, columns, starts)
        return count, values[: max(count, 0)], columns[: max(count, 0)], starts

    @pytest.mark.parametrize("dtype", [np.float64, np.float32])
    def test_those_of_any_strides_are_those_that_scipy_finds(self, dtype, rng):
        big = zeros_among(rng, 60, 90, dtype)
        for A in (big, big[::2, ::3], big[::-1, 5:9], np.asfortranarray(big), big.T):
            expected = sp.csr_array(A)
            count, values, columns, starts = self.gathered(A, A.size + A.shape[1])
            assert count == expected.nnz
            assert_array_equal(values, expected.data)
            assert_array_equal(columns, expected.indices)
            assert_array_equal(starts, expected.indptr)

    def test_more_than_there_is_room_for_are_refused(self, rng):
        A = rng.normal(size=(10, 20))
        assert self.gathered(A, 220)[0] == 200
        assert self.gathered(A, 199)[0] == -1
