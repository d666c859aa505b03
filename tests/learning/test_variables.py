"""What of a kernel is learned."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import mercer
from mercer.kernels import Constant, Gaussian, Laplacian, Linear, Match, Spectrum, Standardize
from mercer.learning.variables import REACH, Variables, opened

ONES = np.ones(5)


def test_a_length_scale_for_all_columns_becomes_one_for_each(points):
    assert opened(Gaussian(2.0), points(5), ONES) == Gaussian((2.0, 2.0, 2.0))


def test_a_single_column_keeps_a_number(points):
    assert opened(Gaussian(2.0).on(1), points(5), ONES) == Gaussian(2.0).on(1)


def test_every_term_of_a_sum_has_a_weight(points):
    kernel = Linear(1.0) + 0.5 * Laplacian(1.0).on(0) + Constant(2.0)
    expected = 1.0 * Linear(1.0) + 0.5 * Laplacian(1.0).on(0) + Constant(2.0)
    assert opened(kernel, points(5), ONES) == expected


def test_the_median_is_that_in_units_of_every_column(points):
    X = points(5)
    plain, scaled = (
        np.array(opened(Gaussian("median"), A, ONES).length_scale)
        for A in (X, X * [1.0, 10.0, 0.1])
    )
    assert_allclose(scaled, plain * [1.0, 10.0, 0.1])


def test_a_scale_at_which_no_rows_are_alike_starts_at_the_median(points):
    X = points(5)
    assert opened(Gaussian(1e-3), X, ONES) == opened(Gaussian("median"), X, ONES)


def test_maps_take_their_numbers_from_the_weighted_rows(points):
    X, weights = points(5), np.array([1.0, 2.0, 1.0, 0.0, 1.0])
    kernel = opened(Gaussian("median").after(Standardize()), X, weights)
    assert kernel.g == Standardize().resolved(X, weights)
    assert len(kernel.kernel.length_scale) == 3


def test_words_and_categories_are_left_as_they_are():
    X = {"t": ["ab", "bc", "ca"], "c": ["u", "v", "u"], "x": np.arange(3.0)}
    kernel = Spectrum(2).on("t") + Match().on("c") * Gaussian(1.0).on("x")
    found = opened(kernel, X, np.ones(3))
    assert found == 1.0 * Spectrum(2).on("t") + 1.0 * (Match().on("c") * Gaussian(1.0).on("x"))


def test_sparse_columns_keep_one_scale(points):
    sp = pytest.importorskip("scipy.sparse")
    assert opened(Gaussian(2.0), sp.csr_array(points(5)), ONES) == Gaussian(2.0)


def test_the_vector_of_logarithms_gives_the_kernel_back(points):
    kernel = opened(0.5 * Gaussian(2.0) + mercer.RationalQuadratic(4.0, 3.0), points(5), ONES)
    variables = Variables.of(kernel, points(5))
    again = variables.kernel_at(variables.start).get_params()
    for name, value in kernel.get_params().items():
        if name in variables.names:
            assert_allclose(again[name], value)


def test_equal_columns_share_a_variable(points):
    X = points(5)[:, [0, 1, 0, 2, 1]]
    variables = Variables.of(Gaussian((1.0,) * 5), X)
    assert len(variables.start) == 3
    moved = variables.kernel_at(np.log([2.0, 3.0, 4.0])).length_scale
    assert moved[0] == moved[2]
    assert moved[1] == moved[4]
    assert len(set(moved)) == 3


def test_the_slope_of_a_shared_variable_is_the_sum(points):
    X = points(5)[:, [0, 1, 0]]
    variables = Variables.of(Gaussian((2.0, 2.0, 2.0)), X)
    slopes = {"length_scale": np.array([1.0, 10.0, 100.0])}
    assert sorted(variables.gradient(np.zeros(2), slopes)) == [10.0, 101.0]


def test_a_parameter_of_zero_stays(points):
    variables = Variables.of(Linear(0.0) + 0 * Gaussian((1.0, 2.0, 3.0)), points(5))
    assert variables.names == ("terms__1__kernel__length_scale",)


def test_bounds_end_where_the_domain_does():
    texts = ["abcab", "bcabc", "aab"]
    variables = Variables.of(mercer.Subsequence(2, 0.9), texts)
    assert variables.bounds == [(pytest.approx(np.log(0.9) - REACH), 0.0)]
    assert variables.kernel_at(np.array([0.1])).decay == 1.0


def test_a_scale_is_at_least_half_the_median_gap_between_values_of_its_column():
    X = np.array([[0.0, 7.0], [0.1, 7.0], [3.0, 7.0], [5.0, 7.0], [5.0, 7.0]])
    variables = Variables.of(Laplacian((0.5, 0.5)), X)
    # The gaps are 0.1, 2.0 and 2.9; a column of one value has none.
    assert_allclose(np.exp(variables.lower), [1.0, 5e-5])
    assert_allclose(np.exp(variables.start), [1.0, 0.5])
    assert_allclose(np.exp(variables.upper), [1e4, 5e3])


def test_the_gap_is_that_of_what_the_kernel_sees():
    X = {"x": np.array([0.0, 10.0, 20.0, 10.0]), "z": np.arange(4.0)}
    kernel = 2.0 * Gaussian(1.0).after(Standardize((10.0,), (5.0,))).on("x") + Match().on("z")
    variables = Variables.of(kernel, X)
    place = variables.names.index("terms__0__kernel__kernel__kernel__length_scale")
    assert_allclose(np.exp(variables.lower[variables.members[place]]), [1.0])


def test_values_that_differ_by_rounding_are_one():
    x = np.cos(2.0 * np.pi * np.arange(30.0) / 3.0)[:, None]
    assert len(np.unique(x)) > 2
    assert_allclose(np.exp(Variables.of(Gaussian(1.0), x).lower), [0.75])


def test_one_row_has_no_gaps_and_bounds_no_scale():
    learned = mercer.learn(Gaussian(1.0), np.array([[1.0]]), np.array([1.0]))
    assert isinstance(learned.kernel, Gaussian)
