"""Kernel ridge regression against scikit-learn's: fitting, predicting, memory."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
from datasets import regression
from numpy.typing import NDArray
from sklearn.kernel_ridge import KernelRidge as Peer
from timing import Figure, interleaved, show

from mercer import Gaussian, KernelRidge

Array = NDArray[Any]


def relative_residual(model: KernelRidge, X: Array, y: Array, alpha: float) -> float:
    """Return ||(K + alpha) a + b - y|| / ||y||, with K in float64."""
    a = model.dual_coef_
    residual = y - model.predict(X) - alpha * a
    return float(np.linalg.norm(residual) / np.linalg.norm(y))


def fit_figure(name: str, n: int, alpha: float, target: float) -> list[Figure]:
    """Return the speed of one fit over scikit-learn's, and the residual of ours."""
    X, y = (rows[:n] for rows in regression(name))
    length_scale = float(np.sqrt(X.shape[1]))
    ours = KernelRidge(Gaussian(length_scale), alpha=alpha, tol=1e-8)
    peer = Peer(kernel="rbf", gamma=0.5 / length_scale**2, alpha=alpha)
    best = interleaved(
        {"mercer": lambda: ours.fit(X, y), "scikit-learn": lambda: peer.fit(X, y)}, rounds=3
    )
    detail = ", ".join(f"{who} {s:.2f} s" for who, s in best.items())
    detail += f"; {ours.solution_.solver}"
    residual = relative_residual(ours, X, y, alpha)
    case = f"{name}, n = {len(X)}, alpha = {alpha:g}"
    return [
        Figure(f"fit {case}", best["scikit-learn"] / best["mercer"], target, detail=detail),
        Figure(f"residual {case}", residual, 1e-8, at_least=False, unit=""),
    ]


def predict_figure() -> list[Figure]:
    """Return the speed of predicting 10000 rows over scikit-learn's."""
    X, y = regression("kin8nm")
    new = np.random.default_rng(0).normal(size=(10_000, X.shape[1]))
    ours = KernelRidge(Gaussian(3.0), alpha=0.1).fit(X, y)
    peer = Peer(kernel="rbf", gamma=0.5 / 9.0, alpha=0.1).fit(X, y)
    best = interleaved(
        {"mercer": lambda: ours.predict(new), "scikit-learn": lambda: peer.predict(new)}
    )
    detail = ", ".join(f"{who} {s * 1e3:.0f} ms" for who, s in best.items())
    ratio = best["scikit-learn"] / best["mercer"]
    return [Figure("predict 10000 rows, n = 8192", ratio, 10.0, detail=detail)]


MEMORY = """
    import re, sys
    import numpy as np
    sys.path.insert(0, {here!r})
    from datasets import regression
    from mercer import Gaussian, KernelRidge
    from sklearn.kernel_ridge import KernelRidge as Peer

    def status(field):
        text = open("/proc/self/status").read()
        return int(re.search(rf"{{field}}:\\s+(\\d+) kB", text)[1]) / 1024

    X, y = regression("kin8nm")
    models = {{
        "mercer": KernelRidge(Gaussian(3.0), alpha=0.1),
        "scikit-learn": Peer(kernel="rbf", gamma=0.5 / 9.0, alpha=0.1),
    }}
    model = models[sys.argv[1]]
    model.fit(X[:200], y[:200])
    before = status("VmRSS")
    open("/proc/self/clear_refs", "w").write("5")
    model.fit(X, y)
    print(status("VmHWM") - before)
"""


def memory_figure() -> list[Figure]:
    """Return the peak memory of a fit of each, and what each needs beyond one Gram matrix."""
    here = str(Path(__file__).parent)
    peaks = {}
    for who in ("mercer", "scikit-learn"):
        code = textwrap.dedent(MEMORY.format(here=here))
        run = subprocess.run(
            [sys.executable, "-c", code, who], capture_output=True, text=True, check=True
        )
        peaks[who] = float(run.stdout)
    gram = 8192**2 * 8 / 2**20
    above = {who: max(peak - gram, 0.0) for who, peak in peaks.items()}
    detail = ", ".join(f"{who} {peak:.0f} MB" for who, peak in peaks.items())
    detail += f" in all; the Gram matrix is {gram:.0f} MB"
    share = above["mercer"] / above["scikit-learn"]
    return [Figure("memory above the Gram", share, 0.5, at_least=False, detail=detail)]


def main() -> None:
    """Print all figures of kernel ridge regression."""
    show(
        "Kernel ridge regression",
        fit_figure("kin8nm", 8192, 0.1, 4.0)
        + fit_figure("protein", 12_000, 1e-4, 2.5)
        + predict_figure()
        + memory_figure(),
    )


if __name__ == "__main__":
    main()
