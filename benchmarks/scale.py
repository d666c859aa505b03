"""Ridge regression by landmarks against scikit-learn's Nystroem with Ridge, and time against n.

Same kernel, same penalty, one fixed tenth of the rows to test on, two threads. Every fit is in a
process of its own, which tells its peak memory; contenders take turns, and the best of the rounds
counts. Errors are the root of the mean squared error beside the standard deviation of the target,
and in units of the target. On a busy machine the processor time tells more than the clock.

``python benchmarks/scale.py [protein] [flights] [rows]`` runs some of the tables.
"""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from typing import Any

import numpy as np
from datasets import FOLDER
from timing import Figure, show

ROUNDS = 2
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
    who, name, m, scale, alpha, folder = sys.argv[1:]
    m, scale, alpha = int(m), float(scale), float(alpha)
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
        settings = {"solver": "nystrom", "n_landmarks": m, "random_state": 0}
        model = KernelRidge(Gaussian(scale), alpha, **settings)
    else:
        from sklearn.kernel_approximation import Nystroem
        from sklearn.linear_model import Ridge
        from sklearn.pipeline import make_pipeline
        make_pipeline(Nystroem(n_components=50), Ridge()).fit(X[:500], y[:500])
        phi = Nystroem(gamma=0.5 / scale**2, n_components=m, random_state=0)
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


def fit(who: str, name: str, m: int, scale: float, alpha: float) -> dict[str, float]:
    """Return what a fit in a fresh process took, and its error."""
    given = [who, name, str(m), str(scale), str(alpha), str(FOLDER)]
    command = [sys.executable, "-c", textwrap.dedent(FIT), *given]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    return dict(json.loads(run.stdout))


def best(fits: list[dict[str, float]]) -> dict[str, float]:
    """Return the least of every figure of some fits."""
    return {name: min(f[name] for f in fits) for name in fits[0]}


def turns(cases: dict[Any, tuple[Any, ...]]) -> dict[Any, dict[str, float]]:
    """Return the best of each case, run in turn so that noise hits all alike."""
    found: dict[Any, list[dict[str, float]]] = {case: [] for case in cases}
    for _ in range(ROUNDS):
        for case, given in cases.items():
            found[case].append(fit(*given))
    return {case: best(fits) for case, fits in found.items()}


def took(f: dict[str, float]) -> str:
    """Return what a fit took, in words."""
    return (
        f"{f['seconds']:.1f} s, {f['processor']:.1f} s of processors, {f['gigabytes']:.2f} GB "
        f"({f['data']:.2f} before), error {f['error']:.4f} ({f['units']:.4f} in units)"
    )


def against(
    title: str,
    name: str,
    task: tuple[float, float],
    peer: int,
    goals: dict[int, tuple[float, float | None]],
    limit: float | None = None,
) -> None:
    """Show fits of some landmarks beside the peer's, as shares of its time.

    `goals` has for every number of landmarks the most of the peer's seconds, and of its memory;
    `limit` is the most memory of any in gigabytes.
    """
    cases: dict[Any, tuple[Any, ...]] = {"peer": ("scikit-learn", name, peer, *task)}
    cases |= {m: ("mercer", name, m, *task) for m in goals}
    found = turns(cases)
    T = found["peer"]
    rows = [Figure(f"Nystroem({peer}) + Ridge", T["seconds"], unit=" s", detail=took(T))]
    for m, (share, memory) in goals.items():
        f = found[m]
        most = limit if memory is None else memory * T["gigabytes"]
        ratio = f["seconds"] / T["seconds"]
        rows += [
            Figure(f"m = {m}: time beside it", ratio, share, False, " T", took(f)),
            Figure(
                f"m = {m}: processor time beside it",
                f["processor"] / T["processor"],
                share,
                False,
                " T",
            ),
            Figure(f"m = {m}: error", f["error"], T["error"], False, ""),
            Figure(f"m = {m}: peak memory", f["gigabytes"], most, False, " GB"),
            Figure(f"m = {m}: predict", T["predicting"] / f["predicting"], PREDICTED),
        ]
    show(title, rows)


def protein() -> None:
    """Show protein."""
    goals = {2000: (1 / 6, 0.5), 5000: (0.6, None), 10_000: (1.6, None)}
    against("protein, 45730 x 9", "protein", PROTEIN, 2000, goals)


def flights() -> None:
    """Show the flights of 2001."""
    goals = {2000: (0.7, None), 5000: (3.0, None)}
    against("flights2001, 450000 x 8", "flights2001_450k", FLIGHTS, 1000, goals, limit=2.0)


def rows() -> None:
    """Show time against the number of rows, with the exponent between the ends."""
    cases = {n: ("mercer", str(n), LANDMARKS, *SYNTHETIC) for n in SIZES}
    found = turns(cases)
    times = [found[n]["processor"] for n in SIZES]
    # What does not grow with n, the choice of landmarks and m x m work, is left out by differences.
    grown, sizes = np.diff(times), np.diff(SIZES)
    exponent = float(np.log(grown[1] / grown[0]) / np.log(sizes[1] / sizes[0]))
    figures = [
        Figure(f"n = {n}", found[n]["seconds"], unit=" s", detail=took(found[n])) for n in SIZES
    ]
    figures.append(Figure("exponent of processor time in n, least", exponent, 0.95, unit=""))
    figures.append(Figure("exponent of processor time in n, most", exponent, 1.05, False, ""))
    show(f"synthetic, {COLUMNS} columns, m = {LANDMARKS}", figures)


TABLES = {"protein": protein, "flights": flights, "rows": rows}


def main() -> None:
    """Print the tables, where the data is at hand."""
    if not (FOLDER / "uci" / "protein.csv.gz").exists():
        print(f"scale: no {FOLDER}; set MERCER_DATA to the folder that holds uci/")
        return
    named = [name for name in sys.argv[1:] if name in TABLES]
    for name in named or TABLES:
        TABLES[name]()


if __name__ == "__main__":
    main()
