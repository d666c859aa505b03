"""The slow obvious formulas of the kernels of sequences, by enumeration."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, product

import numpy as np


def spectrum(s, t, k):
    """Count the k-grams of both sequences, and multiply."""
    a, b = (Counter(tuple(x[i : i + k]) for i in range(len(x) - k + 1)) for x in (s, t))
    return float(sum(a[u] * b[u] for u in a))


def gapped(s, t, g, m):
    """Count the windows of both sequences for every mask, and multiply."""
    total = 0
    for mask in combinations(range(g), g - m):
        a, b = (
            Counter(tuple(x[i + p] for p in mask) for i in range(len(x) - g + 1)) for x in (s, t)
        )
        total += sum(a[u] * b[u] for u in a)
    return float(total)


def mismatch(s, t, k, m, letters):
    """Go through every word of k letters, and count what is near it in both sequences."""
    total = 0
    for word in product(letters, repeat=k):
        near = [
            sum(
                sum(c != w for c, w in zip(x[i : i + k], word, strict=True)) <= m
                for i in range(len(x) - k + 1)
            )
            for x in (s, t)
        ]
        total += near[0] * near[1]
    return float(total)


def subsequence(s, t, k, decay):
    """Go through all index tuples of both sequences."""

    def features(x):
        phi = {}
        for places in combinations(range(len(x)), k):
            u = tuple(x[i] for i in places)
            phi[u] = phi.get(u, 0.0) + decay ** (places[-1] - places[0])
        return phi

    a, b = features(s), features(t)
    return sum(a[u] * b[u] for u in a if u in b)


def gram(entry, X, Z):
    return np.array([[entry(x, z) for z in Z] for x in X]).reshape(len(X), len(Z))


def words(rng, n, letters="abc", longest=9):
    """Random words, empty and short ones among them."""
    return ["".join(rng.choice(list(letters), rng.integers(longest + 1))) for _ in range(n)]
