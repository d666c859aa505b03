"""Sequential minimal optimisation with working-set selection and shrinking."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mercer.data.blocks import LARGE
from mercer.gram import Gram
from mercer.native.lapack import one_blas_thread
from mercer.native.smo import Effort, SolverState, minimise
from mercer.solvers.contract import Solution
from mercer.solvers.margin.active_set import NewtonStep, polished
from mercer.solvers.margin.decision_values import Values, write_rows
from mercer.solvers.margin.interior import interior_point, pivoted_factor
from mercer.solvers.margin.problem import Gap, MarginProblem, MarginSolver
from mercer.solvers.margin.screening import Screening
from mercer.solvers.margin.stages import Stage, StageState, Tolerance
from mercer.solvers.run import Progress, Run

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

# What to do where the tolerance is less than rounding hides.
LOST = "the gap is lost in rounding; lower C, scale the columns or raise tol"


@dataclass(frozen=True)
class SMO(MarginSolver):
    """Solve a margin problem in its dual by pairs of coefficients, to a relative duality gap.

    Rows of K are taken in float32 while the gradient is kept in float64; the gap is measured with
    K in float64, and what float32 leaves over is refined. Of many rows, those far from the kinks of
    the loss keep their coefficient at its bound while the others, the active set, are solved for
    (shrinking); the gap is always that of all rows. Where pairs converge slowly, as if C is large
    beside the targets, and rows are few, an interior point takes over. Ctrl-C, the time limit and
    the steps allowed end with what there is.

    Parameters
    ----------
    tol : float
        Relative duality gap to reach.
    max_iter : int, optional
        Working sets and steps of an interior point allowed; no limit by default.
    working_set : int, optional
        Coefficients that are solved for together; 256 by default, or 128 of a pair of classes.
    max_steps : int, optional
        Steps of pairs allowed, 3e7 or 1000 for each row by default: C = 1e20 may be out of reach.

    References
    ----------
    C.-C. Chang and C.-J. Lin (2011), LIBSVM: a library for support vector machines.
    """

    iterates: ClassVar[bool] = True
    name: ClassVar[str] = "smo"
    # The share of the tolerance that pairs are solved to: the last digits take few per cent of the
    # time, and the predictions of two solvers agree by them.
    pair_share: ClassVar[float] = 0.1
    # Rows whose Gram matrix is computed as a whole: few enough that its symmetric half costs less
    # than groups of rows, each of which packs all others.
    whole_rows: ClassVar[int] = 6400
    # Bytes of rows that are kept: memory that was never touched is dearer than to compute again.
    store_bytes: ClassVar[int] = 384 << 20
    # The shares of the limit of memory that these take, and those that are computed at a time: half
    # of it is left to Newton steps, which need other rows.
    store_share: ClassVar[float] = 3 / 8
    block_share: ClassVar[float] = 1 / 16
    # Rows up to which the last digits are had as well, so that whole weights and rows that are
    # repeated give the same predictions; the gaps on the way there, and the working sets spent for
    # each.
    few_rows: ClassVar[int] = 128
    fine_gaps: ClassVar[tuple[float, float, float]] = (1e-8, 1e-11, 1e-14)
    fine_rounds: ClassVar[int] = 30
    # The relative gap that is but rounding.
    rounding_gap: ClassVar[float] = 1e-12
    # Steps allowed, and for each row if that is more: three and ten times those of LIBSVM.
    least_steps: ClassVar[int] = 30_000_000
    steps_each: ClassVar[int] = 1000
    # Rows up to which an interior point takes over, the steps before that, multiplications of a
    # factor of K in the time of a step, and how many times as many steps follow where it fails.
    interior_rows: ClassVar[int] = 2000
    pause: ClassVar[int] = 200_000
    multiplied: ClassVar[int] = 40
    again: ClassVar[int] = 10
    # Rounds of screening and refinement, and how many of them may pass without much progress.
    stages: ClassVar[int] = 30
    patience: ClassVar[int] = 3

    tol: float = 1e-3
    max_iter: int | None = None
    working_set: int | None = None
    max_steps: int | None = None

    def _solved(self, gram: Gram, problem: MarginProblem, run: Run) -> Solution:
        """Return the coefficients of shape (n, 1), offset and gap of shape (1,)."""
        state = _State(gram, problem, self, run)
        # Of many rows few are free, unless there is a tube: too few for more threads of the BLAS.
        few_are_free = state.screening is not None and problem.epsilon == 0.0
        with one_blas_thread() if few_are_free else nullcontext():
            with run.guarded(lambda: state.rounds > 0):
                state.finish()
            # Without the time to measure it f has the digits that steps need.
            gap = run.measured(state.proved) or state.values.unproved()
        advice = run.advice(f"{state.rounds} working sets", self._advice(state))
        return problem.solution(state.values.a, gap, self.tol, state.rounds, "smo", advice)

    def _advice(self, state: _State) -> str:
        if state.reason == "rounds":
            return f"max_iter was reached; raise max_iter (now {self.max_iter})"
        if state.reason == "steps":
            return f"and {state.steps} steps it is far from done; lower C or scale targets up"
        return LOST


@dataclass(eq=False)
class _State:
    """One solve: the coefficients and their values, and what was spent on them."""

    gram: Gram
    problem: MarginProblem
    settings: SMO
    run: Run
    values: Values = field(init=False)
    screening: Screening | None = field(init=False)
    _damping: float | None = None
    _gap: float = np.inf
    # The gap that was measured last, while it is that of the coefficients.
    _proved: Gap | None = None
    # The stage of which states are kept, as those of what follows it take little time.
    _stage: Stage | None = None
    rounds: int = 0
    steps: int = 0
    reason: str = "converged"
    _allowed: int = field(init=False)
    _most: int = field(init=False)

    def __post_init__(self) -> None:
        # Few rows are solved for in float64. What float32 does not hold is refused all the same.
        if self._is_few:
            self.gram.check_single()
        single = self.gram if self._is_few else self.gram.single()
        self.values = Values(self.gram, single, self.problem)
        n, rules = len(self.problem.z), self.settings
        least = Screening.least_rows_in_tube if self.problem.epsilon else Screening.least_rows
        self.screening = Screening(self.values, self.run) if n > least else None
        self._most = rules.max_steps or max(rules.least_steps, rules.steps_each * n)
        is_small = n <= rules.interior_rows and self.gram.has_room(24 * n * n)
        self._allowed = min(rules.pause, self._most) if is_small else self._most

    @property
    def _is_few(self) -> bool:
        """Whether the last digits are had as well."""
        return len(self.problem.z) <= self.settings.few_rows

    def proved(self) -> Gap:
        """Return the largest gap there may be, for all that rounding hides."""
        if not self._is_few:
            return self._proved or self.values.certified()
        # Few rows take many steps, the rounding of which adds up in f = K a.
        a = self.values.a
        return self.problem.proved(a, self.gram.product(a), self.gram.diagonal())

    def finish(self) -> None:
        """Solve to the tolerance, or as far as the run allows."""
        tol, goal = self.settings.tol, self.settings.pair_share * self.settings.tol
        begun = self._restored()
        number, active, tolerance, slow = self._first(goal) if begun is None else begun.stage
        for stage in range(number, self.settings.stages):
            self._stage = Stage(stage, active, tolerance, slow)
            self._improve(active, tolerance, begun)
            self._stage = begun = None
            if self.reason == "steps" and self._allowed < self._most:
                self._take_over(tolerance)
            gap, is_certified = self._measured(active)
            if is_certified and (gap.relative <= tol or self._is_over()):
                self._proved = gap
                break
            slow, is_double = slow + 1 if gap.relative > 0.5 * self._gap else 0, tolerance.is_double
            if slow and active is None:
                # What is left over is the rounding of float32, or of float64.
                if is_double:
                    break
                is_double = True
                self.values.exact()
            self._gap = min(self._gap, gap.relative)
            # Where screening does not get on, all rows are active.
            is_stuck = slow > self.settings.patience
            active = None if is_stuck else self._active(gap)
            near = goal if active is None else max(goal, Screening.left_gap * gap.relative)
            tolerance = Tolerance(near, gap.scale, is_double)
        else:
            self._proved = gap = self.values.certified()
        if self._is_few and not self._is_over():
            self._polish(gap)

    def _first(self, goal: float) -> Stage:
        """Return the first stage, from the start of the problem or one of its own."""
        start = self.problem.start
        if start is not None and start.any():
            self.values.add(np.arange(len(start)), self.problem.feasible(start))
            gap = self.values.gap
            return Stage(0, self._active(gap), Tolerance(goal, gap.scale, self._is_few))
        active = None if self.screening is None else self.screening.start()
        first = goal if active is None else max(goal, Screening.first_gap)
        return Stage(0, active, Tolerance(first, 0.0, self._is_few))

    def _restored(self) -> StageState | None:
        """Go on from what an earlier run has left, and return how far its last stage had come."""
        file, kept = self.run.checkpoint, self.run.restored()
        begun = None if kept is None else StageState.of(kept)
        if file is None or kept is None or begun is None:
            return None
        if not begun.is_of(self.values, kept):
            file.refuse()
        self.values.restore(kept)
        self.rounds, self.steps, self._allowed = kept["spent"].tolist()
        self._gap = float(kept["gap"])
        return begun

    def _leave(self, stage: StageState) -> None:
        """Leave what the next working set begins from."""
        spent = {"spent": np.array([self.rounds, self.steps, self._allowed])}
        self.run.keep({**stage.state(), **self.values.state(), **spent, "gap": np.array(self._gap)})

    def _take_over(self, tolerance: Tolerance) -> None:
        """Go on by an interior point once pairs have taken as long as it would."""
        K = self.gram.fresh()
        F = pivoted_factor(K.copy())
        worth = max(F.size * F.shape[1] // self.settings.multiplied, self.steps)
        self._allowed = min(worth, self._most)
        self._improve(None, tolerance)
        if self.reason != "steps":
            return

        most = self.settings.max_iter or np.inf

        def watch(a: Array) -> bool:
            self.rounds += 1
            is_over = self.run.report(self.rounds, self.problem.gap(a, K @ a).relative)
            return is_over or self.rounds >= most

        found = [interior_point(F, self.problem, tolerance.gap, watch), self.values.a]
        best = min(self.problem.gap(a, K @ a).relative for a in found)
        if best > self.settings.tol and not self.run.ended_by and self.rounds < most:
            self._allowed = min(self.settings.again * worth, self._most)
            # Float32 may be what kept pairs from getting on.
            self.values.replace(found[-1], K @ found[-1], True)
            self._improve(None, tolerance._replace(is_double=True))
            found.append(self.values.a)
        # Many steps are rounded in the values that are kept along.
        gap, a = min(((self.problem.gap(a, K @ a), a) for a in found), key=lambda pair: pair[0].gap)
        self.values.replace(a, K @ a, True)
        ending = "rounding" if self.rounds < most else "rounds"
        self.reason = "converged" if gap.relative <= self.settings.tol else ending

    def _measured(self, active: Rows | None) -> tuple[Gap, bool]:
        """Return the gap, and whether it is that of float64.

        Of many rows it is not before float32 has told all it can.
        """
        if self.screening is not None and not self._is_over():
            gap = self.values.gap
            if self.screening.has_more(gap.relative, self._gap, self.settings.tol, active):
                return gap, False
        return self.values.certified(), True

    def _active(self, gap: Gap) -> Rows | None:
        """Return the rows that may have to move, or None for all."""
        return None if self.screening is None else self.screening.active(gap)

    def _polish(self, gap: Gap) -> None:
        """Find the last digits, which few rows give for little."""
        for goal in self.settings.fine_gaps:
            better = polished(self.gram, self.problem, self.values.a)
            if better is not None:
                finer = self.problem.gap(*better)
                if finer.gap <= gap.gap:
                    self.values.replace(*better, True)
                    gap = finer
                # More than rounding is left over where the free rows are others.
                if gap.relative <= self.settings.rounding_gap:
                    return
            rounds = self.rounds + self.settings.fine_rounds
            self._improve(None, Tolerance(goal, 0.0, True, rounds))
            gap = self.values.gap
            if self.reason != "converged":
                # Which rows are free is not found out for little.
                self.reason = "converged" if self.reason in ("rounds", "stalled") else self.reason
                break

    def _is_over(self) -> bool:
        return self.reason in ("rounds", "steps", "rounding") or bool(self.run.ended_by)

    def _improve(
        self, active: Rows | None, tolerance: Tolerance, begun: StageState | None = None
    ) -> None:
        """Solve for the active rows with all others held fixed, from where an earlier run was."""
        values, z, self._proved = self.values, self.problem.z, None
        rows: Any = slice(None) if active is None else active
        a, g = values.a[rows].copy(), (values.f - z)[rows]
        solver = None
        if begun is not None:
            a, g, solver, self._damping = begun.a, begun.g, begun.solver, begun.damping
        problem = self.problem if active is None else self.problem.on(active)
        with self.run.guarded():
            self._minimise(active, problem, a, g, tolerance, solver)
        if active is None:
            values.replace(a, g + z, tolerance.is_double)
        else:
            values.add(active, a - values.a[active])

    def _minimise(
        self,
        active: Rows | None,
        problem: MarginProblem,
        a: Array,
        g: Array,
        tolerance: Tolerance,
        solver: SolverState | None,
    ) -> None:
        source = self.gram if tolerance.is_double else self.values.single
        gram = source if active is None else source.part(active)
        n, itemsize = len(a), gram.dtype.itemsize
        limit = min(self.settings.max_iter or tolerance.max_rounds, tolerance.max_rounds)
        effort = Effort(
            tolerance.gap,
            tolerance.floor,
            float(gram.diagonal().max()),
            limit - self.rounds,
            self._allowed - self.steps,
            self.run.seconds_left,
            None if self.run.is_main else 1,
            self.run.is_main,
        )
        K: Any
        index = None
        if gram.stored is not None:
            K, index = gram.stored
        elif gram.held_bytes or (n < self.settings.whole_rows and gram.has_room(gram.dense_bytes)):
            K = gram.dense()
        else:
            most_entries = min(LARGE, self.settings.block_share * gram.memory / itemsize)
            K = partial(write_rows, gram, max(1, int(most_entries) // n))
        capacity, together = 0, self.settings.working_set or (256 if index is None else 128)
        if index is not None or not isinstance(K, np.ndarray):
            # Rows that are asked for, or packed out of a larger matrix, are kept.
            room = int(self.settings.store_share * gram.memory)
            capacity = min(self.settings.store_bytes, room) // (n * itemsize)
            # A working set has to fit in.
            together = max(min(together, room // (n * itemsize)), min(together, 16))
        solver = solver or SolverState.initial(n, together)
        step = NewtonStep(
            partial(self._entries, active), gram, problem, a, g, self._damping, self.run.is_over
        )
        ending = minimise(
            K,
            problem.box,
            a,
            g,
            effort,
            self.run.stop,
            self._report(a, g, solver, step),
            itemsize == 4,
            capacity,
            together,
            step,
            index,
            solver,
        )
        self.rounds += ending.rounds
        self.steps += ending.steps
        self.reason = ending.reason
        if ending.reason == "interrupt":
            self.run.interrupt()
        elif ending.reason in ("time", "progress"):
            self.run.ended_by = ending.reason
        self._damping = step.damping

    def _entries(self, active: Rows | None, rows: Rows) -> Array:
        """Return K in float64 at some of the active rows."""
        return self.gram.part(rows if active is None else active[rows]).fresh()

    def _report(self, a: Array, g: Array, solver: SolverState, step: NewtonStep) -> Progress | None:
        before, run, stage = self.rounds, self.run, self._stage
        is_kept = run.checkpoint is not None and stage is not None
        if run.progress is None and not is_kept:
            return None

        def report(rounds: int, gap: float) -> bool:
            if is_kept and stage is not None:
                self._leave(StageState(stage, a, g, solver, step.damping))
            return bool(run.progress and run.progress(before + rounds, gap)) or bool(run.ended_by)

        return report
