"""Fitted functions as values, in every form."""

import pickle
from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal

from forms import FORMS, WORDS, dual, line, mean, pairs, primal, slowly
from kinds_of_rows import ROWS
from mercer.data.columns import n_rows, take_rows
from mercer.data.kept import rows_state
from mercer.functions import (
    DualFunction,
    Function,
    PrimalFunction,
    function_from_state,
    in_features,
)
from mercer.functions.function import read_only
from mercer.kernels import (
    Exponential,
    FromFunction,
    Gaussian,
    Precomputed,
    Spectrum,
    Standardize,
)

numbers = st.floats(-1e6, 1e6)


@pytest.fixture(params=FORMS.values(), ids=list(FORMS))
def made(request, rng):
    return request.param(rng)


def rows_of(function, X):
    """Return new rows and the training rows, as the kernel of the function takes them."""
    if function.kernel == Precomputed():
        return X[:, function.columns], function.rows
    return X, function.dual.rows


def test_every_form_is_the_sum_over_the_rows(made):
    function, X = made
    expected = slowly(function, *rows_of(function, X))
    assert_allclose(function(X), expected, rtol=1e-9, atol=1e-9)
    assert function(X).shape == (n_rows(X), function.n_targets)
    assert function(X).dtype == np.float64


def test_blocks_of_rows_have_the_values_of_all(made, monkeypatch):
    function, X = made
    whole = function(X)
    monkeypatch.setattr(type(function), "rows_at_a_time", 4, raising=False)
    assert_allclose(function(X), whole, rtol=1e-12, atol=1e-12)


def test_no_rows_have_no_values(made):
    function, X = made
    none = take_rows(X, slice(0, 0))
    assert function(none).shape == (0, function.n_targets)


def test_it_survives_pickle(made):
    function, X = made
    copy = pickle.loads(pickle.dumps(function))
    assert copy == function
    assert not any(v.flags.writeable for v in copy.state().values() if isinstance(v, np.ndarray))
    assert_array_equal(copy(X), function(X))


def test_its_state_is_flat_and_gives_it_back(made):
    function, X = made
    state = function.state()
    assert all(isinstance(v, np.ndarray | str | list | int | float) for v in state.values())
    assert not any(v.flags.writeable for v in state.values() if isinstance(v, np.ndarray))
    again = function_from_state(state)
    assert again == function
    assert_array_equal(again(X), function(X))


def test_functions_are_equal_by_what_they_hold(rng):
    f = dual(rng)
    assert f == replace(f, rows=f.rows.copy(), coefficients=f.coefficients.copy())
    assert f != replace(f, kernel=Gaussian(2.0))
    assert f != replace(f, rows=f.rows + 1.0)
    assert f != replace(f, intercept=f.intercept + 1.0)
    assert f != replace(f, columns=np.arange(20))
    assert f != primal(rng)
    assert f != "f"


def test_missing_numbers_do_not_make_functions_differ(rng):
    f = dual(rng)
    gaps = np.where(f.rows > 1.0, np.nan, f.rows)
    assert replace(f, rows=gaps) == replace(f, rows=gaps.copy())


def test_a_mean_is_one_of_a_sum_of_kernels_with_the_offsets_weighted(rng):
    f = mean(rng)
    expected = 0.5 * f.parts[0].kernel + 0.3 * f.parts[1].kernel + 0.2 * f.parts[2].kernel
    X = rng.normal(size=(4, 3))
    assert_allclose(f.kernel(X, X), expected(X, X), rtol=1e-13)
    assert [term.factor for term in f.kernel.terms] == [0.5, 0.3, 0.2]
    assert_allclose(f.intercept, f.weights @ [part.intercept for part in f.parts])
    assert_allclose(f.gradient(X), sum(v * g.gradient(X) for v, g in f.dual.sums), rtol=1e-12)


def test_a_mean_of_a_function_without_training_rows_has_none(rng):
    f = mean(rng)
    without = replace(f, parts=(replace(f.parts[0], dual=None), *f.parts[1:]))
    assert without.dual is None
    with pytest.raises(ValueError, match="training rows of f are not kept"):
        without.row_norms()


def test_the_part_of_a_row_in_a_mean_bounds_its_norm_in_the_space_of_the_sum(rng):
    f = mean(rng)
    squares = [v * d.row_norms() ** 2 for v, d in f.dual.sums]
    assert_allclose(f.row_norms(), np.sqrt(sum(squares)))
    a = f.parts[1]
    norms = np.sqrt((a.coefficients**2).sum(axis=1) * np.diag(a.kernel(a.rows)))
    assert_allclose(a.row_norms(), norms)


def test_a_function_has_no_hash(rng):
    with pytest.raises(TypeError, match="unhashable"):
        hash(dual(rng))


def test_a_function_is_frozen(made):
    function, _ = made
    for field in fields(function):
        with pytest.raises(AttributeError):
            setattr(function, field.name, None)


def test_a_kernel_of_a_function_of_python_has_no_state(rng):
    f = dual(rng, FromFunction(lambda X, Z: X @ Z.T))
    with pytest.raises(ValueError, match="has no state of arrays"):
        f.state()


def test_an_unknown_form_is_refused():
    with pytest.raises(ValueError, match="one of dual, pairs, primal, line, mean, got 'spline'"):
        function_from_state({"form": "spline"})


def test_without_training_rows_a_function_of_features_stays_the_same(rng):
    f = primal(rng)
    small = replace(f, dual=None)
    assert small != f
    assert_array_equal(small(f.dual.rows), f(f.dual.rows))
    assert function_from_state(small.state()) == small


def test_no_training_rows_leave_the_intercept(rng):
    f = DualFunction(Spectrum(2), [], np.zeros((0, 2)), np.array([1.0, -2.0]))
    assert_array_equal(f(WORDS[:2]), [[1.0, -2.0], [1.0, -2.0]])
    assert in_features(f) is f


def test_kmers_are_weighed_where_that_pays(rng):
    f = dual(rng, Spectrum(2), WORDS)
    found = in_features(f)
    assert isinstance(found, PrimalFunction)
    assert found.dual is f
    assert len(found.columns) == len({w[i : i + 2] for w in WORDS for i in range(len(w) - 1)})
    assert in_features(dual(rng)).form == "dual"


def test_the_coefficients_of_pairs_by_target_are_those_of_both_classes(rng):
    f = pairs(rng)
    a = f.by_target
    # Pair 1 is that of the classes 0 and 2, which have the rows 0-4 and 5-12.
    assert_array_equal(a[:5, 1], f.coefficients[:5, 1])
    assert_array_equal(a[5:13, 1], f.coefficients[5:13, 0])
    assert not a[13:, 1].any()


def test_float32_is_near_where_the_engine_compares_rows(rng):
    X = rng.normal(size=(9, 3))
    for f in (dual(rng), pairs(rng)):
        single = f.in_single(X)
        assert single.rows.dtype == np.float32
        assert_allclose(single(X.astype(np.float32)), f(X), atol=1e-4)
    assert dual(rng, Spectrum(2), WORDS).in_single(WORDS) is None
    assert dual(rng).in_single(1e60 * X) is None


def test_a_line_needs_a_kernel_of_points(rng):
    f = replace(line(rng, Exponential(1.0)), kernel=Gaussian(1.0))
    with pytest.raises(ValueError, match="no kernel of points on a line"):
        f(np.zeros((2, 1)))


@given(
    arrays(float, (6, 2), elements=numbers),
    arrays(float, (6, 3), elements=numbers),
    arrays(float, 3, elements=numbers),
    st.integers(1, 6),
)
def test_any_numbers_are_read_back_and_cut_into_blocks(rows, a, b, cut):
    f = DualFunction(Gaussian(3.0), rows, a, b)
    again: Function = function_from_state(f.state())
    assert again == f
    parts = np.vstack([f(rows[:cut]), f(rows[cut:])])
    assert_allclose(parts, f(rows), rtol=1e-9, atol=1e-9 * np.abs(a).max(initial=1.0))


def test_it_prints_in_one_line(made):
    text = repr(made[0])
    assert type(made[0]).__name__ in text
    assert len(text) < 250
    assert "\n" not in text


@pytest.mark.parametrize("name", ["dual", "csr", "pairs", "primal", "straight line"])
def test_rows_with_other_columns_are_called_X(name, rng):
    function, X = FORMS[name](rng)
    wrong = np.zeros((4, X.shape[1] + 1))
    with pytest.raises(ValueError, match=f"X has {X.shape[1] + 1} columns, and the function was"):
        function(wrong)


def test_the_rows_of_a_function_cannot_be_written_to(rng):
    f = dual(rng)
    with pytest.raises(ValueError, match="read-only"):
        f.rows[0] = 0.0
    g, _ = FORMS["csr"](rng)
    with pytest.raises(ValueError, match="read-only"):
        g.rows.data[0] = 0.0
    with pytest.raises(ValueError, match="read-only"):
        pairs(rng).counts[0] = 9


def test_a_kernel_of_many_numbers_has_a_state(rng):
    X = rng.normal(size=(20, 600))
    f = dual(rng, Gaussian(30.0).after(Standardize()).resolved(X), X)
    assert len(str(f.kernel)) > 10_000
    assert function_from_state(f.state()) == f


@pytest.mark.parametrize("name", ["array", "csr", "csc"])
def test_who_writes_into_the_state_of_read_only_rows_is_refused(name):
    X = ROWS[name]
    parts = [v for v in rows_state(read_only(X)).values() if isinstance(v, np.ndarray)]
    assert parts
    assert not any(part.flags.writeable for part in parts)
    assert (X if name == "array" else X.data).flags.writeable
