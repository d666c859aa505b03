"""PROVED with a proof, REFUTED with a witness that anyone can check, CONSISTENT otherwise."""

import numpy as np
import pytest

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
    Kernel,
    Linear,
    Polynomial,
    Precomputed,
    Sigmoid,
    Sobolev,
    Status,
    Witness,
)
from mercer.kernels.validity.negative import negative_form
from mercer.kernels.validity.rounding import entry_errors
from witnesses import recheck

INDEFINITE = np.array([[2.0, 1.0, 0.0], [1.0, -0.5, 0.2], [0.0, 0.2, 1.0]])
# Of a path of three vertices.
LAPLACIAN = np.array([[1.0, -1.0, 0.0], [-1.0, 2.0, -1.0], [0.0, -1.0, 1.0]])


def maximum(X, Z):
    return np.maximum(X[:, :1], Z[:, 0])


def minus_squared_distance(X, Z):
    return -((X[:, None] - Z[None]) ** 2).sum(axis=2)


def inner(X, Z):
    return X @ Z.T


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
    Bilinear(np.zeros((2, 2))),
    Bilinear(LAPLACIAN),
    Bilinear(1e-300 * np.diag([1.0, 2.0])),
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


# Conditional

CONDITIONAL = [
    AdditiveChi2(),
    0.5 * AdditiveChi2(),
    AdditiveChi2().on("u", "v"),
    AdditiveChi2().after(np.sqrt),
    AdditiveChi2() + Gaussian(),
    Sobolev() + (2.0 * AdditiveChi2() + AdditiveChi2().on(0)).after(np.abs),
]

UNCONDITIONAL = [
    Gaussian() + Linear(),
    Sigmoid(),
    AdditiveChi2() + Sigmoid(),
    AdditiveChi2() + FromFunction(inner),
    AdditiveChi2() * Gaussian(),
    AdditiveChi2() ** 2,
    AdditiveChi2().exp(),
    AdditiveChi2().normalized(),
    AdditiveChi2().scaled_by(np.ravel),
    AdditiveChi2().polynomial([1.0, 1.0]),
    2.0 * Precomputed() + AdditiveChi2(),
]


@pytest.mark.parametrize("kernel", CONDITIONAL, ids=str)
def test_sums_multiples_and_maps_keep_a_kernel_valid_on_sums_of_zero(kernel):
    assert kernel.is_conditional
    assert kernel.proof() is None


@pytest.mark.parametrize("kernel", UNCONDITIONAL, ids=str)
def test_nothing_else_is_known_to_be_valid_on_sums_of_zero(kernel):
    assert not kernel.is_conditional


def test_a_proof_asks_every_part_for_its_own_once(monkeypatch):
    asked = []
    rule = Gaussian.rule
    monkeypatch.setattr(Gaussian, "rule", lambda self: asked.append(self) or rule(self))
    kernel = Gaussian(1.0)
    for _ in range(10):
        kernel = (0.5 * kernel).exp()
    assert kernel.proof() is not None
    assert len(asked) == 1


@pytest.mark.parametrize("kernel", CONDITIONAL, ids=str)
def test_the_exponential_of_a_conditional_kernel_is_proved(kernel):
    validity = kernel.exp().check()
    assert validity.status == "PROVED"
    assert "Schoenberg" in str(validity.proof)


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
    Bilinear(np.diag([1.0, -1e-15])),
    Bilinear(np.diag([1.0] * 99 + [-1e-15])),
    Bilinear([[0.0, 1e-16], [1e-16, 1.0]]),
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
    1e308 * (Sigmoid() + Linear()),
    1.7e308 * Linear(-1.0),
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


@pytest.mark.parametrize("d", [20, 90])
def test_a_matrix_of_products_is_no_proof_but_no_reason_to_refuse(d, rng):
    B = rng.normal(size=(2, d))
    A = B.T @ B
    validity = Bilinear(0.5 * (A + A.T)).check(trials=20)
    assert validity.status == "CONSISTENT"
    assert Bilinear(A + np.eye(d)).check().status == "PROVED"


def test_values_near_the_largest_number_are_searched_like_others():
    assert Linear(-1.0).exp().check().status == "CONSISTENT"
    assert FromFunction(lambda X, Z: 1.7e308 * Gaussian()(X, Z)).check().status == "CONSISTENT"


def test_matrices_near_the_largest_number_are_judged_like_others():
    K = 1.7e308 * np.array([[1.0, 0.9], [0.9, 1.0]])
    assert Precomputed().check(K).status == "CONSISTENT"
    K[1, 1] *= -1.0
    witness = Precomputed().check(K).witness
    part = K[np.ix_(witness.points, witness.points)]
    assert witness.coefficients @ part @ witness.coefficients < -witness.rounding_bound
    K[0, 1] *= -1.0
    assert isinstance(Precomputed().check(K).witness, Asymmetry)


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


HIDDEN = [
    *PROVABLE[:-4],
    Gaussian(1e-3),
    Gaussian(1e3) * Polynomial(4),
    Linear(1e8),
    Polynomial(7).normalized(),
    (Gaussian(100.0) + Linear()).normalized() ** 3,
    Bilinear(np.outer([1.0, 2.0, 3.0], [1.0, 2.0, 3.0])),
]


@pytest.mark.parametrize("kernel", HIDDEN, ids=str)
def test_rounding_never_refutes_a_kernel_whose_proof_is_hidden(kernel, monkeypatch):
    assert kernel.proof() is not None
    monkeypatch.setattr(Kernel, "proof", lambda self: None)
    assert kernel.check(trials=100).status == "CONSISTENT"


@pytest.mark.parametrize("trials", [0, -1, 1.5, True, "many"])
def test_trials_are_a_whole_number(trials):
    with pytest.raises(ValueError, match="trials must be a whole number of at least 1, got"):
        Sigmoid().check(trials=trials)
