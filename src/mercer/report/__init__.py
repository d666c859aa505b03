"""Pictures of models and of how they were chosen."""

from mercer.report.decision import DecisionDisplay
from mercer.report.selection import SelectionDisplay
from mercer.report.sweep import GammaSweepDisplay

__all__ = ["DecisionDisplay", "GammaSweepDisplay", "SelectionDisplay"]
