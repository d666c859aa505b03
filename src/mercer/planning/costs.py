"""What every solver does, counted: pure functions of sizes and of the work for an entry of K."""

from __future__ import annotations

from collections.abc import Sequence

from mercer.gram.landmarks import MOST_PIVOTS, POOL
from mercer.planning.rates import Work
from mercer.solvers.lowrank.hessian import SAMPLED
from mercer.solvers.lowrank.sketched import steps_of, sums_of
from mercer.solvers.margin.smo import MANY

# Share of the speed of matrix products that LAPACK's factor reaches.
FACTOR_SHARE = 0.85
# Multiplications of an eigendecomposition for every cubed row, by divide and conquer.
EIGEN = 4.5
# Passes over the features of a ridge problem that are as long as forming their products.
FEATURE_PASSES = 1.0
# Bytes moved for every entry of explicit features, and of the products of sparse ones: they are
# made, weighted and read in steps.
FEATURE_MOVED = 500.0
# Bytes moved for every entry between rows and landmarks: it is written, whitened, centred and read.
LANDMARK_MOVED = 40.0
# Share of the speed of matrix products that triangular systems and symmetric products reach, bytes
# that stand for an entry that is read twice to measure an answer, and passes that measure.
WHITENED_SHARE, MEASURED, MEASURES = 0.6, 150.0, 2
# Multiplications to choose a pivot for every row of the pool and every pivot before.
PIVOTED = 1.5
# Seconds on one thread that direct equations of landmarks may take more than such steps.
MOMENT = 0.5
# Bytes that stand for two entries of a sparse row that are multiplied.
MEETING = 100.0
# Bytes moved for every row of a chain: sorting, recurrences there and back, refinement.
CHAIN_MOVED = 4000.0
# Newton steps of a logistic problem of ordinary difficulty, and products with K in each for a
# column of scores; from real tables of 2 to 26 classes at C from 1 to 100.
NEWTON_STEPS, NEWTON_PRODUCTS = 6, 10
# Bytes that stand for telling a row of the steps of another one by working sets, for beginning with
# a problem, and the power by which rows beyond MANY count; from real tables of 4601 to 59,535 rows.
TOLD, PROBLEM, MORE_THAN_MANY = 200.0, 50_000, 0.4
# Bytes that stand for all visits of a row by coordinate descent, and of an entry of its features;
# from real tables and texts of 5 to 100 entries in a row.
VISITS, VISITED = 600_000.0, 17_000.0
# Bytes that stand for the visits of a feature of landmarks, in float32, until the gap is about a
# hundredth: what comes after changes few labels, and is left to the limits.
LANDMARK_VISITED = 250.0
# Products with features of landmarks, there and back, in all Newton steps of ordinary difficulty.
LANDMARK_PRODUCTS = 40
# How often batches go through all rows.
BATCH_EPOCHS = 32


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


def feature_work(n: int, p: int, entries: int | None = None) -> Work:
    """Return the work for a ridge problem in (n, p) features, sparse ones with so many entries."""
    if entries is None:
        return Work(double=FEATURE_PASSES * n * p**2, byte=FEATURE_MOVED * n * p)
    # Every entry of a row meets all others of it, and then there is a factor of p columns.
    met = entries * (entries / n) * MEETING
    moved = FEATURE_MOVED * (entries + p**2)
    return Work(double=p**3 / 6.0 / FACTOR_SHARE, byte=moved + met)


def landmark_feature_work(n: int, m: int, entry: Work) -> Work:
    """Return the work for choosing m landmarks and for their features of n rows in float32."""
    # Pivots are chosen among a sample, each after all before it.
    pool, pivots = min(n, POOL * m), min(m, MOST_PIVOTS)
    chosen = pool * pivots * entry + Work(double=PIVOTED * pool * float(pivots) ** 2)
    factor = m**2 * entry + Work(double=m**3 / 6.0 / FACTOR_SHARE)
    whitened = Work(single=0.5 * n * float(m) ** 2 / WHITENED_SHARE, byte=LANDMARK_MOVED * n * m)
    return chosen + factor + n * m * entry + whitened


def landmark_work(n: int, m: int, entry: Work) -> Work:
    """Return the work for a ridge problem by m landmarks on n rows, in the cheaper form."""
    direct, sketched = direct_work(n, m, entry), sketched_work(n, m, entry)
    # Equations that take a moment are worth their digits.
    return sketched if sketched.cost + MOMENT < direct.cost else direct


def direct_work(n: int, m: int, entry: Work) -> Work:
    """Return the work for the m x m equations of m landmarks on n rows, and to measure them."""
    # The upper half of the products of features, and a factor for every alpha.
    equations = Work(single=0.5 * n * float(m) ** 2 / WHITENED_SHARE)
    measured = MEASURES * n * m * (entry + Work(byte=MEASURED))
    solved = Work(double=m**3 / 6.0 / FACTOR_SHARE)
    return landmark_feature_work(n, m, entry) + equations + measured + solved


def sketched_work(n: int, m: int, entry: Work) -> Work:
    """Return the work for conjugate gradients on the equations of m landmarks."""
    # Features of as many sums as there are, and their products.
    count = sums_of(n, m)
    sums = landmark_feature_work(count * m, m, entry)
    products = Work(single=0.5 * count * float(m) ** 3 / WHITENED_SHARE)
    solved = Work(double=m**3 / 6.0 / FACTOR_SHARE)
    # An entry in float32 takes half, and is computed for either product of a step.
    passes = n * m * ((1.0 + 2.0 * MEASURES + steps_of(count)) * entry + Work(byte=LANDMARK_MOVED))
    return sums + products + solved + passes


def chain_work(n: int, targets: int) -> Work:
    """Return the work for a ridge problem on a chain of knots."""
    return Work(byte=CHAIN_MOVED * n * targets)


def newton_work(n: int, columns: int, entry: Work) -> Work:
    """Return the work for steps of Newton's method with a factor for every column of scores."""
    # Several classes are coupled by one more factor, of as many right-hand sides as rows.
    each = n**3 / 6.0 if columns == 1 else (4 * columns + 1) * n**3 / 6.0
    return n**2 * (0.5 * entry) + Work(double=NEWTON_STEPS * each)


def newton_product_work(n: int, columns: int, rank: int, product: Work) -> Work:
    """Return the work for steps of Newton's method by products with K, each of some work."""
    factor = Work(double=NEWTON_STEPS * columns * n * float(rank) ** 2)
    return factor + NEWTON_STEPS * NEWTON_PRODUCTS * columns * product


def working_set_work(n: int, problems: Sequence[int], entry: Work) -> Work:
    """Return the work for margin problems on so many of n rows each, by working sets.

    Every row of a problem is told of the steps of all others. Of many rows a low-rank copy of K
    tells first which there is doubt about, so that fewer count.
    """
    counted = [m if m <= MANY else MANY * (m / MANY) ** MORE_THAN_MANY for m in problems]
    # Several problems have the entries of all rows in common, and the gap of all is measured.
    entries = 0.5 * min(sum(float(m) ** 2 for m in problems), float(n) ** 2) * entry
    return Work(byte=TOLD * sum(m**2 for m in counted) + PROBLEM * len(problems)) + entries


def coordinate_work(n: float, entries: float) -> Work:
    """Return the work for a margin problem in features of so many entries, one row at a time."""
    return Work(byte=VISITS * n + VISITED * entries)


def landmark_coordinate_work(n: int, m: int, problems: Sequence[int], entry: Work) -> Work:
    """Return the work for margin problems on so many of n rows each, in features of m landmarks."""
    # A look at the entries between rows and landmarks, and one back, measures the gap.
    each = 2.0 * entry + Work(byte=LANDMARK_VISITED)
    return landmark_feature_work(n, m, entry) + sum(problems) * m * each


def landmark_newton_work(n: int, m: int, columns: int, entry: Work) -> Work:
    """Return the work for Newton's method in stored features of m landmarks on n rows."""
    # The preconditioner is made of a sample of the rows, and once more where it is poor.
    made = Work(single=min(n, SAMPLED * m) * float(m) ** 2, double=columns * m**3 / 6.0)
    multiplied = Work(single=2.0 * columns * n * m, byte=8.0 * n * m)
    measured = 2.0 * n * m * entry
    return landmark_feature_work(n, m, entry) + made + LANDMARK_PRODUCTS * multiplied + measured


def batch_work(n: int, entry: Work, batch: int = 0, factors: int = 1) -> Work:
    """Return the work by random batches, each of which is factored so often."""
    return BATCH_EPOCHS * (n**2 * entry + Work(double=factors * n * batch**2 / 6.0 / FACTOR_SHARE))
