"""The sets of points on which a kernel is tried: what they demand, and the shapes they have."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from mercer.kernels import Chi2, FromFeatures, FromFunction, Gaussian, Linear, Precomputed
from mercer.kernels.validity import designs as module
from mercer.kernels.validity.designs import Demands, demands_of, designs


def first(kernel, demands, widths=(2,), trials=8, seed=0):
    return list(designs(kernel, demands, widths, trials, np.random.default_rng(seed)))


@pytest.mark.parametrize(
    ("kernel", "demands"),
    [
        (Gaussian(1.0), Demands()),
        (Gaussian((1.0, 2.0, 3.0)), Demands(exactly=3)),
        (Chi2(), Demands(non_negative=True)),
        (Linear().on("a", "b") + Gaussian(1.0).on("b", "c"), Demands(names=("a", "b", "c"))),
        (Linear().on(3) * Linear().on(1), Demands(at_least=4)),
        (Linear().on(-3), Demands(at_least=3)),
        (Linear().on(0), Demands(at_least=1)),
        (FromFunction(lambda X, Z: X @ Z.T), Demands(has_functions=True)),
        (FromFeatures(lambda X: X), Demands(has_functions=True)),
        (Precomputed(), Demands(has_functions=True, is_finished=True)),
    ],
    ids=str,
)
def test_a_formula_demands_what_it_reads(kernel, demands):
    assert demands_of(kernel) == demands


def test_made_up_rows_look_like_those_of_the_user():
    demands = Demands(at_least=2)
    assert demands.like(np.array([[1.0, 0.0, 2.0]])) == Demands((), 2, 3, True)
    assert demands.like(np.array([[1.0, -1e-9]])) == Demands((), 2, 2, False)
    assert demands.like(sp.csr_array([[0.0, 5.0]])).non_negative
    assert not demands.like(sp.csr_array([[0.0, -5.0]])).non_negative
    assert demands.like({"a": [1.0], "b": [2.0]}).names == ("a", "b")
    assert Demands(non_negative=True).like(np.array([[-1.0]])).non_negative


def test_named_columns_come_as_a_table_with_names_for_the_rest():
    matrix = np.arange(6.0).reshape(2, 3)
    assert Demands().rows(matrix) is matrix
    table = Demands(names=("a", "b")).rows(matrix)
    assert {name: column.tolist() for name, column in table.items()} == {
        "a": [0.0, 3.0],
        "b": [1.0, 4.0],
        "column 0": [2.0, 5.0],
    }


@pytest.mark.parametrize(
    ("demands", "widths"),
    [
        (Demands(), (1, 2, 3, 5, 8)),
        (Demands(at_least=3), (3, 5, 8)),
        (Demands(names=("a", "b"), at_least=1), (2, 3, 5, 8)),
        (Demands(at_least=9), (9,)),
        (Demands(exactly=7, at_least=2), (7,)),
    ],
)
def test_the_usual_widths_are_tried_that_fit(demands, widths):
    assert demands.widths() == widths


def test_every_shape_is_tried_first_on_eight_rounded_points_of_the_least_width():
    sets = first(Gaussian(1.0), Demands(), widths=(2, 5), trials=8)
    assert len(sets) == 8
    for points in sets:
        assert points.shape[1] == 2
        assert 2 <= len(points) <= 8
        assert_allclose(points, np.round(points, 2))


def test_later_sets_have_other_sizes_and_widths_over_several_orders_of_size():
    sets = first(Gaussian(1.0), Demands(), widths=(2, 5), trials=200)[8:]
    assert {points.shape[1] for points in sets} == {2, 5}
    assert {len(points) for points in sets} >= {1, 2, 3, 5, 8, 16, 32, 64}
    sizes = np.array([np.abs(points).max() for points in sets])
    assert sizes.max() > 1e3
    assert sizes.min() < 1e-2
    assert (np.array([points.min() for points in sets]) < 0.0).mean() > 0.5


def test_a_function_of_a_user_is_asked_for_fewer_digits_and_half_the_time_for_none_below_zero():
    sets = first(FromFunction(lambda X, Z: X @ Z.T), Demands(has_functions=True), trials=400)[8:]
    sizes = np.array([np.median(np.abs(points[points != 0.0])) for points in sets])
    assert 10.0 < sizes.max() < 1e3
    assert 1e-3 < sizes.min() < 0.1
    folded = np.mean([points.min() >= 0.0 for points in sets])
    # A ray and single points are without negative entries by themselves.
    assert 0.5 < folded < 0.8


def test_no_set_has_a_negative_entry_where_none_is_allowed():
    for points in first(Chi2(), Demands(non_negative=True), trials=40):
        assert points.min() >= 0.0


class Suspicious(Linear):
    def suspects(self):
        return [{0: 1.0}, {1: -2.0}, {"b": 3.0}]


def test_suspects_come_first_and_then_the_sums_and_differences_of_two():
    demands = Demands(names=("a", "b"))
    sets = [np.column_stack(list(t.values())) for t in first(Suspicious(), demands)[:2]]
    assert sets[0].tolist() == [[1.0, 0.0], [0.0, -2.0], [0.0, 3.0]]
    sums, differences = sets[1][:3], sets[1][3:]
    assert sums.tolist() == [[1.0, -2.0], [1.0, 3.0], [0.0, 1.0]]
    assert differences.tolist() == [[1.0, 2.0], [1.0, -3.0], [0.0, -5.0]]
    folded = first(Suspicious(), Demands(names=("a", "b"), non_negative=True))
    assert folded[0]["a"].tolist() == [1.0, 0.0, 0.0]
    assert folded[0]["b"].tolist() == [0.0, 2.0, 3.0]


class Lone(Linear):
    def suspects(self):
        return [{1: 4.0}]


def test_one_suspect_has_no_sums():
    sets = first(Lone(), Demands(), trials=1)
    assert len(sets) == 2
    assert sets[0].tolist() == [[0.0, 4.0]]


@pytest.fixture
def rng():
    return np.random.default_rng(3)


def test_a_line_goes_through_the_origin_evenly_or_not(rng):
    even = 0
    for _ in range(40):
        line = module._line(rng, 9, 3)
        assert np.linalg.matrix_rank(line) == 1
        steps = line @ line[-1] / (line[-1] @ line[-1])
        even += bool(np.allclose(steps, np.linspace(-1.0, 1.0, 9)))
    assert 10 < even < 30


def test_a_ray_goes_from_a_hundredth_to_a_hundred(rng):
    ray = module._ray(rng, 9, 3)
    assert np.linalg.matrix_rank(ray) == 1
    assert (ray > 0.0).all()
    assert_allclose(ray[1:] / ray[:-1], 10.0**0.5)
    assert_allclose(ray[-1] / ray[0], 1e4)
    middle = np.abs(np.random.default_rng(0).standard_normal(1))
    assert_allclose(module._ray(np.random.default_rng(0), 3, 1)[1], middle)


@pytest.mark.parametrize("n", [1, 4, 7])
def test_twins_are_pairs_that_nearly_agree(rng, n):
    for _ in range(20):
        twins = module._twins(rng, n, 3)
        assert twins.shape == (n, 3)
        for i in range(0, n - 1, 2):
            apart = np.abs(twins[i] - twins[i + 1]).max()
            assert 1e-8 < apart < 1.0
            assert i == 0 or np.abs(twins[i] - twins[i - 1]).max() > apart / 10.0


def test_twins_are_apart_by_several_orders_of_size(rng):
    apart = [np.abs(np.diff(module._twins(rng, 2, 3), axis=0)).max() for _ in range(100)]
    assert np.log10(np.max(apart)) > -1.5
    assert np.log10(np.min(apart)) < -5.0


def test_a_simplex_has_its_corners_their_opposites_and_their_sum(rng):
    whole = [[0, 0], [1, 0], [0, 1], [-1, 0], [0, -1], [1, 1]]
    assert module._simplex(rng, 8, 2).tolist() == whole
    assert module._simplex(rng, 6, 2).tolist() == whole
    assert module._simplex(rng, 3, 2).tolist() == whole[:3]
    assert module._simplex(rng, 1, 2).tolist() == whole[:2]


def test_a_lattice_has_distinct_points_of_small_whole_coordinates(rng):
    lattice = module._lattice(rng, 200, 2)
    assert sorted(map(tuple, lattice.tolist())) == sorted(
        (float(i), float(j)) for i in range(-2, 3) for j in range(-2, 3)
    )
    assert lattice.dtype == np.float64


def test_a_box_and_a_cloud_and_a_far_one_have_their_sizes(rng):
    box = module._box(rng, 400, 2)
    assert -1.0 < box.min() < -0.9
    assert 0.9 < box.max() < 1.0
    cloud = module._cloud(rng, 400, 2)
    assert_allclose(cloud.std(), 1.0, atol=0.1)
    centres = np.array([module._far(rng, 50, 2).mean(axis=0) for _ in range(200)])
    assert_allclose(centres.std(), 10.0, rtol=0.1)
    assert_allclose(module._far(rng, 400, 2).std(axis=0), 1.0, atol=0.15)
