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
    "plan",
    "ablation",
)


def main() -> None:
    """Run the benchmarks named on the command line, or all of them."""
    show_machine()
    for room in sys.argv[1:] or ROOMS:
        if room not in ROOMS:
            sys.exit(f"unknown benchmark {room!r}; there are: {', '.join(ROOMS)}")
        importlib.import_module(room).main()


if __name__ == "__main__":
    main()
