"""Ctrl-C at any moment raises, or ends in a model and a warning that says so: it is never lost."""

import signal

import pytest

from processes import forked

pytestmark = pytest.mark.skipif(
    not hasattr(signal, "setitimer"), reason="this system has no timer that sends signals"
)

# A timer sends the signal at a random moment of the fit. What Python cannot raise it reports.
SCRIPT = """
import random, signal, sys, time, warnings
import numpy as np
import mercer
from mercer.errors import ConvergenceWarning

heard, lost = 0, []

def handler(*_):
    global heard
    heard += 1
    raise KeyboardInterrupt

signal.signal(signal.SIGALRM, handler)
sys.unraisablehook = lambda report: lost.append(repr(report.exc_value))
rng = np.random.default_rng(0)
X = rng.normal(size=({rows}, 4))
y = {targets}
make = lambda: {model}.fit(X, y)
warnings.simplefilter("ignore")
make()
start = time.perf_counter()
make()
seconds = time.perf_counter() - start
random.seed(0)
counted, end = 0, time.perf_counter() + 2.0
while counted < 40 and (counted == 0 or time.perf_counter() < end):
    heard, answer = 0, "nothing"
    try:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            signal.setitimer(signal.ITIMER_REAL, random.uniform(1e-4, seconds))
            make()
            signal.setitimer(signal.ITIMER_REAL, 0.0)
        if any(w.category is ConvergenceWarning and "Ctrl-C" in str(w.message) for w in told):
            answer = "warning"
    except KeyboardInterrupt:
        answer = "raised"
    signal.setitimer(signal.ITIMER_REAL, 0.0)
    counted += heard
    if heard and answer == "nothing":
        lost.append(answer)
print(counted > 0, lost)
"""

SIGNS = "np.sign(X[:, 0] * X[:, 1] + 0.5 * rng.normal(size=len(X)))"


@pytest.mark.parametrize(
    ("model", "targets", "rows"),
    [
        ("mercer.KernelSVC('gaussian(1.0)', C=10.0, solver='smo')", SIGNS, 1500),
        ("mercer.KernelSVC('gaussian(1.0)', C=10.0)", "(X[:, 0] > 0) + 2 * (X[:, 1] > 0)", 1500),
        ("mercer.KernelSVR('gaussian(1.0)', solver='smo')", "np.sin(X[:, 0])", 1500),
        ("mercer.KernelSVC('linear', C=10.0, solver='primal')", SIGNS, 1500),
        ("mercer.KernelRidge('gaussian(1.0)', 0.1, solver='cg')", SIGNS, 1500),
        ("mercer.KernelPerceptron('gaussian(1.0)', max_epochs=5)", SIGNS, 1500),
        ("mercer.KernelLogisticRegressionCV('gaussian(1.0)')", SIGNS, 150),
    ],
    ids=["smo", "pairs", "regression", "primal", "cg", "perceptron", "search"],
)
def test_no_interrupt_is_lost(model, targets, rows):
    done = forked(SCRIPT.format(model=model, targets=targets, rows=rows))
    assert done.stdout == "True []\n", done.stderr
