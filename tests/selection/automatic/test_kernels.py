"""The kernels that an automatic machine starts from."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from mercer import Constant, Gaussian, Laplacian, Linear, Matern32
from mercer.kernels import Match, Standardize, Sum
from mercer.selection.automatic import kernels as module
from mercer.selection.automatic.kernels import (
    Start,
    at_widths,
    in_family,
    reader_of_rows,
    starts,
)

FAMILIES = ["matern32", "laplacian", "gaussian", "exponential"]


def rows(d, n=40):
    return np.random.default_rng(0).normal(size=(n, d))


def table(categories, n=40):
    rng = np.random.default_rng(0)
    cells = {f"c{i}": rng.choice(["a", "b", "c"], n) for i in range(categories)}
    return pd.DataFrame({"x": rng.normal(size=n), **cells})


def test_every_family_is_tried_on_numbers_and_ranks_learned_and_as_it_is():
    found = starts(rows(3))
    of_ranks = [*FAMILIES, *(f"{name} of ranks" for name in FAMILIES)]
    learned = [f"{name}, learned" for name in of_ranks]
    assert [s.name for s in found] == [*learned, "additive, learned", *of_ranks]
    assert [s.is_learned for s in found] == [True] * 9 + [False] * 8
    assert [s.leads for s in found] == [True, True] + [False] * 15
    assert [s.is_scored for s in found] == [False] * 4 + [True] * 4 + [False] * 5 + [True] * 4
    assert [("normal_scores" in str(s.kernel)) for s in found] == [s.is_scored for s in found]
    assert starts(rows(3), is_learned=False) == [s for s in found if not s.is_learned]


@pytest.mark.parametrize(("d", "terms"), [(1, 0), (2, 4), (30, 60), (31, 0)])
def test_sums_of_one_column_kernels_are_tried_of_two_to_thirty_columns(d, terms):
    found = [s for s in starts(rows(d)) if s.terms]
    assert [len(s.terms) for s in found] == ([terms] if terms else [])
    for start in found:
        first, second = start.terms[:2]
        scales = [k.get_params()["kernel__kernel__length_scale"] for k in (first, second)]
        assert scales == [0.7, 4.0]
        assert start.kernel.terms == start.terms
        assert not start.leads


def test_a_category_has_a_term_of_its_own_in_a_sum_of_columns():
    (additive,) = [s for s in starts(table(2)) if s.terms]
    assert len(additive.terms) == 2 + 2
    assert sum("match" in str(term) for term in additive.terms) == 2


def test_scales_are_learned_of_however_many_columns():
    assert sum(s.is_learned for s in starts(rows(2000, 5))) == 8


@pytest.mark.parametrize(
    ("categories", "factors", "power"), [(1, 1, None), (12, 12, None), (13, 1, 13), (17, 1, 16)]
)
def test_up_to_twelve_categories_have_a_factor_each_and_more_a_power(categories, factors, power):
    text = str(starts(table(categories))[0].kernel)
    assert text.count("match(") == factors
    assert text.count("+ constant(value=1.0)") == factors
    assert (f"** {power}" in text) is (power is not None)
    assert ("**" in text) is (power is not None)


def test_a_factor_of_one_category_is_one_where_values_differ_and_two_where_they_agree():
    X = pd.DataFrame({"x": [1.0, 1.0, 2.0], "c": ["a", "b", "a"]})
    k = starts(X)[0].kernel.resolved(X)
    K = k(X)
    assert K[0, 0] == pytest.approx(2.0)
    assert K[0, 1] == pytest.approx(1.0)


def test_texts_keep_their_terms_beside_the_numbers():
    words = np.random.default_rng(0).choice(["one", "two", "three", "four", "five"], (40, 8))
    first = starts(table(0).assign(note=[" ".join(row) for row in words]))[0].kernel
    # The numbers, and what the default kernel makes of the text.
    assert isinstance(first, Sum)
    assert len(first.terms) == 2
    assert ".on(x)" in str(first.terms[0])
    assert "note" in str(first.terms[1])


def test_a_table_names_the_columns_that_are_read_and_an_array_reads_all():
    assert str(starts(table(0))[0].kernel).endswith(".on(x)")
    assert ".on(" not in str(starts(rows(2))[0].kernel)


def test_without_numbers_the_default_kernel_is_taken_and_learned():
    found = starts(table(1)[["c0"]])
    assert [(s.name, s.is_learned) for s in found] == [
        ("default", False),
        ("default, learned", True),
    ]
    assert found[1].leads
    assert [s.name for s in starts(sp.random(20, 5, 0.5, format="csr"))] == ["default"]


def test_several_categories_without_numbers_make_a_product_and_a_sum():
    X = table(3)[["c0", "c1", "c2"]]
    product, learned, _, _, additive = starts(X)
    assert (product.name, product.is_learned) == ("product", False)
    assert (learned.name, learned.is_learned, learned.leads) == ("product, learned", True, True)
    assert str(product.kernel).count("match(") == 3
    assert product.kernel(X[:1])[0, 0] == pytest.approx(8.0)
    assert len(additive.terms) == 3


def test_text_beside_categories_keeps_its_term():
    words = np.random.default_rng(0).choice(["one", "two", "three", "four", "five"], (40, 8))
    X = table(2).drop(columns="x").assign(note=[" ".join(row) for row in words])
    product = starts(X)[0].kernel
    assert isinstance(product, Sum)
    assert [("note" in str(term)) for term in product.terms] == [False, True]
    assert str(product).count("match(") == 2


def test_columns_that_say_nothing_leave_the_mean():
    (only,) = starts(np.ones((20, 2)))
    assert (only.name, only.kernel, only.is_learned) == ("constant", Constant(1.0), False)
    assert reader_of_rows(np.ones((20, 2))) == Constant(1.0)
    assert reader_of_rows(rows(2)) != Constant(1.0)


def test_a_refusal_of_rows_is_not_taken_for_columns_that_say_nothing(monkeypatch):
    def refuse(name, X):
        raise ValueError("something else")

    monkeypatch.setattr(module, "kernel_for", refuse)
    with pytest.raises(ValueError, match="something else"):
        reader_of_rows(rows(2))


@pytest.mark.parametrize(
    ("learned", "family", "scales"),
    [
        # The mean of |x - z| of normal numbers is 2 / sqrt(pi), and that of its square 2.
        (Matern32((1.0, 1.0)), Laplacian, 2.0 / np.sqrt(np.pi)),
        (Laplacian((1.0, 1.0)), Gaussian, np.sqrt(np.pi) / 2.0),
        (Matern32((1.0, 1.0)), Gaussian, 1.0),
        (Laplacian((1.0, 1.0)), Laplacian, 1.0),
        # One column that counts has the same distance by either: never shorter.
        (Matern32((1.0, 1e9)), Laplacian, 1.0),
    ],
)
def test_scales_of_another_family_keep_distances_as_long(learned, family, scales):
    found = in_family(learned, Start("", learned, True, family))
    assert isinstance(found, family)
    np.testing.assert_allclose(found.length_scale, scales * np.array(learned.length_scale))


def test_one_scale_stays_one_and_parts_of_a_kernel_are_changed_where_they_are():
    start = Start("", Linear(), True, Gaussian)
    assert in_family(Matern32(3.0), start) == Gaussian(3.0)
    assert in_family(Linear(), start) == Linear()
    mixed = Matern32(3.0).after(Standardize()) * (Match() + 1.0) + 2.0 * Linear()
    expected = Gaussian(3.0).after(Standardize()) * (Match() + 1.0) + 2.0 * Linear()
    assert in_family(mixed, start) == expected


def test_the_first_length_scale_is_tried_at_half_and_one_and_a_half():
    widths = at_widths(Gaussian(2.0) + Matern32(6.0))
    assert widths == [Gaussian(1.0) + Matern32(6.0), Gaussian(3.0) + Matern32(6.0)]
