"""Kernels of the difference x - z."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np

from mercer.kernels import domains
from mercer.kernels.formula import Rule
from mercer.kernels.spectral import Array, Stationary
from mercer.tiles import Expression, Tile

SCHOENBERG = "completely monotone function of ||x - z||^2 (Schoenberg)"


class ByOneNumber(Stationary):
    """A stationary kernel that `alternatives` of its length scale can stand for, such as gamma.

    These are no arguments of its constructor, which says so.
    """

    def __new__(cls, *args: Any, **settings: Any) -> Self:
        """Return a new value, if its constructor has all arguments that it is given."""
        for name in cls.alternatives.keys() & settings.keys():
            if name not in inspect.signature(cls.__init__).parameters:
                raise TypeError(
                    f"{cls.__name__} has no argument {name!r}; use "
                    f"{cls.__name__}.{cls.alternatives[name]}({settings[name]!r})"
                )
        return super().__new__(cls)


@dataclass(frozen=True)
class Gaussian(ByOneNumber):
    """Gaussian (radial basis function): exp(-||x - z||^2 / (2 sigma^2)).

    Parameters
    ----------
    length_scale : float, tuple or "median"
        sigma, for all columns or one each; ``"median"`` is the median distance between rows.
    """

    alternatives: ClassVar[Mapping[str, str]] = MappingProxyType(
        {"gamma": "from_gamma", "sigma": "from_sigma", "beta": "from_beta"}
    )
    length_scale: float | tuple[float, ...] | str = domains.length_scale(1.0)

    def lower(self, t: Tile) -> Expression:
        return t.exp(-0.5 * t.squared_distance(self.length_scale))

    def rule(self) -> Rule:
        return SCHOENBERG

    def frequencies(self, random: np.random.Generator, normal: Array) -> Array:
        return normal / np.asarray(self.length_scale)

    @property
    def gamma(self) -> float | None:
        """1 / (2 sigma^2); None if sigma is no number, or so far from 1 that this is none."""
        scale = self.length_scale
        return _reciprocal(2.0 * scale * scale) if isinstance(scale, float) else None

    @classmethod
    def from_gamma(cls, gamma: float) -> Self:
        """Return exp(-gamma ||x - z||^2): gamma = 1 / (2 sigma^2)."""
        gamma = domains.check_positive("gamma", gamma)
        # The same number either way, and the second is one also where 2 gamma is not.
        return cls(float(1.0 / np.sqrt(2.0 * gamma) if gamma < 1.0 else 0.5 / np.sqrt(0.5 * gamma)))

    @classmethod
    def from_sigma(cls, sigma: float) -> Self:
        """Return exp(-||x - z||^2 / (2 sigma^2))."""
        return cls(domains.check_positive("sigma", sigma))

    @classmethod
    def from_beta(cls, beta: float) -> Self:
        """Return exp(-beta/2 ||x - z||^2): beta = 1 / sigma^2."""
        return cls(float(1.0 / np.sqrt(domains.check_positive("beta", beta))))


@dataclass(frozen=True)
class Exponential(Stationary):
    """Exponential: exp(-||x - z|| / length_scale)."""

    length_scale: float | tuple[float, ...] | str = domains.length_scale(1.0)

    def lower(self, t: Tile) -> Expression:
        return t.exp(-t.sqrt(t.squared_distance(self.length_scale)))

    def rule(self) -> Rule:
        return SCHOENBERG

    def frequencies(self, random: np.random.Generator, normal: Array) -> Array:
        # The multivariate t distribution with one degree of freedom.
        return normal / _root_chi2(random, 1, len(normal)) / np.asarray(self.length_scale)


@dataclass(frozen=True)
class Laplacian(ByOneNumber):
    """Laplacian: exp(-||x - z||_1 / length_scale), a product over the columns."""

    alternatives: ClassVar[Mapping[str, str]] = MappingProxyType({"gamma": "from_gamma"})
    metric: ClassVar[str] = "manhattan"
    length_scale: float | tuple[float, ...] | str = domains.length_scale(1.0)

    def lower(self, t: Tile) -> Expression:
        return t.exp(-t.manhattan(self.length_scale))

    def rule(self) -> Rule:
        return "product over the columns of exponential kernels"

    def frequencies(self, random: np.random.Generator, normal: Array) -> Array:
        # A Cauchy distribution for every column.
        return random.standard_cauchy(normal.shape) / np.asarray(self.length_scale)

    @property
    def gamma(self) -> float | None:
        """1 / length_scale; None if that is no number, or so small that this is none."""
        scale = self.length_scale
        return _reciprocal(scale) if isinstance(scale, float) else None

    @classmethod
    def from_gamma(cls, gamma: float) -> Self:
        """Return exp(-gamma ||x - z||_1): gamma = 1 / length_scale."""
        scale = 1.0 / domains.check_positive("gamma", gamma)
        if not np.isfinite(scale):
            raise ValueError(f"Laplacian: 1 / gamma is no number, got gamma={gamma!r}; raise gamma")
        return cls(scale)


@dataclass(frozen=True)
class Matern32(Stationary):
    """Once differentiable: (1 + s) exp(-s), s = sqrt(3) ||x - z|| / length_scale."""

    length_scale: float | tuple[float, ...] | str = domains.length_scale(1.0)

    def lower(self, t: Tile) -> Expression:
        s = t.sqrt(3.0 * t.squared_distance(self.length_scale))
        return (1.0 + s) * t.exp(-s)

    def rule(self) -> Rule:
        return SCHOENBERG

    def frequencies(self, random: np.random.Generator, normal: Array) -> Array:
        # The multivariate t distribution with three degrees of freedom.
        return normal / _root_chi2(random, 3, len(normal)) / np.asarray(self.length_scale)


@dataclass(frozen=True)
class Matern52(Stationary):
    """Twice differentiable: (1 + s + s^2/3) exp(-s), s = sqrt(5) ||x - z|| / length_scale."""

    length_scale: float | tuple[float, ...] | str = domains.length_scale(1.0)

    def lower(self, t: Tile) -> Expression:
        s = t.sqrt(5.0 * t.squared_distance(self.length_scale))
        return (1.0 + s + (1.0 / 3.0) * s**2) * t.exp(-s)

    def rule(self) -> Rule:
        return SCHOENBERG

    def frequencies(self, random: np.random.Generator, normal: Array) -> Array:
        # The multivariate t distribution with five degrees of freedom.
        return normal / _root_chi2(random, 5, len(normal)) / np.asarray(self.length_scale)


@dataclass(frozen=True)
class RationalQuadratic(Stationary):
    """Mixture of Gaussians: (1 + ||x - z||^2 / (2 m length_scale^2))^(-m).

    Parameters
    ----------
    length_scale : float, tuple or "median"
        Unit of distance, for all columns or one each.
    mixture : float
        m; the Gaussian is the limit of large m.
    """

    length_scale: float | tuple[float, ...] | str = domains.length_scale(1.0)
    mixture: float = domains.positive(1.0)

    def lower(self, t: Tile) -> Expression:
        m = self.mixture
        return t.exp(-m * t.log1p((0.5 / m) * t.squared_distance(self.length_scale)))

    def rule(self) -> Rule:
        return SCHOENBERG

    def frequencies(self, random: np.random.Generator, normal: Array) -> Array:
        # Gaussians exp(-t ||x - z||^2 / (2 length_scale^2)), t of a gamma distribution of mean 1.
        t = random.gamma(self.mixture, 1.0 / self.mixture, (len(normal), 1))
        return normal * np.sqrt(t) / np.asarray(self.length_scale)


@dataclass(frozen=True)
class InverseMultiquadric(Stationary):
    """Inverse multiquadric: 1 / sqrt(||x - z||^2 + c)."""

    c: float = domains.positive(1.0)

    def lower(self, t: Tile) -> Expression:
        return t.reciprocal(t.sqrt(t.squared_distance() + self.c))

    def rule(self) -> Rule:
        return SCHOENBERG

    def frequencies(self, random: np.random.Generator, normal: Array) -> Array:
        # Gaussians exp(-t ||x - z||^2 / c), t of a gamma distribution of mean 1/2.
        t = random.gamma(0.5, 1.0, (len(normal), 1))
        return normal * np.sqrt(2.0 * t / self.c)


@dataclass(frozen=True)
class Periodic(Stationary):
    """Periodic in every column: exp(-2 sum_j sin^2(pi (x_j - z_j) / p) / length_scale^2).

    Parameters
    ----------
    length_scale : float
        Smoothness within a period.
    period : float
        p.
    """

    length_scale: float = domains.positive(1.0)
    period: float = domains.positive(1.0)

    def lower(self, t: Tile) -> Expression:
        return t.exp(-2.0 * t.squared_sine(self.period, self.length_scale))

    def rule(self) -> Rule:
        return "Gaussian of points on circles"

    def frequencies(self, random: np.random.Generator, normal: Array) -> Array:
        # Harmonics with the weights e^-m I_j(m), m = 1 / length_scale^2: differences of two
        # numbers of a Poisson distribution of mean m/2.
        counts = random.poisson(0.5 / self.length_scale**2, (2, *normal.shape))
        return 2.0 * np.pi / self.period * (counts[0] - counts[1]).astype(np.float64)


def _reciprocal(value: float) -> float | None:
    """Return 1 / value; None where that is no positive number of float64."""
    found = 1.0 / value if value > 0.0 else math.inf
    return found if 0.0 < found < math.inf else None


def _root_chi2(random: np.random.Generator, degrees: int, p: int) -> Array:
    """Return sqrt(c / degrees), a column of p numbers c of a chi-squared distribution."""
    return np.asarray(np.sqrt(random.chisquare(degrees, (p, 1)) / degrees))
