"""Sums of squared differences weighted by K, and inputs whose values are given."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer.native.core import core
from mercer.tiles import Rows, Tile, apply, compile_expression, difference_forms, evaluate
from mercer.tiles.tile import Opaque

t = Tile()
SMOOTH = t.exp(-0.5 * t.squared_distance(2.0))
GIVEN = Opaque(lambda X, Z: pytest.fail("values that are given were computed"), ())
LEVELS = ("v2", "v3", "v4", "plain")


@pytest.fixture(params=LEVELS)
def level(request, monkeypatch):
    native = core()
    if native is None:
        if request.param != "plain":
            pytest.skip("the NumPy engine has no levels")
        return
    try:
        native.level(request.param)
    except ValueError:
        pytest.skip("this processor has no such level")
    monkeypatch.setenv("MERCER_CPU", request.param)


# Several tiles, the last one with rows that fill no strip; and less than a strip.
@pytest.mark.parametrize("n", [3, 517])
@pytest.mark.parametrize("columns", [1, 4, 7])
def test_forms_are_sums_over_all_pairs_of_rows(n, columns, level, rng):
    # Columns side by side in memory, as those of a table are.
    X, V = rng.normal(size=(n, 3)), rng.normal(size=(columns, n)).T
    program = compile_expression(SMOOTH)
    K = evaluate(program, X)
    expected = [(K * np.subtract.outer(v, v) ** 2).sum() for v in V.T]
    assert_allclose(difference_forms(program, X, V), expected, rtol=1e-12)


@pytest.mark.parametrize("n", [3, 517])
@pytest.mark.parametrize("order", ["C", "F"])
def test_of_the_same_rows_the_symmetric_part_of_given_values_counts(n, order, level, rng):
    X, V = rng.normal(size=(n, 3)), rng.normal(size=(n, 5))
    G = np.asarray(rng.normal(size=(n, n)), order=order)
    program, known = compile_expression(SMOOTH * GIVEN), {GIVEN: G}
    K = evaluate(compile_expression(SMOOTH), X) * (0.5 * (G + G.T))
    assert_allclose(evaluate(program, X, known=known), K, rtol=1e-13)
    assert_allclose(apply(program, X, None, V, known), K @ V, atol=1e-12 * n)
    expected = [(K * np.subtract.outer(v, v) ** 2).sum() for v in V.T]
    assert_allclose(difference_forms(program, X, V, known), expected, atol=1e-12 * n**1.5)


def test_of_different_rows_given_values_are_as_they_are(rng):
    X, Z, G = rng.normal(size=(5, 3)), rng.normal(size=(5, 3)), rng.normal(size=(5, 5))
    assert_array_equal(evaluate(compile_expression(GIVEN), X, Z, known={GIVEN: G}), G)


def test_given_values_beside_functions_have_their_symmetric_part(rng):
    X, G, V = rng.normal(size=(40, 3)), rng.normal(size=(40, 40)), rng.normal(size=(40, 2))
    program = compile_expression(Opaque(lambda X, Z: X @ Z.T, ()) * GIVEN)
    K = X @ X.T * (0.5 * (G + G.T))
    assert_allclose(apply(program, X, None, V, {GIVEN: G}), K @ V, atol=1e-12)
    expected = [(K * np.subtract.outer(v, v) ** 2).sum() for v in V.T]
    assert_allclose(difference_forms(program, X, V, {GIVEN: G}), expected, atol=1e-10)


def test_forms_have_the_same_bits_for_any_number_of_threads(rng, monkeypatch):
    X, V = Rows(rng.normal(size=(900, 3)), "X"), rng.normal(size=(900, 30))
    found = []
    for threads in ("1", "3"):
        monkeypatch.setenv("MERCER_THREADS", threads)
        found.append(difference_forms(compile_expression(SMOOTH), X, V))
    assert_array_equal(*found)


def test_forms_of_float32_rows_are_near_those_of_float64(rng):
    X, V = rng.normal(size=(300, 3)), rng.normal(size=(300, 2))
    program = compile_expression(SMOOTH)
    exact = difference_forms(program, X.astype(np.float32).astype(float), V)
    assert_allclose(difference_forms(program, X.astype(np.float32), V), exact, rtol=1e-5)
