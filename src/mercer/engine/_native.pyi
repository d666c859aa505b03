from typing import Any

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
def level(name: str) -> str: ...

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
