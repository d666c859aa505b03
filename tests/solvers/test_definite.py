"""The look for negative curvature: what it finds, and what it leaves alone."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays

from mercer.errors import IndefiniteKernelError
from mercer.gram import PrecomputedGram, StreamedGram, gram_of
from mercer.kernels import AdditiveChi2, FromFunction, Gaussian, Linear, Sigmoid
from mercer.solvers import definite, refuse_indefinite

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
