"""The native routines for chains against their NumPy twin."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer.native import chain
from mercer.native.twins import chain as chain_twin

native = pytest.importorskip("mercer.native._native", reason="the native core is not built here")


def network_of(rng, n, spread=0.0, rooted=False):
    """Return links, row_sums, weights and targets, data_precision over this many powers of ten."""
    links = 10.0 ** rng.uniform(-spread, spread, size=n - 1) * rng.uniform(0.5, 2.0, size=n - 1)
    row_sums = 10.0 ** rng.uniform(-spread, spread, size=n) * rng.uniform(0.1, 1.0, size=n)
    if rooted:
        row_sums[1:] = 0.0
    return links, row_sums, rng.uniform(0.2, 3.0, size=n), rng.normal(size=n)


def solved(core, precision, per_alpha, b_penalty):
    f, a = np.empty(len(precision[3])), np.empty(len(precision[3]))
    return core.chain_solve(*precision, per_alpha, b_penalty, f, a), f, a


def held_out(core, precision, per_alpha, b_penalty, starts, weights, steps):
    sums, e = np.empty(len(per_alpha)), np.empty((len(per_alpha), len(weights)))
    core.chain_held_out(*precision, per_alpha, b_penalty, starts, weights, steps, sums, e)
    alone = np.empty(len(per_alpha))
    core.chain_held_out(*precision, per_alpha, b_penalty, starts, weights, steps, alone, None)
    assert_array_equal(alone, sums)
    return sums, e


@pytest.mark.parametrize("n", [1, 2, 3, 127, 128, 129, 400])
@pytest.mark.parametrize("b_penalty", [0.0, 0.7, np.inf])
@pytest.mark.parametrize("spread", [0.0, 6.0])
def test_the_native_solution_equals_the_twins(rng, n, b_penalty, spread):
    precision = network_of(rng, n, spread)
    for per_alpha in (1e-12, 1.0, 1e12, np.inf):
        b, f, a = solved(native, precision, per_alpha, b_penalty)
        b_twin, f_twin, a_twin = solved(chain_twin, precision, per_alpha, b_penalty)
        assert_allclose(b, b_twin, rtol=1e-12, atol=1e-13)
        # A single knot with an offset has f = a = 0 but for rounding, hence the absolute part.
        assert_allclose(f, f_twin, rtol=1e-12, atol=1e-13 * np.abs(f_twin).max() + 1e-14)
        assert_allclose(a, a_twin, rtol=1e-12, atol=1e-12 * np.abs(a_twin).max() + 1e-14)


@pytest.mark.parametrize("n", [2, 3, 127, 128, 129, 400])
@pytest.mark.parametrize("b_penalty", [0.0, 0.7, np.inf])
@pytest.mark.parametrize("rooted", [False, True])
def test_native_leave_one_out_residuals_equal_the_twins(rng, n, b_penalty, rooted):
    precision = network_of(rng, n, rooted=rooted)
    per_alpha = 10.0 ** np.arange(-4.0, 5.0)
    arguments = (precision, per_alpha, b_penalty, None, precision[2], np.empty(0))
    sums, e = held_out(native, *arguments)
    sums_twin, e_twin = held_out(chain_twin, *arguments)
    assert_allclose(e, e_twin, rtol=1e-9, atol=1e-11)
    assert_allclose(sums, sums_twin, rtol=1e-10)


@pytest.mark.parametrize("b_penalty", [0.0, np.inf])
def test_native_leave_one_out_residuals_of_rows_that_share_knots_equal_the_twins(rng, b_penalty):
    counts = rng.integers(1, 4, size=50)
    starts = np.append(0, np.cumsum(counts)).astype(np.int64)
    weights, steps = rng.uniform(0.2, 3.0, size=starts[-1]), rng.normal(size=starts[-1])
    links, row_sums, _, y = network_of(rng, 50)
    precision = links, row_sums, np.add.reduceat(weights, starts[:-1]), y
    arguments = (precision, np.array([0.1, 1.0, 10.0]), b_penalty, starts, weights, steps)
    for mine, twins in zip(
        held_out(native, *arguments), held_out(chain_twin, *arguments), strict=True
    ):
        assert_allclose(mine, twins, rtol=1e-10)


@pytest.mark.parametrize("b_penalty", [0.0, 0.7, np.inf])
@pytest.mark.parametrize("shared", [False, True])
def test_the_native_sums_of_generalised_cross_validation_equal_the_twins(rng, b_penalty, shared):
    counts = rng.integers(1, 4, size=300) if shared else np.ones(300, np.int64)
    starts = np.append(0, np.cumsum(counts)).astype(np.int64)
    weights, steps = rng.uniform(0.2, 3.0, size=starts[-1]), rng.normal(size=starts[-1])
    links, row_sums, _, y = network_of(rng, 300)
    precision = links, row_sums, np.add.reduceat(weights, starts[:-1]), y
    # Rows that share a knot have coefficients of the size of 1 / alpha.
    per_alpha = 10.0 ** np.arange(-250.0, 100.0 if shared else 250.0, 50.0)
    if not shared:
        per_alpha[-1] = np.inf
    rest = (starts, weights, steps) if shared else (None, weights, np.empty(0))
    found = []
    for core in (native, chain_twin):
        squares, traces = np.empty(len(per_alpha)), np.empty(len(per_alpha))
        core.chain_generalised(*precision, per_alpha, b_penalty, *rest, squares, traces)
        found.append((squares, traces))
    assert_allclose(found[0], found[1], rtol=1e-9)
    assert np.isfinite(found[0]).all()


@pytest.mark.parametrize("n", [1, 2, 3, 50, 51])
@pytest.mark.parametrize("targets", [1, 3])
def test_native_products_equal_the_twins(rng, n, targets):
    V = rng.normal(size=(n, targets))
    for name, between in (
        ("chain_multiply_decays", rng.uniform(size=n - 1)),
        ("chain_multiply_lengths", rng.uniform(size=n)),
    ):
        mine, twins = np.empty_like(V), np.empty_like(V)
        getattr(native, name)(between, V, mine)
        getattr(chain_twin, name)(between, V, twins)
        assert_allclose(mine, twins, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("n", [1, 2, 40])
@pytest.mark.parametrize("length_scale", [1e-8, 0.3, 1e8, 1e300, np.inf])
def test_native_interpolation_equals_the_twins(rng, n, length_scale):
    knots = np.sort(rng.uniform(1.0, 5.0, size=n))
    values = rng.normal(size=(n, 2))
    x = np.concatenate([rng.uniform(0.0, 9.0, size=200), knots, np.nextafter(knots, 9.0)])
    mine, twins = np.empty((len(x), 2)), np.empty((len(x), 2))
    native.chain_interpolate(knots, values, length_scale, knots[0] + 0.5, x, mine)
    chain_twin.chain_interpolate(knots, values, length_scale, knots[0] + 0.5, x, twins)
    assert_allclose(mine, twins, rtol=1e-12, atol=1e-14)


def test_results_do_not_depend_on_the_number_of_threads(rng, monkeypatch):
    links, row_sums, weights, y = network_of(rng, 300)
    precision = chain.Precision(links, row_sums, weights, 0.0)
    knots, values = np.sort(rng.normal(size=300)), rng.normal(size=(300, 1))
    x = rng.normal(size=150_000)
    results = []
    for threads in ("1", "3"):
        monkeypatch.setenv("MERCER_THREADS", threads)
        errors = precision.held_out(
            y, np.empty(0), chain.Rows(weights), 10.0 ** np.arange(-5.0, 6.0)
        )
        results.append((errors, chain.interpolate(knots, values, 0.2, np.inf, x)))
    for one, other in zip(*results, strict=True):
        assert_array_equal(one, other)


def test_positions_in_any_order_are_interpolated_alike(rng):
    knots, values = np.sort(rng.normal(size=300)), rng.normal(size=(300, 2))
    x = rng.normal(size=5000)
    one_by_one = [chain.interpolate(knots, values, 0.2, np.inf, x[[i]])[0] for i in range(5000)]
    assert_array_equal(chain.interpolate(knots, values, 0.2, np.inf, x), one_by_one)


@pytest.mark.parametrize("n", [1, 2, 3, 200])
@pytest.mark.parametrize("spread", [0.0, 6.0])
def test_the_native_spread_equals_the_twins(rng, n, spread):
    links, row_sums, w, _ = network_of(rng, n, spread)
    knots, parts = rng.permutation(n).astype(np.int64), []
    for core in (native, chain_twin):
        total, rise, left, right = np.empty(n), np.empty(n), np.empty(n - 1), np.empty(n - 1)
        core.chain_spread(links, row_sums, w, total, left, right, rise)
        here, there, share = 1.0 / total[knots], 0.5 / total[knots], rise[knots]
        out = np.empty((n, n))
        core.chain_influence(w, left, right, rise, knots, here, there, share, out)
        parts.append((total, left, right, rise, out))
    for mine, twins in zip(*parts, strict=True):
        assert_allclose(mine, twins, rtol=1e-12)
