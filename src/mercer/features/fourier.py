"""Random Fourier features: waves of random frequencies, for stationary kernels."""

from __future__ import annotations

from dataclasses import dataclass
from math import pi, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.data.checks import as_matrix
from mercer.data.columns import n_rows, take_rows
from mercer.features.map import FeatureMap
from mercer.kernels import Kernel
from mercer.kernels.monomials import Terms
from mercer.kernels.spectral import spectral_terms

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class FourierMap(FeatureMap):
    """phi(x) = (a_j cos(t_j(x)), a_j sin(t_j(x))) with random frequencies in the phases t_j(x).

    With t_j(x) = w_j'x the mean of phi(x)'phi(z) = sum_j a_j^2 cos(w_j'(x - z)) over draws of the
    frequencies is k(x, z), and ||phi(x)||^2 is k(x, x) in every draw. The parts of a kernel that
    see different columns, or the same after a map, add their phases. Of an odd number of features
    the last cosine has no sine, but a random shift, and is sqrt(2) times as large.

    Parameters
    ----------
    kernel : Kernel
        k, with numbers for parameters.
    views : tuple of tuples of Kernel
        What is seen of a row, by the `inputs` of kernels one after the other.
    frequencies : tuple of arrays of shape (cosines, columns)
        The frequencies of each view.
    amplitudes : array of shape (cosines,)
        a.
    shifts : array of shape (cosines,)
        What is added to the phases of the cosines.
    sines : int
        How many of the phases, the first ones, have a sine.

    References
    ----------
    A. Rahimi and B. Recht (2007), Random features for large-scale kernel machines.
    F. Yu, A. Suresh, K. Choromanski, D. Holtmann-Rice and S. Kumar (2016), Orthogonal random
    features.
    """

    kernel: Kernel
    views: tuple[tuple[Kernel, ...], ...]
    frequencies: tuple[Array, ...]
    amplitudes: Array
    shifts: Array
    sines: int

    @property
    def n_features(self) -> int:
        return len(self.amplitudes) + self.sines

    @property
    def is_exact(self) -> bool:
        return False

    def of_block(self, X: Any, dtype: Any = np.float64) -> NDArray[Any]:
        cosines, sines = len(self.amplitudes), self.sines
        # In float64: the waves see what rounding does to rows far from zero.
        phases = np.zeros((n_rows(X), cosines))
        for view, W in zip(self.views, self.frequencies, strict=True):
            phases += _numbers_behind(view, X) @ W.T
        out = np.empty((len(phases), cosines + sines), dtype)
        out[:, cosines:] = self.amplitudes[:sines] * np.sin(phases[:, :sines])
        out[:, :cosines] = self.amplitudes * np.cos(phases + self.shifts)
        return out


def fourier_map(kernel: Kernel, rows: Any, n_features: int, seed: int = 0) -> FourierMap:
    """Return random Fourier features of a stationary kernel, or of sums and products of such.

    The terms of a sum share the features by their weights; the frequencies of a product are sums
    of independent ones. Frequencies come in blocks of as many as there are columns, orthogonal to
    each other, which lowers the variance.

    Parameters
    ----------
    kernel : Kernel
        k, with numbers for parameters.
    rows : rows
        Rows such as those to come, which tell how many columns there are.
    n_features : int
        How many features: a cosine and a sine for every frequency.
    seed : int
        Where the random numbers come from.
    """
    atoms, terms = spectral_terms(kernel, take_rows(rows, np.arange(1)))
    random, p = np.random.default_rng(seed), -(-n_features // 2)
    frequencies = {atom.views: np.zeros((p, atom.columns)) for atom in atoms}
    amplitudes, shares = _shares(terms, p, random)
    ends = np.cumsum(shares)
    for monomial, count, end in zip(terms, shares, ends, strict=True):
        for atom in (atoms[i] for i, power in monomial for _ in range(power) if count):
            normal = orthogonal_normals(random, count, atom.columns)
            own = atom.kernel.frequencies(random, normal)
            frequencies[atom.views][end - count : end] += own
    shifts = np.zeros(p)
    if n_features % 2:
        amplitudes[-1] *= sqrt(2.0)
        shifts[-1] = random.uniform(0.0, 2.0 * pi)
    drawn = (tuple(frequencies), tuple(frequencies.values()), amplitudes, shifts)
    return FourierMap(kernel, *drawn, n_features // 2)


def orthogonal_normals(random: np.random.Generator, p: int, d: int) -> Array:
    """Return p standard normal vectors of d entries, d of them at a time orthogonal to each other.

    Directions are those of a random orthogonal matrix; lengths are independent of them.
    """
    width = min(p, d)
    Q, R = np.linalg.qr(random.normal(size=(-(-p // width), d, width)))
    # With this sign the directions are uniform, whatever convention the factor has.
    signs = np.where(np.diagonal(R, axis1=1, axis2=2) < 0.0, -1.0, 1.0)
    directions = np.swapaxes(Q * signs[:, None, :], 1, 2).reshape(-1, d)[:p]
    return np.asarray(np.sqrt(random.chisquare(d, (p, 1))) * directions)


def _shares(terms: Terms, p: int, random: np.random.Generator) -> tuple[Array, NDArray[np.intp]]:
    """Return the amplitudes of p frequencies, and how many of these each term has.

    They are proportional to the weights, for which the variance is least, and rounded at random,
    so that the mean stays the kernel however few they are. A constant has a single one, since it
    knows no error.
    """
    weights, is_constant = np.array(list(terms.values())), np.array([not m for m in terms])
    shares, amplitudes = np.zeros(len(weights), np.intp), np.zeros(p)
    first = int(is_constant.any() and p > 1)
    if first:
        shares += is_constant
        # Terms are in the order of their degree, so that a constant is the first of them.
        amplitudes[0] = np.sqrt(weights[0])
        weights[0] = 0.0
    total = weights.sum()
    if total > 0.0:
        places = (np.arange(p - first) + random.uniform()) / (p - first)
        drawn = np.searchsorted(np.cumsum(weights) / total, places, side="right")
        shares += np.bincount(np.minimum(drawn, len(weights) - 1), minlength=len(weights))
        amplitudes[first:] = np.sqrt(total / (p - first))
    return amplitudes, shares


def _numbers_behind(views: tuple[Kernel, ...], X: Any) -> Any:
    for view in views:
        X = view.inputs(X)
    return as_matrix(X).astype(np.float64, copy=False)
