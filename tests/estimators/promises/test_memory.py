"""The limit that is given by memory=: kept to, or refused with the least that would do."""

import re
import sys
import tracemalloc

import numpy as np
import pytest

from mercer import (
    KernelClassifier,
    KernelLogisticRegression,
    KernelLogisticRegressionCV,
    KernelPCA,
    KernelPerceptron,
    KernelRegressor,
    KernelRidge,
    KernelRidgeClassifier,
    KernelRidgeCV,
    KernelSVC,
    KernelSVR,
    Nystroem,
    RandomFourier,
)
from mercer.errors import MemoryLimitError
from processes import forked

LIMIT = 120_000_000

# The memory that a fit takes beside the interpreter and the data, by the kernel's own counter,
# which is reset before.
MEASURED = """
import re, sys
import numpy as np
from sklearn.base import clone
from mercer import Gaussian, KernelLogisticRegression, KernelRidge, KernelSVC, KernelSVR

def now(what):
    with open("/proc/self/status") as file:
        return 1024 * int(re.search(what + r":\\s+(\\d+)", file.read())[1])

name, limit = sys.argv[1], int(sys.argv[2])
rng = np.random.default_rng(0)
X = rng.standard_normal((20_000, 5))
y = np.sin(X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(len(X))
k, signs = Gaussian(1.0), (y > 0).astype(int)
model, targets, n = {
    "cholesky": (KernelRidge(k, 0.1, solver="cholesky"), y, 3500),
    "cg": (KernelRidge(k, 0.1, solver="cg"), y, 5000),
    "svc": (KernelSVC(k), signs, 5000),
    "logistic": (KernelLogisticRegression(k), signs, 3000),
    "nystrom": (KernelRidge(k, 0.1, solver="nystrom", n_landmarks=500), y, 20_000),
    "newton": (KernelLogisticRegression(k, solver="nystrom", n_landmarks=300), signs, 20_000),
    "descent": (KernelSVR(k, solver="nystrom", n_landmarks=300), y, 20_000),
}[name]
model.set_params(memory=limit)
# What is made once, such as the pool of threads, is no part of a fit.
few = {"n_landmarks": 20} if model.n_landmarks else {}
clone(model).set_params(**few).fit(X[:200], targets[:200])
X.flags.writeable = False
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")
before = now("VmRSS")
model.fit(X[:n], targets[:n])
print(now("VmHWM") - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux resets the peak of a process")
@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("cholesky", 4e7),
        ("cg", 0),
        ("svc", 0),
        ("logistic", 0),
        ("nystrom", 0),
        ("newton", 2e7),
        ("descent", 2e7),
    ],
)
def test_a_fit_stays_within_its_limit_and_a_tenth(name, least):
    done = forked(MEASURED, name, LIMIT)
    assert done.returncode == 0, done.stderr
    # A factor of 3500 rows takes 49 MB in float32, which the measurement has to see.
    assert least <= int(done.stdout) <= 1.1 * LIMIT


# The most memory that a process has had whose fit chooses itself how many landmarks it takes.
WHOLE = """
import re, sys, warnings
warnings.simplefilter("ignore")
import numpy as np
import mercer

rng = np.random.default_rng(0)
X = rng.standard_normal((200_000, 3))
y = (np.sin(X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(len(X)) > 0).astype(int)
model = getattr(mercer, sys.argv[1])(solver="nystrom", memory=int(sys.argv[2]))
X.flags.writeable = False
model.fit(X, y)
with open("/proc/self/status") as file:
    print(1024 * int(re.search(r"VmHWM:\\s+(\\d+)", file.read())[1]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells of memory in /proc")
@pytest.mark.parametrize("name", ["KernelLogisticRegression", "KernelSVC"])
def test_a_process_that_fits_stays_within_the_limit_and_a_tenth(name):
    limit = 500_000_000
    done = forked(WHOLE, name, limit)
    assert done.returncode == 0, done.stderr
    # Stored features fill what the process leaves.
    assert 0.8 * limit <= int(done.stdout) <= 1.1 * limit


# The same of a choice among so many ridges that errors of all rows at each would take 160 MB.
CHOICE = """
import re, sys
import numpy as np
from mercer import Gaussian, KernelRidgeCV

def now(what):
    with open("/proc/self/status") as file:
        return 1024 * int(re.search(what + r":\\s+(\\d+)", file.read())[1])

cv, scoring, limit = sys.argv[1], sys.argv[2], int(sys.argv[3])
rng = np.random.default_rng(0)
X = rng.standard_normal((200_000, 5))
y = np.sin(X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(len(X))
how = {"cv": cv if cv == "loo" else int(cv), "scoring": None if scoring == "None" else scoring}
model = KernelRidgeCV(Gaussian(2.0), np.geomspace(1e-4, 1e2, 100), solver="nystrom", **how)
model.set_params(n_landmarks=30, memory=limit).fit(X[:2000], y[:2000])
X.flags.writeable = False
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")
before = now("VmRSS")
model.fit(X, y)
print(now("VmHWM") - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux resets the peak of a process")
@pytest.mark.parametrize(("cv", "scoring"), [("loo", None), ("5", None), ("loo", "r2")])
def test_a_choice_by_landmarks_stays_within_its_limit_whatever_the_number_of_ridges(cv, scoring):
    done = forked(CHOICE, cv, scoring, LIMIT)
    assert done.returncode == 0, done.stderr
    assert 1e7 <= int(done.stdout) <= 1.1 * LIMIT


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(300, 3))


@pytest.mark.filterwarnings("ignore::mercer.errors.ApproximationWarning")
@pytest.mark.filterwarnings("ignore::mercer.errors.ConvergenceWarning")
@pytest.mark.parametrize(
    "model",
    [
        KernelRidge(),
        KernelRidge(solver="cholesky"),
        KernelRidge(solver="eigen"),
        KernelRidge(solver="cg"),
        KernelRidge(solver="sgd", tol=0.1),
        KernelRidge(solver="nystrom", n_landmarks=100),
        KernelRidgeClassifier(),
        KernelLogisticRegression(),
        KernelLogisticRegression(solver="newton"),
        KernelLogisticRegression(solver="sgd"),
        KernelLogisticRegression(solver="nystrom"),
        KernelSVC(),
        KernelSVC(solver="sgd"),
        KernelSVR(),
        KernelSVR(solver="sgd"),
        KernelPerceptron(),
        KernelPCA(n_components=2, solver="dense"),
        Nystroem(n_components=20),
        RandomFourier(n_components=400),
        KernelRidgeCV(["gaussian"], [1.0]),
        KernelLogisticRegressionCV(["gaussian"], [1.0]),
    ],
    ids=str,
)
def test_a_limit_too_small_for_anything_is_refused_with_the_least_that_would_do(X, model):
    y = (X[:, 0] > 0).astype(int)
    with pytest.raises(MemoryLimitError) as refused:
        model.set_params(memory=1000).fit(X, y)
    assert "\n" not in str(refused.value)
    needed, unit = re.search(r"([\d.]+) (GB|MB|KB)", str(refused.value)).groups()
    # What is said has three digits.
    enough = 1.005 * float(needed) * {"GB": 1e9, "MB": 1e6, "KB": 1e3}[unit]
    model.set_params(memory=enough).fit(X, y)


@pytest.mark.parametrize("machine", [KernelRegressor, KernelClassifier])
def test_the_automatic_machines_refuse_it_in_a_line(X, machine):
    with pytest.raises(MemoryLimitError, match=r"needs .* but the limit is 1\.00 KB"):
        machine(memory="1KB").fit(X, np.arange(len(X)) % 3)


# Every step takes the same memory.
@pytest.mark.usefixtures("brief")
def test_the_kernels_that_are_tried_side_by_side_stay_within_the_limit(X, monkeypatch):
    monkeypatch.setattr("mercer.selection.automatic.search.thread_count", lambda: 8)
    limit, X = 5_000_000, X[:200]
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2]
    # What is loaded once is no part of a fit.
    KernelRegressor().fit(X[:20], y[:20])
    tracemalloc.start()
    model = KernelRegressor(memory=limit, random_state=0).fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= limit
    # A sum takes the matrices of all its terms: the limit leaves room for them.
    assert any(c.name.startswith("additive") for c in model.candidates_)
