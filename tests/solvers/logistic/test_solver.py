"""The parts of Newton's method for logistic problems, each against its definition."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.gram import DenseGram, LowRankGram, PrecomputedGram, StreamedGram, gram_of
from mercer.kernels import Gaussian
from mercer.solvers import LogisticProblem, NewtonCG, NewtonCholesky
from mercer.solvers.logistic.curvature import (
    FactoredCurvature,
    LowRankCurvature,
    SingleCopy,
    single_serves,
)
from mercer.solvers.logistic.likelihood import probabilities
from mercer.solvers.logistic.newton_cg import ProjectedCG
from mercer.solvers.logistic.solver import Newton

N = 40


@pytest.fixture(params=[2, 3])
def problem(request, rng):
    codes = rng.integers(0, request.param, size=N)
    return LogisticProblem(codes, request.param, 3.0, rng.uniform(0.5, 2.0, size=N), True)


@pytest.fixture
def F(problem, rng):
    return rng.normal(size=(N, problem.columns))


@pytest.fixture
def gram(rng):
    return gram_of(Gaussian(1.0), rng.normal(size=(N, 2)))


def test_the_residual_is_minus_the_gradient_of_the_loss(problem, F):
    step = 1e-6
    slope = np.empty_like(F)
    for i in np.ndindex(F.shape):
        moved = [F.copy(), F.copy()]
        moved[0][i] += step
        moved[1][i] -= step
        slope[i] = (problem.loss(moved[0]) - problem.loss(moved[1])) / (2.0 * step)
    assert_allclose(problem.C * problem.residual(F), -slope, atol=1e-7)


def test_the_root_squares_to_the_curvature(problem, F):
    root = problem.curvature(F)
    P, w = probabilities(F), problem.weights
    if problem.columns == 1:
        H = (w * P[:, 0] * P[:, 1])[:, None, None]
    else:
        H = w[:, None, None] * (P[:, :, None] * np.eye(3) - P[:, :, None] * P[:, None, :])
    assert_allclose(root.blocks(), H, atol=1e-14)
    assert_allclose(root.total(), H.sum(axis=0), atol=1e-13)
    for c in range(problem.columns):
        unit = np.broadcast_to(np.eye(problem.columns)[c], F.shape)
        assert_allclose(root.forward(root.back(unit)), H[:, :, c], atol=1e-14)


@pytest.mark.parametrize("far", [0.0, 50.0, -900.0])
def test_the_best_offset_balances_the_classes(problem, F, far):
    b = problem.best_offset(10.0 * F, np.full(problem.columns, far))
    missed = problem.residual(10.0 * F + b).sum(axis=0)
    assert_allclose(missed, 0.0, atol=1e-10)


def curvatures(gram, columns):
    return {
        "factored": FactoredCurvature(gram, columns),
        "low rank": LowRankCurvature(gram, None, None, 0),
        "single": LowRankCurvature(gram, SingleCopy(gram), None, 0),
    }


@pytest.mark.parametrize("which", ["factored", "low rank", "single"])
@pytest.mark.parametrize("with_offset", [True, False])
def test_the_step_solves_the_bordered_system(problem, F, gram, rng, which, with_offset):
    m = problem.columns
    curvature = curvatures(gram, m)[which]
    root = problem.curvature(F)
    ridge = 1.0 / problem.C
    curvature.prepare(root, ridge)
    V = rng.normal(size=F.shape)
    inner = ProjectedCG(curvature, root, ridge, V, with_offset)
    inner.run(1e-13, lambda: False)
    # The same with matrices: R of shape (N m, N m), K for each class.
    R = np.zeros((N, m, N, m))
    for i, c in np.ndindex(N, m):
        unit = np.zeros((N, m))
        unit[i, c] = 1.0
        R[:, :, i, c] = root.forward(unit)
    R = R.reshape(N * m, N * m)
    A = R.T @ np.kron(gram.dense(), np.eye(m)) @ R + ridge * np.eye(N * m)
    ones = R.T @ np.tile(np.eye(m), (N, 1)) if with_offset else np.zeros((N * m, 0))
    p = ones.shape[1]
    bordered = np.block([[A, ones], [ones.T, np.zeros((p, p))]])
    right = np.concatenate([R.T @ V.ravel(), np.zeros(p)])
    U = np.linalg.lstsq(bordered, right, rcond=1e-12)[0][: N * m]
    assert_allclose(inner.U.ravel(), U, atol=2e-4 if which == "single" else 1e-5)
    assert_allclose(inner.KRU, gram @ root.forward(inner.U), atol=1e-5)


def test_energies_and_solutions_belong_to_the_vectors_and_the_root_they_are_asked_for(
    problem, F, rng
):
    gram = LowRankGram(rng.normal(size=(N, 5)))
    curvature = LowRankCurvature(gram, None, None, 0)
    U, V = rng.normal(size=(2, *F.shape))
    K = gram.dense()
    for scores, ridge in ((F, 0.5), (2.0 * F, 0.1)):
        root = problem.curvature(scores)
        curvature.prepare(root, ridge)
        for W in (U, V, U):
            S = root.scale * W
            assert_allclose(curvature.energy(W), (S * (K @ S)).sum(), rtol=1e-8)
            solved = np.column_stack(
                [
                    np.linalg.solve(s[:, None] * K * s + ridge * np.eye(N), w)
                    for s, w in zip(root.scale.T, W.T, strict=True)
                ]
            )
            assert_allclose(curvature.solve(W), root.project(solved), rtol=1e-6, atol=1e-8)


def test_float32_does_not_serve_a_ridge_that_its_rounding_hides(gram):
    assert single_serves(gram, 1e2)
    assert not single_serves(gram, 1e8)


@pytest.mark.parametrize("solver", [NewtonCholesky(1e-12), NewtonCG(1e-12, random_state=0)])
def test_the_gap_is_primal_less_dual(problem, gram, solver):
    loose = type(solver)(tol=1e-1, max_iter=2)
    solution = loose.solve(gram, problem)
    K, A = gram.dense(), solution.coefficients
    F = K @ A + solution.intercept
    primal = problem.loss(F) + 0.5 * np.sum(A * (K @ A))
    D = problem.C * problem.residual(F)
    P, w = probabilities(F), problem.weights
    entropy = -(w * (P * np.log(P)).sum(axis=1)).sum()
    dual = problem.C * entropy - 0.5 * np.sum(D * (K @ D))
    relative = (primal - dual) / max(abs(primal), abs(dual))
    assert_allclose(solution.residual, relative, rtol=1e-6, atol=1e-14)
    best = solver.solve(gram, problem).coefficients
    missed = np.sum((A - best) * (K @ (A - best)))
    assert np.sqrt(missed) <= solution.radius[0] * (1.0 + 1e-9)


def test_a_path_starts_from_the_solution_before(problem, gram):
    Cs = [1.0, 3.0, 10.0]
    solver = NewtonCholesky(1e-10)
    path = list(solver.path(gram, problem, Cs))
    for C, solution in zip(Cs, path, strict=True):
        alone = solver.solve(gram, problem.at(C))
        assert_allclose(solution.coefficients, alone.coefficients, atol=1e-4)
    begun = replace(problem.at(3.1), start=(path[1].coefficients, path[1].intercept))
    assert solver.solve(gram, begun).iterations <= path[0].iterations


def test_explicit_features_give_their_coefficients(problem, rng):
    F = rng.normal(size=(N, 3))
    low = NewtonCG(1e-10, random_state=0).solve(LowRankGram(F), problem)
    full = NewtonCG(1e-10, random_state=0).solve(PrecomputedGram(F @ F.T), problem)
    assert full.theta is None
    assert_allclose(F @ low.theta, F @ F.T @ full.coefficients, atol=1e-4)


def test_conjugate_gradients_go_on_until_a_stiff_step_is_found(rng):
    X = rng.normal(size=(300, 3))
    codes = np.digitize(X[:, 0] + 0.5 * X[:, 1] ** 2 + 0.3 * rng.normal(size=300), [-0.3, 0.8])
    problem = LogisticProblem(codes, 3, 1e6, np.ones(300), True)
    solution = NewtonCG(random_state=0).solve(gram_of(Gaussian(1.0), X), problem)
    assert solution.residual.max() <= 1e-5


def test_offsets_sum_to_zero_where_all_rows_are_all_but_certain(points, rng):
    X = points(45)
    codes = rng.integers(0, 3, size=45)
    problem = LogisticProblem(codes, 3, 1e4, np.ones(45), True)
    solution = NewtonCholesky(1e-5).solve(gram_of(Gaussian(0.1), X), problem)
    assert_allclose(solution.intercept.sum(), 0.0, atol=1e-12)
    assert_allclose(solution.coefficients.sum(axis=1), 0.0, atol=1e-8)


def test_weights_take_the_steps_of_equal_rows(points, rng):
    X, counts = points(30), rng.integers(1, 5, size=30)
    codes = rng.integers(0, 3, size=30)
    weighted = LogisticProblem(codes, 3, 1e4, counts.astype(float), True)
    rows = LogisticProblem(np.repeat(codes, counts), 3, 1e4, np.ones(counts.sum()), True)
    ours = NewtonCholesky(1e-3).solve(gram_of(Gaussian(1.0), X), weighted)
    theirs = NewtonCholesky(1e-3).solve(gram_of(Gaussian(1.0), np.repeat(X, counts, 0)), rows)
    assert ours.iterations == theirs.iterations
    assert_allclose(ours.intercept, theirs.intercept, rtol=1e-6)


def test_a_step_too_long_for_its_offset_is_shortened():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, 3))
    codes = (X[:, 0] + 0.5 * rng.normal(size=400) > 0.0).astype(int)
    codes[X[:, 1] > 2.0] = 2
    codes[:4] = 3
    problem = LogisticProblem(codes, 4, 100.0, np.ones(400), True)
    solution = NewtonCG(1e-5, random_state=0).solve(gram_of(Gaussian(1.0), X), problem)
    assert solution.residual.max() <= 1e-5
    assert not solution.advice


def test_a_hundred_steps_are_allowed_unless_others_are(problem, gram):
    assert NewtonCholesky(1e-2)._descent(gram, problem)._most == 100
    fewer = NewtonCholesky(1e-2, 7)._descent(gram, problem)
    assert (fewer._tol, fewer._most, fewer._name) == (1e-2, 7, "newton")


@pytest.mark.parametrize(
    ("C", "entries", "is_held", "has_copy"),
    [
        # Bytes for every entry: K in float64 with room to work in, and a copy in float32.
        (1.0, 14, True, True),
        (1.0, 13, False, True),
        (1.0, 6, False, True),
        (1.0, 5, False, False),
        # Where float32 does not serve, float64 is held alone.
        (1e9, 10, True, False),
        (1e9, 9, False, False),
    ],
)
def test_what_fits_is_held_in_float64_and_copied_in_float32(rng, C, entries, is_held, has_copy):
    X = rng.normal(size=(N, 2))
    gram = StreamedGram(Gaussian(1.0), X, entries * N * N)
    problem = LogisticProblem(np.arange(N) % 2, 2, C, np.ones(N), True)
    curvature = NewtonCG(random_state=0)._curvature(gram, problem)
    assert (curvature._gram is not gram) is is_held
    assert (curvature._copy is not None) is has_copy


@pytest.mark.parametrize(("few", "is_held"), [(N, True), (N - 1, False)])
def test_only_few_rows_are_held_beside_their_copy(rng, monkeypatch, few, is_held):
    monkeypatch.setattr(Newton, "few_rows", few)
    gram = StreamedGram(Gaussian(1.0), rng.normal(size=(N, 2)))
    problem = LogisticProblem(np.arange(N) % 2, 2, 1.0, np.ones(N), True)
    curvature = NewtonCG(random_state=0)._curvature(gram, problem)
    assert (curvature._gram is not gram) is is_held
    held = DenseGram.of(StreamedGram(Gaussian(1.0), rng.normal(size=(N, 2))))
    assert NewtonCG(random_state=0)._curvature(held, problem)._gram is held


@pytest.mark.parametrize(("entries", "has_copy"), [(14, True), (13, False)])
def test_what_is_held_already_leaves_less_room_for_a_copy(rng, entries, has_copy):
    gram = DenseGram.of(StreamedGram(Gaussian(1.0), rng.normal(size=(N, 2)), entries * N * N))
    problem = LogisticProblem(np.arange(N) % 2, 2, 1.0, np.ones(N), True)
    curvature = NewtonCG(random_state=0)._curvature(gram, problem)
    assert (curvature._copy is not None) is has_copy
