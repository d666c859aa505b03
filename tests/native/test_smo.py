"""The native solver of margin problems against its NumPy twin, and against itself."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer.native import smo
from mercer.native.core import core as compiled_core
from mercer.native.smo import Box, Effort, SolverState, minimise

native = pytest.importorskip("mercer.native._native", reason="the native core is not built here")
needs_core = pytest.mark.skipif(
    compiled_core() is None, reason="the NumPy engine indexes by nothing of a solver state"
)


def problem(rng, n, offset=True, epsilon=0.0):
    X = rng.normal(size=(n, 3))
    K = np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    if epsilon:
        y = np.sin(X[:, 0]) + 0.2 * rng.normal(size=n)
        costs = rng.uniform(0.5, 3.0, size=n)
        return K, Box(y, -costs, costs, epsilon, offset)
    z = np.where(X[:, 0] + 0.7 * rng.normal(size=n) > 0, 1.0, -1.0)
    costs = rng.uniform(0.5, 3.0, size=n)
    return K, Box(z, np.where(z > 0, 0.0, -costs), np.where(z > 0, costs, 0.0), epsilon, offset)


def run(K, box, **settings):
    a, g = np.zeros(len(box.z)), -box.z
    effort = Effort(settings.pop("tolerance", 1e-10))
    ending = minimise(K, box, a, g, effort, np.zeros(1, np.uint8), **settings)
    return a, g, ending


def before_a_newton_step(n):
    """Return the state of a run that has spent more than a Newton step costs, for its 8th round."""
    state = SolverState.initial(n, 256)
    state.numbers[:] = 7, 0, n, 0, np.inf, 4.0, 0.0
    return state


@pytest.fixture(params=["native", "twin"])
def core(request, monkeypatch):
    if request.param == "twin":
        monkeypatch.setattr(smo, "core", lambda: None)
        monkeypatch.setattr(smo, "routines", lambda twin: twin)
    return request.param


@pytest.mark.parametrize("offset", [True, False])
@pytest.mark.parametrize("epsilon", [0.0, 0.1])
def test_the_gradient_and_the_bounds_are_kept(rng, core, offset, epsilon):
    K, box = problem(rng, 90, offset, epsilon)
    a, g, ending = run(K, box, tolerance=1e-8)
    assert ending.reason == "converged"
    assert_allclose(g, K @ a - box.z, atol=1e-12)
    assert ((box.lower <= a) & (a <= box.upper)).all()
    assert not offset or abs(a.sum()) < 1e-12


@pytest.mark.parametrize("offset", [True, False])
@pytest.mark.parametrize("epsilon", [0.0, 0.1])
def test_twin_and_native_code_find_the_same_values(rng, monkeypatch, offset, epsilon):
    K, box = problem(rng, 90, offset, epsilon)
    values = [K @ run(K, box)[0]]
    monkeypatch.setattr(smo, "core", lambda: None)
    monkeypatch.setattr(smo, "routines", lambda twin: twin)
    values.append(K @ run(K, box)[0])
    assert_allclose(*values, atol=1e-4)


def source_of(K):
    def source(index, out):
        out[:] = K[index]

    return source


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_on_demand_give_the_bits_of_the_whole_matrix(rng, dtype):
    K, box = problem(rng, 400)
    K = K.astype(dtype)
    whole = run(K, box, working_set=32)
    settings = dict(is_single=dtype is np.float32, capacity=400, working_set=32)
    asked = run(source_of(K), box, **settings)
    assert_array_equal(whole[0], asked[0])
    assert_array_equal(whole[1], asked[1])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_of_a_larger_matrix_give_the_bits_of_their_own(rng, core, dtype):
    K, box = problem(rng, 120)
    index = np.sort(rng.choice(500, 120, replace=False))
    larger = rng.normal(size=(500, 500)).astype(dtype)
    larger[np.ix_(index, index)] = K
    chosen, _, _ = run(larger, box, tolerance=1e-5, index=index)
    alone, _, _ = run(K.astype(dtype), box, tolerance=1e-5)
    assert_array_equal(chosen, alone)


def test_nothing_is_left_to_do_after_a_newton_step_to_the_solution(rng, core):
    K, box = problem(rng, 120)
    best, _, _ = run(K, box)
    a, g = np.zeros(120), -box.z

    def step():
        a[:] = best
        g[:] = K @ a - box.z
        return 1.0

    ending = minimise(
        K,
        box,
        a,
        g,
        Effort(1e-4),
        np.zeros(1, np.uint8),
        newton_step=step,
        state=before_a_newton_step(120),
    )
    assert ending.reason == "converged"
    assert ending.steps == 0
    assert_array_equal(a, best)


def test_ctrl_c_in_a_newton_step_ends_the_run(rng, core):
    K, box = problem(rng, 120)
    a, g = np.zeros(120), -box.z

    def step():
        raise KeyboardInterrupt

    ending = minimise(
        K,
        box,
        a,
        g,
        Effort(1e-9),
        np.zeros(1, np.uint8),
        newton_step=step,
        state=before_a_newton_step(120),
    )
    assert ending.reason == "interrupt"


def test_an_error_in_a_newton_step_is_passed_on(rng, core):
    K, box = problem(rng, 120)

    def step():
        raise ValueError("no way from here")

    with pytest.raises(ValueError, match="no way from here"):
        minimise(
            K,
            box,
            np.zeros(120),
            -box.z,
            Effort(1e-9),
            np.zeros(1, np.uint8),
            newton_step=step,
            state=before_a_newton_step(120),
        )


@pytest.mark.parametrize("capacity", [0, 50])
def test_rows_that_do_not_fit_are_asked_for_again(rng, core, capacity):
    K, box = problem(rng, 120)
    settings = dict(is_single=False, capacity=capacity, working_set=32)
    a, g, ending = run(source_of(K), box, **settings)
    assert ending.reason == "converged"
    assert_allclose(K @ a, K @ run(K, box)[0], atol=1e-4)
    assert_allclose(g, K @ a - box.z, atol=1e-12)


def test_the_number_of_threads_does_not_change_a_bit(rng, monkeypatch):
    K, box = problem(rng, 1500)
    results = []
    for threads in ("1", "2", "3"):
        monkeypatch.setenv("MERCER_THREADS", threads)
        results.append(run(K.astype(np.float32), box, tolerance=1e-6, working_set=512)[1])
    assert_array_equal(results[0], results[1])
    assert_array_equal(results[0], results[2])


@pytest.mark.parametrize("cpu", ["v2", "v3", "v4"])
def test_every_level_of_the_processor_finds_the_same_values(rng, monkeypatch, cpu):
    try:
        native.level(cpu)
    except ValueError:
        pytest.skip(f"no level {cpu} here")
    K, box = problem(rng, 200)
    best = K @ run(K, box)[0]
    monkeypatch.setenv("MERCER_CPU", cpu)
    assert_allclose(K @ run(K, box)[0], best, atol=1e-4)


def test_an_error_of_the_source_is_passed_on(rng, core):
    _, box = problem(rng, 50)

    def source(index, out):
        raise OSError("the rows are gone")

    with pytest.raises(OSError, match="the rows are gone"):
        run(source, box)


def test_progress_is_told_the_gap_and_may_stop(rng, core):
    K, box = problem(rng, 400)
    seen = []

    def progress(rounds, gap):
        seen.append(gap)
        return len(seen) == 3

    _, _, ending = run(K, box, progress=progress, working_set=16)
    assert ending.reason == "progress"
    assert len(seen) == 3
    assert ending.gap > 0.0


def test_a_flag_set_elsewhere_stops_it(rng, core):
    K, box = problem(rng, 50)
    a, g = np.zeros(50), -box.z
    ending = minimise(K, box, a, g, Effort(1e-9), np.ones(1, np.uint8))
    assert ending.reason == "interrupt"
    assert not a.any()


def hard(rng):
    """Rows that an unbounded solution separates, with bounds that no coefficient comes near to."""
    K, box = problem(rng, 30)
    return K, Box(box.z, 1e20 * box.lower, 1e20 * box.upper, 0.0, True)


def test_a_violation_that_is_but_rounding_ends_the_run(rng, core):
    K, box = hard(rng)
    a, g = np.zeros(30), -box.z
    effort = Effort(1e-4, largest=1.0, rounds=20_000)
    assert minimise(K, box, a, g, effort, np.zeros(1, np.uint8)).reason == "stalled"
    up, down = g[a < box.upper].min(), g[a > box.lower].max()
    assert down - up <= 8.0 * np.finfo(np.float64).eps * np.linalg.norm(a)


def test_a_run_ends_after_the_steps_that_are_allowed(rng, core):
    K, box = hard(rng)
    a, g = np.zeros(30), -box.z
    ending = minimise(K, box, a, g, Effort(1e-4, steps=20), np.zeros(1, np.uint8))
    assert ending.reason == "steps"
    assert ending.steps >= 20


@pytest.mark.parametrize("offset", [True, False])
def test_a_run_that_goes_on_from_its_course_gives_the_bits_of_one_that_never_ended(
    rng, core, offset
):
    K, box = problem(rng, 400, offset)
    expected_a, expected_g, whole = run(K, box, working_set=16)
    a, g, state, pauses = np.zeros(400), -box.z, SolverState.initial(400, 16), 0
    while True:
        seen = []

        def pause(rounds, gap, seen=seen):
            seen.append(rounds)
            return len(seen) > 3

        ending = minimise(
            K, box, a, g, Effort(1e-10), np.zeros(1, np.uint8), pause, working_set=16, state=state
        )
        if ending.reason != "progress":
            break
        pauses += 1
    assert pauses > 2
    assert ending == whole
    assert_array_equal(a, expected_a)
    assert_array_equal(g, expected_g)


@needs_core
@pytest.mark.parametrize(
    ("place", "value"), [(0, -1.0), (0, np.nan), (1, -1.0), (2, 0.0), (2, 1e9), (3, 51.0), (3, 0.5)]
)
def test_a_course_of_no_run_is_refused(rng, place, value):
    K, box = problem(rng, 50)
    state = SolverState(np.array([1.0, 9.0, 8.0, 4.0, 0.0, 1.0, 0.0]), np.zeros(50, np.int64))
    run(K, box, state=state)
    state.numbers[:4] = 1.0, 9.0, 8.0, 4.0
    state.numbers[place] = value
    with pytest.raises(ValueError, match="the solver state is that of no run"):
        run(K, box, state=state)


@needs_core
def test_a_course_with_rows_that_are_not_there_is_refused(rng):
    K, box = problem(rng, 50)
    state = SolverState(np.array([1.0, 9.0, 8.0, 4.0, 0.0, 1.0, 0.0]), np.full(50, 50))
    with pytest.raises(ValueError, match="the solver state is that of no run"):
        run(K, box, state=state)
