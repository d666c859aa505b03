"""Fits that were killed go on from their checkpoint, to the same bits."""

import os
import signal
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone, is_classifier
from sklearn.exceptions import ConvergenceWarning

from mercer import Gaussian, KernelLogisticRegression, KernelRidge, KernelSVC, KernelSVR, Spectrum
from mercer.errors import CheckpointError, CheckpointWarning
from mercer.estimators import training
from mercer.native.lapack import one_blas_thread
from mercer.solvers import (
    SMO,
    NystromRidge,
    Run,
    StochasticLogistic,
    StochasticRidge,
    checkpoint as module,
)
from mercer.solvers.margin.screening import Screening
from processes import forked

# So many columns make several blocks of few rows.
N, D = 1600, 2048

CASES = {
    "nystrom": {"solver": "nystrom", "n_landmarks": 20},
    "cg": {"solver": "cg", "tol": 1e-9},
}
# Machines of a few rows, each long enough for some writes.
OTHERS = {
    "ridge, sgd": KernelRidge(Gaussian(1.0), 1.0, solver=StochasticRidge(tol=1e-9, batch=40)),
    "ridge, nystrom by steps": KernelRidge(
        Gaussian(0.5), 1e-3, solver=NystromRidge(tol=1e-9, is_sketched=True), n_landmarks=40
    ),
    "logistic, sgd": KernelLogisticRegression(
        Gaussian(1.0), 100.0, solver=StochasticLogistic(tol=1e-8, batch=40)
    ),
    "logistic, cg": KernelLogisticRegression(Gaussian(1.0), 1e4, solver="cg", tol=1e-9),
    "logistic, newton": KernelLogisticRegression(Gaussian(1.0), 1e4, solver="newton", tol=1e-9),
    "logistic, nystrom": KernelLogisticRegression(
        Gaussian(1.0), 1e4, solver="nystrom", n_landmarks=30, tol=1e-9
    ),
    "SVC, nystrom": KernelSVC(Gaussian(1.0), 10.0, solver="nystrom", n_landmarks=60, tol=1e-6),
    "SVC, smo": KernelSVC(Gaussian(1.0), 100.0, solver="smo", tol=1e-6),
    "SVR, smo": KernelSVR(Gaussian(1.0), 10.0, solver="smo", tol=1e-6),
    "SVC, sgd": KernelSVC(Gaussian(1.0), 10.0, solver="sgd", tol=0.01),
    "SVR, nystrom": KernelSVR(Gaussian(1.0), 10.0, solver="nystrom", n_landmarks=60, tol=1e-3),
}

# Fits, and is killed after some writes: between two of them, or while the file is put in place.
KILLED = """
import os, signal, sys
from mercer.native.lapack import one_blas_thread
from mercer.solvers import checkpoint as module

folder, name, path, writes, moment = sys.argv[1:]
sys.path.insert(0, folder)
from test_checkpoint import fitted
module.Checkpoint.seconds, module.Checkpoint.share = 0.0, float("inf")
left, replace = [int(writes)], os.replace

def killing(source, target):
    left[0] -= 1
    if left[0] == 0 and moment == "before":
        os.kill(os.getpid(), signal.SIGKILL)
    replace(source, target)
    if left[0] == 0:
        os.kill(os.getpid(), signal.SIGKILL)

os.replace = killing
with one_blas_thread():
    fitted(name, path)
"""


def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, D))
    return X, np.sin(X[:, 0]) + X[:, 1]


def fitted(name, path, **settings):
    if name in OTHERS:
        rng = np.random.default_rng(0)
        X = rng.standard_normal((200, 2))
        y = np.sin(2.0 * X[:, 0]) + X[:, 1] + 0.5 * rng.standard_normal(200)
        targets = np.digitize(y, [-0.5, 0.5]) if is_classifier(OTHERS[name]) else y
        return clone(OTHERS[name]).set_params(checkpoint=path).fit(X, targets)
    X, y = data()
    model = KernelRidge(Gaussian(60.0), 1e-3, checkpoint=path, **(CASES[name] | settings))
    if name == "cg":
        return model.fit(X[:300, :40], y[:300])
    return model.fit(lambda: iter([X]), y)


def killed(name, path, writes, moment):
    """Run a fit until it kills itself."""
    done = forked(KILLED, os.path.dirname(__file__), name, path, writes, moment)
    assert done.returncode == -signal.SIGKILL, done.stderr


def same(found, expected):
    first, second = (np.ascontiguousarray(m.dual_coef_).tobytes() for m in (found, expected))
    return first == second and np.array_equal(found.intercept_, expected.intercept_)


@pytest.mark.parametrize("name", CASES)
def test_a_killed_fit_goes_on_to_the_same_bits(tmp_path, name):
    path = tmp_path / "fit.npz"
    killed(name, path, 1, "after")
    first = path.read_bytes()
    killed(name, path, 2, "before")
    assert path.read_bytes() != first
    assert same(fitted(name, path), fitted(name, None))
    # What was done is no longer needed, and what was half written is not there.
    assert not path.exists()


@pytest.mark.parametrize("name", OTHERS)
def test_killed_fits_of_other_machines_do_so_too(tmp_path, name):
    path = tmp_path / "fit.npz"
    killed(name, path, 3 if "logistic" in name else 2, "after")
    # As the process that was killed: factors of LAPACK depend on its threads.
    with one_blas_thread():
        assert same(fitted(name, path), fitted(name, None))
    assert not path.exists()


# So few rows are solved for in float64; of more, in float32, the others are screened.
@pytest.mark.parametrize(("n", "is_double"), [(600, False), (100, True)])
@pytest.mark.parametrize("writes", [1, 4, 8])
def test_working_sets_go_on_to_the_same_bits(tmp_path, eager, monkeypatch, writes, n, is_double):
    monkeypatch.setattr(Screening, "least_rows", 100)
    path = tmp_path / "fit.npz"
    X, y = noisy(n)
    machine = KernelSVC(Gaussian(0.5), 10.0, solver=SMO(working_set=4), tol=1e-6)
    with one_blas_thread():
        expected = clone(machine).fit(X, y)
        machine.set_params(checkpoint=path)
        stopped(monkeypatch, machine, X, y, writes)
        with np.load(path) as kept:
            # Counts of the stage: its number, slow ones before it, whether it is of float64.
            assert kept["0/stage"][2] == is_double
        found = clone(machine).fit(X, y)
    assert same(found, expected)
    assert found.n_iter_ == expected.n_iter_


def noisy(n):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 2))
    return X, X[:, 0] + 0.5 * rng.standard_normal(n) > 0.0


def stopped(monkeypatch, machine, X, y, writes):
    """Fit until some states are kept; there are as many."""
    keep, left = Run.keep, [writes]

    def kept_until_the_limit_strikes(run, state):
        keep(run, state)
        left[0] -= 1
        if left[0] == 0:
            run.ended_by = "time"

    with monkeypatch.context() as patched, warnings.catch_warnings():
        # The last writes come when the gap is small enough all the same.
        warnings.simplefilter("ignore", ConvergenceWarning)
        patched.setattr(Run, "keep", kept_until_the_limit_strikes)
        clone(machine).fit(X, y)
    assert left[0] <= 0


def machine_of(scale, path, repair=None):
    k = Gaussian(scale)
    return KernelSVC(k, 10.0, solver=SMO(working_set=4), repair=repair, checkpoint=path)


@pytest.mark.parametrize("other", ["kernel", "repair", "row", "weight"])
def test_a_checkpoint_of_another_machine_is_refused(tmp_path, eager, monkeypatch, other):
    path = tmp_path / "fit.npz"
    X, y = noisy(600)
    stopped(monkeypatch, machine_of(0.5, path, "clip"), X, y, 5)
    weights = np.ones(600)
    if other == "row":
        X[1] += 1e-9
    if other == "weight":
        weights[1] = 2.0
    scale = np.nextafter(0.5, 1.0) if other == "kernel" else 0.5
    machine = machine_of(scale, path, "flip" if other == "repair" else "clip")
    with pytest.raises(CheckpointError, match="belongs to another fit"):
        machine.fit(X, y, weights)


@pytest.mark.parametrize("kind", [KernelRidge, KernelLogisticRegression, KernelSVC, KernelSVR])
def test_functions_in_a_kernel_are_refused_beside_a_checkpoint(tmp_path, kind):
    X, y = noisy(30)
    machine = kind(Gaussian(0.5).after(np.exp), checkpoint=tmp_path / "fit.npz")
    with pytest.raises(ValueError, match=r"<ufunc 'exp'> cannot be compared reliably; use a"):
        machine.fit(X, y * 1.0)


@pytest.mark.parametrize("n", [600, 100])
@pytest.mark.parametrize("least_rows", [50, 10_000])
@pytest.mark.parametrize("factor", [1.001, 2.0])
def test_no_certificate_rests_on_what_a_file_claims(
    tmp_path, eager, monkeypatch, n, least_rows, factor
):
    """Where the keys of two problems are the same by mistake, the values tell them apart."""
    monkeypatch.setattr(Screening, "least_rows", least_rows)
    monkeypatch.setattr(training, "digest", lambda *parts: "the same")
    path = tmp_path / "fit.npz"
    X, y = noisy(n)
    stopped(monkeypatch, machine_of(0.5, path), X, y, 5)
    machine = machine_of(0.5 / factor, path)
    try:
        machine.fit(X, y)
    except CheckpointError as error:
        assert "belongs to another fit" in str(error)
    else:
        # What float32 cannot tell apart is a start as good as any other.
        assert factor == 1.001
        assert machine.certificate_.satisfied
        assert relative_gap(machine, X, y) <= 1e-3


def relative_gap(machine, X, y):
    a, f = np.zeros(len(X)), machine.decision_function(X)
    a[machine.support_] = machine.dual_coef_[0]
    square = a @ (f - machine.intercept_)
    primal = 0.5 * square + 10.0 * np.maximum(0.0, 1.0 - np.where(y, f, -f)).sum()
    return (primal - (np.abs(a).sum() - 0.5 * square)) / primal


def test_the_tighter_tolerance_of_a_solver_object_and_a_machine_holds():
    X, y = noisy(60)
    for machine in (KernelSVC, KernelSVR):
        for own, given, taken in ((1e-6, 1e-3, 1e-6), (1e-2, 1e-4, 1e-4)):
            found = machine(Gaussian(0.5), solver=SMO(tol=own), tol=given).fit(X, y * 1.0)
            assert found.solver_.tol == taken
            assert found.certificate_.tolerance == taken


@pytest.mark.parametrize("rows", ["table", "sparse", "texts"])
def test_rows_of_all_forms_have_checkpoints(tmp_path, eager, monkeypatch, rows):
    path = tmp_path / "fit.npz"
    X, y = noisy(150)
    k = Gaussian(0.5)
    if rows == "table":
        X = pd.DataFrame({"u": X[:, 0], "v": X[:, 1], "w": np.where(y, "a", None)})
        k = "auto"
    elif rows == "sparse":
        X = sp.csr_array(X)
    else:
        X = ["".join("abcd"[int(v)] for v in np.clip(2 + 10 * x, 0, 3)) for x in X]
        k = Spectrum(1)
    machine = KernelSVC(k, 10.0, solver=SMO(working_set=4), checkpoint=path)
    with one_blas_thread():
        stopped(monkeypatch, machine, X, y, 1)
        found = clone(machine).fit(X, y)
        assert same(found, clone(machine).set_params(checkpoint=None).fit(X, y))


@pytest.fixture
def eager(monkeypatch):
    monkeypatch.setattr(module.Checkpoint, "seconds", 0.0)
    monkeypatch.setattr(module.Checkpoint, "share", np.inf)


@pytest.fixture
def kept(tmp_path, eager, monkeypatch):
    """The checkpoint that a fit has left which did not end."""
    path = tmp_path / "fit.npz"
    with monkeypatch.context() as patched:
        patched.setattr(module.Checkpoint, "remove", lambda self: None)
        small().fit(*data_of_few(), None)
        small(checkpoint=path).fit(*data_of_few())
    assert path.exists()
    return path


def data_of_few():
    X = np.random.default_rng(1).normal(size=(60, 2))
    return X, X[:, 0]


def small(**settings):
    given = {"alpha": 0.1, "solver": "nystrom", "n_landmarks": 10, "random_state": 0}
    return KernelRidge(settings.pop("kernel", Gaussian(1.0)), **(given | settings))


@pytest.mark.parametrize(
    "other",
    [
        {"alpha": 0.2},
        {"kernel": Gaussian(2.0)},
        {"fit_intercept": False},
        {"n_landmarks": 9},
        {"random_state": 1},
        {"tol": 1e-7},
    ],
    ids=str,
)
def test_a_checkpoint_of_other_settings_is_refused(kept, other):
    with pytest.raises(CheckpointError, match="belongs to another fit"):
        small(checkpoint=kept, **other).fit(*data_of_few())


def test_a_checkpoint_of_other_data_is_refused(kept):
    X, y = data_of_few()
    for rows, targets, weights in ((X + 1e-9, y, None), (X, y + 1e-9, None), (X, y, 2.0)):
        with pytest.raises(CheckpointError, match="belongs to another fit"):
            small(checkpoint=kept).fit(rows, targets, weights)


def test_the_same_fit_goes_on_from_its_checkpoint(kept):
    found = small(checkpoint=str(kept), time_limit=1e6).fit(*data_of_few())
    expected = small().fit(*data_of_few())
    np.testing.assert_array_equal(found.dual_coef_, expected.dual_coef_)
    assert not kept.exists()


@pytest.mark.parametrize("n_classes", [2, 4])
def test_a_fit_whose_time_is_up_leaves_its_checkpoint(tmp_path, eager, monkeypatch, n_classes):
    keep, path = Run.keep, tmp_path / "fit.npz"

    def kept_as_the_limit_strikes(run, state):
        keep(run, state)
        run.ended_by = "time"

    X, y = data_of_few()
    labels = np.searchsorted(np.quantile(y, np.arange(1, n_classes) / n_classes), y)
    machine = KernelSVC(Gaussian(0.5), 1e3, solver="nystrom", n_landmarks=20, tol=1e-9)
    machine.set_params(checkpoint=path, time_limit=1e6)
    with monkeypatch.context() as patched:
        patched.setattr(Run, "keep", kept_as_the_limit_strikes)
        with pytest.warns(ConvergenceWarning, match="time limit"):
            clone(machine).fit(X, labels)
    assert path.exists()
    machine.fit(X, labels)
    assert not path.exists()


def test_a_disk_that_is_full_costs_a_warning_and_not_the_fit(tmp_path, eager, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.warns(CheckpointWarning, match="No space left on device; the fit goes on"):
        found = small(checkpoint=tmp_path / "fit.npz").fit(*data_of_few())
    np.testing.assert_array_equal(found.dual_coef_, small().fit(*data_of_few()).dual_coef_)
    assert list(tmp_path.iterdir()) == []
