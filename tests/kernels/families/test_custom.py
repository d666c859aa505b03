"""Kernels by functions of users, and of scikit-learn."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process.kernels import RBF, DotProduct

from mercer.estimators import KernelRidge, KernelSVC
from mercer.kernels import FromFeatures, FromFunction, Gaussian, Linear


def scalar_of_blocks(x, z):
    return float(np.exp(-0.5 * np.sum((x - z) ** 2)))


def refuses_blocks(x, z):
    return np.dot(x, z)


@pytest.mark.parametrize("f", [scalar_of_blocks, refuses_blocks], ids=lambda f: f.__name__)
def test_a_function_written_for_two_rows_is_refused_with_the_way_to_say_so(points, f):
    X = points(6, 3)
    with pytest.raises(ValueError, match=r"two rows.*pass FromFunction\(f, pairwise=True\)"):
        KernelRidge(f).fit(X, X[:, 0])
    FromFunction(f, pairwise=True)(X)


def test_what_a_function_raises_for_blocks_and_rows_alike_is_left_as_it_is(points):
    def broken(x, z):
        raise KeyError("lost")

    with pytest.raises(KeyError, match="lost"):
        FromFunction(broken)(points(4, 2))


def test_a_function_may_return_a_sparse_matrix(points):
    X, Z = points(7, 3), points(5, 3)
    k = FromFunction(lambda A, B: sp.csr_array(A @ B.T))
    assert_allclose(k(X, Z), X @ Z.T)
    assert_allclose(k.diagonal(X), np.sum(X**2, axis=1))


def test_a_function_of_two_sparse_rows_may_return_a_matrix_of_one_entry(points):
    X = sp.csr_array(points(5, 3))
    k = FromFunction(lambda x, z: sp.csr_array((x @ z.T).reshape(1, 1)), pairwise=True)
    assert_allclose(k(X), (X @ X.T).toarray())


@pytest.mark.parametrize("f", [RBF(1.0), DotProduct()], ids=repr)
def test_a_kernel_of_scikit_learn_that_has_no_hash_is_a_function(points, f):
    X, Z = points(8, 3), points(4, 3)
    k = FromFunction(f)
    assert hash(k) == hash(FromFunction(f))
    assert_allclose(k(X, Z), f(X, Z))
    model = KernelRidge(f, alpha=0.1).fit(X, X[:, 0])
    assert_allclose(model.predict(Z), KernelRidge(k, alpha=0.1).fit(X, X[:, 0]).predict(Z))
    assert_array_equal(KernelSVC(f).fit(X, X[:, 0] > 0).predict(X), X[:, 0] > 0)


def test_two_functions_without_a_hash_are_two_kernels(points):
    X = points(5, 3)
    short, wide = FromFunction(RBF(0.5)), FromFunction(RBF(2.0))
    assert short != wide
    assert_allclose((short + wide)(X), RBF(0.5)(X) + RBF(2.0)(X))


class Doubled:
    """Rows, or their first column, times two; equal objects, and so none with a hash."""

    def __init__(self, column=None):
        self.column = column

    def __eq__(self, other):
        return isinstance(other, Doubled) and self.column == other.column

    def __call__(self, X):
        return 2.0 * (X if self.column is None else X[:, self.column])


def test_maps_factors_and_features_need_no_hash_either(points):
    X = points(6, 3)
    assert_allclose(FromFeatures(Doubled())(X), 4.0 * X @ X.T)
    assert_allclose(Linear().after(Doubled())(X), 4.0 * X @ X.T)
    factor = 2.0 * X[:, 0]
    assert_allclose(
        Gaussian().scaled_by(Doubled(0))(X), factor[:, None] * Gaussian()(X) * factor[None, :]
    )
