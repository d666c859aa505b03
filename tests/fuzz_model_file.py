"""Mutated model files for the loader: `python tests/fuzz_model_file.py [COUNT] [FIRST]`.

Every file must give a model or a ModelFileError, within a second and without much memory; a model
that is given must answer or refuse with an error of Python. Files are mutated in their bytes, or
in their specification and arrays under a hash that fits. File number i depends on i alone, so that
a failure is had again by its number. What fails is printed, and belongs into tests/files once it is
mended.
"""

from __future__ import annotations

import copy
import faulthandler
import json
import random
import resource
import sys
import time
import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp

import mercer
from mercer.errors import ModelFileError
from mercer.files.container import sealed, unsealed
from mercer.files.models import restored
from mercer.files.registry import CLASSES, ESTIMATORS
from mercer.files.values import Encoder

SECONDS, HANGS_AFTER, MEMORY = 1.0, 600, 4 << 30

X = np.random.default_rng(0).normal(size=(6, 2))
Y, SIGNS, TEXTS = X[:, 0], np.array([0, 1, 2, 0, 1, 2]), ["ab", "bc", "ca", "abc", "b", "aa"]
SEEDS: list[tuple[Any, Any]] = [
    (mercer.KernelRidge("gaussian(1.0)").fit(X, Y), X),
    (mercer.KernelRidge("linear").fit(X, Y), X),
    (mercer.KernelRidge("laplacian").fit(X[:, :1], Y), X[:, :1]),
    (mercer.KernelRidge("spectrum(2)").fit(TEXTS, Y), TEXTS),
    (mercer.KernelRidge().fit(sp.csr_array(np.maximum(X, 0.0)), Y), sp.csr_array(np.abs(X))),
    (mercer.KernelSVC("gaussian(1.0)").fit(X, SIGNS), X),
    (mercer.KernelPerceptron("gaussian(1.0)").fit(X, SIGNS), X),
    (mercer.KernelLogisticRegression("gaussian(1.0)").fit(X, SIGNS), X),
]


def seed(model: Any) -> tuple[Any, dict[str, Any], bytes]:
    """Return a model as a specification, arrays and bytes."""
    encoder = Encoder()
    spec = {"model": encoder.node(model, "model")}
    return spec, encoder.arrays, sealed(spec, encoder.arrays)


ODD: list[Any] = [None, True, 0, -1, 1, 2**31, 2**63, 1e308, -0.0, "", "a", "nan", [], {}, [[]]]
ODD += [{"float": "inf"}, {"array": "a00000"}, {"array": "a00001"}, {"tuple": []}, {"list": [1]}]
ODD += [{"object": "Gaussian", "fields": {}}, {"object": "Precomputed", "fields": {}}]
NAMES = [*CLASSES, *ESTIMATORS, "array", "fields", "object", "params", "fitted", "rows", "kind"]


def changed_spec(node: Any, r: random.Random) -> Any:
    """Return a specification with one node of it changed."""
    places: list[tuple[Any, Any]] = []

    def walk(part: Any) -> None:
        for key in part if isinstance(part, dict) else range(len(part)):
            places.append((part, key))
            if isinstance(part[key], dict | list):
                walk(part[key])

    walk(node)
    part, key = r.choice(places)
    if r.random() < 0.2 and isinstance(part, dict):
        part[r.choice(NAMES)] = part.pop(key)
    elif r.random() < 0.3:
        other, place = r.choice(places)
        part[key] = copy.deepcopy(other[place])
    elif isinstance(part[key], str) and r.random() < 0.5:
        part[key] = r.choice(NAMES)
    else:
        part[key] = copy.deepcopy(r.choice(ODD))
    return node


def changed_arrays(arrays: dict[str, Any], r: random.Random) -> dict[str, Any]:
    """Return arrays of which one has other numbers, another shape or another kind."""
    name = r.choice(sorted(arrays))
    array = np.array(arrays[name])
    way = r.randrange(5)
    if way == 0 and array.size:
        odd = [0.0, 1.0, -1.0, 127.0, np.nan, 1e300] if array.dtype.kind == "f" else [0, 1, 9, 127]
        array.reshape(-1)[r.randrange(array.size)] = r.choice(odd)
    elif way == 1:
        array = array[: r.randrange(len(array) + 1)] if array.ndim else array
    elif way == 2:
        array = array.astype(r.choice([np.float32, np.int64, np.int32, np.uint8, np.bool_]))
    elif way == 3:
        array = array.reshape(r.choice([(-1,), (1, -1), (-1, 1), array.shape]))
    else:
        array = np.repeat(array, 2, axis=0) if array.ndim else array
    return {**arrays, name: array}


def tried(number: int, seeds: list[tuple[Any, dict[str, Any], bytes]]) -> str:
    """Return what became of a mutated file, or nothing if it was as it should be."""
    r = random.Random(number)
    which = r.randrange(len(seeds))
    spec, arrays, content = seeds[which]
    began = time.perf_counter()
    try:
        if r.random() < 0.2:
            mutated = bytearray(content)
            for _ in range(r.choice([1, 2, 8])):
                mutated[r.randrange(len(mutated))] = r.randrange(256)
            model = restored(*unsealed(bytes(mutated)))
        else:
            spec = json.loads(json.dumps(spec))
            for _ in range(r.choice([1, 1, 2, 3])):
                if r.random() < 0.7:
                    spec = changed_spec(spec, r)
                else:
                    arrays = changed_arrays(arrays, r)
            model = restored(spec, arrays)
    except ModelFileError as error:
        return "" if "\n" not in str(error) else f"several lines: {error}"
    except BaseException as error:
        return f"{type(error).__name__}: {error}"
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            model.predict(SEEDS[which][1]) if hasattr(model, "predict") else model(X)
    except MemoryError:
        return "a model of a small file ran out of memory"
    except Exception:
        # A model that does not fit together says so in some way.
        pass
    taken = time.perf_counter() - began
    return "" if taken < SECONDS else f"took {taken:.1f} s"


def main(count: int = 1_000_000, first: int = 0) -> None:
    """Try files by number and print those that are not as they should be."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    seeds = [seed(model) for model, _ in SEEDS]
    failed = 0
    for number in range(first, first + count):
        if number % 1000 == 0:
            faulthandler.dump_traceback_later(HANGS_AFTER, exit=True)
        found = tried(number, seeds)
        if found:
            failed += 1
            print(number, found[:300], flush=True)
    faulthandler.cancel_dump_traceback_later()
    print(f"{count} files, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
