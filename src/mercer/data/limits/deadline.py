"""The clock that long work looks at between its blocks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from math import inf
from time import perf_counter

# What a deadline is for reaches from an estimator down to every loop over blocks and into native
# code. It belongs to the thread that works and to whatever that calls, as the limits of NumPy's
# errstate do.
_deadline: ContextVar[float] = ContextVar("deadline", default=inf)


class TimeIsUpError(Exception):
    """The deadline has passed: whoever has set it returns what there is."""


@contextmanager
def until(deadline: float) -> Iterator[None]:
    """Within this context `check` raises from `deadline` on, a reading of ``time.perf_counter``.

    An earlier deadline of a context around it stays in force.
    """
    token = _deadline.set(min(deadline, _deadline.get()))
    try:
        yield
    finally:
        _deadline.reset(token)


@contextmanager
def shielded() -> Iterator[None]:
    """Within this context there is no deadline: for the little that makes an answer of what is."""
    token = _deadline.set(inf)
    try:
        yield
    finally:
        _deadline.reset(token)


def check() -> None:
    """Raise `TimeIsUpError` if the deadline has passed; native code asks as well, now and then."""
    deadline = _deadline.get()
    if deadline < inf and perf_counter() > deadline:
        raise TimeIsUpError


def seconds_left() -> float:
    """Return the time until the deadline, infinite where there is none."""
    return _deadline.get() - perf_counter()
