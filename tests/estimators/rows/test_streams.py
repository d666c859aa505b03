"""Models of rows that are read block by block: those of the same rows in memory."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from mercer import (
    Exponential,
    Gaussian,
    KernelLogisticRegression,
    KernelPCA,
    KernelRidge,
    KernelSVC,
    KernelSVR,
    NormalScores,
    Nystroem,
    RandomFourier,
    Standardize,
)
from mercer.data.stream import Stream
from mercer.errors import MemoryLimitError

D = ["a", "b", "c"]


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(400, 3)) * [1.0, 5.0, 0.2] + 1.0


@pytest.fixture
def y(X):
    return np.sin(X[:, 0]) + 0.1 * X[:, 1]


def table(X, y):
    return pl.DataFrame(X, schema=D).with_columns(y=pl.Series(y))


def model(**settings):
    given = {"solver": "nystrom", "n_landmarks": 40, "alpha": 1e-2, "random_state": 0}
    return KernelRidge(settings.pop("kernel", "gaussian"), **(given | settings))


def in_blocks(*arrays, size=70):
    def blocks():
        for start in range(0, len(arrays[0]), size):
            part = tuple(a[start : start + size] for a in arrays)
            yield part if len(part) > 1 else part[0]

    return blocks


def written(path, X, y):
    frame = table(X, y)
    if path.suffix == ".parquet":
        frame.write_parquet(path, row_group_size=90)
    elif path.suffix == ".csv":
        frame.write_csv(path)
    else:
        np.save(path, X)
    return path


@pytest.mark.parametrize("ending", ["parquet", "csv", "npy"])
def test_a_file_gives_the_model_of_its_rows(tmp_path, X, y, ending):
    path = written(tmp_path / f"rows.{ending}", X, y)
    expected = model().fit(X, y)
    found = model().fit(str(path), y if ending == "npy" else "y")
    # Numbers are written to a CSV file with all their digits.
    np.testing.assert_array_equal(found.predict(path), expected.predict(X))
    assert found.certificate_.satisfied


def test_predictions_at_a_file_are_those_at_its_rows(tmp_path, X, y):
    path = written(tmp_path / "rows.parquet", X, y)
    found = model().fit(path, "y")
    assert found.feature_names_in_.tolist() == D
    np.testing.assert_array_equal(found.predict(path), found.predict(table(X, y)))
    plain = model().fit(X, y)
    np.testing.assert_array_equal(plain.predict(in_blocks(X)), plain.predict(X))
    np.testing.assert_array_equal(plain.predict(in_blocks(X, y)), plain.predict(X))


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, lambda X: pd.DataFrame(X, columns=D)])
def test_an_iterator_of_blocks_gives_the_model_of_its_rows(X, y, form):
    rows = form(X)
    found = model().fit(in_blocks(rows, y) if form is np.asarray else in_blocks_of(rows, y))
    np.testing.assert_allclose(found.predict(rows), model().fit(rows, y).predict(rows), rtol=1e-9)


def in_blocks_of(rows, y):
    parts = [slice(0, 150), slice(150, 400)]
    is_table = hasattr(rows, "iloc")
    return lambda: ((rows.iloc[at] if is_table else rows[at], y[at]) for at in parts)


@pytest.mark.parametrize("mode", ["r", "r+", "c"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int16])
def test_a_memory_map_gives_the_model_of_its_rows(tmp_path, X, y, mode, dtype):
    rows = (X * 10).astype(dtype)
    np.save(tmp_path / "rows.npy", rows)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode=mode)
    found, expected = model().fit(mapped, y), model().fit(rows.astype(np.float64), y)
    np.testing.assert_array_equal(found.predict(mapped), expected.predict(rows))


@pytest.mark.parametrize(
    "kernel",
    [
        "gaussian",
        Gaussian("columns"),
        Gaussian("variance"),
        Gaussian("median").after(Standardize()),
        "gaussian.on(a, c) + linear.on(b)",
        "auto",
    ],
    ids=str,
)
def test_rules_of_a_kernel_are_resolved_on_all_blocks(tmp_path, X, y, kernel):
    path, weights = written(tmp_path / "rows.parquet", X, y), np.arange(400.0)
    found = model(kernel=kernel).fit(path, "y", weights)
    expected = model(kernel=kernel).fit(table(X, y).drop("y"), y, weights)
    of_file, of_rows = (k.kernel_.get_params() for k in (found, expected))
    assert of_file.keys() == of_rows.keys()
    for name, value in of_rows.items():
        if isinstance(value, float) or (isinstance(value, tuple) and "mean" in name):
            assert of_file[name] == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(found.predict(path), expected.predict(table(X, y)), atol=1e-8)


def test_weights_may_be_a_column_and_those_of_zero_leave_rows_out(tmp_path, X, y):
    weights = (np.arange(400) % 3).astype(float)
    path = tmp_path / "rows.parquet"
    table(X, y).with_columns(w=pl.Series(weights)).write_parquet(path)
    found, expected = model().fit(path, "y", "w"), model().fit(X, y, weights)
    np.testing.assert_allclose(found.predict(path), expected.predict(X), rtol=1e-9)


def test_auto_reads_rows_that_are_few_into_memory(tmp_path, X, y):
    path = written(tmp_path / "rows.parquet", X, y)
    found = model(solver="auto", n_landmarks=None).fit(path, "y")
    assert found.approximation_ is None
    expected = KernelRidge(alpha=1e-2).fit(X, y)
    np.testing.assert_array_equal(found.predict(table(X, y)), expected.predict(X))


def test_auto_takes_landmarks_where_rows_are_many_for_the_memory(tmp_path, X, y):
    path = written(tmp_path / "rows.parquet", X, y)
    rows, _, _ = model(solver="auto", memory="30kB")._opened(path, "y")
    assert isinstance(rows, Stream)
    settings = KernelRidge()._settings()
    assert settings.for_rows(rows).solver == "nystrom"
    assert settings.for_rows(X).solver == "auto"


@pytest.mark.parametrize("solver", ["cholesky", "cg", "sgd"])
def test_solvers_of_rows_in_memory_read_a_small_file_at_once(tmp_path, X, y, solver):
    path = written(tmp_path / "rows.parquet", X, y)
    found = KernelRidge(solver=solver).fit(path, "y")
    alone = KernelRidge(solver=solver).fit(table(X, y).drop("y"), y)
    np.testing.assert_array_equal(found.dual_coef_, alone.dual_coef_)


@pytest.mark.parametrize("machine", [KernelSVC, KernelSVR, KernelLogisticRegression])
def test_random_batches_of_other_machines_read_a_small_file_too(tmp_path, X, y, machine):
    targets = y if machine is KernelSVR else y > 0.0
    np.save(tmp_path / "rows.npy", X)
    found = machine(solver="sgd", tol=0.1).fit(str(tmp_path / "rows.npy"), targets)
    alone = machine(solver="sgd", tol=0.1).fit(X, targets)
    np.testing.assert_array_equal(found.predict(X), alone.predict(X))


@pytest.mark.parametrize("solver", ["cholesky", "cg"])
def test_they_refuse_a_large_one_with_its_size_and_what_to_do(tmp_path, X, y, solver):
    path = written(tmp_path / "rows.parquet", X, y)
    told = r"needs all rows in memory.* need 0\.0384 MB but the limit is 0\.02 MB.*'nystrom'"
    with pytest.raises(MemoryLimitError, match=told):
        KernelRidge(solver=solver, memory=20_000).fit(path, "y")
    told = r"KernelPCA needs all rows in memory.* need 0\.0512 MB but the limit is 0\.02 MB"
    with pytest.raises(MemoryLimitError, match=told):
        KernelPCA(memory=20_000).fit(path)


@pytest.mark.parametrize("solver", ["auto", "nystrom"])
@pytest.mark.parametrize("machine", [KernelRidge, KernelSVC, KernelSVR, KernelLogisticRegression])
def test_a_plan_for_a_file_says_what_its_fit_does(tmp_path, X, y, machine, solver):
    frame = table(X, y).drop("y")
    frame.write_parquet(tmp_path / "rows.parquet")
    for rows in (str(tmp_path / "rows.parquet"), in_blocks(frame), in_blocks(X)):
        plan = machine(solver=solver).plan(rows)
        assert plan.solver == "nystrom" if solver == "nystrom" else plan.residual == 0.0
    plan = machine(solver="nystrom", n_landmarks=40).plan(tmp_path / "rows.parquet")
    assert plan.reason == "40 landmarks stand for 400 rows, which are read block by block"
    assert 0.0 < plan.residual < 1.0


def test_a_plan_for_a_file_refuses_too_little_memory(tmp_path, X, y):
    path = written(tmp_path / "rows.parquet", X, y)
    with pytest.raises(MemoryLimitError, match=r"'nystrom' needs .* the limit is 1\.00 KB"):
        KernelRidge(solver="nystrom", memory="1KB").plan(path)


@pytest.mark.parametrize("machine", [KernelRidge, KernelPCA])
def test_a_plan_for_landmarks_of_few_rows_that_were_named_is_that_of_them(X, machine):
    assert machine(solver="nystrom").plan(X).solver == "nystrom"


def test_normal_scores_of_a_stream_are_those_of_a_sample_of_its_rows(X, y):
    kernel = Gaussian(1.0).after(NormalScores())
    found = model(kernel=kernel).fit(in_blocks(X, y))
    np.testing.assert_array_equal(found.predict(X), model(kernel=kernel).fit(X, y).predict(X))


def test_nan_in_the_middle_is_named_by_its_row_among_all_and_its_column(tmp_path, X, y):
    X[333, 1] = np.nan
    path = written(tmp_path / "rows.parquet", X, y)
    with pytest.raises(ValueError, match="X contains NaN at row 333, column 'b'"):
        model().fit(path, "y")
    with pytest.raises(ValueError, match="X contains NaN at row 333, column 1"):
        model().fit(in_blocks(X, y))
    np.save(tmp_path / "rows.npy", X)
    with pytest.raises(ValueError, match="X contains NaN at row 333, column 1"):
        model().fit(np.load(tmp_path / "rows.npy", mmap_mode="r"), y)


def test_nan_in_a_target_is_named_by_its_row(tmp_path, X, y):
    y[222] = np.nan
    with pytest.raises(ValueError, match="y contains NaN at row 222"):
        model().fit(written(tmp_path / "rows.parquet", X, y), "y")


def test_a_kernel_with_a_place_for_gaps_takes_them_from_a_file(tmp_path, X, y):
    X[::9, 1] = np.nan
    path = written(tmp_path / "rows.parquet", X, y)
    found = model(kernel="auto").fit(path, "y")
    expected = model(kernel="auto").fit(table(X, y).drop("y"), y)
    np.testing.assert_allclose(found.predict(path), expected.predict(table(X, y)), rtol=1e-8)


def test_a_block_of_other_columns_is_refused_with_its_first_row(X, y):
    blocks = lambda: iter([(X[:100], y[:100]), (X[100:, :2], y[100:])])  # noqa: E731
    with pytest.raises(ValueError, match=r"the columns 2 in the block from row 100 on, and 3 bef"):
        model().fit(blocks)


def test_text_in_a_block_is_named_with_the_first_row_of_it(X, y):
    bad = X.astype(object)
    bad[120, 0] = "abc"
    with pytest.raises(ValueError, match=r"in the block of X from row 100 on: .*'abc'.*row 20"):
        model().fit(in_blocks(bad, y, size=100))


def test_a_file_that_grows_while_a_model_is_fitted_is_refused(X, y):
    passes = []

    def growing():
        passes.append(1)
        n = 300 if len(passes) < 4 else 301
        yield X[:n], y[:n]

    with pytest.raises(ValueError, match="had 300 rows when it was first read and has 301 now"):
        model().fit(growing)


def test_rows_of_text_come_in_blocks_as_well(y):
    rows = [f"{'ab' * (i % 7)}{'c' * (i % 3)}a" for i in range(400)]
    found = model(kernel="spectrum(k=2)", n_landmarks=10).fit(in_blocks(rows, y))
    expected = model(kernel="spectrum(k=2)", n_landmarks=10).fit(rows, y)
    np.testing.assert_allclose(found.predict(rows), expected.predict(rows), rtol=1e-9)


@pytest.mark.parametrize("machine", [KernelSVR, KernelSVC])
def test_support_vector_machines_take_landmarks_of_a_file(tmp_path, X, y, machine):
    y = y if machine is KernelSVR else np.digitize(y, [0.0])
    path = written(tmp_path / "rows.parquet", X, y)
    settings = {"solver": "nystrom", "n_landmarks": 30, "random_state": 0}
    found, expected = machine(**settings).fit(path, "y"), machine(**settings).fit(X, y)
    # Classes would hang on rows at the border.
    values = "predict" if machine is KernelSVR else "decision_function"
    at_file, at_rows = getattr(found, values)(path), getattr(expected, values)(X)
    np.testing.assert_allclose(at_file, at_rows, atol=2e-2)
    assert found.certificate_.satisfied


def test_logistic_regression_takes_landmarks_of_a_file(tmp_path, X, y):
    y = np.digitize(y, [-0.5, 0.5])
    path = written(tmp_path / "rows.parquet", X, y)
    settings = {"solver": "nystrom", "n_landmarks": 30, "random_state": 0, "tol": 1e-10}
    found = KernelLogisticRegression(**settings).fit(path, "y")
    expected = KernelLogisticRegression(**settings).fit(X, y)
    np.testing.assert_allclose(found.predict_proba(path), expected.predict_proba(X), atol=1e-4)


def test_probabilities_of_a_classifier_of_a_file_are_calibrated(tmp_path, X, y):
    y = (y > 0.5).astype(int)
    path = written(tmp_path / "rows.parquet", X, y)
    settings = {"solver": "nystrom", "n_landmarks": 30, "random_state": 0}
    found, expected = (KernelSVC(**settings).fit(*given) for given in ((path, "y"), (X, y)))
    np.testing.assert_allclose(found.predict_proba(path), expected.predict_proba(X), atol=0.02)


def test_features_of_landmarks_and_frequencies_come_from_a_file(tmp_path, X, y):
    path, rows = tmp_path / "rows.parquet", table(X, y).drop("y")
    rows.write_parquet(path)
    for maker in (Nystroem, RandomFourier):
        found = maker("gaussian", n_components=20, random_state=0).fit(path)
        expected = maker("gaussian", n_components=20, random_state=0).fit(rows)
        np.testing.assert_allclose(found.transform(path), expected.transform(rows), atol=1e-8)


def test_a_kernel_that_makes_a_chain_of_rows_in_memory_takes_those_in_blocks(X, y):
    ours = KernelRidge(Exponential(1.0), 1e-2, n_landmarks=400).fit(in_blocks(X[:, :1]), y)
    exact = KernelRidge(Exponential(1.0), 1e-2).fit(X[:, :1], y)
    np.testing.assert_allclose(ours.predict(X[:9, :1]), exact.predict(X[:9, :1]), atol=1e-6)
