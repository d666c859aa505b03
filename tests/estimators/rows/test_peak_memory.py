"""The most that a process with a limit of memory holds, measured."""

import subprocess
import sys

import numpy as np
import pytest

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="the system tells of peaks in /proc"
)

FIT = """
import sys
import numpy as np
import mercer
kind, folder, memory, landmarks = sys.argv[1:]
y, X = np.load(f"{folder}/y.npy"), np.load(f"{folder}/X.npy", mmap_mode="r")
model = getattr(mercer, kind)("gaussian(2.0)", solver="nystrom", n_landmarks=int(landmarks))
model.set_params(memory=memory).fit(X, y > 0 if kind != "KernelRidge" else y)
# Not the peak of the usage of resources, which a process has from the one that began it.
with open("/proc/self/status") as file:
    print(next(1024 * int(line.split()[1]) for line in file if line.startswith("VmHWM")))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return where rows are that take no small share of the limits below."""
    folder, random = tmp_path_factory.mktemp("rows"), np.random.default_rng(0)
    X = random.normal(size=(800_000, 50))
    np.save(folder / "X.npy", X)
    np.save(folder / "y.npy", np.sin(X[:, 0]) + X[:, 1])
    return folder


@pytest.mark.parametrize(
    ("kind", "memory", "landmarks"),
    [("KernelRidge", 500, 30), ("KernelLogisticRegression", 500, 20), ("KernelSVC", 600, 30)],
)
def test_a_fit_to_a_memory_map_keeps_to_its_limit_of_the_whole_process(
    kind, memory, landmarks, folder
):
    line = (sys.executable, "-c", FIT, kind, str(folder), f"{memory}MB", str(landmarks))
    found = subprocess.run(line, capture_output=True, text=True, check=True)
    assert int(found.stdout) <= 1.1e6 * memory
