"""PROVED with a proof, REFUTED with a witness that anyone can check, CONSISTENT otherwise."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from catalogue import COMPOSITE, STATIONARY
from mercer.kernels import (
    AdditiveChi2,
    Asymmetry,
    Bilinear,
    Chi2,
    Constant,
    Cosine,
    FromFeatures,
    FromFunction,
    Gaussian,
    Linear,
    Polynomial,
    Precomputed,
    Sigmoid,
    Sobolev,
    Status,
    Witness,
)
from mercer.kernels.negative import direction, negative_form
from mercer.kernels.rounding import entry_errors, form_error

INDEFINITE = np.array([[2.0, 1.0, 0.0], [1.0, -0.5, 0.2], [0.0, 0.2, 1.0]])


def maximum(X, Z):
    return np.maximum(X[:, :1], Z[:, 0])


def minus_squared_distance(X, Z):
    return -((X[:, None] - Z[None]) ** 2).sum(axis=2)


def edit_distance(a, b):
    """The least number of insertions, deletions and replacements."""
    row = list(range(len(b) + 1))
    for i, letter in enumerate(a, 1):
        last, row[0] = row[0], i
        for j, other in enumerate(b, 1):
            cost = min(row[j] + 1, row[j - 1] + 1, last + (letter != other))
            last, row[j] = row[j], cost
    return float(row[-1])


def inner(X, Z):
    return X @ Z.T


def recheck(kernel, witness):
    """The two lines of the documentation."""
    K = kernel(witness.points)
    return witness.coefficients @ K @ witness.coefficients < -witness.rounding_bound


# PROVED

PROVABLE = [
    *STATIONARY,
    *COMPOSITE,
    Linear(),
    Polynomial(),
    Cosine(),
    Sobolev(),
    Chi2(),
    Constant(0.0),
    Bilinear(np.diag([1.0, 0.0])),
    Gaussian("median"),
    FromFeatures(np.abs),
    Linear().after(np.tanh),
    Linear().scaled_by(lambda X: X[:, 0]),
    Gaussian().on("age") * Linear().on("bmi"),
]


@pytest.mark.parametrize("kernel", PROVABLE, ids=str)
def test_kernels_by_the_rules_are_proved(kernel):
    validity = kernel.check()
    assert validity.status == "PROVED"
    assert validity.witness is None


def test_proof_tree_names_every_rule():
    text = str((2.0 * Gaussian() + Linear().on(0)).check())
    for rule in ("sum of kernels", "non-negative multiple", "Schoenberg", "selection of columns"):
        assert rule in text
    assert text.startswith("PROVED: ")
    assert len(text.splitlines()) == 6


def test_proof_needs_no_points():
    assert Gaussian().check("these are no rows").status is Status.PROVED


def test_one_doubtful_part_leaves_no_proof():
    assert (Gaussian() + FromFunction(inner)).proof() is None
    assert (Gaussian() * Sigmoid()).on(0).proof() is None


# REFUTED

REFUTABLE = [
    Sigmoid(),
    Sigmoid("columns"),
    Sigmoid(0.01, 1.0),
    Sigmoid(1.0, -1.0),
    Linear(-1.0),
    Linear(-1e-6),
    Polynomial(offset=-1.0),
    Polynomial(3, -1.0),
    Polynomial(2, 1.0, -1.0),
    Constant(-1.0),
    AdditiveChi2(),
    Bilinear(INDEFINITE),
    Bilinear(np.diag([1.0] * 99 + [-1e-3])),
    FromFunction(maximum),
    FromFunction(minus_squared_distance),
    Sigmoid() + Gaussian(50.0),
    Sigmoid() * Gaussian(50.0),
    3.0 * Sigmoid(),
    Sigmoid() ** 2,
    Sigmoid().exp(),
    Sigmoid().normalized(),
    Sigmoid().polynomial([0.0, 1.0]),
    Sigmoid().scaled_by(lambda X: 1.0 + X[:, 0] ** 2),
    Sigmoid().after(np.sinh),
    Sigmoid().after(lambda X: X @ np.ones((23, 2))),
    Sigmoid().on(4, 1),
    Sigmoid().on(-3),
    Sigmoid().on("a", "b"),
    Sigmoid().on("a") + Linear(),
    Sigmoid().on("a").on(0),
    Gaussian((1.0, 2.0, 3.0)) * Sigmoid(),
    Gaussian((1.0, 2.0)).on("u", "v") + Linear(-5.0).on("v"),
    Gaussian("median") * Sigmoid(),
    Linear(-1.0).normalized(),
    Linear(-1.0) + Constant(0.5),
    Chi2() + Linear(-2.0),
    Sobolev() + AdditiveChi2(),
    AdditiveChi2().after(np.abs),
    AdditiveChi2().after(np.sqrt),
    Bilinear(INDEFINITE) ** 2,
    Bilinear(INDEFINITE) * Gaussian(),
    Bilinear(INDEFINITE) + 0.01 * Linear(),
    Bilinear(INDEFINITE).on("u", "v", "w"),
    Bilinear(INDEFINITE).on(5, 2, 0).normalized() + Linear(-0.1),
    FromFunction(maximum).on(2) + Constant(0.1),
    FromFunction(minus_squared_distance).exp() * Linear(-1.0),
]


@pytest.mark.parametrize("kernel", REFUTABLE, ids=str)
def test_what_is_no_kernel_is_refuted_by_a_witness(kernel):
    validity = kernel.check()
    assert validity.status == "REFUTED"
    assert isinstance(validity.witness, Witness)
    assert recheck(kernel, validity.witness)
    assert validity.witness.value < -validity.witness.rounding_bound < 0.0


@pytest.mark.parametrize("seed", range(1, 6))
@pytest.mark.parametrize("kernel", [Sigmoid(), Polynomial(offset=-1.0), AdditiveChi2()], ids=str)
def test_refutation_does_not_hang_on_the_seed(kernel, seed):
    assert kernel.check(random_state=seed).status == "REFUTED"


def test_the_same_seed_gives_the_same_witness():
    first, second = (Sigmoid().check(random_state=7).witness for _ in range(2))
    assert np.array_equal(first.points, second.points)
    assert np.array_equal(first.coefficients, second.coefficients)


def test_witness_of_a_bilinear_form_is_its_eigenvector():
    witness = Bilinear(INDEFINITE).check().witness
    values, vectors = np.linalg.eigh(INDEFINITE)
    assert witness.points.shape == (1, 3)
    point = witness.points[0] / np.linalg.norm(witness.points[0])
    assert abs(point @ vectors[:, 0]) == pytest.approx(1.0)
    assert witness.value == pytest.approx(values[0] * (witness.points**2).sum())


def test_witness_is_small():
    assert len(Linear(-1.0).check().witness.coefficients) == 1
    assert len(AdditiveChi2().check().witness.coefficients) == 2
    assert len(Sigmoid().check().witness.coefficients) <= 3


def test_no_point_of_a_witness_can_be_spared():
    witness = Polynomial(offset=-1.0).check().witness
    kernel = Polynomial(offset=-1.0)
    for i in range(len(witness.points)):
        fewer = np.delete(witness.points, i, axis=0)
        assert negative_form(kernel(fewer), entry_errors(kernel.program, fewer)) is None


def test_witness_of_named_columns_is_a_table():
    witness = Sigmoid().on("a", "b").check().witness
    assert set(witness.points) >= {"a", "b"}


def test_witness_of_rows_without_negative_entries_has_none():
    assert (AdditiveChi2().check().witness.points >= 0.0).all()


def test_witness_prints_points_coefficients_and_rounding():
    text = str(Linear(-1.0).check())
    assert text.startswith("REFUTED: linear(offset=-1.0)\nc'Kc = -1 < -1e-12 (rounding) on 1 point")
    assert "points" in text
    assert "coefficients" in text


def test_a_validity_is_not_a_truth_value():
    with pytest.raises(TypeError, match="three states, not two"):
        bool(Gaussian().check())


# Asymmetry


def test_asymmetric_function_is_refuted_by_two_points_and_both_values():
    kernel = FromFunction(lambda X, Z: X @ Z.T + X[:, :1])
    validity = kernel.check()
    assert validity.status == "REFUTED"
    asymmetry = validity.witness
    assert isinstance(asymmetry, Asymmetry)
    x, z = asymmetry.points[:1], asymmetry.points[1:]
    assert kernel(x, z).item() == pytest.approx(asymmetry.values[0])
    assert kernel(z, x).item() == pytest.approx(asymmetry.values[1])
    there, back = asymmetry.values
    assert f"k(x, z) = {there:.6g} but k(z, x) = {back:.6g}" in str(validity)


def test_asymmetric_function_of_rows_is_refuted_on_the_users_strings():
    kernel = FromFunction(lambda a, b: float(len(a) - len(b)), pairwise=True)
    asymmetry = kernel.check(["a", "bcd"]).witness
    assert asymmetry.values == (-2.0, 2.0)
    assert asymmetry.points == ["a", "bcd"]


def test_asymmetry_of_rounding_is_none():
    kernel = FromFunction(lambda X, Z: (X @ Z.T) * (1.0 + 1e-13 * np.sign(X[:, :1])))
    assert kernel.check().status == "CONSISTENT"


# CONSISTENT

CONSISTENT = [
    FromFunction(inner),
    FromFunction(lambda X, Z: np.exp(minus_squared_distance(X, Z))),
    FromFunction(lambda x, z: float(np.exp(-np.abs(x - z).sum())), pairwise=True),
    Linear(-1.0) + Constant(1.0),
    Bilinear(np.diag([1.0, -1.0])) + Bilinear(np.diag([0.0, 1.0])),
    0 * Constant(-1.0),
    Constant(-1.0).normalized(),
    FromFunction(lambda X, Z: X @ Z.T - 1.0) + Constant(1.0),
]


@pytest.mark.parametrize("kernel", CONSISTENT, ids=str)
def test_without_proof_and_witness_a_kernel_is_consistent(kernel):
    validity = kernel.check()
    assert validity.status == "CONSISTENT"
    assert validity.proof is None
    assert validity.witness is None


def test_consistent_says_how_hard_it_looked():
    text = str(FromFunction(inner).check(trials=30))
    assert "no witness found in 30 sets of points" in text
    assert "smallest eigenvalue" in text
    assert "this is not a proof" in text


def test_distances_that_lost_digits_are_not_mistaken_for_a_witness():
    def careless(X, Z):
        squares = (X**2).sum(1)[:, None] + (Z**2).sum(1) - 2.0 * X @ Z.T
        return np.exp(-np.sqrt(np.maximum(squares, 0.0)))

    assert FromFunction(careless).check().status == "CONSISTENT"


@pytest.mark.parametrize("trials", [0, -1, 1.5, True, "many"])
def test_trials_are_a_whole_number(trials):
    with pytest.raises(ValueError, match="trials must be a whole number of at least 1, got"):
        Sigmoid().check(trials=trials)


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


# Rounding


def test_error_bars_cover_a_cancellation(points):
    kernel = Linear(-1.0) * Linear() + Linear() * Constant(1.0)  # (x'z)^2, by a difference
    X = 1e-4 * points(5)
    true = Polynomial(2, 0.0)(X)
    errors = entry_errors(kernel.program, X)
    assert (np.abs(kernel(X) - true) <= errors).all()
    assert errors.max() > 1e-12 * np.abs(true).max()


def test_error_bars_are_the_promise_of_the_engine_at_least(points):
    X = points(6)
    for kernel in (Gaussian(), Polynomial(3), Sigmoid(), Cosine(), Gaussian().normalized()):
        errors = entry_errors(kernel.program, X)
        K = np.abs(kernel(X))
        assert (errors >= 1e-12 * K).all()
        assert (errors <= 1e-10 * K.max()).all()


def test_rounding_bound_is_that_of_a_quadratic_form(points):
    K = Gaussian()(points(4))
    c = np.array([1.0, -2.0, 0.0, 3.0])
    m = 10 * np.finfo(float).eps
    size = np.abs(c) @ np.abs(K) @ np.abs(c)
    assert form_error(K, 1e-12 * np.abs(K), c) == pytest.approx((m / (1 - m) + 1e-12) * size)


def test_direction_finds_the_small_block_that_is_negative():
    K = np.diag([1e12, 1e12, 1e-6, 1e-6])
    K[2, 3] = K[3, 2] = 1.1e-6
    c = direction(K)
    assert_allclose(np.abs(c), [0.0, 0.0, 1.0, 1.0], atol=1e-12)
    assert c @ K @ c < 0.0
