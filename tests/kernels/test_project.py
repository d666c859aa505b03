"""The linear map of rows as a part of kernels."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import mercer
from mercer.kernels import Gaussian, Linear, Project, Standardize

R = ((1.0, -1.0, 0.5), (0.0, 2.0, 1.0))


def test_distances_are_those_of_the_metric(points):
    X, M = points(5), np.array(R).T @ np.array(R)
    difference = X[:, None] - X[None]
    squared = np.einsum("ijk,kl,ijl->ij", difference, M, difference)
    assert_allclose(Gaussian(2.0).after(Project(R))(X), np.exp(-squared / 8.0))


def test_it_is_printed_and_read(points):
    kernel = 0.5 * Gaussian(2.0).after(Project(R)).after(Standardize()).on(0, 1, 2) + Linear()
    assert mercer.kernel(str(kernel)) == kernel


def test_a_kernel_after_it_is_proved():
    assert Gaussian(2.0).after(Project(R)).check().status == "PROVED"


def test_rows_of_other_columns_are_refused(points):
    with pytest.raises(ValueError, match="R has 3 columns but the rows have 2; they must agree"):
        Gaussian().after(Project(R))(points(4, 2))


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_an_array_is_taken_for_its_rows(dtype):
    found = Project(np.array([[1, -1], [0, 2]], dtype))
    assert found == Project([[1.0, -1.0], [0.0, 2.0]])
    assert {type(v) for row in found.R for v in row} == {float}


@pytest.mark.parametrize(
    "matrix",
    [(), ((1.0, 2.0), (3.0,)), ((),), np.array(1.0), np.ones(2), np.ones((2, 2, 2)), np.eye(2) > 0],
)
def test_what_is_no_matrix_is_refused(matrix):
    with pytest.raises(ValueError, match="Project: R"):
        Project(matrix)


def test_a_model_with_it_is_kept_and_loaded(points, rng, tmp_path):
    X, y = points(12), rng.normal(size=12)
    model = mercer.KernelRidge(Gaussian(2.0).after(Project(R)), alpha=0.1).fit(X, y)
    mercer.save(model, tmp_path / "model.mercer")
    assert_allclose(mercer.load(tmp_path / "model.mercer").predict(X), model.predict(X))


def test_the_gradient_passes_through_it(points, rng):
    X, y, step = points(12), rng.normal(size=12), 1e-6
    model = mercer.KernelRidge(Gaussian(2.0).after(Project(R)), alpha=0.1).fit(X, y)
    moves = step * np.eye(3)
    expected = [(model.predict(X + m) - model.predict(X - m)) / (2.0 * step) for m in moves]
    assert_allclose(model.gradient(X), np.transpose(expected), atol=1e-7)
