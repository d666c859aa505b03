"""What is left to the fit of a limit of time for the whole command."""

from __future__ import annotations

from math import ceil


def left_for_fit(limit: float, spent: float, tested: int, has_report: bool) -> float:
    """Return the seconds of a limit that a fit has beside what comes before and after it.

    It comes in twentieths of the limit, and little is not taken off: the same call has the same
    answer although reading does not take as long every time. A tenth is left in any case.

    Parameters
    ----------
    limit : float
        Seconds for the command from where it begins to read.
    spent : float
        Seconds that reading took.
    tested : int
        Rows that are going to be predicted and scored.
    has_report : bool
        Whether a page is going to be written.
    """
    # Seconds for a row to be tested and for a page, as measured, and what is little.
    each, page = 2e-5, 3.0
    little = 0.02 * limit + 0.2
    steps, least = 20, 2
    over = max(spent + each * tested + page * has_report - little, 0.0)
    return limit * max(steps - ceil(steps * over / limit), least) / steps
