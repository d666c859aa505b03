"""Categories, principal components and monomials against NumPy, SciPy and scikit-learn."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from sklearn.decomposition import KernelPCA as PeerPCA
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures
from timing import Figure, interleaved, show

from mercer import Gaussian, KernelPCA, Match, Monomials
from mercer.native import describe

Array = NDArray[Any]

GAMMA = 0.05


def compared(S: Array) -> Array:
    """Return the share of equal columns by comparing codes in NumPy, a column at a time."""
    total = np.zeros((len(S), len(S)))
    for column in S.T:
        codes = np.unique(column, return_inverse=True)[1]
        total += codes[:, None] == codes[None, :]
    return total / S.shape[1]


def one_hot(S: Array) -> Array:
    """Return the share of equal columns by the inner products of indicators."""
    F = OneHotEncoder().fit_transform(S)
    return np.asarray((F @ F.T).toarray()) / S.shape[1]


def hamming(S: Array) -> Array:
    """Return the share of equal columns by SciPy's distance of codes."""
    codes = np.column_stack([np.unique(c, return_inverse=True)[1] for c in S.T]).astype(float)
    return 1.0 - cdist(codes, codes, "hamming")


def categories(n: int, d: int, levels: int) -> list[Figure]:
    """Return how much faster the Gram matrix of categories is than by other means."""
    rng = np.random.default_rng(0)
    words = np.array([f"level {i}" for i in range(levels)], dtype=object)
    S = words[rng.integers(0, levels, (n, d))]
    k = Match()
    assert np.abs(k(S) - compared(S)).max() < 1e-15
    best = interleaved(
        {
            "mercer": partial(k, S),
            "NumPy": partial(compared, S),
            "one-hot, scikit-learn": partial(one_hot, S),
            "hamming, SciPy": partial(hamming, S),
        },
        rounds=3,
    )
    own = best.pop("mercer")
    case = f"Match Gram, {n} rows, {d} columns of {levels} words"
    return [
        Figure(f"{case}: {name}", other / own, detail=f"{own:.3f} s against {other:.3f} s")
        for name, other in best.items()
    ]


def components(n: int, d: int, m: int | None) -> Figure:
    """Return how much faster kernel PCA is than scikit-learn's."""
    X = np.random.default_rng(0).normal(size=(n, d))
    mine = KernelPCA(Gaussian.from_gamma(GAMMA), m, random_state=0)
    peer = PeerPCA(m, kernel="rbf", gamma=GAMMA, random_state=0)
    gap = np.abs(mine.fit(X).eigenvalues_[:5] / peer.fit(X).eigenvalues_[:5] - 1.0).max()
    best = interleaved({"mercer": partial(mine.fit, X), "peer": partial(peer.fit, X)}, rounds=3)
    detail = f"{best['mercer']:.2f} s against {best['peer']:.2f} s, eigenvalues agree to {gap:.0e}"
    what = "all components" if m is None else f"{m} components"
    return Figure(f"KernelPCA, {n} rows, {what}", best["peer"] / best["mercer"], 1.0, detail=detail)


def monomials(X: Any, degree: int) -> Figure:
    """Return how much faster plain monomials are than scikit-learn's."""
    mine, peer = Monomials(degree, scaled=False), PolynomialFeatures(degree)
    best = interleaved(
        {"mercer": partial(mine.fit_transform, X), "peer": partial(peer.fit_transform, X)}, rounds=3
    )
    # scikit-learn's monomials of sparse rows are compiled.
    form, target = ("sparse", None) if sp.issparse(X) else ("dense", 1.0)
    detail = f"{best['mercer']:.3f} s against {best['peer']:.3f} s"
    case = f"Monomials, degree {degree}, {form} {X.shape[0]} x {X.shape[1]}"
    return Figure(case, best["peer"] / best["mercer"], target, detail=detail)


def main() -> None:
    """Print the figures."""
    print(describe())
    show("Categories", [*categories(4000, 5, 10), *categories(4000, 1, 1000)])
    show("Kernel PCA against scikit-learn", [components(1200, 10, None), components(3000, 10, 4)])
    rng = np.random.default_rng(0)
    dense = rng.normal(size=(20_000, 12))
    sparse = sp.random_array((20_000, 300), density=0.02, format="csr", rng=rng)
    show("Monomials against PolynomialFeatures", [monomials(dense, 3), monomials(sparse, 2)])


if __name__ == "__main__":
    main()
