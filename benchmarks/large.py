"""All 45730 rows of protein, solved by conjugate gradients: time, steps, certificate, memory.

scikit-learn's KernelRidge would need two matrices of 16.7 GB each, and is not run.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

from timing import Figure, show

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("MERCER_DATA", ROOT.parent / "shared" / "data"))
PROTEIN = DATA / "uci" / "protein.csv.gz"
ALPHAS = (1.0, 0.1)
LIMIT = 20.0

FIT = """
    import json, resource, sys
    import numpy as np
    from mercer import Gaussian, KernelRidge
    path, alpha, memory = sys.argv[1:]
    table = np.loadtxt(path, delimiter=",", skiprows=1)
    X, y = table[:, :-1], table[:, -1]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    model = KernelRidge(
        Gaussian("median"), float(alpha), solver="cg", memory=memory, random_state=0
    )
    KernelRidge(solver="cg").fit(X[:500], y[:500])
    model.fit(X, y)
    print(json.dumps({
        "rows": len(y),
        "seconds": model.solution_.seconds,
        "steps": model.n_iter_,
        "certificate": model.certificate_.value,
        "gigabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6,
        "score": model.score(X[::20], y[::20]),
    }))
"""


def fit(alpha: float, memory: str) -> dict[str, Any]:
    """Return what a fit in a fresh process took."""
    command = [sys.executable, "-c", textwrap.dedent(FIT), str(PROTEIN), str(alpha), memory]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    return dict(json.loads(run.stdout))


def figures() -> list[Figure]:
    """Return time, certificate and peak memory for every alpha."""
    rows = []
    for alpha in ALPHAS:
        took = fit(alpha, f"{LIMIT:g}GB")
        case = f"n = {took['rows']}, alpha = {alpha:g}"
        detail = f"{took['steps']} steps, R2 on the training rows {took['score']:.3f}"
        rows += [
            Figure(f"{case}: fit", took["seconds"], unit=" s", detail=detail),
            Figure(f"{case}: certificate", took["certificate"], 1e-6, False, ""),
            Figure(f"{case}: peak memory", took["gigabytes"], LIMIT, False, " GB"),
        ]
    return rows


def main() -> None:
    """Print the figures, where the data is at hand."""
    if not PROTEIN.exists():
        print(f"large: no {PROTEIN}; set MERCER_DATA to the folder that holds uci/")
        return
    show("All of protein by conjugate gradients, Gram matrix streamed", figures())


if __name__ == "__main__":
    main()
