"""A graph of primitive operations on tensors, as it is built up."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Node(NamedTuple):
    """One operation: the tensor `output` is that of the inputs, by their names."""

    operation: str
    inputs: tuple[str, ...]
    output: str
    attributes: dict[str, Any]


@dataclass
class Graph:
    """Operations in the order in which they run, and the constants that they read.

    Parameters
    ----------
    prefix : str
        What names of tensors begin with; those of a graph within another one must differ from it.

    Attributes
    ----------
    nodes : list of Node
        The operations.
    constants : dict of arrays
        By name.
    """

    prefix: str = ""
    nodes: list[Node] = field(default_factory=list)
    constants: dict[str, NDArray[Any]] = field(default_factory=dict)
    _names: dict[bytes, str] = field(default_factory=dict)

    def constant(self, value: Any, dtype: Any = np.float64) -> str:
        """Return the name of a constant tensor; equal ones have one name."""
        array = np.ascontiguousarray(value, dtype).reshape(np.shape(value))
        key = sha256(f"{array.dtype.str}{array.shape}".encode() + array.tobytes()).digest()
        name = self._names.setdefault(key, f"{self.prefix}c{len(self.constants)}")
        self.constants[name] = array
        return name

    def apply(self, operation: str, *inputs: str | float, **attributes: Any) -> str:
        """Return the name of what an operation gives; numbers among the inputs are constants."""
        names = tuple(i if isinstance(i, str) else self.constant(i) for i in inputs)
        output = f"{self.prefix}t{len(self.nodes)}"
        self.nodes.append(Node(operation, names, output, attributes))
        return output

    def pruned(self, outputs: Iterable[str]) -> Graph:
        """Return the graph of what some tensors are computed from, and of nothing else."""
        needed, nodes = set(outputs), []
        for node in reversed(self.nodes):
            if node.output in needed:
                nodes.append(node)
                needed.update(node.inputs)
        constants = {name: value for name, value in self.constants.items() if name in needed}
        return Graph(self.prefix, nodes[::-1], constants)

    def affine(self, x: str, a: float, b: float) -> str:
        """Return a x + b."""
        scaled = x if a == 1.0 else self.apply("Mul", x, a)
        return scaled if b == 0.0 else self.apply("Add", scaled, b)

    def product(self, x: str, matrix: NDArray[Any]) -> str:
        """Return the product of rows with a matrix of constants.

        onnxruntime draws factors before and after a product into it, as numbers of float32, unless
        another operation stands between them: here the larger of a value and minus infinity.
        """
        found = self.apply("MatMul", self.apply("Max", x, -np.inf), self.constant(matrix))
        return self.apply("Max", found, -np.inf)

    def sum(self, x: str, axis: int) -> str:
        """Return the sums along an axis, which is gone."""
        return self.apply("ReduceSum", x, self.constant([axis], np.int64), keepdims=0)

    def column(self, x: str) -> str:
        """Return a vector as the only column of a matrix."""
        return self.apply("Unsqueeze", x, self.constant([1], np.int64))
