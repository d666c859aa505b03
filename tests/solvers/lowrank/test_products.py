"""Products with the features of landmarks."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer import Gaussian
from mercer.gram import HeldEntriesGram, HeldLandmarkGram, LandmarkGram, landmark_gram
from mercer.solvers.lowrank.products import FeatureProducts

random = np.random.default_rng(0)
X = random.normal(size=(60, 3))
V, U = random.normal(size=(12, 2)), random.normal(size=(60, 2))


@pytest.mark.parametrize("scale", [1.5, 100.0])
@pytest.mark.parametrize("held", [None, np.float32, np.float64, "entries"])
@pytest.mark.parametrize("is_exact", [True, False])
def test_they_are_those_of_the_features(scale, held, is_exact):
    gram = landmark_gram(Gaussian(scale), X, 12)
    m, F = gram.landmarks.n_features, gram.features()
    assert (gram.landmarks.single_error <= FeatureProducts.even) == (scale == 1.5)
    if held == "entries":
        # Where L^-1 takes too many digits from them these are features all the same.
        gram, held = HeldEntriesGram.of(gram), np.float32
    elif held is not None:
        gram = HeldLandmarkGram.of(gram, held)
    products = FeatureProducts(gram, is_exact)
    off = 1e-5 if held == np.float32 and not is_exact else 1e-9
    assert_allclose(products.forward(V[:m]), F @ V[:m], atol=off)
    assert_allclose(products.back(U), F.T @ U, atol=off)
    scores, sums = products.both(V[:m], lambda rows, S: S * U[rows])
    assert_allclose(scores, F @ V[:m], atol=off)
    assert_allclose(sums, F.T @ (U * (F @ V[:m])), atol=10.0 * off)


def test_stored_features_are_not_computed_again(monkeypatch):
    held = HeldLandmarkGram.of(landmark_gram(Gaussian(1.5), X, 12), np.float64)
    monkeypatch.setattr(LandmarkGram, "cross_blocks", None)
    monkeypatch.setattr(LandmarkGram, "cross_product", None)
    FeatureProducts(held, is_exact=True).forward(V)
