"""Where fits come from: what structure takes in memory, and when it pays."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer.gram import gram_of
from mercer.kernels import AdditiveChi2, FromFunction, Gaussian, Laplacian, Linear, Precomputed
from mercer.planning import Settings
from mercer.planning.entries import FEATURE_BYTES
from mercer.planning.held_out import (
    LandmarkErrors,
    chain_held_out,
    entries_held_out,
    features_held_out,
    landmarks_held_out,
)
from mercer.planning.landmarks import landmark_count
from mercer.selection import sources as module
from mercer.selection.sources import (
    Chain,
    Entries,
    EntrySource,
    Features,
    FeatureSource,
    Landmarks,
    LandmarkSource,
    _chain_bytes,
    entry_bytes,
    structured_source,
)
from mercer.selection.splits import Splits
from mercer.solvers.line.path import ChainFits

N = 40
MEMORY = 1 << 30


def halves(n):
    first = np.arange(n) < n // 4
    return Splits(
        n, [(np.flatnonzero(first != side), np.flatnonzero(first == side)) for side in (0, 1)]
    )


def test_entries_take_eight_bytes_and_a_second_matrix_beside_them_where_rows_are_held_out():
    assert entry_bytes(N, None) == 8 * N * N
    assert entry_bytes(N, Splits(N)) == 16 * N * N


def test_a_chain_takes_arrays_of_its_rows_and_functions_of_one_fold():
    rows = 8 * N * (10 + 4 * 3)
    assert _chain_bytes((N, 3), None, 5) == _chain_bytes((N, 3), Splits(N), 5) == rows
    fold = 8 * 2 * 3 * (ChainFits.together * N + 5 * 30)
    assert _chain_bytes((N, 3), halves(N), 5) == rows + fold


def test_the_identity_is_used_where_it_costs_no_more_than_a_path_for_each_fold(rng):
    entries, features = Entries(np.eye(N)), Features(rng.normal(size=(N, 3)), MEMORY)
    for alphas in (1, 100):
        for held, work in (
            (entries, entries_held_out(N, halves(N), alphas)),
            (features, features_held_out((N, 3), halves(N), alphas)),
        ):
            assert held.by_identity(halves(N), alphas) is (work[0] <= work[1])
    # What decides differs with the number of ridges, so that one of the two was each.
    assert entries.by_identity(Splits(N, [(np.arange(1, N), np.arange(1))]), 1)
    assert not entries.by_identity(halves(N), 100)


def test_parts_hold_what_belongs_to_their_rows(rng):
    train, test = np.array([0, 2, 5]), np.array([1, 3])
    K = rng.normal(size=(6, 6))
    part, others = Entries(K).split(train, test)
    assert_array_equal(part.K, K[train][:, train])
    assert_array_equal(others, K[test][:, train])
    part, others = Features(K, 123).split(train, test)
    assert_array_equal(part.F, K[train])
    assert_array_equal(others, K[test])
    assert part.memory == 123


def test_few_features_are_taken_with_the_work_of_the_cheaper_way(rng):
    X, y = rng.normal(size=(N, 2)), rng.normal(size=(N, 1))
    source = structured_source(Linear(), X, y, halves(N), 9, MEMORY)
    assert isinstance(source, FeatureSource)
    assert source.work == min(features_held_out((N, 2), halves(N), 9))
    assert source.bytes == FEATURE_BYTES * N * 2


@pytest.mark.parametrize(("n", "is_chain"), [(40, False), (200, True)])
def test_a_line_is_a_chain_where_that_costs_less_than_all_entries(rng, n, is_chain):
    X, y = rng.normal(size=(n, 1)), rng.normal(size=(n, 1))
    assert (chain_held_out((n, 1), None, 3) <= min(entries_held_out(n, None, 3))) is is_chain
    source = structured_source(Laplacian(1.0), X, y, None, 3, MEMORY)
    assert isinstance(source, Chain) is is_chain


def test_a_line_is_a_chain_where_its_entries_do_not_fit_into_memory(rng):
    X, y = rng.normal(size=(N, 1)), rng.normal(size=(N, 1))
    enough = entry_bytes(N, None)
    assert structured_source(Laplacian(1.0), X, y, None, 3, enough) is None
    source = structured_source(Laplacian(1.0), X, y, None, 3, enough - 1)
    assert isinstance(source, Chain)
    assert source.work == chain_held_out((N, 1), None, 3)
    assert source.bytes == _chain_bytes((N, 1), None, 3)


def test_a_kernel_without_structure_has_no_structured_source(rng):
    X, y = rng.normal(size=(N, 3)), rng.normal(size=(N, 1))
    assert structured_source(Gaussian(1.0), X, y, None, 3, 1) is None
    assert structured_source(Precomputed(), X @ X.T, y, None, 3, 1) is None


@pytest.mark.parametrize(
    ("kernel", "is_looked_at"),
    [
        (Gaussian(1.0), False),
        (AdditiveChi2(), False),
        (FromFunction(lambda A, B: A @ B.T), True),
    ],
    ids=["proved", "conditional", "unproved"],
)
def test_entries_are_looked_at_where_nothing_proves_them_definite(
    rng, monkeypatch, kernel, is_looked_at
):
    seen = []
    monkeypatch.setattr(module, "refuse_indefinite_kernel", lambda *given: seen.append(given))
    X = np.abs(rng.normal(size=(N, 3)))
    held = EntrySource(kernel, X, gram_of(kernel, X), 8 * N * N).held()
    assert_allclose(held.K, kernel(X))
    assert bool(seen) is is_looked_at


@pytest.mark.parametrize(("given", "taken"), [(7, 7), (99, N), (None, None)])
def test_a_source_by_landmarks_has_no_more_of_them_than_rows(rng, given, taken):
    X, settings = rng.normal(size=(N, 2)), Settings("nystrom", n_landmarks=given, memory=MEMORY)
    errors = LandmarkErrors(N, 3, 5, halves(N), False)
    found = LandmarkSource.of(Gaussian(1.0), X, settings, errors)
    assert found.settings.n_landmarks == taken
    m = landmark_count(found.settings, N)
    assert found.work == errors.work(m) == landmarks_held_out((N, m), halves(N), 5)
    assert found.bytes == errors.bytes(m, MEMORY)
    assert found.at_once == 5


def test_landmarks_that_were_given_are_taken_as_they_are(rng):
    X = rng.normal(size=(N, 2))
    settings = Settings("nystrom", n_landmarks=99, landmarks=X[:4], memory=MEMORY)
    found = LandmarkSource.of(Gaussian(1.0), X, settings, LandmarkErrors(N, 3, 5, None, False))
    assert found.settings is settings


def test_folds_of_landmarks_and_chains_come_from_one_path_where_pairs_are_complements(rng):
    some = Splits(N, [(np.arange(3), np.array([5]))])
    for held in (Landmarks(None), Chain(None, 0, 0.0)):
        assert held.by_identity(halves(N), 3)
        assert not held.by_identity(some, 3)
