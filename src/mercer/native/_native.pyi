from typing import Any

import numpy as np
from numpy.typing import NDArray

def fill(
    leaves: list[tuple[Any, ...]],
    code: NDArray[Any],
    constants: NDArray[Any],
    factors: list[tuple[NDArray[Any], NDArray[Any]]],
    n_slots: int,
    out: NDArray[Any],
    symmetric: bool,
    threads: int,
    cpu: str,
) -> None: ...
def multiply(
    leaves: list[tuple[Any, ...]],
    code: NDArray[Any],
    constants: NDArray[Any],
    factors: list[tuple[NDArray[Any], NDArray[Any]]],
    n_slots: int,
    vectors: NDArray[Any],
    products: NDArray[Any],
    symmetric: bool,
    single: bool,
    threads: int,
    cpu: str,
) -> None: ...
def multiply_half(
    leaves: list[tuple[Any, ...]],
    code: NDArray[Any],
    constants: NDArray[Any],
    factors: list[tuple[NDArray[Any], NDArray[Any]]],
    n_slots: int,
    vectors: NDArray[Any],
    products: NDArray[Any],
    single: bool,
    threads: int,
    cpu: str,
) -> None: ...
def residuals(
    leaves: list[tuple[Any, ...]],
    code: NDArray[Any],
    constants: NDArray[Any],
    factors: list[tuple[NDArray[Any], NDArray[Any]]],
    n_slots: int,
    vectors: NDArray[Any],
    targets: NDArray[Any],
    weights: NDArray[Any],
    found: NDArray[Any],
    back: NDArray[Any],
    single: bool,
    threads: int,
    cpu: str,
) -> None: ...
def gather_entries(
    A: NDArray[Any], values: NDArray[Any], columns: NDArray[Any], starts: NDArray[Any]
) -> int: ...
def level(name: str) -> str: ...
def chain_solve(
    links: NDArray[Any],
    ground: NDArray[Any],
    weights: NDArray[Any],
    y: NDArray[Any],
    per_alpha: float,
    earth: float,
    f: NDArray[Any],
    a: NDArray[Any],
) -> float: ...
def chain_held_out(
    links: NDArray[Any],
    ground: NDArray[Any],
    weights: NDArray[Any],
    y: NDArray[Any],
    per_alpha: NDArray[Any],
    earth: float,
    starts: NDArray[Any] | None,
    row_weights: NDArray[Any],
    row_steps: NDArray[Any],
    sums: NDArray[Any],
    residuals: NDArray[Any] | None,
) -> None: ...
def chain_generalised(
    links: NDArray[Any],
    ground: NDArray[Any],
    weights: NDArray[Any],
    y: NDArray[Any],
    per_alpha: NDArray[Any],
    earth: float,
    starts: NDArray[Any] | None,
    row_weights: NDArray[Any],
    row_steps: NDArray[Any],
    squares: NDArray[Any],
    traces: NDArray[Any],
) -> None: ...
def chain_multiply_decays(decays: NDArray[Any], V: NDArray[Any], out: NDArray[Any]) -> None: ...
def chain_multiply_lengths(lengths: NDArray[Any], V: NDArray[Any], out: NDArray[Any]) -> None: ...
def chain_interpolate(
    knots: NDArray[Any],
    values: NDArray[Any],
    length_scale: float,
    root: float,
    x: NDArray[Any],
    out: NDArray[Any],
) -> None: ...
def chain_spread(
    links: NDArray[Any],
    ground: NDArray[Any],
    w: NDArray[Any],
    total: NDArray[Any],
    left: NDArray[Any],
    right: NDArray[Any],
    rise: NDArray[Any],
) -> None: ...
def chain_influence(
    w: NDArray[Any],
    left: NDArray[Any],
    right: NDArray[Any],
    level: NDArray[Any],
    knots: NDArray[Any],
    here: NDArray[Any],
    there: NDArray[Any],
    share: NDArray[Any],
    out: NDArray[Any],
) -> None: ...

band_width: int

def band_reduce(
    A: NDArray[Any], tau: NDArray[Any], blas: tuple[Any, ...] | None, cpu: str
) -> None: ...
def band_apply(
    A: NDArray[Any],
    tau: NDArray[Any],
    blas: tuple[Any, ...] | None,
    C: NDArray[Any],
    forward: bool,
    growing: bool,
) -> None: ...
def band_factor(
    band: NDArray[Any],
    shifts: NDArray[Any],
    least: NDArray[Any],
    factors: NDArray[Any],
    failed: NDArray[Any],
    threads: int,
) -> None: ...
def band_solve(factors: NDArray[Any], x: NDArray[Any], threads: int) -> None: ...
def band_traces(factors: NDArray[Any], traces: NDArray[Any], threads: int) -> None: ...
def band_diagonals(
    factors: NDArray[Any], Q: NDArray[Any], diagonals: NDArray[Any], threads: int, cpu: str
) -> None: ...
def band_halves(factor: NDArray[Any], Q: NDArray[Any], threads: int, cpu: str) -> None: ...
def perceptron_sweep(
    K: NDArray[Any],
    order: NDArray[Any],
    signs: NDArray[Any],
    f: NDArray[Any],
    counts: NDArray[Any],
    late: NDArray[Any],
    steps: NDArray[Any],
) -> None: ...
def subsequences(
    left: NDArray[Any],
    left_starts: NDArray[Any],
    right: NDArray[Any],
    right_starts: NDArray[Any],
    weights: NDArray[Any],
    decay: float,
    out: NDArray[Any],
    symmetric: bool,
    threads: int,
    cpu: str,
) -> None: ...
def subsequence_diagonal(
    symbols: NDArray[Any],
    starts: NDArray[Any],
    weights: NDArray[Any],
    decay: float,
    out: NDArray[Any],
    threads: int,
    cpu: str,
) -> None: ...
def matched_windows(
    left: NDArray[Any],
    left_starts: NDArray[Any],
    right: NDArray[Any],
    right_starts: NDArray[Any],
    table: NDArray[np.uint8],
    width: int,
    letters: int,
    out: NDArray[Any],
    symmetric: bool,
    threads: int,
    cpu: str,
) -> None: ...
def matched_windows_diagonal(
    symbols: NDArray[Any],
    starts: NDArray[Any],
    table: NDArray[np.uint8],
    width: int,
    letters: int,
    out: NDArray[Any],
    threads: int,
    cpu: str,
) -> None: ...
def count_products(
    a: NDArray[Any],
    b: NDArray[Any],
    out: NDArray[Any],
    symmetric: bool,
    threads: int,
    cpu: str,
) -> None: ...
def run_lengths(
    codes: NDArray[Any],
    starts: NDArray[Any],
    columns: NDArray[Any],
    counts: NDArray[Any],
    distinct: NDArray[Any],
    threads: int,
) -> None: ...
def number_distinct(values: NDArray[Any], places: NDArray[Any]) -> int: ...
def sparse_products(
    row_starts: NDArray[Any],
    columns: NDArray[Any],
    row_values: NDArray[Any],
    column_starts: NDArray[Any],
    rows: NDArray[Any],
    column_values: NDArray[Any],
    out: NDArray[Any],
    symmetric: bool,
    threads: int,
) -> None: ...
def reserved(bytes: int) -> NDArray[Any] | None: ...
def smo_solve(
    request: Any, a: NDArray[Any], g: NDArray[Any], cpu: str
) -> tuple[int, int, float, int]: ...
