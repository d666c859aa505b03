"""The slow obvious formula of every kernel, entry by entry, with 40 digits."""

from __future__ import annotations

import numpy as np
from mpmath import mp, mpf

from mercer import kernels as mk

mp.dps = 40

# Below this, an entry only has to be as small: intermediate results have left the normal range.
FLOOR = {np.dtype(np.float64): mpf("1e-300"), np.dtype(np.float32): mpf("1e-33")}


def gram(kernel, X, Z=None):
    """The matrix k(x_i, z_j) of 40-digit numbers."""
    left, right = _rows(X), _rows(X if Z is None else Z)
    return np.array([[entry(kernel, x, z) for z in right] for x in left], dtype=object)


def error(K, kernel, X, Z=None):
    """The largest error of K's entries, each relative to the size of what was added up for it.

    For most kernels that is the entry itself. An inner product is relative to |x|'|z|, since the
    entry may vanish by cancellation.
    """
    left, right = _rows(X), _rows(X if Z is None else Z)
    floor = FLOOR[K.dtype]
    worst = mpf(0)
    for i, x in enumerate(left):
        for j, z in enumerate(right):
            value = entry(kernel, x, z)
            gap = abs(mpf(float(K[i, j])) - value)
            worst = max(worst, (gap - floor) / max(magnitude(kernel, x, z, value), floor))
    return float(worst)


def entry(kernel, x, z):
    """k(x, z), written as in a textbook."""
    match kernel:
        case mk.Constant(value):
            return mpf(value)
        case mk.Linear(c):
            return dot(x, z) + c
        case mk.Polynomial(p, c, s):
            return (s * dot(x, z) + c) ** p
        case mk.Sigmoid(s, c):
            return mp.tanh(s * dot(x, z) + c)
        case mk.Bilinear(A):
            return mp.fsum(x[i] * A[i][j] * z[j] for i in range(len(x)) for j in range(len(z)))
        case mk.Cosine():
            norms = mp.sqrt(dot(x, x) * dot(z, z))
            return dot(x, z) / norms if norms else mpf(0)
        case mk.Gaussian(s):
            return mp.exp(-squared_distance(x, z, s) / 2)
        case mk.Exponential(s):
            return mp.exp(-mp.sqrt(squared_distance(x, z, s)))
        case mk.Laplacian(s):
            scale = _each(s, x)
            return mp.exp(-mp.fsum(abs(a - b) / c for a, b, c in zip(x, z, scale, strict=True)))
        case mk.Matern32(s):
            r = mp.sqrt(3 * squared_distance(x, z, s))
            return (1 + r) * mp.exp(-r)
        case mk.Matern52(s):
            r = mp.sqrt(5 * squared_distance(x, z, s))
            return (1 + r + r**2 / 3) * mp.exp(-r)
        case mk.RationalQuadratic(s, m):
            return (1 + squared_distance(x, z, s) / (2 * mpf(m))) ** (-mpf(m))
        case mk.InverseMultiquadric(c):
            return 1 / mp.sqrt(squared_distance(x, z, 1.0) + c)
        case mk.Periodic(s, p):
            sines = [mp.sin(mp.pi * (a - b) / p) ** 2 for a, b in zip(x, z, strict=True)]
            return mp.exp(-2 * mp.fsum(sines) / mpf(s) ** 2)
        case mk.Sobolev():
            return mp.fprod(min(a, b) for a, b in zip(x, z, strict=True))
        case mk.Chi2(g):
            return mp.exp(-g * chi2(x, z))
        case mk.AdditiveChi2():
            return -chi2(x, z)
    return _composite_entry(kernel, x, z)


def _composite_entry(kernel, x, z):
    match kernel:
        case mk.Sum(terms):
            return mp.fsum(entry(k, x, z) for k in terms)
        case mk.Product(terms):
            return mp.fprod(entry(k, x, z) for k in terms)
        case mk.Scaled(k, c):
            return c * entry(k, x, z)
        case mk.Power(k, p):
            return entry(k, x, z) ** p
        case mk.Exp(k):
            return mp.exp(entry(k, x, z))
        case mk.PolynomialOf(k, coefficients):
            return mp.fsum(c * entry(k, x, z) ** j for j, c in enumerate(coefficients))
        case mk.Normalized(k):
            square = entry(k, x, x) * entry(k, z, z)
            return entry(k, x, z) / mp.sqrt(square) if square > 0 else mpf(0)
        case mk.Columns(k, columns):
            return entry(k, [x[c] for c in columns], [z[c] for c in columns])
    raise TypeError(f"the oracle has no formula for {kernel!r}")


def magnitude(kernel, x, z, value=None):
    """The size that rounding errors of k(x, z) are relative to; the value, if known, saves work."""
    match kernel:
        case mk.Linear(c):
            return sizes(x, z) + abs(c)
        case mk.Polynomial(p, c, s):
            return (abs(s) * sizes(x, z) + abs(c)) ** p
        case mk.Sigmoid(s, c):
            return abs(s) * sizes(x, z) + abs(c)
        case mk.Bilinear(A):
            n = range(len(x))
            return mp.fsum(abs(x[i] * A[i][j] * z[j]) for i in n for j in n)
        case mk.Cosine():
            norms = mp.sqrt(dot(x, x) * dot(z, z))
            return sizes(x, z) / norms if norms else mpf(0)
        case mk.Sum(terms):
            return mp.fsum(magnitude(k, x, z) for k in terms)
        case mk.Product(terms):
            return mp.fprod(magnitude(k, x, z) for k in terms)
        case mk.Scaled(k, c):
            return c * magnitude(k, x, z)
    return abs(entry(kernel, x, z) if value is None else value)


def dot(x, z):
    return mp.fdot(x, z)


def sizes(x, z):
    return mp.fdot([abs(a) for a in x], [abs(b) for b in z])


def squared_distance(x, z, length_scale):
    scale = _each(length_scale, x)
    return mp.fsum(((a - b) / c) ** 2 for a, b, c in zip(x, z, scale, strict=True))


def chi2(x, z):
    return mp.fsum((a - b) ** 2 / (a + b) for a, b in zip(x, z, strict=True) if a + b)


def _each(scale, x):
    """One length scale per column."""
    return [mpf(s) for s in scale] if isinstance(scale, tuple) else [mpf(scale)] * len(x)


def _rows(X):
    return [[mpf(float(v)) for v in row] for row in np.asarray(X)]


def perceptron_walk(K, y, epochs):
    """Return the mistakes at every row and the mean of a over all steps, row by row."""
    a = np.zeros(len(y))
    total, steps = np.zeros(len(y)), 0
    counts = np.zeros(len(y), int)
    for _ in range(epochs):
        before = counts.sum()
        for i in range(len(y)):
            if y[i] * (K[i] @ a) <= 0:
                a[i] += y[i]
                counts[i] += 1
            total += a
            steps += 1
        if counts.sum() == before:
            break
    return counts, total / steps


# Digits for sums of K and a ridge, which may be as far apart as numbers of float64 are.
MANY = 150


def ridge_fit(kernel, X, y, alpha, weights, fit_intercept):
    """The values f(x_i) without the offset, and the offset, of a ridge problem."""
    n, border = len(y), int(fit_intercept)
    with mp.workdps(MANY):
        K = gram(kernel, X)
        A = mp.zeros(n + border, n + border)
        for i in range(n):
            for j in range(n):
                A[i, j] = K[i, j]
            A[i, i] += mpf(float(alpha)) / mpf(float(weights[i]))
            if border:
                A[i, n] = A[n, i] = mpf(1)
        solved = mp.lu_solve(A, mp.matrix([*_numbers(y), *[mpf(0)] * border]))
        a = [solved[i] for i in range(n)]
        return [mp.fdot(k, a) for k in K], solved[n] if border else mpf(0)


def expansion(kernel, X, a):
    """The values sum_j a_j k(x_j, x_i) of given coefficients."""
    with mp.workdps(MANY):
        return [mp.fdot(k, _numbers(a)) for k in gram(kernel, X)]


def margin_gap(K, z, lower, upper, epsilon, fit_intercept, a, b):
    """The duality gap of coefficients and an offset, and the objective, in exact numbers.

    A sum of the coefficients that is not zero is taken back where the dual loses least by it.
    """
    z, lower, upper, a = map(_numbers, (z, lower, upper, a))
    b, epsilon, n = mpf(float(b)), mpf(float(epsilon)), len(z)

    def dual(c):
        f = [mp.fdot(k, c) for k in K]
        return mp.fdot(z, c) - epsilon * mp.fsum(map(abs, c)) - mp.fdot(c, f) / 2

    def moved(j, q):
        return [v - q * (i == j) for i, v in enumerate(a)]

    f = [mp.fdot(k, a) for k in K]
    r = [f[i] + b - z[i] for i in range(n)]
    losses = [
        upper[i] * max(0, -r[i] - epsilon) - lower[i] * max(0, r[i] - epsilon) for i in range(n)
    ]
    primal = mp.fdot(a, f) / 2 + mp.fsum(losses)
    q = mp.fsum(a) if fit_intercept else mpf(0)
    candidates = [moved(j, q) for j in range(n)]
    best = max(dual(c) for j, c in enumerate(candidates) if q == 0 or lower[j] <= c[j] <= upper[j])
    return float(primal - best), float(max(abs(primal), abs(best)))


def logistic_excess(K, signs, C, weights, fit_intercept, a, b):
    """By how much of itself the objective of two classes is above its minimum, in exact numbers.

    The minimum is where a_i = C w_i y_i / (1 + exp(y_i (f(x_i) + b))) and sum(a) = 0, which
    Newton's method finds from coefficients near it.
    """
    n, border = len(signs), int(fit_intercept)
    y, costs = _numbers(signs), [mpf(float(C)) * w for w in _numbers(weights)]

    def scores(a, b):
        return [mp.fdot(k, a) + b for k in K]

    def objective(a, b):
        f = scores(a, b)
        losses = [c * mp.log1p(mp.exp(-v * s)) for c, v, s in zip(costs, y, f, strict=True)]
        return mp.fsum(losses) + mp.fsum(v * (s - b) for v, s in zip(a, f, strict=True)) / 2

    point = mp.matrix([*_numbers(a), *[mpf(float(b))] * border])
    start = objective(list(point[:n]), point[n] if border else mpf(0))
    for _ in range(30):
        J, rest = mp.eye(n + border), mp.zeros(n + border, 1)
        f = scores(list(point[:n]), point[n] if border else mpf(0))
        for i in range(n):
            p = 1 / (1 + mp.exp(y[i] * f[i]))
            rest[i] = costs[i] * y[i] * p - point[i]
            for j in range(n):
                J[i, j] += costs[i] * p * (1 - p) * K[i][j]
            if border:
                J[i, n], J[n, i] = costs[i] * p * (1 - p), mpf(1)
        if border:
            J[n, n], rest[n] = mpf(0), -mp.fsum(point[:n])
        point += mp.lu_solve(J, rest)
    least = objective(list(point[:n]), point[n] if border else mpf(0))
    return float((start - least) / least)


def _numbers(values):
    return [mpf(float(v)) for v in values]
