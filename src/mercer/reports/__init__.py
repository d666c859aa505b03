"""Pictures of models and of how they were chosen."""

from mercer.reports.decision import DecisionDisplay
from mercer.reports.effect import EffectDisplay
from mercer.reports.fit import FitDisplay
from mercer.reports.gram import GramDisplay
from mercer.reports.importance import ImportanceDisplay
from mercer.reports.kernel import KernelDisplay
from mercer.reports.learning import LearningDisplay
from mercer.reports.selection import SelectionDisplay
from mercer.reports.spectrum import SpectrumDisplay
from mercer.reports.sweep import GammaSweepDisplay

__all__ = [
    "DecisionDisplay",
    "EffectDisplay",
    "FitDisplay",
    "GammaSweepDisplay",
    "GramDisplay",
    "ImportanceDisplay",
    "KernelDisplay",
    "LearningDisplay",
    "SelectionDisplay",
    "SpectrumDisplay",
]
