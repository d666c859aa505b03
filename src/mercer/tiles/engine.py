"""Which loop runs the tiles: the native one, or its NumPy twin."""

from __future__ import annotations

import functools
from types import ModuleType

from mercer.native.core import core
from mercer.tiles import loop_twin


@functools.cache
def engine() -> ModuleType:
    """Return the module that runs the tiles: ``takes``, ``fill``, ``multiply``, ``dense_share``."""
    if core() is None:
        return loop_twin
    from mercer.tiles import loop

    return loop
