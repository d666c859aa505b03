"""Fitted estimators as graphs: the function of a model, and what is made of its values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.estimators import (
    KernelLogisticRegression,
    KernelPerceptron,
    KernelRidge,
    KernelRidgeMean,
    KernelSVC,
    KernelSVR,
)
from mercer.files.onnx.graph import Graph
from mercer.files.onnx.kernels import Values
from mercer.functions import DualFunction, Function
from mercer.functions.pairs import pairs_of
from mercer.selection import KernelClassifier, KernelRegressor, KernelRidgeClassifier
from mercer.selection.delegate import Chosen

NO_ROWS = (
    "the model keeps no training rows that new ones could be compared with, so that it cannot be "
    "exported to ONNX; fit it to rows and a kernel"
)


def chosen(model: Any) -> Any:
    """Return the estimator that predicts for one that chose it."""
    while isinstance(model, Chosen | KernelRegressor | KernelClassifier):
        is_chosen = isinstance(model, Chosen)
        model = model.best_estimator_ if is_chosen else model.estimator_
    return model


def outputs_of(graph: Graph, x: str, model: Any, names: Sequence[Any]) -> dict[str, str]:
    """Return what a model says of the rows of a graph, by name.

    Parameters
    ----------
    graph : Graph
        Where it is computed.
    x : str
        The rows, a matrix.
    model : estimator
        A fitted one.
    names : sequence
        Of the columns, or none.
    """
    model = chosen(model)
    is_regression = isinstance(model, KernelRidge | KernelRidgeMean | KernelSVR)
    others = KernelSVC | KernelLogisticRegression | KernelPerceptron | KernelRidgeClassifier
    if not is_regression and not isinstance(model, others):
        raise ValueError(
            "export_onnx takes a regression or a classifier of mercer, got "
            f"{type(model).__name__}; of a pipeline export the last step, and have its kernel "
            "scale the columns by kernel.after(Standardize())"
        )
    scores = _function(graph, x, model.function_, names)
    if is_regression:
        is_vector = isinstance(model, KernelSVR) or not model._target_shape_
        return {"prediction": _first(graph, scores) if is_vector else scores}
    n_classes = len(model.classes_)
    if isinstance(model, KernelLogisticRegression):
        probabilities = _probabilities(graph, scores, n_classes)
        codes = graph.apply("ArgMax", probabilities, axis=1, keepdims=0)
        return {"label": _labels(graph, codes, model.classes_), "probabilities": probabilities}
    if n_classes == 2:
        scores = _first(graph, scores)
        is_second = graph.apply("Greater", scores, 0.0)
        one, zero = (graph.constant(v, np.int64) for v in (1, 0))
        codes = graph.apply("Where", is_second, one, zero)
    else:
        by_pairs = isinstance(model, KernelSVC) and model._is_by_pairs
        votes = _votes(graph, scores, n_classes) if by_pairs else (scores, scores)
        ranked = votes[0] if by_pairs and not model.break_ties else votes[1]
        codes = graph.apply("ArgMax", ranked, axis=1, keepdims=0)
        is_by_class = by_pairs and model.decision_function_shape == "ovr"
        scores = votes[1] if is_by_class else scores
    return {"label": _labels(graph, codes, model.classes_), "decision": scores}


def _function(graph: Graph, x: str, f: Function, names: Sequence[Any]) -> str:
    """Return f(x) + b of shape (n, targets)."""
    if f.dual is None:
        raise ValueError(NO_ROWS)
    values = [_sum(graph, x, weight, dual, names) for weight, dual in f.dual.sums]
    total = values[0]
    for value in values[1:]:
        total = graph.apply("Add", total, value)
    return graph.apply("Add", total, graph.constant(f.intercept))


def _sum(graph: Graph, x: str, weight: float, dual: DualFunction, names: Sequence[Any]) -> str:
    """Return v f(x) of shape (n, targets)."""
    if dual.columns is not None:
        raise ValueError(NO_ROWS)
    if len(dual.coefficients) == 0:
        nothing = graph.apply("Mul", x, graph.constant(0.0))
        return graph.apply("ReduceSum", nothing, graph.constant([1], np.int64), keepdims=1)
    K = Values(graph, x, names).of(dual.kernel, dual.rows)
    return graph.product(K, weight * dual.by_target)


def _first(graph: Graph, scores: str) -> str:
    return graph.apply("Squeeze", scores, graph.constant([1], np.int64))


def _probabilities(graph: Graph, scores: str, n_classes: int) -> str:
    if n_classes > 2:
        return graph.apply("Softmax", scores, axis=1)
    both = graph.apply("Concat", graph.apply("Neg", scores), scores, axis=1)
    return graph.apply("Sigmoid", both)


def _votes(graph: Graph, scores: str, n_classes: int) -> tuple[str, str]:
    """Return the votes of pairs of classes, and the same with ties broken by sums of scores."""
    first, second = np.array(pairs_of(n_classes)).T
    sides = np.eye(n_classes)[first] - np.eye(n_classes)[second]
    wins = graph.apply("Where", graph.apply("Greater", scores, 0.0), 1.0, 0.0)
    less = graph.constant(np.bincount(second, minlength=n_classes))
    votes = graph.apply("Add", graph.product(wins, sides), less)
    sums = graph.product(scores, sides)
    room = graph.affine(graph.affine(graph.apply("Abs", sums), 1.0, 1.0), 3.0, 0.0)
    return votes, graph.apply("Add", votes, graph.apply("Div", sums, room))


def _labels(graph: Graph, codes: str, classes: NDArray[Any]) -> str:
    """Return the labels of classes by their numbers."""
    kinds = {"b": np.bool_, "i": np.int64, "u": np.int64, "f": np.float64, "U": np.str_}
    kind = classes.dtype.kind
    if kind == "O" and all(isinstance(c, str) for c in classes.tolist()):
        kind = "U"
    if kind not in kinds:
        raise ValueError(
            f"labels of {classes.dtype} have no place in a file of ONNX; use text or numbers"
        )
    return graph.apply("Gather", graph.constant(classes, kinds[kind]), codes, axis=0)
