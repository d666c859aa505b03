"""Components: eigenvectors of Gram matrices, by three solvers."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.errors import IndefiniteKernelError, MemoryLimitError
from mercer.gram import DenseGram, PrecomputedGram, StreamedGram, gram_of
from mercer.kernels import AdditiveChi2, Gaussian, Linear, Sigmoid
from mercer.solvers.spectral.components import (
    DenseComponents,
    IterativeComponents,
    NystromComponents,
    _cleaned,
    _least,
    _signs,
    _used,
    component_solver,
)
from mercer.solvers.spectral.problem import ComponentProblem

SOLVERS = [DenseComponents(), IterativeComponents(random_state=0), NystromComponents(120, 0)]
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


@pytest.mark.parametrize("solver", [DenseComponents(), NystromComponents(3, 0)], ids=str)
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


@pytest.mark.parametrize("solver", [DenseComponents(), NystromComponents(30, 0)], ids=str)
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
        found_by(NystromComponents(100), gram_of(Gaussian(), points(100), 100_000), None, True)


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
        (300, 3, 50, NystromComponents),
    ],
)
def test_the_sizes_choose_the_solver(n, most, landmarks, kind):
    gram = PrecomputedGram(np.eye(n))
    assert isinstance(component_solver("auto", gram, most, landmarks, 0.0, None, 0), kind)


def test_unknown_solvers_are_refused():
    gram = PrecomputedGram(np.eye(3))
    with pytest.raises(ValueError, match="'dense', 'iterative' or 'nystrom', got 'svd'"):
        component_solver("svd", gram, None, None, 0.0, None, 0)
    with pytest.raises(ValueError, match="needs n_landmarks"):
        component_solver("nystrom", gram, None, None, 0.0, None, 0)


@pytest.mark.parametrize(
    ("n", "most", "kind"),
    [
        (200, 3, DenseComponents),
        (201, 3, IterativeComponents),
        (201, 9, IterativeComponents),
        (201, 10, DenseComponents),
    ],
)
def test_few_components_of_many_rows_are_iterated_for(n, most, kind):
    gram = PrecomputedGram(np.eye(n))
    assert isinstance(component_solver("auto", gram, most, None, 0.0, None, 0), kind)


def test_names_and_settings_reach_the_solver():
    gram = PrecomputedGram(np.eye(5))
    assert component_solver("dense", gram, 2, None, 0.0, None, 0) == DenseComponents()
    iterative = component_solver("iterative", gram, 2, None, 1e-3, 7, 11)
    assert iterative == IterativeComponents(1e-3, 7, 11)
    assert component_solver("nystrom", gram, 2, 4, 0.0, None, 11) == NystromComponents(4, 11)
    assert component_solver("nystrom", gram, 2, 9, 0.0, None, 11) == NystromComponents(5, 11)
    assert component_solver(iterative, gram, 2, None, 0.0, None, 0) is iterative


@pytest.mark.parametrize(("share", "is_kept"), [(0.99, False), (1.01, True)])
def test_an_eigenvalue_is_rounding_up_to_a_share_of_the_largest_or_what_entries_explain(
    share, is_kept
):
    eps = np.finfo(float).eps
    s = np.array([2.0, share * 2.0 * 50 * eps])
    assert bool(_cleaned(s, 50, 0.0)[1]) is is_kept
    s = np.array([2.0, share * 1e-3])
    assert bool(_cleaned(s, 50, 1e-3)[1]) is is_kept
    assert _cleaned(s, 50, 1e-3)[0] == 2.0
    assert len(_cleaned(np.empty(0), 50, 1e-3)) == 0


def test_what_entries_explain_is_four_units_of_the_largest_for_every_row():
    gram = PrecomputedGram(np.diag([1.0, -3.0, 2.0]))
    assert _least(gram) == 4.0 * 3 * np.finfo(float).eps * 3.0


def test_components_that_are_not_zero_are_kept_or_as_many_as_asked_for():
    s = np.array([3.0, 1.0, 0.0, 0.0])
    assert _used(s, None) == slice(0, 2)
    assert _used(s, 3) == slice(0, 3)


def test_the_first_of_the_largest_entries_is_positive():
    V = np.array([[1.0, -1.0, 0.5, -0.5], [-2.0, 1.0, -0.5 - 4e-7, -0.5 + 1e-6]])
    # The second of each pair is larger, equal, larger by what is a tie, smaller by more than that.
    assert _signs(V).tolist() == [-1.0, -1.0, 1.0, -1.0]
    assert _signs(-V).tolist() == [1.0, 1.0, -1.0, 1.0]


def test_components_are_padded_with_zeros(points):
    found = found_by(DenseComponents(), DenseGram.of(StreamedGram(Linear(), points(8))), 3, True)
    wider = found.padded(5)
    for name in ("values", "vectors", "coefficients", "offset"):
        assert_allclose(getattr(wider, name)[..., :3], getattr(found, name))
        assert not getattr(wider, name)[..., 3:].any()
        assert getattr(wider, name).shape[-1] == 5


@pytest.mark.parametrize("most", [None, 2])
def test_coefficients_of_centred_components_sum_to_zero(points, most):
    found = found_by(
        DenseComponents(), DenseGram.of(StreamedGram(Gaussian(1.0), points(9))), most, True
    )
    assert_allclose(found.coefficients.sum(axis=0), 0.0, atol=1e-13)
    gram = DenseGram.of(StreamedGram(Gaussian(1.0), points(9)))
    plain = found_by(DenseComponents(), gram, most, False)
    assert not plain.offset.any()
    assert np.abs(plain.coefficients.sum(axis=0)).max() > 0.1


def test_products_with_the_matrix_are_counted(points):
    class Counted(DenseGram):
        count = 0

        def __matmul__(self, V):
            Counted.count += 1
            return super().__matmul__(V)

    gram = Counted(Gaussian(1.0)(points(60)), 1 << 30)
    found = found_by(IterativeComponents(random_state=0), gram, 3, False)
    assert found.iterations == Counted.count > 3
    assert found_by(DenseComponents(), gram, 3, False).iterations == 1


def test_a_matrix_and_two_more_of_its_size_are_what_all_components_take(points):
    X, needed = points(30), 3 * 8 * 30**2
    found_by(DenseComponents(), gram_of(Gaussian(), X, needed), None, True)
    with pytest.raises(MemoryLimitError, match="all components of 30 rows need"):
        found_by(DenseComponents(), gram_of(Gaussian(), X, needed - 1), None, True)
