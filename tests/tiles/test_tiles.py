"""The native tile loop against its NumPy twin, at every processor level and thread count."""

import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from mercer.kernels import Gaussian, Polynomial
from mercer.native import core
from mercer.tiles import Tile, apply, compile_expression, evaluate, loop_twin, residuals
from mercer.tiles.evaluate import engine
from mercer.tiles.operands import bind
from processes import forked

native = pytest.importorskip("mercer.tiles.loop", reason="the native core is not built here")

t = Tile()
SMOOTH = t.exp(-0.5 * t.squared_distance(2.0))
FORMULAS = {
    "dot": t.dot() + 1.0,
    "polynomial": (0.5 * t.dot() + 1.0) ** 5,
    "gaussian": SMOOTH,
    "ard": t.exp(-0.5 * t.on((0, 1)).squared_distance((0.7, 2.0))),
    "exponential": t.exp(-t.sqrt(t.squared_distance(1.5))),
    "laplacian": t.exp(-t.manhattan(2.0)),
    "weighted laplacian": t.exp(-t.on((1, 0)).manhattan((0.7, 2.0))),
    "rational": t.exp(-0.7 * t.log1p(t.squared_distance(1.5))),
    "multiquadric": t.reciprocal(t.sqrt(t.squared_distance() + 0.5)),
    "sigmoid": t.tanh(0.1 * t.dot() + 0.2),
    "cosine": t.normalize(t.dot()),
    "minimum": t.on((0, 1)).minimum(),
    "chi2": t.exp(-t.chi2()),
    "scaled": t.scale_rows(SMOOTH, lambda X: X[:, 0] + 1.0),
    "constant": t.constant(2.0),
    "sum of functions": t.dot()
    + t.sum(f(0.1 * t.dot() + 0.2) for f in (t.sqrt, t.tanh, t.log1p, t.reciprocal, t.exp)),
    "function and argument": t.exp(0.1 * t.dot()) + t.dot(),
    "shared": SMOOTH + 0.5 * (t.dot() + 1.0) ** 2 + t.exp(-t.sqrt(t.squared_distance(3.0))),
}


def available_levels() -> list[str]:
    levels = []
    for level in ("v2", "v3", "v4", "plain"):
        try:
            levels.append(core._level(level))
        except ValueError:
            continue
    return levels


def by_twin(bound):
    out = np.empty(bound.shape, bound.dtype)
    loop_twin.fill(bound, out)
    return out


def by_native(bound):
    out = np.empty(bound.shape, bound.dtype)
    native.fill(bound, out)
    return out


@pytest.mark.parametrize("level", available_levels())
@pytest.mark.parametrize("name", FORMULAS)
def test_native_tiles_equal_the_twin_in_float64(name, level, rng, monkeypatch):
    monkeypatch.setenv("MERCER_CPU", level)
    program = compile_expression(FORMULAS[name])
    for width in (2, 8, 17, 40, 130):
        X, Z = rng.uniform(0.1, 1.0, (70, width)), rng.uniform(0.1, 1.0, (301, width))
        for other in (None, Z):
            bound = bind(program, X, other)
            assert_allclose(by_native(bound), by_twin(bound), rtol=2e-13)


@pytest.mark.parametrize("name", FORMULAS)
def test_native_tiles_equal_the_twin_in_float32(name, rng):
    program = compile_expression(FORMULAS[name])
    for width in (2, 17, 40):
        X = rng.uniform(0.1, 1.0, (70, width)).astype(np.float32)
        Z = rng.uniform(0.1, 1.0, (301, width)).astype(np.float32)
        result = by_native(bind(program, X, Z))
        assert result.dtype == np.float32
        assert_allclose(result, by_twin(bind(program, X.astype(float), Z.astype(float))), rtol=1e-5)


@pytest.mark.parametrize("level", available_levels())
def test_float32_tiles_hold_no_subnormal_numbers_and_leave_callers_theirs(level, monkeypatch):
    monkeypatch.setenv("MERCER_CPU", level)
    exponents = np.linspace(80.0, 103.0, 47)
    X, Z = np.zeros((1, 1), np.float32), np.sqrt(exponents).astype(np.float32)[:, None]
    K = by_native(bind(compile_expression(t.exp(-t.squared_distance())), X, Z))[0]
    assert not ((K > 0) & (np.finfo(np.float32).tiny > K)).any()
    assert_allclose(K, np.where(exponents < 87, np.exp(-exponents), 0), rtol=1e-4, atol=2e-38)
    least = np.float32(1e-20) * np.float32(1e-20)
    assert least > 0


@pytest.mark.parametrize("width", [1, 3, 20])
@pytest.mark.parametrize("vectors", [1, 2, 9, 600])
@pytest.mark.parametrize("symmetric", [True, False])
def test_product_without_the_matrix_equals_the_product_with_it(width, vectors, symmetric, rng):
    X = rng.normal(size=(517, width))
    Z = None if symmetric else rng.normal(size=(300, width))
    program = compile_expression(FORMULAS["shared"])
    K = evaluate(program, X, Z)
    V = rng.normal(size=(K.shape[1], vectors))
    out = np.zeros((len(X), vectors))
    native.multiply(bind(program, X, Z), V, out)
    assert (np.abs(out - K @ V) <= 1e-13 * (np.abs(K) @ np.abs(V))).all()


@pytest.mark.parametrize("level", available_levels())
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", FORMULAS)
def test_residuals_and_their_product_with_the_matrix_are_those_of_the_twin(
    name, dtype, level, rng, monkeypatch
):
    monkeypatch.setenv("MERCER_CPU", level)
    program = compile_expression(FORMULAS[name])
    for width, rows, vectors in ((2, 1100, 1), (17, 70, 9), (40, 33, 2)):
        X = rng.uniform(0.1, 1.0, (rows, width)).astype(dtype)
        Z = rng.uniform(0.1, 1.0, (1301, width)).astype(dtype)
        V, Y = rng.normal(size=(len(Z), vectors)), rng.normal(size=(rows, vectors))
        w = rng.uniform(1.0, 2.0, rows)
        R, back = np.empty_like(Y), np.zeros_like(V)
        native.residuals(bind(program, X, Z), V, Y, w, R, back)
        wide = bind(program, X.astype(float), Z.astype(float))
        expected, products, K = np.empty_like(Y), np.zeros_like(V), by_twin(wide)
        loop_twin.residuals(wide, V, Y, w, expected, products)
        off = 1e-12 if dtype == np.float64 else 1e-4
        scale = np.abs(Y) + np.abs(K) @ np.abs(V)
        assert (np.abs(R - expected) <= off * scale).all()
        most = np.abs(K).T @ (w[:, None] * scale)
        assert (np.abs(back - products) <= off * most).all()


def test_residuals_of_rows_that_no_tile_takes_are_those_of_the_formula(rng):
    X, Z = sp.random(80, 3000, 0.01, random_state=0, format="csr"), np.eye(7, 3000)
    program = compile_expression(FORMULAS["minimum"] + t.dot())
    V, Y, w = rng.normal(size=(7, 2)), rng.normal(size=(80, 2)), rng.uniform(1.0, 2.0, 80)
    R, back = residuals(program, X, Z, V, Y, w)
    K = evaluate(program, X.toarray(), Z)
    assert_allclose(R, Y - K @ V, atol=1e-12)
    assert_allclose(back, K.T @ (w[:, None] * R), atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("width", [3, 40])
def test_results_have_the_same_bits_for_any_number_of_threads(width, dtype, rng, monkeypatch):
    X = rng.normal(size=(1500, width)).astype(dtype)
    V = rng.normal(size=(1500, 2))
    program = compile_expression(FORMULAS["shared"])
    results = []
    for threads in ("1", "2", "5"):
        monkeypatch.setenv("MERCER_THREADS", threads)
        few = apply(program, X, X[:9], V[:9])
        left = residuals(program, X, X[:9], V[:9], V, V[:, 0] ** 2)
        results.append((evaluate(program, X), apply(program, X, None, V), few, *left))
    for result in results[1:]:
        for first, other in zip(results[0], result, strict=True):
            assert_array_equal(first, other)


@pytest.mark.parametrize("width", [3, 20, 40])
@pytest.mark.parametrize("name", ["gaussian", "exponential", "multiquadric", "shared", "cosine"])
def test_a_gram_matrix_is_symmetric_to_the_last_bit(name, width, rng):
    X = rng.normal(size=(700, width)) * np.geomspace(1e-3, 1e3, 700)[:, None]
    K = by_native(bind(compile_expression(FORMULAS[name]), X))
    assert_array_equal(K, K.T)


@pytest.mark.parametrize("level", available_levels())
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_gram_matrices_of_every_size_hold_the_entries_of_the_twin(level, dtype, rng, monkeypatch):
    monkeypatch.setenv("MERCER_CPU", level)
    program = compile_expression(FORMULAS["gaussian"])
    for n in (1, 7, 63, 64, 65, 127, 128, 129, 193, 255, 257, 511, 513, 650, 1100):
        X = rng.normal(size=(n, 3)).astype(dtype)
        K = by_native(bind(program, X))
        exact = by_twin(bind(program, X.astype(np.float64)))
        assert_allclose(K, exact, rtol=1e-5 if dtype == np.float32 else 2e-13)
        assert_array_equal(K, K.T)


def test_any_strides_are_read_and_written(rng):
    big = rng.normal(size=(400, 60))
    program = compile_expression(SMOOTH)
    for view in (big[::2, ::3], big[::-1, 5:9], np.asfortranarray(big)[:, 1:30], big.T[:50, 3:]):
        expected = by_native(bind(program, np.ascontiguousarray(view)))
        frame = np.full((2 * len(view) + 1, 3 * len(view)), np.nan)
        native.fill(bind(program, view), frame[1::2, ::3])
        assert_array_equal(frame[1::2, ::3], expected)
        assert np.isnan(frame[::2]).all()


def test_large_results_written_past_the_caches_are_the_same(rng):
    X = rng.normal(size=(2301, 3))
    program = compile_expression(SMOOTH)
    K = by_native(bind(program, X))
    rows = np.arange(0, 2301, 97)
    assert K.nbytes > 1 << 25
    assert_allclose(K[rows], evaluate(program, X[rows], X), rtol=1e-13)


def test_wide_rows_shrink_the_tile_and_not_the_digits(rng):
    X = rng.normal(size=(90, 6000)) / 80.0
    bound = bind(compile_expression(SMOOTH), X)
    assert_allclose(by_native(bound), by_twin(bound), rtol=1e-12)


def test_near_duplicates_among_wide_rows_keep_their_digits(rng):
    base = rng.normal(size=(40, 50))
    X = np.vstack([base + 1e-7 * rng.normal(size=base.shape) for _ in range(4)])
    bound = bind(compile_expression(FORMULAS["exponential"]), X)
    assert_allclose(by_native(bound), by_twin(bound), rtol=1e-13)


def test_extremes_of_the_elementwise_functions_match_numpy():
    values = np.array([[-1e308, -1e4, -745.0, -708.0, -1.0, -1e-9, 0.0, 1e-9, 0.5, 709.7, 1e4]])
    for function in (t.exp, t.tanh):
        bound = bind(compile_expression(function(t.dot())), values.T, np.ones((1, 1)))
        with np.errstate(over="ignore", under="ignore"):
            # Below the smallest normal number the native exponential is zero.
            assert_allclose(by_native(bound), by_twin(bound), rtol=4e-15, atol=1e-307)
    positive = np.abs(values)
    for function in (t.sqrt, t.log1p, t.reciprocal):
        bound = bind(compile_expression(function(t.dot())), positive.T, np.ones((1, 1)))
        assert_allclose(by_native(bound), by_twin(bound), rtol=4e-15)


@pytest.mark.parametrize("level", available_levels())
def test_square_roots_keep_their_digits_to_the_ends_of_the_numbers(level, monkeypatch):
    monkeypatch.setenv("MERCER_CPU", level)
    ends = np.finfo(np.float64)
    values = np.array([[0.0, 5e-324, 1e-310, ends.tiny, 1e-300, 0.3, 1e300, ends.max]])
    # As many columns as fill vectors, so that no lane is padding, for which another way is taken.
    bound = bind(compile_expression(t.sqrt(t.dot())), values.T, np.ones((16, 1)))
    assert_allclose(by_native(bound), by_twin(bound), rtol=3e-16)


native_only = pytest.mark.skipif(engine() is loop_twin, reason="the NumPy engine runs")


@native_only
@pytest.mark.skipif(sys.platform != "linux", reason="peak memory is read from /proc")
def test_products_of_large_n_need_little_memory():
    code = """
        import re
        import numpy as np
        from mercer.tiles import Tile, apply, compile_expression

        def status(field):
            text = open("/proc/self/status").read()
            return int(re.search(rf"{field}:\\s+(\\d+) kB", text)[1]) / 1024

        t = Tile()
        program = compile_expression(t.exp(-0.5 * t.squared_distance(3.0)))
        X = np.random.default_rng(0).normal(size=(20_000, 8))
        v = np.ones(20_000)
        apply(program, X[:500], None, v[:500])
        before = status("VmRSS")
        open("/proc/self/clear_refs", "w").write("5")  # forget the peak so far
        apply(program, X, None, v)
        print(status("VmHWM") - before)
    """
    run = forked(textwrap.dedent(code))
    assert float(run.stdout) < 64.0


@native_only
@pytest.mark.parametrize("call", ["evaluate(program, X, Z, out)", "apply(program, X, None, v)"])
def test_ctrl_c_stops_a_long_call(call):
    code = f"""
        import signal
        import numpy as np
        from mercer.tiles import Tile, apply, compile_expression, evaluate
        # A process started in the background may have been told to ignore Ctrl-C.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        t = Tile()
        program = compile_expression(t.exp(-t.sqrt(t.squared_distance(3.0))))
        X = np.random.default_rng(0).normal(size=(400_000, 30))
        Z = X[:400]
        v = np.ones(len(X))
        out = np.zeros((len(X), 400))
        print("ready", flush=True)
        try:
            while True:
                {call}
        except KeyboardInterrupt:
            print("interrupted", flush=True)
    """
    line = [sys.executable, "-c", textwrap.dedent(code)]
    process = subprocess.Popen(line, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    with process, process.stdout as lines:
        assert lines.readline() == "ready\n"
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        sent = time.monotonic()
        assert lines.readline() == "interrupted\n"
        # A fraction of a second when the machine is quiet; the call itself takes minutes.
        assert time.monotonic() - sent < 10.0


def test_an_unknown_processor_level_is_refused(monkeypatch):
    monkeypatch.setenv("MERCER_CPU", "v9")
    with pytest.raises(ValueError, match=r"MERCER_CPU='v9'.*v2, v3, v4"):
        native.cpu_level()


def test_a_thread_count_that_is_no_count_is_refused(monkeypatch):
    monkeypatch.setenv("MERCER_THREADS", "many")
    with pytest.raises(ValueError, match=r"MERCER_THREADS.*'many'"):
        by_native(bind(compile_expression(SMOOTH), np.zeros((2, 2))))


def test_a_program_with_many_intermediate_results_has_narrow_tiles_and_the_same_entries(rng):
    kernel = Gaussian(1.0)
    for scale in range(2, 22):
        kernel = Gaussian(float(scale)) * (1.0 + kernel) + 0.5 * Polynomial(2)
    assert kernel.program.n_slots >= 9
    X = rng.normal(size=(300, 30))
    bound = bind(kernel.program, X)
    assert_allclose(by_native(bound), by_twin(bound), rtol=1e-13)
