"""The compiler: equal subexpressions are computed once, and slots are used again."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.kernels import (
    Cosine,
    Exponential,
    FromFeatures,
    FromFunction,
    Gaussian,
    InverseMultiquadric,
    Laplacian,
    Linear,
    Matern32,
    Matern52,
    Polynomial,
    RationalQuadratic,
)
from mercer.tiles import Tile, compile_expression, evaluate
from mercer.tiles.tile import Leaf, Opaque


def leaves(kernel):
    """The number of comparisons of rows that a kernel computes."""
    program = kernel.program
    count = sum(step.operation == "leaf" for step in program.instructions)
    assert count == len(program.inputs)
    return count


def steps(kernel, operation):
    return sum(step.operation == operation for step in kernel.program.instructions)


def test_gaussians_of_any_width_share_one_squared_distance():
    assert leaves(Gaussian(1.0) + Gaussian(2.0) + Gaussian(3.0)) == 1


def test_all_kernels_of_the_distance_share_it():
    assert leaves(Gaussian(1.0) * Exponential(2.0) + Matern32(3.0)) == 1


def test_all_kernels_of_the_inner_product_share_it():
    assert leaves(Linear() + Polynomial(2) * Polynomial(3, 2.0) + Cosine()) == 1


def test_a_polynomial_and_a_gaussian_need_one_comparison_each():
    assert leaves(Gaussian() + Polynomial() + Gaussian(2.0) * Linear()) == 2


def test_kernels_on_other_columns_share_nothing():
    assert leaves(Gaussian().on(0) + Gaussian().on(1)) == 2
    assert leaves(Gaussian().on(0) + Gaussian()) == 2


def test_kernels_on_the_same_columns_share():
    assert leaves(Gaussian().on(0, 1) + Exponential().on(0, 1)) == 1


def test_kernels_on_columns_in_another_order_share_nothing():
    assert leaves(Gaussian().on(0, 1) + Gaussian().on(1, 0)) == 2


def test_different_length_scales_per_column_share_nothing():
    assert leaves(Gaussian((1.0, 2.0)) + Gaussian((1.0, 3.0))) == 2
    assert leaves(Gaussian((1.0, 2.0)) + Exponential((1.0, 2.0))) == 1


def test_the_sum_of_absolute_differences_is_its_own_comparison():
    assert leaves(Gaussian() + Laplacian()) == 2


def test_a_function_is_called_once_for_the_whole_expression():
    calls = []

    def f(X, Z):
        calls.append(len(X))
        return X @ Z.T

    k = FromFunction(f)
    X, Z = np.ones((3, 2)), np.ones((4, 2))
    (k + k**2 + 3.0 * k * k)(X, Z)
    assert calls == [3]


def test_a_map_of_the_rows_is_computed_once_per_side():
    calls = []

    def phi(X):
        calls.append(len(X))
        return X**2

    (FromFeatures(phi) + Gaussian().after(phi))(np.ones((3, 2)), np.ones((4, 2)))
    assert sorted(calls) == [3, 4]


def test_the_same_exponential_is_taken_once():
    k = Gaussian()
    assert steps(k + k * Linear() + k**2, "map") == 1


def test_scaling_and_shifting_cost_no_step():
    assert len(Gaussian(2.0).program.instructions) == 2
    assert len((3.0 * Linear(2.0) + 1.0).program.instructions) == 2


def test_a_function_that_is_only_added_is_added_where_it_is_computed():
    k = Gaussian() + 0.5 * Polynomial(2) + Exponential()
    assert (steps(k, "map_add"), steps(k, "add")) == (2, 0)


def test_a_function_that_is_read_again_is_computed_by_itself():
    k = Gaussian()
    assert (steps(k + k * Linear(), "map"), steps(k + k * Linear(), "map_add")) == (1, 0)


def test_powers_are_taken_by_squaring():
    assert steps(Linear() ** 16, "multiply") == 4
    assert steps(Linear() ** 5, "multiply") == 3


def test_slots_are_used_again():
    chain = Linear()
    for _ in range(20):
        chain = (chain + 1.0).exp()
    assert len(chain.program.instructions) > 20
    assert chain.program.n_slots == 1


def test_a_long_sum_needs_few_slots():
    total = sum((Gaussian(float(s)) for s in range(2, 40)), Gaussian(1.0))
    assert leaves(total) == 1
    assert total.program.n_slots <= 3


def test_no_slot_is_overwritten_before_it_was_read(rng):
    X = rng.normal(size=(6, 3))
    a, b, c = Gaussian(1.5), Polynomial(2), Exponential(0.7)
    k = (a * b + c) * (a + b * c) + (a + b) * (b + c) + a * c
    A, B, C = a(X), b(X), c(X)
    expected = (A * B + C) * (A + B * C) + (A + B) * (B + C) + A * C
    assert_allclose(k(X), expected, rtol=1e-12)


def test_slots_are_numbered_from_zero():
    program = (Gaussian() + Polynomial() * Laplacian()).program
    assert {step.target for step in program.instructions} == set(range(program.n_slots))


def test_a_kernel_compiles_its_formula_once():
    k = Gaussian(1.25)
    assert k.program is k.program
    assert k.program == Gaussian(1.25).program


def test_a_program_tells_whether_it_is_arithmetic():
    assert Gaussian().program.is_arithmetic
    assert not FromFunction(lambda X, Z: X @ Z.T).program.is_arithmetic


def test_inputs_are_the_leaves_of_the_formula():
    (source,) = Gaussian().program.inputs
    assert isinstance(source, Leaf)
    assert source.kind == "squared_distance"
    (source,) = FromFunction(lambda X, Z: X @ Z.T).program.inputs
    assert isinstance(source, Opaque)


def test_a_formula_must_be_made_of_tiles():
    with pytest.raises(TypeError, match=r"lower\(\) returned 'x'; build it from the methods"):
        compile_expression("x")


def test_a_power_of_zero_is_refused():
    t = Tile()
    with pytest.raises(ValueError, match="whole number of at least 1, got 0"):
        compile_expression(t.dot() ** 0)


def test_a_constant_formula_needs_no_leaf():
    t = Tile()
    program = compile_expression(2.0 * t.constant(3.0) + 1.0)
    assert program.inputs == ()
    assert evaluate(program, np.ones((2, 1)), np.ones((3, 1))).tolist() == [[7.0] * 3] * 2


def test_a_result_can_be_written_into_a_given_array(rng):
    X = rng.normal(size=(5, 2))
    out = np.empty((5, 5))
    assert evaluate(Gaussian().program, X, out=out) is out
    assert_allclose(out, Gaussian()(X))
    with pytest.raises(ValueError, match=r"out must have shape \(5, 5\) and dtype float64"):
        evaluate(Gaussian().program, X, out=np.empty((4, 5)))


def reaction(kernel):
    """How strongly a kernel reacts to an error of its squared distance."""
    program = kernel.program
    (found,) = [
        s
        for source, s in zip(program.inputs, program.sensitivity, strict=True)
        if source.kind == "squared_distance"
    ]
    return found


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        (Gaussian(2.0), 0.125),
        (Exponential(2.0), 0.25),
        (Matern32(2.0), 0.75),
        (Matern52(2.0), 1.25),
        (Gaussian(2.0) + Exponential(4.0), 0.125),
        (3.0 * Matern52(1.0) + Gaussian(2.0) + 1.0, 5.0),
        (Gaussian(1.0) + 0.5 * Polynomial(2) + Exponential(1.0), 1.0),
        (Gaussian(2.0) * Linear(), 0.125),
        (Gaussian(2.0).normalized(), 0.125),
        (RationalQuadratic(1.0, 1.0), 0.5),
    ],
    ids=str,
)
def test_plain_kernels_react_to_the_distance_in_units_of_their_length_scale(kernel, expected):
    assert reaction(kernel) == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        (RationalQuadratic(1.0, 100.0), 0.5),
        (InverseMultiquadric(0.25), 2.0),
        (Gaussian(1.0) ** 20, 10.0),
        (Gaussian(1.0) * Gaussian(0.5), 2.5),
        ((80.0 * Gaussian(1.0)).exp(), 40.0),
        (Exponential(1.0) ** 3, 9.0),
        ((2.0 * Gaussian(1.0).exp()).exp(), np.e),
    ],
    ids=str,
)
def test_what_later_steps_amplify_counts(kernel, expected):
    assert reaction(kernel) == pytest.approx(expected, rel=1e-14)


def test_the_root_of_an_exponential_reacts_half_as_much_whatever_its_size():
    t = Tile()
    for size in (1e-6, 1.0, 1e6):
        root = t.sqrt(size * t.exp(-3.0 * t.squared_distance()))
        assert compile_expression(root).sensitivity == (1.5,)


def test_a_reaction_without_a_bound_is_infinite():
    assert reaction((Gaussian() * Linear()).exp()) == np.inf
    t = Tile()
    assert compile_expression(t.log1p(-1.0 * t.squared_distance())).sensitivity == (np.inf,)
    assert compile_expression(t.reciprocal(t.squared_distance())).sensitivity == (np.inf,)
    assert compile_expression(t.sqrt(t.sqrt(t.squared_distance()))).sensitivity == (np.inf,)


def test_a_distance_that_the_result_does_not_need_has_no_reaction():
    t = Tile()
    program = compile_expression(t.polynomial(t.squared_distance(), (1.0, 0.0)))
    assert program.sensitivity == (0.0,)


def test_the_tangent_and_the_logarithm_react_no_stronger_than_what_they_are_taken_of():
    t = Tile()
    for f in (t.tanh, t.log1p):
        e = t.exp(-1.0 * f(0.25 * t.squared_distance()))
        assert compile_expression(e).sensitivity == (0.25,)


def test_each_of_many_inputs_has_the_reaction_of_its_own_term():
    total = sum((Gaussian(1.0 + j).on(j) for j in range(400)), Linear().on(0))
    reactions = [s for s in total.program.sensitivity if s]
    assert reactions == pytest.approx([0.5 / (1.0 + j) ** 2 for j in range(400)])
