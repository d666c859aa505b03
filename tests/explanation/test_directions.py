"""Directions that a function changes along."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

import mercer
from mercer import Gaussian, KernelRidge, explain


def test_directions_are_the_eigenvectors_of_the_mean_outer_product_of_gradients(rng):
    X = rng.normal(size=(60, 4))
    model = KernelRidge("gaussian(3.0)", 0.1).fit(X, np.tanh(X @ [1.0, -2.0, 0.0, 0.5]))
    explanation = explain(model)
    G = model.gradient(X) * X.std(axis=0)
    values, vectors = np.linalg.eigh(G.T @ G / len(G))
    top = explanation.directions[0]
    assert top.importance == pytest.approx(values[-1] / values.sum())
    assert abs(explanation.vectors[:, 0] @ vectors[:, -1]) == pytest.approx(1.0)
    assert explanation.vectors[0, 0] > 0.0 > explanation.vectors[1, 0]
    assert top.part.startswith("- 0.8") and "1" in top.part


def test_directions_of_many_columns_take_no_matrix_of_all_pairs_of_columns():
    X = sp.random(30, 1500, density=0.02, format="csr", random_state=0)
    y = np.random.default_rng(0).normal(size=30)
    model = KernelRidge("polynomial(2)", 0.1).fit(X, y)
    tracemalloc.start()
    explanation = explain(model)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * 1500**2 / 2
    G = model.gradient(X) * X.toarray().std(axis=0)
    _, lengths, vectors = np.linalg.svd(G, full_matrices=False)
    shares = lengths[:3] ** 2 / np.sum(lengths**2)
    assert_allclose([row.importance for row in explanation.directions], shares)
    assert_allclose(np.abs(np.sum(explanation.vectors.T * vectors[:3], axis=1)), 1.0)


def test_a_step_does_not_outweigh_the_other_columns_in_a_direction(rng):
    X = rng.uniform(-1.0, 1.0, size=(300, 2))
    model = KernelRidge(Gaussian((0.02, 5.0)), 1e-4).fit(X, 0.1 * np.sign(X[:, 0]) + X[:, 1])
    slopes = np.sqrt(np.mean((model.gradient(X) * X.std(axis=0)) ** 2, axis=0))
    assert slopes[0] > slopes[1]
    vectors = explain(model).vectors
    assert abs(vectors[1, 0]) > abs(vectors[0, 0])


def test_directions_that_unrelated_columns_would_have_are_not_told():
    X = np.random.default_rng(0).normal(size=(400, 6))
    for y, count in (((X**2).sum(axis=1), 0), ((X @ np.ones(6)) ** 2, 1)):
        model = mercer.KernelRidge("polynomial(degree=2)", alpha=1e-3).fit(X, y)
        assert len(mercer.explain(model).directions) == count
