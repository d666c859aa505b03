"""Writing a graph to a file of ONNX."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from mercer import __version__
from mercer.files.container import replace_file
from mercer.files.onnx.graph import Graph, Node
from mercer.files.onnx.models import outputs_of


def export_onnx(model: Any, path: str | os.PathLike[str]) -> None:
    """Write the predictions of a model of numbers as a graph that runs where Python does not.

    The graph has one input, ``X``, the rows as a matrix of float64, with the columns in the order
    of the training rows. A regression has the output ``prediction``; a classifier has ``label``,
    and ``decision`` or, by likelihoods, ``probabilities``. All is computed in float64 by primitives
    of ONNX, read off the formula of the kernel, and agrees with the model up to rounding. Rows are
    not checked. **The file holds training rows.** It is written like that of `save`, and needs
    ``mercer[onnx]``.

    Parameters
    ----------
    model : estimator
        A fitted regression or classifier. Kernels of text, categories or dates, finished Gram
        matrices and Python functions are refused.
    path : str or path
        The file, by custom with the ending ``.onnx``.
    """
    if not isinstance(model, BaseEstimator):
        raise ValueError(f"export_onnx takes a fitted estimator, got {type(model).__name__}")
    check_is_fitted(model)
    columns = getattr(model, "n_features_in_", None)
    if columns is None:
        raise ValueError(
            "the model was fitted to rows that are no vectors of numbers, and a graph of ONNX "
            "computes with numbers; keep it with mercer.save"
        )
    graph = Graph()
    found = outputs_of(graph, "X", model, list(getattr(model, "feature_names_in_", ())))
    # A reader finds the outputs by their names.
    for name, inner in found.items():
        graph.nodes.append(Node("Identity", (inner,), name, {}))
    replace_file(Path(path), [_written(graph.pruned(found), int(columns), list(found))])


def _written(graph: Graph, columns: int, outputs: list[str]) -> bytes:
    try:
        import onnx
        from onnx import helper
    except ImportError:
        raise ImportError("export_onnx needs onnx; install mercer[onnx]") from None
    size = sum(a.nbytes for a in graph.constants.values())
    # Bytes of a file of ONNX: those of protocol buffers know no larger one.
    largest = 2**31 - 1
    if size > largest:
        raise ValueError(
            f"the training rows take {size} bytes, and a file of ONNX holds {largest}; fit with "
            "landmarks, solver='nystrom'"
        )
    x = helper.make_tensor_value_info("X", onnx.TensorProto.DOUBLE, ["n", columns])
    made = helper.make_graph(
        [_node(node) for node in graph.nodes],
        "mercer",
        [x],
        [onnx.ValueInfoProto(name=name) for name in outputs],
        [_tensor(name, value) for name, value in graph.constants.items()],
    )
    # The operators of this set do, and run wherever ONNX of 2022 or later does.
    opset, ir_version = 17, 8
    model = helper.make_model(
        made,
        opset_imports=[helper.make_opsetid("", opset)],
        ir_version=ir_version,
        producer_name="mercer",
        producer_version=__version__,
    )
    # The kinds and shapes of the outputs follow from the operations.
    model = onnx.shape_inference.infer_shapes(model, strict_mode=True)
    onnx.checker.check_model(model)
    return bytes(model.SerializeToString(deterministic=True))


def _node(node: Any) -> Any:
    from onnx import helper

    body = node.attributes.get("body")
    attributes = node.attributes | ({} if body is None else {"body": _body(body)})
    return helper.make_node(node.operation, list(node.inputs), [node.output], **attributes)


def _body(graph: Graph) -> Any:
    """Return the body of a loop over columns: of the values so far and three slices of columns."""
    from onnx import TensorProto, helper

    inputs = [
        helper.make_tensor_value_info(f"{graph.prefix}{name}", TensorProto.DOUBLE, shape)
        for name, shape in (("value", [None, None]), ("x", [None]), ("z", [None]), ("weight", []))
    ]
    last = graph.nodes[-1].output
    return helper.make_graph(
        [_node(node) for node in graph.nodes],
        f"{graph.prefix}body",
        inputs,
        [helper.make_tensor_value_info(last, TensorProto.DOUBLE, [None, None])],
        [_tensor(name, value) for name, value in graph.constants.items()],
    )


def _tensor(name: str, value: NDArray[Any]) -> Any:
    from onnx import TensorProto, numpy_helper

    if value.dtype.kind == "U":
        texts = TensorProto(name=name, data_type=TensorProto.STRING, dims=value.shape)
        texts.string_data.extend(str(v).encode() for v in value.tolist())
        return texts
    return numpy_helper.from_array(np.ascontiguousarray(value), name)
