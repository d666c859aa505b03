"""What gradients cost: by the input beside products with K, by the parameters beside the Gram."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from timing import Figure, interleaved, show

from mercer import Gaussian
from mercer.functions import DualFunction
from mercer.tiles import apply, evaluate

Array = NDArray[np.float64]

# Rows to differentiate at and rows of the sum; rows of the Gram matrix; columns.
ROWS, GRAM_ROWS, COLUMNS = 6000, 3000, 30


def by_input(X: Array, a: Array) -> Figure:
    """Return the gradient of a sum of Gaussians at its own rows over `apply` with d + 1 columns."""
    kernel = Gaussian(5.0)
    f = DualFunction(kernel, X, a, np.zeros(1))
    V = np.column_stack([a, a * X])
    seconds = interleaved(
        {
            "gradient": lambda: f.gradient(X),
            "apply": lambda: apply(kernel.program, X, X, V),
        }
    )
    detail = f"{seconds['gradient']:.3f} s beside {seconds['apply']:.3f} s"
    case = f"gradient by input, n = m = {ROWS}, d = {COLUMNS}, over apply with d + 1 columns"
    return Figure(case, seconds["gradient"] / seconds["apply"], 2.5, False, "x", detail)


def by_parameters(X: Array, G: Array) -> Figure:
    """Return <G, dK/dl> for all length scales l over one Gram matrix and one product G X."""
    kernel = Gaussian(tuple(np.linspace(3.0, 8.0, COLUMNS).tolist()))
    seconds = interleaved(
        {
            "gradient": lambda: kernel.parameter_gradient(X, G),
            "gram": lambda: evaluate(kernel.program, X),
            "product": lambda: G @ X,
        }
    )
    both = seconds["gram"] + seconds["product"]
    detail = (
        f"{seconds['gradient']:.3f} s beside {seconds['gram']:.3f} + {seconds['product']:.3f} s"
    )
    case = f"gradient by length scales, n = {GRAM_ROWS}, d = {COLUMNS}, over the Gram and G X"
    return Figure(case, seconds["gradient"] / both, 1.0, False, "x", detail)


def main() -> None:
    """Print both figures."""
    rng = np.random.default_rng(0)
    X, a = rng.normal(size=(ROWS, COLUMNS)), rng.normal(size=(ROWS, 1))
    half = rng.normal(size=(GRAM_ROWS, GRAM_ROWS))
    show("Gradients", [by_input(X, a), by_parameters(X[:GRAM_ROWS], half + half.T)])


if __name__ == "__main__":
    main()
