"""Derivatives of formulas on tiles: by their leaves and constants, by rows, by parameters."""

from mercer.tiles.derivative.adjoints import Place, adjoints, nodes
from mercer.tiles.derivative.gradient import input_gradient
from mercer.tiles.derivative.sums import Contraction

__all__ = ["Contraction", "Place", "adjoints", "input_gradient", "nodes"]
