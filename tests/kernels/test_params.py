import copy
import pickle
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from sklearn.base import clone

from catalogue import ARD, COMPOSITE, SIMPLE
from mercer.kernels import Gaussian, Kernel, Laplacian, Linear, Polynomial, Scaled, Sum
from strategies import kernels

EVERY = [*SIMPLE, *ARD, *COMPOSITE]
mixed = 2.0 * Gaussian(3.0).on("age") + Linear(0.5) * Polynomial(3)


# Reading


def test_parameters_are_the_fields():
    assert Polynomial(3, 0.5, 2.0).get_params() == {"degree": 3, "offset": 0.5, "scale": 2.0}


def test_nested_parameters_are_named_by_their_path():
    params = mixed.get_params()
    assert params["terms__0__factor"] == 2.0
    assert params["terms__0__kernel__columns"] == ("age",)
    assert params["terms__0__kernel__kernel__length_scale"] == 3.0
    assert params["terms__1__terms__0__offset"] == 0.5
    assert params["terms__1__terms__1"] == Polynomial(3)


def test_shallow_parameters_are_only_the_fields():
    assert set(mixed.get_params(deep=False)) == {"terms"}


@pytest.mark.parametrize("k", EVERY, ids=str)
def test_the_same_parameters_give_the_same_kernel(k):
    assert k.with_params(**k.get_params(deep=False)) == k


@pytest.mark.parametrize("k", EVERY, ids=str)
def test_every_nested_parameter_can_be_set_to_what_it_is(k):
    for name, value in k.get_params().items():
        assert k.with_params(**{name: value}) == k


# Replacing


def test_a_nested_parameter_is_replaced():
    changed = mixed.with_params(terms__0__kernel__kernel__length_scale=7.0)
    assert changed == 2.0 * Gaussian(7.0).on("age") + Linear(0.5) * Polynomial(3)


def test_the_original_is_left_as_it_was():
    mixed.with_params(terms__0__factor=5.0)
    assert mixed.terms[0].factor == 2.0


def test_a_part_is_replaced_by_another_kernel():
    assert (Gaussian() + Linear()).with_params(terms__0=Polynomial()) == Polynomial() + Linear()


def test_a_part_and_its_parameter_are_replaced_together():
    changed = Scaled(Linear(), 2.0).with_params(kernel=Gaussian(), kernel__length_scale=4.0)
    assert changed == 2.0 * Gaussian(4.0)


def test_several_parameters_are_replaced_at_once():
    changed = mixed.with_params(terms__0__factor=1.5, terms__1__terms__1__degree=4)
    assert changed == 1.5 * Gaussian(3.0).on("age") + Linear(0.5) * Polynomial(4)


def test_a_replaced_parameter_is_checked():
    with pytest.raises(ValueError, match="Gaussian: length_scale must be positive, got -1"):
        mixed.with_params(terms__0__kernel__kernel__length_scale=-1.0)


def test_an_unknown_parameter_is_refused_with_a_suggestion():
    with pytest.raises(ValueError, match="no parameter 'lengthscale'; did you mean 'length_scale'"):
        Gaussian().with_params(lengthscale=2.0)


def test_an_unknown_parameter_is_refused_with_what_there_is():
    with pytest.raises(ValueError, match="Polynomial has no parameter 'x'; it has degree, offset"):
        Polynomial().with_params(x=2.0)


def test_an_unknown_nested_parameter_is_refused():
    with pytest.raises(ValueError, match="Scaled has no parameter 'factr'; did you mean 'factor'"):
        mixed.with_params(terms__0__factr=2.0)


def test_a_part_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match="terms has parts 0 to 1, got terms__2"):
        mixed.with_params(terms__2__factor=2.0)


def test_a_part_without_a_number_is_refused():
    with pytest.raises(ValueError, match="terms has parts 0 to 1, got terms__factor"):
        mixed.with_params(terms__factor=2.0)


def test_a_number_has_no_parameters():
    with pytest.raises(ValueError, match=r"length_scale is 1\.0 and has no parameters of its own"):
        Gaussian().with_params(length_scale__x=2.0)


# Numbers that stand for parameters


def test_gamma_is_read_beside_the_length_scale():
    assert Gaussian(0.5).get_params() == {"length_scale": 0.5, "gamma": 2.0}
    assert Laplacian(0.5).get_params() == {"length_scale": 0.5, "gamma": 2.0}
    assert (Linear() + Gaussian(0.5)).get_params()["terms__1__gamma"] == 2.0


@pytest.mark.parametrize("scale", ["median", (1.0, 2.0)], ids=str)
def test_a_length_scale_that_is_no_number_has_no_gamma(scale):
    assert "gamma" not in Gaussian(scale).get_params()


@pytest.mark.parametrize("k", [Gaussian(1e200), Gaussian(1e-170), Laplacian(1e-310)], ids=str)
def test_a_gamma_beyond_the_range_of_numbers_is_left_out(k):
    assert k.gamma is None
    assert k.get_params() == {"length_scale": k.length_scale}


@pytest.mark.parametrize(
    ("name", "value", "expected"), [("gamma", 2.0, 0.5), ("sigma", 2.0, 2.0), ("beta", 4.0, 0.5)]
)
def test_a_length_scale_is_set_by_what_stands_for_it(name, value, expected):
    assert Gaussian("median").with_params(**{name: value}) == Gaussian(expected)
    summed = (Linear() + Gaussian()).with_params(**{f"terms__1__{name}": value})
    assert summed == Linear() + Gaussian(expected)


def test_gamma_and_a_length_scale_that_agree_may_be_set_together():
    given = Gaussian(0.3).get_params()
    assert Gaussian(7.0).with_params(**given) == Gaussian(0.3)


@pytest.mark.parametrize(
    ("change", "expected"), [({"length_scale": 3.0}, 3.0), ({"gamma": 2.0}, 0.5)], ids=str
)
def test_one_of_all_parameters_is_replaced_whether_gamma_or_what_it_stands_for(change, expected):
    k = Gaussian(2.0)
    assert k.with_params(**{**k.get_params(), **change}) == Gaussian(expected)
    summed = Linear() + k
    nested = {f"terms__1__{name}": value for name, value in change.items()}
    given = {**summed.get_params(), **nested}
    assert summed.with_params(**given) == Linear() + Gaussian(expected)


@pytest.mark.parametrize("given", [{"length_scale": 1.0}, {"sigma": 1.0}], ids=str)
def test_gamma_and_another_number_that_disagrees_are_refused(given):
    with pytest.raises(
        ValueError, match=r"stands for all parameters; give it alone, got .*gamma=3"
    ):
        Gaussian(2.0).with_params(gamma=3.0, **given)


# Values


@given(kernels)
@settings(max_examples=100, deadline=None)
def test_a_pickled_kernel_is_equal(k):
    assert pickle.loads(pickle.dumps(k)) == k


@given(kernels)
@settings(max_examples=100, deadline=None)
def test_equal_kernels_have_equal_hashes(k):
    assert hash(pickle.loads(pickle.dumps(k))) == hash(k)


@pytest.mark.parametrize("i", range(len(EVERY)), ids=lambda i: str(EVERY[i]))
def test_a_kernel_equals_no_other_of_the_catalogue(i):
    assert [j for j, other in enumerate(EVERY) if other == EVERY[i]] == [i]


@pytest.mark.parametrize("k", EVERY, ids=str)
def test_a_deep_copy_is_equal(k):
    assert copy.deepcopy(k) == k


@pytest.mark.parametrize("k", EVERY, ids=str)
def test_scikit_learn_clones_a_kernel_as_itself(k):
    assert clone(k) is k


def test_a_number_and_its_float_make_the_same_kernel():
    assert hash(Gaussian(2)) == hash(Gaussian(2.0))


def test_order_of_terms_matters_to_equality():
    assert Gaussian() + Linear() != Linear() + Gaussian()


def test_a_kernel_is_immutable():
    with pytest.raises(AttributeError):
        Gaussian().length_scale = 2.0


def test_sums_of_sums_are_one_sum():
    assert (Gaussian() + Linear()) + Polynomial() == Sum((Gaussian(), Linear(), Polynomial()))


def test_what_a_kernel_has_worked_out_is_no_part_of_its_pickle():
    k = 2.0 * Gaussian(1.5) + Polynomial(2)
    fresh = pickle.dumps(k)
    assert k.is_proved
    assert k.program.inputs
    assert k.is_resolved
    assert pickle.dumps(k) == fresh
    assert pickle.loads(fresh) == k


@dataclass(frozen=True)
class Doubled(Kernel):
    """A kernel whose author works something out when it is made."""

    a: float = 1.5

    def __post_init__(self):
        super().__post_init__()
        object.__setattr__(self, "_twice", 2.0 * self.a)

    def lower(self, t):
        return self._twice * t.dot()


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda k: pickle.loads(pickle.dumps(k))]
)
def test_what_an_author_keeps_beside_the_fields_is_copied(copied):
    k = copied(Doubled())
    np.testing.assert_array_equal(k([[2.0]]), [[12.0]])
    assert k == Doubled()
