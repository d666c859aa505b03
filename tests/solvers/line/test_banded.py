"""The solver for points on a line: exact for every ridge, gap and weight."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.gram import StreamedGram, chain_of
from mercer.kernels import Exponential, Gaussian, Laplacian, Sobolev
from mercer.solvers import Banded, Cholesky, RidgeProblem, as_solver
from mercer.solvers.line.banded import ChainSystem

EPS = np.finfo(float).eps
KERNELS = [
    Sobolev(),
    Exponential(0.7),
    3.0 * Laplacian(2.0),
    0.5 * Exponential(2.0) + 0.3,
    2.0 * Sobolev() + 1.5,
]


def problem_of(y, alpha=1.0, weights=None, fit_intercept=True):
    y = y.reshape(len(y), -1)
    alpha = np.broadcast_to(np.asarray(alpha, float), y.shape[1:])
    return RidgeProblem(y, alpha, np.ones(len(y)) if weights is None else weights, fit_intercept)


def lapack_ratio(K, problem, solution):
    """Return ||r|| / ((||A|| ||a|| + ||y||) n eps), the measure of LAPACK's own tests."""
    worst = 0.0
    for j, alpha in enumerate(problem.alpha):
        A = K + np.diag(alpha / problem.weights)
        a, y = solution.coefficients[:, j], problem.y[:, j]
        r = y - A @ a - solution.intercept[j]
        scale = np.linalg.norm(A, 1) * np.linalg.norm(a, 1) + np.linalg.norm(y, 1)
        worst = max(worst, np.linalg.norm(r, 1) / (scale * len(y) * EPS))
    return worst


@pytest.fixture
def X(rng):
    """Rows in no order, some of them equal, two at zero."""
    x = rng.uniform(0.0, 5.0, size=(40, 1))
    x[[4, 7]] = x[9]
    x[[12, 31]] = 0.0
    return x


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("alpha", [1e-3, 1.0, 1e4])
def test_it_agrees_with_cholesky(X, rng, kernel, fit_intercept, alpha):
    y = np.column_stack([np.sin(X[:, 0]), rng.normal(size=40) + 3.0])
    problem = problem_of(y, alpha, rng.uniform(0.1, 3.0, size=40), fit_intercept)
    mine = Banded().solve(chain_of(kernel, X), problem)
    other = Cholesky().solve(StreamedGram(kernel, X), problem)
    scale = np.abs(other.coefficients).max()
    assert_allclose(mine.coefficients / scale, other.coefficients / scale, atol=1e-10)
    assert_allclose(mine.intercept, other.intercept, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("kernel", [*KERNELS, Exponential(1e-8), Exponential(1e8)], ids=str)
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("shape", ["spread", "duplicates", "far targets", "tiny gaps", "smooth"])
def test_residuals_are_those_of_rounding(rng, kernel, fit_intercept, shape):
    X = rng.uniform(0.0, 3.0, size=(150, 1))
    y = np.column_stack([np.sin(X[:, 0]), rng.normal(size=150)])
    if shape == "duplicates":
        X = np.repeat(X[:75], 2, axis=0)
    elif shape == "far targets":
        y += 1e8
    elif shape == "tiny gaps":
        X[75:] = X[:75] * (1.0 + 1e-13)
    elif shape == "smooth":
        y = np.column_stack([X[:, 0], 1e-8 * X[:, 0] + 1.0])
    alphas, weights = np.repeat([1e-12, 1e-6, 1.0, 1e6, 1e12], 2), rng.uniform(0.01, 10.0, size=150)
    problem = problem_of(np.tile(y, 5), alphas, weights, fit_intercept)
    solution = Banded().solve(chain_of(kernel, X), problem)
    assert lapack_ratio(kernel(X), problem, solution) < 30.0
    sums = np.abs(solution.coefficients.sum(axis=0))
    size = np.abs(solution.coefficients).sum(axis=0)
    assert not fit_intercept or (sums <= 1e-12 * size + 1e-25).all()


@pytest.mark.parametrize("alpha", ["1e-12", "1", "1e12"])
@pytest.mark.parametrize("scale", ["1e-8", "1", "1e8"])
def test_coefficients_keep_their_digits_at_any_ridge_and_length_scale(rng, alpha, scale):
    mpmath = pytest.importorskip("mpmath")
    x, y = np.sort(rng.uniform(0.0, 1.0, size=12)), rng.normal(size=12)
    gram = chain_of(Exponential(float(scale)), x[:, None])
    solution = Banded().solve(gram, problem_of(y, float(alpha)))
    with mpmath.workdps(80):
        unit, ridge = mpmath.mpf(float(scale)), mpmath.mpf(float(alpha))
        B = mpmath.matrix(13, 13)
        for i in range(12):
            B[i, 12] = B[12, i] = 1
            for j in range(12):
                B[i, j] = mpmath.exp(-abs(mpmath.mpf(x[i]) - mpmath.mpf(x[j])) / unit)
            B[i, i] += ridge
        exact = mpmath.lu_solve(B, mpmath.matrix([*y, 0.0]))
        exact = np.array([float(v) for v in exact])
    assert_allclose(solution.coefficients[:, 0], exact[:12], atol=1e-12 * np.abs(exact[:12]).max())
    assert_allclose(solution.intercept[0], exact[12], rtol=1e-12)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_whole_weights_are_repeated_rows(X, rng, kernel, fit_intercept):
    y, weights = rng.normal(size=40), rng.integers(1, 4, size=40)
    problem = problem_of(y, 0.1, weights.astype(float), fit_intercept)
    weighted = Banded().solve(chain_of(kernel, X), problem)
    repeated = Banded().solve(
        chain_of(kernel, X.repeat(weights, axis=0)),
        problem_of(y.repeat(weights), 0.1, fit_intercept=fit_intercept),
    )
    per_row = np.zeros((40, 1))
    np.add.at(per_row, np.arange(40).repeat(weights), repeated.coefficients)
    assert_allclose(weighted.coefficients, per_row, atol=1e-10)
    assert_allclose(weighted.intercept, repeated.intercept, rtol=1e-10, atol=1e-14)
    assert_allclose(weighted.values, repeated.values, atol=1e-10)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_order_of_the_rows_does_not_matter(X, rng, kernel, fit_intercept):
    y, order = rng.normal(size=40), rng.permutation(40)
    one = Banded().solve(chain_of(kernel, X), problem_of(y, 0.1, None, fit_intercept))
    other = Banded().solve(
        chain_of(kernel, X[order]), problem_of(y[order], 0.1, None, fit_intercept)
    )
    assert_allclose(other.coefficients, one.coefficients[order], atol=1e-12)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("n", [1, 2])
def test_one_and_two_rows_are_enough(kernel, fit_intercept, n):
    X, y = np.array([[2.0], [1.0]])[:n], np.array([3.0, 5.0])[:n]
    problem = problem_of(y, 0.5, None, fit_intercept)
    mine = Banded().solve(chain_of(kernel, X), problem)
    other = Cholesky().solve(StreamedGram(kernel, X), problem)
    assert_allclose(mine.coefficients, other.coefficients, atol=1e-14)
    assert_allclose(mine.intercept, other.intercept, atol=1e-14)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_constant_targets_are_all_offset(X, kernel):
    solution = Banded().solve(chain_of(kernel, X), problem_of(np.full(40, 3.5), 1e-3))
    assert_allclose(solution.intercept, 3.5, rtol=1e-14)
    assert_allclose(solution.coefficients, 0.0, atol=1e-11)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_without_a_ridge_it_interpolates(rng, kernel, fit_intercept):
    X, y = rng.uniform(0.1, 5.0, size=(40, 1)), rng.normal(size=40)
    problem = problem_of(y, 0.0, rng.uniform(0.1, 2.0, size=40), fit_intercept)
    solution = Banded().solve(chain_of(kernel, X), problem)
    assert_allclose(kernel(X) @ solution.coefficients + solution.intercept, y[:, None], atol=1e-10)
    assert np.isinf(solution.radius).all()


def test_without_a_ridge_shared_positions_are_refused(X):
    for kernel, rows in ((Exponential(), X), (Sobolev(), np.array([[0.0], [1.0]]))):
        with pytest.raises(ValueError, match="alpha = 0 needs an invertible Gram matrix, but rows"):
            problem = problem_of(np.ones(len(rows)), 0.0, fit_intercept=False)
            Banded().solve(chain_of(kernel, rows), problem)


def test_without_a_ridge_an_offset_frees_a_row_at_zero():
    x, y = np.array([[0.0], [1.0], [3.0]]), np.array([2.0, 5.0, 4.0])
    solution = Banded().solve(chain_of(Sobolev(), x), problem_of(y, 0.0))
    assert_allclose(solution.intercept, 2.0)
    assert_allclose(solution.values[:, 0], y - 2.0)


@pytest.mark.parametrize("kernel", [Sobolev(), Exponential(1e-8), Exponential(1e8)], ids=str)
@pytest.mark.parametrize("alpha", [1e-12, 1.0, 1e12])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_gaps_of_any_size_give_finite_numbers(kernel, alpha, fit_intercept):
    X = np.array([[0.0], [1e-300], [2e-300], [1e-8], [1.0], [1e8], [1e150], [1e300]])
    y = np.array([1.0, -1.0, 2.0, 0.5, 3.0, -2.0, 1.0, 0.0])
    problem = problem_of(y, alpha, None, fit_intercept)
    solution = Banded(tol=1e300).solve(chain_of(kernel, X), problem)
    held_out = Banded().leave_one_out(chain_of(kernel, X), problem, [alpha])
    for numbers in (solution.coefficients, solution.values, solution.intercept, held_out):
        assert np.isfinite(numbers).all()
    assert np.abs(solution.values).max() <= 6.0


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_leave_one_out_residuals_are_those_of_refits(X, rng, kernel, fit_intercept):
    y, weights = rng.normal(size=(40, 2)) + 2.0, rng.uniform(0.1, 3.0, size=40)
    alphas = np.array([1e-3, 1.0, 1e3])
    problem = problem_of(y, 1.0, weights, fit_intercept)
    held_out = Banded().leave_one_out(chain_of(kernel, X), problem, alphas)
    for k, alpha in enumerate(alphas):
        for i in range(40):
            rest = np.delete(np.arange(40), i)
            refit = Cholesky().solve(
                StreamedGram(kernel, X[rest]),
                problem_of(y[rest], alpha, weights[rest], fit_intercept),
            )
            f = kernel(X[[i]], X[rest]) @ refit.coefficients + refit.intercept
            assert_allclose(held_out[k, i], (y[i] - f)[0], rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_errors_of_a_path_are_the_means_of_its_residuals(X, rng, kernel, fit_intercept):
    problem = problem_of(
        rng.normal(size=(40, 3)), 1.0, rng.uniform(0.1, 3.0, size=40), fit_intercept
    )
    gram, alphas = chain_of(kernel, X), np.geomspace(1e-6, 1e6, 7)
    e = Banded().leave_one_out(gram, problem, alphas)
    errors = Banded().leave_one_out_errors(gram, problem, alphas)
    expected = np.average(e**2, axis=1, weights=problem.weights)
    assert_allclose(errors, expected, rtol=1e-12)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("alpha", [1e-12, 1e-4, 1.0, 1e12])
def test_leave_one_out_follows_from_the_coefficients(rng, kernel, fit_intercept, alpha):
    mpmath = pytest.importorskip("mpmath")
    n = 10
    x, y = np.sort(rng.uniform(0.0, 5.0, size=n)), rng.normal(size=n)
    gram, problem = chain_of(kernel, x[:, None]), problem_of(y, alpha, None, fit_intercept)
    e = Banded().leave_one_out(gram, problem, [alpha])[0, :, 0]
    with mpmath.workdps(60):
        A = mpmath.matrix(kernel(x[:, None]).tolist()) + alpha * mpmath.eye(n)
        inverse = A**-1
        u = inverse * mpmath.ones(n, 1)
        B = inverse - u * u.T / sum(u) if fit_intercept else inverse
        a = B * mpmath.matrix(y.tolist())
        expected = [float(a[i] / B[i, i]) for i in range(n)]
    # K itself is rounded, which is felt where the ridge is small beside it.
    assert_allclose(e, expected, rtol=1e-8, atol=1e-10)


def test_a_path_is_one_fit_after_another(X, rng):
    y, alphas = rng.normal(size=40), np.geomspace(1e-4, 1e4, 6)
    gram = chain_of(Exponential(), X)
    together = Banded().leave_one_out(gram, problem_of(y), alphas)
    for alpha, e in zip(alphas, together, strict=True):
        alone = Banded().leave_one_out(gram, problem_of(y), [alpha])[0]
        assert_allclose(alone, e, rtol=1e-12)


def test_a_single_row_left_out_leaves_nothing_to_predict_from():
    gram = chain_of(Exponential(), np.array([[1.0]]))
    offset, none = problem_of(np.array([2.0])), problem_of(np.array([2.0]), fit_intercept=False)
    assert np.isnan(Banded().leave_one_out_errors(gram, offset, [1.0])).all()
    assert_allclose(Banded().leave_one_out_errors(gram, none, [1.0]), 4.0)


def test_every_target_has_the_ridge_given_for_it(X, rng):
    y, alphas = rng.normal(size=(40, 3)), np.array([1.0, 0.01, 10.0])
    gram = chain_of(Sobolev(), X)
    together = Banded().solve(gram, problem_of(y, alphas))
    for j, alpha in enumerate(alphas):
        alone = Banded().solve(gram, problem_of(y[:, j], alpha))
        assert_allclose(together.coefficients[:, [j]], alone.coefficients, atol=1e-12)
        assert_allclose(together.intercept[j], alone.intercept[0], rtol=1e-12)
        assert_allclose(together.values[:, [j]], alone.values, atol=1e-12)


def test_the_solution_tells_what_it_cost_and_how_good_it_is(X, rng):
    y, weights = rng.normal(size=(40, 2)), rng.uniform(0.1, 3.0, size=40)
    solution = Banded(tol=1e-9).solve(chain_of(Exponential(), X), problem_of(y, 0.1, weights))
    K = Exponential()(X)
    r = y - (K + np.diag(0.1 / weights)) @ solution.coefficients - solution.intercept
    assert solution.solver == "banded"
    assert solution.tolerance == 1e-9
    assert solution.seconds > 0.0
    # What rounding may hide counts as well.
    assert solution.residual.max() < 1e-13
    assert np.linalg.norm(r) < 1e-13
    assert (solution.radius < 1e-12).all()


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_radius_bounds_the_distance_from_the_exact_function(X, rng, kernel, fit_intercept):
    y, weights = rng.normal(size=40), rng.uniform(0.1, 3.0, size=40)
    gram, problem = chain_of(kernel, X), problem_of(y, 0.1, weights, fit_intercept)
    exact = Banded().solve(gram, problem)
    for size in (1e-8, 1e-3, 1.0):
        a = exact.coefficients + size * rng.normal(size=(40, 1))
        _, radius = ChainSystem(gram, problem).proved(a, exact.intercept)
        gap = a - exact.coefficients
        assert np.sqrt(gap.T @ kernel(X) @ gap).item() <= radius[0]


def test_targets_of_any_size_have_the_same_relative_residual(X, rng):
    gram, y = chain_of(Exponential(), X), rng.normal(size=40)
    for size in (1e-200, 1.0, 1e200):
        assert Banded().solve(gram, problem_of(size * y, 0.1)).residual[0] < 1e-13


def test_coefficients_that_overflow_are_refused():
    gram = chain_of(Exponential(), np.zeros((2, 1)))
    with pytest.raises(ValueError, match="the coefficients overflow in the unit of the targets"):
        Banded().solve(gram, problem_of(np.array([1e305, -1e305]), 1e-12))


def test_another_gram_is_refused_with_the_solvers_that_would_do(rng):
    gram = StreamedGram(Gaussian(), rng.normal(size=(5, 1)))
    with pytest.raises(ValueError, match=r"'banded' needs .* use solver='cholesky' or 'auto'"):
        Banded().solve(gram, problem_of(np.ones(5)))


def test_a_negative_ridge_is_refused(X):
    with pytest.raises(ValueError, match="alpha must not be negative, got -1"):
        Banded().leave_one_out_errors(chain_of(Sobolev(), X), problem_of(np.ones(40)), [1.0, -1.0])


def test_it_is_known_by_name_and_as_an_object():
    assert as_solver("banded") == Banded()
    assert as_solver(Banded(), tol=1e-9) == Banded(tol=1e-9)


@pytest.mark.parametrize("unit", [1e-250, 1e-170, 1e170])
def test_what_is_proved_of_targets_of_any_size_is_the_same(X, rng, unit):
    gram, weights = chain_of(Exponential(), X), rng.uniform(0.5, 2.0, size=len(X))
    y, alpha = rng.normal(size=(len(X), 2)), np.array([0.1, 1.0])
    problem = RidgeProblem(y, alpha, weights, True)
    solved = Banded().solve(gram, problem)
    a, b = solved.coefficients + 1e-3 * rng.normal(size=y.shape), solved.intercept
    residual, radius = ChainSystem(gram, problem).proved(a, b)
    scaled = ChainSystem(gram, RidgeProblem(unit * y, alpha, weights, True))
    found = scaled.proved(unit * a, unit * b)
    assert_allclose(found[0], residual, rtol=1e-6)
    assert_allclose(found[1], unit * radius, rtol=1e-6)
