"""Whether a fit is exact or by landmarks does not follow what is free."""

import numpy as np
import pytest

from mercer import Gaussian, KernelLogisticRegression, KernelRidge, KernelSVC, Polynomial
from mercer.data.limits import memory
from mercer.errors import MemoryLimitError

X = np.random.default_rng(0).normal(size=(30_000, 3))


@pytest.mark.parametrize("machine", [KernelRidge, KernelLogisticRegression, KernelSVC])
@pytest.mark.parametrize("time_limit", [None, 20.0])
def test_the_solver_of_a_plan_is_the_same_with_little_and_with_much_free(
    machine, time_limit, monkeypatch
):
    is_named = []
    # As much as landmarks need, and a terabyte.
    for free in (3 << 30, 1 << 40):
        monkeypatch.setattr(memory, "available_bytes", lambda free=free: free)
        plan = machine(Gaussian(1.0), time_limit=time_limit).plan(X, X[:, 0] > 0.0)
        is_named.append(plan.solver == "nystrom")
    assert is_named[0] == is_named[1]


def test_features_that_do_not_fit_into_what_is_free_are_refused_and_not_exchanged(monkeypatch):
    model, y = KernelSVC(Polynomial(2)), X[:, 0] > 0.0
    assert model.plan(X, y).solver == "primal"
    monkeypatch.setattr(memory, "available_bytes", lambda: 2 << 20)
    for begin in (model.plan, model.fit):
        with pytest.raises(MemoryLimitError, match="but the limit is"):
            begin(X, y)
