"""The rates of `mercer.planning.rates`: what a unit of work takes on one thread, in nanoseconds.

Run on one thread with the level to be measured, and what is nearest to it of OpenBLAS:

    MERCER_THREADS=1 OPENBLAS_NUM_THREADS=1 MERCER_CPU=v3 OPENBLAS_CORETYPE=Haswell \\
        python benchmarks/rates.py

The time is that of the thread, the best of many runs, which a busy machine does not stretch.
"""

from __future__ import annotations

from collections.abc import Callable
from time import thread_time

import numpy as np
from timing import show_machine

from mercer import Gaussian, Linear, Subsequence
from mercer.data.sequences import as_sequences
from mercer.native import describe
from mercer.tiles import apply

SIZE, ROWS, ROUNDS = 768, 2000, 9
# Bytes beyond what caches hold.
LARGE = 1 << 27
WIDE, NARROW = 64, 2


def best(run: Callable[[], object]) -> float:
    """Return the shortest time of several runs, in nanoseconds."""
    taken = []
    for _ in range(ROUNDS):
        start = thread_time()
        run()
        taken.append(thread_time() - start)
    return 1e9 * min(taken)


def rates() -> dict[str, float]:
    """Return the nanoseconds of every kind of work."""
    rng = np.random.default_rng(0)
    A = rng.normal(size=(SIZE, SIZE))
    B = A.astype(np.float32)
    source, target = np.zeros(LARGE // 8), np.zeros(LARGE // 8)
    v = rng.normal(size=ROWS)

    def entry(kernel: object, columns: int) -> float:
        X = rng.normal(size=(ROWS, columns))
        return best(lambda: apply(kernel.program, X, None, v)) / (ROWS**2 / 2)

    texts = as_sequences(["".join(rng.choice(list("ACGT"), 60)) for _ in range(200)])
    fill = Subsequence(3, 0.5).program.inputs[0].fill
    dot = entry(Linear(), WIDE), entry(Linear(), NARROW)
    return {
        "double": best(lambda: A @ A) / SIZE**3,
        "single": best(lambda: B @ B) / SIZE**3,
        "byte": best(lambda: np.copyto(target, source)) / (2 * LARGE),
        "column": (dot[0] - dot[1]) / (WIDE - NARROW),
        "function": entry(Gaussian(2.0), NARROW) - dot[1],
        "entry": dot[1],
        "symbol": best(lambda: fill(texts, texts)) / (200**2 / 2 * 60**2 * 3),
    }


def main() -> None:
    """Print the rates of the level that runs here."""
    show_machine()
    print(describe())
    for name, taken in rates().items():
        print(f"{name:10s} {taken:.3g} ns")


if __name__ == "__main__":
    main()
