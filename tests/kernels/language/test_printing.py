import re
from dataclasses import dataclass
from html.parser import HTMLParser

import numpy as np
import pytest

from catalogue import ARD, COMPOSITE, SIMPLE
from mercer import KernelRidge
from mercer.errors import KernelSyntaxError
from mercer.kernels import (
    Bilinear,
    Gaussian,
    Kernel,
    Linear,
    Polynomial,
    Sigmoid,
    Spectrum,
    Standardize,
    kernel,
)

g, h = Gaussian(), Linear()


class Outline(HTMLParser):
    """Reads HTML strictly: every tag is closed, and only a few are allowed."""

    allowed = ("div", "style", "ul", "li", "code", "span", "small", "br")

    def __init__(self, page):
        super().__init__()
        self.open, self.seen, self.text = [], [], ""
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        assert tag in self.allowed
        assert all(name == "class" for name, _ in attrs)
        self.seen.append(tag)
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1] != "style":
            self.text += data


@dataclass(frozen=True)
class Plain(Kernel):
    width: float = 1.0

    def lower(self, t):
        return t.dot()


@pytest.mark.parametrize("k", [*SIMPLE, *ARD, *COMPOSITE], ids=str)
def test_the_page_is_well_formed_and_has_an_item_for_every_node(k):
    def nodes(k):
        return 1 + sum(nodes(part) for part in k.parts)

    assert Outline(k._repr_html_()).seen.count("li") == nodes(k)


def test_the_page_shows_parameters():
    assert "length_scale\xa0=\xa02.0" in Outline(Gaussian(2.0)._repr_html_()).text


def test_the_page_says_which_rule_proves_a_node():
    text = Outline((g + h)._repr_html_()).text
    assert "PROVED: sum of kernels" in text
    assert "PROVED: completely monotone function of ||x - z||^2 (Schoenberg)" in text


def test_the_page_says_that_there_is_no_proof_and_what_to_do():
    text = Outline(Sigmoid()._repr_html_()).text
    assert "no proof: no rule proves it; run .check()" in text


def test_the_page_says_that_a_part_has_no_proof():
    text = Outline((g + Sigmoid())._repr_html_()).text
    assert "no proof: a part of it has no proof" in text
    assert text.count("PROVED") == 1


def test_the_page_says_what_a_kernel_is():
    text = Outline(Gaussian()._repr_html_()).text
    assert "exp(-||x - z||^2 / (2 sigma^2))" in text


def test_a_kernel_without_a_docstring_has_a_page():
    text = Outline(Plain(2.0)._repr_html_()).text
    assert text.count("width") == 2


def test_column_names_cannot_smuggle_in_markup():
    name = "<script>alert('&')</script>"
    text = Outline(h.on(name)._repr_html_()).text
    assert name in text.replace("\\'", "'")


def test_a_large_matrix_is_cut_short():
    assert len(Bilinear(np.eye(100))._repr_html_()) < 3000


def test_the_page_needs_nothing_from_elsewhere():
    page = (g + h.on("a"))._repr_html_()
    assert not re.search(r"https?:|<script|<link|@import|url\(|\son\w+=", page)


def test_the_page_takes_the_colours_around_it():
    fixed = r"background(-color)?: *#|[^-]color: *(#000|#fff|black|white)"
    assert not re.search(fixed, g._repr_html_())


# On one line

FORTY = np.linspace(0.1, 4.0, 40)
SCALED = Gaussian(FORTY).after(Standardize(FORTY, FORTY))


@pytest.mark.parametrize(
    ("k", "text"),
    [
        (SCALED, "gaussian(length_scale=[40 numbers]).after(standardize(40 columns))"),
        (Bilinear(np.eye(12)), "bilinear(A=[12 rows])"),
        (h.on(*(f"column {i}, it's" for i in range(9))), "linear(offset=0.0).on(9 columns)"),
        (
            SCALED * Spectrum((1, 2, 3), (1.0, 0.5, 0.25)).on("name (of it)"),
            "gaussian(...).after(standardize(40 columns)) * spectrum(...).on('name (of it)')",
        ),
        (g + 2.0 * h, "gaussian(length_scale=1.0) + 2.0 * linear(offset=0.0)"),
        (Standardize(FORTY, FORTY), "standardize(40 columns)"),
    ],
    ids=["scaled", "matrix", "columns", "product", "short", "map"],
)
def test_the_repr_is_the_text_with_long_lists_counted(k, text):
    assert repr(k) == text


@pytest.mark.parametrize("k", [*SIMPLE, *ARD, *COMPOSITE, SCALED, sum([SCALED] * 5, g)], ids=repr)
def test_the_repr_fits_on_a_line_and_the_text_is_exact(k):
    assert len(repr(k)) <= 100
    assert "\n" not in repr(k)
    assert kernel(str(k)) == k


@pytest.mark.parametrize("k", [SCALED, sum([SCALED] * 5, g), SCALED.on(*"abcd") * h])
def test_a_repr_that_is_given_back_is_told_to_be_shortened(k):
    with pytest.raises(KernelSyntaxError, match=r"shortened.*str\(k\), which is whole"):
        kernel(repr(k))


@pytest.mark.parametrize("text", ["gausian()", "gaussian(1.0", "gaussian.on('3 rows)...', 4) +"])
def test_a_text_that_is_whole_is_not_told_to_be_shortened(text):
    with pytest.raises(KernelSyntaxError) as caught:
        kernel(text)
    assert "shortened" not in str(caught.value)


def test_a_kernel_of_the_user_prints_in_the_same_way():
    @dataclass(frozen=True)
    class Mine(Kernel):
        weights: tuple[float, ...] = ()

        def lower(self, t):
            return t.dot()

    assert repr(Mine(tuple(FORTY))) == "mine(weights=[40 numbers])"


def test_errors_and_answers_name_a_long_kernel_on_a_line():
    rows = np.eye(5, 40)
    with pytest.raises(ValueError, match=r"and gaussian\(length_scale=\[40 numbers\]\)"):
        KernelRidge(SCALED, solver="primal").fit(rows, np.arange(5.0))
    long = Polynomial(2, offset=-1.0).after(Standardize(FORTY, FORTY)) + SCALED
    for said in (str(long.check(rows)).splitlines()[0], str(SCALED.proof()).splitlines()[0]):
        assert "standardize(40 columns)" in said
        assert len(said) < 150
