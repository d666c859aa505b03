"""Rows, functions and parameters outside the domain of a kernel are refused in one line."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from mercer import KernelSVC
from mercer.kernels import (
    AdditiveChi2,
    Bilinear,
    Chi2,
    Constant,
    Exponential,
    FromFeatures,
    FromFunction,
    GappedKmer,
    Gaussian,
    InverseMultiquadric,
    Laplacian,
    Linear,
    Matern32,
    Matern52,
    Mismatch,
    Periodic,
    Polynomial,
    RationalQuadratic,
    Sigmoid,
    Sobolev,
    Spectrum,
    Standardize,
)
from refusals import refuses

X = np.arange(12.0).reshape(4, 3)
X.flags.writeable = False
K = Gaussian()(X)


# Domains of kernels


@pytest.mark.parametrize("kernel", [Gaussian(), Gaussian(1.0), Linear()], ids=str)
@pytest.mark.parametrize(
    ("rows", "shown"),
    [
        (["ab", "c"], "'ab' at row 0"),
        ([b"ab", b"c"], "b'ab' at row 0"),
        (np.array([["a"]]), "'a' at row 0, column 0"),
        (np.array([[1.0, 2.0], [1.0, "a"]], object), "'a' at row 1, column 1"),
        (["acgt" * 20], "'acgtacgtacgtacgtacgtacgtacgtac' ... at row 0"),
        ("text", "'text'"),
    ],
    ids=repr,
)
def test_text_is_refused_by_kernels_of_numbers_which_name_those_of_text(kernel, rows, shown):
    message = f"X holds text, {shown}, and this kernel is one of numbers; make a number of it, use"
    refuses(f"{message} a kernel of text such as 'spectrum' or of categories", kernel, rows)
    with pytest.raises(ValueError, match=r"with \.on\(\.\.\.\)$"):
        kernel(rows)


def test_a_column_that_no_text_names_is_asked_for_by_position():
    message = "got ('a', 'x'); give the position of a column whose name is no text"
    refuses(message, Gaussian().on, ("a", "x"))


@pytest.mark.parametrize("kernel", [Sobolev(), Chi2(), AdditiveChi2(), Sobolev() + Gaussian()])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_negative_entries_are_refused_where_they_have_no_meaning(kernel, form):
    refuses("needs rows without negative entries, got -11.0; shift or clip", kernel, form(-X))
    refuses("needs rows without negative entries", kernel.diagonal, form(-X))


def test_chi_squared_of_two_zeros_is_zero():
    assert Chi2()(np.zeros((2, 3))).tolist() == [[1.0, 1.0], [1.0, 1.0]]
    assert not AdditiveChi2()(np.zeros((2, 3))).any()


# Users' functions


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (FromFunction(lambda X, Z: X @ X.T), "returned shape (4, 4) for 4 and 2 rows; it must ret"),
        (FromFunction(lambda X, Z: np.nan * X @ Z.T), "values that are not finite real numbers"),
        (FromFunction(lambda X, Z: 1j * X @ Z.T), "values that are not finite real numbers"),
        (
            FromFeatures(lambda X: X[:, 0]),
            "g(X) must be a matrix of shape (rows, columns), got sha",
        ),
        (FromFeatures(lambda X: X[:-1]), "a map in the kernel turned 4 rows into 3"),
        (FromFeatures(lambda X: X * np.nan), "g(X) contains NaN at row 0, column 0"),
        (Gaussian().after(lambda X: None), "g(X) must be a matrix of shape (rows, columns)"),
        (Gaussian().scaled_by(lambda X: X), "f(X) in scaled_by must have shape (4,), got (4, 3)"),
        (Gaussian().scaled_by(lambda X: X[:, 0] / 0), "f(X) in scaled_by holds nan at row 0"),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore:divide by zero|invalid value:RuntimeWarning")
def test_functions_that_return_nonsense_are_refused(kernel, message):
    refuses(message, kernel, X, X[:2])


def test_functions_that_are_not_symmetric_are_refused():
    kernel = FromFunction(lambda X, Z: X @ Z.T + X[:, :1])
    refuses("the kernel function is not symmetric: f(x, z) = ", kernel, X)


# Parameters


@pytest.mark.parametrize(
    "value", [0.0, -1.0, np.nan, np.inf, True, "wide", None, 1j, (), (1.0, -1.0)]
)
@pytest.mark.parametrize(
    "kind", [Gaussian, Exponential, Laplacian, Matern32, Matern52, RationalQuadratic]
)
def test_length_scales_are_positive(kind, value):
    refuses(f"{kind.__name__}: length_scale must", kind, value)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: RationalQuadratic(1.0, 0.0),
            "RationalQuadratic: mixture must be positive, got 0.0",
        ),
        (lambda: InverseMultiquadric(-2.0), "InverseMultiquadric: c must be positive, got -2.0"),
        (lambda: Chi2(-1), "Chi2: gamma must be positive, got -1"),
        (lambda: Periodic(1.0, 0.0), "Periodic: period must be positive, got 0.0"),
        (lambda: Periodic(-1.0), "Periodic: length_scale must be positive, got -1.0"),
        (lambda: Polynomial(0), "Polynomial: degree must be a whole number of at least 1, got 0"),
        (
            lambda: Polynomial(1.5),
            "Polynomial: degree must be a whole number of at least 1, got 1.5",
        ),
        (lambda: Polynomial(offset=np.nan), "Polynomial: offset must be finite, got nan"),
        (lambda: Linear("1"), "Linear: offset must be a real number, got '1'"),
        (lambda: Sigmoid(None), "Sigmoid: scale must be a real number, got None"),
        (lambda: Constant(np.inf), "Constant: value must be finite, got inf"),
        (lambda: Bilinear([[1.0, 2.0], [3.0, 4.0]]), "Bilinear: A must be symmetric"),
        (lambda: Bilinear([[1.0, 2.0]]), "Bilinear: A must be a square matrix of real numbers"),
        (lambda: Bilinear([[np.nan]]), "Bilinear: A must be finite"),
        (lambda: Gaussian.from_gamma(-1.0), "gamma must be positive, got -1.0"),
        (lambda: Gaussian.from_sigma(0.0), "sigma must be positive, got 0.0"),
        (lambda: Gaussian.from_beta(np.nan), "beta must be finite, got nan"),
        (lambda: Laplacian.from_gamma("1"), "gamma must be a real number, got '1'"),
        (lambda: FromFunction(3), "FromFunction: f must be a function, got 3"),
        (lambda: FromFeatures("phi"), "FromFeatures: phi must be a function, got 'phi'"),
    ],
)
def test_parameters_outside_their_domain_are_refused_by_name(make, message):
    refuses(message, make)


def test_two_tables_are_compared_by_the_names_of_their_columns(rng):
    X = pd.DataFrame(rng.normal(size=(5, 3)), columns=["a", "b", "c"])
    moved = pl.DataFrame({name: X[name].to_numpy() for name in ("c", "a", "b")})
    for k in (
        Gaussian((1.0, 2.0, 3.0)),
        Linear().on(0) + Gaussian(),
        Linear().after(Standardize()),
    ):
        k = k.resolved(X)
        assert_allclose(k(X, moved), k(X), rtol=1e-12)


def test_tables_of_different_columns_are_refused_unless_the_kernel_names_its_own(rng):
    X = pd.DataFrame(rng.normal(size=(5, 3)), columns=["a", "b", "c"])
    with pytest.raises(ValueError, match="the column 'b' is in X alone; give both tables the same"):
        Gaussian()(X, X[["a", "c"]])
    with pytest.raises(ValueError, match="the column 'b' is in Z alone"):
        Gaussian()(X[["a", "c"]], X)
    assert_allclose(Gaussian().on("a", "c")(X, X[["c", "a"]]), Gaussian().on("a", "c")(X))


HUGE = 10**5000


@pytest.mark.parametrize(
    "make",
    [
        lambda: Linear() ** HUGE,
        lambda: Linear().on(HUGE),
        lambda: Polynomial(HUGE),
        lambda: Gaussian(HUGE),
        lambda: Gaussian((1.0, HUGE)),
        lambda: Spectrum(HUGE),
        lambda: Spectrum((1, HUGE)),
        lambda: Spectrum((1, 2), weights=(1.0,) * 1000),
        lambda: GappedKmer(7, HUGE),
        lambda: GappedKmer(10**300, 10**299),
        lambda: Mismatch(letters=HUGE),
        lambda: Mismatch(k=5, m=2, letters=10**200),
        lambda: Bilinear([[HUGE]]),
        lambda: Bilinear(np.eye(50, 40)),
        lambda: Linear().on(*range(99), 0),
    ],
)
def test_a_parameter_of_very_many_digits_is_refused_in_one_short_line(make):
    with pytest.raises(ValueError, match=r"got|more than|twice") as caught:
        make()
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


def test_whole_numbers_beyond_64_bits_are_entries_of_a_matrix_like_any_other():
    assert Bilinear([[10**30, 1], [1, 2]]) == Bilinear([[1e30, 1.0], [1.0, 2.0]])


# What functions of the user are given

ROWS = [[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]]


@pytest.mark.parametrize(
    "rows",
    [ROWS, np.array(ROWS), pd.DataFrame(ROWS), pl.DataFrame(ROWS, orient="row")],
    ids=["lists", "array", "pandas", "polars"],
)
@pytest.mark.parametrize(
    "kernel_of",
    [
        lambda see: FromFeatures(lambda X: see(X) ** 2),
        lambda see: Linear().after(lambda X: see(X) ** 2),
        lambda see: Linear().scaled_by(lambda X: see(X)[:, 0]),
    ],
    ids=["features", "after", "scaled_by"],
)
def test_a_function_is_given_numbers_as_an_array(rows, kernel_of):
    seen = []
    kernel = kernel_of(lambda X: seen.append(X) or X)
    assert_allclose(kernel(rows), kernel(np.array(ROWS)))
    assert all(isinstance(X, np.ndarray) and X.shape == (3, 2) for X in seen)


@pytest.mark.parametrize(
    "rows", [["ab", "c"], [["a"], ["b", "c"]], pd.DataFrame({"s": ["ab", "c"], "x": [1.0, 2.0]})]
)
def test_a_function_is_given_other_rows_as_they_came(rows):
    seen = []
    FromFeatures(lambda X: seen.append(X) or np.ones((2, 1)))(rows)
    assert all(X is rows for X in seen)


# Rows that overflow


def test_two_vectors_are_refused_with_the_way_to_write_a_row_and_a_column():
    message = "got shape (2,); use [X] for one row, or numpy.reshape(X, (-1, 1)) for one column"
    refuses(message, Linear(), [2, -3], [1, 4])
    assert Linear()([[2, -3]], [[1, 4]]).item() == -10.0


@pytest.mark.parametrize("size", [1e300, 1e150, 1e30])
def test_a_finite_number_that_float32_does_not_hold_is_not_called_infinite(size):
    rows = np.vstack([X, [[size, 0.0, 1.0]]])
    labels = [0, 1, 0, 1, 1]
    refuses("solved in float32, which ends at 3.4e+38", KernelSVC("linear").fit, rows, labels)
    assert KernelSVC("gaussian(1.0)", C=10.0).fit(rows, labels).score(rows, labels) == 1.0


def test_a_number_beyond_float64_is_named():
    rows = np.array([[1.0], [np.longdouble(10.0) ** 400]])
    if not np.isfinite(rows).all():
        pytest.skip("numbers of long double end with those of float64 here")
    refuses("X holds 1e+400 at row 1, column 0, beyond 1.8e308", Linear(), rows)
