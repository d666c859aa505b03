"""What every solver does, counted: pure functions of sizes and of the work for an entry of K."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mercer.gram.pivots import MOST_PIVOTS, POOL
from mercer.planning.rates import Work
from mercer.solvers.lowrank.hessian import FEW_COLUMNS, sampled_rows
from mercer.solvers.lowrank.sketched import steps_of, sums_of
from mercer.solvers.margin.coordinates import CoordinateDescent, is_narrow, most_epochs
from mercer.solvers.margin.screening import Screening


@dataclass(frozen=True)
class Costs:
    """What the steps of solvers take, in bytes and multiplications, and how many there are."""

    # Share of the speed of matrix products that LAPACK's factor reaches.
    factor_share: float = 0.85
    # Multiplications of an eigendecomposition for every cubed row, by divide and conquer.
    eigen: float = 4.5
    # Passes over the features of a ridge problem that are as long as forming their products.
    feature_passes: float = 1.0
    # Bytes moved for every entry of explicit features, and of the products of sparse ones: they are
    # made, weighted and read in steps.
    feature_moved: float = 500.0
    # Bytes moved for every entry between rows and landmarks: it is written, whitened, centred and
    # read.
    landmark_moved: float = 40.0
    # Share of the speed of matrix products that triangular systems and symmetric products reach,
    # bytes that stand for an entry that is read twice to measure an answer, and passes that
    # measure.
    whitened_share: float = 0.6
    measured: float = 150.0
    measures: int = 2
    # An entry that is computed once for two products, in float64 and in float32, beside one that is
    # computed and stored.
    fused: float = 1.3
    fused_single: float = 0.65
    # Multiplications to choose a pivot for every row of the pool and every pivot before.
    pivoted: float = 1.5
    # Seconds on one thread that direct equations of landmarks may take more than such steps.
    moment: float = 0.5
    # Bytes that stand for two entries of a sparse row that are multiplied.
    meeting: float = 100.0
    # Bytes moved for every row of a chain: sorting, recurrences there and back, refinement.
    chain_moved: float = 4000.0
    # Newton steps of a logistic problem of ordinary difficulty, and products with K in each for a
    # column of scores; from real tables of 2 to 26 classes at C from 1 to 100.
    newton_steps: int = 6
    newton_products: int = 10
    # Bytes that stand for telling a row of the steps of another one by working sets, for beginning
    # with a problem, and the power by which rows beyond `Screening.least_rows` count; from real
    # tables of 4601 to 59,535 rows.
    told: float = 200.0
    problem: int = 50_000
    more_than_many: float = 0.4
    # The bound of a coefficient times k(x, x) beyond which working sets take more steps, about as
    # many more; and epochs of coordinate descent by that number and a power of it. From tables and
    # texts of 3089 to 59,535 rows at C from 0.1 to 100.
    hard: float = 200.0
    epochs: float = 60.0
    epoch_power: float = 0.85
    # Bytes that stand for a visit of a row by coordinate descent and of an entry of its features,
    # and for a row in a step of the interior point that goes on where the features are few.
    visit: float = 650.0
    visited: float = 50.0
    interior: float = 17_000.0
    # Bytes that stand for the visits of a feature of landmarks, in float32, until the gap is about
    # a hundredth: what comes after changes few labels, and is left to the limits.
    landmark_visited: float = 250.0
    # Products with features of landmarks, there and back, in all Newton steps of ordinary
    # difficulty.
    landmark_products: int = 40
    # Multiplications of a singular value decomposition for every entry of the features and every
    # feature.
    decomposition: float = 6.0
    # The same by inner products of few features of many rows.
    thin_decomposition: float = 4.0
    # Multiplications that the recurrences on a chain take for every knot and ridge, several ridges
    # at once or one at a time, and that it takes to start them.
    knot_at_once: float = 100.0
    knot: float = 500.0
    chain_start: float = 3e6
    # Columns that stand for what a term of an entry takes besides, for what one takes that a block
    # is filled with before, for two entries of sparse rows that meet, and for a column of counts,
    # of which a register holds four times as many.
    entry_term: float = 6.0
    entry_block: float = 80.0
    entry_meeting: float = 50.0
    entry_count: float = 0.25
    # Symbols that stand for a call of a Python function with two rows, and for an entry of a block
    # that one call fills.
    entry_call: float = 4e4
    entry_filled: float = 200.0
    # How often batches go through all rows.
    batch_epochs: int = 32


COSTS = Costs()


def factor_work(n: int, targets: int, ridges: int, entry: Work, steps: float, single: bool) -> Work:
    """Return the work for a ridge problem by Cholesky factors, with steps of refinement."""
    size = 4.0 if single else 8.0
    multiplied = n**3 / 6.0 / COSTS.factor_share
    factor = Work(single=multiplied) if single else Work(double=multiplied)
    # A step reads the factor twice and computes half of K in float64 once more.
    step = n**2 * (0.5 * entry + Work(byte=size * (targets + 1)))
    made = n**2 * (0.5 * entry + Work(byte=4.0 * size))
    return made + ridges * (factor + steps * step)


def eigen_work(n: int, entry: Work) -> Work:
    """Return the work for an eigendecomposition of K."""
    return n**2 * (0.5 * entry) + Work(double=COSTS.eigen * n**3)


def product_work(n: int, rank: int, steps: float, entry: Work) -> Work:
    """Return the work for steps of conjugate gradients with a preconditioner of some rank."""
    growth = n * rank * entry + Work(double=float(n) * rank**2)
    return growth + steps * (0.5 * n**2 * entry + Work(byte=16.0 * n * rank))


def feature_work(n: int, p: int, entries: int | None = None) -> Work:
    """Return the work for a ridge problem in (n, p) features, sparse ones with so many entries."""
    if entries is None:
        return Work(double=COSTS.feature_passes * n * p**2, byte=COSTS.feature_moved * n * p)
    # Every entry of a row meets all others of it, and then there is a factor of p columns.
    met = entries * (entries / n) * COSTS.meeting
    moved = COSTS.feature_moved * (entries + p**2)
    return Work(double=p**3 / 6.0 / COSTS.factor_share, byte=moved + met)


def landmark_choice_work(n: int, m: int, entry: Work) -> Work:
    """Return the work for choosing m landmarks among n rows, and for their factor."""
    # Pivots are chosen among a sample, each after all before it.
    pool, pivots = min(n, POOL * m), min(m, MOST_PIVOTS)
    chosen = pool * pivots * entry + Work(double=COSTS.pivoted * pool * float(pivots) ** 2)
    return chosen + m**2 * entry + Work(double=m**3 / 6.0 / COSTS.factor_share)


def landmark_feature_work(n: int, m: int, entry: Work) -> Work:
    """Return the work for choosing m landmarks and for their features of n rows in float32."""
    return landmark_choice_work(n, m, entry) + n * m * entry + whitened_work(n, m)


def whitened_work(n: int, m: int) -> Work:
    """Return the work for features in float32 of n rows whose entries are there."""
    multiplied = 0.5 * n * float(m) ** 2 / COSTS.whitened_share
    return Work(single=multiplied, byte=COSTS.landmark_moved * n * m)


def landmark_work(n: int, m: int, entry: Work, targets: int = 1) -> Work:
    """Return the work for a ridge problem by m landmarks on n rows, in the cheaper form."""
    direct, sketched = direct_work(n, m, entry, targets), sketched_work(n, m, entry, targets)
    # Equations that take a moment are worth their digits.
    return sketched if sketched.cost + COSTS.moment < direct.cost else direct


def direct_work(n: int, m: int, entry: Work, targets: int = 1) -> Work:
    """Return the work for the m x m equations of m landmarks on n rows, and to measure them."""
    # The upper half of the products of features, and a factor for every alpha.
    equations = Work(single=0.5 * n * float(m) ** 2 / COSTS.whitened_share)
    measured = COSTS.measures * n * m * (entry + Work(byte=COSTS.measured))
    # Every target but the first, of which reading the features is all, is multiplied by them, and
    # its residual in every measure there and back; triangular systems are solved for it as often.
    multiplied = (1.0 + 2.0 * COSTS.measures) * n * m + (1.0 + COSTS.measures) * float(m) ** 2
    further = Work(double=(targets - 1) * multiplied)
    solved = Work(double=m**3 / 6.0 / COSTS.factor_share)
    return landmark_feature_work(n, m, entry) + equations + measured + further + solved


def sketched_work(n: int, m: int, entry: Work, targets: int = 1) -> Work:
    """Return the work for conjugate gradients on the equations of m landmarks."""
    count = sums_of(n, m)
    # Features of as many sums as there are, their products and a factor of these; or the squares of
    # all entries, and products and a factor of landmarks in float32.
    made = whitened_work(count * m, m) + Work(
        single=0.5 * count * float(m) ** 3 / COSTS.whitened_share,
        double=m**3 / 6.0 / COSTS.factor_share,
    )
    if count == 0:
        made = n * m * entry + Work(single=m**3 / 3.0 / COSTS.factor_share)
    # One pass makes the sketch, some measure, and a step takes one in float32.
    passes = 1.0 + COSTS.fused * COSTS.measures + COSTS.fused_single * steps_of(count)
    read = passes * entry
    gone_over = n * m * (read + Work(byte=COSTS.landmark_moved))
    # Products with further targets, there and back.
    each = Work(double=2.0 * COSTS.measures, single=2.0 * steps_of(count))
    further = float(targets - 1) * n * m * each
    return landmark_choice_work(n, m, entry) + made + gone_over + further


def chain_work(n: int, targets: int) -> Work:
    """Return the work for a ridge problem on a chain of knots."""
    return Work(byte=COSTS.chain_moved * n * targets)


def newton_work(n: int, columns: int, entry: Work) -> Work:
    """Return the work for steps of Newton's method with a factor for every column of scores."""
    # Several classes are coupled by one more factor, of as many right-hand sides as rows.
    each = n**3 / 6.0 if columns == 1 else (4 * columns + 1) * n**3 / 6.0
    return n**2 * (0.5 * entry) + Work(double=COSTS.newton_steps * each)


def newton_product_work(n: int, columns: int, rank: int, product: Work) -> Work:
    """Return the work for steps of Newton's method by products with K, each of some work."""
    factor = Work(double=COSTS.newton_steps * columns * n * float(rank) ** 2)
    return factor + COSTS.newton_steps * COSTS.newton_products * columns * product


def working_set_work(n: int, problems: Sequence[int], entry: Work) -> Work:
    """Return the work for margin problems on so many of n rows each, by working sets.

    Every row of a problem is told of the steps of all others. Of many rows a low-rank copy of K
    tells first which are undecided, so that fewer count.
    """
    many = Screening.least_rows
    counted = [m if m <= many else many * (m / many) ** COSTS.more_than_many for m in problems]
    # Several problems have the entries of all rows in common, and the gap of all is measured.
    entries = 0.5 * min(sum(float(m) ** 2 for m in problems), float(n) ** 2) * entry
    return (
        Work(byte=COSTS.told * sum(m**2 for m in counted) + COSTS.problem * len(problems)) + entries
    )


def hardened(work: Work, share: float, pull: float) -> Work:
    """Return the work for a margin problem by working sets where its coefficients are known.

    Parameters
    ----------
    work : Work
        That of as many rows of ordinary difficulty.
    share : float
        The share of the rows that may have a coefficient at its bound.
    pull : float
        The mean bound of a coefficient times the mean of k(x, x).
    """
    return share * (1.0 + pull / COSTS.hard) * work


def coordinate_work(shape: tuple[int, int], entries: float, pull: float, memory: int) -> Work:
    """Return the work for a margin problem in features, one row at a time.

    Parameters
    ----------
    shape : (int, int)
        Rows, and features.
    entries : float
        Entries of the features that are not zero.
    pull : float
        As for `hardened`.
    memory : int
        The limit in bytes.
    """
    n, p = shape
    wanted, narrow = COSTS.epochs * pull**COSTS.epoch_power, is_narrow(shape, memory)
    most = most_epochs(shape, entries, narrow)
    work = min(wanted, most) * Work(byte=COSTS.visit * n + COSTS.visited * entries)
    if wanted <= most:
        return work
    if narrow:
        step = n * Work(double=float(p) ** 2, byte=COSTS.interior)
        return work + CoordinateDescent.newton_steps * step
    # Working sets go on, which compare rows by their features.
    return work + hardened(working_set_work(n, [n], Work(column=entries / n)), 1.0, pull)


def landmark_coordinate_work(n: int, m: int, problems: Sequence[int], entry: Work) -> Work:
    """Return the work for margin problems on so many of n rows each, in features of m landmarks."""
    # A look at the entries between rows and landmarks, and one back, measures the gap.
    each = 2.0 * entry + Work(byte=COSTS.landmark_visited)
    return landmark_feature_work(n, m, entry) + sum(problems) * m * each


def landmark_newton_work(n: int, m: int, columns: int, entry: Work) -> Work:
    """Return the work for Newton's method by stored entries of m landmarks on n rows."""
    # The preconditioner is made of features of a sample of the rows, for every column of scores or
    # for all together, and once more where it is poor.
    some, made = sampled_rows(n, m), columns if columns <= FEW_COLUMNS else 1
    factors = made * Work(single=some * float(m) ** 2, double=m**3 / 6.0)
    multiplied = Work(single=2.0 * columns * n * m, byte=8.0 * n * m)
    # Entries that are stored, and those of a look at the gap, there and back.
    entries = 3.0 * n * m * entry
    chosen = landmark_choice_work(n, m, entry)
    sample = whitened_work(some, m) + factors
    return chosen + entries + sample + COSTS.landmark_products * multiplied


def batch_work(n: int, entry: Work, batch: int = 0, factors: int = 1) -> Work:
    """Return the work by random batches, each of which is factored so often."""
    return COSTS.batch_epochs * (
        n**2 * entry + Work(double=factors * n * batch**2 / 6.0 / COSTS.factor_share)
    )
