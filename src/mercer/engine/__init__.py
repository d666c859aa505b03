"""Tiles: symbolic formulas, compiled to short programs, run natively or by the NumPy twin."""

from mercer.engine.choose import describe, reduce
from mercer.engine.evaluate import apply, diagonal, evaluate
from mercer.engine.program import Program, compile_expression
from mercer.engine.reduced import NotPositiveError, Reduced, Shifted
from mercer.engine.rows import Rows
from mercer.engine.tile import Expression, Tile

__all__ = [
    "Expression",
    "NotPositiveError",
    "Program",
    "Reduced",
    "Rows",
    "Shifted",
    "Tile",
    "apply",
    "compile_expression",
    "describe",
    "diagonal",
    "evaluate",
    "reduce",
]
