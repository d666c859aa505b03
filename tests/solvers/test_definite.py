"""The look for negative curvature: what it finds, and what it leaves alone."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays

from mercer.errors import IndefiniteKernelError
from mercer.gram import PrecomputedGram, StreamedGram, gram_of
from mercer.kernels import AdditiveChi2, FromFunction, Gaussian, Linear, Sigmoid
from mercer.solvers import definite, refuse_indefinite
from mercer.solvers.definite import _lanczos, _lowest, _rounding, _smallest

INDEFINITE = Sigmoid(1.0, -1.0)


def centring(n):
    return np.eye(n) - 1.0 / n


def refused(gram, **settings):
    """The form that a Gram matrix is refused for, which has to hold for its entries."""
    with pytest.raises(IndefiniteKernelError) as refusal:
        refuse_indefinite(gram, **settings)
    form = refusal.value.witness
    c = form.coefficients
    np.testing.assert_allclose(c @ (gram @ c), form.value, rtol=1e-6)
    assert form.value < -form.rounding_bound < 0.0
    return form


@pytest.mark.parametrize("make", [StreamedGram, gram_of, lambda k, X: PrecomputedGram(k(X))])
def test_negative_curvature_is_found(points, make):
    refused(make(INDEFINITE, points(100)))


@pytest.mark.parametrize(
    "kernel", [Gaussian(2.0), Linear(), FromFunction(lambda A, B: A @ B.T)], ids=str
)
def test_nothing_is_found_against_a_positive_kernel(points, kernel):
    refuse_indefinite(gram_of(kernel, points(100)))


def test_a_proved_kernel_is_not_looked_at(points, monkeypatch):
    monkeypatch.setattr(StreamedGram, "diagonal", None)
    refuse_indefinite(StreamedGram(Gaussian(), points(5)))


@given(arrays(np.float64, (6, 6), elements=st.integers(-50, 50).map(float)), st.booleans())
def test_it_is_the_sign_of_the_least_eigenvalue(A, on_sum_zero):
    K = A + A.T
    C = centring(6) if on_sum_zero else np.eye(6)
    size = np.abs(K).max()
    least = np.linalg.eigvalsh(C @ K @ C)[0]
    if least < -1e-9 * size:
        form = refused(PrecomputedGram(K), on_sum_zero=on_sum_zero)
        assert not on_sum_zero or abs(form.coefficients.sum()) < 1e-12
    elif least > -1e-13 * size:
        refuse_indefinite(PrecomputedGram(K), on_sum_zero)


@given(arrays(np.float64, (6, 3), elements=st.floats(-1e3, 1e3)))
def test_what_rounding_explains_is_no_refutation(F):
    refuse_indefinite(PrecomputedGram(F @ F.T))


@pytest.mark.parametrize("scale", [1e-300, 1e-30, 1.0, 1e150])
def test_the_size_of_the_entries_does_not_matter(scale):
    K = np.array([[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    assert np.count_nonzero(refused(PrecomputedGram(scale * K)).coefficients) == 2


@pytest.mark.parametrize("K", [[[-1.0]], [[0.0, 1.0], [1.0, 0.0]], [[-2.0, 0.0], [0.0, 3.0]]])
def test_diagonals_that_are_not_positive_are_no_shelter(K):
    refused(PrecomputedGram(np.array(K)))


@pytest.mark.parametrize("K", [np.zeros((4, 4)), np.ones((4, 4)), np.ones((1, 1))])
@pytest.mark.parametrize("on_sum_zero", [True, False])
def test_equal_rows_and_the_zero_kernel_pass(K, on_sum_zero):
    refuse_indefinite(PrecomputedGram(K), on_sum_zero)


def test_on_coefficients_of_sum_zero_a_conditional_kernel_passes(points):
    K = AdditiveChi2()(points(50, non_negative=True))
    refuse_indefinite(PrecomputedGram(K), on_sum_zero=True)
    refused(PrecomputedGram(K))


def test_a_witness_has_few_rows(points):
    K = Gaussian(2.0)(points(200))
    K[3, 150] = K[150, 3] = 1.5
    assert np.flatnonzero(refused(PrecomputedGram(K)).coefficients).tolist() == [3, 150]


def test_a_matrix_in_float32_is_granted_its_rounding(points):
    K = Linear()(points(80)).astype(np.float32)
    assert np.linalg.eigvalsh(K.astype(np.float64))[0] < -1e-8
    refuse_indefinite(PrecomputedGram(K))


def test_a_function_may_lose_half_of_its_digits(points):
    def rough(A, B):
        return np.round(A @ B.T, 8)

    assert np.linalg.eigvalsh(rough(*[points(80)] * 2))[0] < -1e-9
    refuse_indefinite(gram_of(FromFunction(rough), points(80)))


def test_terms_that_cancel_are_no_refutation(points):
    # c'Kc is negative beyond the rounding of the entries, not of the products they are sums of.
    X = points(3, 4) * 1e6
    far = Sigmoid(1e-9, 0.0)
    refuse_indefinite(StreamedGram(far, np.hstack([X, X[:, ::-1] * 1e-3])))


def test_entries_that_are_not_finite_are_refused():
    with pytest.raises(ValueError, match="not finite"):
        refuse_indefinite(StreamedGram(Linear(-1.0), np.full((3, 2), 1e200)))


# Of many rows a sample is factored, and some products are made.


@pytest.fixture
def few(monkeypatch):
    monkeypatch.setattr(definite, "MOST", 40)


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("make", [StreamedGram, gram_of])
@pytest.mark.parametrize("on_sum_zero", [True, False])
def test_of_many_rows_negative_curvature_is_found(points, make, on_sum_zero):
    form = refused(make(INDEFINITE, points(300)), on_sum_zero=on_sum_zero)
    assert np.count_nonzero(form.coefficients) <= 40


@pytest.mark.usefixtures("few")
def test_what_the_sample_lacks_the_products_see():
    K = np.eye(300)
    K[7, 8] = K[8, 7] = 3.0
    assert np.flatnonzero(refused(PrecomputedGram(K)).coefficients).tolist() == [7, 8]


@pytest.mark.usefixtures("few")
def test_without_products_the_sample_alone_is_looked_at(points, monkeypatch):
    monkeypatch.setattr(StreamedGram, "product", None)
    with pytest.raises(IndefiniteKernelError):
        refuse_indefinite(StreamedGram(INDEFINITE, points(300)), products=0)
    refuse_indefinite(StreamedGram(FromFunction(Gaussian()), points(300)), products=0)


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("on_sum_zero", [True, False])
def test_of_many_rows_a_positive_kernel_passes(points, on_sum_zero):
    refuse_indefinite(PrecomputedGram(Gaussian(3.0)(points(300))), on_sum_zero)


@pytest.mark.usefixtures("few")
def test_of_many_rows_a_conditional_kernel_passes_where_it_is_valid(points):
    K = AdditiveChi2()(points(300, non_negative=True))
    refuse_indefinite(PrecomputedGram(K), on_sum_zero=True)


def test_little_memory_is_kept_to(points):
    refused(StreamedGram(INDEFINITE, points(300), memory=100_000))


@pytest.mark.parametrize(("share", "is_found"), [(0.9, False), (1.1, True)])
@pytest.mark.parametrize("size", [1.0, 1e200])
def test_the_lowest_vector_is_told_beyond_rounding_of_the_largest_entry(share, is_found, size):
    # t = e + 4 n eps of the largest entry, which is 2 here.
    e, n = 1e-3, 3
    t = e + 4 * n * np.finfo(float).eps
    K = size * np.diag([2.0, -share * 2.0 * t, 1.0])
    found = _lowest(K.copy(), e, False)
    assert (found is not None) is is_found
    if is_found:
        np.testing.assert_allclose(np.abs(found), [0.0, 1.0, 0.0], atol=1e-9)


def test_on_sums_of_zero_one_row_and_the_zero_matrix_have_no_lowest_vector():
    assert _lowest(-np.ones((1, 1)), 0.0, True) is None
    assert _lowest(-np.ones((1, 1)), 0.0, False) is not None
    assert _lowest(np.zeros((3, 3)), 0.0, False) is None
    # Negative along the ones only, which have no sum of zero.
    K = np.eye(3) - 0.6
    assert _lowest(K.copy(), 0.0, False) is not None
    assert _lowest(K.copy(), 0.0, True) is None
    c = _lowest(-np.eye(3), 0.0, True)
    assert c is not None


@pytest.mark.parametrize("n", [5, 40])
def test_the_least_ritz_value_of_all_products_is_the_least_eigenvalue(rng, n):
    A = rng.normal(size=(n, n))
    K = A + A.T
    q = rng.normal(size=n)
    c = _lanczos(PrecomputedGram(K), q, n, False)
    value, vectors = np.linalg.eigh(K)
    np.testing.assert_allclose(c @ K @ c / (c @ c), value[0], rtol=1e-6)
    np.testing.assert_allclose(np.abs(c @ vectors[:, 0]), 1.0, rtol=1e-4)
    assert _lanczos(PrecomputedGram(A @ A.T + np.eye(n)), q, n, False) is None


def test_ritz_values_are_those_of_the_krylov_space(rng):
    A = rng.normal(size=(30, 30))
    K, q = A + A.T, rng.normal(size=30)
    basis = np.linalg.qr(np.column_stack([q, K @ q, K @ (K @ q)]))[0]
    values, vectors = np.linalg.eigh(basis.T @ K @ basis)
    c = _lanczos(PrecomputedGram(K), q, 3, False)
    np.testing.assert_allclose(c @ K @ c, values[0], rtol=1e-8)
    np.testing.assert_allclose(np.abs(c @ (basis @ vectors[:, 0])), 1.0, rtol=1e-8)


def test_a_krylov_space_that_is_exhausted_ends(rng):
    K = np.diag([3.0, -1.0, -1.0, 3.0])
    c = _lanczos(PrecomputedGram(K), np.ones(4), 4, False)
    np.testing.assert_allclose(c @ K @ c, -1.0)
    centred = _lanczos(PrecomputedGram(-np.eye(4)), np.array([1.0, 2.0, 3.0, 5.0]), 4, True)
    np.testing.assert_allclose(centred.sum(), 0.0, atol=1e-9)


@pytest.mark.parametrize("on_sum_zero", [True, False])
def test_the_witness_is_on_the_fewest_rows_of_a_doubling_that_show_it(on_sum_zero):
    K = np.eye(10)
    K[3, 7] = K[7, 3] = 1.0 + 1e-3 if not on_sum_zero else 1.5
    gram = PrecomputedGram(K)
    c = np.full(10, 0.01)
    c[3], c[7] = 0.7, -0.7
    refusal = _smallest(gram, np.arange(10), c, on_sum_zero)
    used = np.flatnonzero(refusal.witness.coefficients)
    assert used.tolist() == [3, 7]


def test_rounding_is_the_error_of_an_entry_and_four_units_for_every_row():
    assert _rounding(10, 1e-9) == 1e-9 + 40.0 * np.finfo(float).eps


def test_as_many_rows_are_looked_at_as_the_memory_holds_of_three_matrices(monkeypatch):
    seen = []

    def entries(gram, rows):
        seen.append(rows)
        return np.eye(len(rows))

    monkeypatch.setattr(definite, "_entries", entries)
    gram = PrecomputedGram(np.eye(50))
    for memory, m in ((24 * 400, 20), (24 * 400 - 1, 19), (1 << 30, 50), (1, 2)):
        gram.memory = memory
        seen.clear()
        found = list(definite._suspects(gram, False, 0))
        assert len(seen[0]) == m
        assert (np.diff(seen[0]) > 0).all()
        assert len(found) == 1
        # Products are taken where not all entries were looked at.
        assert len(list(definite._suspects(gram, False, 3))) == (1 if m == 50 else 2)


@pytest.mark.parametrize(("on_sum_zero", "sizes"), [(False, [1, 2, 4, 8]), (True, [2, 4, 8])])
def test_a_witness_is_looked_for_on_twice_as_many_rows_until_they_are_all(
    monkeypatch, on_sum_zero, sizes
):
    seen = []

    def lowest(K, entry, on_sum_zero):
        seen.append(len(K))

    monkeypatch.setattr(definite, "_lowest", lowest)
    gram = PrecomputedGram(-np.eye(11))
    refusal = _smallest(gram, np.arange(11), np.arange(1.0, 12.0) ** 2, on_sum_zero)
    assert seen == sizes
    assert np.count_nonzero(refusal.witness.coefficients) == 11
    seen.clear()
    monkeypatch.setattr(definite, "MOST", 4)
    _smallest(gram, np.arange(11), np.arange(1.0, 12.0) ** 2, on_sum_zero)
    assert seen == [size for size in sizes if size <= 4]
