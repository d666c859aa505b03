"""`mercer demo`: the main job end to end, on real data that travels with the package."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING

import click

from mercer.cli.info import engine_line

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["demo"]

HELD_OUT = 600
ALPHA = 1.0


@click.command()
def demo() -> None:
    """Fit a model of aqueous solubility and print how well it does."""
    import numpy as np
    from rich.console import Console
    from rich.text import Text

    import mercer
    from mercer.data.samples import load_solubility
    from mercer.native import describe

    data = load_solubility()
    shuffled = np.random.default_rng(0).permutation(len(data.y))
    held_out, train = shuffled[:HELD_OUT], shuffled[HELD_OUT:]
    X = standardised(data.X, by=train)
    y = data.y

    model = mercer.KernelRidge(kernel="gaussian", alpha=ALPHA)
    start = perf_counter()
    model.fit(X[train], y[train])
    fitted = perf_counter()
    predicted = model.predict(X[held_out])
    done = perf_counter()

    error = rmse(y[held_out], predicted)
    naive = rmse(y[held_out], np.full(HELD_OUT, y[train].mean()))
    engine = describe()

    console = Console(highlight=False)
    for label, text in {
        "data": f"aqueous solubility, log10 mol/l: {len(y)} rows of AqSolDB, {X.shape[1]} columns",
        "split": f"{len(train)} rows to learn from, {HELD_OUT} held out",
        "model": f"KernelRidge, alpha = {ALPHA}",
        "kernel": str(model.kernel_),
        "R2": f"{r2(y[held_out], predicted):.3f} on the held-out rows (0 for a constant)",
        "RMSE": f"{error:.3f} on the held-out rows (predicting the mean: {naive:.3f})",
        "fit": f"{fitted - start:.3f} s",
        "predict": f"{done - fitted:.3f} s",
        "certificate": str(model.certificate_),
        "engine": f"{engine_line(engine)}; threads: {engine['threads']}",
    }.items():
        console.print(Text.assemble((f"{label:<12}", "bold"), text), soft_wrap=True)


def standardised(X: NDArray[np.float64], by: NDArray[np.intp]) -> NDArray[np.float64]:
    """Centre and scale the columns by the mean and deviation of the rows `by`."""
    return (X - X[by].mean(axis=0)) / X[by].std(axis=0)


def rmse(y: NDArray[np.float64], predicted: NDArray[np.float64]) -> float:
    """Return the root of the mean squared error."""
    return float(((y - predicted) ** 2).mean() ** 0.5)


def r2(y: NDArray[np.float64], predicted: NDArray[np.float64]) -> float:
    """Return the share of the variance of `y` that the prediction explains."""
    return float(1.0 - ((y - predicted) ** 2).mean() / y.var())
