"""Limits of memory: what is left of one for a whole process."""

import re

import pytest

from mercer.data.limits import memory
from mercer.data.limits.memory import (
    FOR_WORK,
    OWN,
    Room,
    beside,
    lacking,
    least_limit,
    memory_limit,
    room_of,
    warn_of_limit,
)
from mercer.errors import MemoryLimitWarning


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


@pytest.mark.parametrize(
    ("limit", "room"),
    [
        (None, None),
        (1000, 1000),
        (FOR_WORK, FOR_WORK),
        ("500MB", 500_000_000 - OWN),
        ("4GB", 4_000_000_000 - OWN),
    ],
)
def test_a_limit_leaves_room_beside_the_process_itself(limit, room):
    assert room_of(limit) == room


@pytest.mark.parametrize("limit", ["291MB", "300MB", "499MB"])
def test_a_limit_that_is_one_of_the_work_alone_though_it_is_more_than_that_is_said(limit):
    with pytest.warns(MemoryLimitWarning, match="of 0.29 GB: the process holds 0.21 GB by itself"):
        warn_of_limit(limit)
    assert room_of(limit) == FOR_WORK


@pytest.mark.parametrize(
    ("limit", "room"), [("1GB", 390_000_000), ("700MB", FOR_WORK), ("100MB", 100_000_000)]
)
def test_what_a_process_holds_beside_is_taken_off_and_a_limit_that_has_no_place_for_it_is_said(
    limit, room
):
    held = 400_000_000
    found = room_of(limit, held)
    if memory_limit(limit) < OWN + held + FOR_WORK:
        with pytest.warns(MemoryLimitWarning, match="within memory='0.9GB' and more"):
            warn_of_limit(limit, held)
    else:
        warn_of_limit(limit, held)
    assert found == room
    assert lacking(500_000_000, found).startswith("1.11 GB but the limit is")


def test_what_is_left_of_a_limit_is_room_that_nothing_is_taken_off_again():
    room = room_of("1GB", 10**8)
    assert room_of(room) is room_of(room, 10**8) is room
    assert isinstance(memory_limit(room), Room)
    # Whoever was given the limit has told of it.
    warn_of_limit(room_of("400MB"))


@pytest.mark.parametrize("needed", [2_000, 250_000_000, 320_000_000, 2_000_000_000])
def test_the_limit_that_is_said_to_be_needed_leaves_as_much_room(needed):
    said = lacking(needed, room_of(1000)).split(" but ")[0].replace(" ", "")
    # What is said has three digits.
    assert room_of(1.005 * memory_limit(said)) >= needed


@pytest.mark.parametrize("limit", [2_000, "250MB", "600MB", "1GB"])
@pytest.mark.parametrize("held", [1_000, 192_000_000, 700_000_000])
@pytest.mark.parametrize("more", [20_000_000, 60_000_000, 500_000_000])
def test_the_limit_that_is_said_leaves_as_much_room_beside_other_work(limit, held, more):
    room = beside(room_of(limit), held)
    needed = room + more
    said, given = (
        memory_limit(part.replace(" ", ""))
        for part in re.findall(r"[0-9.]+ [KMG]B", lacking(needed, room))
    )
    assert beside(room_of(1.01 * said), held) >= needed
    assert said > given == memory_limit(limit)


def test_what_is_left_of_a_limit_in_bytes_is_short_by_what_other_work_holds():
    assert lacking(900_000_000, beside(1_000_000_000, 200_000_000)).startswith("1.10 GB but")


def test_a_lack_is_said_of_the_limit_as_it_was_given():
    assert lacking(1_000_000_000, room_of("1GB")) == "1.21 GB but the limit is 1.00 GB"
    assert lacking(1_000_000_000, 900_000_000) == "1.00 GB but the limit is 0.9 GB"
    assert least_limit(1_000_000_000, room_of("1GB")) == 1_000_000_000 + OWN
    assert least_limit(1_000_000_000, 900_000_000) == 1_000_000_000


def test_the_share_of_all_memory_is_passed_on_as_it_is():
    assert room_of(memory.steady_limit()) == memory.steady_limit()
