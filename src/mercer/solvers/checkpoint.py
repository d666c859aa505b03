"""A file that keeps the state of a fit, from which one that was killed goes on."""

from __future__ import annotations

import json
import os
import warnings
import zipfile
from glob import escape
from pathlib import Path
from threading import Lock
from time import perf_counter
from typing import Any, ClassVar, NoReturn

import numpy as np
from numpy.typing import NDArray

from mercer.errors import CheckpointError, CheckpointWarning

# What a solver needs to go on from between two steps, by name.
State = dict[str, NDArray[Any]]

VERSION = 1
# What readers of archives and arrays raise where bytes are not what they should be.
UNREADABLE = (ValueError, TypeError, RuntimeError)
# How names of files end that are not yet in place.
PART = ".part"
# The entry of the file that says what it belongs to.
HEADER = "header"


class Checkpoint:
    """The states of the problems of one fit, in a file.

    The file is an NPZ archive of arrays without pickled objects, with a header in JSON. It is
    written beside itself, flushed to the disk and then put in place, so that there is always a
    whole one. What an earlier fit has left is read when this is made.

    Parameters
    ----------
    path : str or Path
        The file.
    key : str
        What identifies the fit, see `mercer.solvers.digest`; a file of another one is refused.
    """

    # Seconds of work that a lost checkpoint may cost, and the share of all time that writing may
    # take.
    seconds: ClassVar[float] = 5.0
    share: ClassVar[float] = 0.05

    def __init__(self, path: Any, key: str) -> None:
        if not isinstance(path, str | os.PathLike):
            raise ValueError(f"checkpoint must be the path of a file or None, got {path!r}")
        self.path, self.key = Path(path), key
        if not self.path.parent.is_dir():
            raise ValueError(
                f"checkpoint={str(path)!r} is in a folder that does not exist; make it"
            )
        if self.path.is_dir():
            raise ValueError(f"checkpoint={str(path)!r} is a folder; give the path of a file")
        self._states = _read(self.path, key) if self.path.exists() else {}
        self._due = perf_counter() + self.seconds
        # Problems of several classes are solved on threads.
        self._lock = Lock()

    def restored(self, problem: str) -> State | None:
        """Return the state of a problem that was written last, or None."""
        found = self._states.get(problem)
        return None if found is None else {name: np.array(array) for name, array in found.items()}

    def keep(self, problem: str, state: State) -> None:
        """Write the state of a problem, unless the last was written but shortly before.

        A disk that fills up costs the checkpoint and not the fit: the last one stays, and there is
        a warning.
        """
        if perf_counter() < self._due:
            return
        with self._lock:
            began = perf_counter()
            # Another problem has written while this one waited.
            if began < self._due:
                return
            # Copies: other problems write them again, after this one has gone on.
            self._states[problem] = {name: np.array(array) for name, array in state.items()}
            try:
                _write(self.path, self.key, self._states)
            except OSError as error:
                warnings.warn(
                    f"no checkpoint was written to {str(self.path)!r}: {error.strerror or error}; "
                    "the fit goes on, and the last checkpoint stays",
                    CheckpointWarning,
                    stacklevel=2,
                )
            ended = perf_counter()
            self._due = ended + max(self.seconds, (ended - began) / self.share)

    def refuse(self) -> NoReturn:
        """Refuse the file, of which a solver has found that it is that of another problem."""
        raise _of_another_fit(self.path)

    def remove(self) -> None:
        """Delete the file, and what fits that were killed had half written: the fit is done."""
        for part in self.path.parent.glob(f"{escape(self.path.name)}.*{PART}"):
            part.unlink(missing_ok=True)
        self.path.unlink(missing_ok=True)


def random_state(random: np.random.Generator) -> NDArray[np.uint8]:
    """Return the state of random numbers as bytes."""
    return np.frombuffer(json.dumps(random.bit_generator.state).encode(), np.uint8)


def restore_random(random: np.random.Generator, state: NDArray[np.uint8]) -> None:
    """Let random numbers go on from a state."""
    random.bit_generator.state = json.loads(state.tobytes().decode())


def _write(path: Path, key: str, states: dict[str, State]) -> None:
    """Replace the file by one with these states, or leave it as it is."""
    header = json.dumps({"format": "mercer checkpoint", "version": VERSION, "key": key})
    arrays: dict[str, Any] = {HEADER: np.frombuffer(header.encode(), np.uint8)}
    for problem, state in states.items():
        arrays |= {f"{problem}/{name}": array for name, array in state.items()}
    beside = path.with_name(f"{path.name}.{os.getpid()}{PART}")
    try:
        with open(beside, "wb") as file:
            np.savez(file, **arrays)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)


def _read(path: Path, key: str) -> dict[str, State]:
    """Return the states in a file, or refuse one that is damaged or belongs to another fit."""
    states: dict[str, State] = {}
    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as found:
            header = json.loads(bytes(found[HEADER]).decode())
            version, owner = header["version"], header["key"]
            for name in found.files:
                if name != HEADER:
                    part, _, title = name.partition("/")
                    states.setdefault(part, {})[title] = found[name]
    except (zipfile.BadZipFile, OSError, EOFError, LookupError, *UNREADABLE):
        raise CheckpointError(
            f"checkpoint {str(path)!r} is damaged or none of mercer's; delete it and fit again"
        ) from None
    if version != VERSION:
        raise CheckpointError(
            f"checkpoint {str(path)!r} has the version {version!r}, and this mercer reads "
            f"{VERSION}; delete it and fit again"
        )
    if owner != key:
        raise _of_another_fit(path)
    return states


def _of_another_fit(path: Path) -> CheckpointError:
    return CheckpointError(
        f"checkpoint {str(path)!r} belongs to another fit, of other rows, targets or settings; "
        "give another path, or delete it"
    )
