"""Every benchmark, or those named: ``python benchmarks/run.py [engine ...]``."""

from __future__ import annotations

import importlib
import sys

from timing import show_machine

ROOMS = (
    "engine",
    "limits",
    "ridge",
    "selection",
    "banded",
    "large",
    "svm",
    "primal",
    "classifiers",
    "scale",
    "scale_classes",
    "logistic",
    "sgd",
    "stream",
    "sequences",
    "recognition",
    "solubility",
    "geometry",
    "gradients",
    "automatic",
    "plan",
    "ablation",
)


def main() -> None:
    """Run the benchmarks named on the command line, or all of them."""
    show_machine()
    named = sys.argv[1:]
    if named and named[0] not in ROOMS:
        sys.exit(f"unknown benchmark {named[0]!r}; there are: {', '.join(ROOMS)}")
    # What is no name of a benchmark is read by those before it, such as the tables of one.
    for room in [name for name in named if name in ROOMS] or ROOMS:
        importlib.import_module(room).main()


if __name__ == "__main__":
    main()
