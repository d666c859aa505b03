"""From JSON and arrays back to a model, in which everything is checked before it is made."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import partial
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer.data.kept import rows_from_state
from mercer.data.layout import check_entries
from mercer.errors import ModelFileError
from mercer.files.checks import check_parts
from mercer.files.encoder import PLAIN, TIMES
from mercer.files.plain import READERS, value_of
from mercer.files.registry import CLASSES, ESTIMATORS, OUTPUT, SPLITTERS, UNSAVED, settings_of
from mercer.files.types import check_field
from mercer.kernels import Kernel

# What tables may be made by, which is imported where a model was fitted to one.
LIBRARIES = ("mapping", "pandas", "polars", "pyarrow")
# What transformers may return their columns as.
OUTPUTS = ("default", "pandas", "polars")

Node = Any


class Decoder:
    """Turns nodes back into values; whatever is not as an `Encoder` writes it is refused.

    Parameters
    ----------
    arrays : dict of arrays
        Those of the file.
    """

    # Levels of objects within objects; models have about ten.
    depth: ClassVar[int] = 60
    # How many times the bytes of its arrays what is made of a file may take, beside so many bytes.
    growth: ClassVar[int] = 20
    least_bytes: ClassVar[int] = 10_000_000
    # Words of the state of a Mersenne Twister.
    twister: ClassVar[int] = 624

    def __init__(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self.arrays = arrays
        self._turned: dict[str, NDArray[Any]] = {}
        # What is made of a file may take so many times its own size, and a little.
        self._left = self.growth * sum(a.nbytes for a in arrays.values()) + self.least_bytes
        self._kinds: dict[str, Callable[[dict[str, Any], int], Any]] = {
            "array": self._array,
            "dict": self._dict,
            "diagonal": self._diagonal,
            "estimator": self._estimator,
            "list": lambda node, depth: self._items(node["list"], depth),
            "object": self._object,
            "objects": self._objects,
            "random": self._random,
            "rows": self._rows,
            "scalar": self._scalar,
            "sparse": self._sparse,
            "splitter": self._splitter,
            "texts": self._texts,
            "tuple": lambda node, depth: tuple(self._items(node["tuple"], depth)),
            **{kind: partial(_text, kind) for kind in READERS},
        }

    def value(self, node: Node, depth: int = 0) -> Any:
        """Return the value of a node."""
        if depth > self.depth:
            raise ModelFileError(f"objects nest deeper than {self.depth} levels")
        if node is None or isinstance(node, bool | str | int | float):
            return node
        kind = next((k for k in self._kinds if k in node), None) if isinstance(node, dict) else None
        if kind is None:
            raise ModelFileError(f"a value of the file has no known form: {str(node)[:60]}")
        return self._kinds[kind](node, depth + 1)

    def _spend(self, size: int) -> None:
        """Refuse a file of which more would be made than its size explains."""
        self._left -= size
        if self._left < 0:
            raise ModelFileError("a small file asks for large memory; it was not written by mercer")

    def _array(self, node: dict[str, Any], depth: int) -> NDArray[Any]:
        name = node["array"]
        if not isinstance(name, str) or name not in self.arrays:
            raise ModelFileError(f"there is no array {name!r:.40} in the file")
        array = self.arrays[name]
        if "dtype" in node:
            array = array.view(_dtype(node["dtype"], TIMES))
        if node.get("order") != "F":
            return array
        key = f"{name} {array.dtype.str}"
        if key not in self._turned:
            self._turned[key] = _ordered(array, node)
        return self._turned[key]

    def _texts(self, node: dict[str, Any], depth: int) -> NDArray[Any]:
        texts, dtype = node["texts"], _dtype(node["dtype"], "U")
        if not isinstance(texts, list) or not all(isinstance(t, str) for t in texts):
            raise ModelFileError("an array of texts holds something else")
        longest = max(map(len, texts), default=0)
        self._spend(4 * longest * len(texts))
        # A text is as long as the longest at least, so that a short file makes no large array.
        array = np.array(texts, dtype if dtype.itemsize <= 4 * max(longest, 1) else f"<U{longest}")
        return _frozen(_ordered(array.reshape(_shape(node, len(texts))), node))

    def _objects(self, node: dict[str, Any], depth: int) -> NDArray[Any]:
        values = self._items(node["objects"], depth)
        array = np.empty(len(values), object)
        array[:] = values
        return _frozen(_ordered(array.reshape(_shape(node, len(values))), node))

    def _items(self, nodes: Node, depth: int) -> list[Any]:
        if isinstance(nodes, dict):
            array = self.value(nodes, depth)
            self._spend(32 * array.size)
            return list(array.tolist())
        if not isinstance(nodes, list):
            raise ModelFileError("a sequence of the file is no list")
        return [self.value(node, depth) for node in nodes]

    def _dict(self, node: dict[str, Any], depth: int) -> dict[Any, Any]:
        return {self.value(k, depth): self.value(v, depth) for k, v in node["dict"]}

    def _scalar(self, node: dict[str, Any], depth: int) -> Any:
        array = self.value(node["scalar"], depth)
        if not isinstance(array, np.ndarray) or array.size != 1:
            raise ModelFileError("a single number of the file is no array of one")
        return array.reshape(-1)[0]

    def _sparse(self, node: dict[str, Any], depth: int) -> Any:
        makers = {
            "csr_array": sp.csr_array,
            "csr_matrix": sp.csr_matrix,
            "csc_array": sp.csc_array,
            "csc_matrix": sp.csc_matrix,
        }
        if node["sparse"] not in makers:
            raise ModelFileError(f"sparse rows are CSR or CSC, got {node['sparse']!r:.40}")
        shape = [n for n in node["shape"] if isinstance(n, int) and 0 <= n < 2**63]
        if len(shape) != 2:
            raise ModelFileError(f"sparse rows have two sizes, got {node['shape']!r:.60}")
        parts = [self.value(node[name], depth) for name in ("data", "indices", "indptr")]
        if not all(isinstance(p, np.ndarray) and p.ndim == 1 for p in parts):
            raise ModelFileError("the parts of sparse rows are no arrays")
        if any(p.dtype.kind != "i" for p in parts[1:]) or parts[0].dtype.kind not in PLAIN:
            raise ModelFileError("the parts of sparse rows are no numbers of the kinds they should")
        matrix = makers[node["sparse"]](tuple(parts), shape=tuple(shape))
        check_entries(matrix, "a sparse matrix of the file")
        return matrix

    def _random(self, node: dict[str, Any], depth: int) -> np.random.RandomState:
        state = self.value(node["random"], depth)
        if not isinstance(state, tuple) or len(state) != 5 or state[0] != "MT19937":
            raise ModelFileError("a state of random numbers is none of a Mersenne Twister")
        _, words, place, has_normal, normal = state
        is_whole = isinstance(place, int) and 0 <= place <= self.twister and has_normal in (0, 1)
        are_words = isinstance(words, np.ndarray) and words.shape == (self.twister,)
        if not is_whole or not are_words or words.dtype != np.uint32 or type(normal) is not float:
            raise ModelFileError("a state of random numbers is none of a Mersenne Twister")
        random = np.random.RandomState()
        random.set_state(state)
        return random

    def _splitter(self, node: dict[str, Any], depth: int) -> Any:
        kind = SPLITTERS.get(node["splitter"]) if isinstance(node["splitter"], str) else None
        if kind is None:
            raise ModelFileError(f"the file names {node['splitter']!r:.40}, which splits no rows")
        settings = {name: self.value(part, depth) for name, part in node["settings"].items()}
        unknown = sorted(settings.keys() - settings_of(kind))
        if unknown:
            raise ModelFileError(f"{node['splitter']} has no setting {unknown[0]!r:.40}")
        return kind(**settings)

    def _rows(self, node: dict[str, Any], depth: int) -> Any:
        state = self.value(node["rows"], depth)
        library = state.get("library") if isinstance(state, dict) else None
        if library not in LIBRARIES or state.get("kind") != "table":
            raise ModelFileError(f"a table of the file is one of {library!r:.40}")
        try:
            return rows_from_state(state)
        except (ValueError, TypeError, KeyError) as error:
            # What other libraries say may take several lines.
            said = " ".join(str(error).split())
            raise ModelFileError(f"a table of the file cannot be made: {said}") from None
        except ImportError:
            raise ModelFileError(
                f"the model was fitted to a table of {library}; install it"
            ) from None

    def _diagonal(self, node: dict[str, Any], depth: int) -> Any:
        kernel = self.value(node["diagonal"], depth)
        if not isinstance(kernel, Kernel):
            raise ModelFileError("the diagonal of something that is no kernel")
        return kernel.diagonal

    def _object(self, node: dict[str, Any], depth: int) -> Any:
        kind = CLASSES.get(node["object"]) if isinstance(node["object"], str) else None
        if kind is None:
            raise ModelFileError(
                f"the file names {node['object']!r:.40}, which is no part of models"
            )
        names = {f.name for f in fields(kind) if f.init}
        given = {name: self.value(part, depth) for name, part in node["fields"].items()}
        unknown = sorted(given.keys() - names)
        if unknown:
            raise ModelFileError(f"{node['object']} has no part {unknown[0]!r:.40}")
        for name, part in given.items():
            check_field(kind, name, part)
        made = kind(**given)
        check_parts(made)
        return made

    def _estimator(self, node: dict[str, Any], depth: int) -> Any:
        kind = ESTIMATORS.get(node["estimator"]) if isinstance(node["estimator"], str) else None
        if kind is None:
            raise ModelFileError(f"the file holds {node['estimator']!r:.40}, which is no estimator")
        params = {k: self.value(v, depth) for k, v in node["params"].items()}
        unknown = sorted(params.keys() - (set(kind._get_param_names()) - set(UNSAVED)))
        if unknown:
            raise ModelFileError(f"{node['estimator']} has no parameter {unknown[0]!r:.40}")
        model = kind(**params)
        for name, part in node["fitted"].items():
            if not name.endswith("_") or name.startswith("__") or hasattr(kind, name):
                raise ModelFileError(f"{node['estimator']} keeps no {name!r:.40}")
            vars(model)[name] = self.value(part, depth)
        if "output" in node:
            if node["output"] not in OUTPUTS:
                raise ModelFileError(f"columns are returned as {node['output']!r:.40}")
            vars(model)[OUTPUT] = {"transform": node["output"]}
        return model


def _text(kind: str, node: dict[str, Any], depth: int) -> Any:
    return value_of(kind, node[kind])


def _dtype(text: Any, kinds: str) -> np.dtype[Any]:
    try:
        dtype = np.dtype(text) if isinstance(text, str) and len(text) < 20 else None
    except TypeError:
        dtype = None
    if dtype is None or dtype.kind not in kinds:
        raise ModelFileError(f"an array has the unknown kind {text!r:.40}")
    return dtype


def _shape(node: dict[str, Any], size: int) -> tuple[int, ...]:
    shape = node["shape"]
    is_whole = isinstance(shape, list) and all(isinstance(n, int) and n >= 0 for n in shape)
    if not is_whole or len(shape) > 4 or math.prod(shape) != size:
        raise ModelFileError(f"an array of {size} entries has the shape {shape!r:.60}")
    return tuple(shape)


def _ordered(array: NDArray[Any], node: dict[str, Any]) -> NDArray[Any]:
    return _frozen(np.asfortranarray(array)) if node.get("order") == "F" else array


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    array.flags.writeable = False
    return array
