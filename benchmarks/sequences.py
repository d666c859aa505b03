"""Kernels of sequences against packages, pipelines and loops that compute the same."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from itertools import combinations

import numpy as np
from datasets import fasta, splice_junctions
from numpy.typing import NDArray
from sklearn.feature_extraction.text import CountVectorizer
from timing import Figure, interleaved, show

from mercer import GappedKmer, Spectrum, Subsequence
from mercer.native.twins.strings import subsequence
from mercer.planning.rates import Work

Array = NDArray[np.float64]


def counted_gram(rows: list[str]) -> Array:
    """Return the Gram matrix of 4-grams by scikit-learn's counts, dense."""
    counts = CountVectorizer(analyzer="char", ngram_range=(4, 4), lowercase=False)
    F = counts.fit_transform(rows).toarray().astype(np.float64)
    return np.asarray(F @ F.T)


def mklpy_gram(rows: list[str]) -> Array:
    """Return the Gram matrix of 4-grams by MKLpy."""
    from MKLpy.metrics.pairwise.string import spectrum_kernel

    return np.asarray(spectrum_kernel(rows, p=4).numpy())


def strkernel_gram(rows: list[str]) -> Array:
    """Return the Gram matrix of 4-grams by the features of strkernel."""
    from strkernel.gappy_kernel import gappypair_kernel

    F = gappypair_kernel(rows, k=4, g=0, sparse=False, include_flanking=True)
    return np.asarray(F @ F.T)


def against(
    case: str,
    ours: Callable[[], Array],
    peer: Callable[[], Array],
    name: str,
    target: float,
    rounds: int,
) -> Figure:
    """Return the speed of one Gram matrix over a peer's, which must be the same."""
    gap = np.abs(ours() - peer()).max()
    best = interleaved({"mercer": ours, name: peer}, rounds=rounds)
    detail = ", ".join(f"{who} {s:.3f} s" for who, s in best.items()) + f"; differ by {gap:.1g}"
    return Figure(f"{case}, {name}", best[name] / best["mercer"], target, detail=detail)


def spectrum_figures() -> list[Figure]:
    """Return the speed of Spectrum(4) on the splice junctions."""
    rows = splice_junctions()
    figures = [
        against(
            "Spectrum(4), n = 3190",
            lambda: Spectrum(4)(rows),
            lambda: counted_gram(rows),
            "CountVectorizer",
            2.5,
            9,
        )
    ]
    # These take their time for every pair, or know the four letters only.
    plain = [row for row in rows if set(row) <= set("ACGT")]
    for module, peer, some, target in (
        ("MKLpy", mklpy_gram, rows[:500], 100.0),
        ("strkernel", strkernel_gram, plain, 40.0),
    ):
        if importlib.util.find_spec(module) is None:
            print(f"{module} is not installed: not measured")
            continue
        figures.append(
            against(
                f"Spectrum(4), n = {len(some)}",
                lambda some=some: Spectrum(4)(some),
                lambda peer=peer, some=some: peer(some),
                module,
                target,
                5,
            )
        )
    return figures


def numpy_gram(rows: list[str], k: int, decay: float) -> Array:
    """Return the Gram matrix of Subsequence by a dynamic programme in NumPy, half of the pairs."""
    codes = [np.frombuffer(row.encode(), np.uint8) for row in rows]
    weights = np.eye(k)[-1]
    K = np.zeros((len(rows), len(rows)))
    for i, s in enumerate(codes):
        for j, t in enumerate(codes[: i + 1]):
            K[i, j] = K[j, i] = subsequence(s, t, weights, decay)
    return K


def numba_gram(rows: list[str], k: int, decay: float) -> Array:
    """Return the same by the dynamic programme in numba, on one thread."""
    from numba import njit

    @njit(cache=True, fastmath=True)
    def gram(codes: Array, k: int, decay: float) -> Array:
        n, length = codes.shape
        K = np.zeros((n, n))
        for a in range(n):
            for b in range(a + 1):
                S = np.zeros((k, length + 1))
                total = 0.0
                for i in range(length):
                    R = np.zeros(k)
                    before = np.zeros(k)
                    for j in range(length):
                        match = 1.0 if codes[a, i] == codes[b, j] else 0.0
                        D = match
                        for p in range(k - 1):
                            R[p] = decay * R[p] + D
                            above = S[p, j]
                            S[p, j] = decay * above + R[p]
                            D = match * decay * decay * before[p]
                            before[p] = above
                        total += D
                K[a, b] = K[b, a] = total
        return K

    codes = np.frombuffer("".join(rows).encode(), np.uint8).reshape(len(rows), -1)
    return np.asarray(gram(codes, k, decay))


def subsequence_figures() -> list[Figure]:
    """Return the speed of Subsequence over loops, and over what its multiplications cost."""
    rows = splice_junctions()
    some = rows[:500]
    figures = [
        against(
            "Subsequence(3, 0.5), n = 500",
            lambda: Subsequence(3, 0.5)(some),
            lambda: numpy_gram(some, 3, 0.5),
            "NumPy",
            40.0,
            1,
        )
    ]
    if importlib.util.find_spec("numba") is not None:
        figures.append(
            against(
                "Subsequence(3, 0.5), n = 500",
                lambda: Subsequence(3, 0.5)(some),
                lambda: numba_gram(some, 3, 0.5),
                "numba, serial",
                4.0,
                5,
            )
        )
    seconds = interleaved({"mercer": lambda: Subsequence(5, 0.5)(rows)}, rounds=2)["mercer"]
    # Two multiply-adds for each pair of symbols and each of the four lengths below five.
    n, length = len(rows), len(rows[0])
    additions = n * (n + 1) / 2 * length**2 * 2 * 4
    limit = Work(double=additions).seconds
    detail = f"{additions:.3g} multiply-adds at the rate of BLAS: {limit:.2f} s"
    return [
        *figures,
        Figure("Subsequence(5, 0.5), n = 3190", seconds, 60.0, at_least=False, unit=" s"),
        Figure("... over its limit", seconds / limit, 4.0, at_least=False, detail=detail),
    ]


def gapped(row: str, g: int = 7, m: int = 3) -> list[str]:
    """Return all windows of a sequence with every choice of gaps."""
    masks = list(combinations(range(g), g - m))
    windows = (row[i : i + g] for i in range(len(row) - g + 1))
    return [f"{j}" + "".join(w[p] for p in mask) for w in windows for j, mask in enumerate(masks)]


def gapped_gram(rows: list[str]) -> Array:
    """Return the Gram matrix of gapped k-mers enumerated into a sparse matrix."""
    F = CountVectorizer(analyzer=gapped).fit_transform(rows).astype(np.float64)
    return np.asarray((F @ F.T).toarray())


def gapped_figures() -> list[Figure]:
    """Return the speed of GappedKmer(7, 3) on the training sequences of tf_CTCF."""
    rows = [row.upper() for row in fasta("tf_CTCF.train")[0]]
    ours = GappedKmer(7, 3)
    return [
        against(
            f"GappedKmer(7, 3), n = {len(rows)}",
            lambda: ours(rows),
            lambda: gapped_gram(rows),
            "CountVectorizer",
            5.0,
            2,
        )
    ]


def main() -> None:
    """Measure and print."""
    show("sequences", [*spectrum_figures(), *subsequence_figures(), *gapped_figures()])


if __name__ == "__main__":
    main()
