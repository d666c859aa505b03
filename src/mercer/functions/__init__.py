"""Fitted functions as values: by training rows, explicit features, points on a line; means."""

from mercer.functions.dual import DualFunction
from mercer.functions.function import Function
from mercer.functions.line import LineFunction
from mercer.functions.mean import MeanFunction
from mercer.functions.pairs import PairFunction
from mercer.functions.primal import PrimalFunction, in_features, weights_of
from mercer.functions.state import function_from_state

__all__ = [
    "DualFunction",
    "Function",
    "LineFunction",
    "MeanFunction",
    "PairFunction",
    "PrimalFunction",
    "function_from_state",
    "in_features",
    "weights_of",
]
