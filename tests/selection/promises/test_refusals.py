"""What KernelRidgeCV cannot choose from is refused in a line that says why."""

import numpy as np
import pandas as pd
import pytest

from mercer.errors import IgnoredColumnsWarning, IndefiniteKernelError, MemoryLimitError
from mercer.kernels import AdditiveChi2, Linear
from mercer.selection import (
    KernelLogisticRegressionCV,
    KernelRidgeClassifierCV,
    KernelRidgeCV,
)
from mercer.selection.classifiers.logistic_search import LogisticSearch
from mercer.selection.search import Search

N = 50


@pytest.mark.parametrize("cv", ["loo", "gcv"])
def test_one_row_is_refused(cv):
    with pytest.raises(ValueError, match=r"n_samples = 1 .* give at least 2"):
        KernelRidgeCV(cv=cv).fit([[0.0]], [1.0])
    with pytest.raises(ValueError, match=r"n_samples = 1 .* give at least 2"):
        KernelRidgeCV(cv=cv).fit([[0.0], [1.0]], [1.0, 2.0], [1.0, 0.0])


def test_fewer_rows_than_folds_are_refused(X, y):
    with pytest.raises(ValueError, match=r"n_splits=5 greater than the number of samples"):
        KernelRidgeCV(cv=5).fit(X[:4], y[:4])


@pytest.mark.parametrize("cv", ["loo", "gcv", 5])
def test_a_kernel_valid_on_sums_of_zero_is_refused_without_an_offset(X, y, cv):
    with pytest.raises(ValueError, match=r"does not outweigh it; choose with fit_intercept=True$"):
        KernelRidgeCV(AdditiveChi2(), [0.1, 1.0], cv=cv, fit_intercept=False).fit(np.abs(X), y)


def test_a_fold_without_training_rows_is_refused(X, y):
    with pytest.raises(ValueError, match="leaves no row of positive weight to train on"):
        KernelRidgeCV(cv=[([0, 1], [2, 3])]).fit(X, y, (np.arange(N) > 1).astype(float))
    with pytest.raises(ValueError, match="holds out no row of positive weight"):
        KernelRidgeCV(cv=[([2, 3], [0, 1])]).fit(X, y, (np.arange(N) > 1).astype(float))


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (dict(cv="jackknife"), r"cv must be 'loo', 'gcv', .* got 'jackknife'"),
        (dict(cv="gcv", scoring="r2"), "cv='gcv' predicts no held-out rows"),
        (dict(alphas=[]), r"alphas must be a number or a list of numbers, got \[\]"),
        (dict(alphas=[1.0, -2.0]), "alphas must be finite and not negative, got -2"),
        (dict(alphas=[np.nan]), "alphas must be finite and not negative, got nan"),
        (dict(alphas="many"), "alphas must be a number or a list of numbers, got 'many'"),
        (dict(kernels=[]), "kernels must hold at least one kernel"),
        pytest.param(
            dict(kernels=iter(["linear"])),
            "kernels must be a list, which can be read twice, got <",
            id="an iterator",
        ),
        (
            dict(kernels=["linear", "precomputed"]),
            r"kernels must read .* precomputed\(\) reads a f",
        ),
        (dict(scoring=["r2"]), r"scoring must be one scorer, .* got \['r2'\]"),
        (dict(kernels="no such kernel"), "no kernel has this name"),
        (dict(kernels={"lenght_scale": [1.0]}), "did you mean 'length_scale'"),
        (dict(scoring="no such score"), "no such score"),
        (dict(memory="much"), "memory must be"),
    ],
    ids=str,
)
def test_settings_that_mean_nothing_are_refused(X, y, settings, said):
    with pytest.raises(ValueError, match=said):
        KernelRidgeCV(**settings).fit(X, y)


def test_weights_that_are_all_zero_are_refused(X, y):
    with pytest.raises(ValueError, match="sample_weight is zero for every row"):
        KernelRidgeCV().fit(X, y, np.zeros(N))


@pytest.mark.parametrize("cv", ["loo", "gcv", 5])
def test_an_indefinite_matrix_is_refused_with_its_witness(cv):
    K = np.eye(20)
    K[0, 1] = K[1, 0] = 2.0
    with pytest.raises(IndefiniteKernelError) as refusal:
        KernelRidgeCV("precomputed", [10.0, 0.01], cv=cv).fit(K, np.arange(20.0))
    witness = refusal.value.witness
    assert witness.coefficients @ witness.points @ witness.coefficients < 0.0


@pytest.mark.parametrize(("cv", "needed"), [("loo", "0.04 MB"), ("gcv", "0.02 MB")])
def test_more_memory_than_allowed_is_refused(X, y, cv, needed):
    with pytest.raises(MemoryLimitError, match=rf"needs {needed} but the limit is 0\.01 MB"):
        KernelRidgeCV(cv=cv, memory="10KB").fit(X, y)


@pytest.mark.parametrize(
    ("kind", "solver"), [(KernelRidgeCV, "eigen"), (KernelLogisticRegressionCV, "cg")]
)
def test_what_does_not_fit_on_all_rows_is_refused_before_a_sample_is_tried(
    kind, solver, rng, monkeypatch
):
    X = rng.normal(size=(6000, 2))
    model = kind(memory="100MB", solver=solver)
    monkeypatch.setattr(Search, "on", lambda *_: pytest.fail("a sample was tried"))
    monkeypatch.setattr(LogisticSearch, "sample", lambda *_: pytest.fail("a sample was tried"))
    with pytest.raises(MemoryLimitError, match=r"choosing on 6000 rows needs [01]\.\d+ GB"):
        model.fit(X, (X[:, 0] > 0.0).astype(int))


SEARCHES = [KernelRidgeCV, KernelRidgeClassifierCV, KernelLogisticRegressionCV]


@pytest.mark.parametrize("kind", SEARCHES)
@pytest.mark.parametrize("kernels", [3.0, [Linear], ["gaussian", 3.0]])
def test_what_is_no_kernel_is_called_one_of_kernels(kind, kernels, X, y):
    with pytest.raises(TypeError, match=r"^one of kernels (must be a Kernel|is the class Linear)"):
        kind(kernels).fit(X, y > np.median(y))


@pytest.mark.parametrize("kind", SEARCHES)
def test_rows_with_other_columns_are_refused_by_the_name_of_the_search(kind, X, y):
    model = kind("linear").fit(X, y > np.median(y))
    wanted = f"X has 1 features, but {kind.__name__} is expecting {X.shape[1]} features as input"
    with pytest.raises(ValueError, match=wanted):
        model.predict(X[:, :1])
    with pytest.raises(ValueError, match=f"a minimum of 1 is required by {kind.__name__}$"):
        model.predict(X[:0])


@pytest.mark.parametrize("kind", SEARCHES)
def test_ignored_columns_are_told_once(kind, X, y):
    table = pd.DataFrame({"a": X[:, 0], "text": ["x", "y"] * (len(X) // 2)})
    with pytest.warns(IgnoredColumnsWarning, match="the kernel 'auto'") as caught:
        kind().fit(table, y > np.median(y))
    assert len(caught) == 1
