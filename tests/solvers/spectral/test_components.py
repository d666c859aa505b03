"""Components: eigenvectors of Gram matrices, by three solvers."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.errors import IndefiniteKernelError, MemoryLimitError
from mercer.gram import PrecomputedGram, gram_of
from mercer.kernels import AdditiveChi2, Gaussian, Linear, Sigmoid
from mercer.solvers.spectral.components import (
    ComponentProblem,
    DenseComponents,
    IterativeComponents,
    PivotedComponents,
    component_solver,
)

SOLVERS = [DenseComponents(), IterativeComponents(random_state=0), PivotedComponents(120, 0)]
EACH_SOLVER = pytest.mark.parametrize("solver", SOLVERS, ids=lambda s: type(s).__name__)


def found_by(solver, gram, most, centred):
    return solver.solve(gram, ComponentProblem(len(gram), most, centred))


def centring(n):
    return np.eye(n) - np.ones((n, n)) / n


@EACH_SOLVER
@pytest.mark.parametrize("centred", [True, False])
def test_they_are_the_eigenvectors_of_the_matrix(solver, centred, points):
    gram = gram_of(Gaussian(2.0), points(120))
    C = centring(120) if centred else np.eye(120)
    s, V = np.linalg.eigh(C @ gram.dense() @ C)
    found = found_by(solver, gram, 6, centred)
    assert_allclose(found.values, s[::-1][:6], rtol=1e-7)
    assert_allclose(np.abs(found.vectors.T @ V[:, ::-1][:, :6]), np.eye(6), atol=1e-6)


@EACH_SOLVER
@pytest.mark.parametrize("centred", [True, False])
def test_their_coefficients_give_the_scores(solver, centred, points):
    gram = gram_of(Gaussian(2.0) + 1e6, points(120))
    found = found_by(solver, gram, 4, centred)
    scores = gram.dense() @ found.dense_coefficients - found.offset
    assert_allclose(scores, found.scores, atol=1e-6 * np.abs(found.scores).max())


@EACH_SOLVER
def test_signs_do_not_depend_on_rounding(solver, points):
    X = np.vstack([points(60), -points(60)])
    first = found_by(solver, gram_of(Linear(), X), 2, True)
    second = found_by(solver, gram_of(Linear(), X * (1.0 + 1e-13)), 2, True)
    assert_allclose(first.vectors, second.vectors, atol=1e-6)
    assert (first.vectors.max(axis=0) >= 0.999 * np.abs(first.vectors).max(axis=0)).all()


def test_what_rounding_explains_is_zero(points):
    found = found_by(DenseComponents(), gram_of(Linear(), points(30)), None, True)
    assert len(found.values) == 3
    more = found_by(DenseComponents(), gram_of(Linear(), points(30)), 5, True)
    assert (more.values[3:] == 0.0).all()
    assert (more.coefficients[:, 3:] == 0.0).all()


@pytest.mark.parametrize("solver", [DenseComponents(), PivotedComponents(3, 0)], ids=str)
@pytest.mark.parametrize("kernel", [Gaussian(), Linear(), 1e8 * Linear()], ids=str)
def test_equal_rows_have_no_component_that_is_not_zero(solver, kernel):
    X = np.full((30, 3), 1.1)
    found = found_by(solver, gram_of(kernel, X), None, True)
    assert found.values.shape == (0,)
    assert found.scores.shape == (30, 0)


@EACH_SOLVER
@pytest.mark.parametrize("kernel", [Gaussian(), Linear(), 0 * Linear()], ids=str)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_equal_rows_have_components_of_zero_where_some_are_asked_for(solver, kernel, dtype):
    found = found_by(solver, gram_of(kernel, np.full((30, 3), 1.1, dtype)), 2, True)
    assert found.values.tolist() == [0.0, 0.0]
    assert found.vectors.shape == (30, 2)
    assert not found.scores.any()
    assert not found.dense_coefficients.any()


@EACH_SOLVER
def test_there_are_as_many_as_asked_for(solver, points):
    found = found_by(solver, gram_of(Linear(), points(130)), 5, True)
    assert (found.values > 0.0).tolist() == [True] * 3 + [False] * 2
    assert found.scores.shape == (130, 5)


@pytest.mark.parametrize("solver", [DenseComponents(), PivotedComponents(30, 0)], ids=str)
@pytest.mark.parametrize("centred", [True, False])
def test_the_rounding_of_float32_is_no_component(solver, centred, points):
    X = points(60).astype(np.float32)
    assert len(found_by(solver, gram_of(Linear(), X), None, centred).values) == 3


def test_a_kernel_far_larger_than_its_differences_has_no_components_of_rounding(points):
    found = found_by(DenseComponents(), gram_of(Linear(), points(60) + 1e6), None, True)
    assert len(found.values) == 3


@EACH_SOLVER
@pytest.mark.parametrize("make", [gram_of, lambda k, X: PrecomputedGram(k(X))])
def test_centred_a_conditional_kernel_has_components(solver, make, points):
    X = points(121, non_negative=True)
    gram = make(AdditiveChi2(), X)
    C = centring(121)
    found = found_by(solver, gram, 4, True)
    assert_allclose(found.values, np.linalg.eigvalsh(C @ gram.dense() @ C)[:-5:-1], rtol=1e-7)
    scores = gram.dense() @ found.dense_coefficients - found.offset
    assert_allclose(scores, found.scores, atol=1e-8)


def test_a_negative_eigenvalue_among_few_is_refused():
    K = np.diag([1.0, 1.0, -1.0, -1.0, -2.0])
    with pytest.raises(IndefiniteKernelError):
        found_by(IterativeComponents(random_state=0), PrecomputedGram(K), 3, False)


def test_an_indefinite_matrix_is_refused_with_a_witness(points):
    gram = gram_of(Sigmoid(1.0, -2.0), points(30))
    with pytest.raises(IndefiniteKernelError) as caught:
        found_by(DenseComponents(), gram, None, False)
    c = caught.value.witness.coefficients
    assert c @ gram.dense() @ c < 0.0


def test_a_matrix_beyond_the_memory_is_refused(points):
    with pytest.raises(MemoryLimitError):
        found_by(DenseComponents(), gram_of(Gaussian(), points(100), 100_000), None, True)
    with pytest.raises(MemoryLimitError):
        found_by(PivotedComponents(100), gram_of(Gaussian(), points(100), 100_000), None, True)


def test_entries_that_are_not_finite_are_refused(points):
    gram = gram_of(Linear(), 1e200 * points(5))
    for solver in (DenseComponents(), IterativeComponents()):
        with pytest.raises(ValueError, match="not finite"):
            found_by(solver, gram, 2, False)


@pytest.mark.parametrize("most", [None, 40])
def test_iterations_do_not_find_all(most, points):
    with pytest.raises(ValueError, match="finds fewer components than there are rows"):
        found_by(IterativeComponents(), gram_of(Gaussian(), points(40)), most, True)


def test_iterations_that_do_not_end_say_so(points):
    gram = gram_of(Gaussian(0.3), points(300))
    with pytest.raises(ValueError, match=r"of 5 components converged within max_iter=1"):
        found_by(IterativeComponents(max_iter=1, random_state=0), gram, 5, True)


@pytest.mark.parametrize(
    ("n", "most", "landmarks", "kind"),
    [
        (100, 3, None, DenseComponents),
        (300, 3, None, IterativeComponents),
        (300, 30, None, DenseComponents),
        (300, None, None, DenseComponents),
        (300, 3, 50, PivotedComponents),
    ],
)
def test_the_sizes_choose_the_solver(n, most, landmarks, kind):
    gram = PrecomputedGram(np.eye(n))
    assert isinstance(component_solver("auto", gram, most, landmarks, 0.0, None, 0), kind)


def test_unknown_solvers_are_refused():
    gram = PrecomputedGram(np.eye(3))
    with pytest.raises(ValueError, match="'dense', 'iterative' or 'pivots', got 'svd'"):
        component_solver("svd", gram, None, None, 0.0, None, 0)
    with pytest.raises(ValueError, match="needs n_landmarks"):
        component_solver("pivots", gram, None, None, 0.0, None, 0)
