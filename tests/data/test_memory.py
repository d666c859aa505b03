"""Limits of memory: what is left of one for a whole process."""

import pytest

from mercer.data import memory
from mercer.data.memory import left_of, memory_limit, resident_bytes


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


@pytest.mark.parametrize("bad", [0, -1.0, float("inf"), float("nan"), True, [1]])
def test_a_limit_that_is_no_positive_finite_number_is_refused(bad):
    with pytest.raises(ValueError, match="memory must be a positive finite number of bytes, got"):
        memory_limit(bad)


def test_a_limit_is_a_number_of_bytes_or_text_with_a_unit():
    assert [memory_limit(given) for given in (1, 2.5e9, "2.5GB", "1 KiB")] == [
        1,
        2_500_000_000,
        2_500_000_000,
        1024,
    ]
