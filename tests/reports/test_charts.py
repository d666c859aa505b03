"""The pictures of a page show what is to be told apart."""

import pytest

from mercer.reports.page import charts
from mercer.reports.page.svg import Plot


def test_a_candidate_that_is_far_off_does_not_hide_how_the_others_differ():
    plot = charts.leaderboard([0.34, 0.341, 0.35, 0.36, 1.75], "RMSE")
    assert plot.y[1] < 0.4
    assert str(plot).count("<circle") == 4 + 1


def test_the_chosen_candidate_is_shown_even_where_it_is_far_off():
    plot = charts.leaderboard([1.75, 0.34, 0.341, 0.35], "RMSE")
    assert plot.y[1] > 1.75
    assert str(plot).count("<circle") == 4 + 1


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
