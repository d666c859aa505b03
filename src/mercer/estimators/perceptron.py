"""The kernel perceptron."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from mercer.data.checks import checked_positive
from mercer.data.columns import stack_rows, take_rows
from mercer.errors import ConvergenceWarning, warn_caller
from mercer.estimators.callbacks import CallbackSupportMixin
from mercer.estimators.classes import (
    Labelled,
    class_weighted,
    decided,
    one_against_rest,
    refuse_balanced,
)
from mercer.estimators.estimator import KernelMachine
from mercer.estimators.score import Classification
from mercer.estimators.streams import read
from mercer.estimators.training import checked_for_plan
from mercer.estimators.validation import (
    checked_block,
    checked_rows,
    checked_seed,
    is_first_call,
    training_subset,
)
from mercer.functions import DualFunction
from mercer.gram import Gram, gram_of, unheld_gram_of
from mercer.planning import Plan, Settings
from mercer.planning.perceptron import check_passes, matrix_share, perceptron_plan
from mercer.solvers import Certificate, Perceptron, PerceptronProblem, Run
from mercer.solvers.online.budget import Basis
from mercer.solvers.online.perceptron import Tally, margins, novikoff_bound
from mercer.solvers.online.solver import PerceptronSolution

Array = NDArray[np.float64]


@dataclass(eq=False, repr=False)
class KernelPerceptron(CallbackSupportMixin, Classification, KernelMachine):
    """The perceptron with a kernel: rows it is wrong about are added until there are none.

    It starts at f = 0 and visits the rows in order. Where y_i f(x_i) <= 0 it has made a mistake,
    counts it, alpha_i += 1, and adds the row: f += eta y_i k(x_i, .). There is no offset; add
    a `Constant` to the kernel for one. Of more than two classes each is told from the rest.

    Parameters
    ----------
    kernel : Kernel, str or callable
        k: a kernel, an expression, a name of scikit-learn or a function k(X, Z) -> (n, m).
        ``"auto"`` is the `mercer.default_kernel` of the training rows.
    eta : float
        The size of a step, which scales f and changes no prediction.
    averaged : bool
        Whether the answer is the mean of f over all steps, a step being a row visited; else it is
        f after the last one.
    max_epochs : int
        The most passes over the rows. It is over as soon as one of them has no mistake.
    shuffle : bool
        Whether every pass has a random order of its own; else it is the order given.
    budget : int, optional
        The most rows in the sum, see the notes. By default there is no limit.
    class_weight : None, dict or "balanced"
        Factors of the weights of the rows of each class; a class of factor zero is left out.
    memory : int or str, optional
        The limit for the Gram matrix, in bytes or as ``"4GB"``; a share of the free memory by
        default. Beyond it entries are computed beside mistakes only, and not stored.
    time_limit : float, optional
        Seconds after which `fit` returns what it has, with a warning. So does the first Ctrl-C.
    random_state : int, RandomState or None
        Seed of the orders; None is always the same one.
    gamma, degree, coef0 : optional
        As of `KernelRidge`.

    Attributes
    ----------
    classes_ : array
        The classes in order.
    kernel_ : Kernel
        k with numbers for parameters.
    function_ : Function
        f as a value, of which `support_vectors_` and `dual_coef_` are parts.
    support_ : array of shape (s,)
        The rows in the sum, by their number in `X`, or since the first `partial_fit`.
    support_vectors_ : rows
        The rows themselves.
    dual_coef_ : array of shape (1, s) or (classes, s)
        a in f(x) = sum_i a_i k(x_i, x); it carries the signs y_i.
    counts_ : array of shape (1, s) or (classes, s), or None
        alpha, the mistakes made at these rows; None with a budget, which blends them.
    mistakes_ : int
        The number of all mistakes, in all problems of one class against the rest.
    margin_ : float or None
        min_i y_i f(x_i) / ||f|| of the last f, the least of all problems, if the classes separate:
        if the last pass had no mistake. None if they do not, after `partial_fit` and with a budget.
    novikoff_bound_ : float or None
        (R / margin)^2, R^2 = max k(x, x), the most mistakes that there can be on rows that have
        such a margin, summed over all problems; times the squared ratio of the largest to the
        smallest weight of a row, that of its class included. None as above.
    certificate_ : Certificate
        The number of mistakes in the last pass over the rows, satisfied by none: then the last f
        separates them, one class from the rest. Infinite where that pass was broken off. There is
        no exact f to be near to, and so no bound.
    n_iter_ : int
        The number of passes.
    n_seen_ : int
        The number of rows seen so far.
    n_features_in_, feature_names_in_
        The columns seen in `fit`.

    Notes
    -----
    A row of weight w takes steps of eta w instead of eta, and a row of weight zero is as good as
    absent. Equal weights scale f and change no prediction. A whole weight is not the same as that
    many equal rows: these would be visited one after the other, in steps of eta each, for as long
    as f is wrong about them.

    The kernel may be any symmetric function: a mistake adds a row of it, whatever its sign, and no
    kernel is refused for being indefinite. That there are finitely many mistakes on classes which
    separate is known of positive semi-definite kernels only.

    With a budget a mistake adds its row all the same, unless it lies in the span of those kept.
    If there is one row too many, f is replaced by the closest function, in the norm of the
    kernel's space, that uses one row fewer: the row r of the least a_r^2 / Q_rr goes,
    Q = K_SS^-1, and its part is put on the others. It takes O(budget^2) for every mistake.
    """

    kernel: Any = "gaussian"
    eta: float = 1.0
    averaged: bool = True
    max_epochs: int = 100
    _: KW_ONLY
    shuffle: bool = False
    budget: int | None = None
    class_weight: Any = None
    memory: Any = None
    time_limit: float | None = None
    random_state: Any = None
    gamma: float | str | None = None
    degree: int | None = None
    coef0: float | None = None

    margin_: float | None = field(init=False)
    novikoff_bound_: float | None = field(init=False)
    function_: DualFunction = field(init=False)
    _state_: Tally | Basis = field(init=False)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Visit the rows `X` with labels `y` until there is no mistake.

        Parameters
        ----------
        X : rows
            An array, CSR matrix, table or list; for a precomputed kernel the Gram matrix.
        y : array of shape (n,)
            The labels.
        sample_weight : float or array of shape (n,), optional
            w, the factors of eta; a row of weight zero is as good as absent.
        """
        self._tell_of_memory()
        run = Run(self.time_limit)
        X, y, sample_weight = read(type(self).__name__, self._room, X, y, sample_weight)
        kernel = self._kernel_for(X)
        data = Labelled.of(self, kernel, X, y, sample_weight)
        X, codes, classes, weights = data.rows.X, data.codes, data.classes, data.weights
        checked_positive("eta", self.eta)
        steps = class_weighted(weights, self.class_weight, codes, classes)
        used = np.flatnonzero(steps > 0.0)
        if not len(used):
            raise ValueError(
                f"class_weight is zero for every row, got {self.class_weight!r}; at least one "
                "class must count"
            )
        rows = X if len(used) == len(codes) else training_subset(kernel, X, used)
        signs = one_against_rest(codes[used], len(classes)) * steps[used, None]

        check_passes(len(used), signs.shape[1], self._room)
        kernel = kernel.resolved(rows, weights[used])
        share = matrix_share(self._settings(), kernel, rows, self.budget)
        gram = run.attempt(
            lambda: gram_of(kernel, rows, self._room, share),
            lambda: unheld_gram_of(kernel, rows, self._room),
        )
        seed = checked_seed(self.random_state) or 0
        solver = Perceptron(self.max_epochs, self.shuffle, seed, self.budget)
        problem = PerceptronProblem(signs, self._fresh(signs.shape[1]))
        solution = self._solved(partial(solver.solve, gram, problem), run, X, y, solver.iterates)

        self.classes_, self.kernel_, self.mistakes_ = classes, kernel, 0
        support, a = self._learnt(solution)
        self._measure(solution, gram, steps[used])
        self._certify(solution)
        self.support_ = used[support]
        columns = self.support_ if kernel.is_precomputed else None
        rows = training_subset(kernel, rows, support)
        self.function_ = DualFunction(kernel, rows, a, np.zeros(a.shape[1]), columns)
        self.n_seen_, self.n_iter_ = len(codes), solution.iterations
        self._warn(solution)
        return self

    def plan(self, X: Any, y: Any = None) -> Plan:
        """Return what `fit` would do with the rows `X`: memory, time, and why.

        The time is that of all passes, as over classes that do not quite separate.

        Parameters
        ----------
        X : rows
            The training rows.
        y : array of shape (n,), optional
            Their labels; without them two classes.
        """
        X, y, _ = read(type(self).__name__, self._room, X, y)
        kernel = self._kernel_for(X)
        data = checked_for_plan(clone(self), kernel, X, y)
        classes = len(data.classes)
        problems = classes if classes > 2 else 1
        given = (self._settings(), kernel.resolved(data.rows), data.rows.X, problems)
        return perceptron_plan(*given, self.max_epochs, self.budget)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Visit further rows once, in order.

        A rule such as ``"median"`` is resolved on the rows of the first call.

        Parameters
        ----------
        X : rows
            An array, CSR matrix, table or list.
        y : array of shape (n,)
            Their labels.
        classes : array, optional
            All classes that there will be; needed in the first call only.
        sample_weight : float or array of shape (n,), optional
            w, the factors of eta; a row of weight zero is as good as absent.
        """
        is_first = is_first_call(self)
        if is_first:
            self._tell_of_memory()
        kernel = self._kernel_for(X) if is_first else self.kernel_
        if kernel.is_precomputed:
            raise ValueError(
                f"partial_fit cannot compare further rows with those it knows by {kernel!r}; "
                "use fit"
            )
        refuse_balanced(self.class_weight)
        checked_positive("eta", self.eta)
        rows = checked_block(self, kernel, X)
        data, X = Labelled.more(self, rows, y, classes, sample_weight), rows.X
        codes, named, steps = data.codes, data.classes, data.weights
        if is_first:
            count, mistakes, before = 0, 0, np.empty(0, np.intp)
            state = self._fresh(1 if len(named) == 2 else len(named))
            present = np.flatnonzero(data.copies)
            kernel = kernel.resolved(take_rows(X, present), data.copies[present])
        else:
            count, mistakes, before = self.n_seen_, self.mistakes_, self.support_
            state = self._state_
        numbers = np.append(before, count + np.arange(len(codes)))
        used = np.flatnonzero(steps > 0.0)
        new = take_rows(X, used)
        signs = one_against_rest(codes[used], len(named)) * steps[used, None]

        known = len(before)
        check_passes(known + len(used), signs.shape[1], self._room)
        rows = stack_rows(self.support_vectors_, new) if known else new
        gram = gram_of(kernel, rows, self._room, share=0.0)
        self._refuse_other(state)
        problem = PerceptronProblem(signs, state, known)
        solution = Perceptron(max_epochs=1, budget=self.budget).solve(gram, problem)

        self.classes_, self.kernel_, self.mistakes_ = named, kernel, mistakes
        support, a = self._learnt(solution)
        self.margin_ = self.novikoff_bound_ = None
        self._certify(solution)
        self.function_ = DualFunction(kernel, take_rows(rows, support), a, np.zeros(a.shape[1]))
        self.support_ = numbers[np.append(np.arange(known), known + used)[support]]
        self.n_seen_, self.n_iter_ = count + len(codes), 1
        if solution.is_interrupted:
            warn_caller(
                "Ctrl-C ended the pass, and some of the rows were not visited", ConvergenceWarning
            )
        return self

    def decision_function(self, X: Any) -> Array:
        """Return f(x) at the rows `X`: shape (n,), or (n, classes) if there are more than two."""
        X = checked_rows(self, X)
        scores = self.function_(X)
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the classes of the rows `X`: of two by the sign of f, else of the largest f."""
        codes = decided(self.decision_function(X))
        return np.asarray(self.classes_[codes])

    def _settings(self) -> Settings:
        return Settings(memory=self._room, time_limit=self.time_limit)

    def _fresh(self, problems: int) -> Tally | Basis:
        """Return what is known at f = 0."""
        is_free = self.budget is None
        return Tally.fresh(np.empty((problems, 0))) if is_free else Basis.empty(problems)

    def _refuse_other(self, state: Tally | Basis) -> None:
        """Refuse to go on from what was learned with a budget without one, or the other way."""
        if isinstance(state, Basis) != (self.budget is not None):
            before = "a number" if self.budget is None else "None"
            raise ValueError(
                f"budget was {before} in the first call and is {self.budget!r}; use fit, or a copy"
            )

    def _learnt(self, solution: PerceptronSolution) -> tuple[NDArray[np.intp], Array]:
        """Store the mistakes, and return which rows of the Gram matrix f needs, and its a."""
        if isinstance(solution.state, Basis):
            basis = solution.state
            support, coefficients = basis.rows, basis.mean() if self.averaged else basis.last
            self._state_ = replace(basis, rows=np.arange(len(support)))
            self.mistakes_ += int(solution.mistakes.sum())
            self.counts_ = None
        else:
            support = solution.state.support
            self._state_ = tally = solution.state.on(support)
            coefficients = (tally.mean() if self.averaged else tally.last()).T
            self.mistakes_ = int(tally.counts.sum())
            self.counts_ = tally.counts
        return support, self.eta * coefficients

    @property
    def support_vectors_(self) -> Any:
        """The rows in the sum."""
        return self.function_.rows

    def _measure(self, solution: PerceptronSolution, gram: Gram, steps: Array) -> None:
        """Store the margin and the bound on mistakes that follows from it, if there is one."""
        self.margin_ = self.novikoff_bound_ = None
        state, values = solution.state, solution.values
        if isinstance(state, Basis) or values is None or not solution.is_separated.all():
            return
        found = margins(state, values)
        # A margin of an indefinite kernel, or one that is all rounding, bounds nothing.
        if (found > 0.0).all():
            self.margin_ = float(found.min())
            self.novikoff_bound_ = novikoff_bound(found, float(gram.diagonal().max()), steps)

    def _certify(self, solution: PerceptronSolution) -> None:
        """Store whether the last pass separates the rows: a perceptron minimises nothing else."""
        self.certificate_ = Certificate(
            "mistakes in the last pass",
            float(solution.last_mistakes.sum()),
            0.0,
            np.inf,
            self.kernel_.diagonal,
            "perceptron",
        )

    def _warn(self, solution: PerceptronSolution) -> None:
        reason = solution.advice
        if not (reason or solution.is_separated.all() or self.averaged):
            reason = "the last f depends on where it stopped; use averaged=True or more max_epochs"
        if not reason:
            return
        warn_caller(
            f"the classes do not separate after {solution.iterations} passes and {self.mistakes_} "
            f"mistakes: {reason}",
            ConvergenceWarning,
        )
