"""What a fitted model has learned: its columns, directions, categories and k-grams as a table."""

from mercer.explanation.effects import Effect, effect_of
from mercer.explanation.explain import explain
from mercer.explanation.table import Explanation, Row

__all__ = ["Effect", "Explanation", "Row", "effect_of", "explain"]
