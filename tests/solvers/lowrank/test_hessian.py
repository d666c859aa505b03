"""Systems with the second derivative of a logistic loss, against matrices written out."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer.gram import HeldLandmarkGram, landmark_gram
from mercer.kernels import Gaussian
from mercer.solvers import LogisticProblem, Run
from mercer.solvers.lowrank import hessian
from mercer.solvers.lowrank.hessian import Hessian, Preconditioner
from mercer.solvers.lowrank.products import FeatureProducts

N, M, C = 70, 8, 3.0


@pytest.fixture
def gram(rng):
    return landmark_gram(Gaussian(1.5), rng.normal(size=(N, 2)), M)


def root_of(rng, classes, spread=1.0):
    problem = LogisticProblem(
        np.arange(N) % classes, classes, C, rng.uniform(0.3, 3.0, N), fit_intercept=True
    )
    return problem.curvature(spread * rng.normal(size=(N, problem.columns)))


def written_out(F, root, is_centred):
    """H as a matrix on theta, column after column of scores."""
    n, m = F.shape
    columns = root.scale.shape[1]
    blocks = root.blocks()
    R = np.zeros((columns * n, columns * n))
    for i in range(n):
        R[np.ix_(i + n * np.arange(columns), i + n * np.arange(columns))] = blocks[i]
    if is_centred:
        ones = np.kron(np.eye(columns), np.ones((n, 1)))
        R = R - R @ ones @ np.linalg.pinv(ones.T @ R @ ones, rcond=1e-12) @ ones.T @ R
    tall = np.kron(np.eye(columns), F)
    return np.eye(columns * m) + C * tall.T @ R @ tall


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_conjugate_gradients_solve_the_system_and_return_the_scores(
    gram, rng, classes, fit_intercept, monkeypatch
):
    monkeypatch.setattr(hessian, "sampled_rows", lambda n, m: n)
    root = root_of(rng, classes)
    H = Hessian(FeatureProducts(gram), root, C, fit_intercept)
    preconditioner = Preconditioner(gram, fit_intercept, 0)
    preconditioner.prepare(root, C)
    right = rng.normal(size=(M, root.scale.shape[1]))
    V, FV, steps = H.solved(right, preconditioner, 1e-24, Run())
    F = gram.features()
    expected = np.linalg.solve(written_out(F, root, fit_intercept), right.T.ravel())
    assert_allclose(V.T.ravel(), expected, atol=1e-9)
    assert_allclose(FV, F @ V, atol=1e-9)
    # Of two classes and all rows the preconditioner is the inverse itself.
    assert steps <= (2 if classes == 2 else 30)


@pytest.mark.parametrize("classes", [2, 4])
def test_float32_keeps_the_digits_of_features_that_are_nearly_constant(rng, classes):
    flat = landmark_gram(Gaussian(2.0) + 100.0, rng.normal(size=(N, 2)), M)
    held, root = HeldLandmarkGram.of(flat, np.float32), root_of(rng, classes)
    F = held.stored_rows(slice(None)).astype(np.float64)
    V = rng.normal(size=(F.shape[1], root.scale.shape[1]))
    found, _ = Hessian(FeatureProducts(held), root, C, True).product(V)
    expected = written_out(F, root, True) @ V.T.ravel()
    off = np.linalg.norm(found.T.ravel() - expected) / np.linalg.norm(expected)
    assert off <= 2e-6


def test_a_solve_ends_at_half_the_square_of_the_residual_and_not_before(gram, rng, monkeypatch):
    root = root_of(rng, 3)
    H = Hessian(FeatureProducts(gram), root, 300.0, True)
    preconditioner = Preconditioner(gram, True, 0)
    preconditioner.prepare(root, 1e-3)
    right, sizes = rng.normal(size=(M, 3)), []
    for most in range(1, 8):
        with monkeypatch.context() as patch:
            patch.setattr(Hessian, "most", most)
            V, _, steps = H.solved(right, preconditioner, 0.0, Run())
        assert steps == most
        sizes.append(0.5 * float(((H.product(V)[0] - right) ** 2).sum()))
    for goal in (sizes[3] * 1.0001, sizes[5] * 1.0001):
        first = next(k for k, size in enumerate(sizes) if size <= goal)
        assert H.solved(right, preconditioner, goal, Run())[2] == first + 1


def test_a_run_that_is_over_ends_a_solve_after_one_step(gram, rng, monkeypatch):
    monkeypatch.setattr(Run, "is_over", lambda run: True)
    root = root_of(rng, 3)
    preconditioner = Preconditioner(gram, True, 0)
    preconditioner.prepare(root, 1e-3)
    H = Hessian(FeatureProducts(gram), root, 300.0, True)
    V, FV, steps = H.solved(np.ones((M, 3)), preconditioner, 0.0, Run())
    assert steps == 1
    assert_allclose(FV, gram.features() @ V, atol=1e-9)


def test_where_there_is_no_curvature_a_solve_returns_what_it_has(gram, rng):
    root = root_of(rng, 2)
    preconditioner = Preconditioner(gram, True, 0)
    preconditioner.prepare(root, C)
    V, FV, steps = Hessian(FeatureProducts(gram), root, C, True).solved(
        np.zeros((M, 1)), preconditioner, -1.0, Run()
    )
    assert steps == 1
    assert not V.any()
    assert not FV.any()


@pytest.mark.parametrize("is_centred", [False, True])
@pytest.mark.parametrize("classes", [2, 4])
def test_every_column_has_the_inverse_of_its_own_curvatures(gram, rng, classes, is_centred):
    root = root_of(rng, classes)
    made = Preconditioner(gram, is_centred, 0)
    made.prepare(root, C)
    assert len(made.rows) == 4 * M < N
    weights = np.array([np.diag(block) for block in root.blocks()])
    some = gram.features()[made.rows]
    r = rng.normal(size=(M, weights.shape[1]))
    for j, g in enumerate(r.T):
        w = weights[made.rows, j]
        Z = some - w @ some / w.sum() if is_centred else some
        G = Z.T @ (w[:, None] * Z) * weights[:, j].sum() / w.sum()
        expected = np.linalg.solve(np.eye(M) + C * G, g)
        assert_allclose(made(r)[:, j], expected, atol=1e-9)


@pytest.mark.parametrize("form", ["computed", "held"])
def test_many_columns_share_one_mean_curvature_and_have_a_factor_each(gram, rng, monkeypatch, form):
    monkeypatch.setattr(hessian, "FEW_COLUMNS", 2)
    monkeypatch.setattr(hessian, "sampled_rows", lambda n, m: n)
    root = root_of(rng, 3, spread=4.0)
    used = gram if form == "computed" else HeldLandmarkGram.of(gram, np.float64)
    made = Preconditioner(used, False, 0)
    made.prepare(root, C)
    weights = np.array([np.diag(block) for block in root.blocks()])
    F = gram.features()
    G = F.T @ (weights.mean(axis=1)[:, None] * F)
    r = rng.normal(size=(M, 3))
    for j, g in enumerate(r.T):
        share = weights[:, j].sum() / weights.sum() * 3
        s = C * Preconditioner.alike ** np.round(np.log(share) / np.log(Preconditioner.alike))
        assert_allclose(made(r)[:, j], np.linalg.solve(np.eye(M) + s * G, g), atol=1e-9)


def test_columns_of_little_curvature_have_small_factors(gram, rng, monkeypatch):
    monkeypatch.setattr(hessian, "FEW_COLUMNS", 2)
    root = root_of(rng, 3)
    rare = type(root)(root.scale * [1.0, 1.0, 1e-3], root.unit)
    made = Preconditioner(gram, False, 0)
    made.prepare(rare, C)
    # The first two have half again of the mean, which is nearer to 1 than to 4.
    assert_allclose(made._scales[:2], C)
    share = (rare.scale**2 * (1.0 - rare.unit**2)).sum(axis=0)
    power = np.round(np.log(share[2] / share.mean()) / np.log(Preconditioner.alike))
    assert power < -5
    assert_allclose(made._scales[2], C * Preconditioner.alike**power)


def test_factors_are_shares_whatever_the_size_of_all_curvatures(gram, rng, monkeypatch):
    monkeypatch.setattr(hessian, "FEW_COLUMNS", 2)
    root = root_of(rng, 3, spread=4.0)
    usual, small = Preconditioner(gram, False, 0), Preconditioner(gram, False, 0)
    usual.prepare(root, C)
    small.prepare(type(root)(0.01 * root.scale, root.unit), C)
    assert_array_equal(small._scales, usual._scales)


def test_another_cost_takes_the_sums_that_there_are(gram, rng):
    first, later = root_of(rng, 2), root_of(rng, 2, spread=5.0)
    made = Preconditioner(gram, True, 0)
    made.prepare(first, C)
    sums = made._sums
    made.prepare(later, 10.0 * C)
    assert made._sums is sums
    fresh = Preconditioner(gram, True, 0)
    fresh.prepare(first, 10.0 * C)
    r = np.ones((M, 1))
    assert_array_equal(made(r), fresh(r))


@pytest.mark.parametrize(
    ("n", "expected"),
    [(4 * M, 4 * M), (4 * M + 1, 4 * M), (50 * M, 5 * M), (80 * M, 8 * M), (90 * M, 8 * M)],
)
def test_a_sample_is_a_tenth_of_the_rows_but_four_to_eight_for_every_landmark(rng, n, expected):
    gram = landmark_gram(Gaussian(1.5), rng.normal(size=(n, 2)), M)
    rows, is_all = Preconditioner(gram, True, 0).rows, n == expected
    assert len(rows) == expected
    assert_array_equal(rows, np.unique(rows))
    assert np.array_equal(rows, np.arange(n)) == is_all
    assert_array_equal(rows, Preconditioner(gram, True, 0).rows)
    assert is_all or not np.array_equal(rows, Preconditioner(gram, True, 1).rows)
