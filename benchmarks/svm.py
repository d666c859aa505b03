"""Support vector machines against scikit-learn (LIBSVM) and scikit-learn-intelex."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from datasets import classification_task, regression
from numpy.typing import NDArray
from scipy.stats import gmean
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC
from sklearnex.svm import SVC as IntelSVC, SVR as IntelSVR
from timing import Figure, interleaved, show

from mercer import Gaussian, KernelSVC, KernelSVR
from mercer.native.core import cpu_level
from mercer.tiles import apply

Array = NDArray[Any]

SETS = ("svmguide1", "phoneme", "usps", "letter-8000", "letter", "a9a", "binary", "cod-rna")
# LIBSVM takes minutes to fit these, so that it is not the faster peer; it predicts with the
# support vectors that scikit-learn-intelex found.
LARGE = ("a9a", "binary", "cod-rna")
FITTED = ("support_", "support_vectors_", "_n_support", "_dual_coef_", "_intercept_")
COSTS = (1.0, 100.0)
# Rounds; more of them for sets of so few rows that calls take milliseconds.
ROUNDS, MANY_ROUNDS, FEW = 3, 9, 6000
EPSILON = 0.05
# The price up to which a fit with a tube takes seconds, not minutes.
QUICK = 1.0
# Seconds that a new process takes to begin.
START_UP = 10.0
# What most processors have, beside what this one has.
COMMON = "v3"


def gamma_of(name: str, X: Array) -> float:
    """Return one over the columns, and over their variance where they are not standardised.

    The sparse rows of a9a keep the width that others measure it with.
    """
    if name != "binary":
        return 1.0 / X.shape[1]
    return 1.0 / (X.shape[1] * (X.multiply(X).mean() - X.mean() ** 2))


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


def predictor(fitted: Any, X: Array, y: Array) -> SVC:
    """Return a classifier of scikit-learn with the support vectors of another library's."""
    settings = {"C": fitted.C, "gamma": fitted.gamma, "break_ties": fitted.break_ties}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = SVC(**settings, max_iter=1).fit(X, y)
    for field in FITTED:
        kind = getattr(model, field).dtype
        setattr(model, field, getattr(fitted, field).astype(kind))
    return model


def ratio(best: dict[str, float]) -> tuple[float, str]:
    """Return our speed over that of the faster peer, and all times."""
    faster = min(s for who, s in best.items() if who != "mercer")
    return faster / best["mercer"], ", ".join(f"{who} {s:.3f} s" for who, s in best.items())


def classifier_figures(name: str, C: float) -> tuple[list[Figure], list[Figure]]:
    """Return the figures of fitting and of predicting one data set at one price."""
    X, y, T = classification_task(name)
    gamma = gamma_of(name, X)
    models = machines(gamma, C)
    if name in LARGE:
        models.pop("scikit-learn")
    rounds = MANY_ROUNDS if X.shape[0] < FEW else ROUNDS
    best = interleaved({who: partial(model.fit, X, y) for who, model in models.items()}, rounds)
    peer = "scikit-learn" if "scikit-learn" in models else "intelex"
    if name in LARGE:
        models["scikit-learn"] = predictor(models["intelex"], X, y)
    speed, detail = ratio(best)
    case = f"{name}, n = {X.shape[0]}, C = {C:g}"
    gap = 1.0 - objective(models["mercer"], X, gamma) / objective(models[peer], X, gamma)
    same = float((models["mercer"].predict(T) == models[peer].predict(T)).mean())
    fit = [
        Figure(f"fit {case}", speed, 1.5, detail=detail),
        Figure(f"objective below {peer}", gap, 1e-4, at_least=False, unit=""),
        Figure(f"same predictions as {peer}", 100.0 * same, 99.9, unit=" %"),
    ]
    if cpu_level() > COMMON:
        speed, detail = ratio({**best, "mercer": at_common_level(name, C, rounds)})
        fit.insert(1, Figure(f"the same, MERCER_CPU={COMMON}", speed, 1.0, detail=detail))
    predictions = {who: partial(model.predict, T) for who, model in models.items()}
    times = interleaved(predictions, rounds)
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


COMMON_FIT = """
    import sys
    sys.path.insert(0, {here!r})
    from datasets import classification_task
    from svm import gamma_of, machines
    from timing import interleaved

    X, y, _ = classification_task({name!r})
    model = machines(gamma_of({name!r}, X), {C!r})["mercer"]
    print(interleaved({{"mercer": lambda: model.fit(X, y)}}, {rounds})["mercer"])
"""


def at_common_level(name: str, C: float, rounds: int) -> float:
    """Return our best seconds of a fit with the instructions that most processors have."""
    here = str(Path(__file__).parent)
    code = textwrap.dedent(COMMON_FIT.format(here=here, name=name, C=C, rounds=rounds))
    run = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "MERCER_CPU": COMMON},
    )
    return float(run.stdout)


def regression_figure(name: str, C: float) -> Figure:
    """Return the speed of one fit with a tube over the faster peer's."""
    X, y = regression(name)
    gamma = 1.0 / X.shape[1]
    models = {
        "mercer": KernelSVR(Gaussian.from_gamma(gamma), C, epsilon=EPSILON),
        "intelex": IntelSVR(C=C, gamma=gamma, epsilon=EPSILON),
    }
    fits = {who: partial(model.fit, X, y) for who, model in models.items()}
    best = interleaved(fits, rounds=2) if C <= QUICK else once(fits)
    # LIBSVM is the faster peer only if it is done by the time the other one is.
    seconds = within(best["intelex"], name, C)
    if seconds is not None:
        best["scikit-learn"] = seconds
    speed, detail = ratio(best)
    if seconds is None:
        detail += f", scikit-learn more than {best['intelex']:.3f} s"
    return Figure(f"SVR fit {name}, n = {len(X)}, C = {C:g}", speed, detail=detail)


def once(contenders: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Return the seconds of one run each, of those that take minutes."""
    seconds = {}
    for who, run in contenders.items():
        start = perf_counter()
        run()
        seconds[who] = perf_counter() - start
    return seconds


TUBE = """
    import sys
    from time import perf_counter
    sys.path.insert(0, {here!r})
    from datasets import regression
    from sklearn.svm import SVR

    X, y = regression({name!r})
    model = SVR(C={C!r}, gamma=1.0 / X.shape[1], epsilon={epsilon!r})
    start = perf_counter()
    model.fit(X, y)
    print(perf_counter() - start)
"""


def within(limit: float, name: str, C: float) -> float | None:
    """Return the seconds that scikit-learn takes for a fit with a tube, None if over the limit."""
    here = str(Path(__file__).parent)
    code = textwrap.dedent(TUBE.format(here=here, name=name, C=C, epsilon=EPSILON))
    command = [sys.executable, "-c", code]
    try:
        run = subprocess.run(
            command, capture_output=True, text=True, check=True, timeout=limit + START_UP
        )
    except subprocess.TimeoutExpired:
        return None
    return float(run.stdout)


MEMORY = """
    import re, sys
    sys.path.insert(0, {here!r})
    from datasets import classification_task
    from svm import gamma_of, machines

    def status(field):
        text = open("/proc/self/status").read()
        return int(re.search(rf"{{field}}:\\s+(\\d+) kB", text)[1]) / 1024

    X, y, _ = classification_task({name!r})
    model = machines(gamma_of({name!r}, X), 1.0)[sys.argv[1]]
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


def main(names: tuple[str, ...] = SETS) -> None:
    """Print all figures of support vector machines."""
    fits, predictions = [], []
    for name in names:
        for C in COSTS:
            fit, predict = classifier_figures(name, C)
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
