"""What every solver does, counted: pure functions of sizes and of the work for an entry of K."""

from __future__ import annotations

from mercer.planning.rates import Work

# Share of the speed of matrix products that LAPACK's factor reaches.
FACTOR_SHARE = 0.85
# Multiplications of an eigendecomposition for every cubed row, by divide and conquer.
EIGEN = 4.5
# Passes over the features of a ridge problem that are as long as forming their products.
FEATURE_PASSES = 2.0
# Bytes moved for every entry of explicit features: they are made, weighted and read in steps.
FEATURE_MOVED = 400.0
# Bytes moved for every row of a chain: sorting, recurrences there and back, refinement.
CHAIN_MOVED = 4000.0


def factor_work(n: int, targets: int, ridges: int, entry: Work, steps: float, single: bool) -> Work:
    """Return the work for a ridge problem by Cholesky factors, with steps of refinement."""
    size = 4.0 if single else 8.0
    multiplied = n**3 / 6.0 / FACTOR_SHARE
    factor = Work(single=multiplied) if single else Work(double=multiplied)
    # A step reads the factor twice and computes half of K in float64 once more.
    step = n**2 * (0.5 * entry + Work(byte=size * (targets + 1)))
    made = n**2 * (0.5 * entry + Work(byte=4.0 * size))
    return made + ridges * (factor + steps * step)


def eigen_work(n: int, entry: Work) -> Work:
    """Return the work for an eigendecomposition of K."""
    return n**2 * (0.5 * entry) + Work(double=EIGEN * n**3)


def product_work(n: int, rank: int, steps: float, entry: Work) -> Work:
    """Return the work for steps of conjugate gradients with a preconditioner of some rank."""
    growth = n * rank * entry + Work(double=float(n) * rank**2)
    return growth + steps * (0.5 * n**2 * entry + Work(byte=16.0 * n * rank))


def feature_work(n: int, p: int) -> Work:
    """Return the work for a ridge problem in (n, p) explicit features."""
    return Work(double=FEATURE_PASSES * n * p**2, byte=FEATURE_MOVED * n * p)


def chain_work(n: int, targets: int) -> Work:
    """Return the work for a ridge problem on a chain of knots."""
    return Work(byte=CHAIN_MOVED * n * targets)


def newton_work(n: int, columns: int, steps: float, entry: Work) -> Work:
    """Return the work for steps of Newton's method with a factor for every column of scores."""
    # Several classes are coupled by one more factor, of as many right-hand sides as rows.
    each = n**3 / 6.0 if columns == 1 else (4 * columns + 1) * n**3 / 6.0
    return n**2 * (0.5 * entry) + Work(double=steps * each)


def newton_product_work(
    n: int, columns: int, rank: int, steps: float, products: float, entry: Work
) -> Work:
    """Return the work for steps of Newton's method, each by so many products for every column.

    `entry` is what an entry takes in a product, computed anew or read.
    """
    factor = Work(double=steps * columns * n * float(rank) ** 2)
    return factor + products * columns * n**2 * entry
