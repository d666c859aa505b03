"""Support vector machines against scikit-learn (LIBSVM) and scikit-learn-intelex."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from datasets import classification_task, regression
from numpy.typing import NDArray
from scipy.stats import gmean
from sklearn.svm import SVC, SVR
from sklearnex.svm import SVC as IntelSVC, SVR as IntelSVR
from timing import Figure, interleaved, show

from mercer import Gaussian, KernelSVC, KernelSVR
from mercer.engine import apply

Array = NDArray[Any]

SETS = ("svmguide1", "phoneme", "usps", "letter", "a9a", "cod-rna")
# LIBSVM takes minutes there, so that it runs once.
LARGE = ("a9a", "cod-rna")
COSTS = (1.0, 100.0)
EPSILON = 0.05


def machines(gamma: float, C: float) -> dict[str, Any]:
    """Return the same classifier of each library; ties of votes are broken alike."""
    return {
        "mercer": KernelSVC(Gaussian.from_gamma(gamma), C),
        "scikit-learn": SVC(C=C, gamma=gamma, break_ties=True),
        "intelex": IntelSVC(C=C, gamma=gamma, break_ties=True),
    }


def objective(model: Any, X: Array, gamma: float) -> float:
    """Return the sum of the dual objectives of all pairs of classes, with K in float64."""
    a = model.dual_coef_.toarray() if hasattr(model.dual_coef_, "toarray") else model.dual_coef_
    rows = X[model.support_]
    rows = rows.toarray() if hasattr(rows, "toarray") else rows
    program = Gaussian.from_gamma(gamma).program
    if len(a) == 1:
        return float(np.abs(a).sum() - 0.5 * a[0] @ apply(program, rows, None, a[0]))
    ends = np.concatenate([[0], np.cumsum(model.n_support_)])
    total = 0.0
    for i in range(len(a) + 1):
        for j in range(i + 1, len(a) + 1):
            pair = np.r_[ends[i] : ends[i + 1], ends[j] : ends[j + 1]]
            c = np.r_[a[j - 1, ends[i] : ends[i + 1]], a[i, ends[j] : ends[j + 1]]]
            total += np.abs(c).sum() - 0.5 * c @ apply(program, rows[pair], None, c)
    return float(total)


def timed(contenders: dict[str, Callable[[], object]], is_large: bool) -> dict[str, float]:
    """Return the best seconds of each; where LIBSVM is slow it runs once and is not repeated."""
    if not is_large:
        return interleaved(contenders, rounds=3)
    quick = {who: run for who, run in contenders.items() if who != "scikit-learn"}
    return interleaved(quick, rounds=2)


def ratio(best: dict[str, float]) -> tuple[float, str]:
    """Return our speed over that of the faster peer, and all times."""
    faster = min(s for who, s in best.items() if who != "mercer")
    return faster / best["mercer"], ", ".join(f"{who} {s:.3f} s" for who, s in best.items())


def classifier_figures(name: str, C: float, with_slow: bool) -> tuple[list[Figure], list[Figure]]:
    """Return the figures of fitting and of predicting one data set at one price."""
    X, y, T = classification_task(name)
    gamma = 1.0 / X.shape[1]
    models = machines(gamma, C)
    is_large = name in LARGE
    if is_large and not with_slow:
        models.pop("scikit-learn")
    fits = {who: partial(model.fit, X, y) for who, model in models.items()}
    best = timed(fits, is_large)
    speed, detail = ratio(best)
    case = f"{name}, n = {X.shape[0]}, C = {C:g}"
    peer = "scikit-learn" if "scikit-learn" in models else "intelex"
    gap = 1.0 - objective(models["mercer"], X, gamma) / objective(models[peer], X, gamma)
    same = float((models["mercer"].predict(T) == models[peer].predict(T)).mean())
    fit = [
        Figure(f"fit {case}", speed, 1.5, detail=detail),
        Figure(f"objective below {peer}", gap, 1e-4, at_least=False, unit=""),
        Figure(f"same predictions as {peer}", 100.0 * same, 99.9, unit=" %"),
    ]
    predictions = {who: partial(model.predict, T) for who, model in models.items()}
    times = interleaved(predictions, rounds=3)
    predict = [
        Figure(
            f"predict {case} over {who}",
            s / times["mercer"],
            15.0 if who == "scikit-learn" else 1.0,
            detail=f"mercer {times['mercer'] * 1e3:.1f} ms, {who} {s * 1e3:.1f} ms",
        )
        for who, s in times.items()
        if who != "mercer"
    ]
    return fit, predict


def regression_figure(name: str, C: float) -> Figure:
    """Return the speed of one fit with a tube over the faster peer's."""
    X, y = regression(name)
    gamma = 1.0 / X.shape[1]
    models = {
        "mercer": KernelSVR(Gaussian.from_gamma(gamma), C, epsilon=EPSILON),
        "scikit-learn": SVR(C=C, gamma=gamma, epsilon=EPSILON),
        "intelex": IntelSVR(C=C, gamma=gamma, epsilon=EPSILON),
    }
    best = interleaved({who: partial(m.fit, X, y) for who, m in models.items()}, rounds=2)
    speed, detail = ratio(best)
    return Figure(f"SVR fit {name}, n = {len(X)}, C = {C:g}", speed, detail=detail)


MEMORY = """
    import re, sys
    sys.path.insert(0, {here!r})
    from datasets import classification_task
    from svm import machines

    def status(field):
        text = open("/proc/self/status").read()
        return int(re.search(rf"{{field}}:\\s+(\\d+) kB", text)[1]) / 1024

    X, y, _ = classification_task({name!r})
    model = machines(1.0 / X.shape[1], 1.0)[sys.argv[1]]
    before = status("VmRSS")
    open("/proc/self/clear_refs", "w").write("5")
    model.fit(X, y)
    print(status("VmHWM") - before)
"""


def memory_figure(name: str) -> Figure:
    """Return the peak memory of a fit beside that of scikit-learn-intelex."""
    code = textwrap.dedent(MEMORY.format(here=str(Path(__file__).parent), name=name))
    peaks = {}
    for who in ("mercer", "intelex"):
        run = subprocess.run(
            [sys.executable, "-c", code, who], capture_output=True, text=True, check=True
        )
        peaks[who] = float(run.stdout)
    detail = ", ".join(f"{who} {peak:.0f} MB" for who, peak in peaks.items())
    return Figure(f"peak memory, {name}, C = 1", peaks["mercer"], unit=" MB", detail=detail)


def main(names: tuple[str, ...] = SETS, with_slow: bool = False) -> None:
    """Print all figures of support vector machines."""
    fits, predictions = [], []
    for name in names:
        for C in COSTS:
            fit, predict = classifier_figures(name, C, with_slow)
            fits += fit
            predictions += predict
            show(f"KernelSVC, {name}, C = {C:g}", fit + predict)
    speeds = [f.value for f in fits if f.case.startswith("fit")]
    over = {
        who: [f.value for f in predictions if f.case.endswith(who)]
        for who in ("scikit-learn", "intelex")
    }
    tubes = [regression_figure(name, C) for name in ("kin8nm", "elevators") for C in COSTS]
    show("KernelSVR", tubes)
    summary = [
        Figure("SVC fit, geometric mean over the faster peer", float(gmean(speeds)), 4.0),
        Figure("SVC fit, least", min(speeds), 1.5),
        Figure("SVC predict over scikit-learn, least", min(over["scikit-learn"]), 15.0),
        Figure("SVC predict over intelex, least", min(over["intelex"]), 1.0),
        Figure("SVR fit, geometric mean", float(gmean([f.value for f in tubes])), 3.0),
    ]
    show("Support vector machines", summary + [memory_figure(name) for name in names])


if __name__ == "__main__":
    main(tuple(sys.argv[1:]) or SETS)
