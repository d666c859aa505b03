"""Tiles against scikit-learn's rbf_kernel: Gram matrices, products, precision, threads, memory."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.metrics.pairwise import rbf_kernel
from timing import Figure, afresh, interleaved, show

from mercer import Exponential, Gaussian, Kernel, Polynomial
from mercer.native import describe
from mercer.tiles import apply, evaluate

Array = NDArray[Any]

N = 6000
GRAM = {8: 8.0, 30: 5.0, 90: 3.0}
PRODUCT = {8: 12.0, 30: 8.0, 90: 4.0}
SINGLE = {8: 8.0, 30: 6.0, 90: 4.0}
# Rows of zeros and ones: columns, and ones in each row, as many as coded census records have.
COLUMNS, ONES = 123, 14
# Ratios of mercer to itself are of runs of ten milliseconds, which seldom have both processors to
# themselves: so many processes with some rounds each find the best of each.
PROCESSES = 16


def data(d: int, dtype: type = np.float64) -> tuple[Array, float]:
    """Return standard normal rows and the length scale sqrt(d)."""
    rows = np.random.default_rng(0).normal(size=(N, d))
    return rows.astype(dtype), float(np.sqrt(d))


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Run the tiles on this many threads."""
    before = os.environ.get("MERCER_THREADS")
    os.environ["MERCER_THREADS"] = str(count)
    try:
        yield
    finally:
        os.environ.pop("MERCER_THREADS")
        if before is not None:
            os.environ["MERCER_THREADS"] = before


def on_threads(count: int, run: Callable[[], object]) -> object:
    """Call `run` on this many threads."""
    with threads(count):
        return run()


def in_fresh_memory(kernel: Kernel, X: Array) -> object:
    """Return the Gram matrix in memory that no earlier result has used."""
    return evaluate(kernel.program, X, None, np.empty((len(X), len(X)), X.dtype))


def torch_gram(X: Array, gamma: float) -> Callable[[], object] | None:
    """Return the Gram matrix by torch, where it is installed."""
    if importlib.util.find_spec("torch") is None:
        return None
    import torch

    rows = torch.from_numpy(X)
    return lambda: torch.cdist(rows, rows).square_().mul_(-gamma).exp_()


def per_entry(seconds: float) -> str:
    """Return a time as nanoseconds per entry of the matrix."""
    return f"{seconds / N**2 * 1e9:.2f}"


def gram_figures(dtype: type, targets: dict[int, float], label: str) -> list[Figure]:
    """Return the speed of Gram matrices over scikit-learn's."""
    figures = []
    for d, target in targets.items():
        X, scale = data(d, dtype)
        gamma = 0.5 / scale**2
        contenders: dict[str, Callable[[], object]] = {
            "mercer": partial(Gaussian(scale), X),
            "mercer in fresh memory": partial(in_fresh_memory, Gaussian(scale), X),
            "scikit-learn": lambda X=X, gamma=gamma: rbf_kernel(X, gamma=gamma),
        }
        torch = torch_gram(X, gamma)
        if torch is not None:
            contenders["torch"] = torch
        best = interleaved(contenders)
        detail = ", ".join(f"{name} {per_entry(s)}" for name, s in best.items()) + " ns/entry"
        ratio = best["scikit-learn"] / best["mercer"]
        fresh = best["scikit-learn"] / best["mercer in fresh memory"]
        figures += [
            Figure(f"Gram {label}, d = {d}", ratio, target, detail=detail),
            Figure(f"... the first of its size, d = {d}", fresh),
        ]
    return figures


def product_figures() -> list[Figure]:
    """Return the speed of K @ v, never stored, over scikit-learn's matrix and product."""
    figures = []
    v = np.random.default_rng(1).normal(size=N)
    for d, target in PRODUCT.items():
        X, scale = data(d)
        program = Gaussian(scale).program
        best = interleaved(
            {
                "mercer": lambda X=X, p=program: apply(p, X, None, v),
                "scikit-learn": lambda X=X, s=scale: rbf_kernel(X, gamma=0.5 / s**2) @ v,
            }
        )
        detail = ", ".join(f"{name} {per_entry(s)}" for name, s in best.items()) + " ns/entry"
        ratio = best["scikit-learn"] / best["mercer"]
        figures.append(Figure(f"K @ v, d = {d}", ratio, target, detail=detail))
    return figures


def sparse_figures() -> list[Figure]:
    """Return the speed of Gram matrices and products of sparse rows over scikit-learn's."""
    rng = np.random.default_rng(2)
    columns = rng.permuted(np.tile(np.arange(COLUMNS), (N, 1)), axis=1)[:, :ONES]
    rows = sp.csr_array((np.ones(columns.size), columns.ravel(), np.arange(N + 1) * ONES))
    kernel = Gaussian.from_gamma(1.0 / COLUMNS)
    v = rng.normal(size=N)
    figures = []
    for dtype in (np.float64, np.float32):
        X = sp.csr_array(rows, dtype=dtype)
        best = interleaved(
            {
                "mercer": partial(kernel, X),
                "mercer, dense rows": partial(kernel, X.toarray()),
                "mercer, K @ v": partial(apply, kernel.program, X, None, v),
                "scikit-learn": lambda X=X: rbf_kernel(X, gamma=1.0 / COLUMNS),
            }
        )
        detail = ", ".join(f"{name} {per_entry(s)}" for name, s in best.items()) + " ns/entry"
        peer = best["scikit-learn"]
        name = np.dtype(dtype).name
        figures += [
            Figure(f"Gram of sparse rows, {name}", peer / best["mercer"], detail=detail),
            Figure(f"... given as an array, {name}", peer / best["mercer, dense rows"]),
            Figure(f"... K @ v, {name}", peer / best["mercer, K @ v"]),
        ]
    return figures


def own_seconds(d: int) -> dict[str, float]:
    """Return the times of mercer in two precisions, for more kernels, on one thread."""
    X, scale = data(d)
    X32 = X.astype(np.float32)
    v = np.ones(N)
    alone = Gaussian(scale)
    composed = alone + 0.5 * Polynomial(2) + Exponential(scale)
    product = partial(apply, alone.program, X, None, v)
    return interleaved(
        {
            "one": partial(alone, X),
            "single": partial(alone, X32),
            "three": partial(composed, X),
            "one thread": partial(on_threads, 1, partial(alone, X)),
            "product": product,
            "product, one thread": partial(on_threads, 1, product),
            "product, single": partial(apply, alone.program, X32, None, v.astype(np.float32)),
        }
    )


def own_figures() -> list[Figure]:
    """Return ratios of mercer to itself: precision, composition, threads."""
    figures = []
    for d in GRAM:
        best = afresh(own_seconds, d, PROCESSES)
        figures += [
            Figure(f"float32 over float64, Gram, d = {d}", best["one"] / best["single"], 1.7),
            Figure(
                f"float32 over float64, K @ v, d = {d}",
                best["product"] / best["product, single"],
                1.7,
            ),
            Figure(
                f"three kernels over one, d = {d}",
                best["three"] / best["one"],
                1.8,
                at_least=False,
            ),
            Figure(f"2 threads over 1, Gram, d = {d}", best["one thread"] / best["one"], 1.7),
            Figure(
                f"2 threads over 1, K @ v, d = {d}",
                best["product, one thread"] / best["product"],
                1.7,
            ),
        ]
    return figures


def memory_figures() -> list[Figure]:
    """Return the peak memory that a product needs beside its data, each in a fresh process."""
    code = """
        import re, sys
        import numpy as np
        from mercer import Gaussian
        from mercer.tiles import apply

        def status(field):
            text = open("/proc/self/status").read()
            return int(re.search(rf"{field}:\\s+(\\d+) kB", text)[1]) / 1024

        n, d = int(sys.argv[1]), int(sys.argv[2])
        X = np.random.default_rng(0).normal(size=(n, d))
        v = np.ones(n)
        program = Gaussian(float(d) ** 0.5).program
        apply(program, X[:100], None, v[:100])
        before = status("VmRSS")
        open("/proc/self/clear_refs", "w").write("5")  # forget the peak so far
        apply(program, X, None, v)
        print(status("VmHWM") - before)
    """
    figures = []
    for n, d in ((20_000, 8), (20_000, 90), (100_000, 8)):
        command = [sys.executable, "-c", textwrap.dedent(code), str(n), str(d)]
        run = subprocess.run(command, capture_output=True, text=True, check=True)
        case = f"extra memory of K @ v, n = {n}, d = {d}"
        figures.append(Figure(case, float(run.stdout), 64.0, at_least=False, unit=" MB"))
    return figures


def import_figures() -> list[Figure]:
    """Return the time of ``import mercer`` over that of NumPy and SciPy's linear algebra."""

    def importing(what: str) -> Callable[[], object]:
        return lambda: subprocess.run([sys.executable, "-c", f"import {what}"], check=True)

    best = interleaved(
        {
            "mercer": importing("mercer"),
            "numpy, scipy.linalg": importing("numpy, scipy.linalg"),
            "with a kernel": importing("mercer; mercer.Gaussian()"),
        },
        rounds=7,
    )
    base = best["numpy, scipy.linalg"]
    detail = ", ".join(f"{name} {s * 1e3:.0f} ms" for name, s in best.items())
    return [Figure("import mercer", best["mercer"] / base, 1.3, at_least=False, detail=detail)]


def limit_figures() -> list[Figure]:
    """Return what the machine can do: matrix products, copies, writes to fresh memory."""
    A, B = np.random.default_rng(0).normal(size=(2, 3000, 3000))
    source, target = np.ones((N, N)), np.zeros((N, N))
    best = interleaved(
        {
            "dgemm": lambda: A @ B,
            "copy": lambda: np.copyto(target, source),
            "fresh": lambda: np.empty((N, N)).fill(1.0),
        }
    )
    return [
        Figure("dgemm", 2 * 3000**3 / best["dgemm"] / 1e9, unit=" GFLOPS"),
        Figure("np.copyto of n^2 doubles", best["copy"] / N**2 * 1e9, unit=" ns/entry"),
        Figure("writing n^2 fresh doubles", best["fresh"] / N**2 * 1e9, unit=" ns/entry"),
    ]


def main() -> None:
    """Print all figures of the engine."""
    about = describe()
    print(f"engine {about['engine']} {about['cpu']}, {about['threads']} threads, n = {N}")
    show("Limits of this machine", limit_figures())
    show("Gram, float64", gram_figures(np.float64, GRAM, "float64"))
    show("Gram, float32", gram_figures(np.float32, SINGLE, "float32"))
    show("K @ v, never stored", product_figures())
    show("Sparse rows", sparse_figures())
    show("mercer against itself", own_figures())
    show("Memory and start", memory_figures() + import_figures())


if __name__ == "__main__":
    main()
