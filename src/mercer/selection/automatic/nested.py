"""Candidates of a small table judged again, in folds without which they are learned anew."""

from __future__ import annotations

from mercer.native.lapack import one_blas_thread
from mercer.selection.automatic.board import Candidate, Leaderboard
from mercer.selection.automatic.cross_fit import CrossFit, Folds
from mercer.selection.automatic.plans import cross_fit_work
from mercer.selection.automatic.search import KernelSearch
from mercer.solvers import Run


def nested(
    search: KernelSearch, board: Leaderboard, folds: Folds, run: Run
) -> tuple[CrossFit, Leaderboard] | None:
    """Return the best candidates judged in folds in which their scales are learned again.

    There is None where no scale is learned, or it is counted to take longer than there is time.

    Parameters
    ----------
    search : KernelSearch
        The search, of which all rows are in the folds.
    board : Leaderboard
        What it found.
    folds : sequence of (rows to fit to, rows to score)
        The folds.
    run : Run
        When to end.
    """
    rivals = _rivals(board)
    if not any(c.is_learned for c in rivals):
        return None
    if run.time_limit is not None:
        recipes = [c.recipe if c.is_learned else None for c in rivals]
        if not run.has(cross_fit_work(search, recipes, len(folds)).expected):
            return None
    run.enter(f"nested cross-validation: learning the best without each of {len(folds)} folds")
    # Threads of the BLAS gain little on these rows, and lose much where others use the machine.
    with one_blas_thread():
        crossed = CrossFit.of(search, rivals, folds, run)
        if crossed is None:
            return None
        ranked = crossed.ranked(board, rivals, any(c.parts for c in board))
    return None if ranked is None else (crossed, ranked)


def _rivals(board: Leaderboard) -> list[Candidate]:
    """Return the candidates of one kernel that folds decide between.

    They are the best one, those of a mean, and the best one that is not learned.
    """
    one = board.without_means()[0]
    parts = [part for c in board for part in c.parts]
    plain = [c for c in board if not (c.is_learned or c.parts) and c.rows == one.rows]
    return list({c.name: c for c in (one, *parts, *plain[:1])}.values())
