"""How many kernels are tried side by side, and what is shared among them."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer.errors import MemoryLimitError
from mercer.kernels import Gaussian, Linear
from mercer.planning.entries import entry_work
from mercer.planning.held_out import entries_held_out
from mercer.planning.rates import Work
from mercer.selection import search as module
from mercer.selection.scoring import Scores
from mercer.selection.search import Search
from mercer.selection.sources import EntrySource, FeatureSource
from mercer.selection.splits import Splits
from mercer.solvers.run import Run
from mercer.tiles import Rows

N = 30
ALPHAS = np.array([0.1, 1.0])


class Taking:
    """A source that takes so many bytes."""

    def __init__(self, size):
        self.bytes = size


def search_of(rng, memory=1 << 30, splits=None, copies=None):
    X, y = rng.normal(size=(N, 3)), rng.normal(size=(N, 1))
    copies = np.ones(N) if copies is None else copies
    scores = Scores.of(None, False, False, True)
    units = np.ones(1)
    how = (copies.copy(), copies, Linear(), True, splits, scores, memory, Run())
    return Search(Rows(X, "X"), y, units, *how)


def test_as_many_kernels_are_tried_at_once_as_there_is_memory_for(rng, monkeypatch):
    monkeypatch.setattr(module, "thread_count", lambda: 8)
    search = search_of(rng, memory=1000)
    assert search._at_once([Taking(300), Taking(400), Taking(20)]) == 2
    assert search._at_once([Taking(1000)] * 3) == 1
    assert search._at_once([Taking(333)] * 5) == 3


def test_little_memory_is_taken_without_asking_how_much_is_free(rng, monkeypatch):
    monkeypatch.setattr(module, "thread_count", lambda: 8)
    monkeypatch.setattr(module, "memory_limit", lambda memory: 1 << 21)
    search = search_of(rng, memory=None)
    assert search._at_once([Taking(1 << 20)] * 5) == 5
    assert search._at_once([Taking(1 << 21)] * 5) == 1


def test_parts_of_a_search_have_its_limit_whatever_is_free_by_then(rng, monkeypatch):
    free = iter(range(1000, 0, -100))
    monkeypatch.setattr(module, "memory_limit", lambda memory: next(free))
    search = search_of(rng, memory=None)
    part = search.on(np.arange(10))
    assert [part.limit, search.limit, replace(part, seconds=1.0).limit] == [1000] * 3
    assert search_of(rng, memory=None).limit == 900


@pytest.mark.parametrize(("splits", "hint"), [(None, False), (Splits(N), True)])
def test_one_kernel_that_does_not_fit_is_refused_with_the_way_on(rng, splits, hint):
    with pytest.raises(MemoryLimitError, match="choosing on 30 rows needs") as refusal:
        search_of(rng, 1000, splits)._at_once([Taking(1001)])
    assert ("cv='gcv'" in str(refusal.value)) is hint


def test_kernels_with_few_features_need_no_matrix_and_the_others_share(rng):
    sources = search_of(rng)._sources([Linear(), Gaussian(1.0), Gaussian(2.0)], [ALPHAS] * 3)
    assert [type(s) for s in sources] == [FeatureSource, EntrySource, EntrySource]
    assert_allclose(sources[1].gram.dense(), Gaussian(1.0)(sources[1].X))
    assert_allclose(sources[2].gram.dense(), Gaussian(2.0)(sources[2].X))
    assert sources[1].bytes == 8 * N * N
    held = search_of(rng, splits=Splits(N))._sources([Gaussian(1.0)], [ALPHAS])
    assert held[0].bytes == 16 * N * N


def test_a_search_is_quick_where_structure_spares_every_kernel_its_matrix(rng):
    search = search_of(rng)
    work = search._structured(Linear(), ALPHAS).work
    assert search.is_quick([Linear()], [ALPHAS], work)
    assert not search.is_quick([Linear()], [ALPHAS], 0.99 * work)
    assert not search.is_quick([Linear(), Gaussian(1.0)], [ALPHAS] * 2, 1e30)


def test_equal_rows_beyond_themselves_count_in_generalised_cross_validation(rng):
    copies = np.tile([1.0, 3.0], N // 2)
    search = search_of(rng, copies=copies)
    whole = np.repeat(np.arange(N), copies.astype(int))
    n = len(whole)
    repeated = Search(
        Rows(search.X[whole], "X"),
        search.y[whole],
        np.ones(1),
        np.ones(n),
        np.ones(n),
        Linear(),
        True,
        None,
        search.scores,
        1 << 30,
        Run(),
    )
    for kernel in (Linear(), Gaussian(1.0)):
        one, other = (s.scored([kernel], [ALPHAS])[0] for s in (search, repeated))
        assert_allclose(one, other, rtol=1e-6)


def test_a_round_keeps_the_ridges_that_it_was_given(rng):
    search = search_of(rng, splits=Splits(N))
    half = search.round_of([Gaussian(1.0)], [ALPHAS], share=0.5)
    assert_array_equal(half.alphas[0], ALPHAS)
    assert_allclose(half.scores[0], search.scored([Gaussian(1.0)], [0.5 * ALPHAS])[0])
    assert half.n_rows == N
    assert half.folds is None


@pytest.mark.parametrize(
    ("kernels", "threads", "memory", "at_once"),
    [(3, 2, 1 << 30, 2), (1, 4, 1 << 30, 1), (3, 4, 17 * N * N, 2), (3, 9, 1 << 30, 3)],
)
def test_kernels_run_side_by_side_as_threads_and_memory_allow(
    rng, monkeypatch, kernels, threads, memory, at_once
):
    seen = []

    def pooled(run, jobs, count):
        seen.append(count)
        return [run(job) for job in jobs]

    monkeypatch.setattr(module, "in_pool", pooled)
    monkeypatch.setattr(module, "thread_count", lambda: threads)
    search = search_of(rng, memory)
    search.scored([Gaussian(1.0 + k) for k in range(kernels)], [ALPHAS] * kernels)
    assert seen == [at_once]


def test_a_scorer_sees_targets_and_errors_in_the_unit_of_the_user(rng):
    seen = []

    def scorer(model, X, y):
        seen.append((X, y, model.predict(X)))
        return 1.0

    search = replace(
        search_of(rng), units=np.array([8.0]), scores=Scores.of(scorer, False, False, True)
    )
    errors, rows = rng.normal(size=(1, 4, 1)), np.array([3, 5, 7, 11])
    missed = errors.copy()
    search._judged(errors, rows)
    (X, y, predicted), truth = seen[0], 8.0 * search.y[rows, 0]
    assert_array_equal(X, search.X[rows])
    assert_allclose(y, truth)
    assert_allclose(predicted, truth - 8.0 * missed[0, :, 0])


@pytest.mark.parametrize("splits", [None, Splits(N)])
def test_the_seconds_of_a_search_are_those_of_half_the_entries_and_of_the_steps(rng, splits):
    search = search_of(rng, splits=splits)
    kernels, ridges = [Gaussian(1.0), Linear(), Gaussian(2.0)], [ALPHAS, ALPHAS, ALPHAS[:1]]
    whole = Work(double=search._structured(Linear(), ALPHAS).work)
    for kernel, some in ((kernels[0], ALPHAS), (kernels[2], ALPHAS[:1])):
        steps = min(entries_held_out(N, splits, len(some)))
        whole += Work(double=steps) + (N * N / 2.0) * entry_work(kernel, search.X)
    assert_allclose(search.expected(kernels, ridges), whole.expected)
