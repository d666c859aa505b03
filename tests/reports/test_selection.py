"""The picture of a selection."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError

from mercer.estimators import KernelRidge
from mercer.kernels import Gaussian, Linear
from mercer.reports import SelectionDisplay, selection as room_of_pictures
from mercer.selection import KernelRidgeCV, ridge as room

plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def no_window():
    plt.switch_backend("agg")
    yield
    plt.close("all")


@pytest.fixture
def data(rng):
    X = rng.normal(size=(40, 2))
    return X, np.sin(2.0 * X[:, 0]) + 0.1 * rng.normal(size=40)


def test_every_kernel_has_its_curve_of_errors_over_alpha(data):
    model = KernelRidgeCV().fit(*data)
    display = SelectionDisplay.from_estimator(model)
    results = model.cv_results_
    assert len(display.lines_) == len(set(results["kernel"]))
    for i, line in enumerate(display.lines_):
        here = slice(30 * i, 30 * (i + 1))
        assert_array_equal(line.get_xdata(), results["alpha"][here])
        assert_array_equal(line.get_ydata(), -results["mean_test_score"][here])


def test_the_choice_is_marked(data):
    model = KernelRidgeCV().fit(*data)
    mark = SelectionDisplay.from_estimator(model).chosen_
    assert_allclose([mark.get_xdata()[0], mark.get_ydata()[0]], [model.alpha_, -model.best_score_])


def test_every_target_has_its_choice_marked(data):
    X, y = data
    model = KernelRidgeCV(Gaussian(1.0), alpha_per_target=True).fit(X, np.column_stack([y, X]))
    mark = SelectionDisplay.from_estimator(model).chosen_
    assert_array_equal(mark.get_xdata(), model.alpha_)


def test_axes_say_what_they_show(data):
    axes = SelectionDisplay.from_estimator(KernelRidgeCV().fit(*data)).ax_
    assert axes.get_xlabel() == "alpha"
    assert axes.get_ylabel() == "leave-one-out mean squared error"
    assert axes.get_xscale() == axes.get_yscale() == "log"
    by_folds = KernelRidgeCV(cv=3, scoring="neg_mean_absolute_error").fit(*data)
    assert SelectionDisplay.from_estimator(by_folds).ax_.get_ylabel() == "mean absolute error"
    by_score = SelectionDisplay.from_estimator(KernelRidgeCV(cv=3, scoring="r2").fit(*data))
    assert by_score.ax_.get_ylabel() == "r2"
    assert by_score.ax_.get_ylim()[1] >= by_score.chosen[0, 1]


def test_it_draws_on_the_axes_given(data):
    _, axes = plt.subplots()
    model = KernelRidgeCV(Gaussian(1.0)).fit(*data)
    display = SelectionDisplay.from_estimator(model, ax=axes, linewidth=5.0)
    assert display.ax_ is axes
    assert display.figure_ is axes.figure
    assert display.lines_[0].get_linewidth() == 5.0
    assert display.plot().ax_ is not axes


def test_curves_are_named_by_what_varies(data):
    def names(model):
        legend = SelectionDisplay.from_estimator(model.fit(*data)).ax_.get_legend()
        return legend.get_title().get_text(), [text.get_text() for text in legend.get_texts()][:-1]

    title, scales = names(KernelRidgeCV({"length_scale": [0.5, 4.0 / 3.0]}))
    assert title == "Gaussian, length_scale"
    assert scales == ["0.5", "1.33"]
    title, kernels = names(KernelRidgeCV([Gaussian(1.0), Linear() + Gaussian(2.0)]))
    assert title == "kernel"
    assert kernels[1] == "linear(offset=0) + gaussian(length_scale=2)"


def test_of_many_kernels_the_chosen_one_is_named(data):
    model = KernelRidgeCV({"length_scale": np.linspace(0.5, 2.0, 20)}, [0.1, 1.0]).fit(*data)
    display = SelectionDisplay.from_estimator(model)
    assert len(display.lines_) == 20
    assert len(display.ax_.get_legend().get_texts()) == 2


def test_both_rounds_of_a_search_are_drawn(data, monkeypatch):
    monkeypatch.setattr(room.KernelRidgeCV, "rows_for_kernels", 30)
    monkeypatch.setattr(room.KernelRidgeCV, "rows_of_sample", 20)
    model = KernelRidgeCV([Gaussian(1.0), Linear()], [0.1, 1.0], random_state=0).fit(*data)
    lines = SelectionDisplay.from_estimator(model).lines_
    assert len(lines) == 3
    assert lines[-1].get_label().endswith(", all rows")


def test_a_ridge_of_zero_has_its_place(data):
    model = KernelRidgeCV(Gaussian(0.1), [0.0, 0.1]).fit(*data)
    assert SelectionDisplay.from_estimator(model).ax_.get_xscale() == "linear"


def test_an_unfitted_model_has_no_picture():
    with pytest.raises(NotFittedError):
        SelectionDisplay.from_estimator(KernelRidgeCV())


def test_another_curve_begins_with_another_kernel_or_round():
    kernels = np.array([Linear(), Linear(), Gaussian(1.0), Gaussian(1.0)], object)
    changes = room_of_pictures._changes(kernels, np.array([0, 0, 0, 1]))
    assert changes.tolist() == [False, True, True]


@pytest.mark.parametrize(
    ("kernels", "names", "title"),
    [
        ([Gaussian(1.0), Gaussian(2.5)], ["1", "2.5"], "Gaussian, length_scale"),
        ([Gaussian(1.0), Linear()], ["gaussian(length_scale=1)", "linear(offset=0)"], "kernel"),
        ([Linear() + Gaussian(1.0), Linear() + Gaussian(2.0)], None, "kernel"),
        ([Gaussian(1.0)], ["gaussian(length_scale=1)"], "kernel"),
    ],
)
def test_curves_are_called_by_the_one_parameter_that_varies(kernels, names, title):
    found = room_of_pictures._names(kernels)
    assert found[1] == title
    if names is not None:
        assert [name.replace(" ", "") for name in found[0]] == names


def test_numbers_of_an_expression_are_rounded_to_three_digits():
    shortened = room_of_pictures.shortened
    assert shortened("gaussian(0.123456) + 12345.678 * x2") == "gaussian(0.123) + 1.23e+04 * x2"
    assert shortened("gaussian(1.23456e-07)") == "gaussian(1.23e-07)"


@pytest.mark.parametrize(
    ("settings", "sign", "name"),
    [
        ({}, -1.0, "leave-one-out mean squared error"),
        ({"cv": "gcv"}, -1.0, "generalised cross-validation mean squared error"),
        ({"cv": 3}, -1.0, "held-out mean squared error"),
        ({"scoring": "neg_mean_absolute_error"}, -1.0, "mean absolute error"),
        ({"scoring": "r2"}, 1.0, "r2"),
        ({"scoring": max}, 1.0, "held-out score"),
    ],
)
def test_a_criterion_is_drawn_as_an_error_where_it_is_one(settings, sign, name):
    assert room_of_pictures._criterion(KernelRidgeCV(**settings)) == (sign, name)


def display_of(values, is_error, alphas=(0.1, 1.0, 10.0)):
    curve = room_of_pictures.Curve(Linear(), np.array(alphas), np.array(values), False)
    chosen = np.array([[alphas[0], values[0]]])
    return SelectionDisplay([curve], chosen, Linear(), "score", is_error).plot()


def test_errors_are_on_a_logarithmic_scale_and_scores_show_their_top():
    assert display_of([1.0, 2.0, 30.0], True).ax_.get_yscale() == "log"
    assert display_of([1.0, 2.0, 3.0], True).ax_.get_yscale() == "linear"
    assert display_of([0.0, 2.0, 3.0], True).ax_.get_yscale() == "linear"
    scores = display_of([-100.0, 0.5, 0.9], False).ax_
    assert scores.get_yscale() == "linear"
    # Down to four times the distance from the best to the middle one, with a little room.
    low = 0.9 - 4.0 * 0.4
    assert_allclose(scores.get_ylim(), [low - 0.05 * 1.6, 0.9 + 0.08 * 1.6])
    near = display_of([0.4, 0.5, 0.9], False).ax_
    assert_allclose(near.get_ylim(), [0.4 - 0.05 * 0.5, 0.9 + 0.08 * 0.5])
    assert display_of([1.0, 2.0, 3.0], True, (0.0, 1.0, 2.0)).ax_.get_xscale() == "linear"
    assert display_of([1.0, 2.0, 3.0], True).ax_.get_xscale() == "log"


def test_a_kernel_in_a_title_is_its_expression_or_its_families_where_that_is_long():
    called = room_of_pictures.called
    assert called(Gaussian(1.0)) == "gaussian(length_scale=1)"
    long = Gaussian([1.0] * 20).on(*[f"column_{j}" for j in range(20)])
    assert called(long) == "gaussian of column_0, column_1, column_2 and 17 more"
    longest = long + Linear().on("a" * 100)
    assert len(called(longest)) == 60
    names, _ = room_of_pictures._names([long, 2.0 * long])
    assert names[0] != names[1]


def test_errors_of_less_than_a_decade_stand_on_a_linear_axis_with_numbers(rng):
    X = rng.normal(size=(40, 2))
    y = X[:, 0] + rng.normal(size=40)
    search = KernelRidgeCV(["gaussian(1.0)"], [0.1, 1.0, 10.0]).fit(X, y)
    display = SelectionDisplay.from_estimator(search)
    assert display.ax_.get_yscale() == "linear"
    low, high = display.ax_.get_ylim()
    assert sum(low <= tick <= high for tick in display.ax_.get_yticks()) >= 3


def test_a_machine_without_a_grid_is_refused(rng):
    model = KernelRidge("gaussian(1.0)").fit(rng.normal(size=(9, 2)), np.arange(9.0))
    with pytest.raises(TypeError, match="a selection is one of KernelRidgeCV, got KernelRidge"):
        SelectionDisplay.from_estimator(model)
