"""What Newton systems are solved by: ranks that fit, factors that hold, products in float32."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer.data.limits.memory import gigabytes
from mercer.errors import MemoryLimitError
from mercer.gram import DenseGram, PrecomputedGram, StreamedGram
from mercer.kernels import Gaussian
from mercer.solvers import LogisticProblem
from mercer.solvers.logistic.curvature import (
    FactoredCurvature,
    LowRankCurvature,
    SingleCopy,
    single_serves,
)

N = 40


@pytest.fixture
def gram(rng):
    return DenseGram.of(StreamedGram(Gaussian(1.0), rng.normal(size=(N, 2))))


def root_of(rng, classes, spread=1.0):
    problem = LogisticProblem(np.arange(N) % classes, classes, 1.0, np.ones(N), True)
    return problem.curvature(spread * rng.normal(size=(N, problem.columns)))


@pytest.mark.parametrize(
    ("n", "rank", "wanted"), [(40, None, 13), (40, 5, 5), (40, 30, 20), (4, None, 2), (1, None, 1)]
)
def test_the_first_rank_is_twice_the_root_of_the_rows_and_half_of_them_at_most(
    rng, n, rank, wanted
):
    gram = DenseGram.of(StreamedGram(Gaussian(1.0), rng.normal(size=(n, 2))))
    assert LowRankCurvature(gram, None, rank, 0)._wanted == wanted


@pytest.mark.parametrize(("room", "rank"), [(7.5, 7), (8, 8), (0.5, 1), (1e9, 13)])
@pytest.mark.parametrize("has_copy", [True, False])
def test_the_rank_fits_into_the_memory(rng, room, rank, has_copy):
    X = rng.normal(size=(N, 2))
    gram = DenseGram.of(StreamedGram(Gaussian(1.0), X))
    copy = SingleCopy(gram) if has_copy else None
    held = gram.held_bytes + (copy.nbytes if has_copy else 0)
    gram = DenseGram.of(StreamedGram(Gaussian(1.0), X, memory=held + int(room * 24 * N)))
    assert LowRankCurvature(gram, copy, None, 0)._wanted == rank


def test_the_rank_doubles_after_many_steps_up_to_the_most(gram, rng):
    curvature = LowRankCurvature(gram, None, None, 0)
    curvature.prepare(root_of(rng, 2), 1e-9)
    assert curvature.rank == 13
    curvature.improve(20)
    assert curvature._wanted == 13
    curvature.improve(21)
    assert curvature._wanted == 20
    # It has not grown yet: nothing is known about the larger rank.
    curvature._wanted = 15
    curvature.improve(21)
    assert curvature._wanted == 15
    fixed = LowRankCurvature(gram, None, 5, 0)
    fixed.prepare(root_of(rng, 2), 1e-9)
    fixed.improve(100)
    assert fixed._wanted == 5


def test_the_rank_of_several_classes_stays(gram, rng):
    curvature = LowRankCurvature(gram, None, None, 0)
    curvature.prepare(root_of(rng, 3), 1e-9)
    curvature.improve(100)
    assert curvature._wanted == 13


def test_a_restored_curvature_has_the_pivots_of_every_growth(gram, rng):
    first = LowRankCurvature(gram, None, None, 0)
    for steps in (21, 0):
        first.prepare(root_of(rng, 2), 1e-9)
        first.improve(steps)
    assert first.rank == 20
    later = LowRankCurvature(gram, None, None, 0)
    later.restore(first.state())
    assert_array_equal(later._pivots.F, first._pivots.F)


def test_a_copy_that_is_close_enough_beside_the_ridge_does_not_grow(gram, rng):
    root = root_of(rng, 2)
    near = LowRankCurvature(gram, None, None, 0)
    # The trace of what is left is beneath ridge / curvature before the first pivot.
    near.prepare(root, 1e3)
    assert near.rank == 0
    curvature = root.scale.max() ** 2
    for share, grows in ((0.9, True), (1.1, False)):
        copy = LowRankCurvature(gram, None, None, 0)
        copy.prepare(root, share * N * curvature)
        assert (copy.rank > 0) is grows


def test_products_are_those_of_the_copy_until_they_are_sharpened(gram, rng):
    copy = SingleCopy(gram)
    curvature = LowRankCurvature(gram, copy, None, 0)
    V = rng.normal(size=(N, 2))
    exact = gram.dense() @ V
    assert np.abs(curvature.product(V) - exact).max() > 1e-10
    assert_allclose(curvature.exact_product(V), exact, rtol=1e-12)
    assert curvature.sharpen()
    assert_allclose(curvature.product(V), exact, rtol=1e-12)
    assert not curvature.sharpen()
    assert not FactoredCurvature(gram, 1).sharpen()


def test_a_ridge_that_float32_hides_is_taken_in_float64(gram, rng):
    curvature = LowRankCurvature(gram, SingleCopy(gram), None, 0)
    V = rng.normal(size=(N, 1))
    exact = gram.dense() @ V
    curvature.prepare(root_of(rng, 2), 1e-9)
    assert_allclose(curvature.product(V), exact, rtol=1e-12)
    curvature.prepare(root_of(rng, 2), 10.0)
    assert np.abs(curvature.product(V) - exact).max() > 1e-10


@pytest.mark.parametrize(("share", "serves"), [(0.99, True), (1.01, False)])
def test_float32_serves_where_it_moves_little_beside_the_ridge(share, serves):
    gram = PrecomputedGram(np.diag(np.r_[np.ones(15), -3.0]))
    moved = np.finfo(np.float32).eps * 4.0 * 3.0
    assert single_serves(gram, share * 1e-2 / float(moved)) is serves


@pytest.mark.parametrize("size", [1.0, 1e60, 1e-60])
def test_a_copy_multiplies_vectors_of_any_size(gram, rng, size):
    V = size * rng.normal(size=(N, 3))
    V[:, 1] = 0.0
    found = SingleCopy(gram).product(V)
    assert_allclose(found, gram.dense() @ V, rtol=1e-4, atol=1e-5 * size)
    assert not found[:, 1].any()


@pytest.mark.parametrize("classes", [2, 3])
def test_a_factor_solves_the_system_of_a_step(gram, rng, classes):
    root, ridge = root_of(rng, classes), 0.3
    m = root.scale.shape[1]
    curvature = FactoredCurvature(gram, m)
    curvature.prepare(root, ridge)
    R = np.zeros((N, m, N, m))
    for i, c in np.ndindex(N, m):
        unit = np.zeros((N, m))
        unit[i, c] = 1.0
        R[:, :, i, c] = root.forward(unit)
    R = R.reshape(N * m, N * m)
    A = R.T @ np.kron(gram.dense(), np.eye(m)) @ R + ridge * np.eye(N * m)
    U = root.project(rng.normal(size=(N, m)))
    expected = np.linalg.solve(A, U.ravel()).reshape(N, m)
    assert_allclose(curvature.solve(U), root.project(expected), rtol=1e-6, atol=1e-8)
    V = root.forward(U)
    assert_allclose(curvature.energy(U), (V * (gram.dense() @ V)).sum())


def test_curvatures_that_are_next_to_nothing_are_raised_to_a_floor(gram, rng):
    root = root_of(rng, 3, spread=60.0)
    curvature = FactoredCurvature(gram, 3)
    curvature.prepare(root, 0.1)
    least = np.sqrt(FactoredCurvature.floor) * root.scale.max()
    for scale, own in zip(curvature._scales, root.scale.T, strict=True):
        assert_allclose(scale, np.maximum(own, least))
    assert (root.scale < least).any()


@pytest.mark.parametrize(("columns", "matrices"), [(1, 1), (3, 5)])
def test_factors_take_a_matrix_for_every_class_and_two_more(rng, columns, matrices):
    X = rng.normal(size=(N, 2))
    enough = matrices * 8 * N * N
    FactoredCurvature(DenseGram.of(StreamedGram(Gaussian(1.0), X, memory=enough)), columns)
    told = rf"need.? {gigabytes(enough)} but the limit is {gigabytes(enough - 1)}"
    with pytest.raises(MemoryLimitError, match=told):
        FactoredCurvature(DenseGram.of(StreamedGram(Gaussian(1.0), X, memory=enough - 1)), columns)
