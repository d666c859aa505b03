"""Margin problems in features, by single coefficients: the optimum of the dual without its K."""

import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.svm import LinearSVC

from mercer.gram import FeatureGram, LowRankGram, StreamedGram
from mercer.kernels import Gaussian, Linear, Spectrum
from mercer.solvers import SMO, CoordinateDescent, MarginProblem, Run
from mercer.solvers.margin import coordinates
from mercer.solvers.margin.coordinates import _centred, _State, most_epochs
from mercer.solvers.margin.interior import interior_point


@pytest.fixture
def F(rng):
    return rng.normal(size=(300, 12)) * (rng.uniform(size=(300, 12)) < 0.5)


@pytest.fixture
def signs(F, rng):
    return np.where(F[:, 0] - F[:, 1] + 0.8 * rng.normal(size=300) > 0.4, 1.0, -1.0)


def classification(signs, C=1.0, fit_intercept=True):
    return MarginProblem.classification(signs, np.full(len(signs), C), fit_intercept)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("C", [0.01, 1.0, 30.0])
def test_the_optimum_is_that_of_working_sets(F, signs, form, fit_intercept, C):
    problem = classification(signs, C, fit_intercept)
    exact = SMO(tol=1e-10).solve(LowRankGram(F), problem)
    found = CoordinateDescent(tol=1e-6).solve(LowRankGram(form(F)), problem)
    assert found.solver == "primal"
    assert found.residual[0] <= 1e-6
    w = F.T @ exact.coefficients
    assert np.linalg.norm(found.theta - w) <= 0.01 * np.linalg.norm(w)
    assert_allclose(found.intercept, exact.intercept, atol=5e-3)
    # ||f - f*||^2 is at most twice the gap.
    assert np.linalg.norm(found.theta - F.T @ exact.coefficients) <= found.radius[0]


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_a_tube_is_solved_as_well(F, rng, fit_intercept):
    y = F @ rng.normal(size=12) + 3.0 + 0.3 * rng.normal(size=300)
    problem = MarginProblem.regression(y, rng.uniform(0.1, 2.0, 300), 0.2, fit_intercept)
    exact = SMO(tol=1e-10).solve(LowRankGram(F), problem)
    found = CoordinateDescent(tol=1e-7).solve(LowRankGram(F), problem)
    assert_allclose(found.theta, F.T @ exact.coefficients, atol=2e-3)
    assert_allclose(found.intercept, exact.intercept, atol=5e-3)


@pytest.mark.parametrize("C", [0.01, 2.0, 1e3])
def test_coefficients_are_feasible_and_give_the_weights(F, signs, C):
    problem = classification(signs, C)
    found = CoordinateDescent().solve(LowRankGram(F), problem)
    a = found.coefficients[:, 0]
    assert abs(a.sum()) < 1e-12 * np.abs(a).sum()
    assert ((problem.lower <= a) & (a <= problem.upper)).all()
    assert_allclose(found.theta, F.T @ found.coefficients, atol=1e-10)
    gap = problem.proved(a, F @ (F.T @ a), (F**2).sum(axis=1))
    assert_allclose(found.residual[0], gap.relative, rtol=1e-6, atol=1e-12)


def test_without_an_offset_it_is_the_machine_of_liblinear(F, signs):
    found = CoordinateDescent(tol=1e-8).solve(LowRankGram(F), classification(signs, 0.5, False))
    peer = LinearSVC(loss="hinge", C=0.5, fit_intercept=False, tol=1e-10, max_iter=10**6)
    assert_allclose(found.theta[:, 0], peer.fit(F, signs).coef_[0], atol=1e-3)


def test_a_part_of_a_matrix_of_features_has_features(F, signs, rng):
    some = rng.permutation(300)[:120]
    part = LowRankGram(F).part(some)
    found = CoordinateDescent(tol=1e-6).solve(part, classification(signs[some]))
    alone = CoordinateDescent(tol=1e-6).solve(LowRankGram(F[some]), classification(signs[some]))
    assert_array_equal(found.theta, alone.theta)


def test_features_that_hang_together_are_left_to_an_interior_point(rng, signs, monkeypatch):
    F = 30.0 * rng.normal(size=(300, 12))
    problem = classification(signs, 100.0)
    with monkeypatch.context() as patient:
        patient.setattr(coordinates, "most_epochs", lambda *sizes: 1001)
        alone = CoordinateDescent(max_iter=1000).solve(LowRankGram(F), problem)
    assert alone.residual[0] > 0.1
    found = CoordinateDescent().solve(LowRankGram(F), problem)
    assert found.solver == "primal"
    assert found.residual[0] <= 1e-3


def test_many_features_that_hang_together_are_left_to_working_sets(rng, signs, monkeypatch):
    monkeypatch.setattr(CoordinateDescent, "most_features", 11)
    F = 100.0 + 30.0 * rng.normal(size=(300, 12))
    gram = FeatureGram(Linear(), F)
    problem = classification(signs, 100.0)
    found = CoordinateDescent().solve(gram, problem)
    assert found.solver == "smo"
    assert found.residual[0] <= 1e-3
    assert_allclose(found.theta, F.T @ found.coefficients, atol=1e-9)
    # The offset is that of the features as they are.
    assert_allclose(found.intercept[0], problem.offset((F @ found.theta)[:, 0]), rtol=1e-9)


def test_a_limit_that_is_not_reached_changes_no_bit(rng, signs):
    F = 30.0 * rng.normal(size=(300, 12))
    problem = classification(signs, 100.0)
    free = CoordinateDescent().solve(LowRankGram(F), problem)
    limited = CoordinateDescent(max_iter=10_000).solve(LowRankGram(F), problem)
    assert_array_equal(limited.theta, free.theta)


def test_a_limit_of_epochs_ends_with_what_there_is_and_says_so(F, signs):
    found = CoordinateDescent(tol=1e-9, max_iter=3).solve(LowRankGram(F), classification(signs))
    assert found.iterations == 3
    assert "max_iter was reached; raise max_iter (now 3)" in found.advice


def test_what_rounding_leaves_open_is_no_matter_of_max_iter(rng):
    F = rng.normal(size=(200, 3))
    y = 1e-12 * (F @ [1.0, 2.0, 3.0])
    problem = MarginProblem.regression(y, np.ones(200), 1e-14, True)
    found = CoordinateDescent().solve(LowRankGram(F), problem)
    assert found.residual[0] > 1e-3
    assert "max_iter" not in found.advice
    assert "lost in rounding" in found.advice


def test_a_limit_of_time_ends_with_what_there_is_and_says_so(F, signs):
    solver = CoordinateDescent(tol=1e-9)
    found = solver.solve(LowRankGram(F), classification(signs), Run(1e-9))
    assert "the time limit of 1e-09 s was up; raise time_limit" in found.advice


def test_a_callback_can_end_it(F, signs):
    gaps = []
    found = CoordinateDescent(tol=1e-9).solve(
        LowRankGram(F), classification(signs), Run(progress=lambda *step: gaps.append(step) or True)
    )
    assert "callback" in found.advice
    # The last one has what rounding may hide added to it.
    assert gaps == [(found.iterations, pytest.approx(found.residual[0], rel=1e-12))]


def test_callbacks_see_the_steps_of_all_who_take_over(rng, signs, monkeypatch):
    monkeypatch.setattr(coordinates, "interior_point", partial(interior_point, steps=3))
    F = 30.0 * rng.normal(size=(300, 12))
    steps = []
    gram, problem = FeatureGram(Linear(), F), classification(signs, 1e4)
    found = CoordinateDescent().solve(
        gram, problem, Run(progress=lambda step, _: steps.append(step))
    )
    assert found.solver == "smo"
    assert (np.diff(steps) > 0).all()


def test_another_thread_can_end_it(F, signs):
    found = CoordinateDescent(tol=1e-9).solve(
        LowRankGram(F), classification(signs), Run(stop=np.ones(1, np.uint8))
    )
    assert found.iterations == 1
    assert "Ctrl-C" in found.advice


def test_a_good_start_leaves_little_to_do(F, signs):
    problem, gram = classification(signs), LowRankGram(F)
    first = CoordinateDescent(tol=1e-5).solve(gram, problem)
    begun = replace(problem, start=first.coefficients[:, 0])
    again = CoordinateDescent(tol=1e-4).solve(gram, begun)
    assert again.iterations == 0
    assert_allclose(again.theta, first.theta, atol=1e-9)


def test_the_same_seed_gives_the_same_bits(F, signs):
    gram, problem = LowRankGram(F), classification(signs)
    same = [CoordinateDescent(max_iter=20).solve(gram, problem).theta for _ in range(2)]
    assert_array_equal(*same)
    other = CoordinateDescent(max_iter=20, random_state=1).solve(gram, problem).theta
    assert not np.array_equal(other, same[0])


def test_features_far_from_zero_are_centred(F, signs):
    near = CoordinateDescent(tol=1e-6).solve(LowRankGram(F), classification(signs))
    far = CoordinateDescent(tol=1e-6).solve(LowRankGram(F + 1e4), classification(signs))
    assert_allclose(far.theta, near.theta, atol=1e-6)
    shift = 1e4 * float(near.theta.sum())
    assert_allclose(far.intercept, near.intercept - shift, rtol=1e-6)


@pytest.mark.parametrize("C", [1e2, 1e4, 1e6, 1e8])
def test_a_price_of_any_size_is_solved_in_the_primal(F, signs, rng, C):
    y = F @ np.arange(12.0) + rng.normal(size=300) + 3.0
    tube = MarginProblem.regression(y, np.full(300, C), 0.1, True)
    for problem in (classification(signs, C), tube):
        found = CoordinateDescent().solve(LowRankGram(F), problem)
        assert found.solver == "primal"
        assert found.residual[0] <= 1e-4


def test_rows_without_features_are_no_obstacle(F, signs):
    F[:40] = 0.0
    for fit_intercept in (True, False):
        problem = classification(signs, 1.0, fit_intercept)
        found = CoordinateDescent(tol=1e-5).solve(LowRankGram(F), problem)
        assert found.residual[0] <= 1e-5
    nothing = CoordinateDescent().solve(LowRankGram(np.zeros((300, 2))), problem)
    assert_array_equal(nothing.theta, 0.0)


def test_matrices_without_features_are_refused(rng, signs):
    gram = StreamedGram(Gaussian(1.0), rng.normal(size=(300, 2)))
    with pytest.raises(ValueError, match="needs the features of the rows, a LowRankGram"):
        CoordinateDescent().solve(gram, classification(signs))


def test_counts_of_k_grams_take_no_product_of_rows(rng, monkeypatch):
    rows = ["".join(rng.choice(list("ACGT"), 30)) for _ in range(200)]
    signs = np.array([1.0 if "ACG" in row else -1.0 for row in rows])
    gram = FeatureGram(Spectrum(3, normalize=True), rows)
    monkeypatch.setattr(FeatureGram, "entries", None)
    found = CoordinateDescent().solve(gram, classification(signs, 10.0))
    assert found.solver == "primal"
    f = gram.F @ found.theta + found.intercept
    assert (np.sign(f[:, 0]) == signs).mean() > 0.95


def run_of(F, problem, run=None):
    return _State(F, problem, Run() if run is None else run, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("shape", "is_narrow", "epochs"),
    [
        # READ n / p, and STEPS (p + MORE)^2 / (MULTIPLIED p) where an interior point may take over.
        ((100, 8), False, 64 * 100 * 100 / 800),
        ((100, 8), True, 15 * 100 * 38**2 // 25 / 800),
        ((2, 50), True, 64 * 2 * 2 / 100),
        ((1000, 2), False, 1000),
    ],
)
def test_epochs_take_no_longer_than_what_would_take_over(shape, is_narrow, epochs):
    assert most_epochs(shape, math.prod(shape), is_narrow) == math.ceil(epochs)
    assert most_epochs((0, 3), 0, is_narrow) == 0


def test_looks_are_ever_further_apart(F, signs):
    seen = []
    problem = MarginProblem.classification(signs, np.full(len(F), 100.0), True)
    run = run_of(F, problem, Run(progress=lambda epoch, gap: seen.append(epoch)))
    run.descend(0.0, 40)
    expected = [1]
    while expected[-1] < 40:
        expected.append(min(math.ceil(1.3 * expected[-1]) + 1, 40))
    assert seen == expected
    assert run.epoch == 40


def test_rows_are_left_out_that_are_further_on_the_safe_side_than_any_on_the_wrong(F, signs):
    problem = MarginProblem.classification(signs, np.full(len(F), 1.0), True)
    run = run_of(F, problem)
    run.descend(0.0, 3)
    run._look()
    descent = run.descent
    r = F @ descent.w + descent.offset - problem.z
    up = np.where(descent.a < problem.upper, -r, -np.inf)
    down = np.where(descent.a > problem.lower, r, -np.inf)
    slopes = np.maximum(up, down)
    assert slopes.max() > 0.0
    assert_array_equal(run.active, np.flatnonzero(slopes > -slopes.max()))
    assert 0 < len(run.active) < len(F)


def test_where_no_row_is_on_the_wrong_side_all_with_room_are_active():
    problem = MarginProblem.regression(np.zeros(3), np.array([1.0, 1.0, 0.0]), 0.5, False)
    run = run_of(np.eye(3), problem)
    run._look()
    # The last row has no room to move either way.
    assert run.active.tolist() == [0, 1]


def test_the_best_coefficients_are_kept(F, signs):
    problem = MarginProblem.classification(signs, np.full(len(F), 1.0), True)
    run = run_of(F, problem)
    assert not run.a.any()
    first = run.gap.gap
    run.descend(0.0, 5)
    better = run.gap.gap
    assert better < first
    a = run.a
    run._keep(np.zeros(len(F)))
    assert run.a is a
    assert_allclose(run.w, F.T @ a)
    assert run.gap.gap == better


def test_a_start_is_made_feasible(F, signs):
    problem = MarginProblem.classification(signs, np.full(len(F), 1.0), True)
    start = 3.0 * signs
    run = run_of(F, replace(problem, start=start))
    assert_array_equal(run.a, problem.feasible(start))
    assert_array_equal(run.descent.a, run.a)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_the_price_of_a_sum_is_a_tenth_of_the_mean_diagonal(
    F, signs, form, fit_intercept, monkeypatch
):
    given = {}

    class Seen(coordinates.Descent):
        def __init__(self, F, box, squares, rho, a, b):
            given.update(squares=squares, rho=rho)
            super().__init__(F, box, squares, rho, a, b)

    monkeypatch.setattr(coordinates, "Descent", Seen)
    problem = MarginProblem.classification(signs, np.full(len(F), 1.0), fit_intercept)
    run_of(form(F), problem)
    squares = (F**2).sum(axis=1)
    assert_allclose(given["squares"], squares)
    assert_allclose(given["rho"], 0.1 * squares.mean() if fit_intercept else 0.0)


@pytest.mark.parametrize(
    ("columns", "memory", "jumps"), [(6, 32 * 36, True), (6, 32 * 36 - 1, False)]
)
def test_an_interior_point_takes_over_where_its_matrices_fit(
    F, signs, monkeypatch, columns, memory, jumps
):
    problem = MarginProblem.classification(signs, np.full(len(F), 1.0), True)
    run = run_of(F[:, :columns], problem)
    jumped = []
    monkeypatch.setattr(run, "descend", lambda goal, most: jumped.append((goal, most)))
    monkeypatch.setattr(run, "jump", jumped.append)
    CoordinateDescent(1e-2)._descend(run, memory)
    assert jumped[0][0] == pytest.approx(1e-3)
    assert jumped[0][1] == most_epochs(F[:, :columns].shape, F[:, :columns].size, jumps)
    assert jumped[1:] == ([pytest.approx(1e-3)] if jumps else [])
    jumped.clear()
    CoordinateDescent(1e-2, max_iter=5)._descend(run, memory)
    assert jumped == [(pytest.approx(1e-3), 5)]


def test_dense_features_are_centred_where_an_offset_makes_up_for_it(F, signs):
    for form, fit_intercept, is_centred in (
        (np.asarray, True, True),
        (np.asarray, False, False),
        (sp.csr_array, True, False),
    ):
        problem = MarginProblem.classification(signs, np.ones(len(F)), fit_intercept)
        centred, mean = _centred(form(F), problem)
        assert_allclose(mean, F.mean(axis=0) if is_centred else 0.0, atol=1e-15)
        dense = centred.toarray() if sp.issparse(centred) else centred
        assert_allclose(dense, F - mean)


def test_what_rounding_hides_is_not_handed_over(rng, monkeypatch):
    X = rng.normal(size=(300, 4))
    z = X @ [1.0, 2.0, 3.0, 4.0] + 0.1 * rng.normal(size=300)
    problem = MarginProblem.regression(z, np.full(300, 1.0), 0.0, True)

    def never(*_):
        raise AssertionError("working sets cannot prove more")

    monkeypatch.setattr(_State, "hand_over", never)
    found = CoordinateDescent(tol=1e-12).solve(LowRankGram(X * [1.0, 10.0, 100.0, 1e3]), problem)
    assert found.residual[0] <= 1e-6
    assert "the gap is lost in rounding" in found.advice
