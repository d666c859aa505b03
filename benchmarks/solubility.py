"""Aqueous solubility from descriptors and SMILES: one kernel over both against numbers alone."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd
from datasets import FOLDER
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestRegressor
from sklearn.model_selection import train_test_split
from timing import Figure, show

from mercer import Gaussian, KernelRidgeCV, Spectrum, Standardize
from mercer.kernels import Kernel

Array = NDArray[Any]

# A published estimate and names of substances are no descriptors.
SETS = {
    "esol_delaney": (
        "measured log solubility in mols per litre",
        "smiles",
        ("Compound ID", "ESOL predicted log solubility in mols per litre"),
    ),
    "aqsoldb": ("Solubility", "SMILES", ("ID", "Name", "SD", "Occurrences", "Group")),
}
LENGTH_SCALES = (1.0, 2.0, 4.0, 8.0)


def table(name: str) -> tuple[pd.DataFrame, Array, list[str], str]:
    """Return the rows, the target, the names of the descriptors and that of the SMILES."""
    target, smiles, others = SETS[name]
    frame = pd.read_csv(FOLDER / "solubility" / f"{name}.csv.gz")
    numbers = [c for c in frame.columns if c not in (target, smiles, *others)]
    return frame[[*numbers, smiles]], frame[target].to_numpy(), numbers, smiles


def kernels(numbers: list[str], smiles: str) -> dict[str, list[Kernel]]:
    """Return the candidates: Gaussians of the descriptors, alone and times a kernel of SMILES."""
    text = Spectrum(k=(1, 2, 3, 4)).normalized().on(smiles)
    alone = [Gaussian(s).after(Standardize()).on(*numbers) for s in LENGTH_SCALES]
    return {"descriptors": alone, "descriptors and SMILES": [g + g * text for g in alone]}


def figures(name: str) -> list[Figure]:
    """Return how much larger the errors of the peers are on held-out rows."""
    rows, y, numbers, smiles = table(name)
    train, test = train_test_split(np.arange(len(y)), test_size=0.2, random_state=0)
    errors, seconds = {}, {}
    for who, candidates in kernels(numbers, smiles).items():
        start = perf_counter()
        model = KernelRidgeCV(candidates, random_state=0).fit(rows.iloc[train], y[train])
        errors[who] = _rmse(model.predict(rows.iloc[test]), y[test])
        seconds[who] = perf_counter() - start
    start = perf_counter()
    forest = RandomForestRegressor(500, random_state=0, n_jobs=-1)
    forest.fit(rows.iloc[train][numbers], y[train])
    errors["forest"] = _rmse(forest.predict(rows.iloc[test][numbers]), y[test])
    seconds["forest"] = perf_counter() - start
    ours = "descriptors and SMILES"
    detail = ", ".join(f"{who} {e:.3f} ({seconds[who]:.0f} s)" for who, e in errors.items())
    return [
        Figure(
            f"{name}, n = {len(y)}: RMSE over ours, {who}",
            errors[who] / errors[ours],
            1.0,
            detail=detail,
        )
        for who in ("descriptors", "forest")
    ]


def _rmse(predicted: Array, y: Array) -> float:
    return float(np.sqrt(np.mean((predicted - y) ** 2)))


def main() -> None:
    """Print the errors on held-out substances."""
    show("Aqueous solubility", [f for name in SETS for f in figures(name)])


if __name__ == "__main__":
    main()
