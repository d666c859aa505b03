"""How much memory there is, and how much a user allows."""

from __future__ import annotations

import os
import re
from math import inf
from numbers import Real
from typing import Any

from mercer.errors import MemoryLimitWarning, warn_caller

UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
UNITS |= {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}


# What a process holds before it has rows: the interpreter, NumPy, SciPy, scikit-learn and mercer.
OWN = 210 * 10**6
# A limit up to which the work alone is meant.
FOR_WORK = 290 * 10**6


class Room(int):
    """The bytes that a limit for a whole process leaves to the work in it; see `room_of`."""

    # The limit as it was given, the bytes that the process itself holds of it where it is for more
    # than the work, and those that other work holds, whatever it is for.
    asked: Any = None
    own: int = OWN
    held: int = 0


def room_of(memory: Any, held: int = 0) -> Any:
    """Return what a limit leaves beside the process itself, or None where there is no limit.

    `OWN` bytes and those held are taken off, the same in every call, but `FOR_WORK` are left: a
    smaller limit can only be meant for the work. One that is more and yet not enough for both is
    not kept, of which `warn_of_limit` tells.

    Parameters
    ----------
    memory : int, str or None
        The limit, as for `memory_limit`, or what was left of one, which is returned.
    held : int
        Bytes that are there beside the interpreter and what it has loaded.
    """
    if memory is None or isinstance(memory, Room):
        return memory
    limit, own = memory_limit(memory), OWN + held
    room = Room(min(limit, max(limit - own, FOR_WORK)))
    room.asked, room.own = memory, own
    return room


def warn_of_limit(memory: Any, held: int = 0) -> None:
    """Warn of a limit that is more than the work alone has, and not enough for the process.

    The parameters are those of `room_of`. Of what was left of a limit nothing is said: whoever was
    given the limit has told of it. Whoever tells of bytes held is warned of every limit that is not
    enough for both.
    """
    if memory is None or isinstance(memory, Room):
        return
    limit, room = memory_limit(memory), room_of(memory, held)
    if not (0 if held else FOR_WORK) < limit < room.own + FOR_WORK:
        return
    # In tenths of a gigabyte that are surely enough.
    enough = -(-(room.own + FOR_WORK) // 10**8) / 10
    warn_caller(
        f"memory={memory!r} is a limit for the work alone here, of {gigabytes(room)}: the "
        f"process holds {gigabytes(room.own)} by itself, so that both together are kept within "
        f"memory='{enough:g}GB' and more",
        MemoryLimitWarning,
    )


def beside(limit: int, held: int) -> Room:
    """Return what a limit leaves to the work beside bytes that other work holds, if anything."""
    room = Room(max(limit - held, 0))
    room.asked, room.own, room.held = limit, 0, held
    if isinstance(limit, Room):
        room.asked, room.own, room.held = limit.asked, limit.own, limit.held + held
    return room


def lacking(needed: float, limit: int) -> str:
    """Return in words that so many bytes are more than a limit, or than what is left of one."""
    whole = memory_limit(limit.asked) if isinstance(limit, Room) else limit
    return f"{gigabytes(least_limit(needed, limit))} but the limit is {gigabytes(whole)}"


def least_limit(needed: float, limit: int) -> float:
    """Return the least limit with room for so many bytes, where this one is short of them.

    It is one for all that the limit was given for, of which the process may take a part.
    """
    if not isinstance(limit, Room):
        return needed
    work = needed + limit.held
    return work + (limit.own if work > FOR_WORK else 0)


def available_bytes() -> int:
    """Return the memory that can be had now without swapping, within the container's limit."""
    free = _meminfo()
    limit = _cgroup_headroom()
    return free if limit is None else min(free, limit)


def memory_limit(memory: Any = None) -> int:
    """Return the limit in bytes: a number, ``"512MB"``, ``"4GB"``, or a share of what is free."""
    if isinstance(memory, Room):
        return memory
    if memory is None:
        # The rest is left to others, and to what no plan counts.
        free_share = 0.8
        return int(free_share * available_bytes())
    if isinstance(memory, str):
        match = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*([a-zA-Z]*)\s*", memory)
        if match is None or match[2].upper() not in UNITS:
            raise ValueError(
                f"memory must be bytes or text such as '512MB' or '4GB', got {memory!r}"
            )
        return int(float(match[1]) * UNITS[match[2].upper()])
    is_number = isinstance(memory, Real) and not isinstance(memory, bool)
    if not (is_number and 0.0 < memory < inf):
        raise ValueError(f"memory must be a positive finite number of bytes, got {memory!r}")
    return int(float(memory))


def steady_limit(memory: Any = None) -> int:
    """Return the limit in bytes, or a share of all the memory there is, the same in every call.

    What the order of sums or a choice of rows depends on is told by this one, as what is free
    changes from call to call. It is no promise that so much is free.

    Parameters
    ----------
    memory : int, str or None
        The limit, as for `memory_limit`.
    """
    if memory is not None:
        return memory_limit(memory)
    # Half, since others are there as well.
    share = 0.5
    limit, whole = _cgroup_limit(), os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    room = Room(share * (whole if limit is None else min(whole, limit)))
    # Whoever is given it as a limit has nothing to take off for the process.
    room.asked = int(room)
    return room


def gigabytes(n: float) -> str:
    """Return a number of bytes as text in gigabytes, or in smaller units where it is little."""
    unit = "KB" if n < 5e3 else "MB" if n < 1e7 else "GB"
    value = n / UNITS[unit]
    return f"{value:.2f} {unit}" if value >= 1.0 else f"{value:.3g} {unit}"


def _meminfo() -> int:
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _cgroup_headroom() -> int | None:
    limit = _cgroup_limit()
    try:
        with open("/sys/fs/cgroup/memory.current", encoding="ascii") as file:
            used = int(file.read())
    except (OSError, ValueError):
        return None
    return None if limit is None else max(limit - used, 0)


def _cgroup_limit() -> int | None:
    try:
        with open("/sys/fs/cgroup/memory.max", encoding="ascii") as file:
            limit = file.read().strip()
    except OSError:
        return None
    return int(limit) if limit.isdigit() else None
