"""The kernels that the tests go through: every one, with parameters that are not the defaults."""

from __future__ import annotations

import numpy as np

from mercer.kernels import (
    AdditiveChi2,
    Bilinear,
    Chi2,
    Constant,
    Cosine,
    Exponential,
    Gaussian,
    InverseMultiquadric,
    Laplacian,
    Linear,
    Matern32,
    Matern52,
    Periodic,
    Polynomial,
    RationalQuadratic,
    Sigmoid,
    Sobolev,
)

STATIONARY = [
    Gaussian(1.5),
    Exponential(0.7),
    Laplacian(2.0),
    Matern32(1.3),
    Matern52(0.9),
    RationalQuadratic(1.2, 0.7),
    InverseMultiquadric(0.5),
    Periodic(1.1, 2.3),
]
INNER_PRODUCT = [
    Linear(0.5),
    Polynomial(3, 1.0, 0.5),
    Polynomial(2, -1.0),
    Sigmoid(0.3, 0.1),
    Cosine(),
]
HISTOGRAM = [Sobolev(), Chi2(0.5), AdditiveChi2()]
SIMPLE = [*STATIONARY, *INNER_PRODUCT, *HISTOGRAM, Constant(2.5)]

# These know how many columns they take: three.
ARD = [
    Gaussian((0.5, 1.0, 2.0)),
    Exponential((0.5, 1.0, 2.0)),
    Laplacian((0.5, 1.0, 2.0)),
    Matern32((0.5, 1.0, 2.0)),
    Matern52((0.5, 1.0, 2.0)),
    RationalQuadratic((0.5, 1.0, 2.0), 2.0),
    Bilinear(np.array([[2.0, 0.5, 0.0], [0.5, 1.0, -0.3], [0.0, -0.3, 1.5]])),
    Bilinear(np.diag([1.0, -1.0, 0.0])),
]

# Two levels deep, in both orders.
a, b, c = Gaussian(1.5), Polynomial(2, 1.0, 0.5), Laplacian(2.0)
COMPOSITE = [
    a + b,
    a * b,
    2.5 * a,
    b**3,
    a + b * c,
    (a + b) * c,
    a * b + c,
    c * (a + b),
    2.0 * (a + b),
    a + 2.0 * b,
    (a * b) ** 2,
    a**2 * b,
    (2.0 * a) ** 2,
    2.0 * a**2,
    (0.1 * b).exp(),
    (0.01 * b).exp() + a,
    (a + 0.01 * b).exp() * c,
    b.normalized(),
    (b + c).normalized(),
    b.normalized() + c,
    (a.normalized() * b).normalized(),
    a.polynomial([1.0, 0.0, 2.0]),
    (a + c).polynomial([0.5, 1.0]),
    a.polynomial([0.5, 1.0, 0.3]) * b,
    a.on(0, 2),
    (a + b).on(1),
    a.on(0) * b.on(1, 2),
    (a.on(1) + c).on(2, 0),
    a + 1.0,
    0 * a + b,
]


def needs_non_negative(kernel):
    """Whether the kernel is one of rows without negative entries."""
    return isinstance(kernel, Sobolev | Chi2 | AdditiveChi2)
