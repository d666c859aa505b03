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
