"""The plan of principal components: all at once, a few by products, or those of some rows."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from mercer.gram import Gram
from mercer.kernels import Kernel
from mercer.planning.costs import COSTS, eigen_work
from mercer.planning.entries import entry_work
from mercer.planning.landmarks import (
    FEW,
    ByLandmarks,
    expected_residual,
    landmark_count,
    may_have_landmarks,
)
from mercer.planning.plan import Plan, Settings, among
from mercer.planning.rates import Work
from mercer.solvers.spectral.components import IterativeComponents, wants_products

# Products with K for a few components of ordinary separation.
PRODUCTS = 60
# Bytes for every entry of K where all components are found.
DENSE_BYTES = 16


def planned_components(
    settings: Settings, kernel: Kernel, rows: Any, gram: Gram, most: int | None
) -> Settings:
    """Return the settings, with a number of landmarks where the plan takes these.

    Parameters
    ----------
    settings : Settings
        What the estimator was told.
    kernel : Kernel
        k, with numbers for parameters.
    rows : rows
        The training rows.
    gram : Gram
        Their Gram matrix.
    most : int, optional
        How many components are wanted; None is all.
    """
    if not settings.is_open or (len(gram) <= FEW and not settings.has_landmarks):
        return settings
    entry = entry_work(kernel, rows)
    exact = _products(gram, entry) if wants_products(len(gram), most) else _dense(gram, entry)
    return _by_landmarks(gram, entry).chosen(settings, kernel, exact)


def components_plan(
    settings: Settings, kernel: Kernel, rows: Any, gram: Gram, most: int | None
) -> Plan:
    """Return what `planned_components` means, in words, with the others that fit.

    The parameters are those of `planned_components`.
    """
    settings = planned_components(settings, kernel, rows, gram, most)
    name = settings.solver if isinstance(settings.solver, str) else type(settings.solver).__name__
    if settings.is_open:
        name = "iterative" if wants_products(len(gram), most) else "dense"
    plans = _plans(settings, kernel, rows, gram, most)
    return among(plans, name, gram.memory, kernel, settings.time_limit)


def _plans(
    settings: Settings, kernel: Kernel, rows: Any, gram: Gram, most: int | None
) -> Iterator[Plan]:
    """Yield what every solver would take."""
    n, entry = len(gram), entry_work(kernel, rows)
    reason = "one decomposition has all components"
    yield Plan("dense", "a dense matrix", DENSE_BYTES * n**2, _dense(gram, entry).seconds, reason)
    reason = "a few components come from products with the matrix"
    work, needed = _products(gram, entry), IterativeComponents.bytes(n, most or n)
    yield Plan("iterative", "a held or streamed matrix", needed, work.seconds, reason)
    by_landmarks = _by_landmarks(gram, entry)
    m = settings.n_landmarks or by_landmarks.most(settings)
    is_named = settings.solver == "nystrom"
    if is_named:
        m = min(m, landmark_count(settings, n))
    if may_have_landmarks(settings, kernel) and (is_named or 0 < m < n):
        work, reason = by_landmarks.work(m), f"a copy of the matrix by {m} landmarks, of low rank"
        taken = ("nystrom", "features of landmarks", by_landmarks.bytes(m), work.seconds, reason)
        yield Plan(*taken, residual=expected_residual(gram, m))


def _dense(gram: Gram, entry: Work) -> Work:
    n = len(gram)
    # What does not fit is never done.
    return eigen_work(n, entry) if DENSE_BYTES * n**2 <= gram.memory else Work(double=float("inf"))


def _products(gram: Gram, entry: Work) -> Work:
    n = len(gram)
    read = Work(byte=8.0) if 8 * n**2 <= gram.memory else 0.5 * entry
    return float(n) ** 2 * (0.5 * entry + PRODUCTS * read)


def _by_landmarks(gram: Gram, entry: Work) -> ByLandmarks:
    n = len(gram)

    def work(m: int) -> Work:
        multiplied = (COSTS.pivoted + COSTS.thin_decomposition) * n * float(m) ** 2
        return n * m * entry + Work(double=multiplied)

    # Bytes for every entry of features of some rows.
    each = 24
    return ByLandmarks(n, work, partial(int.__mul__, each * n))
