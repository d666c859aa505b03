"""What solves a problem, in which form of the Gram matrix, and what that takes: counted once.

A choice is a pure function of sizes, the formula and the level of the processor, so that the same
call takes the same route and gives the same bits; no clock is asked. Seconds are for the reader of
a `Plan` alone.
"""

from mercer.planning.components import components_plan, planned_components
from mercer.planning.logistic import (
    logistic_plan,
    logistic_work,
    planned_logistic,
    wants_factor,
)
from mercer.planning.margin import margin_plan, planned_margin
from mercer.planning.parts import logistic_part, ridge_part
from mercer.planning.plan import Plan, Settings
from mercer.planning.ridge import planned_ridge, ridge_plan, ridge_work

__all__ = [
    "Plan",
    "Settings",
    "components_plan",
    "logistic_part",
    "logistic_plan",
    "logistic_work",
    "margin_plan",
    "planned_components",
    "planned_logistic",
    "planned_margin",
    "planned_ridge",
    "ridge_part",
    "ridge_plan",
    "ridge_work",
    "wants_factor",
]
