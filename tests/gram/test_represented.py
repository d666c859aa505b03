"""How many rows a landmark stands for."""

import numpy as np
from numpy.testing import assert_allclose

from mercer.gram import landmark_gram
from mercer.gram.represented import represented_rows
from mercer.kernels import Gaussian

random = np.random.default_rng(0)


def test_landmarks_far_from_each_other_stand_for_their_copies_by_weight():
    Z = 100.0 * np.eye(4)
    copies = np.array([1, 5, 2, 40])
    X, weights = np.repeat(Z, copies, axis=0), random.uniform(0.5, 2.0, copies.sum())
    gram = landmark_gram(Gaussian(1.0), X, None, Z)
    expected = [part.sum() for part in np.split(weights, np.cumsum(copies)[:-1])]
    assert_allclose(represented_rows(gram, weights, np.float64), expected)


def test_rows_that_are_the_landmarks_count_once_each():
    X = random.normal(size=(30, 3))
    gram = landmark_gram(Gaussian(1.0), X, None, X)
    assert_allclose(represented_rows(gram, np.ones(30), np.float32), 1.0, rtol=1e-5)


def test_squared_entries_of_landmarks_sum_up_to_those_of_rows():
    X = random.normal(size=(2000, 2)) * [1.0, 3.0]
    gram = landmark_gram(Gaussian(0.8), X, 60)
    v, k = represented_rows(gram, np.ones(2000), np.float64), Gaussian(0.8)
    Z = gram.landmarks.rows
    found, wanted = k(Z) ** 2 @ v, (k(Z, X) ** 2).sum(axis=1)
    assert (v > 0.0).all()
    assert np.abs(found / wanted - 1.0).mean() < 0.2
