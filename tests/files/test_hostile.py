"""What a hostile file can do: nothing but be refused."""

import sys
from pathlib import Path

import numpy as np
import pytest

import mercer
from mercer.errors import ModelFileError
from mercer.files import decoder
from mercer.files.container import read, sealed, unsealed
from mercer.files.encoder import Encoder
from mercer.files.models import restored
from processes import forked
from saved import MODELS, made

FIXTURES = Path(__file__).with_name("fixtures")


def spec_of(name):
    encoder = Encoder()
    node = encoder.node(MODELS[name]()[0], "model")
    return {"model": node}, encoder.arrays


def refused(spec, arrays, match):
    # Through the bytes of a file, as a reader gets it.
    with pytest.raises(ModelFileError, match=match):
        restored(*unsealed(sealed(spec, arrays)))


@pytest.mark.parametrize(
    ("node", "match"),
    [
        ({"object": "Popen", "fields": {"args": ["id"]}}, "no part of models"),
        ({"object": "os.system", "fields": {}}, "no part of models"),
        ({"object": "FromFunction", "fields": {"f": "print"}}, "no part of models"),
        ({"object": ["Gaussian"], "fields": {}}, "no part of models"),
        ({"estimator": "Pipeline", "params": {}, "fitted": {}}, "no estimator"),
        ({"estimator": "KernelEstimator", "params": {}, "fitted": {}}, "no estimator"),
        ({"object": "Gaussian", "fields": {"length_scale": -1.0}}, "positive"),
        ({"object": "Gaussian", "fields": {"length_scale": {"float": "nan"}}}, "."),
        ({"object": "Gaussian", "fields": {"width": 1.0}}, "has no part 'width'"),
        ({"object": "Polynomial", "fields": {"degree": "x"}}, "."),
        ({"object": "Scaled", "fields": {"kernel": 3, "factor": 2.0}}, "."),
        ({"object": "Sum", "fields": {"terms": {"tuple": [1, 2]}}}, "."),
        ({"array": "a00000"}, "which is no model"),
        ({"array": "none"}, "no array"),
        ("gaussian", "which is no model"),
        (None, "which is no model"),
        ([1, 2], "no known form"),
        ({"eval": "1 + 1"}, "no known form"),
    ],
)
def test_what_is_no_model_of_ours_is_refused(node, match):
    refused({"model": node}, {"a00000": np.ones(2)}, match)


def test_nesting_is_bounded():
    node = {"object": "Constant", "fields": {"value": 1.0}}
    for _ in range(200):
        node = {"object": "Exp", "fields": {"kernel": node}}
    refused({"model": node}, {}, "nest deeper than 60 levels")


def test_an_attribute_that_would_replace_a_method_is_refused():
    spec, arrays = spec_of("ridge")
    for name in ("predict", "__class__", "fit", "dual_coef_"):
        changed = {**spec["model"], "fitted": {**spec["model"]["fitted"], name: 1}}
        refused({"model": changed}, arrays, "keeps no")


def test_coefficients_for_other_rows_are_refused():
    spec, arrays = spec_of("ridge")
    f = spec["model"]["fitted"]["function_"]["fields"]
    short = {**arrays, "b": np.ones((3, 1))}
    f["coefficients"] = {"array": "b"}
    refused(spec, short, "3 coefficients for 30 rows")


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_coefficients_that_are_no_numbers_are_refused(bad):
    spec, arrays = spec_of("ridge")
    name = spec["model"]["fitted"]["function_"]["fields"]["coefficients"]["array"]
    refused(spec, {**arrays, name: np.full_like(arrays[name], bad)}, "must be finite")


@pytest.mark.parametrize(
    ("part", "values"),
    [
        ("indices", [10**8]),
        ("indices", [-1]),
        ("indptr", [0, 5]),
        ("indptr", [5, 0]),
    ],
)
def test_sparse_rows_that_point_outside_are_refused(part, values):
    spec, arrays = spec_of("ridge of sparse rows")
    rows = spec["model"]["fitted"]["function_"]["fields"]["rows"]
    name = rows[part]["array"]
    bad = arrays[name].copy()
    bad[: len(values)] = values
    refused(spec, {**arrays, name: bad}, ".")


def test_a_table_of_an_unknown_library_is_refused():
    spec, arrays = spec_of("ridge of a table")
    state = spec["model"]["fitted"]["function_"]["fields"]["rows"]["rows"]["dict"]
    next(pair for pair in state if pair[0] == "library")[1] = "antigravity"
    refused(spec, arrays, "a table of the file is one of 'antigravity'")


def test_a_table_that_cannot_be_made_is_refused_in_one_line(monkeypatch):
    # Found by file 987058 of tests/fuzz_model_file.py: the text of narwhals has several lines.
    def refuse(state):
        raise ValueError("columns were not found: ['b']\n\nHint: did you mean 'a'?")

    monkeypatch.setattr(decoder, "rows_from_state", refuse)
    with pytest.raises(ModelFileError, match="not found: \\['b'\\] Hint: did you") as error:
        restored(*spec_of("ridge of a table"))
    assert "\n" not in str(error.value)


def test_knots_that_do_not_ascend_are_refused():
    spec, arrays = spec_of("ridge on a line")
    name = spec["model"]["fitted"]["function_"]["fields"]["knots"]["array"]
    refused(spec, {**arrays, name: arrays[name][::-1].copy()}, "ascending")


def test_columns_out_of_order_are_refused():
    spec, arrays = spec_of("ridge of texts")
    name = spec["model"]["fitted"]["function_"]["fields"]["columns"]["array"]
    refused(spec, {**arrays, name: arrays[name][::-1].copy()}, "ascending")


def test_parts_of_other_types_are_refused():
    spec, arrays = spec_of("ridge")
    spec["model"]["fitted"]["function_"]["fields"]["kernel"] = "gaussian"
    refused(spec, arrays, r"DualFunction\.kernel cannot be 'gaussian'")


WATCHED = """
import sys, mercer
path = sys.argv[1]
# What it takes to predict is imported before, as by a program that has opened a file already.
model = mercer.load(path)
events = []
def hook(event, args):
    if event.split(".")[0] in ("import", "exec", "compile", "open", "os", "subprocess", "socket",
                               "shutil", "ctypes", "pickle", "marshal", "cpython"):
        events.append((event, str(args[0]) if args else ""))
sys.addaudithook(hook)
mercer.load(path)
done = list(events)
print({(event, what) for event, what in done if (event, what) != ("open", path)})
"""


@pytest.mark.parametrize("name", ["SVC of a table", "automatic regression", "ridge of a stream"])
def test_loading_opens_the_file_and_runs_and_imports_nothing(name, tmp_path):
    path = tmp_path / "m.mercer"
    mercer.save(made(name)[0], path)
    said = forked(WATCHED, path)
    assert said.stdout == "set()\n", said.stdout + said.stderr


HUNGRY = """
import resource, sys
from mercer.errors import ModelFileError
import mercer
mercer.load(sys.argv[1])
used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for path in sys.argv[2:]:
    try:
        mercer.load(path)
    except ModelFileError:
        pass
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - used) / 1024)
"""

LIMITED = """
import re, resource, sys
import mercer
from mercer.errors import ModelFileError
mercer.load(sys.argv[1])
size = int(re.search(r"VmSize:\\s+(\\d+)", open("/proc/self/status").read())[1]) << 10
resource.setrlimit(resource.RLIMIT_AS, (size + (64 << 20),) * 2)
for path in sys.argv[1:]:
    try:
        mercer.load(path)
        print("loaded")
    except ModelFileError as error:
        print("memory" if "memory" in str(error) else "refused")
"""

GREEDY = {
    "wide sparse rows": {"sparse": "csr_array", "shape": [2**62, 2], "data": {"array": "f"}}
    | {"indices": {"array": "i"}, "indptr": {"array": "i"}},
    "texts of a long kind": {"texts": ["a"] * 1000, "dtype": "<U100000000", "shape": [1000]},
    "a large shape": {"texts": [], "dtype": "<U1", "shape": [0, 10**9, 10**9]},
    "a large number": {"int": "9" * 10**6},
}


@pytest.fixture
def greedy(tmp_path):
    """A good file, and small ones that ask for much."""
    good, arrays = tmp_path / "good.mercer", {"f": np.zeros(0), "i": np.zeros(1, np.int64)}
    mercer.save(MODELS["ridge"]()[0], good)
    paths = [good]
    for name, node in GREEDY.items():
        spec = {"model": {"estimator": "KernelRidge", "params": {}, "fitted": {"x_": node}}}
        paths.append(tmp_path / f"{name}.mercer")
        paths[-1].write_bytes(sealed(spec, arrays))
    return paths


def test_small_files_take_no_large_memory(greedy):
    said = forked(HUNGRY, *greedy)
    assert float(said.stdout or "inf") < 50.0, said.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc and limits the address space")
def test_small_files_allocate_no_large_memory_even_untouched(greedy):
    # Pages that nobody touches are not counted by the system, but they are by this limit.
    said = forked(LIMITED, *greedy)
    first, *others = said.stdout.split()
    assert first == "loaded"
    assert len(others) == len(GREEDY)
    assert set(others) <= {"loaded", "refused"}, said.stderr


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*.mercer")), ids=lambda p: p.name)
def test_files_of_every_format_are_still_read(path):
    model = mercer.load(path)
    rows, expected = np.array([[0.0, 0.0], [1.0, -1.0]]), np.load(path.with_suffix(".npy"))
    found = model.predict(rows) if hasattr(model, "predict") else model(rows)
    assert np.allclose(found, expected, rtol=0, atol=1e-12)
    assert read(path)[0]["model"] is not None


def test_there_is_a_file_of_the_present_format():
    assert any(path.name.startswith("v1") for path in FIXTURES.glob("*.mercer"))


def test_sparse_rows_in_the_clothes_of_a_table_are_refused():
    spec, arrays = spec_of("ridge of a table")
    rows = spec["model"]["fitted"]["function_"]["fields"]["rows"]["rows"]["dict"]
    next(pair for pair in rows if pair[0] == "kind")[1] = "csr"
    refused(spec, arrays, "a table of the file")


@pytest.mark.parametrize(
    "node",
    [
        {"texts": ["a" * 10_000, *[""] * 10_000], "dtype": "<U1", "shape": [10_001]},
        {"list": [{"list": {"array": "a"}}] * 500},
    ],
    ids=["texts", "lists"],
)
def test_a_file_that_would_grow_is_refused(node):
    spec = {"model": {"estimator": "KernelRidge", "params": {}, "fitted": {"x_": node}}}
    refused(spec, {"a": np.zeros(50_000, np.uint8)}, "asks for large memory")


def within(node, name):
    """Return the first node of an object of some class within another one."""
    if isinstance(node, dict) and node.get("object") == name:
        return node["fields"]
    parts = node.values() if isinstance(node, dict) else node if isinstance(node, list) else []
    found = (within(part, name) for part in parts)
    return next((part for part in found if part is not None), None)


# What mutated files have found.
@pytest.mark.parametrize(
    ("name", "kind", "part", "value", "match"),
    [
        ("SVC", "CrossFits", "codes", np.full(30, 2**40), "is of class"),
        ("SVC", "CrossFits", "codes", np.full(30, -1), "must not be negative"),
        ("SVC", "CrossFits", "weights", np.full(30, np.nan), "must be a vector of numbers"),
        ("logistic", "LogisticProblem", "codes", np.full(30, 99), "is of class"),
        ("SVC of three classes", "PairFunction", "counts", np.array([2**62, 2**62, 9]), "."),
        ("ridge of a stream", "RidgeStream", "centre", np.zeros(77), "have other shapes"),
        ("ridge by landmarks", "DualFunction", "coefficients", np.zeros((2, 1)), "for 9 rows"),
        ("random features", "FourierMap", "shifts", np.zeros(99), "other frequencies"),
        ("landmarks", "LandmarkMap", "factor", np.zeros((2, 2)), "factor of 5 landmarks"),
        ("perceptron of a few points", "Basis", "inverse", np.zeros((1, 99)), "of other sizes"),
    ],
)
def test_numbers_that_do_not_fit_together_are_refused(name, kind, part, value, match):
    # Of its own: one that was asked for probabilities keeps no rows to find them from.
    encoder = Encoder()
    node = encoder.node(MODELS[name]()[0], "model")
    within(node, kind)[part] = {"array": "bad"}
    refused({"model": node}, {**encoder.arrays, "bad": value}, match)


@pytest.mark.parametrize(
    "node",
    [
        {"date": "2024-13-01"},
        {"datetime": "now"},
        {"decimal": "x" * 10},
        {"int": "0x" + "f" * 1000},
        {"float": "1.0"},
        {"bytes": "0g"},
        {"timedelta": "9999999999999 0 0"},
        {"random": {"tuple": ["MT19937", {"array": "words"}, 10**6, 0, 0.0]}},
        {"splitter": "Pipeline", "settings": {}},
        {"splitter": "KFold", "settings": {"steps": 1}},
    ],
    ids=lambda node: next(iter(node)),
)
def test_values_that_are_not_written_as_they_should_be_are_refused(node):
    spec = {"model": {"estimator": "KernelRidge", "params": {}, "fitted": {"x_": node}}}
    refused(spec, {"words": np.zeros(624, np.uint32)}, ".")


def test_a_file_cannot_name_a_path_to_write_to():
    params = {"checkpoint": "/etc/passwd"}
    spec = {"model": {"estimator": "KernelRidge", "params": params, "fitted": {}}}
    refused(spec, {}, "has no parameter 'checkpoint'")
