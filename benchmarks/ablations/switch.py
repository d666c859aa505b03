"""A fast path and how it is switched off, and the sets that jobs run on."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from pkgutil import resolve_name
from typing import Any
from unittest.mock import patch

import datasets
import numpy as np

Job = Callable[[], object]


@dataclass(frozen=True)
class Ablation:
    """A fast path on a set: the same job with it and without it."""

    path: str
    data: str
    on: Job
    off: Job


def without(job: Job, *switches: tuple[str, Any]) -> Job:
    """Return a job during which some functions or properties of the library are replaced.

    Each is named as ``package.module:function`` or ``package.module:Class.method``.
    """

    def run() -> object:
        with ExitStack() as stack:
            for target, replacement in switches:
                module, _, path = target.partition(":")
                owner, _, name = path.rpartition(".")
                found = resolve_name(f"{module}:{owner}")
                stack.enter_context(patch.object(found, name, replacement))
            return job()

    return run


def nothing(*args: Any, **settings: Any) -> None:
    """Return None, as what finds no fast way does."""


@cache
def regression(name: str, most: int) -> tuple[Any, Any]:
    """Return the first rows of a regression set in random order."""
    X, y = datasets.regression(name)
    order = np.random.default_rng(0).permutation(len(X))[:most]
    return X[order], y[order]


@cache
def task(name: str) -> tuple[Any, Any, Any]:
    """Return training rows, labels and test rows."""
    return datasets.classification_task(name)


def never(*args: Any) -> bool:
    """Return False, as where a fast path does not serve."""
    return False
