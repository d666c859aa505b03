"""Ridge regression by landmarks against scikit-learn's Nystroem with Ridge, and time against n.

Same kernel, same penalty, one fixed tenth of the rows to test on, two threads. Every fit is in a
process of its own, which tells its peak memory; contenders take turns, and the best of the rounds
counts. Errors are the root of the mean squared error, in units of the target and beside its
standard deviation; their mean over the rounds counts, each with another seed, as landmarks at
random move them by a hundredth. On a busy machine the processor time tells more than the clock.

``python benchmarks/scale.py [protein] [flights] [rows] [--rounds 2]`` runs some of the tables.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import textwrap
from typing import NamedTuple

import numpy as np
from datasets import FOLDER
from timing import Figure, show

# Length scales of Gaussians on standardised columns, and ridges.
PROTEIN, FLIGHTS, SYNTHETIC = (0.5, 0.1), (1.0, 1.0), (1.0, 1.0)
# How many times faster than the peer predictions are to be, with however many landmarks.
PREDICTED = 3.0
# Rows of the synthetic problem, with eight columns, and landmarks on them.
SIZES, COLUMNS, LANDMARKS = (100_000, 300_000, 1_000_000), 8, 2000

FIT = """
    import json, resource, sys
    from time import perf_counter, process_time
    import numpy as np
    who, name, m, scale, alpha, landmarks, seed, folder = sys.argv[1:]
    m, scale, alpha, seed = int(m), float(scale), float(alpha), int(seed)
    if name.isdigit():
        random = np.random.default_rng(0)
        X = random.normal(size=(int(name), 8))
        y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * random.normal(size=len(X))
    else:
        import pandas as pd
        table = pd.read_csv(f"{folder}/uci/{name}.csv.gz").to_numpy(float)
        X, y = table[:, :-1], table[:, -1]
        del table
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    order = np.random.default_rng(0).permutation(len(y))
    test, train = np.split(order, [len(y) // 10])
    T, t, X, y = X[test], y[test], X[train], y[train]
    if who == "mercer":
        from mercer import Gaussian, KernelRidge
        KernelRidge(solver="nystrom", n_landmarks=50).fit(X[:500], y[:500])
        settings = {"n_landmarks": m, "landmarks": landmarks, "random_state": seed}
        model = KernelRidge(Gaussian(scale), alpha, solver="nystrom", **settings)
    else:
        from sklearn.kernel_approximation import Nystroem
        from sklearn.linear_model import Ridge
        from sklearn.pipeline import make_pipeline
        make_pipeline(Nystroem(n_components=50), Ridge()).fit(X[:500], y[:500])
        phi = Nystroem(gamma=0.5 / scale**2, n_components=m, random_state=seed)
        model = make_pipeline(phi, Ridge(alpha))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began, processor = perf_counter(), process_time()
    model.fit(X, y)
    seconds, processor = perf_counter() - began, process_time() - processor
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = perf_counter()
    predicted = model.predict(T)
    predicting = perf_counter() - began
    error = float(np.sqrt(np.mean((predicted - t) ** 2)))
    print(json.dumps({
        "seconds": seconds, "processor": processor, "predicting": predicting,
        "gigabytes": peak / 1e6, "data": before / 1e6, "error": error / t.std(), "units": error,
    }))
"""


class Case(NamedTuple):
    """A model that is fitted: whose, to what, with how many landmarks of which kind."""

    who: str
    data: str
    m: int
    scale: float
    alpha: float
    landmarks: str = "rpcholesky"
    seed: int = 0


def fit(case: Case) -> dict[str, float]:
    """Return what a fit in a fresh process took, and its error."""
    command = [sys.executable, "-c", textwrap.dedent(FIT), *map(str, case), str(FOLDER)]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    return dict(json.loads(run.stdout))


def best(fits: list[dict[str, float]]) -> dict[str, float]:
    """Return the least of every figure of some fits, and the mean of errors."""
    means = {name: float(np.mean([f[name] for f in fits])) for name in ("error", "units")}
    return {name: min(f[name] for f in fits) for name in fits[0]} | means


def turns(cases: list[Case], rounds: int) -> list[dict[str, float]]:
    """Return the best of each case, run in turn so that noise hits all alike."""
    found = [[fit(case._replace(seed=seed)) for case in cases] for seed in range(rounds)]
    return [best(list(fits)) for fits in zip(*found, strict=True)]


def took(f: dict[str, float]) -> str:
    """Return what a fit took, in words."""
    return (
        f"{f['seconds']:.1f} s, {f['processor']:.1f} s of processors, {f['gigabytes']:.2f} GB "
        f"({f['data']:.2f} before), error {f['error']:.4f} ({f['units']:.4f} in units)"
    )


class Goal(NamedTuple):
    """What a fit is to take of the peer's time, at most, and of its memory or in gigabytes.

    `error` is the most of it in units of the target, by default that of the peer.
    """

    m: int
    time: float
    memory_share: float | None = None
    gigabytes: float | None = None
    error: float | None = None
    landmarks: str = "rpcholesky"


def against(
    title: str, data: str, task: tuple[float, float], peer: int, goals: list[Goal], rounds: int
) -> None:
    """Show fits of some landmarks beside the peer's, as shares of its time."""
    cases = [Case("scikit-learn", data, peer, *task)]
    cases += [Case("mercer", data, goal.m, *task, goal.landmarks) for goal in goals]
    T, *fits = turns(cases, rounds)
    rows = [Figure(f"Nystroem({peer}) + Ridge", T["seconds"], unit=" s", detail=took(T))]
    for goal, f in zip(goals, fits, strict=True):
        case = f"m = {goal.m}, {goal.landmarks}"
        memory = goal.memory_share and goal.memory_share * T["gigabytes"]
        shares = [f[part] / T[part] for part in ("seconds", "processor")]
        predicted = T["predicting"] / f["predicting"]
        most = T["units"] if goal.error is None else goal.error
        rows += [
            Figure(f"{case}: time beside it", shares[0], goal.time, False, " T", took(f)),
            Figure(f"{case}: processor time", shares[1], goal.time, False, " T"),
            Figure(f"{case}: error in units", f["units"], most, False, ""),
            Figure(f"{case}: peak memory", f["gigabytes"], memory or goal.gigabytes, False, " GB"),
            Figure(f"{case}: predict", predicted, PREDICTED),
        ]
    show(title, rows)


def protein(rounds: int) -> None:
    """Show protein; the peer takes landmarks all alike, which is the second of ours."""
    goals = [
        Goal(2000, 1 / 6, 0.5),
        Goal(2000, 1 / 6, 0.5, landmarks="uniform"),
        Goal(5000, 0.6, error=0.471),
        Goal(10_000, 1.6, error=0.468),
    ]
    against("protein, 45730 x 9", "protein", PROTEIN, 2000, goals, rounds)


def flights(rounds: int) -> None:
    """Show the flights of 2001."""
    goals = [Goal(2000, 0.7, gigabytes=2.0), Goal(5000, 3.0, gigabytes=2.0)]
    against("flights2001, 450000 x 8", "flights2001_450k", FLIGHTS, 1000, goals, rounds)


def rows(rounds: int) -> None:
    """Show time against the number of rows, with the exponent between the ends."""
    found = turns([Case("mercer", str(n), LANDMARKS, *SYNTHETIC) for n in SIZES], rounds)
    times = [f["processor"] for f in found]
    # What does not grow with n, the choice of landmarks and m x m work, is left out by differences.
    grown, sizes = np.diff(times), np.diff(SIZES)
    exponent = float(np.log(grown[1] / grown[0]) / np.log(sizes[1] / sizes[0]))
    figures = [
        Figure(f"n = {n}", f["seconds"], unit=" s", detail=took(f))
        for n, f in zip(SIZES, found, strict=True)
    ]
    figures.append(Figure("exponent of processor time in n, least", exponent, 0.95, unit=""))
    figures.append(Figure("exponent of processor time in n, most", exponent, 1.05, False, ""))
    show(f"synthetic, {COLUMNS} columns, m = {LANDMARKS}", figures)


TABLES = {"protein": protein, "flights": flights, "rows": rows}


def main() -> None:
    """Print the tables, where the data is at hand."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="*")
    parser.add_argument("--rounds", type=int, default=2)
    given, _ = parser.parse_known_args()
    if not (FOLDER / "uci" / "protein.csv.gz").exists():
        print(f"scale: no {FOLDER}; set MERCER_DATA to the folder that holds uci/")
        return
    for name in [name for name in given.tables if name in TABLES] or TABLES:
        TABLES[name](given.rounds)


if __name__ == "__main__":
    main()
