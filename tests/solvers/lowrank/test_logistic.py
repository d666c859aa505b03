"""Logistic problems by landmarks: the optimum in their features, and its certificate."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression

from mercer.gram import HeldEntriesGram, HeldLandmarkGram, LowRankGram, StreamedGram, landmark_gram
from mercer.kernels import Gaussian, Linear
from mercer.solvers import LogisticProblem, NewtonCholesky, NystromNewton, Run
from mercer.solvers.lowrank import hessian
from mercer.solvers.lowrank.hessian import Hessian, Preconditioner
from mercer.solvers.lowrank.products import FeatureProducts
from mercer.testing import check_solver

random = np.random.default_rng(0)
X = random.normal(size=(90, 3))
SIDES = (X[:, 0] * X[:, 1] + 0.5 * random.normal(size=90) > 0.1).astype(np.intp)
THREE = SIDES + (X[:, 2] > 0.5)
WEIGHTS = random.uniform(0.5, 2.0, 90)


def gram(m=20):
    return landmark_gram(Gaussian(1.5), X, m)


def held(m=20):
    return HeldLandmarkGram.of(gram(m), np.float32)


def entries(m=20):
    return HeldEntriesGram.of(gram(m))


def problem(classes=2, C=1.0, fit_intercept=True):
    codes = SIDES if classes == 2 else THREE
    return LogisticProblem(codes, classes, C, WEIGHTS, fit_intercept)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("form", [gram, held, entries])
def test_it_keeps_the_contract_of_a_solver(classes, fit_intercept, form):
    check_solver(NystromNewton(), form(), problem(classes, 3.0, fit_intercept))


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("C", [0.1, 30.0])
def test_the_optimum_is_that_of_a_peer_on_the_features(classes, fit_intercept, C):
    F, asked = gram().features(), problem(classes, C, fit_intercept)
    peer = LogisticRegression(C=C, fit_intercept=fit_intercept, tol=1e-10, max_iter=10**5)
    peer.fit(F, asked.codes, WEIGHTS)
    found = NystromNewton(1e-12).solve(gram(), asked)
    f, expected = F @ found.theta + found.intercept, peer.decision_function(F)
    expected = expected.reshape(90, -1)
    # A number added to all scores of a row changes no probability.
    both = [s - s.mean(axis=1, keepdims=True) if classes > 2 else s for s in (f, expected)]
    assert_allclose(*both, atol=2e-4)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("form", [gram, held])
def test_all_rows_as_landmarks_have_the_exact_answer(classes, form):
    asked = problem(classes, 2.0)
    exact = NewtonCholesky(1e-17).solve(StreamedGram(Gaussian(0.7), X), asked)
    everything = landmark_gram(Gaussian(0.7), X, 90)
    if form is held:
        everything = HeldLandmarkGram.of(everything, np.float32)
    found = NystromNewton(1e-17).solve(everything, asked)
    f = everything.cross_product(everything.landmarks.coefficients(found.theta))
    assert_allclose(f, Gaussian(0.7)(X) @ exact.coefficients, atol=1e-8)
    assert_allclose(found.intercept, exact.intercept, atol=1e-8)


@pytest.mark.parametrize("classes", [2, 3])
def test_the_gap_is_that_of_the_residuals_as_a_point_of_the_dual(classes):
    asked = problem(classes, 5.0)
    found = NystromNewton(1e-3).solve(held(), asked)
    F, theta = gram().features(), found.theta
    assert_allclose(found.coefficients.sum(axis=0), 0.0, atol=1e-9)
    primal = asked.loss(F @ theta + found.intercept) + 0.5 * (theta**2).sum()
    gap = 0.5 * ((theta - F.T @ found.coefficients) ** 2).sum()
    assert_allclose(found.residual, gap / primal, rtol=1e-3)
    assert_allclose(found.radius, np.sqrt(2.0 * gap), rtol=1e-3)
    assert found.measure == "relative duality gap in the landmark model"
    assert (found.residual <= 1e-3).all()


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_products_with_the_second_derivative_are_those_of_differences(classes, fit_intercept):
    asked, products = problem(classes, 2.0, fit_intercept), FeatureProducts(gram())
    F = gram().features()

    def slope(theta):
        S = F @ theta
        b = asked.best_offset(S, np.zeros(asked.columns))
        return theta - asked.C * F.T @ asked.residual(S + b)

    theta = random.normal(size=(20, asked.columns))
    S = F @ theta
    root = asked.curvature(S + asked.best_offset(S, np.zeros(asked.columns)))
    H = Hessian(products, root, asked.C, fit_intercept)
    V, step = random.normal(size=theta.shape), 1e-5
    product, FV = H.product(V)
    expected = (slope(theta + step * V) - slope(theta - step * V)) / (2.0 * step)
    assert_allclose(product, expected, atol=1e-6)
    assert_allclose(FV, F @ V)


def test_the_preconditioner_of_all_rows_is_the_inverse_for_two_classes(monkeypatch):
    monkeypatch.setattr(hessian, "sampled_rows", lambda n, m: n)
    asked = problem(C=3.0)
    root = asked.curvature(np.zeros((90, 1)))
    H = Hessian(FeatureProducts(gram()), root, 3.0, True)
    made = Preconditioner(gram(), True, 0)
    made.prepare(root, 3.0)
    r = random.normal(size=(20, 1))
    assert_allclose(H.product(made(r))[0], r, atol=1e-9)


@pytest.mark.parametrize("few", [2, 3])
def test_many_classes_share_the_sums_of_a_preconditioner(few, monkeypatch):
    monkeypatch.setattr(hessian, "FEW_COLUMNS", few)
    found = NystromNewton(1e-10).solve(held(), problem(3, 30.0))
    exact = NystromNewton(1e-14).solve(gram(), problem(3, 30.0))
    assert_allclose(found.theta, exact.theta, atol=1e-3)


def test_a_preconditioner_that_took_many_steps_is_made_anew(monkeypatch):
    monkeypatch.setattr(hessian, "sampled_rows", lambda n, m: m)
    asked = problem(C=3.0)
    made = Preconditioner(gram(), True, 0)
    assert len(made.rows) == 20
    made.prepare(asked.curvature(np.zeros((90, 1))), 3.0)
    r = np.ones((20, 1))
    before = made(r)
    later = asked.curvature(np.full((90, 1), 4.0))
    made.improve(made.many)
    made.prepare(later, 3.0)
    assert_array_equal(made(r), before)
    made.improve(made.many + 1)
    made.prepare(later, 3.0)
    assert np.abs(made(r) - before).max() > 0.1


def test_large_costs_are_approached_from_smaller_ones():
    solver, asked = NystromNewton(), problem(3, 1e4)
    first, second = (p.C for p in solver._descent(gram(), asked)._on_the_way(1e4))
    assert_allclose(second / first, 30.0)
    assert solver.solve(gram(), asked).residual.max() <= 1e-5


def test_a_path_starts_every_cost_from_the_last():
    costs = [0.1, 1.0, 10.0]
    path = list(NystromNewton().path(held(), problem(3), costs))
    for C, found in zip(costs, path, strict=True):
        alone = NystromNewton(1e-12).solve(gram(), problem(3, C))
        assert_allclose(found.theta, alone.theta, atol=0.05)
        assert (found.residual <= 1e-5).all()


def test_a_good_start_takes_few_steps():
    first = NystromNewton(1e-12).solve(gram(), problem())
    begun = replace(problem(), start=(first.coefficients, first.intercept))
    assert NystromNewton().solve(gram(), begun).iterations == 0


def test_what_float32_leaves_is_found_in_float64():
    found = NystromNewton(1e-15).solve(held(), problem(2, 100.0))
    assert found.residual[0] <= 1e-14


@pytest.mark.parametrize("classes", [2, 3])
def test_nearly_constant_entries_at_a_large_cost_reach_a_small_gap(classes):
    constant = landmark_gram(Linear(1e3) + Gaussian(2.0), X, 40)
    asked = problem(classes, 1e4)
    found = NystromNewton(1e-6).solve(HeldLandmarkGram.of(constant, np.float32), asked)
    assert found.residual[0] <= 1e-6
    assert found.iterations < 50


@pytest.mark.parametrize("form", [held, entries])
def test_features_in_float64_are_computed_once_where_they_fit(form):
    known = form()
    known.memory = known.held_bytes + 8 * known.shape[0] * known.landmarks.n_features
    fitting = NystromNewton()._descent(known, problem())._exact_products()
    assert fitting.gram.stored_dtype == np.float64
    known.memory -= 1
    assert NystromNewton()._descent(known, problem())._exact_products().gram is known


def test_a_limit_of_steps_ends_with_what_there_is_and_says_so():
    for most in (1, 3):
        found = NystromNewton(1e-12, max_iter=most).solve(gram(), problem(2, 1e3))
        assert found.iterations == most
        assert f"raise max_iter (now {most})" in found.advice


def test_without_time_to_measure_there_is_a_model_and_no_certificate(monkeypatch):
    monkeypatch.setattr(Run, "measured", lambda run, measure: None)
    found = NystromNewton().solve(held(), problem())
    assert_array_equal(found.residual, np.inf)
    monkeypatch.undo()
    exact = NystromNewton().solve(held(), problem())
    assert_allclose(found.theta, exact.theta)
    assert abs(found.intercept[0]) > 0.1
    assert_allclose(found.coefficients, exact.coefficients, atol=1e-4)


def test_a_matrix_without_landmarks_is_refused():
    with pytest.raises(ValueError, match="use landmark_gram"):
        NystromNewton().solve(LowRankGram(X), problem())
