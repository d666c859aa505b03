"""Whether the parts of an object fit together, before anything is computed with it.

What a class checks itself is not repeated here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.data.columns import n_rows
from mercer.errors import ModelFileError
from mercer.estimators.online.landmark_stream import Block
from mercer.estimators.svm.probabilities import CrossFits
from mercer.features import FourierMap, LandmarkMap
from mercer.functions import (
    DualFunction,
    Function,
    LineFunction,
    MeanFunction,
    PairFunction,
    PrimalFunction,
)
from mercer.selection.classifiers.calibration import Calibration
from mercer.solvers import LogisticProblem, LogisticStream, RidgeProblem, RidgeStream
from mercer.solvers.online.budget import Basis


def check_parts(value: Any) -> None:
    """Refuse an object of numbers that do not fit together or lie outside of their range."""
    for kind in type(value).__mro__:
        if kind in CHECKS:
            CHECKS[kind](value)


def _function(f: Any) -> None:
    for name in ("coefficients", "intercept"):
        numbers = getattr(f, name)
        if numbers.dtype != np.float64 or not np.isfinite(numbers).all():
            raise ModelFileError(f"{name} of a function must be finite numbers of float64")
    if f.coefficients.ndim != 2 or f.intercept.ndim != 1:
        raise ModelFileError("a function has coefficients of a matrix and a vector of offsets")


def _dual(f: DualFunction) -> None:
    _function(f)
    if n_rows(f.rows) != len(f.coefficients):
        raise ModelFileError(
            f"a function has {len(f.coefficients)} coefficients for {n_rows(f.rows)} rows"
        )
    _check_ascending(f.columns, "columns", strict=False)


def _pairs(f: PairFunction) -> None:
    counts = f.counts
    if counts.dtype.kind not in "iu" or counts.ndim != 1 or np.any(counts < 0):
        raise ModelFileError("the rows of all classes must be counted by whole numbers")
    if counts.sum() != len(f.coefficients) or counts.max(initial=0) > len(f.coefficients):
        raise ModelFileError("the rows of all classes are not as many as the coefficients")
    classes = len(counts)
    is_by_pairs = f.n_targets == classes * (classes - 1) // 2
    if f.coefficients.shape[1] != classes - 1 or not is_by_pairs:
        raise ModelFileError(f"a function of all pairs of {classes} classes has other parts")


def _primal(f: PrimalFunction) -> None:
    _function(f)
    _check_ascending(f.columns, "columns")
    # Of no columns at all, as of texts without a k-gram, `narrowed` keeps one without an entry.
    if f.columns is not None and max(len(f.columns), 1) != len(f.coefficients):
        raise ModelFileError("a function has other features than weights of features")


def _line(f: LineFunction) -> None:
    _function(f)
    _check_ascending(f.knots, "knots")
    if f.knots.dtype != np.float64 or len(f.knots) != len(f.coefficients):
        raise ModelFileError("a function on a line has other knots than values at them")
    if f.level.shape != f.intercept.shape:
        raise ModelFileError("a function on a line has other levels than offsets")


def _mean(f: MeanFunction) -> None:
    v, parts = f.weights, f.parts
    if not parts or not all(isinstance(part, Function) for part in parts):
        raise ModelFileError("a mean of functions holds something else")
    if v.dtype != np.float64 or v.shape != (len(parts),) or not np.isfinite(v).all():
        raise ModelFileError(f"a mean of {len(parts)} functions has other weights")
    if np.any(v <= 0.0) or len({part.n_targets for part in parts}) != 1:
        raise ModelFileError("a mean of functions has weights or targets that do not fit")


def _check_ascending(values: Any, name: str, strict: bool = True) -> None:
    """Refuse positions that are no vector of ascending numbers, or negative."""
    if values is None:
        return
    is_sorted = bool(np.all(np.diff(values) > 0)) if strict else True
    is_index = values.dtype.kind == "f" or bool(np.all(values >= 0))
    if values.ndim != 1 or not np.isfinite(values).all() or not is_sorted or not is_index:
        raise ModelFileError(f"{name} of a function must be a vector in ascending order")


def _landmark_map(phi: LandmarkMap) -> None:
    factor, m = phi.factor, n_rows(phi.rows)
    if factor.shape != (m, m) or not np.isfinite(factor).all():
        raise ModelFileError(f"the factor of {m} landmarks has the shape {factor.shape}")


def _fourier_map(phi: FourierMap) -> None:
    p = len(phi.amplitudes)
    shapes = {np.shape(W)[:1] for W in phi.frequencies} | {phi.amplitudes.shape, phi.shifts.shape}
    if shapes != {(p,)} or not 0 <= phi.sines <= p or len(phi.views) != len(phi.frequencies):
        raise ModelFileError("random features have other frequencies than amplitudes")


def _ridge_problem(problem: RidgeProblem) -> None:
    n, targets = problem.y.shape
    if problem.weights.shape != (n,) or problem.alpha.shape not in ((1,), (targets,)):
        raise ModelFileError(f"a problem of {n} rows and {targets} targets has other weights")
    _check_codes(np.zeros(n, np.intp), problem.weights, n)


def _logistic_problem(problem: LogisticProblem) -> None:
    _check_codes(problem.codes, problem.weights, min(problem.classes, len(problem.codes)))


def _cross_fits(fits: CrossFits) -> None:
    if fits.X is not None:
        _check_codes(fits.codes, fits.weights, n_rows(fits.X))
        if n_rows(fits.X) != len(fits.codes):
            raise ModelFileError(f"there are {len(fits.codes)} labels of {n_rows(fits.X)} rows")


def _calibration(found: Calibration) -> None:
    if found.codes is not None:
        _check_codes(found.codes, found.weights, len(found.codes))


def _block(block: Block) -> None:
    n = n_rows(block.rows)
    codes = block.targets if block.targets.dtype.kind in "iu" else np.zeros(n, np.intp)
    _check_codes(codes, block.weights, n)
    if len(block.targets) != n:
        raise ModelFileError(f"there are {len(block.targets)} targets of {n} rows")


def _check_codes(codes: Any, weights: Any, classes: int) -> None:
    """Refuse numbers of classes, of which there are fewer than rows, or weights that are none."""
    for name, values, kinds in (("classes", codes, "iu"), ("weights", weights, "f")):
        is_vector = isinstance(values, np.ndarray) and values.shape == (len(codes),)
        if not is_vector or values.dtype.kind not in kinds or not np.isfinite(values).all():
            raise ModelFileError(f"the {name} of rows must be a vector of numbers")
        if np.any(values < 0):
            raise ModelFileError(f"the {name} of rows must not be negative")
    if len(codes) and codes.max() >= classes:
        raise ModelFileError(f"a row is of class {codes.max()}, of {classes}")


def _basis(basis: Basis) -> None:
    s = len(basis.rows)
    is_square = basis.inverse.shape == (s, s) and basis.last.shape == basis.late.shape
    if not is_square or basis.rows.ndim != 1 or len(basis.last) != s or np.any(basis.rows < 0):
        raise ModelFileError(f"a basis of {s} points has parts of other sizes")


def _ridge_stream(stream: RidgeStream) -> None:
    sums, m, targets = stream.sums, len(stream.centre), len(stream.level)
    shapes = (sums.G.shape, sums.Fy.shape, sums.F1.shape, sums.y1.shape, stream.total.shape)
    if shapes != ((m, m), (m, targets), (m,), (targets,), (targets,)):
        raise ModelFileError(f"the sums of a stream of {m} features have other shapes")


def _logistic_stream(stream: LogisticStream) -> None:
    width, columns = stream.v.shape
    if stream.H.shape != (columns, width, width):
        raise ModelFileError(f"the curvature of a stream of {width} weights has another shape")


CHECKS: dict[type[Any], Callable[[Any], None]] = {
    DualFunction: _dual,
    PairFunction: _pairs,
    PrimalFunction: _primal,
    LineFunction: _line,
    MeanFunction: _mean,
    LandmarkMap: _landmark_map,
    FourierMap: _fourier_map,
    RidgeProblem: _ridge_problem,
    LogisticProblem: _logistic_problem,
    CrossFits: _cross_fits,
    Calibration: _calibration,
    Block: _block,
    Basis: _basis,
    RidgeStream: _ridge_stream,
    LogisticStream: _logistic_stream,
}
