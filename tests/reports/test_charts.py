"""The pictures of a page show what is to be told apart."""

from mercer.reports.page import charts


def test_a_candidate_that_is_far_off_does_not_hide_how_the_others_differ():
    plot = charts.leaderboard([0.34, 0.341, 0.35, 0.36, 1.75], "RMSE")
    assert plot.y[1] < 0.4
    assert str(plot).count("<circle") == 4 + 1


def test_the_chosen_candidate_is_shown_even_where_it_is_far_off():
    plot = charts.leaderboard([1.75, 0.34, 0.341, 0.35], "RMSE")
    assert plot.y[1] > 1.75
    assert str(plot).count("<circle") == 4 + 1
