"""What is kept of kernels lives no longer than they do."""

import gc
import pickle
import weakref

import numpy as np
import pytest

import mercer
from mercer.kernels.columns import (
    kept_with,
    named_columns,
    reads_everything,
    takes_missing,
)


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
    for asked in (reads_everything, named_columns, takes_missing):
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


class Own(mercer.kernels.families.stationary.Gaussian):
    """A kernel of a user, whose code may hold anything."""


@pytest.mark.parametrize(
    "make",
    [
        lambda: mercer.Gaussian(1.25),
        lambda: (mercer.Gaussian(1.25) + 2.0 * mercer.Match().on("b")).normalized(),
        lambda: mercer.Linear().after(mercer.Standardize((0.5, 1.5), (1.0, 2.0))),
    ],
)
def test_equal_kernels_of_numbers_are_compiled_once(make):
    first, second = make(), make()
    assert first is not second
    assert first.remembered() is second.remembered()
    assert second.remembered() == second
    assert first.remembered().program is second.remembered().program


@pytest.mark.parametrize(
    "make",
    [
        lambda: mercer.FromFunction(Lookup()),
        lambda: mercer.Gaussian(1.0).after(np.abs),
        lambda: 2.0 * Own(1.0),
        lambda: mercer.Gaussian(tuple(np.linspace(1.0, 2.0, 300))),
    ],
)
def test_kernels_that_hold_more_are_not_remembered(make):
    kernel = make()
    assert kernel.remembered() is kernel
    freed = weakref.ref(kernel)
    del kernel
    gc.collect()
    assert freed() is None


def test_few_kernels_are_remembered():
    kernel = mercer.Gaussian(0.125)
    kernel.remembered()
    freed = weakref.ref(kernel)
    del kernel
    for i in range(300):
        mercer.Gaussian(3.0 + i).remembered()
    gc.collect()
    assert freed() is None
