"""Pictures of models and of how they were chosen."""

from mercer.reports.decision import DecisionDisplay
from mercer.reports.learning import LearningDisplay
from mercer.reports.selection import SelectionDisplay
from mercer.reports.sweep import GammaSweepDisplay

__all__ = ["DecisionDisplay", "GammaSweepDisplay", "LearningDisplay", "SelectionDisplay"]
