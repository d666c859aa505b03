"""A run: its deadline, Ctrl-C, progress and advice."""

from time import perf_counter

import numpy as np
import pytest

from mercer.data.limits.deadline import TimeIsUpError, check, seconds_left
from mercer.native import lapack
from mercer.solvers import Run


def over():
    return Run(1.0, began=perf_counter() - 10.0)


def test_without_a_limit_it_is_never_over():
    run = Run()
    assert not run.is_over()
    assert run.seconds_left == np.inf
    assert run.rest is None
    assert run.has(1e9)


def test_a_limit_that_has_passed_ends_it_and_says_so():
    run = over()
    assert run.is_over()
    assert run.ended_by == "time"
    said = "after 3 steps the time limit of 1 s was up; raise time_limit"
    assert run.advice("3 steps", "never mind") == said


def test_a_step_that_would_not_fit_ends_it():
    run = Run(10.0)
    assert run.has(1.0)
    assert not run.has(11.0)
    assert run.ended_by == "time"


def test_work_is_broken_off_a_little_after_the_limit():
    run = Run(10.0)
    with run.limited():
        assert 10.0 < seconds_left() < 11.0 + 1.0
    with over().limited(), lapack.one_blas_thread(), pytest.raises(TimeIsUpError):
        check()


def test_progress_is_told_and_may_end_it():
    told = []
    run = Run(progress=lambda *step: told.append(step) or len(told) == 2)
    assert not run.report(1, 0.5)
    assert run.report(2, 0.25)
    assert told == [(1, 0.5), (2, 0.25)]
    assert run.ended_by == "progress"
    assert "callback" in run.advice("2 steps", "")


def test_ctrl_c_ends_all_that_share_the_flag():
    run = Run()
    part = run.part()
    with part.guarded():
        raise KeyboardInterrupt
    assert part.is_interrupted
    assert run.is_over()
    assert run.is_interrupted


def test_a_second_ctrl_c_raises_and_so_does_one_before_there_is_a_model():
    run = Run()
    with pytest.raises(KeyboardInterrupt), run.guarded(lambda: False):
        raise KeyboardInterrupt
    assert run.measured(lambda: 3) == 3
    run.interrupt()
    with pytest.raises(KeyboardInterrupt), run.guarded():
        raise KeyboardInterrupt


def test_the_first_ctrl_c_does_not_end_the_measurement():
    calls = []

    def measure():
        calls.append(1)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return 5

    run = Run()
    assert run.measured(measure) == 5
    assert run.is_interrupted


def test_what_there_is_no_time_to_measure_is_unknown():
    run = over()
    with run.limited():
        assert run.measured(check) is None
    assert run.ended_by == "time"


def test_other_errors_are_passed_on():
    with pytest.raises(ZeroDivisionError), Run().guarded():
        raise ZeroDivisionError


def test_a_share_has_so_much_of_the_time_left_and_speaks_of_all_of_it():
    run = Run(10.0)
    part = run.share(0.25)
    assert part.seconds_left == pytest.approx(2.5, abs=0.2)
    part.ended_by = "time"
    assert "limit of 10 s" in part.reason
    assert run.rest == pytest.approx(10.0, abs=0.2)
    assert over().share(0.5).is_over()
    assert over().rest > 0.0


@pytest.mark.parametrize("limit", [0.0, -1.0, np.nan, np.inf, "long", True])
def test_limits_that_mean_nothing_are_refused(limit):
    with pytest.raises(
        ValueError, match="time_limit must be a positive finite number of seconds or None"
    ):
        Run(limit)


@pytest.mark.parametrize(("limit", "grace"), [(10.0, 1.0), (0.1, 0.505), (None, 0.5)])
def test_work_is_broken_off_a_twentieth_and_half_a_second_beyond_the_limit(limit, grace):
    assert Run(limit).grace == pytest.approx(grace)


@pytest.mark.parametrize("limit", [None, 60.0])
def test_a_limit_leaves_the_threads_of_the_blas_alone(limit):
    with Run(limit).limited():
        assert lapack.one_blas_thread()._askers == 0


def test_a_context_is_entered_also_when_the_time_is_up():
    lapack._libraries.cache_clear()
    with over().limited(), pytest.raises(TimeIsUpError):
        check()


@pytest.mark.parametrize(("limit", "said"), [(14.945231, "14.95 s"), (3600.0, "3600 s")])
def test_a_limit_of_time_is_told_in_four_digits(limit, said):
    run = Run(time_limit=limit)
    run.ended_by = "time"
    assert run.reason == f"the time limit of {said} was up; raise time_limit"
