"""Margin problems by landmarks: the optimum in their features, and its certificate."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.svm import LinearSVC, LinearSVR

from mercer.gram import HeldLandmarkGram, LowRankGram, StreamedGram, landmark_gram
from mercer.kernels import Constant, Gaussian, Linear
from mercer.solvers import SMO, MarginProblem, NystromDescent, Run
from mercer.testing import check_solver

random = np.random.default_rng(0)
X = random.normal(size=(80, 3))
SIGNS = np.where(X[:, 0] * X[:, 1] + 0.5 * random.normal(size=80) > 0.1, 1.0, -1.0)


def gram(m=20, memory=None):
    return landmark_gram(Gaussian(1.5), X, m, memory=memory)


def classification(C=1.0, fit_intercept=True):
    return MarginProblem.classification(SIGNS, np.full(80, C), fit_intercept)


def tube(fit_intercept=True):
    return MarginProblem.regression(X[:, 0] ** 2, np.full(80, 2.0), 0.1, fit_intercept)


@pytest.mark.parametrize("problem", [classification(), classification(5.0, False), tube()])
@pytest.mark.parametrize("tol", [1e-3, 1e-7])
def test_it_keeps_the_contract_of_a_solver(problem, tol):
    check_solver(NystromDescent(tol), gram(), problem)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("kind", [classification, tube])
def test_the_optimum_is_that_of_working_sets_on_the_features(kind, fit_intercept):
    problem = kind(fit_intercept=fit_intercept)
    F = gram().features()
    exact = SMO(tol=1e-12).solve(LowRankGram(F), problem)
    found = NystromDescent(1e-10).solve(gram(), problem)
    assert_allclose(found.theta, F.T @ exact.coefficients, atol=1e-4)
    assert_allclose(found.intercept, exact.intercept, atol=1e-4)
    assert found.measure == "relative duality gap in the landmark model"


def test_without_an_offset_it_is_the_machine_of_liblinear():
    F = gram().features()
    peer = LinearSVC(loss="hinge", C=0.5, fit_intercept=False, tol=1e-10, max_iter=10**6)
    found = NystromDescent(1e-9).solve(gram(), classification(0.5, False))
    assert_allclose(found.theta[:, 0], peer.fit(F, SIGNS).coef_[0], atol=1e-3)
    peer = LinearSVR(C=2.0, epsilon=0.1, fit_intercept=False, tol=1e-10, max_iter=10**6)
    found = NystromDescent(1e-9).solve(gram(), tube(False))
    assert_allclose(found.theta[:, 0], peer.fit(F, X[:, 0] ** 2).coef_, atol=1e-3)


def test_all_rows_as_landmarks_have_the_exact_answer():
    for problem in (classification(), tube()):
        exact = SMO(tol=1e-12).solve(StreamedGram(Gaussian(0.7), X), problem)
        everything = landmark_gram(Gaussian(0.7), X, 80)
        found = NystromDescent(1e-15).solve(everything, problem)
        f = everything.cross_product(everything.landmarks.coefficients(found.theta))
        assert_allclose(f, Gaussian(0.7)(X) @ exact.coefficients, atol=1e-8)


@pytest.mark.parametrize("tol", [1e-3, 1e-6])
def test_the_gap_is_that_of_float64(tol):
    problem = classification(10.0)
    found = NystromDescent(tol).solve(gram(), problem)
    F, a = gram().features(), found.coefficients[:, 0]
    assert_allclose(found.theta[:, 0], F.T @ a, atol=1e-12)
    gap = problem.gap(a, F @ (F.T @ a))
    assert gap.relative <= found.residual[0] <= gap.relative + 1e-10
    assert found.residual[0] <= tol


@pytest.mark.parametrize(
    ("kernel", "far"), [(Linear(), 1e8), (Gaussian(1.5) + 1e18, 0.0), (Constant(1e40), 0.0)]
)
def test_what_rounding_hides_of_features_far_from_zero_counts_in_the_gap(kernel, far):
    problem = classification()
    found = NystromDescent(1e-3).solve(landmark_gram(kernel, X + far, 80), problem)
    # Features of these sizes have no digits left for what tells the classes apart.
    assert found.residual > 0.1


def test_features_are_in_float32_where_the_tolerance_allows():
    assert NystromDescent(1e-3).dtype == np.float32
    assert NystromDescent(1e-5).dtype == np.float64


def test_what_float32_leaves_is_found_in_float64(monkeypatch):
    precisions = []
    of = HeldLandmarkGram.of

    def seen(given, dtype):
        precisions.append(np.dtype(dtype))
        return of(given, dtype)

    monkeypatch.setattr(HeldLandmarkGram, "of", seen)
    solver = NystromDescent(1e-9, least_single=1e-10)
    assert solver.solve(gram(), classification(100.0)).residual[0] <= 1e-9
    assert precisions == [np.float32, np.float64]


def test_a_part_of_stored_features_shares_them():
    held = HeldLandmarkGram.of(gram(), np.float32)
    some = np.r_[5:30, 40:78]
    part = held.part(some)
    assert part.matrix is held.matrix
    problem = classification().on(some)
    found = NystromDescent(1e-4).solve(part, problem)
    alone = NystromDescent(1e-4).solve(gram().part(some), problem)
    assert_allclose(found.theta, alone.theta, atol=1e-5)


def test_a_good_start_leaves_nothing_to_do():
    first = NystromDescent(1e-5).solve(gram(), classification())
    begun = replace(classification(), start=first.coefficients[:, 0])
    assert NystromDescent(1e-3).solve(gram(), begun).iterations == 0


def test_without_time_to_measure_the_weights_have_no_certificate(monkeypatch):
    monkeypatch.setattr(Run, "measured", lambda run, measure: None)
    found = NystromDescent(1e-4).solve(gram(), classification())
    assert_array_equal(found.residual, np.inf)
    monkeypatch.undo()
    exact = NystromDescent(1e-4).solve(gram(), classification())
    assert_allclose(found.theta, exact.theta, atol=1e-5)
    assert_allclose(found.intercept, exact.intercept, atol=1e-5)


def test_a_matrix_without_landmarks_is_refused():
    with pytest.raises(ValueError, match="use landmark_gram"):
        NystromDescent().solve(LowRankGram(X), classification())
