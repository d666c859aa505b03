"""Gram matrices of sparse rows."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from mercer.gram import StreamedGram
from mercer.kernels import Gaussian

KERNEL = Gaussian(3.0)


@pytest.fixture
def rows():
    return sp.random_array((300, 60), density=0.1, rng=np.random.default_rng(0), format="csr")


def test_sparse_rows_are_compared_in_single_precision_themselves(rows):
    gram = StreamedGram(KERNEL, rows).single()
    assert isinstance(gram, StreamedGram)
    assert gram.dtype == np.float32
    assert gram.X.dtype == np.float32
    assert_allclose(gram.dense(), KERNEL(rows.toarray()), rtol=1e-5)


def test_partial_products_of_sparse_rows_equal_those_of_dense_ones(rows, rng):
    K = KERNEL(rows.toarray())
    some, v = np.arange(0, 300, 3), rng.normal(size=100)
    gram = StreamedGram(KERNEL, rows)
    assert_allclose(gram.partial_product(None, some, v), K[:, some] @ v, atol=1e-12)
    assert_allclose(gram.partial_product(some, some, v), K[np.ix_(some, some)] @ v, atol=1e-12)
