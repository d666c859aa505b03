"""The search for a witness among rows and matrices that the user brings."""

import numpy as np
import pytest
import scipy.sparse as sp

from mercer.kernels import Constant, FromFunction, Linear, Precomputed, Sigmoid
from mercer.kernels.validity import search
from witnesses import recheck


def edit_distance(a, b):
    """The least number of insertions, deletions and replacements."""
    row = list(range(len(b) + 1))
    for i, letter in enumerate(a, 1):
        last, row[0] = row[0], i
        for j, other in enumerate(b, 1):
            cost = min(row[j] + 1, row[j - 1] + 1, last + (letter != other))
            last, row[j] = row[j], cost
    return float(row[-1])


# The user's rows


def test_witness_is_sought_among_the_users_rows():
    words = ["ab", "abc", "xyz", "x", "hello"]
    kernel = FromFunction(edit_distance, pairwise=True)
    witness = kernel.check(words).witness
    assert set(witness.points) < set(words)
    assert recheck(kernel, witness)


def test_exponential_of_an_edit_distance_can_fail():
    words = ["".join(w) for w in np.ndindex(2, 2, 2) for w in [["ab"[i] for i in w]]]
    words += ["aa", "bb", "ab", "ba", "a", "b", "", "abab", "baba"]
    kernel = FromFunction(lambda a, b: np.exp(-0.1 * edit_distance(a, b)), pairwise=True)
    K = kernel(words)
    assert np.linalg.eigvalsh(K)[0] < -1e-3
    assert recheck(kernel, kernel.check(words).witness)


def test_rows_that_show_nothing_leave_a_kernel_of_strings_consistent():
    kernel = FromFunction(lambda a, b: float(a == b), pairwise=True)
    validity = kernel.check(["a", "b", "c"])
    assert validity.status == "CONSISTENT"
    assert "2 sets of points (4 in all" in str(validity)


def test_a_function_of_strings_asks_for_rows():
    kernel = FromFunction(lambda a, b: float(len(a + b)), pairwise=True)
    strings_only = FromFunction(lambda a, b: float(a.lower() == b.lower()), pairwise=True)
    assert kernel.check(["a"]).status == "CONSISTENT"
    message = r"no made-up points suit this kernel \(AttributeError: .*\); give rows .*check\(X="
    with pytest.raises(ValueError, match=message):
        strings_only.check()


def test_rows_without_negative_entries_keep_the_designs_there(points):
    kernel = FromFunction(lambda X, Z: np.minimum(X[:, :1], Z[:, 0]))
    assert kernel.check().status == "REFUTED"
    assert kernel.check(points(20, 1, non_negative=True)).status == "CONSISTENT"


def test_one_bad_row_among_thousands_is_found():
    X = np.full((5000, 1), 2.0)
    X[4321] = 0.1
    witness = Linear(-1.0).check(X).witness
    assert witness.points.tolist() == [[0.1]]


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, np.float32])
def test_rows_may_come_in_any_form(form, points):
    X = form(points(80, 2))
    assert Sigmoid().check(X).status == "REFUTED"
    assert (Linear(-1.0) + 1.0).check(X).status == "CONSISTENT"


def test_rows_may_be_a_table(points):
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(points(30, 2), columns=["a", "b"])
    witness = Sigmoid().on("b").check(table).witness
    assert list(witness.points.columns) == ["a", "b"]
    assert recheck(Sigmoid().on("b"), witness)


def test_bad_rows_are_refused_as_everywhere(points):
    X = points(200).copy()
    X[150, 2] = np.nan
    with pytest.raises(ValueError, match="X contains NaN at row 150, column 2"):
        Sigmoid().check(X)
    with pytest.raises(ValueError, match="X has 0 rows; give at least one row"):
        Sigmoid().check(np.empty((0, 2)))


def test_rows_on_which_the_kernel_overflows_are_refused():
    with pytest.raises(ValueError, match="the values of the kernel are too large on these rows"):
        Sigmoid().exp().scaled_by(lambda X: X[:, 0]).check(np.full((3, 1), 1e300))


def test_made_up_points_on_which_the_kernel_overflows_are_left_out():
    kernel = (1e4 * Linear()).exp() * Constant(-1.0)
    assert kernel.check().status == "REFUTED"


def test_many_rows_of_a_function_are_sampled(monkeypatch):
    monkeypatch.setattr(search, "MATRIX_ROWS", 50)
    calls = []

    def inner(X, Z):
        calls.append(len(X))
        return X @ Z.T

    X = np.random.default_rng(0).normal(size=(20_000, 2))
    assert FromFunction(inner).check(X, trials=5).status == "CONSISTENT"
    assert max(calls) <= 64


# Finished matrices


def test_precomputed_matrix_is_judged_itself(rng):
    A = rng.normal(size=(30, 5))
    validity = Precomputed().check(A @ A.T)
    assert validity.status == "CONSISTENT"
    assert "1 set of points (30 in all" in str(validity)


def test_precomputed_witness_names_rows_of_the_matrix(rng):
    K = np.eye(6)
    K[1, 4] = K[4, 1] = 1.5
    witness = Precomputed().check(K).witness
    assert witness.points.tolist() == [1, 4]
    part = K[np.ix_(witness.points, witness.points)]
    assert witness.coefficients @ part @ witness.coefficients < -witness.rounding_bound


def test_precomputed_witness_of_many_rows_is_found(rng):
    Q = np.linalg.qr(rng.normal(size=(300, 300)))[0]
    values = np.linspace(1.0, 2.0, 300)
    values[0] = -0.01
    K = (Q * values) @ Q.T
    K = 0.5 * (K + K.T)
    witness = Precomputed().check(K).witness
    part = K[np.ix_(witness.points, witness.points)]
    assert witness.coefficients @ part @ witness.coefficients < -witness.rounding_bound


def test_a_large_precomputed_matrix_is_judged_by_pairs_and_a_block(monkeypatch):
    monkeypatch.setattr(search, "MATRIX_ROWS", 50)
    K = np.eye(500)
    assert "1 set of points (50 in all" in str(Precomputed().check(K))
    K[10, 490] = K[490, 10] = -1.2
    assert Precomputed().check(K).witness.points.tolist() == [10, 490]


def test_precomputed_matrix_of_single_precision_is_granted_its_rounding(points):
    X = points(40).astype(np.float32)
    K = np.exp(-0.5 * np.maximum(0, (X**2).sum(1)[:, None] + (X**2).sum(1) - 2 * X @ X.T))
    assert K.dtype == np.float32
    assert Precomputed().check(K).status == "CONSISTENT"
    assert Precomputed().check(-K).status == "REFUTED"


def test_precomputed_asymmetry_names_rows_and_values():
    K = np.eye(3)
    K[0, 2] = 0.5
    asymmetry = Precomputed().check(K).witness
    assert asymmetry.points.tolist() == [0, 2]
    assert asymmetry.values == (0.5, 0.0)


def test_precomputed_without_its_matrix_is_an_error():
    with pytest.raises(ValueError, match=r"give the matrix as check\(X=K\)"):
        Precomputed().check()
    with pytest.raises(ValueError, match=r"give the matrix as check\(X=K\)"):
        (2.0 * Precomputed()).check()


def test_precomputed_matrix_must_be_square(rng):
    with pytest.raises(ValueError, match=r"a precomputed block of shape \(3, 4\) does not fit"):
        Precomputed().check(rng.normal(size=(3, 4)))
