"""The automatic machine on tables, beside boosted trees and recursive feature machines.

``python benchmarks/automatic.py --sets concrete german --splits 1 --peers FILE`` runs a part of it,
with what the peers reached read from a file where it holds them, and added to it where it does not.
``--kept FILE --minutes 10`` keeps what ours reached, too, and ends in time: call it again until it
prints the tables.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from tables import CLASSES, NUMBERS, SYNTHETIC, Task, task
from timing import WIDTH, Figure, show, show_machine

from mercer import Gaussian, KernelClassifier, KernelRegressor, KernelRidgeCV, Standardize

Array = NDArray[Any]

THREADS = 2
# Rows to train on and rows to test with at most, and the splits of a table into them.
MOST_ROWS, MOST_TESTED, SPLITS = 3000, 5000, 3
# A share of the variance below which nobody cares which is less.
LEAST_UNEXPLAINED = 1e-3


@dataclass(frozen=True)
class Score:
    """What a model reached on a split: its errors, log loss (of classes alone) and seconds to fit.

    The error is 1 - R2 of numbers and the share of wrong classes.
    """

    error: float
    log_loss: float | None
    seconds: float


@dataclass(frozen=True)
class Split:
    """Rows and targets to train on and to test with."""

    train: pd.DataFrame
    y: Array
    test: pd.DataFrame
    truth: Array
    has_classes: bool


Contender = Callable[[Split], Callable[[pd.DataFrame], Array]]


def split(given: Task, seed: int) -> Split:
    """Return a seeded split of a table: three quarters to train on, or as many as are allowed."""
    rows, n = np.arange(len(given.y)), len(given.y)
    chosen = train_test_split(
        rows,
        train_size=min(MOST_ROWS, 3 * n // 4),
        test_size=min(MOST_TESTED, n - 3 * n // 4),
        random_state=seed,
        stratify=given.y if given.has_classes else None,
    )
    train, test = (np.sort(part) for part in chosen)
    X, y = given.X, given.y
    return Split(X.iloc[train], y[train], X.iloc[test], y[test], given.has_classes)


def ours(given: Split) -> Callable[[pd.DataFrame], Array]:
    """Fit the automatic machine, nothing said."""
    machine = KernelClassifier() if given.has_classes else KernelRegressor()
    machine.fit(given.train, given.y)
    return machine.predict_proba if given.has_classes else machine.predict


def boosting(given: Split) -> Callable[[pd.DataFrame], Array]:
    """Fit scikit-learn's boosted trees; columns of text are categories."""
    model = HistGradientBoostingClassifier if given.has_classes else HistGradientBoostingRegressor
    cells = {c: "category" for c in _texts(given.train)}
    fitted = model(categorical_features="from_dtype", random_state=0)
    fitted.fit(given.train.astype(cells), given.y)
    predict = fitted.predict_proba if given.has_classes else fitted.predict
    return lambda rows: predict(rows.astype(cells))


def catboost(given: Split) -> Callable[[pd.DataFrame], Array]:
    """Fit CatBoost; columns of text are categories."""
    from catboost import CatBoostClassifier, CatBoostRegressor

    model = CatBoostClassifier if given.has_classes else CatBoostRegressor
    fitted = model(
        thread_count=THREADS,
        random_seed=0,
        verbose=False,
        allow_writing_files=False,
        cat_features=_texts(given.train),
    )
    fitted.fit(given.train, given.y)
    return fitted.predict_proba if given.has_classes else fitted.predict


def xrfm(given: Split, *, is_diagonal: bool) -> Callable[[pd.DataFrame], Array]:
    """Fit xRFM on standardised columns, categories as indicators, a fifth kept to validate."""
    from xrfm import xRFM

    columns = pd.get_dummies(given.train, dtype=float)
    mean, spread = columns.mean(), columns.std().replace(0.0, 1.0)

    def cells(rows: pd.DataFrame) -> Array:
        wide = pd.get_dummies(rows, dtype=float).reindex(columns=columns.columns, fill_value=0.0)
        return ((wide - mean) / spread).to_numpy(np.float32)

    if given.has_classes:
        y: Array = np.unique(given.y, return_inverse=True)[1].astype(np.int64)
        centre, scale, kept_alike = 0.0, 1.0, y
    else:
        centre, scale, kept_alike = float(given.y.mean()), float(given.y.std()), None
        y = ((given.y - centre) / scale).astype(np.float32)
    parts = train_test_split(
        cells(given.train), y.reshape(-1, 1), test_size=0.2, random_state=0, stratify=kept_alike
    )
    settings = _diagonal() if is_diagonal else None
    machine = xRFM(settings, device="cpu", n_threads=THREADS, random_state=0, verbose=False)
    machine.fit(parts[0], parts[2], parts[1], parts[3])
    if given.has_classes:
        return lambda rows: np.asarray(machine.predict_proba(cells(rows)))
    return lambda rows: centre + scale * np.asarray(machine.predict(cells(rows))).reshape(-1)


def _diagonal() -> dict[str, Any]:
    """Return xRFM's default settings but for a metric by columns."""
    from xrfm import xRFM

    settings = dict(xRFM(device="cpu").rfm_params)
    return {**settings, "model": {**settings["model"], "diag": True}}


def _texts(rows: pd.DataFrame) -> list[str]:
    return [c for c in rows.columns if not pd.api.types.is_numeric_dtype(rows[c])]


def contenders() -> dict[str, Contender]:
    """Return who takes part: ours, and the peers that are installed."""
    found: dict[str, Contender] = {"mercer": ours, "HistGradientBoosting": boosting}
    if find_spec("catboost"):
        found["CatBoost"] = catboost
    if find_spec("xrfm"):
        found["xRFM"] = lambda given: xrfm(given, is_diagonal=False)
        found["xRFM diagonal"] = lambda given: xrfm(given, is_diagonal=True)
    return found


def measured(fit: Contender, given: Split) -> Score:
    """Return the score of a contender on a split."""
    began = perf_counter()
    predict = fit(given)
    seconds = perf_counter() - began
    found = np.asarray(predict(given.test), np.float64)
    if not given.has_classes:
        missed = np.mean((found - given.truth) ** 2) / np.var(given.truth)
        return Score(max(float(missed), LEAST_UNEXPLAINED), None, seconds)
    classes = np.unique(given.y)
    wrong = float(np.mean(classes[found.argmax(axis=1)] != given.truth))
    # Half a row where none is wrong, for ratios.
    least = 0.5 / len(given.truth)
    found = found / found.sum(axis=1, keepdims=True)
    loss = float(log_loss(given.truth, np.clip(found, 1e-15, 1.0), labels=classes))
    return Score(max(wrong, least), loss, seconds)


class Scores:
    """What was reached, by contender, table and split; kept in a file if there is one.

    Parameters
    ----------
    kept : Path, optional
        The file.
    keeps_ours : bool
        Whether it holds what ours reached, too: of a run in pieces.
    seconds : float
        After so many nothing more is run.
    """

    def __init__(self, kept: Path | None, keeps_ours: bool, seconds: float) -> None:
        self.kept = kept
        self.keeps_ours = keeps_ours
        self.ends = perf_counter() + seconds
        self.known: dict[str, dict[str, Any]] = {}
        if kept is not None and kept.exists():
            self.known = json.loads(kept.read_text())

    def of(self, who: str, name: str, seed: int, run: Callable[[], Score]) -> Score:
        """Return a score from the file, or by running while there is time."""
        key, is_kept = f"{who} / {name} / {seed}", who != "mercer" or self.keeps_ours
        if is_kept and key in self.known:
            return Score(**self.known[key])
        if perf_counter() > self.ends:
            sys.exit(f"the time is up before {key}; call it again for the rest")
        found = run()
        if is_kept and self.kept is not None:
            self.known[key] = asdict(found)
            self.kept.write_text(json.dumps(self.known, indent=1))
        return found


Board = dict[str, dict[str, list[Score]]]


def board(names: Sequence[str], splits: int, scores: Scores) -> Board:
    """Return for every table and contender its scores on the splits."""
    found: Board = {}
    entering = contenders()
    for name in names:
        given = task(name)
        parts = [split(given, seed) for seed in range(splits)]
        found[name] = {
            who: [
                scores.of(who, name, seed, lambda fit=fit, part=part: measured(fit, part))
                for seed, part in enumerate(parts)
            ]
            for who, fit in entering.items()
        }
        line = ", ".join(
            f"{who} {_mean(s, 'error'):.4f} ({_mean(s, 'seconds'):.1f} s)"
            for who, s in found[name].items()
        )
        print(f"{name}: {line}", file=sys.stderr, flush=True)
    return found


def _mean(scores: Sequence[Score], what: str) -> float:
    return float(np.mean([getattr(s, what) for s in scores]))


def _ratio(found: Board, what: str, peers: Sequence[str]) -> dict[str, float]:
    """Return for every table ours over the best of some peers."""
    return {
        name: _mean(by["mercer"], what) / min(_mean(by[p], what) for p in peers)
        for name, by in found.items()
    }


def _geometric(ratios: dict[str, float]) -> float:
    return float(np.exp(np.mean(np.log(list(ratios.values())))))


def listing(title: str, found: Board, what: str, digits: int) -> Table:
    """Return a table of what every contender reached on every data set."""
    table = Table(title=title, title_justify="left")
    whose = list(next(iter(found.values())))
    for column in ("table", *whose):
        table.add_column(column, justify="left" if column == "table" else "right")
    for name, by in found.items():
        table.add_row(name, *(f"{_mean(by[who], what):.{digits}f}" for who in whose))
    return table


def _figures(
    found: Board, what: str, title: str, wanted: Sequence[tuple[Sequence[str], float]]
) -> list[Figure]:
    """Return the geometric means of the ratios to peers that took part."""
    present = next(iter(found.values()))
    figures = []
    for peers, target in wanted:
        if not all(peer in present for peer in peers):
            continue
        ratios = _ratio(found, what, peers)
        worst = max(ratios, key=lambda name: ratios[name])
        detail = f"worst {worst} {ratios[worst]:.2f}"
        who = " or ".join(peers)
        figures.append(Figure(f"{title}, {who}", _geometric(ratios), target, False, "", detail))
    return figures


def figures_of_numbers(found: Board) -> list[Figure]:
    """Return what is asked of regression."""
    trees = ("HistGradientBoosting", "CatBoost")
    wanted = [((trees[0],), 0.55), ((trees[1],), 0.70), (("xRFM", "xRFM diagonal"), 0.85)]
    figures = _figures(found, "error", "1 - R2, geometric mean of ratios", wanted)
    if "CatBoost" in next(iter(found.values())):
        ratios = _ratio(found, "error", trees)
        worst = max(ratios, key=lambda name: ratios[name])
        title = "1 - R2, worst table, the better of boosted trees"
        figures.append(Figure(title, ratios[worst], 1.2, False, "", worst))
    return figures


def figures_of_classes(found: Board) -> list[Figure]:
    """Return what is asked of classification."""
    wanted = [(("CatBoost",), 1.0)]
    return [
        *_figures(found, "error", "error rate, geometric mean of ratios", wanted),
        *_figures(found, "log_loss", "log loss, geometric mean of ratios", wanted),
    ]


def figures_of_few_columns(splits: int) -> list[Figure]:
    """Return what is reached where 4 columns of 32 matter, beside one width for all."""
    reached, alike = [], []
    for seed in range(splits):
        part = split(task(SYNTHETIC), seed)
        reached.append(1.0 - measured(ours, part).error)
        one = KernelRidgeCV([Gaussian("median").after(Standardize())])
        predicted = one.fit(part.train, part.y).predict(part.test)
        alike.append(1.0 - np.mean((predicted - part.truth) ** 2) / np.var(part.truth))
    detail = f"one width for all columns: {np.mean(alike):.3f}"
    return [Figure("R2, 4 of 32 columns matter", float(np.mean(reached)), 0.95, True, "", detail)]


def main(arguments: Sequence[str] = ()) -> None:
    """Print what everyone reached on every table, and how ours compares."""
    parser = argparse.ArgumentParser(description=__doc__)
    every = (*NUMBERS, *CLASSES, SYNTHETIC)
    parser.add_argument("--sets", nargs="+", choices=every, default=every, metavar="SET")
    parser.add_argument("--splits", type=int, default=SPLITS)
    files = parser.add_mutually_exclusive_group()
    files.add_argument("--peers", type=Path, help="a file for what the peers reached")
    files.add_argument("--kept", type=Path, help="a file for what all reached, of a run in pieces")
    parser.add_argument("--minutes", type=float, default=np.inf, help="after which to end")
    chosen = parser.parse_args(arguments)
    show_machine()
    console = Console(width=WIDTH)
    scores = Scores(chosen.kept or chosen.peers, chosen.kept is not None, 60.0 * chosen.minutes)
    numbers = board([n for n in chosen.sets if n in NUMBERS], chosen.splits, scores)
    classes = board([n for n in chosen.sets if n in CLASSES], chosen.splits, scores)
    if numbers:
        console.print(listing("1 - R2", numbers, "error", 4))
        console.print(listing("Seconds to fit", numbers, "seconds", 1))
        show("Regression", figures_of_numbers(numbers))
    if classes:
        console.print(listing("Error rate", classes, "error", 4))
        console.print(listing("Log loss", classes, "log_loss", 4))
        console.print(listing("Seconds to fit", classes, "seconds", 1))
        show("Classification", figures_of_classes(classes))
    if numbers or classes:
        wanted = [(("CatBoost",), 2.0)]
        every_table = {**numbers, **classes}
        show("Time", _figures(every_table, "seconds", "seconds to fit, geometric mean", wanted))
    if SYNTHETIC in chosen.sets:
        show("Few columns that matter", figures_of_few_columns(chosen.splits))


if __name__ == "__main__":
    main(sys.argv[1:])
