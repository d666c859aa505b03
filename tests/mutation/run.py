"""Mutation testing: small faults are put into the code, and the tests should notice them.

`make mutate` runs it. cosmic-ray says where a mutant can be made and what it is; here are only the
choice of the mutants, that of the tests which run a mutated line, and a process of its own for
every mutant, forked from one that has imported the slow libraries already.

The mutants of a run are a sample, drawn with a seed, of those of the rooms in `SCOPE`. Mutants that
live and may do so are in mutants.toml, one by one or all of a line, with the reason; the share that
is reported counts them as alive, and a second one leaves them out.
"""

from __future__ import annotations

import argparse
import gc
import os
import random
import resource
import signal
import sys
import warnings
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from importlib.machinery import SourceFileLoader
from time import monotonic, sleep

from cover import measured
from listed import listed, stale
from places import PACKAGE, ROOT, Mutant, files, places

# What guards the promises: solvers, the validity of kernels, checks of the data, and selection.
SCOPE = ["solvers", "selection", "kernels/validity", "data/checks.py"]

# A mutant is given up as one that does not end after so many seconds of computing and so many times
# those of its tests. It may wait ten times as long, so that a busy machine brings none down.
PATIENCE, TIMES, WAITING = 60.0, 3.0, 10.0
# Libraries that take long to import. Those that pytest rewrites are not among them.
PRELOADED = (
    "matplotlib.figure",
    "pandas",
    "pytest",
    "scipy.optimize",
    "scipy.sparse.linalg",
    "sklearn.gaussian_process",
    "sklearn.model_selection",
    "sklearn.svm",
    "sklearn.utils.estimator_checks",
)


def killed(mutant: Mutant, tests: list[str], seconds: float) -> str:
    """Return how a mutant ended: killed, alive, or endless, in a process of its own."""
    if not tests:
        return "uncovered"
    most = PATIENCE + TIMES * seconds
    child = os.fork()
    if child == 0:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_CPU, (int(most), int(most)))
        sink = os.open(os.devnull, os.O_WRONLY)
        os.dup2(sink, 1)
        os.dup2(sink, 2)
        _use(mutant)
        import pytest

        settings = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:cov", "-p", "no:xdist"]
        try:
            # What cannot be imported is brought down; pytest would say that it could not run. So
            # is what Python warns of, as in every test: `is` beside a number or a text.
            warnings.simplefilter("error", SyntaxWarning)
            import_module(mutant.module)
            code = pytest.main([*settings, *tests])
        except BaseException:
            code = 1
        os._exit(int(code))
    deadline = monotonic() + WAITING * most
    while monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            # pytest ends with 3 where it could not run the tests at all. They are all there, so
            # that those which it does not find, 4 and 5, cannot be collected with the mutant.
            ends = {0: "alive", 3: "untested"}
            ends |= {-signal.SIGXCPU: "endless", -signal.SIGKILL: "endless"}
            return ends.get(os.waitstatus_to_exitcode(status), "killed")
        sleep(0.05)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "endless"


def _use(mutant: Mutant) -> None:
    """Let this process import the mutant in place of the file."""
    path, plain = str(ROOT / PACKAGE / mutant.path), SourceFileLoader.get_code

    def get_code(self: SourceFileLoader, name: str) -> object:
        if self.path == path:
            return compile(mutant.code, path, "exec", dont_inherit=True)
        return plain(self, name)

    SourceFileLoader.get_code = get_code  # type: ignore[method-assign]


def preload() -> None:
    """Import what every test needs and no mutant changes."""
    for name in PRELOADED:
        import_module(name)
    # What is there is not looked at again, so that memory stays shared with every mutant.
    gc.freeze()


def main() -> int:
    """Try a sample of the mutants, and say which live."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scope", nargs="*", default=SCOPE, help="files or rooms of src/mercer")
    parser.add_argument("--mutants", type=int, default=120, help="size of the sample, 0 for all")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="mutants at a time")
    parser.add_argument("--measure", action="store_true", help="measure anew what tests run")
    given = parser.parse_args()
    os.chdir(ROOT)
    known = listed()
    if gone := stale(known):
        raise SystemExit("\n".join(["lines of mutants.toml that are not there once:", *gone]))

    folder = ROOT / "build" / "mutate" / ",".join(given.scope).replace("/", ".")
    cover = measured(folder, given.scope, given.workers, given.measure)
    every = [place for path in files(given.scope) for place in places(path)]
    size = given.mutants or len(every)
    drawn = random.Random(given.seed).sample(every, min(size, len(every)))
    sample = [mutant for mutant in (place.mutant() for place in drawn) if mutant.is_one]
    preload()

    ends: Counter[str] = Counter()
    excused = 0
    with ThreadPoolExecutor(given.workers) as pool:
        results = pool.map(lambda mutant: killed(mutant, *cover.of(mutant)), sample)
        for mutant, end in zip(sample, results, strict=True):
            ends[end] += 1
            if end == "killed":
                continue
            print(f"{ends.total()} of {len(sample)}: {end} {mutant}", flush=True)
            if end != "endless":
                reason = next((entry.reason for entry in known if entry.means(mutant)), None)
                excused += reason is not None
                print(f"    = {reason or 'NO REASON GIVEN'}", flush=True)
    down, size = ends["killed"] + ends["endless"], len(sample)
    print(f"{down} of {size} mutants brought down ({down / size:.1%}), of {len(every)}")
    print(f"{down / max(size - excused, 1):.1%} without those that may live")
    print(dict(ends))
    return 0


if __name__ == "__main__":
    sys.exit(main())
