"""The values k(x, z) as a graph, built from the tile program of a kernel.

Comparisons of rows go through the columns one after the other, as a loop of the graph, so that a
distance is a sum of differences and no digit is lost to cancellation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer.files.onnx.graph import Graph
from mercer.files.onnx.maps import mapped, selected
from mercer.kernels import Kernel
from mercer.kernels.recentred import FromOrigin
from mercer.tiles.program import Factor, Input, Instruction, Program, compile_expression
from mercer.tiles.rows import Rows
from mercer.tiles.tile import Leaf, Normalize, Select, View

Step = Callable[[Graph, str, str, str, str], str]


@dataclass
class Values:
    """The values of kernels between the rows of a graph and rows that are known.

    Parameters
    ----------
    graph : Graph
        Where they are computed.
    x : str
        The rows of the graph.
    names : sequence
        The names of their columns, or none.
    """

    graph: Graph
    x: str
    names: Sequence[Any] = ()
    _named: dict[View, str] = field(default_factory=dict)

    def of(self, kernel: Kernel, Z: Any) -> str:
        """Return k(x, z) for every row x of the graph and every row z of `Z`, of shape (n, m)."""
        right = Rows(Z, "Z")
        program = kernel.program
        leaves = [self._leaf(source, right) for source in program.inputs]
        factors = [self._factor(f, right) for f in program.factors]
        zeros = self._zeros(right.n)
        return self._run(program, leaves, factors, zeros)

    def _zeros(self, m: int) -> str:
        """Return as many zeros as there are pairs of rows."""
        one = self.graph.apply("Gather", self.x, self.graph.constant([0], np.int64), axis=1)
        zero = self.graph.apply("Sub", one, one)
        # A missing number less itself is none.
        zero = self.graph.apply("Where", self.graph.apply("IsNaN", zero), 0.0, zero)
        return self.graph.apply("Add", zero, self.graph.constant(np.zeros((1, m))))

    def _run(
        self, program: Program, leaves: list[str], factors: list[tuple[str, str]], zeros: str
    ) -> str:
        slots: dict[int, str] = {}
        for i in program.instructions:
            slots[i.target] = self._instruction(i, slots, leaves, factors, zeros)
        return slots[program.instructions[-1].target]

    def _instruction(
        self,
        i: Instruction,
        slots: dict[int, str],
        leaves: list[str],
        factors: list[tuple[str, str]],
        zeros: str,
    ) -> str:
        g = self.graph
        if i.operation == "leaf":
            return leaves[i.first]
        if i.operation == "constant":
            return g.affine(zeros, 1.0, i.b)
        first = slots[i.first]
        if i.operation == "add":
            second = g.affine(slots[i.second], i.c, 0.0)
            return g.affine(g.apply("Add", g.affine(first, i.a, 0.0), second), 1.0, i.b)
        value = g.affine(first, i.a, i.b)
        if i.operation in ("map", "map_add"):
            value = FUNCTIONS[i.function](g, value)
            if i.operation == "map":
                return value
            second = g.affine(slots[i.second], i.d, 0.0)
            return g.apply("Add", g.affine(value, i.c, 0.0), second)
        if i.operation == "multiply":
            return g.apply("Mul", value, g.affine(slots[i.second], i.c, i.d))
        left, right = factors[i.second]
        return g.apply("Mul", g.apply("Mul", value, right), left)

    def _behind(self, view: View) -> str:
        """Return the rows of the graph behind a view."""
        if not view:
            return self.x
        if view not in self._named:
            before, step = self._behind(view[:-1]), view[-1]
            if isinstance(step, Select):
                named = selected(self.graph, before, step.columns, self._names(view[:-1]))
            elif isinstance(step.g, FromOrigin):
                named = self._from_origin(before, step.g, self._names(view[:-1]))
            else:
                named = mapped(self.graph, before, step.g)
            self._named[view] = named
        return self._named[view]

    def _names(self, view: View) -> Sequence[Any]:
        """Return the names of the columns behind a view, which a map does not keep."""
        names = self.names
        for step in view:
            if not isinstance(step, Select):
                return ()
            names = [c if isinstance(c, str) else names[c] if names else c for c in step.columns]
        return names

    def _from_origin(self, x: str, g: FromOrigin, names: Sequence[Any]) -> str:
        x0 = np.array([g.origin], np.float64)
        k = Values(self.graph, x, names).of(g.kernel, x0)
        u = self.graph.affine(k, 1.0, -0.5 * (float(g.kernel.diagonal(x0)[0]) + g.level))
        ones = self.graph.affine(self._zeros(1), 1.0, 1.0)
        return self.graph.apply("Concat", u, ones, axis=1)

    def _leaf(self, source: Input, right: Rows) -> str:
        kind = self._kind(source)
        assert isinstance(source, Leaf)
        x = self._behind(source.left)
        B = right.matrix(source.right, source)
        Z: NDArray[Any] = np.asarray(B.toarray() if sp.issparse(B) else B, np.float64)
        if kind == "dot":
            return self.graph.product(x, Z.T)
        width = Z.shape[1]
        weights = np.ones(width) if source.weights is None else np.array(source.weights)
        if kind == "sine":
            weights = np.full(width, source.period)
        zeros = self._zeros(len(Z))
        start = self.graph.affine(zeros, 1.0, 1.0) if kind == "minimum" else zeros
        body = _loop(STEPS[kind], f"{self.graph.prefix}b{len(self.graph.nodes)}_")
        columns = self.graph.apply("Transpose", x, perm=[1, 0])
        found = self.graph.apply(
            "Scan",
            start,
            columns,
            self.graph.constant(Z.T),
            self.graph.constant(weights),
            body=body,
            num_scan_inputs=3,
        )
        if kind != "minimum":
            return found
        # Zero times an overflow.
        return self.graph.apply("Where", self.graph.apply("IsNaN", found), 0.0, found)

    def _kind(self, source: Input) -> str:
        if isinstance(source, Leaf) and (source.kind == "dot" or source.kind in STEPS):
            return source.kind
        what = (
            "compares categories"
            if isinstance(source, Leaf)
            else "has a part without a formula of numbers: strings, a Python function or a "
            "finished Gram matrix"
        )
        raise ValueError(
            f"the kernel {what}, so that the model cannot be exported to ONNX; keep it with "
            "mercer.save"
        )

    def _factor(self, f: Factor, right: Rows) -> tuple[str, str]:
        """Return what the values are multiplied by, for the rows of the graph and for the known."""
        if not isinstance(f, Normalize):
            raise ValueError(
                "scaled_by holds a Python function, of which there is no graph, so that the model "
                "cannot be exported to ONNX"
            )
        g, program = self.graph, compile_expression(f.argument)
        leaves = [self._own(source) for source in program.inputs]
        factors = [(self._factor(inner, right)[0],) * 2 for inner in program.factors]
        d = self._run(program, leaves, factors, self._zeros(1))
        tiny = g.constant(np.finfo(np.float64).tiny)
        is_there = g.apply("GreaterOrEqual", d, tiny)
        root = g.apply("Sqrt", g.apply("Where", is_there, d, 1.0))
        left = g.apply("Where", is_there, g.apply("Reciprocal", root), 0.0)
        return left, g.constant(right.factor(f)[None, :])

    def _own(self, source: Input) -> str:
        """Return what an input is for every row of the graph with itself, of shape (n, 1)."""
        kind, g = self._kind(source), self.graph
        assert isinstance(source, Leaf)
        if kind == "dot":
            product = g.apply("Mul", self._behind(source.left), self._behind(source.right))
            return g.column(g.sum(product, 1))
        if kind == "minimum":
            return g.apply("ReduceProd", self._behind(source.left), axes=[1], keepdims=1)
        return self._zeros(1)


def _loop(step: Step, prefix: str) -> Graph:
    """Return the body of a loop over columns: what one column of both sides adds."""
    body = Graph(prefix)
    x = body.column(f"{prefix}x")
    z = body.apply("Unsqueeze", f"{prefix}z", body.constant([0], np.int64))
    step(body, f"{prefix}value", x, z, f"{prefix}weight")
    return body


def _difference(g: Graph, value: str, x: str, z: str, weight: str) -> str:
    t = g.apply("Sub", x, z)
    return g.apply("Add", value, g.apply("Mul", g.apply("Mul", t, t), weight))


def _distance(g: Graph, value: str, x: str, z: str, weight: str) -> str:
    t = g.apply("Abs", g.apply("Sub", x, z))
    return g.apply("Add", value, g.apply("Mul", t, weight))


def _minimum(g: Graph, value: str, x: str, z: str, weight: str) -> str:
    return g.apply("Mul", value, g.apply("Min", x, z))


def _chi2(g: Graph, value: str, x: str, z: str, weight: str) -> str:
    t, total = g.apply("Sub", x, z), g.apply("Add", x, z)
    whole = g.apply("Where", g.apply("Greater", total, 0.0), total, 1.0)
    return g.apply("Add", value, g.apply("Div", g.apply("Mul", t, t), whole))


def _sine(g: Graph, value: str, x: str, z: str, period: str) -> str:
    # The difference, and what rounding took from it, as the engine computes them.
    t = g.apply("Sub", x, z)
    back = g.apply("Sub", t, x)
    from_x = g.apply("Sub", x, g.apply("Sub", t, back))
    lost = g.apply("Sub", from_x, g.apply("Add", z, back))
    rest = g.apply("Mod", t, period, fmod=1)
    turns = g.apply("Round", g.apply("Div", rest, period))
    rest = g.apply("Sub", rest, g.apply("Mul", period, turns))
    phase = g.apply("Div", g.apply("Add", rest, lost), period)
    s = g.apply("Sin", g.apply("Mul", phase, np.pi))
    return g.apply("Add", value, g.apply("Mul", s, s))


STEPS: dict[str, Step] = {
    "squared_distance": _difference,
    "manhattan": _distance,
    "minimum": _minimum,
    "chi2": _chi2,
    "sine": _sine,
}

LARGEST_ROOT = float(np.sqrt(np.finfo(np.float64).max))

FUNCTIONS: dict[str, Callable[[Graph, str], str]] = {
    "identity": lambda g, x: x,
    "exp": lambda g, x: g.apply("Exp", x),
    "tanh": lambda g, x: g.apply("Tanh", x),
    "sqrt": lambda g, x: g.apply("Min", g.apply("Sqrt", x), LARGEST_ROOT),
    "log1p": lambda g, x: _log1p(g, x),
    "reciprocal": lambda g, x: g.apply("Reciprocal", x),
}


def _log1p(g: Graph, x: str) -> str:
    """Return log(1 + x) with the digits that 1 + x loses: x log(u) / (u - 1), u = 1 + x rounded.

    W. Kahan, in N. Higham (2002), Accuracy and Stability of Numerical Algorithms, problem 1.5.
    """
    u = g.apply("Add", x, 1.0)
    less = g.apply("Sub", u, 1.0)
    is_lost = g.apply("Equal", less, 0.0)
    whole = g.apply("Where", is_lost, 1.0, less)
    return g.apply("Where", is_lost, x, g.apply("Mul", x, g.apply("Div", g.apply("Log", u), whole)))
