"""Every entry within 1e-12 of the formula in 40 digits, or 1e-5 in single precision."""

import numpy as np
import pytest

import oracle
from catalogue import HISTOGRAM, INNER_PRODUCT, STATIONARY, needs_non_negative
from mercer.kernels import (
    Bilinear,
    Chi2,
    Constant,
    Exponential,
    Gaussian,
    InverseMultiquadric,
    Laplacian,
    Linear,
    Matern32,
    Matern52,
    Periodic,
    Polynomial,
    RationalQuadratic,
    Sigmoid,
    Sobolev,
)
from mercer.tiles import apply

DOUBLE, SINGLE = 1e-12, 1e-5
WIDTHS = [1, 3, 8, 30, 90, 200]
KERNELS = [*STATIONARY, *INNER_PRODUCT, *HISTOGRAM]
COMPOSITES = [
    Gaussian(1.5) + 0.5 * Polynomial(2) + Exponential(2.0),
    (Gaussian(1.5) + Laplacian(3.0)) * Matern52(2.0),
    (0.01 * Polynomial(2)).exp(),
    Polynomial(2).normalized(),
]
# Identical rows are exactly alike.
UNIT = [k for k in STATIONARY if not isinstance(k, InverseMultiquadric)]


def pair(kernel, X, Z):
    """Both sides, read-only, within the domain of the kernel."""
    sides = [np.abs(S) if needs_non_negative(kernel) else np.array(S) for S in (X, Z)]
    for side in sides:
        side.flags.writeable = False
    return sides


def far(kernel, offset, d):
    """The offset, or the largest of which a product over the columns does not overflow."""
    return min(offset, 1e30 ** (1.0 / d)) if isinstance(kernel, Sobolev) else offset


def at_scale(kernel, length_scale):
    """The kernel with another length scale, if it has one."""
    if hasattr(kernel, "length_scale"):
        return kernel.with_params(length_scale=length_scale)
    return kernel


@pytest.mark.parametrize("d", WIDTHS)
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
class TestDouble:
    def test_plain_points(self, kernel, d, rng):
        X, Z = pair(kernel, rng.normal(size=(4, d)), rng.normal(size=(4, d)))
        assert oracle.error(kernel(X, Z), kernel, X, Z) <= DOUBLE

    def test_points_far_from_the_origin(self, kernel, d, rng):
        X, Z = pair(kernel, *(far(kernel, 1e6, d) + rng.normal(size=(2, 4, d))))
        assert oracle.error(kernel(X, Z), kernel, X, Z) <= DOUBLE

    def test_nearly_equal_points(self, kernel, d, rng):
        X = rng.normal(size=(4, d))
        X, Z = pair(kernel, X, X + 1e-9 * rng.normal(size=X.shape))
        assert oracle.error(kernel(X, Z), kernel, X, Z) <= DOUBLE

    def test_short_length_scales(self, kernel, d, rng):
        kernel = at_scale(kernel, 1e-3)
        X = rng.normal(size=(4, d))
        X, Z = pair(kernel, X, X + 1e-3 * rng.normal(size=X.shape))
        assert oracle.error(kernel(X, Z), kernel, X, Z) <= DOUBLE


@pytest.mark.parametrize("d", WIDTHS)
def test_the_smallest_values_keep_their_digits(d, rng):
    X, Z = rng.normal(size=(4, d)), rng.normal(size=(4, d))
    reach = np.linalg.norm(X[:, None] - Z[None], axis=2).max()
    spread = np.abs(X[:, None] - Z[None]).sum(axis=2).max()
    for kernel in (
        Gaussian(reach / 36.0),
        Exponential(reach / 650.0),
        Laplacian(spread / 650.0),
        Matern32(reach * 3**0.5 / 650.0),
        Matern52(reach * 5**0.5 / 650.0),
    ):
        K = kernel(X, Z)
        assert K.min() < 1e-270
        assert oracle.error(K, kernel, X, Z) <= DOUBLE


@pytest.mark.parametrize("d", [3, 30, 200])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_nearly_equal_points_among_others_far_away(d, offset, rng):
    X = offset + np.vstack([rng.normal(size=(3, d)), 1e3 * rng.normal(size=(3, d))])
    Z = X + 1e-7 * rng.normal(size=X.shape)
    for kernel in (Gaussian(1e-6 * d**0.5), Exponential(1e-7), Matern32(1e-7), Gaussian(1e3)):
        assert oracle.error(kernel(X, Z), kernel, X, Z) <= DOUBLE


@pytest.mark.parametrize("d", [3, 30])
@pytest.mark.parametrize("kernel", COMPOSITES, ids=str)
def test_composites(kernel, d, rng):
    X, Z = rng.normal(size=(4, d)), rng.normal(size=(4, d))
    assert oracle.error(kernel(X, Z), kernel, X, Z) <= DOUBLE


@pytest.mark.parametrize("kind", [Gaussian, Exponential, Laplacian, Matern32, RationalQuadratic])
def test_length_scales_of_very_different_size(kind, rng):
    kernel = kind((1e-6, 1.0, 1e6))
    X = 1e3 + rng.normal(size=(5, 3)) * [1e-6, 1.0, 1e6]
    Z = X + rng.normal(size=X.shape) * [1e-6, 1.0, 1e6]
    assert oracle.error(kernel(X, Z), kernel, X, Z) <= DOUBLE


@pytest.mark.parametrize("d", [1, 8, 90])
def test_bilinear(d, rng):
    A = rng.normal(size=(d, d))
    kernel = Bilinear(A + A.T)
    X, Z = rng.normal(size=(4, d)), 1e6 + rng.normal(size=(3, d))
    assert oracle.error(kernel(X, Z), kernel, X, Z) <= DOUBLE


@pytest.mark.parametrize("d", WIDTHS)
@pytest.mark.parametrize("offset", [0.0, 1e6])
@pytest.mark.parametrize("kernel", UNIT, ids=str)
def test_identical_rows_have_similarity_one_exactly(kernel, offset, d, rng):
    X = offset + rng.normal(size=(40, d))
    X[20:] = X[:20]
    for dtype in (np.float64, np.float32):
        rows = X.astype(dtype)
        for K in (kernel(rows), kernel(rows, rows.copy())):
            assert (np.diagonal(K) == 1.0).all()
            assert (np.diagonal(K, 20) == 1.0).all()


def test_diagonal_of_the_inverse_multiquadric_is_its_largest_value(rng):
    K = InverseMultiquadric(0.25)(1e6 + rng.normal(size=(30, 50)))
    assert (np.diagonal(K) == 2.0).all()


@pytest.mark.parametrize("d", WIDTHS)
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
class TestSingle:
    def test_plain_points(self, kernel, d, rng):
        X, Z = pair(kernel, rng.normal(size=(4, d)), rng.normal(size=(4, d)))
        X, Z = X.astype(np.float32), Z.astype(np.float32)
        K = kernel(X, Z)
        assert K.dtype == np.float32
        assert oracle.error(K, kernel, X, Z) <= SINGLE

    def test_points_far_from_the_origin(self, kernel, d, rng):
        X, Z = pair(kernel, *(far(kernel, 1e3, d) + rng.normal(size=(2, 4, d))))
        X, Z = X.astype(np.float32), Z.astype(np.float32)
        assert oracle.error(kernel(X, Z), kernel, X, Z) <= SINGLE


def test_products_without_the_matrix_are_as_accurate(rng):
    X, Z = 1e6 + rng.normal(size=(5, 8)), 1e6 + rng.normal(size=(6, 8))
    v = rng.normal(size=6)
    for kernel in (Gaussian(1.5), Matern32(2.0), Sigmoid(1e-13), Linear(), Constant(2.0)):
        exact = oracle.gram(kernel, X, Z)
        gap = np.abs(apply(kernel.program, X, Z, v) - (exact @ v).astype(float))
        assert (gap <= DOUBLE * (np.abs(exact) @ np.abs(v)).astype(float)).all()


LARGE = [
    Gaussian(1.5),
    Gaussian(12.0),
    Exponential(3.0),
    Matern52(2.0),
    Polynomial(3),
    Sigmoid(0.1),
]


@pytest.mark.parametrize("symmetric", [False, True], ids=["rectangle", "symmetric"])
@pytest.mark.parametrize("offset", [0.0, 1e6])
@pytest.mark.parametrize("d", [3, 30, 90, 200])
@pytest.mark.parametrize("kernel", LARGE, ids=str)
def test_entries_of_large_blocks(kernel, d, offset, symmetric, rng):
    # Many rows take other paths through the tiles than few do.
    X = offset + rng.normal(size=(301, d))
    X[150:] = X[:151] + 1e-7 * rng.normal(size=(151, d))
    Z = X if symmetric else X[::-1] + 1e-5 * rng.normal(size=X.shape)
    rows, columns = rng.choice(301, (2, 3))
    rows = np.concatenate([rows, rows // 2 + 1])
    columns = np.concatenate([columns, (300 - rows if not symmetric else rows)[:3]])
    for dtype, tolerance in ((np.float64, DOUBLE), (np.float32, SINGLE)):
        if dtype == np.float32 and offset:
            continue  # rounded to multiples of 1/16, these points are others
        A, B = X.astype(dtype), Z.astype(dtype)
        K = kernel(A) if symmetric else kernel(A, B)
        block = np.ascontiguousarray(K[np.ix_(rows, columns)])
        assert oracle.error(block, kernel, A[rows], B[columns]) <= tolerance


# What makes more of an error of the squared distance than a Gaussian does.
AMPLIFIED = [
    (RationalQuadratic(5.0, 1000.0), 30.0, 3.0, np.float32),
    (RationalQuadratic(1.0, 100.0), 2.5, 0.7, np.float32),
    (Gaussian(6.0) ** 20, 2.5, 0.5, np.float32),
    ((20.0 * Gaussian(6.0)).exp(), 2.5, 0.7, np.float32),
    (Exponential(20.0) ** 50, 2.5, 0.7, np.float32),
    (RationalQuadratic(1.0, 100.0), 30.0, 2.0, np.float64),
    (Gaussian(1.0) ** 20, 2.5, 0.2, np.float64),
    ((80.0 * Gaussian(1.0)).exp(), 4.0, 0.25, np.float64),
    (Exponential(20.0) ** 50, 30.0, 2.0, np.float64),
]


@pytest.mark.parametrize(
    ("kernel", "centre", "spread", "dtype"), AMPLIFIED, ids=lambda v: getattr(v, "__name__", str(v))
)
def test_entries_are_as_accurate_where_later_steps_amplify_the_distance(
    kernel, centre, spread, dtype, rng
):
    sides = np.repeat([[centre], [-centre]], 12, axis=0)
    X = (sides + spread * rng.normal(size=(24, 30))).astype(dtype)
    exact = oracle.gram(kernel, X)
    ordinary = exact > 1e-20
    gap = np.abs(kernel(X) - exact) / exact
    assert gap[ordinary].max() <= (DOUBLE if dtype == np.float64 else SINGLE)


# Their constants are beyond the largest number of single precision.
STEEP = [
    Gaussian(1e-20),
    Gaussian((1e-20, 1e-20)),
    Exponential(1e-20),
    Matern32(1e-20),
    Matern52(1e-20),
    RationalQuadratic(1e-20),
    Periodic(1e-20),
    Laplacian(1e-39),
    Laplacian((1e-39, 1e-39)),
    Chi2(1e39),
]


@pytest.mark.parametrize("kernel", STEEP, ids=str)
def test_rows_are_alike_or_not_where_a_constant_overflows_single_precision(kernel):
    A = np.array([[1.0, 2.0], [1.0, 2.0], [1.5, 2.0]], np.float32)
    K = kernel(A)
    assert K[0, :2].tolist() == [1.0, 1.0]
    assert 0.0 <= K[0, 2] < 1e-37


@pytest.mark.parametrize(("dtype", "size"), [(np.float64, 1e160), (np.float32, 1e25)])
@pytest.mark.parametrize("kind", [Gaussian, Exponential, Matern32, Matern52])
@pytest.mark.parametrize("d", [1, 30])
def test_similarity_vanishes_at_distances_whose_squares_overflow(kind, dtype, size, d):
    X = np.zeros((20, d), dtype)
    X[:, 0] = np.repeat([size, -size], 10)
    K = kind()(X)
    assert (K[:10, :10] == 1.0).all()
    assert (K[:10, 10:] == 0.0).all()


@pytest.mark.parametrize(("dtype", "size"), [(np.float64, 1e200), (np.float32, 1e25)])
def test_a_product_with_a_factor_of_zero_is_zero_whatever_overflows(dtype, size):
    X = np.array([[size, size, 0.0], [size, size, size], [1.0, 2.0, 3.0]], dtype)
    assert Sobolev()(X)[0].tolist() == [0.0, 0.0, 0.0]
    assert Sobolev()(X)[1:, 1:].tolist() == [[np.inf, 6.0], [6.0, 6.0]]
    assert Sobolev().diagonal(X)[0] == 0.0
