"""What is kept of kernels lives no longer than they do."""

import gc
import pickle
import weakref

import numpy as np
import pytest

import mercer
from mercer.kernels.columns import named_columns, reads_a_matrix, reads_everything, takes_missing
from mercer.kernels.params import kept_with


class Lookup:
    """A function of a user that holds much."""

    def __call__(self, X, Z):
        return X @ Z.T


def test_a_kernel_of_a_user_is_freed_with_what_it_holds():
    lookup = Lookup()
    freed = weakref.ref(lookup)
    kernel = 2.0 * mercer.FromFunction(lookup) + mercer.Gaussian(1.0)
    X = np.random.default_rng(0).normal(size=(12, 2))
    mercer.KernelRidge(kernel).fit(X, X[:, 0]).predict(X)
    assert kernel(X).shape == (12, 12)
    for asked in (reads_everything, reads_a_matrix, named_columns, takes_missing):
        asked(kernel)
    del lookup, kernel
    gc.collect()
    assert freed() is None


@pytest.mark.parametrize("kernel", [mercer.Gaussian(1.0).on("a") + mercer.Match().on("b")])
def test_what_is_kept_is_no_part_of_the_value(kernel):
    before = pickle.dumps(kernel)
    assert named_columns(kernel) == {"a", "b"}
    assert named_columns(kernel) is named_columns(kernel)
    assert pickle.dumps(kernel) == before
    assert pickle.loads(before) == kernel


def test_functions_of_one_name_keep_answers_of_their_own():
    kernel = mercer.Gaussian(1.0)
    first, second = (kept_with(lambda _, answer=answer: answer) for answer in (1, 2))
    assert (first(kernel), second(kernel)) == (1, 2)
