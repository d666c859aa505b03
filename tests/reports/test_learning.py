"""The picture of a learned kernel."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import mercer
from mercer.reports import LearningDisplay

plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def no_window():
    plt.switch_backend("agg")
    yield
    plt.close("all")


@pytest.fixture
def learned(rng):
    X = rng.normal(size=(40, 3))
    return mercer.learn("gaussian", X, np.sin(2.0 * X[:, 0]), max_iter=6)


def test_the_criterion_is_drawn_by_iteration(learned):
    display = LearningDisplay.from_learned(learned)
    assert_allclose(display.lines_[0].get_ydata(), [step.value for step in learned.history])


def test_every_number_has_a_curve_with_its_name(learned):
    display = LearningDisplay.from_learned(learned)
    curves = {line.get_label(): line.get_ydata() for line in display.lines_[1:]}
    assert set(curves) == {"alpha", *(f"length_scale[{k}]" for k in range(3))}
    scales = [step.kernel.length_scale[0] for step in learned.history]
    assert_allclose(curves["length_scale[0]"], scales)


def test_of_many_length_scales_the_shortest_are_named(rng):
    X = rng.normal(size=(60, 15))
    learned = mercer.learn("gaussian", X, np.sin(2.0 * X[:, 4]), max_iter=12)
    display = LearningDisplay.from_learned(learned)
    names = [text.get_text() for text in display.axes_[1].get_legend().get_texts()]
    assert names[:2] == ["alpha", "length_scale[4]"]
    assert len(names) == 8
    assert len(display.lines_) == 17


def test_it_draws_on_the_axes_given(learned):
    _, axes = plt.subplots(1, 2)
    display = LearningDisplay.from_learned(learned, axes=axes, linestyle=":")
    assert display.figure_ is axes[0].figure
    assert display.lines_[0].get_linestyle() == ":"


def test_nothing_learned_is_nothing_to_draw(points):
    with pytest.raises(ValueError, match="nothing was learned"):
        LearningDisplay.from_learned(mercer.learn("gaussian", points(4), np.ones(4)))
