"""What there is to choose from: kernels, ridges and Cs, given or by default."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.kernels import (
    AdditiveChi2,
    Exponential,
    Gaussian,
    Laplacian,
    Linear,
    Matern32,
    Polynomial,
    Precomputed,
    Sum,
)
from mercer.kernels.language.names import UNNAMED, PeerParameters
from mercer.selection.grid import candidates, default_grid, penalties, reader_of, ridges


def of_median(length, manhattan):
    return [Gaussian(length), Matern32(length), Exponential(length), Laplacian(manhattan)]


def test_the_default_kernels_are_of_four_families_in_units_of_the_median_distance():
    kernels = default_grid(of_median(2.0, 3.0), np.zeros((4, 2)))
    assert {type(k) for k in kernels} == {Gaussian, Matern32, Exponential, Laplacian}
    assert [k.length_scale for k in kernels if isinstance(k, Gaussian)] == [0.5, 1.2, 3.2, 8.0]
    assert_allclose([k.length_scale for k in kernels if isinstance(k, Laplacian)], [1.8, 7.5])
    for rough in (Matern32, Exponential):
        assert [k.length_scale for k in kernels if isinstance(k, rough)] == [1.2, 5.0]


def test_of_one_column_the_default_kernels_are_all_different():
    kernels = default_grid(of_median(2.0, 2.0), np.zeros((4, 1)))
    x = np.array([[0.0], [1.3]])
    assert len({round(float(k(x)[0, 1]), 12) for k in kernels}) == len(kernels)


def test_the_default_ridges_are_thirty_in_units_of_the_mean_diagonal():
    X, weights = np.array([[1.0], [2.0]]), np.array([3.0, 1.0])
    alphas = ridges(None, Linear(), X, weights)
    # The weighted mean of 1 and 4 is 7 / 4.
    assert len(alphas) == 30
    assert_allclose(alphas[[0, -1]], [1.75e-6, 175.0])
    assert_allclose(alphas[1:] / alphas[:-1], 1e8 ** (1 / 29))
    assert_allclose(ridges(None, Linear(), np.zeros((2, 1)), weights)[[0, -1]], [1e-6, 1e2])


def test_ridges_of_a_conditional_kernel_are_in_units_of_its_centred_diagonal(rng):
    X, weights = rng.uniform(size=(6, 2)), rng.uniform(0.5, 2.0, size=6)
    kernel = AdditiveChi2()
    assert kernel.is_conditional
    K, v = kernel(X), weights / weights.sum()
    unit = np.average(K.diagonal() - v @ K @ v, weights=weights)
    assert unit > 0.0
    assert_allclose(ridges(None, kernel, X, weights)[0], 1e-6 * unit)


def test_the_default_cs_are_eight_in_units_of_one_over_the_mean_diagonal():
    Cs = penalties(None, np.array([1.0, 4.0]), np.array([3.0, 1.0]))
    assert len(Cs) == 8
    assert_allclose(Cs[[0, -1]], np.array([1e-2, 1e4]) / 1.75)
    assert_allclose(Cs[1:] / Cs[:-1], 1e6 ** (1 / 7))
    assert_allclose(penalties(None, np.zeros(2), np.ones(2))[0], 1e-2)


@pytest.mark.parametrize("given", [2, 2.0, [2.0], np.array([2], np.float32), (2, 3)])
def test_given_values_are_a_vector_of_floats(given):
    for found in (penalties(given, np.ones(2), np.ones(2)), ridges(given, Linear(), None, None)):
        assert found.dtype == np.float64
        assert found.tolist() == np.atleast_1d(given).tolist()


@pytest.mark.parametrize("given", [[], [[1.0]], "1", None, [True], ["a"]])
def test_what_is_no_list_of_numbers_is_refused(given):
    if given is not None:
        with pytest.raises(ValueError, match="Cs must be a number or a list of numbers, got"):
            penalties(given, np.ones(2), np.ones(2))
        with pytest.raises(ValueError, match="alphas must "):
            ridges(given, Linear(), None, None)


@pytest.mark.parametrize(
    ("bad", "said"), [(0.0, "0"), (-1.0, "-1"), (np.inf, "inf"), (np.nan, "nan")]
)
def test_cs_are_finite_and_positive_and_the_first_that_is_not_is_named(bad, said):
    with pytest.raises(ValueError, match=f"Cs must be finite and positive, got {said}$"):
        penalties([1.0, bad, -7.0], np.ones(2), np.ones(2))


def test_kernels_come_from_a_list_one_kernel_an_expression_or_a_grid(rng):
    X = rng.normal(size=(5, 2))
    assert candidates([Gaussian(1.0), "linear"], X) == [Gaussian(1.0), Linear()]
    assert candidates(Linear(), X) == [Linear()]
    assert candidates("gaussian(3.0)", X) == [Gaussian(3.0)]
    assert candidates({"length_scale": [1.0, 2.0]}, X) == [Gaussian(1.0), Gaussian(2.0)]
    assert candidates({"length_scale": np.array([1.0])}, X) == [Gaussian(1.0)]
    found = candidates({"kernel": [Polynomial(2), Polynomial(3)], "offset": 0.5}, X)
    assert found == [Polynomial(2, 0.5), Polynomial(3, 0.5)]
    assert candidates({"kernel": [Linear()]}, X) == [Linear()]
    assert candidates(None, X) == of_median("median", "median")


def test_what_is_no_choice_of_kernels_is_refused(rng):
    X = rng.normal(size=(5, 2))
    with pytest.raises(ValueError, match="kernels must hold at least one kernel"):
        candidates([], X)
    with pytest.raises(ValueError, match="which can be read twice"):
        candidates(iter([Linear()]), X)
    with pytest.raises(
        ValueError, match=r"kernels must read the same rows, but .* reads a finished"
    ):
        candidates([Linear(), Precomputed()], X)
    beside = PeerParameters(gamma=0.5)
    with pytest.raises(ValueError, match="belongs beside a name in kernels"):
        candidates(None, X, beside)
    assert not UNNAMED.given


def test_one_kernel_reads_rows_itself_and_several_by_their_sum():
    assert reader_of([Linear()]) == Linear()
    assert reader_of([Linear(), Gaussian(1.0)]) == Sum((Linear(), Gaussian(1.0)))
