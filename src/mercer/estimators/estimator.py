"""The base of every estimator: its arguments, the parameters of its kernel, how a fit is solved."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils import Tags, check_array

from mercer.data.checks import refuse_mapping
from mercer.data.columns import is_table
from mercer.data.limits.deadline import TimeIsUpError
from mercer.data.limits.memory import room_of, warn_of_limit
from mercer.data.stream import Stream
from mercer.errors import IndefiniteKernelError
from mercer.estimators.arguments import parameters_of, twice_refusal, unknown_refusal
from mercer.estimators.callbacks import run_as_task
from mercer.estimators.columns import warn_of_ignored, warn_of_text
from mercer.estimators.refusals import REPAIR, refuse_unproved, with_points
from mercer.estimators.streams import opened_for
from mercer.estimators.training import Training, checkpoint_of
from mercer.estimators.validation import checked_landmarks, checked_rows, checked_seed, used_rows
from mercer.functions import Function, weights_of
from mercer.gram import Gram, Repair, repair_of, unheld_gram_of
from mercer.kernels import (
    Kernel,
    PeerParameters,
    as_kernel,
    default_kernel,
    describe_columns,
    recentred,
)
from mercer.kernels.columns import placed_on_columns, takes_missing
from mercer.kernels.language.names import UNNAMED, is_auto
from mercer.kernels.tables.default import kernel_of_report
from mercer.planning import Plan, Settings
from mercer.solvers import Run, Solution
from mercer.tiles import Rows

Array = NDArray[np.float64]
Result = TypeVar("Result")
Kind = TypeVar("Kind", bound="Arguments")


class Arguments(BaseEstimator):
    """An estimator that answers an argument it does not have with what to do instead."""

    # Whether ``solver="sgd"`` learns from rows that do not fit into memory, block by block.
    learns_from_blocks: ClassVar[bool] = False

    memory: Any = None
    solver: Any = "auto"

    @property
    def _room(self) -> Any:
        """What the limit of memory leaves beside the process, None where there is no limit."""
        return None if self.memory is None else room_of(self.memory)

    def _tell_of_memory(self) -> None:
        """Warn, where a fit begins, of a limit of memory that the process has no room in."""
        if self.memory is not None:
            warn_of_limit(self.memory)

    def _opened(self, X: Any, y: Any = None, sample_weight: Any = None) -> tuple[Any, Any, Any]:
        """Return rows, targets and weights of a fit, with rows on a disk as a stream."""
        is_named = isinstance(y, str) or isinstance(sample_weight, str)
        if type(X) is np.ndarray or (is_table(X) and not is_named):
            return X, y, sample_weight
        return opened_for(self.solver, self._room, X, y, sample_weight, self.learns_from_blocks)

    def __new__(cls, *args: Any, **settings: Any) -> Self:
        """Return a new estimator, if its constructor has all arguments that it is given."""
        parameters = parameters_of(cls.__init__)
        known, name = list(parameters), cls.__name__
        for given, value in zip(known, args, strict=False):
            if given in settings:
                raise TypeError(twice_refusal(name, given, value, settings[given], known))
        unknown = [given for given in settings if given not in known]
        # A subclass with **kwargs knows by itself what it is given.
        if unknown and not any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
            raise TypeError(unknown_refusal(name, unknown[0], settings[unknown[0]], known))
        return super().__new__(cls)


def like(estimator: Arguments, kind: type[Kind], **arguments: Any) -> Kind:
    """Return another kind of estimator with some arguments, and all others that both have.

    A kernel that is given has its numbers: those beside the name of another are left out.
    """
    own = set(parameters_of(type(estimator).__init__)).intersection(parameters_of(kind.__init__))
    if "kernel" in arguments:
        own -= {"gamma", "degree", "coef0"}
    return kind(**{name: getattr(estimator, name) for name in own} | arguments)


def beside(estimator: Any) -> PeerParameters:
    """Return what an estimator was given beside the name of a kernel."""
    return PeerParameters(estimator.gamma, estimator.degree, estimator.coef0)


def kernel_for(
    kernel: Any, X: Any, beside: PeerParameters = UNNAMED, is_machine: bool = False
) -> Kernel:
    """Return the kernel of an estimator, its parts put on the columns of a table that they read.

    A part that names no columns reads all of its domain. A table of numbers alone is a matrix, to
    a kernel that names none of its columns. A warning names the columns that are not read by a
    kernel that names none.

    Parameters
    ----------
    kernel : Kernel, str or callable
        What the estimator was given; ``"auto"`` is the `default_kernel` of the rows.
    X : rows
        The training rows.
    beside, is_machine
        As in `as_kernel`.
    """
    X = X.sample if isinstance(X, Stream) else X
    k = _meant(kernel, X, beside, is_machine)
    if isinstance(X, np.ndarray) or not is_table(X):
        return k
    placed, ignored = placed_on_columns(k, X)
    if ignored:
        warn_of_ignored(k, ignored)
    return placed


def kernels_for(kernels: Sequence[Any], X: Any) -> list[Kernel]:
    """Return several kernels as `kernel_for` does, and warn of columns that none reads."""
    X = X.sample if isinstance(X, Stream) else X
    candidates = [_meant(kernel, X) for kernel in kernels]
    found = [placed_on_columns(k, X) for k in candidates]
    ignored = [column for column in found[0][1] if all(column in left for _, left in found)]
    if ignored:
        warn_of_ignored(candidates[0], ignored)
    return [placed for placed, _ in found]


def _meant(
    kernel: Any, X: Any, beside: PeerParameters = UNNAMED, is_machine: bool = False
) -> Kernel:
    if is_auto(kernel) and not beside.given:
        refuse_mapping(X)
        if isinstance(X, np.ndarray) and X.dtype.kind in "biufc":
            # What no kernel takes is refused before one is looked for.
            check_array(X, ensure_all_finite=False)
        if sp.issparse(X):
            return default_kernel(X)
        report = describe_columns(X)
        warn_of_text(report)
        return kernel_of_report(report, X)
    found = as_kernel(kernel, beside, is_machine)
    return found.remembered() if found is kernel else found


def tag_rows(tags: Tags, kernels: Sequence[Kernel]) -> None:
    """Say in the tags of an estimator which rows its kernels take; without any, all rows."""
    texts = {"categories", "sequences"}
    tags.input_tags.allow_nan = all(map(takes_missing, kernels))
    tags.input_tags.string = all(k.row_domains & texts for k in kernels)
    tags.input_tags.pairwise = any(k.is_precomputed for k in kernels)


class KernelEstimator(Arguments):
    """An estimator with a parameter ``kernel``: a Kernel, an expression, a name or a function."""

    # Whether the estimator of scikit-learn that it stands in for is a support vector machine,
    # whose defaults of gamma and coef0 are others.
    is_machine: ClassVar[bool] = False

    kernel: Any
    gamma: Any = None
    degree: Any = None
    coef0: Any = None

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name; those of the kernel are named ``kernel__length_scale``.

        A kernel is a value, so its parameters are replaced by binding a new kernel.
        """
        nested = {name: value for name, value in params.items() if name.startswith("kernel__")}
        super().set_params(**{k: v for k, v in params.items() if k not in nested})
        if nested:
            changes = {name.removeprefix("kernel__"): value for name, value in nested.items()}
            self.kernel = self._named_kernel().with_params(**changes)
            # The new kernel holds the numbers that stood beside the name of the old one.
            self.gamma = self.degree = self.coef0 = None
        return self

    def _kernel_for(self, X: Any) -> Kernel:
        """Return the kernel that is meant, for training rows."""
        return kernel_for(self.kernel, X, beside(self), self.is_machine)

    def _named_kernel(self) -> Kernel:
        return as_kernel(self.kernel, beside(self), self.is_machine)

    def _tagged_kernels(self) -> list[Kernel]:
        """Return the kernels that say which rows are taken; none of one that any rows have."""
        return [] if is_auto(self.kernel) else [self._named_kernel()]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        try:
            tag_rows(tags, self._tagged_kernels())
        except (TypeError, ValueError):
            # A kernel that means nothing is refused by fit, not when an estimator is printed.
            return tags
        return tags


class KernelMachine(KernelEstimator):
    """An estimator that predicts by its function, of which it shows the parts by their names.

    A function of several targets has a row of `dual_coef_` and `coef_` for each.
    """

    # Whether a kernel that is valid on coefficients of sum zero alone is solved with, too, where no
    # offset keeps their sum.
    takes_conditional: ClassVar[bool] = False
    fit_intercept: Any
    tol: Any
    max_iter: Any
    random_state: Any
    repair: Any
    n_landmarks: Any = None
    landmarks: Any = "rpcholesky"
    time_limit: Any = None
    checkpoint: Any = None
    function_: Function
    # The plan of a fit to rows that are to be checked, with or without targets.
    _planned: Callable[[Kernel, Any, Any], Plan]

    def _settings(self) -> Settings:
        """Return what the estimator was told about how to solve."""
        seed = None if self.random_state is None else checked_seed(self.random_state)
        given = (self.solver, self.tol, self.max_iter, seed, self._room, self.repair)
        return Settings(*given, self.n_landmarks, self.landmarks, self.time_limit)

    def _fit_settings(self, kernel: Kernel, settings: Settings) -> Settings:
        """Return settings with landmarks that are given as rows checked like training rows."""
        if isinstance(self.landmarks, str):
            return settings
        return replace(settings, landmarks=checked_landmarks(self, kernel, self.landmarks))

    def _training(
        self,
        run: Run,
        kernel: Kernel,
        rows: Rows,
        used: NDArray[np.bool_],
        weights: Array,
        problem: Any,
        planned: Callable[..., tuple[Any, Gram]],
        fallback: Any,
    ) -> Training[Any]:
        """Return what a fit works on: the rows that count, and solver and Gram matrix of the plan.

        Parameters
        ----------
        run, planned, fallback
            As in `_prepared`, with the problem as another argument by name.
        kernel : Kernel
            k, on the columns of the rows.
        rows, used
            All training rows, and which of them count.
        weights : array of shape (rows that count,)
            How many equal rows each stands for.
        problem : problem
            That of the rows that count.
        """
        counted = rows if used.all() else Rows.checked(used_rows(kernel, rows.X, used))
        kernel, settings = self._resolved(kernel, counted, weights), self._settings()
        planned = partial(planned, problem=problem)
        solver, repair = self._prepared(run, settings, kernel, counted, planned, fallback)
        return Training(rows.X, used, counted, kernel, problem, settings, solver, repair)

    def _prepared(
        self,
        run: Run,
        settings: Settings,
        kernel: Kernel,
        rows: Rows,
        planned: Callable[[Settings, Kernel, Rows], tuple[Any, Gram]],
        fallback: Any,
    ) -> tuple[Any, Repair]:
        """Return the solver, and the Gram matrix to solve with: a valid one, or its repair.

        They are those that `planned` returns for settings, kernel and rows, or `fallback`, a solver
        that needs no entry of K, where the time is up before these are there.
        """
        try:
            with run.limited():
                run.enter(f"{type(self).__name__}: planning a fit to {rows.n} rows")
                solver, gram = planned(self._fit_settings(kernel, settings), kernel, rows)
                if gram.landmarks is not None:
                    run.enter(f"{gram.landmarks.n_features} landmarks are chosen")
                if self.repair is None and (gram.landmarks is not None or not gram.is_proved):
                    on_sum_zero = self.takes_conditional and kernel.is_conditional
                    refuse_unproved(kernel, rows.X, gram, on_sum_zero)
                return solver, self._repaired(gram)
        except TimeIsUpError:
            return fallback, Repair(unheld_gram_of(kernel, rows, self._room))

    def _repaired(self, gram: Gram) -> Repair:
        """Return the Gram matrix with its negative eigenvalues repaired, if that is asked for."""
        return Repair(gram) if self.repair is None else repair_of(gram, self.repair)

    def _answer(self, run: Run, training: Training[Any], y: Any) -> Solution:
        """Return the solution of a fit; rows that show that the kernel is none are refused."""
        solver, gram, kernel = training.solver, training.repair.gram, training.kernel
        if self.checkpoint is not None:
            rows, problem = training.rows.X, training.problem
            run.checkpoint = checkpoint_of(self, solver, gram, kernel, rows, problem)
        solve = partial(solver.answer, gram, training.problem)
        try:
            return self._solved(solve, run, training.X, y, solver.iterates)
        except IndefiniteKernelError as error:
            raise with_points(error, kernel, training.rows.X, REPAIR) from None

    def _solved(
        self, solve: Callable[[Run], Result], run: Run, X: Any, y: Any, iterates: bool = True
    ) -> Result:
        """Return ``solve(run)``, as a task where scikit-learn's callbacks watch."""
        run.enter("solving")
        if getattr(self, "_skl_callbacks", None):
            return run_as_task(self, solve, run, X, y, iterates)
        return solve(run)

    def _resolved(self, kernel: Kernel, rows: Rows, weights: Any = None) -> Kernel:
        """Return the kernel with numbers for parameters that is fitted to weighted rows.

        An offset keeps the sum of the coefficients at zero: a kernel that is valid on these alone
        is replaced by one that is valid on all and gives the same function.
        """
        kernel = kernel.resolved(rows, weights).remembered()
        is_free = self.fit_intercept and self.repair is None
        return recentred(kernel, rows.X) if is_free and kernel.is_conditional else kernel

    def plan(self, X: Any, y: Any = None) -> Plan:
        """Return what `fit` would do with the rows `X`: solver, memory, time, and why.

        Nothing of the size of the Gram matrix is allocated. Print it to read it. How long working
        sets take depends on `y` as well; the time is that of problems of ordinary difficulty.

        Parameters
        ----------
        X : rows
            The training rows.
        y : array or str, optional
            Their targets or labels; without them there are as many targets as alphas, or two
            classes.
        """
        model = clone(self)
        X, y, _ = model._opened(X, y)
        return model._planned(model._kernel_for(X), X, y)

    def gradient(self, X: Any) -> Array:
        """Return the gradient of f by its input at the rows `X`, see `Function.gradient`.

        The columns are those that `fit` noted; its shape is (n, columns), or (n, columns,
        functions) if there are several.
        """
        found = self.function_.gradient(checked_rows(self, X))
        return found[:, :, 0] if found.shape[2] == 1 else found

    @property
    def dual_coef_(self) -> Array:
        """The a_i of f(x) = sum_i a_i k(x_i, x), of shape (functions, n)."""
        return np.asarray(self.function_.dual.coefficients.T)

    @property
    def coef_(self) -> Array:
        """The weights c of explicit features, f(x) = c'phi(x), of shape (functions, p).

        There are some where the kernel has features that are known and not too many: columns of
        ``"linear"``, monomials, k-grams that occur; of these ``function_.columns`` says which.
        """
        weights = weights_of(self.function_)
        if weights is None:
            raise AttributeError(
                f"{type(self).__name__} has no coef_: {self.function_.kernel!r:.100} has no "
                "explicit features, or too many; use dual_coef_"
            )
        return np.asarray(weights.T)

    @property
    def intercept_(self) -> Any:
        """b, of shape (functions,)."""
        return self.function_.intercept
