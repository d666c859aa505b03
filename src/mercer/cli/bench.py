"""`mercer bench`: how long the main jobs take here, beside scikit-learn in the same minute."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any, ClassVar

import click

from mercer.cli.info import engine_line
from mercer.cli.talk import heading, note, phase, told

__all__ = ["bench"]

# The sizes: rows of the bundled data, and of those for machines that take longer.
ROWS, FEW = 3000, 800


@dataclass(frozen=True)
class Race:
    """The same job twice.

    Parameters
    ----------
    name : str
        What is done.
    ours, theirs : callable
        By mercer, and by scikit-learn.
    """

    # Runs of each, of which the shortest counts.
    runs: ClassVar[int] = 3

    name: str
    ours: Callable[[], Any]
    theirs: Callable[[], Any]

    def run(self) -> dict[str, Any]:
        """Return the shortest times of both, taken in turns."""
        times = [(_seconds(self.ours), _seconds(self.theirs)) for _ in range(self.runs)]
        ours, theirs = (min(column) for column in zip(*times, strict=True))
        return {"job": self.name, "mercer": ours, "scikit-learn": theirs, "ratio": theirs / ours}


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@told
def bench(as_json: bool) -> None:
    """Time the main jobs beside scikit-learn on this machine, in about a minute if it is idle.

    The data are those of the demo, in columns of unit variance, and both get the same kernel and
    the same penalty. The ratio says how many times as long scikit-learn takes.
    """
    from mercer.data.listing import as_text

    machine = _machine()
    load = machine["load"]
    if load > 0.5:
        note(f"warning: about {load:.0f} other processes are running, so that times mean little")
    found = []
    for race in _races():
        with phase(race.name):
            found.append(race.run())
    if as_json:
        click.echo(json.dumps({"machine": machine, "races": found}))
        return
    header = ("job", "mercer", "scikit-learn", "ratio")
    cells = [
        (r["job"], f"{r['mercer']:.3f} s", f"{r['scikit-learn']:.3f} s", f"{r['ratio']:.1f}")
        for r in found
    ]
    click.echo(as_text(header, cells))
    click.echo(
        f"\n{heading('on')} {machine['cpu']}, {machine['engine']}, {machine['threads']} threads, "
        f"load {load:.2f}, scikit-learn {machine['scikit-learn']}; shortest of {Race.runs} runs"
    )


def _races() -> list[Race]:
    import numpy as np
    from sklearn.decomposition import KernelPCA as PeerPCA
    from sklearn.kernel_ridge import KernelRidge as PeerRidge
    from sklearn.metrics.pairwise import rbf_kernel
    from sklearn.model_selection import GridSearchCV, KFold
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC, SVR

    import mercer
    from mercer.data.samples import load_solubility

    data = load_solubility()
    X, y = StandardScaler().fit_transform(data.X)[:ROWS], data.y[:ROWS]
    few, y_few = X[:FEW], y[:FEW]
    labels = y > np.median(y)
    gamma, alpha, C = 1.0 / X.shape[1], 0.5, 10.0
    k = mercer.Gaussian.from_gamma(gamma)
    alphas = np.logspace(-3, 2, 11)
    fitted = mercer.KernelRidge(k, alpha).fit(X, y)
    peer = PeerRidge(kernel="rbf", gamma=gamma, alpha=alpha).fit(X, y)
    grid = GridSearchCV(
        PeerRidge(kernel="rbf", gamma=gamma),
        {"alpha": alphas},
        cv=KFold(5),
        scoring="neg_mean_squared_error",
    )
    return [
        Race(
            f"Gram matrix of {ROWS} rows",
            lambda: k(X),
            lambda: rbf_kernel(X, gamma=gamma),
        ),
        Race(
            f"ridge regression, fit to {ROWS} rows",
            lambda: mercer.KernelRidge(k, alpha, fit_intercept=False).fit(X, y),
            lambda: PeerRidge(kernel="rbf", gamma=gamma, alpha=alpha).fit(X, y),
        ),
        Race(
            f"ridge regression, predict {ROWS} rows",
            lambda: fitted.predict(X),
            lambda: peer.predict(X),
        ),
        Race(
            f"one ridge of {len(alphas)} chosen, {FEW} rows",
            lambda: mercer.KernelRidgeCV(k, alphas).fit(few, y_few),
            lambda: grid.fit(few, y_few),
        ),
        Race(
            f"SVM classification, {ROWS} rows",
            lambda: mercer.KernelSVC(k, C).fit(X, labels),
            lambda: SVC(gamma=gamma, C=C).fit(X, labels),
        ),
        Race(
            f"SVM regression, {ROWS} rows",
            lambda: mercer.KernelSVR(k, C).fit(X, y),
            lambda: SVR(gamma=gamma, C=C).fit(X, y),
        ),
        Race(
            f"ten kernel components, {FEW} rows",
            lambda: mercer.KernelPCA(k, 10).fit(few),
            lambda: PeerPCA(10, kernel="rbf", gamma=gamma, eigen_solver="auto").fit(few),
        ),
    ]


def _seconds(job: Callable[[], Any]) -> float:
    began = perf_counter()
    job()
    return perf_counter() - began


def _machine() -> dict[str, Any]:
    """Return what the times were taken on."""
    from importlib.metadata import version

    from mercer.native import describe

    engine = describe()
    return {
        "cpu": _processor(),
        "engine": engine_line(engine),
        "threads": engine["threads"],
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0,
        "scikit-learn": version("scikit-learn"),
    }


def _processor() -> str:
    """Return the name of the processor, as far as the system tells it."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            lines = [line for line in file if line.startswith("model name")]
    except OSError:
        lines = []
    return (
        lines[0].partition(":")[2].strip() if lines else platform.processor() or platform.machine()
    )
