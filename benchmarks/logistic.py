"""Kernel logistic regression against a Gaussian process and a calibrated SVM: speed, log loss."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from datasets import classification
from numpy.typing import NDArray
from sklearn.calibration import CalibratedClassifierCV
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC
from timing import Figure, interleaved, show

from mercer import Gaussian, KernelLogisticRegression, KernelLogisticRegressionCV
from mercer.selection.grid import CS, LENGTH_SCALES

Array = NDArray[Any]

SETS = ("banana", "spambase", "phoneme")
SEVERAL_CLASSES = ("satimage", "covtype_93k")
SOME_ROWS = 1500
TRAINING_SHARE = 0.8
# The Gaussian process has the prior that C = 1 stands for; the SVM and we are both at home at 10.
C_GAUSSIAN_PROCESS, C_SVM = 1.0, 10.0


def split(name: str, rows: int | None) -> tuple[Array, Array, Array, Array]:
    """Return training rows and classes in a seeded order, and the rest to test on."""
    X, y = classification(name)
    order = np.random.default_rng(0).permutation(len(y))
    n = int(TRAINING_SHARE * len(y)) if rows is None else rows
    return X[order[:n]], y[order[:n]], X[order[n:]], y[order[n:]]


def length_scale(X: Array) -> float:
    """Return the length scale of all contenders: half the typical distance of standard columns."""
    return 0.5 * float(np.sqrt(X.shape[1]))


def ours(X: Array, C: float) -> Any:
    return KernelLogisticRegression(Gaussian(length_scale(X)), C, random_state=0)


def gaussian_process(X: Array) -> Any:
    return GaussianProcessClassifier(RBF(length_scale(X)), optimizer=None)


def calibrated(X: Array) -> Any:
    return CalibratedClassifierCV(SVC(C=C_SVM, gamma=0.5 / length_scale(X) ** 2), ensemble=False)


def figures(
    name: str, rows: int | None, C: float, peer: Callable[[Array], Any], who: str, target: float
) -> list[Figure]:
    """Return the speed over a peer, and our log loss beside that of the peer."""
    X, y, X_test, y_test = split(name, rows)
    contenders = {"mercer": ours(X, C), who: peer(X)}
    best = interleaved(
        {key: lambda m=model: m.fit(X, y) for key, model in contenders.items()}, rounds=3
    )
    losses = {k: log_loss(y_test, m.predict_proba(X_test)) for k, m in contenders.items()}
    peaks = {key: peak_memory(name, rows, key) for key in contenders}
    case = f"{name}, n = {len(X)}, C = {C:g}"
    detail = ", ".join(f"{key} {s * 1e3:.0f} ms" for key, s in best.items())
    detail += f"; gap {contenders['mercer'].certificate_.value:.0e}; peak memory "
    detail += ", ".join(f"{mb:.0f} MB" for mb in peaks.values())
    lost = ", ".join(f"{key} {loss:.4f}" for key, loss in losses.items())
    return [
        Figure(f"{case}, fit over {who}", best[who] / best["mercer"], target, detail=detail),
        Figure(
            f"{case}, log loss over {who}'s",
            losses["mercer"] / losses[who],
            1.0,
            at_least=False,
            detail=lost,
        ),
    ]


MEMORY = """
    import re, sys
    sys.path.insert(0, {here!r})
    import logistic

    def status(field):
        text = open("/proc/self/status").read()
        return int(re.search(rf"{{field}}:\\s+(\\d+) kB", text)[1]) / 1024

    X, y, _, _ = logistic.split({name!r}, {rows!r})
    C = logistic.C_SVM if {rows!r} is None else logistic.C_GAUSSIAN_PROCESS
    model = {{
        "mercer": lambda: logistic.ours(X, C),
        logistic.PROCESS: lambda: logistic.gaussian_process(X),
        logistic.MACHINE: lambda: logistic.calibrated(X),
    }}[{who!r}]()
    model.fit(X[:200], y[:200])
    before = status("VmRSS")
    open("/proc/self/clear_refs", "w").write("5")
    model.fit(X, y)
    print(status("VmHWM") - before)
"""


def peak_memory(name: str, rows: int | None, who: str) -> float:
    """Return the megabytes that one fit adds at its peak, in a process of its own."""
    here = str(Path(__file__).parent)
    code = textwrap.dedent(MEMORY.format(here=here, name=name, rows=rows, who=who))
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(run.stdout)


def searches(name: str, rows: int) -> list[Figure]:
    """Return what choosing kernel and C costs in fits of the choice, and beside a grid search."""
    X, y, X_test, y_test = split(name, rows)
    ours = KernelLogisticRegressionCV(random_state=0).fit(X, y)
    chosen = KernelLogisticRegression(**ours.best_params_, random_state=0)
    median = Gaussian("median").resolved(X).length_scale
    grid = {"gamma": 0.5 / (LENGTH_SCALES * median) ** 2, "C": CS}
    machine = GridSearchCV(SVC(), grid, cv=3)
    best = interleaved(
        {
            "search": lambda: ours.fit(X, y),
            "one fit": lambda: chosen.fit(X, y),
            "GridSearchCV(SVC)": lambda: machine.fit(X, y),
        },
        rounds=1,
    )
    case = f"{name}, n = {len(X)}, {len(ours.classes_)} classes"
    detail = ", ".join(f"{key} {s * 1e3:.0f} ms" for key, s in best.items())
    detail += (
        f"; accuracy {ours.score(X_test, y_test):.3f}, SVC {machine.score(X_test, y_test):.3f}"
    )
    ratio = best["search"] / best["one fit"]
    over = best["GridSearchCV(SVC)"] / best["search"]
    return [
        Figure(f"{case}, search in fits of the choice", ratio, 20.0, at_least=False, detail=detail),
        Figure(f"{case}, search over GridSearchCV(SVC)", over, 1.0, detail=detail),
    ]


PROCESS, MACHINE = "GaussianProcessClassifier", "CalibratedClassifierCV(SVC)"


def main() -> None:
    """Print all figures of kernel logistic regression."""
    for name in SETS:
        some = figures(name, SOME_ROWS, C_GAUSSIAN_PROCESS, gaussian_process, PROCESS, 20.0)
        every = figures(name, None, C_SVM, calibrated, MACHINE, 1.5)
        show(f"Logistic regression on {name}, the same kernel and C", some + every)
    chosen = [f for name in SEVERAL_CLASSES for n in (400, 800, 1732) for f in searches(name, n)]
    show("Choosing among 8 kernels and 10 Cs, several classes", chosen)


if __name__ == "__main__":
    main()
