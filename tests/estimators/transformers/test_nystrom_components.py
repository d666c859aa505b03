"""Components by landmarks."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from mercer import Gaussian, KernelPCA, MercerMap, Spectrum

random = np.random.default_rng(0)
X = random.normal(size=(80, 3))


@pytest.mark.parametrize("kind", [KernelPCA, MercerMap])
@pytest.mark.parametrize("landmarks", ["rpcholesky", "uniform", X])
def test_all_rows_as_landmarks_have_the_exact_components(kind, landmarks):
    exact = kind(Gaussian(0.7), 5, solver="dense").fit(X)
    m = 80 if isinstance(landmarks, str) else None
    found = kind(Gaussian(0.7), 5, solver="nystrom", n_landmarks=m, landmarks=landmarks).fit(X)
    new = random.normal(size=(7, 3))
    assert_allclose(found.eigenvalues_, exact.eigenvalues_, rtol=1e-8)
    assert_allclose(found.transform(new), exact.transform(new), atol=1e-8)
    assert_allclose(found.fit_transform(X), exact.fit_transform(X), atol=1e-8)


@pytest.mark.parametrize("kind", [KernelPCA, MercerMap])
@pytest.mark.parametrize("landmarks", ["uniform", "kmeans", X[:20] + 0.01])
def test_the_components_are_those_of_the_features_of_landmarks(kind, landmarks):
    m = 20 if isinstance(landmarks, str) else None
    model = kind(Gaussian(1.5), 4, n_landmarks=m, landmarks=landmarks).fit(X)
    Z = model.X_fit_
    assert len(Z) == 20
    K = Gaussian(1.5)
    approximate = K(X, Z) @ np.linalg.solve(K(Z), K(Z, X))
    if kind is KernelPCA:
        approximate -= approximate.mean(axis=0)
        approximate -= approximate.mean(axis=1)[:, None]
    s = np.linalg.eigvalsh(approximate)[::-1][:4]
    assert_allclose(model.eigenvalues_ * (1 if kind is KernelPCA else 80), s, rtol=1e-6)
    assert_allclose(model.transform(X), model.fit_transform(X), atol=1e-8)


def test_landmarks_by_default_are_ten_times_the_root_of_the_rows():
    many = random.normal(size=(400, 2))
    model = KernelPCA(Gaussian(0.3), 2, solver="nystrom").fit(many)
    assert len(model.X_fit_) == 200


def test_tables_and_texts_have_landmarks():
    table = pd.DataFrame(X, columns=["u", "v", "w"])
    model = KernelPCA("auto", 2, landmarks=table[:30]).fit(table)
    assert model.transform(table).shape == (80, 2)
    texts = ["ab" * (i % 3 + 1) + "ca" * (i % 2) for i in range(30)]
    by_texts = KernelPCA(Spectrum(2), 2, landmarks="uniform", n_landmarks=20).fit(texts)
    assert by_texts.transform(texts).shape == (30, 2)


@pytest.mark.parametrize("rule", ["uniform", "rpcholesky"])
def test_more_landmarks_than_rows_are_refused(rule):
    with pytest.raises(ValueError, match="from 1 to the number of rows, 80"):
        KernelPCA(Gaussian(1.5), 2, landmarks=rule, n_landmarks=81).fit(X)


@pytest.mark.parametrize("kind", [KernelPCA, MercerMap])
@pytest.mark.parametrize("landmarks", ["rpcholesky", "uniform", X[:20]])
def test_what_landmarks_leave_of_the_kernel_is_told(kind, landmarks):
    m = 20 if isinstance(landmarks, str) else None
    model = kind(Gaussian(1.5), 4, solver="nystrom", n_landmarks=m, landmarks=landmarks).fit(X)
    Z, k = model.X_fit_, Gaussian(1.5)
    kept = np.einsum("ij,ji->i", k(X, Z), np.linalg.solve(k(Z), k(Z, X)))
    assert_allclose(model.approximation_.value, 1.0 - kept.mean(), atol=1e-6)
    assert model.approximation_.n_landmarks == 20
    assert kind(Gaussian(1.5), 4, solver="dense").fit(X).approximation_ is None
