"""Rows on a disk: time against their number, beside one pass at the rates of this machine.

``python benchmarks/stream.py --rows 1e5 1e6 1e7 --picture time.svg`` draws it as well. On a busy
machine the processor time tells more than the clock.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time

import numpy as np
from scipy.linalg.blas import sgemm
from timing import Figure, interleaved, show

from mercer import Gaussian, KernelRidge

COLUMNS, KERNEL, ALPHA = 8, Gaussian(3.0), 1.0
ROWS, TARGETS = "rows.npy", "targets.npy"
# Rows that are written at a time.
BLOCK = 100_000


def written(folder: Path, n: int) -> None:
    """Write n rows of normal numbers and a smooth target with noise, block by block."""
    X = np.lib.format.open_memmap(folder / ROWS, "w+", np.float64, (n, COLUMNS))
    y = np.lib.format.open_memmap(folder / TARGETS, "w+", np.float64, (n,))
    for start in range(0, n, BLOCK):
        random, rows = np.random.default_rng(start), slice(start, min(start + BLOCK, n))
        some = random.standard_normal((rows.stop - start, COLUMNS))
        noise = 0.1 * random.standard_normal(len(some))
        X[rows], y[rows] = some, np.sin(some[:, 0]) + some[:, 1] * some[:, 2] + noise


def fitted(folder: Path, m: int) -> None:
    """Fit a model in this process, and print its seconds, processor time and memory in bytes."""
    y = np.load(folder / TARGETS)
    model = KernelRidge(KERNEL, ALPHA, solver="nystrom", n_landmarks=m, memory="3GB")
    began, processor = perf_counter(), process_time()
    model.fit(folder / ROWS, y)
    seconds, processor = perf_counter() - began, process_time() - processor
    print(seconds, processor, 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


def limit(m: int) -> float:
    """Return the least seconds for a row: its entries, and m^2 multiplications and sums.

    The sums are those of the symmetric half, at the rate of a product of large matrices in
    float32; entries go at the rate of this machine for blocks of them.
    """
    random = np.random.default_rng(0)
    A = np.asfortranarray(random.standard_normal((m, m)), np.float32)
    X, Z = (random.standard_normal((k, COLUMNS)) for k in (4096, m))
    best = interleaved({"product": lambda: sgemm(1.0, A, A), "entries": lambda: KERNEL(X, Z)})
    return best["entries"] / len(X) + 0.5 * best["product"] / m


def exponent(sizes: list[float], times: list[float]) -> float:
    """Return the power of n that times grow with, between the ends.

    What does not grow with n, the choice of landmarks and m x m work, is left out by differences.
    """
    grown, wider = np.diff(times), np.diff(sizes)
    return float(np.log(grown[-1] / grown[0]) / np.log(wider[-1] / wider[0]))


def drawn(path: Path, sizes: list[float], found: dict[str, list[float]], m: int) -> None:
    """Draw times against n in logarithms."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(5.5, 3.8), layout="constrained")
    for (name, times), style in zip(found.items(), ("o-", "s-", ":"), strict=True):
        axes.loglog(sizes, times, style, label=name)
    axes.set(xlabel="rows in a file", ylabel="seconds", title=f"ridge by {m} landmarks")
    axes.legend()
    figure.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=float, nargs="+", default=[1e5, 3e5, 1e6])
    parser.add_argument("--landmarks", type=int, default=2000)
    parser.add_argument("--fit", type=Path, help="fit the rows in a folder, and nothing else")
    parser.add_argument("--picture", type=Path, help="draw the times into this file")
    given, _ = parser.parse_known_args()
    if given.fit is not None:
        fitted(given.fit, given.landmarks)
        return
    m, found, clock, processor = given.landmarks, [], [], []
    least = limit(m)
    with TemporaryDirectory() as folder:
        for n in map(int, given.rows):
            written(Path(folder), n)
            command = [sys.executable, __file__, "--landmarks", str(m), "--fit", folder]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            seconds, taken, peak = map(float, done.stdout.split())
            clock.append(seconds)
            processor.append(taken)
            detail = (
                f"{seconds:.1f} s, {taken:.1f} s of processors, {n * least:.1f} s at the rates "
                "measured here"
            )
            times_limit = seconds / (n * least)
            found.append(Figure(f"n = {n:.0e}, time", times_limit, 2.5, False, detail=detail))
            found.append(Figure(f"n = {n:.0e}, memory", peak / 1e9, 4.0, False, " GB"))
    if len(clock) > 2:
        for name, times in (("time", clock), ("processor time", processor)):
            slope = exponent(given.rows, times)
            found.append(Figure(f"exponent of {name} against n, most", slope, 1.05, False, ""))
            found.append(Figure(f"exponent of {name} against n, least", slope, 0.95, unit=""))
    show(f"ridge regression of a file by {m} landmarks, d = {COLUMNS}, beside its limit", found)
    if given.picture is not None:
        limits = [n * least for n in given.rows]
        lines = {"seconds": clock, "processor time": processor, "one pass at full speed": limits}
        drawn(given.picture, given.rows, lines, m)


if __name__ == "__main__":
    main()
