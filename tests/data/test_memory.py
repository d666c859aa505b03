"""Limits of memory: what is left of one for a whole process."""

import pytest

from mercer.data import memory
from mercer.data.memory import left_of, resident_bytes


@pytest.fixture
def held(monkeypatch):
    monkeypatch.setattr(memory, "resident_bytes", lambda: 300)


@pytest.mark.parametrize(
    ("limit", "left"), [(None, None), (200, 200), (400, 200), (800, 500), (2400, 2100)]
)
def test_a_limit_for_the_process_leaves_what_it_does_not_hold(held, limit, left):
    assert left_of(limit) == left


def test_a_little_more_in_memory_changes_nothing(held, monkeypatch):
    before = left_of(8000)
    monkeypatch.setattr(memory, "resident_bytes", lambda: 310)
    assert left_of(8000) == before


def test_a_process_holds_what_it_has_allocated():
    before = resident_bytes()
    block = bytearray(50_000_000)
    assert resident_bytes() >= before + 40_000_000
    assert len(block) == 50_000_000
