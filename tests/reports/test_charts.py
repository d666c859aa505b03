"""The pictures of a page show what is to be told apart."""

import base64
import re
from io import BytesIO
from itertools import pairwise

import numpy as np
import pytest

import mercer
from mercer.reports.page import charts
from mercer.reports.page.facts import Facts
from mercer.reports.page.svg import Plot, heat_map

plt = pytest.importorskip("matplotlib.pyplot")


def test_a_candidate_that_is_far_off_does_not_hide_how_the_others_differ():
    plot = charts.leaderboard([0.34, 0.341, 0.35, 0.36, 1.75], "RMSE")
    assert plot.y[1] < 0.4
    assert str(plot).count("<circle") == 4 + 1


def test_the_chosen_candidate_is_shown_even_where_it_is_far_off():
    plot = charts.leaderboard([1.75, 0.34, 0.341, 0.35], "RMSE")
    assert plot.y[1] > 1.75
    assert str(plot).count("<circle") == 4 + 1


def test_candidates_are_shown_where_most_are_as_good_as_the_best():
    assert str(charts.leaderboard([0.2125, 0.2125, 0.2125, 0.2292], "error")).count("<circle") == 5


def shades(matrix):
    """Return the red of the pixels of a picture of a matrix, which is less where it is darker."""
    data = re.search(r"base64,([^\"]*)", heat_map(np.asarray(matrix), "a picture"))[1]
    picture = plt.imread(BytesIO(base64.b64decode(data)))
    return (255.0 * picture[..., 0]).round().astype(int)


def test_pairs_are_told_apart_where_a_few_are_far_from_the_others():
    close = 1e10 + np.arange(15.0).reshape(3, 5) * 1e4
    shown = shades(np.vstack([np.zeros(5), close]))
    assert (shown[0] == 247).all() and shown[-1, -1] == 8
    assert (np.diff(shown[1:].ravel()) < 0).all()


def test_rounding_is_no_difference_in_the_picture_of_a_matrix():
    assert len(np.unique(shades(1e3 + 1e-10 * np.arange(9.0).reshape(3, 3)))) == 1


@pytest.mark.parametrize(
    ("most", "tick", "unit"),
    [
        (9e3, ">8000<", ""),
        (1e5, ">80<", ", thousands"),
        (3e6, ">3<", ", millions"),
        (2e10, ">20<", ", billions"),
        (1e15, ">1e+15<", ""),
    ],
)
def test_large_numbers_along_an_axis_are_in_units_that_it_names(most, tick, unit):
    text = str(Plot((0.0, most), (0.0, most), "x", "y", "a picture"))
    assert text.count(tick) == 2
    assert f">x{unit}<" in text
    assert f">y{unit}<" in text


def test_dates_along_an_axis_have_no_unit():
    text = str(Plot((0.0, 1e9), (0.0, 1.0), "day", "y", "a picture", is_date=True))
    assert ">day<" in text


NAMES = ("Charlottenburg-Wilmersdorf, Berlin", "Elbvororte", "<b>")


def test_names_along_an_axis_are_cut_and_lie_below_each_other():
    text = str(Plot((0.0, 1.0), (2.5, -0.5), "f", "district", "a picture", NAMES))
    shown = re.findall(r'<text class="tick end" x="[^"]*" y="([^"]*)">(.*?)</text>', text)
    assert [name for _, name in shown] == ["Charlottenburg-Wi…", "Elbvororte", "&lt;b&gt;"]
    heights = [float(height) for height, _ in shown]
    assert heights == sorted(heights) and min(np.diff(heights)) > 14.0


@pytest.mark.parametrize(
    ("first", "last", "shown"),
    [
        ("2015-01-02", "2023-04-01", ["2016", "2018", "2020", "2022"]),
        ("1958-03-29", "2001-12-29", ["1960", "1970", "1980", "1990", "2000"]),
        ("2020-01-15", "2020-11-02", ["2020-04", "2020-07", "2020-10"]),
        ("2020-02-26", "2020-03-03", ["2020-02-28", "2020-03-01", "2020-03-03"]),
        ("2020-02-26T01", "2020-02-27T02", ["02-26 12h", "02-27 00h"]),
        ("2020-02-26T09:58", "2020-02-26T11:02", ["10:00", "10:15", "10:30", "10:45", "11:00"]),
    ],
)
def test_dates_along_an_axis_are_round_ones(first, last, shown):
    ends = tuple(float(np.datetime64(t, "s").astype(int)) for t in (first, last))
    text = str(Plot(ends, (0.0, 1.0), "day", "y", "a picture", is_date=True))
    assert re.findall(r'"tick middle"[^>]*>(.*?)<', text) == shown


@pytest.mark.parametrize("low", [0.0, -1e-4, 0.12344, 123456.0])
@pytest.mark.parametrize("span", [1e-4, 0.11, 1.0, 7.0, 1100.0])
def test_numbers_along_an_axis_do_not_touch(low, span):
    plot = Plot((low, low + span), (2.5, -0.5), "x", "y", "a picture", NAMES)
    shown = re.findall(r'"tick middle" x="([^"]*)"[^>]*>(.*?)<', str(plot))
    for (a, left), (b, right) in pairwise(shown):
        assert float(b) - float(a) > 4.0 * (len(left) + len(right))


def test_a_column_alone_has_a_curve_with_every_turn():
    x = np.linspace(0.0, 60.0, 300)
    model = mercer.KernelRidge("gaussian(1.0)", 1e-3).fit(x[:, None], np.sin(x))
    plot = charts.effect(Facts(model, x[:, None], np.sin(x)), 0)
    line = re.search(r'<polyline class="line" points="([^"]*)"', str(plot))[1]
    heights = np.array([float(point.split(",")[1]) for point in line.split()])
    assert np.sum(np.diff(np.sign(np.diff(heights))) != 0) == 19
