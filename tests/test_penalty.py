import math
from fractions import Fraction

import numpy as np
import pytest

from mercer import penalty

FORMS = ["sum", "mean", "half"]


def objective(form, lam, losses, norm):
    """The problem as the literature writes it, for given losses and squared norm."""
    return {
        "sum": sum(losses) + lam * norm,
        "mean": sum(losses) / len(losses) + lam * norm,
        "half": sum(losses) / 2 + lam / 2 * norm,
    }[form]


@pytest.mark.parametrize("form", FORMS)
def test_alpha_gives_a_multiple_of_the_same_objective(form):
    ratios = [
        objective(form, 0.3, losses, norm) / (sum(losses) + penalty.alpha(0.3, form, n=3) * norm)
        for losses, norm in [([1.0, 2.0, 4.0], 0.5), ([0.1, 0.0, 9.0], 7.0)]
    ]
    assert ratios[0] == pytest.approx(ratios[1], rel=1e-14)


@pytest.mark.parametrize("form", FORMS)
def test_C_gives_a_multiple_of_the_same_objective(form):
    ratios = [
        objective(form, 0.3, losses, norm) / (penalty.C(0.3, form, n=3) * sum(losses) + norm / 2)
        for losses, norm in [([1.0, 2.0, 4.0], 0.5), ([0.1, 0.0, 9.0], 7.0)]
    ]
    assert ratios[0] == pytest.approx(ratios[1], rel=1e-14)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("value", [1e-9, 0.7, 3e5])
def test_lam_undoes_alpha_and_C(form, value):
    n = 120
    there = penalty.alpha(value, form, n=n)
    assert penalty.lam(alpha=there, form=form, n=n) == pytest.approx(value, rel=1e-15)
    there = penalty.C(value, form, n=n)
    assert penalty.lam(C=there, form=form, n=n) == pytest.approx(value, rel=1e-15)


@pytest.mark.parametrize("form", FORMS)
def test_C_is_half_the_inverse_of_alpha(form):
    assert penalty.C(0.3, form, n=7) == pytest.approx(0.5 / penalty.alpha(0.3, form, n=7))


def test_the_table_of_the_design_holds():
    assert penalty.alpha(0.5, "sum") == 0.5
    assert penalty.alpha(0.5, "mean", n=10) == 5.0
    assert penalty.alpha(0.5, "half") == 0.5
    assert penalty.C(0.5, "sum") == 1.0
    assert penalty.C(0.5, "mean", n=10) == 0.1


def test_no_penalty_is_a_ridge_of_zero():
    assert penalty.alpha(0.0, "mean", n=5) == 0.0
    assert penalty.lam(alpha=0.0, form="mean", n=5) == 0.0


@pytest.mark.parametrize("number", [1, np.float32(1.0), np.int64(1), Fraction(1, 1)])
def test_any_real_number_is_taken(number):
    result = penalty.alpha(number, "mean", n=np.int32(4))
    assert type(result) is float
    assert result == 4.0


@pytest.mark.parametrize("bad", [-1.0, math.nan, math.inf])
def test_alpha_refuses_what_is_no_penalty(bad):
    with pytest.raises(ValueError, match=f"lam must be finite and at least 0; got {bad!r}"):
        penalty.alpha(bad, "sum")


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf])
def test_C_refuses_what_has_no_inverse(bad):
    with pytest.raises(ValueError, match="lam must be finite and above 0"):
        penalty.C(bad, "sum")
    with pytest.raises(ValueError, match="C must be finite and above 0"):
        penalty.lam(C=bad, form="sum")


@pytest.mark.parametrize("bad", [True, "1", None, 1j, [1.0]])
def test_what_is_no_number_is_a_type_error(bad):
    with pytest.raises(TypeError, match="lam must be a number"):
        penalty.alpha(bad, "sum")


def test_an_overflow_is_refused():
    with pytest.raises(ValueError, match="overflows"):
        penalty.C(1e-320, "sum")
    with pytest.raises(ValueError, match="overflows"):
        penalty.alpha(1e308, "mean", n=100)


def test_an_unknown_form_is_refused_by_name():
    with pytest.raises(ValueError, match="'sum', 'mean' or 'half'; got 'average'"):
        penalty.alpha(1.0, "average")


def test_the_mean_asks_for_the_number_of_rows():
    for convert in (penalty.alpha, penalty.C):
        with pytest.raises(ValueError, match="pass it as n"):
            convert(1.0, "mean")
    with pytest.raises(ValueError, match="pass it as n"):
        penalty.lam(alpha=1.0, form="mean")


@pytest.mark.parametrize("bad", [0, -3, 2.0, True, "10"])
def test_the_number_of_rows_is_a_positive_integer(bad):
    with pytest.raises(ValueError, match="n is the number of training rows"):
        penalty.alpha(1.0, "mean", n=bad)


def test_lam_takes_exactly_one_of_alpha_and_C():
    for given in ({}, {"alpha": 1.0, "C": 1.0}):
        with pytest.raises(ValueError, match="exactly one of alpha and C"):
            penalty.lam(form="sum", **given)
