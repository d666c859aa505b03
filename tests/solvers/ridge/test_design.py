"""Features weighted and centred block by block, against the matrix written out."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from mercer.solvers.ridge import design as module
from mercer.solvers.ridge.design import Design, SparseDesign, design_of

N, P = 23, 4


@pytest.fixture
def weights(rng):
    return rng.uniform(0.2, 3.0, size=N)


@pytest.fixture
def F(rng):
    F = rng.normal(size=(N, P)) + np.array([0.0, 3.0, -1.0, 0.2])
    F[rng.random(size=(N, P)) < 0.7] = 0.0
    return F


@pytest.fixture(params=[1 << 18, 12], ids=["one block", "blocks"])
def blocks(request, monkeypatch):
    monkeypatch.setattr(module, "PANEL", request.param)
    monkeypatch.setattr(module.Design, "rows_at_a_time", 3)


def spelt_out(F, weights, with_offset):
    means = np.average(F, axis=0, weights=weights) if with_offset else np.zeros(F.shape[1])
    return np.sqrt(weights)[:, None] * (F - means), means


LAYOUTS = {"dense": Design, "sparse": lambda F, w, b: SparseDesign(sp.csr_array(F), w, b)}


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("with_offset", [True, False])
@pytest.mark.usefixtures("blocks")
def test_everything_is_that_of_the_matrix_written_out(F, weights, rng, layout, with_offset):
    Phi, means = spelt_out(F, weights, with_offset)
    design = layout(F, weights, with_offset)
    theta, y = rng.normal(size=(P, 2)), rng.normal(size=(N, 2))
    assert design.shape == (N, P)
    assert_allclose(design.norms, np.linalg.norm(Phi, axis=0))
    assert_allclose(design.sizes, np.linalg.norm(np.sqrt(weights)[:, None] * F, axis=0))
    assert_allclose(design.product(theta), Phi @ theta, atol=1e-13)
    r, adjoint = design.residual(y, theta)
    assert_allclose(r, y - Phi @ theta, atol=1e-13)
    assert_allclose(adjoint, Phi.T @ (y - Phi @ theta), atol=1e-12)
    assert_allclose(design.normal(), Phi.T @ Phi, atol=1e-12)
    assert_allclose(design.dense(), Phi, atol=1e-13)
    assert_allclose(design.without_means(F[:3]), F[:3] - means)
    assert_allclose(design.offset(np.array([1.0, 2.0]), theta), [1.0, 2.0] - means @ theta)
    assert design.rank_at_most == P


@pytest.mark.parametrize("with_offset", [True, False])
def test_targets_and_vectors_are_centred_as_the_offset_does(F, weights, rng, with_offset):
    design = Design(F, weights, with_offset)
    y, roots = rng.normal(size=(N, 2)) + 5.0, np.sqrt(weights)[:, None]
    centred, means = design.targets(y)
    expected = np.average(y, axis=0, weights=weights) if with_offset else np.zeros(2)
    assert_allclose(means, expected)
    assert_allclose(centred, roots * (y - expected))
    V = rng.normal(size=(N, 2))
    unit = roots / np.linalg.norm(roots)
    without = V - unit @ (unit.T @ V) if with_offset else V
    assert_allclose(design.centred(V), without, atol=1e-14)
    assert_allclose(design.coefficients(V), roots * without, atol=1e-14)
    if with_offset:
        assert_allclose(design.coefficients(V).sum(axis=0), 0.0, atol=1e-13)


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_a_constant_beside_an_offset_is_no_feature(F, weights, rng, layout):
    F[:, 1] = 1e6 / 3.0
    design = layout(F, weights, True)
    assert design.norms[1] == design.sizes[1] == 0.0
    assert (np.delete(design.norms, 1) > 0.0).all()
    assert design.rank_at_most == P - 1
    assert not design.normal()[1].any()
    assert not design.normal()[:, 1].any()
    y, theta = rng.normal(size=(N, 1)), np.zeros((P, 1))
    assert design.residual(y, theta)[1][1] == 0.0
    alone = layout(F, weights, False)
    assert_allclose(alone.norms[1], 1e6 / 3.0 * np.sqrt(weights.sum()))


def test_what_varies_by_more_than_rounding_is_a_feature(weights):
    F = np.full((N, 1), 1.0)
    F[0] += 1e-13
    assert Design(F, weights, True).norms[0] > 0.0
    # Sixteen units of rounding are taken for a constant.
    F[0] = 1.0 + 2.0 * np.finfo(float).eps
    assert Design(F, weights, True).norms[0] == 0.0


def test_the_rank_is_at_most_that_of_the_rows_less_one_for_the_offset(rng):
    F, weights = rng.normal(size=(3, 7)), np.ones(3)
    assert Design(F, weights, True).rank_at_most == 2
    assert Design(F, weights, False).rank_at_most == 3


def test_sparse_features_are_centred_late_where_a_quarter_of_their_squares_is_left(weights):
    ones = np.ones(N)
    # Of 36 squares of 48 rows the mean takes 27, and 9 are left, exactly a quarter.
    F = np.zeros((48, 1))
    F[:36] = 1.0
    equal = np.ones(48)
    assert SparseDesign(sp.csr_array(F), equal, True).is_safe
    F[36] = 1.0
    assert not SparseDesign(sp.csr_array(F), equal, True).is_safe
    assert SparseDesign(sp.csr_array(F), equal, False).is_safe
    assert isinstance(design_of(sp.csr_array(F), equal, False), SparseDesign)
    assert type(design_of(sp.csr_array(F), equal, True)) is Design
    assert type(design_of(F, equal, True)) is Design
    # What is constant is no feature, and its squares are not missed.
    constant = sp.csr_array(np.column_stack([ones, np.arange(N) == 3]))
    assert SparseDesign(constant, weights, True).is_safe


def test_blocks_have_a_least_number_of_rows_and_else_of_entries(F, weights, monkeypatch):
    design = Design(F, weights, True)
    monkeypatch.setattr(module, "PANEL", 5 * P)
    monkeypatch.setattr(module.Design, "rows_at_a_time", 2)
    assert [rows.stop - rows.start for rows in design._row_blocks()] == [5, 5, 5, 5, 3]
    monkeypatch.setattr(module.Design, "rows_at_a_time", 10)
    assert [rows.stop - rows.start for rows in design._row_blocks()] == [10, 10, 3]


def test_means_far_from_zero_lose_no_digits(rng):
    F = 1e8 + rng.normal(size=(N, 2))
    exact = F - F[0]
    exact -= exact.mean(axis=0)
    assert_allclose(Design(F, np.ones(N), True).dense(), exact, atol=1e-7)
    y = 1e8 + rng.normal(size=(N, 1))
    centred, _ = Design(F, np.ones(N), True).targets(y)
    assert_allclose(centred.sum(), 0.0, atol=1e-6)


@pytest.mark.parametrize("unit", [1e-3, 1.0, 50.0])
def test_what_centring_leaves_of_the_squares_is_weighted(rng, unit):
    found = []
    for share in np.linspace(0.5, 0.95, 30):
        F = (rng.random(size=(40, 1)) < share).astype(float)
        weights = unit * rng.uniform(0.2, 3.0, size=40)
        centred = F - np.average(F, axis=0, weights=weights)
        left = (weights @ centred**2) / (weights @ F**2)
        found.append(SparseDesign(sp.csr_array(F), weights, True).is_safe)
        assert found[-1] is bool(left[0] >= 0.25)
    assert 5 < sum(found) < 25
