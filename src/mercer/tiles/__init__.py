"""Tiles: symbolic formulas, compiled to short programs, run natively or by the NumPy twin."""

from mercer.tiles.evaluate import apply, diagonal, difference_forms, evaluate, residuals
from mercer.tiles.program import Program, compile_expression, compiled
from mercer.tiles.rows import Rows
from mercer.tiles.tile import Expression, Tile

__all__ = [
    "Expression",
    "Program",
    "Rows",
    "Tile",
    "apply",
    "compile_expression",
    "compiled",
    "diagonal",
    "difference_forms",
    "evaluate",
    "residuals",
]
