"""From a fitted model to JSON and arrays: what it is made of, and nothing that runs."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, is_dataclass
from hashlib import sha256
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from mercer.data.categories import is_missing
from mercer.data.columns import is_table
from mercer.data.kept import rows_state
from mercer.files.plain import text_of
from mercer.files.registry import ESTIMATORS, OUTPUT, SPLITTERS, UNSAVED, name_of, settings_of
from mercer.kernels import Kernel

# Kinds of numbers that are stored as they are, and those that are stored as whole numbers.
PLAIN, TIMES = "biuf", "mM"

Node = Any


@dataclass
class Encoder:
    """Turns values into nodes of JSON, and collects their arrays.

    Attributes
    ----------
    arrays : dict of arrays
        By name; equal arrays have one name.
    """

    # Numbers of a tuple from which on they are an array of the file.
    long: ClassVar[int] = 32

    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)
    _names: dict[bytes, str] = field(default_factory=dict)

    def node(self, value: Any, path: str) -> Node:
        """Return a value as a node, or refuse it by the path that leads to it.

        Parameters
        ----------
        value : object
            Plain values, arrays, rows and objects of classes of `mercer.files.registry`.
        path : str
            What it is called by the user, such as ``"KernelRidge.kernel"``.
        """
        text = text_of(value)
        if text is not None:
            return text
        if value is None or isinstance(value, bool | str):
            return value
        if isinstance(value, int | float) and not isinstance(value, np.generic):
            return value
        if isinstance(value, np.generic):
            return {"scalar": self.node(np.asarray(value), path)}
        if isinstance(value, np.ndarray):
            return self._array(value, path)
        if sp.issparse(value):
            return self._sparse(value, path)
        if isinstance(value, list | tuple) and type(value) in (list, tuple):
            return self._sequence(value, path)
        if isinstance(value, dict):
            pairs = [[self.node(k, path), self.node(v, f"{path}[{k!r}]")] for k, v in value.items()]
            return {"dict": pairs}
        return self._composite(value, path)

    def _composite(self, value: Any, path: str) -> Node:
        if isinstance(value, BaseEstimator):
            return self._estimator(value, path)
        if is_table(value):
            return {"rows": self.node(rows_state(value), path)}
        if is_dataclass(value) and name_of(type(value)) is not None:
            return self._object(value, path)
        if isinstance(value, np.random.RandomState):
            state = value.get_state(legacy=True)
            return {"random": self.node(state, path)}
        if SPLITTERS.get(type(value).__name__) is type(value):
            names = sorted(settings_of(type(value)))
            settings = {k: self.node(getattr(value, k), f"{path}.{k}") for k in names}
            return {"splitter": type(value).__name__, "settings": settings}
        owner = getattr(value, "__self__", None)
        if isinstance(owner, Kernel) and value == owner.diagonal:
            return {"diagonal": self.node(owner, path)}
        if is_missing(value):
            return None
        raise ValueError(_refusal(value, path))

    def _array(self, value: NDArray[Any], path: str) -> Node:
        kind = value.dtype.kind
        if kind in PLAIN and value.dtype.itemsize <= 8:
            node: Node = {"array": self._stored(value)}
        elif kind in TIMES:
            node = {"array": self._stored(value.view(np.int64)), "dtype": value.dtype.str}
        elif kind == "U":
            node = {"texts": value.ravel().tolist(), "shape": list(value.shape)}
            node["dtype"] = value.dtype.str
        elif kind == "O":
            nodes = [self.node(v, path) for v in value.ravel().tolist()]
            node = {"objects": nodes, "shape": list(value.shape)}
        else:
            raise ValueError(f"{path} holds an array of {value.dtype}, which no model file holds")
        if value.ndim > 1 and value.flags.f_contiguous and not value.flags.c_contiguous:
            node["order"] = "F"
        return node

    def _stored(self, value: NDArray[Any]) -> str:
        plain = np.ascontiguousarray(value).astype(value.dtype.newbyteorder("="), copy=False)
        digest = sha256(f"{plain.dtype.str}{value.shape}".encode())
        digest.update(plain.reshape(-1).view(np.uint8).data)
        name = self._names.setdefault(digest.digest(), f"a{len(self._names):05d}")
        self.arrays[name] = plain.reshape(value.shape)
        return name

    def _sparse(self, value: Any, path: str) -> Node:
        if value.format not in ("csr", "csc"):
            value = value.tocsr()
        parts = {
            name: self.node(getattr(value, name), path) for name in ("data", "indices", "indptr")
        }
        kind = f"{value.format}_{'array' if isinstance(value, sp.sparray) else 'matrix'}"
        return {"sparse": kind, "shape": [int(n) for n in value.shape], **parts}

    def _sequence(self, value: list[Any] | tuple[Any, ...], path: str) -> Node:
        kind = type(value).__name__
        if len(value) >= self.long and all(type(v) is float for v in value):
            return {kind: self.node(np.array(value), path)}
        return {kind: [self.node(v, f"{path}[{i}]") for i, v in enumerate(value)]}

    def _object(self, value: Any, path: str) -> Node:
        if "__getstate__" in vars(type(value)):
            # As where it is pickled: what follows from rows that are not kept is found before.
            value.__getstate__()
        parts = {
            f.name: self.node(getattr(value, f.name), f"{path}.{f.name}")
            for f in fields(value)
            if f.init
        }
        return {"object": name_of(type(value)), "fields": parts}

    def _estimator(self, value: BaseEstimator, path: str) -> Node:
        name = type(value).__name__
        if ESTIMATORS.get(name) is not type(value):
            raise ValueError(_refusal(value, path))
        settings = value.get_params(deep=False)
        params = {
            k: self.node(v, f"{path}.{k}") for k, v in sorted(settings.items()) if k not in UNSAVED
        }
        # What was worked out after the fit, such as factors, is worked out again.
        state = {k: v for k, v in vars(value).items() if k.endswith("_") and k not in settings}
        fitted = {k: self.node(v, f"{path}.{k}") for k, v in sorted(state.items())}
        node = {"estimator": name, "params": params, "fitted": fitted}
        output = vars(value).get(OUTPUT, {}).get("transform")
        return node if output is None else {**node, "output": output}


def _refusal(value: Any, path: str) -> str:
    if callable(value) and not isinstance(value, BaseEstimator):
        return (
            f"{path} is the Python function {value!r:.60}, which a model file cannot hold: opening "
            "it would run code; use a kernel of the expression language, or pickle at your own risk"
        )
    return (
        f"{path} is a {type(value).__module__}.{type(value).__qualname__}, which a model file "
        "cannot hold; give a plain value"
    )
