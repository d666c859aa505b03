"""Choices on rows of a file: those on the same rows in memory."""

from contextlib import nullcontext

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose

from mercer import (
    Gaussian,
    KernelLogisticRegression,
    KernelLogisticRegressionCV,
    KernelPerceptron,
    KernelRidge,
    KernelRidgeClassifier,
    KernelRidgeClassifierCV,
    KernelRidgeCV,
    KernelSVC,
)
from mercer.errors import ApproximationWarning, MemoryLimitError

BY_LANDMARKS = {"solver": "nystrom", "n_landmarks": 40, "random_state": 0}


@pytest.fixture
def table(rng):
    X = rng.normal(size=(400, 3))
    y = np.sin(X[:, 0]) + 0.1 * X[:, 1] + 0.1 * rng.normal(size=400)
    given = {"y": y, "label": (y > 0.2).astype(int), "w": rng.uniform(0.5, 2.0, 400)}
    return pl.DataFrame(X, schema=["a", "b", "c"]).with_columns(
        **{k: pl.Series(v) for k, v in given.items()}
    )


@pytest.fixture
def path(tmp_path, table):
    table.write_parquet(tmp_path / "rows.parquet", row_group_size=70)
    return tmp_path / "rows.parquet"


def reading(scale=1.0):
    return Gaussian(scale).on("a", "b", "c")


@pytest.mark.parametrize("cv", ["loo", "gcv", 5])
@pytest.mark.parametrize("weights", [None, "w"])
def test_ridges_are_chosen_on_a_file_as_on_its_rows(table, path, cv, weights):
    kernels = [reading(), reading(3.0)]
    found, expected = (
        KernelRidgeCV(kernels, cv=cv, **BY_LANDMARKS).fit(rows, "y", weights)
        for rows in (path, table)
    )
    assert found.kernel_ == expected.kernel_
    assert found.alpha_ == expected.alpha_
    scores = (m.cv_results_["mean_test_score"] for m in (found, expected))
    assert_allclose(next(scores), next(scores), rtol=1e-9)
    assert_allclose(found.predict(path), expected.predict(table), rtol=1e-9)


@pytest.mark.parametrize("n_landmarks", [None, 60])
def test_auto_goes_by_landmarks_where_rows_have_no_place_in_the_memory(rng, n_landmarks):
    X = rng.normal(size=(3000, 40))

    def blocks():
        return iter([X[:1700], X[1700:]])

    # A quarter of the memory is less than what the rows take.
    model = KernelRidgeCV(Gaussian(8.0), [0.1, 1.0], memory="3.5MB", n_landmarks=n_landmarks)
    with pytest.warns(ApproximationWarning) if n_landmarks is None else nullcontext():
        model.fit(blocks, X[:, 0])
    assert model.certificate_.method == "nystrom"
    assert (n_landmarks or 50) <= model.approximation_.n_landmarks < 1000
    assert model.plan(blocks, X[:, 0]).solver == "nystrom"


@pytest.mark.parametrize(
    "machine",
    [
        KernelRidgeClassifier(reading(), **BY_LANDMARKS),
        KernelRidgeClassifierCV([reading()], **BY_LANDMARKS),
        KernelLogisticRegressionCV([reading()], [0.1, 10.0], **BY_LANDMARKS),
        KernelPerceptron(reading()),
    ],
    ids=lambda machine: type(machine).__name__,
)
def test_classifiers_take_a_file_with_its_columns_by_name(table, path, machine):
    found = machine.fit(path, "label", "w")
    at_file, score = found.decision_function(path), found.score(path, "label", "w")
    expected = machine.fit(table.drop("label", "y", "w"), table["label"].to_numpy(), table["w"])
    assert_allclose(at_file, expected.decision_function(table), atol=1e-9)
    assert score == expected.score(table, table["label"].to_numpy(), table["w"]) > 0.8


@pytest.mark.parametrize(
    "machine", [KernelLogisticRegressionCV([reading()]), KernelPerceptron(reading())]
)
def test_what_needs_all_rows_refuses_a_large_file_with_what_takes_it(path, machine):
    machine.set_params(memory="10kB")
    with pytest.raises(MemoryLimitError, match="use KernelRidge, KernelLogisticRegression or"):
        machine.fit(path, "label")


@pytest.mark.parametrize(
    ("machine", "target"),
    [
        (KernelRidge(reading(), **BY_LANDMARKS), "y"),
        (KernelSVC(reading(), **BY_LANDMARKS), "label"),
        (KernelLogisticRegression(reading(), **BY_LANDMARKS), "label"),
    ],
)
def test_a_score_is_that_of_the_rows_of_a_file(table, path, machine, target):
    machine.fit(path, target)
    expected = machine.score(table, table[target].to_numpy(), table["w"].to_numpy())
    assert machine.score(path, target, "w") == pytest.approx(expected)
    assert machine.score(table, target, "w") == pytest.approx(expected)


def test_errors_left_out_and_intervals_of_a_file_are_those_of_its_rows(table, path):
    machine = KernelRidge(reading(), **BY_LANDMARKS)
    found = machine.fit(path, "y")
    missed, ends = found.leave_one_out_predictions_, found.predict_interval(table)
    expected = machine.fit(table, "y")
    assert_allclose(missed, expected.leave_one_out_predictions_, rtol=1e-9)
    assert_allclose(ends, expected.predict_interval(table), rtol=1e-9)
