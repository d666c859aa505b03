"""Mutated model files for the loader: `python tests/fuzz_model_file.py [COUNT] [FIRST]`.

Every file must give a model or a ModelFileError, within two seconds of the processor and without
much memory; a model that is given must answer or refuse with an error of Python. Files are mutated
in their bytes, or in their specification and arrays, mostly under a hash that fits. File number i
depends on i alone, so that a failure is had again by its number. What fails is printed, and belongs
into tests/files once it is mended.
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
from contextlib import suppress
from hashlib import sha256
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.model_selection import KFold

import mercer
from mercer.errors import ModelFileError
from mercer.files.container import EMPTY_HASH, HASH, sealed, unsealed
from mercer.files.encoder import Encoder
from mercer.files.models import restored
from mercer.files.registry import CLASSES, ESTIMATORS

SECONDS, HANGS_AFTER, MEMORY = 2.0, 600, 4 << 30
# What a process may have grown by after all files, beyond the first thousand.
GROWTH = 300 << 20

X = np.random.default_rng(0).normal(size=(6, 2))
Y, SIGNS, TEXTS = X[:, 0], np.array([0, 1, 2, 0, 1, 2]), ["ab", "bc", "ca", "abc", "b", "aa"]
TABLE = pd.DataFrame({"a": X[:, 0], "b": pd.Categorical(["x", "y", "x"] * 2), "note": TEXTS})
TABLE["day"] = pd.date_range("2024-01-01", periods=6)
GRAM = mercer.Gaussian(1.0)(X)
WIDE = mercer.Gaussian(1.0).after(mercer.Standardize()) + mercer.Linear().after(
    mercer.Project([[1.0, 2.0]])
)
MIXED = mercer.Match().on("b") + mercer.Gaussian(1.0).after(mercer.NormalScores()).on("a")
DATES = mercer.Gaussian(1.0).after(mercer.Calendar()).on("day")
SEEDS: list[tuple[Any, Any]] = [
    (mercer.KernelRidge("gaussian(1.0)").fit(X, Y), X),
    (mercer.KernelRidge("linear").fit(X, np.c_[Y, Y]), X),
    (mercer.KernelRidge("laplacian").fit(X[:, :1], Y), X[:, :1]),
    (mercer.KernelRidge("spectrum(2)").fit(TEXTS, Y), TEXTS),
    (mercer.KernelRidge("precomputed").fit(GRAM, Y), GRAM),
    (mercer.KernelRidge(WIDE, solver="nystrom", n_landmarks=3).fit(X, Y), X),
    (mercer.KernelRidge("gaussian(1.0)", n_landmarks=3).partial_fit(X, Y), X),
    (mercer.KernelRidge(MIXED + DATES).fit(TABLE, Y), TABLE),
    (mercer.KernelRidge().fit(sp.csr_array(np.maximum(X, 0.0)), Y), sp.csr_array(np.abs(X))),
    (mercer.KernelRidgeCV(["gaussian(1.0)"], [0.1, 1.0], cv=KFold(3)).fit(X, Y), X),
    (mercer.KernelSVC("gaussian(1.0)").fit(X, SIGNS), X),
    (mercer.KernelSVC("precomputed").fit(GRAM, SIGNS > 0), GRAM),
    (mercer.KernelSVR("linear", solver="primal").fit(X, Y), X),
    (mercer.KernelSVR("gaussian(1.0)").partial_fit(X, Y), X),
    (mercer.KernelPerceptron("gaussian(1.0)").fit(X, SIGNS), X),
    (mercer.KernelLogisticRegression("gaussian(1.0)").fit(X, SIGNS), X),
    (mercer.KernelPCA("gaussian(1.0)", n_components=2, fit_inverse_transform=True).fit(X), X),
    (mercer.Nystroem("gaussian(1.0)", n_components=3).fit(X), X),
    (mercer.RandomFourier("gaussian(1.0)", n_components=3).fit(X), X),
    (mercer.Monomials(2).fit(X), X),
    (mercer.MercerMap("gaussian(1.0)", n_components=2).fit(X), X),
    ((2.0 * MIXED + WIDE.exp()).normalized(), TABLE),
]
WAYS = ("predict", "decision_function", "predict_proba", "transform", "gradient", "__call__")


def seed(model: Any) -> tuple[Any, dict[str, Any], bytes]:
    """Return a model as a specification, arrays and bytes."""
    encoder = Encoder()
    spec = {"model": encoder.node(model, "model")}
    return spec, encoder.arrays, sealed(spec, encoder.arrays)


ODD: list[Any] = [None, True, 0, -1, 1, 2**31, 2**63, 1e308, -0.0, "", "a", "nan", [], {}, [[]]]
ODD += [{"float": "inf"}, {"array": "a00000"}, {"array": "a00001"}, {"tuple": []}, {"list": [1]}]
ODD += [-1e308, 5e-324, 2**53 + 1, 10**18, {"float": "nan"}, {"int": "0x" + "f" * 99}]
ODD += [{"texts": ["a"], "dtype": "<U1", "shape": [1]}, {"dict": [["a", 1]]}, {"scalar": 1}]
ODD += [{"date": "2024-02-30"}, {"datetime": "2024-01-01"}, {"decimal": "1e999999"}, {"bytes": "0"}]
ODD += [{"random": {"tuple": ["MT19937"]}}, {"splitter": "KFold", "settings": {"n_splits": 2**40}}]
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


def changed_bytes(content: bytes, r: random.Random) -> bytes:
    """Return a file with some other bytes, mostly under a hash that fits."""
    mutated = bytearray(content)
    for _ in range(r.choice([1, 2, 8])):
        mutated[r.randrange(len(mutated))] = r.randrange(256)
    if r.random() < 0.2:
        del mutated[r.randrange(len(mutated)) :]
    stated = HASH.search(mutated)
    if stated is None or r.random() < 0.2:
        return bytes(mutated)
    mutated[slice(*stated.span(1))] = EMPTY_HASH.encode()
    mutated[slice(*stated.span(1))] = sha256(mutated).hexdigest().encode()
    return bytes(mutated)


def tried(number: int, seeds: list[tuple[Any, dict[str, Any], bytes]]) -> str:
    """Return what became of a mutated file, or nothing if it was as it should be."""
    r = random.Random(number)
    which = r.randrange(len(seeds))
    spec, arrays, content = seeds[which]
    began = time.process_time()
    try:
        if r.random() < 0.3:
            model = restored(*unsealed(changed_bytes(content, r)))
        else:
            spec = json.loads(json.dumps(spec))
            for _ in range(r.choice([1, 1, 2, 3])):
                if r.random() < 0.7 or not arrays:
                    spec = changed_spec(spec, r)
                else:
                    arrays = changed_arrays(arrays, r)
            model = restored(spec, arrays)
    except ModelFileError as error:
        late = time.process_time() - began
        if late > SECONDS:
            return f"refused after {late:.1f} s"
        return "" if "\n" not in str(error) else f"several lines: {error}"
    except BaseException as error:
        return f"{type(error).__name__}: {error}"
    used(model, SEEDS[which][1], r)
    taken = time.process_time() - began
    return "" if taken < SECONDS else f"took {taken:.1f} s"


def used(model: Any, rows: Any, r: random.Random) -> None:
    """Ask a model for what it says of rows, and let it learn, which may end in any error."""
    ways = [way for way in WAYS if hasattr(type(model), way)]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for way in ways[:1] if r.random() < 0.8 else ways:
            # A model that does not fit together says so in some way.
            with suppress(Exception):
                getattr(model, way)(rows)
        if hasattr(type(model), "partial_fit") and r.random() < 0.1:
            with suppress(Exception):
                model.partial_fit(rows, SIGNS)


def peak() -> int:
    """Return the largest memory of this process so far, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def main(count: int = 1_000_000, first: int = 0) -> None:
    """Try files by number and print those that are not as they should be."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    seeds = [seed(model) for model, _ in SEEDS]
    warnings.simplefilter("ignore")
    failed, before = 0, None
    for number in range(first, first + count):
        if number % 1000 == 0:
            if number == first + 1000:
                before = peak()
            faulthandler.dump_traceback_later(HANGS_AFTER, exit=True)
        found = tried(number, seeds)
        if found:
            failed += 1
            print(number, found[:300], flush=True)
    faulthandler.cancel_dump_traceback_later()
    grown = 0 if before is None else peak() - before
    failed += grown > GROWTH
    print(f"{count} files, {failed} failed, memory grew by {grown >> 20} MB")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
